"""The wrappers of DQN's and Baselines' Atari code, written for Gym's four values."""

from collections import deque

import gym
import numpy as np
from gym import spaces


class NoopResetEnv(gym.Wrapper):
    def __init__(self, env, noop_max=30):
        gym.Wrapper.__init__(self, env)
        self.noop_max, self.override_num_noops = noop_max, None
        assert env.unwrapped.get_action_meanings()[0] == "NOOP"

    def reset(self, **kwargs):
        self.env.reset(**kwargs)
        if self.override_num_noops is not None:
            noops = self.override_num_noops
        else:
            noops = self.unwrapped.np_random.randint(1, self.noop_max + 1)
        assert noops > 0
        self.last_noops = noops
        for _ in range(noops):
            obs, _, done, _ = self.env.step(0)
            if done:
                obs = self.env.reset(**kwargs)
        return obs


class FireResetEnv(gym.Wrapper):
    def __init__(self, env):
        gym.Wrapper.__init__(self, env)
        assert env.unwrapped.get_action_meanings()[1] == "FIRE"

    def reset(self, **kwargs):
        self.env.reset(**kwargs)
        obs, _, done, _ = self.env.step(1)
        return self.env.reset(**kwargs) if done else obs


class EpisodicLifeEnv(gym.Wrapper):
    def __init__(self, env):
        gym.Wrapper.__init__(self, env)
        self.lives, self.was_real_done, self.real_resets = 0, True, 0

    def step(self, action):
        obs, reward, done, info = self.env.step(action)
        self.was_real_done = done
        lives = self.env.unwrapped.ale.lives()
        if 0 < lives < self.lives:
            done = True
        self.lives = lives
        return obs, reward, done, info

    def reset(self, **kwargs):
        if self.was_real_done:
            self.real_resets += 1
            obs = self.env.reset(**kwargs)
        else:
            obs, _, _, _ = self.env.step(0)
        self.lives = self.env.unwrapped.ale.lives()
        return obs


class MaxAndSkipEnv(gym.Wrapper):
    def __init__(self, env, skip=4):
        gym.Wrapper.__init__(self, env)
        self._obs_buffer = np.zeros((2,) + env.observation_space.shape, dtype=np.uint8)
        self._skip = skip

    def step(self, action):
        total_reward = 0.0
        for i in range(self._skip):
            obs, reward, done, info = self.env.step(action)
            if i >= self._skip - 2:
                self._obs_buffer[i - self._skip + 2] = obs
            total_reward += reward
            if done:
                break
        return self._obs_buffer.max(axis=0), total_reward, done, info


class ClipRewardEnv(gym.RewardWrapper):
    def reward(self, reward):
        return np.sign(reward)


class WarpFrame(gym.ObservationWrapper):
    """Gray images of half the size, of which the lines without the score are kept."""

    def __init__(self, env):
        gym.ObservationWrapper.__init__(self, env)
        self.observation_space = spaces.Box(0, 255, shape=(84, 80, 1), dtype=np.uint8)

    def observation(self, frame):
        gray = frame[25:193] @ np.array([0.299, 0.587, 0.114])
        halves = gray.reshape(84, 2, 80, 2).mean(axis=(1, 3))
        return halves.astype(np.uint8)[:, :, None]


class LazyStack:
    def __init__(self, frames):
        self._frames, self._out = frames, None

    def __array__(self, dtype=None, copy=None):
        if self._out is None:
            self._out = np.concatenate(self._frames, axis=-1)
        return self._out if dtype is None else self._out.astype(dtype)


class FrameStack(gym.Wrapper):
    def __init__(self, env, k):
        gym.Wrapper.__init__(self, env)
        self.k, self.frames = k, deque([], maxlen=k)
        shape = env.observation_space.shape
        self.observation_space = spaces.Box(0, 255, shape[:-1] + (shape[-1] * k,), np.uint8)

    def reset(self):
        ob = self.env.reset()
        for _ in range(self.k):
            self.frames.append(ob)
        return LazyStack(list(self.frames))

    def step(self, action):
        ob, reward, done, info = self.env.step(action)
        self.frames.append(ob)
        return LazyStack(list(self.frames)), reward, done, info


class ScaledFloatFrame(gym.ObservationWrapper):
    def observation(self, observation):
        return np.array(observation).astype(np.float32) / 255.0


def wrap(env_id, seed):
    env = gym.make(env_id)
    assert "NoFrameskip" in env.spec.id
    env = MaxAndSkipEnv(NoopResetEnv(env))
    env = EpisodicLifeEnv(env)
    if "FIRE" in env.unwrapped.get_action_meanings():
        env = FireResetEnv(env)
    env = ClipRewardEnv(WarpFrame(env))
    env = ScaledFloatFrame(FrameStack(env, 4))
    env.seed(seed)
    env.action_space.seed(seed)
    return env


def play(seed, steps):
    env = wrap("BreakoutNoFrameskip-v4", seed)
    total, lives_lost, sums, noops = 0.0, 0, [], []
    obs = env.reset()
    noops.append(env.last_noops)
    for _ in range(steps):
        obs, reward, done, info = env.step(env.action_space.sample())
        assert obs.shape == (84, 80, 4) and obs.dtype == np.float32 and reward in (0, 1)
        total += reward
        sums.append(float(obs.sum()))
        if done:
            lives_lost += 1
            env.reset()
            noops.append(env.last_noops)
    assert 0 < min(sums) and obs.max() <= 1.0
    assert env.real_resets <= max(lives_lost, 1)  # lives end episodes, games are reset
    env.close()
    return total, lives_lost, sums, noops


first, again, other = play(0, 300), play(0, 300), play(1, 20)
assert first == again and other[2] != first[2][:20]
assert first[0] > 0 and first[1] >= 6 and 1 <= min(first[3]) <= max(first[3]) <= 30
pong = gym.wrappers.AtariPreprocessing(gym.make("PongNoFrameskip-v4"), noop_max=10)
pong = gym.wrappers.FrameStack(pong, 4)
pong.seed(3)
assert np.array(pong.reset()).shape == (4, 84, 84)
assert np.array(pong.step(2)[0]).shape == (4, 84, 84) and pong.ale.lives() == 0
assert isinstance(gym.make("Pong-v0").unwrapped, gym.Env)
print(first[:2], first[3])
