"""gymcore's environments with the general interface: values, ends, and parallel execution."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import gymcore as gym
from gymcore.core import Env
from gymcore.environment import Environment
from gymcore.environment.space_specs import spec_of_space
from gymcore.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from gymcore.spaces.utils import unflatten
from tests.testing_env import assert_same

IDS = ["CartPole-v1", "Pendulum-v1", "Acrobot-v1", "FrozenLake-v1", "Taxi-v4", "Blackjack-v1"]


class EveryOther(Env):
    """Environment that terminates or truncates at its seed's step; nested spaces of every kind."""

    observation_space = Dict(
        {
            "count": Discrete(100, start=3),
            "parts": Tuple([MultiDiscrete([2, 3]), Box(-np.inf, np.inf, (2,))]),
            "action_mask": MultiBinary(3),
        }
    )
    action_space = Tuple([Discrete(3, start=1), MultiBinary(2)])

    def __init__(self, both: bool = False) -> None:
        self.both = both

    def observation(self):
        return {
            "count": np.int64(3 + self.steps),
            "parts": (np.array([1, 2]), np.full(2, self.steps, np.float32)),
            "action_mask": np.array([1, 0, 1], np.int8),
        }

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.end = self.np_random.integers(1, 6)
        self.steps = 0
        return self.observation(), {}

    def step(self, action):
        assert action in self.action_space
        self.steps += 1
        ended = self.steps == self.end
        odd = self.end % 2 == 1
        return self.observation(), 1.0, ended and (odd or self.both), ended and not odd, {}


@pytest.mark.parametrize("env_id", IDS)
def test_one_environment_is_as_gym_has_it(env_id):
    environment = Environment.create(env_id, seed=5)
    env = gym.make(env_id)
    states_of = spec_of_space(env.observation_space, "states").to_values
    env.action_space.seed(1)
    actions_of = spec_of_space(env.action_space, "actions").to_values
    assert_same(environment.reset(), states_of(env.reset(seed=5)[0]))
    for _ in range(300):
        action = env.action_space.sample()
        states, terminal, reward = environment.execute(actions_of(action))
        observation, expected, terminated, truncated, _ = env.step(action)
        assert_same(states, states_of(observation))
        assert reward == expected
        assert terminal == (1 if terminated else 2 if truncated else 0)
        if terminal:
            assert_same(environment.reset(), states_of(env.reset()[0]))


@pytest.mark.parametrize("env_id", [*IDS, "LunarLander-v3"])
@pytest.mark.parametrize("num", [1, 5])
def test_parallel_environments_are_as_single_ones(env_id, num):
    environment = Environment.create(env_id, seed=3, max_episode_timesteps=20)
    singles = [Environment.create(env_id, seed=3 + k, max_episode_timesteps=20) for k in range(num)]
    space = gym.make(env_id).action_space
    actions_of = spec_of_space(space, "actions").to_values
    space.seed(1)
    for _ in range(3):
        parallel, states = environment.reset(num_parallel=num)
        expected = [single.reset() for single in singles]
        assert_rows(states, expected)
        while len(parallel):
            actions = [actions_of(space.sample()) for _ in parallel]
            stepped = [
                singles[k].execute(action) for k, action in zip(parallel, actions, strict=True)
            ]
            parallel, states, terminal, reward = environment.execute(np.array(actions))
            assert terminal.tolist() == [result[1] for result in stepped]
            assert reward.tolist() == [result[2] for result in stepped]
            assert_rows(states, [result[0] for result in stepped if not result[1]])
            ended = [result[0] for result in stepped if result[1]]
            if ended:
                assert_rows(environment.final_states(), ended)
            else:
                assert environment.final_states() is None
    environment.close()


def assert_rows(batch, rows):
    """Assert that a batch consists of these rows."""
    if isinstance(batch, dict):
        for key, values in batch.items():
            assert_rows(values, [row[key] for row in rows])
    else:
        assert batch.shape == (len(rows), *np.shape(rows[0])) if rows else len(batch) == 0
        for row, values in zip(rows, batch, strict=True):
            assert np.array_equal(row, values)


@pytest.mark.parametrize("both", [False, True])
def test_nested_spaces_and_masks(both):
    environment = Environment.create(EveryOther, both=both, seed=1)
    assert list(environment.states()) == ["count", "parts"]
    assert environment.states()["parts"]["gymtpl0"]["gymmdc1"]["num_values"] == 3
    action = {"gymtpl0": 2, "gymtpl1": np.array([True, False])}
    codes = set()
    for _ in range(20):
        states = environment.reset()
        assert states["count"] == 0 and states["action_mask"].tolist() == [True, False, True]
        terminal = 0
        while not terminal:
            states, terminal, _ = environment.execute(action)
        end = states["count"]
        assert terminal == (1 if end % 2 or both else 2)
        codes.add(terminal)
    assert codes == ({1} if both else {1, 2})


def test_nested_spaces_in_parallel():
    environment = Environment.create(EveryOther, seed=1)
    parallel, states = environment.reset(num_parallel=6)
    assert states["parts"]["gymtpl0"]["gymmdc0"].tolist() == [1] * 6
    step = 0
    ends = {}
    while len(parallel):
        live = parallel
        action = {
            "gymtpl0": np.full(len(live), 2),
            "gymtpl1": np.ones((len(live), 2), np.bool_),
        }
        parallel, states, terminal, _ = environment.execute(action)
        step += 1
        assert states["count"].tolist() == [step] * len(parallel)
        assert states["action_mask"].shape == (len(parallel), 3)
        codes = zip(live.tolist(), terminal.tolist(), strict=True)
        ends.update({k: (step, code) for k, code in codes if code})
    assert sorted(ends) == list(range(6))
    assert all(code == (1 if step % 2 else 2) for step, code in ends.values())


def test_the_number_of_parallel_environments_may_change():
    environment = Environment.create("CartPole-v1")
    for num in (3, 3, 5, None, 2):
        result = environment.reset(num_parallel=num)
        states = result if num is None else result[1]
        assert states.shape == ((4,) if num is None else (num, 4))


def test_bounds_and_dropped_entries():
    environment = Environment.create(
        "CartPole-v1", min_value=-0.01, max_value=0.01, drop_states_indices=[0], seed=2
    )
    spec = environment.states()
    assert spec["shape"] == (3,)
    assert spec["min_value"].tolist() == pytest.approx([-0.01, -0.41887903, -0.01])
    observation, _ = gym.make("CartPole-v1").reset(seed=2)
    low, high = spec["min_value"], spec["max_value"]
    expected = np.clip(observation[1:], low, high)
    assert np.array_equal(environment.reset(), expected.astype(np.float32))
    _, states = environment.reset(num_parallel=50)
    assert states.shape == (50, 3) and states.dtype == np.float32
    assert np.all(states >= low.astype(np.float32)) and np.all(states <= high.astype(np.float32))


def test_a_reward_of_true_ends_alone():
    environment = Environment.create(EveryOther, terminal_reward=10, seed=1)
    action = {"gymtpl0": 0, "gymtpl1": np.zeros(2, np.bool_)}
    for _ in range(10):
        environment.reset()
        terminal = 0
        while not terminal:
            _, terminal, reward = environment.execute(action)
            assert reward == (11.0 if terminal == 1 else 1.0)
    parallel, _ = environment.reset(num_parallel=8)
    while len(parallel):
        rows = len(parallel)
        action = {"gymtpl0": np.zeros(rows, int), "gymtpl1": np.zeros((rows, 2), np.bool_)}
        parallel, _, terminal, reward = environment.execute(action)
        assert reward.tolist() == [11.0 if code == 1 else 1.0 for code in terminal]


def test_videos(tmp_path):
    environment = Environment.create(
        "CartPole-v1", visualize_directory=str(tmp_path / "videos"), max_episode_timesteps=3
    )
    environment.reset()
    while not environment.execute(0)[1]:
        pass
    environment.close()
    assert [path.suffix for path in (tmp_path / "videos").iterdir()].count(".mp4") == 1


def test_import_modules():
    with pytest.raises(ModuleNotFoundError):
        Environment.create("CartPole-v1", import_modules="no_such_module")
    Environment.create("CartPole-v1", import_modules=["json", "math"]).close()


def test_every_id_of_grid_worlds_gives_missions_as_numbers():
    ids = [env_id for env_id in gym.registry if env_id.startswith(("MiniGrid-", "BabyAI-"))]
    assert len(ids) == 172
    for env_id in ids:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of earlier versions
            environment = Environment.create(env_id)
            env = gym.make(env_id)
        text, space = env.reset(seed=3)[0]["mission"], env.observation_space["mission"]
        environment.seed(3)
        states = environment.reset()
        assert unflatten(space, states["mission"]) == text, env_id
        assert environment.execute(0)[0]["mission"].shape == (512,)
        environment.close()


def test_missions_of_parallel_environments_are_numbers():
    environment = Environment.create("BabyAI-GoToLocal-v0")
    _, states = environment.reset(num_parallel=3)
    assert states["mission"].shape == (3, 512)
    assert states["mission"].dtype == np.uint8
    environment.close()
