"""Small networks in NumPy, for the programs beside this file."""

import copy

import numpy as np


class Net:
    """A perceptron with ReLU or tanh layers, its gradients, and Adam."""

    def __init__(self, sizes, rng, relu=True, last=0.01, lr=1e-3):
        self.relu = relu
        self.lr = lr
        self.params = []
        for i, (fan_in, fan_out) in enumerate(zip(sizes[:-1], sizes[1:])):
            scale = last if i == len(sizes) - 2 else np.sqrt(2.0 / fan_in)
            self.params += [rng.randn(fan_in, fan_out) * scale, np.zeros(fan_out)]
        self.moments = [[np.zeros_like(p), np.zeros_like(p)] for p in self.params]
        self.updates = 0

    def __call__(self, x):
        self.inputs = [x]
        depth = len(self.params) // 2
        for i in range(depth):
            x = x @ self.params[2 * i] + self.params[2 * i + 1]
            if i < depth - 1:
                x = np.maximum(x, 0.0) if self.relu else np.tanh(x)
                self.inputs.append(x)
        return x

    def backward(self, grad):
        """Return the gradients of the parameters and of the last call's input."""
        grads = []
        for i in reversed(range(len(self.params) // 2)):
            x = self.inputs[i]
            grads = [x.T @ grad, grad.sum(axis=0), *grads]
            grad = grad @ self.params[2 * i].T
            if i:
                grad = grad * ((x > 0) if self.relu else 1.0 - x**2)
        return grads, grad

    def update(self, grads):
        """Take a step of Adam that lowers the loss."""
        self.updates += 1
        for p, g, m in zip(self.params, grads, self.moments):
            m[0] += 0.1 * (g - m[0])
            m[1] += 0.001 * (g * g - m[1])
            first = m[0] / (1 - 0.9**self.updates)
            second = m[1] / (1 - 0.999**self.updates)
            p -= self.lr * first / (np.sqrt(second) + 1e-8)

    def follow(self, other, tau):
        """Move the parameters towards those of another network."""
        for p, q in zip(self.params, other.params):
            p += tau * (q - p)

    def clone(self):
        return copy.deepcopy(self)


class Replay:
    """Transitions for learning from any policy, in a ring."""

    def __init__(self, size, obs_dim, act_dim, rng):
        self.obs = np.zeros((size, obs_dim))
        self.next_obs = np.zeros((size, obs_dim))
        self.act = np.zeros((size, act_dim))
        self.rew = np.zeros((size, 1))
        self.done = np.zeros((size, 1))
        self.place, self.count, self.size, self.rng = 0, 0, size, rng

    def add(self, obs, act, next_obs, rew, done):
        i = self.place
        self.obs[i], self.act[i], self.next_obs[i] = obs, act, next_obs
        self.rew[i], self.done[i] = rew, done
        self.place = (i + 1) % self.size
        self.count = min(self.count + 1, self.size)

    def sample(self, n):
        i = self.rng.randint(0, self.count, size=n)
        return self.obs[i], self.act[i], self.next_obs[i], self.rew[i], self.done[i]
