"""Programs as they were written for Gym 0.21, with only the import changed."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore.compat import gym21 as gym
from gymcore.compat.gym21.utils import seeding


class Walk(gym.Env):
    """An environment in the style of that time."""

    metadata = {"render.modes": ["human", "rgb_array"]}  # noqa: RUF012
    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Box(-9.0, 9.0, (1,), np.float32)

    def __init__(self) -> None:
        self.seed()

    def seed(self, seed: int | None = None) -> list[int]:
        self.np_random, seed = seeding.np_random(seed)
        return [seed]

    def reset(self) -> Any:
        self.place = np.float32(self.np_random.randint(-2, 3) + self.np_random.rand())
        return np.array([self.place])

    def step(self, action: int) -> Any:
        self.place += np.float32(0.5 if action else -0.5)
        return np.array([self.place]), 1.0, bool(abs(self.place) > 3), {}

    def render(self, mode: str = "human") -> Any:
        return np.full((4, 4, 3), 9, np.uint8) if mode == "rgb_array" else None


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    gym.register(id="Walk-v0", entry_point=Walk, max_episode_steps=8)
    yield
    gymcore.registry.pop("Walk-v0")


def test_an_environment_of_its_time() -> None:
    env = gym.make("Walk-v0")
    assert env.seed(5) == [5]
    first = env.reset()
    direct = Walk()
    direct.seed(5)
    assert direct.reset().tolist() == first.tolist()
    assert env.np_random.randint(9) == direct.np_random.randint(9)  # a RandomState
    dones = []
    while not dones or not dones[-1]:
        *_, done, info = env.step(len(dones) % 2)
        dones.append(done)
    assert len(dones) == 8 and info == {"TimeLimit.truncated": True}
    assert env.render(mode="rgb_array").shape == (4, 4, 3)
    assert gymcore.make("Walk-v0").reset(seed=5)[0].tolist() == first.tolist()


def test_seeds_of_gym() -> None:
    # Gym 0.21's output for env.seed(0), and CartPole's reset.
    state = seeding.np_random(0)[0].uniform(-0.05, 0.05, 4)
    np.testing.assert_allclose(state, [-0.04456399, 0.04653909, 0.01326909, -0.02099827], 1e-6)
    assert seeding.np_random(np.int64(3))[1] == 3
    assert seeding.np_random()[1] != seeding.np_random()[1]
    assert seeding.create_seed(2**64 + 3) == 3 and 0 <= seeding.hash_seed(1, 4) < 2**32
    for seed in (-1, "x", 2.5):
        with pytest.raises(gym.error.Error, match="Seed must be a non-negative integer"):
            seeding.np_random(seed)  # type: ignore[arg-type]


class Doubled(gym.RewardWrapper):
    def reward(self, reward: float) -> float:
        return 2 * reward


class Shifted(gym.ObservationWrapper):
    def observation(self, observation: Any) -> Any:
        return observation + 100


class Swapped(gym.ActionWrapper):
    def action(self, action: int) -> int:
        return 1 - action


def test_wrappers_of_its_time() -> None:
    env = Doubled(Shifted(Swapped(gym.make("CartPole-v1"))))
    assert env.seed(1) == [1]
    observation = env.reset()
    assert observation.min() > 99
    bare = gym.make("CartPole-v1")
    bare.seed(1)
    assert (bare.reset() + 100).tolist() == observation.tolist()
    result, expected = env.step(0), bare.step(1)
    assert result[0].tolist() == (expected[0] + 100).tolist()
    assert result[1:] == (2.0, False, {})
    assert env.render(mode="rgb_array").shape == (400, 600, 3)
    assert env.gravity == pytest.approx(9.8)
    env.close()


def make_env(gym_id: str, seed: int, folder: str | None = None) -> Any:
    def thunk() -> Any:
        env = gym.make(gym_id)
        env = gym.wrappers.RecordEpisodeStatistics(env)
        if folder is not None:
            env = gym.wrappers.RecordVideo(env, folder)
        env.seed(seed)
        env.action_space.seed(seed)
        env.observation_space.seed(seed)
        return env

    return thunk


@pytest.mark.parametrize("vector_env", [gym.vector.SyncVectorEnv, gym.vector.AsyncVectorEnv])
def test_ppo(vector_env: Any) -> None:
    envs = vector_env([make_env("CartPole-v1", i) for i in range(3)])
    assert isinstance(envs.single_action_space, gym.spaces.Discrete)
    next_obs = envs.reset()
    assert next_obs[1].tolist() == gymcore.make("CartPole-v1").reset(seed=1)[0].tolist()
    envs.action_space.seed(0)
    obs, returns = [], []
    for _ in range(80):
        obs.append(next_obs)
        next_obs, reward, done, infos = envs.step(envs.action_space.sample())
        assert reward.tolist() == [1.0] * 3
        for item, ended in zip(infos, done, strict=True):
            assert ("episode" in item) == ("terminal_observation" in item) == ended
            if "episode" in item:
                returns.append(item["episode"]["r"])
                assert item["episode"]["l"] == returns[-1]
                assert item["TimeLimit.truncated"] is False
    envs.close()
    assert np.array(obs).shape == (80, 3, 4) and len(returns) > 4


def test_videos(tmp_path: Path) -> None:
    pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed")
    env = make_env("CartPole-v1", 1, str(tmp_path / "v"))()
    env.reset()
    done = False
    while not done:
        *_, done, _info = env.step(1)
    env.close()
    assert (tmp_path / "v" / "rl-video-episode-0.mp4").stat().st_size > 500
    env = gym.wrappers.Monitor(gym.make("Walk-v0"), str(tmp_path / "m"), force=True)
    env.reset()
    env.step(0)
    env.close()
    assert env.get_episode_lengths() == [1]
    assert len(list((tmp_path / "m").glob("*.mp4"))) == 1


def test_wrappers_by_name() -> None:
    for name in gym.wrappers.__all__:
        assert hasattr(gym.wrappers, name) and name in dir(gym.wrappers)
    with pytest.raises(AttributeError):
        gym.wrappers.Nothing  # noqa: B018
    env = gym.wrappers.TimeLimit(gym.make("CartPole-v1"), 1)
    assert isinstance(env, gym.wrappers.TimeLimit)
    assert not isinstance(env, gym.wrappers.FrameStack)
    env = gym.wrappers.FrameStack(env, 2)
    env.reset()
    observation, _, done, info = env.step(0)
    assert observation.shape == (2, 4) and (done, info) == (True, {"TimeLimit.truncated": True})
    env = gym.wrappers.NormalizeReward(gym.vector.make("CartPole-v1", 2, asynchronous=False))
    env.reset()
    assert len(env.step([0, 1])) == 4
    pixels = gym.wrappers.PixelObservationWrapper(gym.make("CartPole-v1"))
    assert pixels.reset()["pixels"].shape == (400, 600, 3)


IDS = (
    "Acrobot-v1",
    "BipedalWalker-v3",
    "Blackjack-v1",
    "CartPole-v0",
    "FrozenLake-v1",
    "LunarLander-v2",
    "Pendulum-v1",
    "PongNoFrameskip-v4",
    "Pong-v0",
    "Taxi-v3",
)


@pytest.mark.filterwarnings("ignore:.*out of date")
@pytest.mark.parametrize("env_id", IDS)
def test_environments_are_of_its_classes(env_id: str) -> None:
    env = gym.make(env_id)
    layer = gym.wrappers.OrderEnforcing if env.spec.max_episode_steps is None else None
    assert type(env) is (layer or gym.wrappers.TimeLimit) and isinstance(env, gym.Wrapper)
    assert isinstance(env, gym.Env) and isinstance(env.unwrapped, gym.Env)
    assert env.env is env.unwrapped and env.spec is env.unwrapped.spec
    assert not isinstance(env.unwrapped, gym.Wrapper)
    env.seed(3)
    first = env.reset()
    drawn = env.unwrapped.np_random.randint(1, 31, size=4)
    assert drawn.min() >= 1 and drawn.max() <= 30
    env.seed(3)
    assert np.array_equal(env.reset(), first)
    assert env.unwrapped.np_random.randint(1, 31, size=4).tolist() == drawn.tolist()
    assert len(env.step(env.action_space.sample())) == 4
    env.close()


def test_the_generator_of_its_time() -> None:
    env = gym.make("CartPole-v1")
    env.seed(7)
    generator = env.unwrapped.np_random
    assert isinstance(generator, np.random.RandomState)
    # Even without a reset, draws follow from the seed.
    expected = np.random.RandomState(np.random.PCG64(7)).uniform(size=3)  # type: ignore[arg-type]
    assert generator.uniform(size=3).tolist() == expected.tolist()
    assert generator.randn(2).shape == (2,) and 0 <= generator.rand() < 1
    assert generator.choice([4, 5]) in (4, 5) and len(generator.permutation(3)) == 3


def test_the_time_limit_can_be_read_and_set() -> None:
    env = gym.make("CartPole-v1")
    assert (env._max_episode_steps, env._elapsed_steps) == (500, None)
    with pytest.raises(gym.error.ResetNeeded, match="before calling reset"):
        env.step(0)
    env.reset()
    assert env._elapsed_steps == 0
    env._max_episode_steps = 3
    env.step(0)
    env._elapsed_steps = 2
    assert env.step(1)[2:] == (True, {"TimeLimit.truncated": True})
    with pytest.raises(AttributeError, match="_max_episode_steps"):
        gym.Wrapper(env)._max_episode_steps  # noqa: B018


def test_attributes_are_set_in_the_environment() -> None:
    env = gym.make("CartPole-v1")
    env.reset()
    env.unwrapped.gravity = 1.5
    env.unwrapped.state = (0.0, 1.0, 0.0, 0.0)
    assert env.gravity == gymcore.core.Env.get_wrapper_attr(env, "gravity") == 1.5
    assert env.step(1)[0][0] == pytest.approx(0.02)
    again = copy.deepcopy(env)
    assert again.unwrapped is not env.unwrapped and again.gravity == 1.5
    assert again.step(0)[0].tolist() == env.step(0)[0].tolist()
    assert pickle.loads(pickle.dumps(env)).step(0)[0].tolist() == env.step(0)[0].tolist()


def test_classes_to_derive_from() -> None:
    from gymcore.compat.gym21.envs.classic_control import CartPoleEnv
    from gymcore.compat.gym21.envs.toy_text import discrete

    class Heavy(CartPoleEnv):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__()
            self.gravity = 20.0
            self.taken = 0

        def step(self, action: int) -> Any:
            self.taken += 1
            observation, reward, done, info = super().step(action)
            return observation, 2 * reward, done, info

    gym.register(id="Heavy-v0", entry_point=Heavy, max_episode_steps=2)
    env = gym.make("Heavy-v0")
    env.reset()
    assert env.step(0)[1] == 2.0 and env.step(0)[2]
    assert (env.taken, env.gravity) == (2, 20.0) and isinstance(env.unwrapped, Heavy)
    gymcore.registry.pop("Heavy-v0")
    table = {s: {a: [(1.0, s + a, 1.0 * a, s + a == 2)] for a in (0, 1)} for s in range(3)}
    walk = discrete.DiscreteEnv(3, 2, table, np.array([1.0, 0.0, 0.0]))
    assert walk.seed(1) == [1] and walk.reset() == 0
    assert walk.step(1) == (1, 1.0, False, {"prob": 1.0})
    assert walk.step(1)[2] and (walk.s, walk.lastaction) == (2, 1)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        gym.envs.classic_control.Nothing  # noqa: B018


def test_tables_print_themselves(capsys: pytest.CaptureFixture[str]) -> None:
    env = gym.make("FrozenLake-v1", is_slippery=False)
    assert (env.nS, env.env.nA, env.env.isd[0]) == (16, 4, 1.0)
    env.reset()
    env.render()
    assert capsys.readouterr().out == env.render(mode="ansi") != ""


# Results of version 2: shapes of observations and keys of infos for the parts of the reward.
MUJOCO = {
    "HalfCheetah-v2": 17,
    "HalfCheetah-v3": 17,
    "Hopper-v2": 11,
    "Walker2d-v3": 17,
    "Swimmer-v2": 8,
    "Ant-v2": 111,
    "Humanoid-v2": 376,
    "HumanoidStandup-v2": 376,
    "Reacher-v2": 11,
    "InvertedDoublePendulum-v2": 11,
}


@pytest.mark.filterwarnings("ignore:.*v4 is out of date")
@pytest.mark.parametrize("env_id, size", MUJOCO.items())
def test_mujoco(env_id: str, size: int) -> None:
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    with pytest.warns(UserWarning, match=f"{env_id} is .*-v4 with the installed MuJoCo"):
        env = gym.make(env_id)
    assert env.observation_space.shape == (size,) and env.spec.id == env_id
    env.seed(1)
    first = env.reset()
    kwargs = {"use_contact_forces": True} if "Ant" in env_id else {}
    current = gymcore.make(env_id[:-1] + "4", **kwargs)
    assert current.reset(seed=1)[0].tolist() == first.tolist()
    action = env.action_space.high
    observation, reward, done, _ = env.step(action)
    expected = current.step(action)
    assert observation.tolist() == expected[0].tolist() and reward == expected[1] and not done


def test_goals() -> None:
    class Reach(gym.GoalEnv):
        def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> float:
            return -float(np.abs(achieved_goal - desired_goal).sum())

    env = Reach()
    with pytest.raises(gym.error.Error, match="GoalEnv expects a Dict with observation"):
        env.reset()
    place = gym.spaces.Discrete(3)
    env.observation_space = gym.spaces.Dict(observation=place, achieved_goal=place)
    with pytest.raises(gym.error.Error, match="desired_goal, got Dict"):
        env.reset()
    env.observation_space = gym.spaces.Dict(
        observation=place, achieved_goal=place, desired_goal=place
    )
    assert env.reset() is None
    assert gym.Wrapper(env).compute_reward(np.ones(2), np.zeros(2), {}) == -2.0


def test_the_viewer() -> None:
    pytest.importorskip("pygame", reason="pygame is not installed")
    from gymcore.compat.gym21.envs.classic_control import rendering

    viewer = rendering.Viewer(100, 50)
    viewer.set_bounds(0, 10, 0, 5)
    pole = rendering.make_capsule(3.0, 1.0)
    for part in pole.gs:
        part.set_color(0.0, 0.0, 1.0)
    place = rendering.Transform(rotation=np.pi / 2)
    pole.add_attr(place)
    pole.add_attr(rendering.Transform((5.0, 1.0)))
    viewer.add_geom(pole)
    viewer.draw_polyline([(0, 0), (10, 0)], color=(1, 0, 0), linewidth=3)
    viewer.draw_polygon([(8, 4), (9, 4), (9, 3), (8, 3)], color=(0, 1, 0))
    frame = viewer.get_array()
    blue, green = frame[25, 50], frame[15, 85]
    assert blue.tolist() == [0, 0, 255] and green.tolist() == [0, 255, 0]
    assert frame[49, 10].tolist() == [255, 0, 0] and frame[5, 5].tolist() == [255] * 3
    place.set_rotation(0.0)
    frame = viewer.get_array()  # without the objects that were drawn only once
    assert frame[40, 70].tolist() == [0, 0, 255] and frame[25, 50].tolist() == [255] * 3
    assert frame[15, 85].tolist() == [255] * 3
    viewer.close()
    assert not viewer.isopen


def test_videos_of_a_users_wrapper(tmp_path: Path) -> None:
    pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed")
    for wrap in (gym.wrappers.RecordVideo, gym.wrappers.Monitor):
        folder = tmp_path / wrap.__name__
        env = wrap(Doubled(gym.make("CartPole-v1")), str(folder))
        env.reset()
        env.step(0)
        env.close()
        assert len(list(folder.glob("*.mp4"))) == 1


class Mistaken(gymcore.Env):
    action_space = observation_space = gymcore.spaces.Discrete(3)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        return 1

    def step(self, action: object) -> Any:
        return 1, 0.0, False, {}


class Seedless(Mistaken):
    def reset(self) -> Any:  # type: ignore[override]
        return 1


@pytest.mark.filterwarnings("ignore:.*(old step API|Current gymcore version|not a tuple)")
def test_what_is_mistaken_for_a_current_environment() -> None:
    gymcore.register("Mistaken-v0", Mistaken, max_episode_steps=3)
    gymcore.register("Seedless-v0", Seedless, max_episode_steps=3)
    env = gymcore.make("Mistaken-v0")
    with pytest.warns(UserWarning, match="pass it to `gymcore.compat.from_done_api`"):
        env.reset()
    with pytest.raises(ValueError, match=r"got 4\. To use an .* `gymcore.compat.from_done_api`"):
        env.step(0)
    with pytest.raises(TypeError, match="seed") as caught:
        gymcore.make("Seedless-v0").reset()
    assert "gymcore.compat.gym21.register" in caught.value.__notes__[0]
    for name in ("Mistaken-v0", "Seedless-v0"):
        del gymcore.registry[name]
    assert gymcore.compat.from_done_api(Seedless()).step(0) == (1, 0.0, False, False, {})


def test_wrappers_of_vector_environments() -> None:
    class Half(gym.vector.VectorEnvWrapper):
        def step_wait(self) -> Any:
            observations, rewards, dones, infos = self.env.step_wait()  # type: ignore[attr-defined]
            return observations, rewards / 2, dones, infos

    envs = Half(gym.vector.make("CartPole-v1", 2, asynchronous=False))
    envs.reset()
    assert envs.step([0, 1])[1].tolist() == [0.5, 0.5] and isinstance(envs.env, gym.Env)
    envs = gym.wrappers.RecordEpisodeStatistics(gym.wrappers.NormalizeObservation(envs))
    envs.reset()
    ended = None
    while ended is None:
        *_, dones, infos = envs.step([1, 1])
        assert [("episode" in info) for info in infos] == dones.tolist()
        ended = next((info["episode"] for info in infos if "episode" in info), None)
    assert ended["r"] == ended["l"] / 2


def test_batches() -> None:
    envs = gym.vector.make("Walk-v0", 2, asynchronous=False, wrappers=[Doubled, Doubled])
    assert isinstance(envs, gym.vector.VectorEnv)
    assert envs.seed(3) == [[3], [4]]
    envs.reset()
    assert envs.step([0, 1])[1].tolist() == [4.0, 4.0]
    assert gym.vector.make("Walk-v0", 1, False, wrappers=Doubled).num_envs == 1
    with gym.vector.make("CartPole-v1", 2) as envs:
        assert envs.reset().shape == (2, 4)
    with pytest.raises(gym.error.SpaceMismatch, match="observation_space: expected Box"):
        gym.vector.SyncVectorEnv([Walk], observation_space=gym.spaces.Discrete(2))
    with pytest.raises(gym.error.SpaceMismatch, match="action_space: expected Discrete"):
        gym.vector.SyncVectorEnv([Walk], action_space=gym.spaces.Discrete(3))
