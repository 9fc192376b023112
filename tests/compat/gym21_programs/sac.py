"""Soft actor-critic as in code of 2020, in NumPy, on a pendulum."""

import gym
import numpy as np
from nets import Net, Replay


class SquashedGaussian:
    """A policy: tanh of a Gaussian whose mean and deviation a network computes."""

    def __init__(self, obs_dim, act_dim, rng):
        self.net, self.act_dim, self.rng = Net([obs_dim, 32, 32, 2 * act_dim], rng), act_dim, rng

    def sample(self, obs):
        out = self.net(obs)
        self.mean, raw = out[:, : self.act_dim], out[:, self.act_dim :]
        self.inside = (raw > -4) & (raw < 1)
        self.std = np.exp(np.clip(raw, -4, 1))
        self.noise = self.rng.randn(*self.mean.shape)
        self.act = np.tanh(self.mean + self.std * self.noise)
        logp = -0.5 * self.noise**2 - np.log(self.std) - 0.5 * np.log(2 * np.pi)
        logp -= np.log(1 - self.act**2 + 1e-6)
        return self.act, logp.sum(axis=1, keepdims=True)

    def improve(self, grad_act, alpha):
        """Lower the mean of `alpha * logp + (what has this gradient in the actions)`."""
        n, slope = len(grad_act), 1 - self.act**2
        # logp through the action: d/du of -log(1 - tanh(u)^2) is 2 tanh(u)
        grad_u = grad_act * slope + alpha * 2 * self.act / n
        grad_std = grad_u * self.noise * self.std - alpha / n
        self.net.update(self.net.backward(np.hstack((grad_u, grad_std * self.inside)))[0])


env_name, seed, total, start, alpha, gamma = "Pendulum-v1", 1, 4000, 500, 0.05, 0.98
rng = np.random.RandomState(seed)
env, test_env = gym.make(env_name), gym.make(env_name)
env.seed(seed)
env.action_space.seed(seed)
test_env.seed(seed + 1)
obs_dim, act_dim = env.observation_space.shape[0], env.action_space.shape[0]
act_limit = env.action_space.high[0]
policy = SquashedGaussian(obs_dim, act_dim, rng)
critics = [Net([obs_dim + act_dim, 32, 32, 1], rng, last=0.3) for _ in range(2)]
targets = [critic.clone() for critic in critics]
replay = Replay(total, obs_dim, act_dim, rng)


def test_agent(episodes=3):
    total_return = 0.0
    for _ in range(episodes):
        o, d, ep_len = test_env.reset(), False, 0
        while not (d or ep_len == test_env.spec.max_episode_steps):
            policy.sample(o[None])
            o, r, d, _ = test_env.step(act_limit * np.tanh(policy.mean[0]))
            total_return += r
            ep_len += 1
    return total_return / episodes


before = test_agent()
o, ep_len = env.reset(), 0
for t in range(total):
    a = rng.uniform(-1, 1, act_dim) if t < start else policy.sample(o[None])[0][0]
    o2, r, d, info = env.step(act_limit * a)
    ep_len += 1
    # An end by the time limit is not an end of the task.
    replay.add(o, a, o2, 0.1 * r, float(d and not info.get("TimeLimit.truncated", False)))
    o = o2
    if d:
        o, ep_len = env.reset(), 0
    if t >= start:
        obs, act, obs2, rew, done = replay.sample(64)
        act2, logp2 = policy.sample(obs2)
        q2 = np.minimum(*(target(np.hstack((obs2, act2))) for target in targets))
        backup = rew + gamma * (1 - done) * (q2 - alpha * logp2)
        for critic in critics:
            error = critic(np.hstack((obs, act))) - backup
            critic.update(critic.backward(2 * error / len(obs))[0])
        new_act, _ = policy.sample(obs)
        values = [critic(np.hstack((obs, new_act))) for critic in critics]
        grads = [critic.backward(np.full((len(obs), 1), -1 / len(obs)))[1] for critic in critics]
        lower = values[0] < values[1]
        policy.improve(np.where(lower, grads[0], grads[1])[:, obs_dim:], alpha)
        for target, critic in zip(targets, critics):
            target.follow(critic, 0.01)

after = test_agent()
print(round(before), round(after))
assert before < -700 and after > -400, (before, after)
