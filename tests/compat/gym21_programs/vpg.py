"""Vanilla policy gradient in the manner of Spinning Up: epochs, a buffer of paths, GAE."""

import gym
import numpy as np
from gym.spaces import Box, Discrete
from nets import Net


def discount(values, factor):
    result, total = np.zeros(len(values)), 0.0
    for i in reversed(range(len(values))):
        total = values[i] + factor * total
        result[i] = total
    return result


class PathBuffer:
    def __init__(self, gamma=0.99, lam=0.95):
        self.gamma, self.lam = gamma, lam
        self.clear()

    def clear(self):
        self.obs, self.act, self.rew, self.val = [], [], [], []
        self.adv, self.ret, self.start = [], [], 0

    def store(self, obs, act, rew, val):
        self.obs.append(obs)
        self.act.append(act)
        self.rew.append(rew)
        self.val.append(val)

    def finish_path(self, last_val=0.0):
        rews = np.array([*self.rew[self.start :], last_val])
        vals = np.array([*self.val[self.start :], last_val])
        deltas = rews[:-1] + self.gamma * vals[1:] - vals[:-1]
        self.adv.extend(discount(deltas, self.gamma * self.lam))
        self.ret.extend(discount(rews, self.gamma)[:-1])
        self.start = len(self.obs)

    def get(self):
        adv = np.array(self.adv)
        data = np.array(self.obs), np.array(self.act), (adv - adv.mean()) / adv.std()
        data += (np.array(self.ret),)
        self.clear()
        return data


def vpg(env_fn, seed=0, steps_per_epoch=1500, epochs=18, max_ep_len=200):
    rng = np.random.RandomState(seed)
    env = env_fn()
    assert isinstance(env.observation_space, Box) and isinstance(env.action_space, Discrete)
    env.seed(seed)
    pi = Net([env.observation_space.shape[0], 32, env.action_space.n], rng, False, lr=2e-2)
    v = Net([env.observation_space.shape[0], 32, 1], rng, False, last=1.0, lr=2e-2)
    buf, averages = PathBuffer(), []
    o, ep_ret, ep_len = env.reset(), 0, 0
    for _ in range(epochs):
        returns = []
        for t in range(steps_per_epoch):
            logits = pi(o[None])[0]
            p = np.exp(logits - logits.max())
            a = int(rng.rand() > p[0] / p.sum())
            next_o, r, d, _ = env.step(a)
            ep_ret += r
            ep_len += 1
            buf.store(o, a, r, v(o[None])[0, 0])
            o = next_o
            timeout = ep_len == max_ep_len
            terminal = d or timeout
            epoch_ended = t == steps_per_epoch - 1
            if terminal or epoch_ended:
                buf.finish_path(v(o[None])[0, 0] if timeout or epoch_ended else 0.0)
                if terminal:
                    returns.append(ep_ret)
                o, ep_ret, ep_len = env.reset(), 0, 0
        obs, act, adv, ret = buf.get()
        for _ in range(4):
            logits = pi(obs)
            p = np.exp(logits - logits.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            p[np.arange(len(act)), act] -= 1.0
            pi.update(pi.backward(p * adv[:, None] / len(act))[0])
            if _ == 0:
                for _ in range(15):
                    v.update(v.backward((v(obs) - ret[:, None]) / len(ret))[0])
        averages.append(float(np.mean(returns)))
    env.close()
    return averages


averages = vpg(lambda: gym.make("CartPole-v0"))
print([round(average) for average in averages])
assert averages[0] < 50 and max(averages[-3:]) > 130, averages
