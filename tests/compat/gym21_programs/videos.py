"""`Monitor` and `RecordVideo` around environments and wrappers of one's own that draw."""

import glob
import json
import os
import tempfile

import gym
import numpy as np
from gym import spaces
from gym.utils import seeding


class Pendulous(gym.Env):
    """A bead on a line, drawn with Gym's own viewer."""

    metadata = {"render.modes": ["human", "rgb_array"], "video.frames_per_second": 20}

    def __init__(self):
        self.action_space = spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)
        self.observation_space = spaces.Box(-4.0, 4.0, (1,), dtype=np.float32)
        self.viewer = None
        self.seed()

    def seed(self, seed=None):
        self.np_random, seed = seeding.np_random(seed)
        return [seed]

    def reset(self):
        self.x = self.np_random.uniform(-1, 1)
        return np.array([self.x], dtype=np.float32)

    def step(self, action):
        self.x = float(np.clip(self.x + 0.1 * action[0], -4, 4))
        return np.array([self.x], dtype=np.float32), -abs(self.x), False, {}

    def render(self, mode="human"):
        if self.viewer is None:
            from gym.envs.classic_control import rendering

            self.viewer = rendering.Viewer(120, 60)
            self.viewer.set_bounds(-4, 4, -2, 2)
            track = rendering.Line((-4, 0), (4, 0))
            bead = rendering.make_circle(0.5)
            bead.set_color(0.8, 0.2, 0.1)
            self.place = rendering.Transform()
            bead.add_attr(self.place)
            self.viewer.add_geom(track)
            self.viewer.add_geom(bead)
        self.place.set_translation(self.x, 0)
        return self.viewer.render(return_rgb_array=mode == "rgb_array")

    def close(self):
        if self.viewer is not None:
            self.viewer.close()
            self.viewer = None


class Labelled(gym.Wrapper):
    """A user's wrapper that changes frames."""

    def render(self, mode="human", **kwargs):
        frame = self.env.render(mode=mode, **kwargs)
        if mode == "rgb_array":
            frame[:4] = (0, 0, 255)
        return frame


def episodes(env, n, policy):
    returns = []
    for _ in range(n):
        observation, done, total = env.reset(), False, 0.0
        while not done:
            observation, reward, done, info = env.step(policy(observation))
            total += reward
        assert info["TimeLimit.truncated"]
        returns.append(total)
    env.close()
    return returns


gym.register(id="Pendulous-v0", entry_point=Pendulous, max_episode_steps=25)
folder = tempfile.mkdtemp()
env = Labelled(gym.make("Pendulous-v0"))
env.seed(0)
env.reset()
frame = env.render(mode="rgb_array")
column = int(60 + env.x * 15)
assert frame.shape == (60, 120, 3) and frame[0, 0].tolist() == [0, 0, 255]
assert frame[30, column].tolist() == [204, 51, 26] and frame[10, 10].tolist() == [255] * 3

env = gym.wrappers.Monitor(
    env, os.path.join(folder, "m"), force=True, video_callable=lambda n: n < 2
)
back = lambda observation: np.clip(-10 * observation, -1, 1)  # noqa: E731
returns = episodes(env, 3, back)
assert env.get_episode_lengths() == [25] * 3 and env.get_episode_rewards() == returns
assert len(glob.glob(os.path.join(folder, "m", "*.mp4"))) == 2
with open(glob.glob(os.path.join(folder, "m", "*.stats.json"))[0]) as file:
    assert json.load(file)["episode_rewards"] == returns

env = Labelled(gym.make("Pendulous-v0"))
env = gym.wrappers.RecordVideo(env, os.path.join(folder, "v"), episode_trigger=lambda n: n == 1)
env = gym.wrappers.RecordEpisodeStatistics(env)
env.seed(0)
worse = episodes(env, 3, lambda observation: env.action_space.sample())
assert [os.path.basename(f) for f in glob.glob(os.path.join(folder, "v", "*.mp4"))] == [
    "rl-video-episode-1.mp4"
]
assert np.allclose(env.return_queue, worse)
cart = gym.wrappers.Monitor(gym.make("CartPole-v1"), os.path.join(folder, "c"))
cart.reset()
cart.step(1)
cart.close()
assert len(cart.videos) == 1 and os.path.getsize(cart.videos[0][0]) > 500
print(np.round(returns, 2), np.round(worse, 2))
assert np.mean(returns) > np.mean(worse)
