"""Training statistics in a csv file, as by the Monitor of Baselines, around a random search."""

import csv
import json
import os
import tempfile
import time

import gym
import numpy as np
from gym.core import Wrapper


class BenchMonitor(Wrapper):
    EXT = "monitor.csv"

    def __init__(self, env, filename, info_keywords=()):
        Wrapper.__init__(self, env=env)
        self.t_start = time.time()
        self.f = open(filename + "." + self.EXT, "wt")
        self.f.write("#%s\n" % json.dumps({"t_start": self.t_start, "env_id": env.spec.id}))
        self.logger = csv.DictWriter(self.f, ("r", "l", "t") + info_keywords)
        self.logger.writeheader()
        self.rewards, self.needs_reset = None, True
        self.episode_rewards, self.total_steps = [], 0

    def reset(self, **kwargs):
        self.rewards, self.needs_reset = [], False
        return self.env.reset(**kwargs)

    def step(self, action):
        if self.needs_reset:
            raise RuntimeError("tried to step an environment that needs a reset")
        ob, rew, done, info = self.env.step(action)
        self.rewards.append(rew)
        if done:
            self.needs_reset = True
            elapsed = round(time.time() - self.t_start, 6)
            row = {"r": round(sum(self.rewards), 6), "l": len(self.rewards), "t": elapsed}
            self.episode_rewards.append(row["r"])
            self.logger.writerow(row)
            self.f.flush()
            info["episode"] = row
        self.total_steps += 1
        return ob, rew, done, info

    def close(self):
        super().close()
        self.f.close()


folder = tempfile.mkdtemp()
env = BenchMonitor(gym.make("CartPole-v1"), os.path.join(folder, "0"))
assert isinstance(env, gym.Wrapper) and isinstance(env.unwrapped, gym.Env)
assert type(env.env) is gym.wrappers.TimeLimit and env.env._max_episode_steps == 500
env.seed(7)
rng = np.random.RandomState(7)


def rollout(weights):
    ob, done = env.reset(), False
    while not done:
        ob, _, done, info = env.step(int(ob @ weights > 0))
    return info["episode"]["r"]


best, best_return = np.zeros(4), 0.0
for _ in range(60):
    weights = best + rng.randn(4)
    total = np.mean([rollout(weights) for _ in range(2)])
    if total > best_return:
        best, best_return = weights, total
    if best_return == 500:
        break
final = np.mean([rollout(best) for _ in range(5)])
env.close()

with open(os.path.join(folder, "0.monitor.csv")) as file:
    header = json.loads(file.readline()[1:])
    rows = list(csv.DictReader(file))
assert header["env_id"] == "CartPole-v1" and len(rows) == len(env.episode_rewards)
assert sum(int(row["l"]) for row in rows) == env.total_steps
assert [float(row["r"]) for row in rows] == env.episode_rewards
print(len(rows), final)
assert np.mean(env.episode_rewards[:4]) < 120 and final > 300, final
