# ruff: noqa: RUF059
"""Programs as they were written for Gym 0.26. Each gets `gym`, and a folder for its files.

Their expected results, recorded with the package gym 0.26.2, are in `test_gym26.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def q_learning(gym: Any, folder: Path) -> Any:
    env = gym.make("FrozenLake-v1", map_name="4x4", is_slippery=True)
    env.action_space.seed(3)
    table = np.zeros((env.observation_space.n, env.action_space.n))
    lengths = []
    for episode in range(60):
        state, info = env.reset(seed=5 if episode == 0 else None)
        terminated = truncated = False
        steps = 0
        while not (terminated or truncated):
            greedy = episode >= 30 and table[state].any()
            action = int(table[state].argmax()) if greedy else env.action_space.sample()
            following, reward, terminated, truncated, info = env.step(action)
            target = reward + 0.95 * table[following].max() * (not terminated)
            table[state, action] += 0.5 * (target - table[state, action])
            state = following
            steps += 1
        lengths.append(steps)
    env.close()
    return sum(lengths), round(float(table.sum()), 6)


def ppo_with_clipped_actions(gym: Any, folder: Path) -> Any:
    def make_env(gym_id: str, seed: int) -> Any:
        def thunk() -> Any:
            env = gym.make(gym_id, max_episode_steps=20)
            env = gym.wrappers.FlattenObservation(env)
            env = gym.wrappers.RecordEpisodeStatistics(env)
            env = gym.wrappers.ClipAction(env)
            env = gym.wrappers.NormalizeObservation(env)
            env = gym.wrappers.TransformObservation(env, lambda obs: np.clip(obs, -10, 10))
            env = gym.wrappers.NormalizeReward(env, gamma=0.99)
            env = gym.wrappers.TransformReward(env, lambda reward: np.clip(reward, -10, 10))
            env.action_space.seed(seed)
            return env

        return thunk

    envs = gym.vector.SyncVectorEnv([make_env("Pendulum-v1", i) for i in range(2)])
    assert isinstance(envs.single_action_space, gym.spaces.Box)
    generator = np.random.default_rng(1)
    obs, _ = envs.reset(seed=[7, 8])
    total, episodes = 0.0, []
    for _ in range(50):
        actions = generator.normal(0.0, 2.0, (2, 1)).astype(np.float32)
        obs, reward, terminated, truncated, infos = envs.step(actions)
        total += float(reward.sum())
        if "final_info" not in infos:
            continue
        for info in infos["final_info"]:
            if info is not None:
                episodes.append(
                    (round(info["episode"]["r"].item(), 3), info["episode"]["l"].item())
                )
    envs.close()
    return episodes, round(total, 4)


def ppo_with_wrappers_around_the_batch(gym: Any, folder: Path) -> Any:
    envs = gym.vector.make("CartPole-v1", num_envs=4, asynchronous=False)
    envs = gym.wrappers.RecordEpisodeStatistics(envs, deque_size=50)
    envs = gym.wrappers.NormalizeReward(envs, gamma=0.9)
    assert envs.is_vector_env and envs.num_envs == 4
    obs, _ = envs.reset(seed=1)
    generator = np.random.default_rng(2)
    scaled, last = 0.0, 0.0
    for _ in range(80):
        obs, reward, terminated, truncated, infos = envs.step(generator.integers(2, size=4))
        scaled += float(reward.sum())
        for lane, done in enumerate(np.logical_or(terminated, truncated)):
            if done:
                assert infos["_episode"][lane] and infos["_final_observation"][lane]
                last += float(infos["final_observation"][lane].sum())
    lengths = [int(length) for length in envs.length_queue]
    returns = [float(value) for value in envs.return_queue]
    count = envs.episode_count
    envs.close()
    assert returns == lengths and count == len(lengths)
    return lengths, round(scaled, 4), round(last, 4)


def statistics_of_a_users_wrapper(gym: Any, folder: Path) -> Any:
    """Use a wrapper of the user's that takes environments and batches, as was common."""

    class Statistics(gym.Wrapper):
        def __init__(self, env: Any) -> None:
            super().__init__(env)
            self.num_envs = getattr(env, "num_envs", 1)
            self.returns = np.zeros(self.num_envs)

        def reset(self, **kwargs: Any) -> Any:
            self.returns[:] = 0
            return super().reset(**kwargs)

        def step(self, action: Any) -> Any:
            observations, rewards, terminated, truncated, infos = super().step(action)
            self.returns += rewards
            return observations, rewards, terminated, truncated, infos

    results = []
    single = Statistics(gym.make("MountainCar-v0"))
    assert single.unwrapped.max_speed == single.max_speed == 0.07
    single.reset(seed=3)
    for _ in range(5):
        single.step(0)
    results.append(single.returns.tolist())
    envs = Statistics(gym.vector.make("MountainCar-v0", 3, asynchronous=False))
    observations, _ = envs.reset(seed=3)
    for _ in range(5):
        envs.step([0, 1, 2])
    results += [envs.returns.tolist(), round(float(observations.sum()), 4)]
    results.append([bool(env.spec is not None) for env in envs.envs])
    envs.close()
    single.close()
    return results


def an_environment_of_the_users(gym: Any, folder: Path) -> Any:
    class Walk(gym.Env):
        metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012
        observation_space = gym.spaces.Dict(
            place=gym.spaces.Box(-9, 9, (1,), np.float32), clock=gym.spaces.Discrete(50)
        )
        action_space = gym.spaces.Discrete(2)

        def __init__(self, size: int = 3, render_mode: str | None = None) -> None:
            self.size = size
            self.render_mode = render_mode

        def _observe(self) -> Any:
            return {"place": np.array([self.place], np.float32), "clock": self.clock}

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.place = float(self.np_random.uniform(-1, 1))
            self.clock = 0
            return self._observe(), {"start": self.place}

        def step(self, action: Any) -> Any:
            self.place += 0.5 if action else -0.5
            self.clock += 1
            return self._observe(), 1.0, abs(self.place) > self.size, False, {}

        def render(self) -> Any:
            return np.full((6, 8, 3), 10 * self.clock, np.uint8)

    register = gym.envs.registration.register
    register(id="Walk-v0", entry_point=Walk, max_episode_steps=6, kwargs={"size": 2})
    env = gym.make("Walk-v0", autoreset=True, render_mode="rgb_array_list")
    filtered = gym.wrappers.FilterObservation(env, filter_keys=["place"])
    observation, info = filtered.reset(seed=11)
    seen, ends = [round(float(observation["place"][0]), 4)], []
    for step in range(12):
        observation, reward, terminated, truncated, info = filtered.step(step % 3 > 0)
        seen.append(round(float(observation["place"][0]), 4))
        if terminated or truncated:
            ends.append((step, bool(truncated), info["final_observation"]["clock"]))
    frames = filtered.render()
    assert sorted(observation) == ["place"] and filtered.size == 2
    flat = gym.wrappers.FlattenObservation(gym.make("Walk-v0", size=5))
    shape = flat.reset(seed=1)[0].shape
    gym.envs.registration.registry.pop("Walk-v0")
    return seen, ends, [int(frame.max()) for frame in frames], shape


def an_environment_of_gym_021(gym: Any, folder: Path) -> Any:
    class Old(gym.Env):
        metadata = {"render.modes": ["rgb_array"]}  # noqa: RUF012
        observation_space = gym.spaces.Box(-99, 99, (1,), np.float32)
        action_space = gym.spaces.Discrete(2)

        def seed(self, seed: Any = None) -> Any:
            self.start = seed or 0

        def reset(self) -> Any:
            self.clock = 0
            return np.array([self.start], np.float32)

        def step(self, action: Any) -> Any:
            self.clock += 1
            observation = np.array([self.start + self.clock], np.float32)
            return observation, float(action), self.clock == 4, {"clock": self.clock}

        def render(self, mode: str = "human") -> Any:
            return np.full((2, 2, 3), self.clock, np.uint8)

    gym.register("Old-v0", entry_point=Old, max_episode_steps=3, apply_api_compatibility=True)
    env = gym.make("Old-v0", render_mode="rgb_array", disable_env_checker=True)
    results: list[Any] = [env.reset(seed=5)[0].tolist()]
    for _ in range(3):
        observation, reward, terminated, truncated, info = env.step(1)
        results.append((observation.tolist(), reward, terminated, bool(truncated), info))
    results.append(int(env.render().max()))
    gym.envs.registration.registry.pop("Old-v0")
    four = gym.wrappers.StepAPICompatibility(gym.make("CartPole-v1", max_episode_steps=1), False)
    four.reset(seed=1)
    results.append(four.step(0)[2:])
    return results


def preprocessing_of_images(gym: Any, folder: Path) -> Any:
    class Screen(gym.Env):
        observation_space = gym.spaces.Box(0, 255, (40, 60, 3), np.uint8)
        action_space = gym.spaces.Discrete(2)

        def _draw(self) -> Any:
            return self.np_random.integers(0, 256, (40, 60, 3)).astype(np.uint8)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return self._draw(), {}

        def step(self, action: Any) -> Any:
            return self._draw(), 3.0, False, False, {}

    env = gym.wrappers.ResizeObservation(Screen(), 20)
    env = gym.wrappers.GrayScaleObservation(env)
    env = gym.wrappers.FrameStack(env, num_stack=4)
    env = gym.wrappers.TransformReward(env, np.sign)
    first, _ = env.reset(seed=1)
    following, reward, *_ = env.step(0)
    stack = np.array(following)
    assert isinstance(first, gym.wrappers.LazyFrames) and first.shape == (4, 20, 20)
    assert (stack[:3] == np.array(first)[1:]).all()
    return float(reward), int(stack.sum()), stack[-1, 0, :5].tolist(), str(env.observation_space)


def videos(gym: Any, folder: Path) -> Any:
    env = gym.make("CartPole-v1", render_mode="rgb_array")
    env = gym.wrappers.RecordVideo(
        env, str(folder / "videos"), episode_trigger=lambda episode: episode % 2 == 0
    )
    lengths = [0, 0, 0]
    env.reset(seed=1)
    for episode in range(3):
        done = False
        while not done:
            *_, terminated, truncated, _info = env.step(episode % 2)
            done = terminated or truncated
            lengths[episode] += 1
        env.reset()
    env.close()
    return sorted(path.name for path in (folder / "videos").iterdir()), lengths


def workers(gym: Any, folder: Path) -> Any:
    envs = gym.vector.make("CartPole-v1", num_envs=2, asynchronous=True)
    observations, _ = envs.reset(seed=4)
    envs.step_async(np.array([0, 1]))
    observations, rewards, terminated, truncated, infos = envs.step_wait()
    gravity = envs.get_attr("gravity")
    envs.set_attr("gravity", [1.0, 2.0])
    gravity += envs.call("gravity")
    while "final_observation" not in infos:
        observations, rewards, terminated, truncated, infos = envs.step([0, 0])
    lengths = [info is not None for info in infos["final_info"]]
    last = [
        None if row is None else round(float(row.sum()), 4) for row in infos["final_observation"]
    ]
    envs.close()
    return [round(value, 2) for value in gravity], lengths, last


def infos_as_lists(gym: Any, folder: Path) -> Any:
    envs = gym.vector.make(
        "CartPole-v1", 2, False, wrappers=gym.wrappers.RecordEpisodeStatistics, max_episode_steps=2
    )
    envs = gym.wrappers.VectorListInfo(envs)
    _, infos = envs.reset(seed=1)
    assert infos == [{}, {}]
    envs.step([0, 1])
    *_, infos = envs.step([0, 1])
    envs.close()
    return [
        (
            info["final_info"]["episode"]["l"].item(),
            round(float(info["final_observation"].sum()), 4),
        )
        for info in infos
    ]


PROGRAMS = (
    q_learning,
    ppo_with_clipped_actions,
    ppo_with_wrappers_around_the_batch,
    statistics_of_a_users_wrapper,
    an_environment_of_the_users,
    an_environment_of_gym_021,
    preprocessing_of_images,
    videos,
    workers,
    infos_as_lists,
)
