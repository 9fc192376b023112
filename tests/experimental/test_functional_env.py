"""Environments made of functions: a vector of them equals the lanes alone."""

from __future__ import annotations

import collections
from typing import Any

import gymnasium.experimental.functional
import numpy as np
import pytest

import gymcore
from gymcore import error, spaces
from gymcore.experimental import FuncEnv, FunctionalEnv, FunctionalVectorEnv
from gymcore.vector import AutoresetMode, SyncVectorEnv
from gymcore.wrappers import TimeLimit
from tests.testing_env import assert_same
from tests.wrappers.lane_by_lane import MODES

State = collections.namedtuple("State", "position speed")


class Sled(FuncEnv):
    """A sled on ice; its functions take one state."""

    observation_space = spaces.Dict(
        place=spaces.Box(-9, 9, (2,), np.float64), luck=spaces.Box(0, 1, (), np.float64)
    )
    action_space = spaces.Discrete(3)

    def initial(self, rng, params=None):
        return State(rng.uniform(-1, 1, 2), np.float64(0))

    def transition(self, state, action, rng, params=None):
        speed = state.speed + 0.3 * (action - 1.0) + 0.1 * rng.normal()
        return State(state.position + speed, np.float64(speed))

    def observation(self, state, rng, params=None):
        return {"place": state.position, "luck": np.array(rng.random())}

    def reward(self, state, action, next_state, rng, params=None):
        return abs(next_state.position).sum() - 0.1 * action

    def terminal(self, state, rng, params=None):
        return abs(state.position).max() > 2

    def state_info(self, state, params=None):
        return {"start": state.position.copy(), "deep": {"speed": float(state.speed)}}

    def transition_info(self, state, action, next_state, params=None):
        return {"moved": float(abs(next_state.position - state.position).sum())}

    def render_init(self, params=None, **kwargs):
        return {"drawn": 0}

    def render_image(self, state, render_state, params=None):
        return {"drawn": render_state["drawn"] + 1}, np.full(
            (2, 3, 3), render_state["drawn"], np.uint8
        )

    def render_close(self, render_state, params=None):
        self.closed_after = render_state["drawn"]


class BatchedSled(Sled):
    """The same sled, with functions that take a batch."""

    batched = True

    def initial(self, rng, params=None):
        return State(np.stack([one.uniform(-1, 1, 2) for one in rng]), np.zeros(len(rng)))

    def transition(self, state, action, rng, params=None):
        noise = np.array([one.normal() for one in rng])
        speed = state.speed + 0.3 * (action - 1.0) + 0.1 * noise
        return State(state.position + speed[:, None], speed)

    def observation(self, state, rng, params=None):
        return {"place": state.position, "luck": np.array([one.random() for one in rng])}

    def reward(self, state, action, next_state, rng, params=None):
        return abs(next_state.position).sum(1) - 0.1 * action

    def terminal(self, state, rng, params=None):
        return abs(state.position).max(1) > 2

    def state_info(self, state, params=None):
        return {"start": state.position.copy(), "deep": {"speed": state.speed}}

    def transition_info(self, state, action, next_state, params=None):
        return {"moved": abs(next_state.position - state.position).sum(1)}


def ordered(data: Any) -> Any:
    """Sort the keys of dicts, whose order depends on which lane's info came first."""
    if isinstance(data, dict):
        return {key: ordered(data[key]) for key in sorted(data)}
    return tuple(map(ordered, data)) if isinstance(data, tuple) else data


@pytest.mark.parametrize("limit", [0, 6])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("functions", [Sled, BatchedSled])
def test_a_vector_does_what_its_lanes_do(functions, mode, limit):
    def lane() -> Any:
        return TimeLimit(FunctionalEnv(Sled()), limit) if limit else FunctionalEnv(Sled())

    ours = FunctionalVectorEnv(functions(), 4, limit, autoreset_mode=mode)
    theirs = SyncVectorEnv([lane] * 4, autoreset_mode=mode)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.metadata["autoreset_mode"] is mode
    assert_same(ordered(ours.reset(seed=3)), ordered(theirs.reset(seed=3)))
    rng = np.random.default_rng(1)
    ended = np.zeros(4, np.bool_)
    endings = 0
    for step in range(40):
        mask = ended if mode is AutoresetMode.DISABLED else rng.random(4) < 0.05
        if mask.any():
            options = {"reset_mask": mask.copy()}
            again = theirs.reset(options={"reset_mask": mask})
            assert_same(ordered(ours.reset(options=options)), ordered(again))
            assert (options["reset_mask"] == mask).all()
        actions = rng.integers(0, 3, 4)
        result = ours.step(actions)
        assert_same(ordered(result), ordered(theirs.step(actions)), f"step {step}")
        ended = result[2] | result[3]
        endings += ended.sum()
    assert endings > 5


@pytest.mark.parametrize("functions", [Sled, BatchedSled])
def test_results_are_the_callers(functions):
    envs = FunctionalVectorEnv(functions(), 2)
    first, _ = envs.reset(seed=3)
    copy = first["place"].copy()
    second = envs.step(np.array([1, 1]))[0]
    np.testing.assert_array_equal(first["place"], copy)
    again = second["place"].copy()
    second["place"][:] = 99
    mask = np.array([True, False])
    np.testing.assert_array_equal(envs.reset(options={"reset_mask": mask})[0]["place"][1], again[1])


class Line(FuncEnv):
    """States that are numbers, and observations that are one array."""

    observation_space = spaces.Box(-100, 100, (1,), np.float32)
    action_space = spaces.Box(-1, 1, (1,), np.float32)

    def initial(self, rng, params=None):
        return np.zeros((len(rng), 1), np.float32)

    def transition(self, state, action, rng, params=None):
        return state + action

    def observation(self, state, rng, params=None):
        return state

    def reward(self, state, action, next_state, rng, params=None):
        return 1.0

    def terminal(self, state, rng, params=None):
        return state[:, 0] >= 2


def test_last_observations_of_one_array_are_one_array():
    envs = FunctionalVectorEnv(Line(), 3, autoreset_mode="SameStep", batched=True)
    envs.reset(seed=1)
    actions = np.array([[1], [0.5], [-1]], np.float32)
    envs.step(actions)
    observations, rewards, terminated, _, infos = envs.step(actions)
    np.testing.assert_array_equal(observations, np.array([[0], [1], [-2]], np.float32))
    np.testing.assert_array_equal(infos["final_obs"], np.array([[2], [0], [0]], np.float32))
    assert infos["_final_obs"].tolist() == terminated.tolist() == [True, False, False]
    assert rewards.dtype == np.float64 and rewards.tolist() == [1, 1, 1]
    assert infos["final_info"] == {}


def test_pictures():
    env = FunctionalEnv(Sled(), render_mode="rgb_array")
    env.reset(seed=1)
    assert [env.render()[0, 0, 0] for _ in range(3)] == [0, 1, 2]
    env.close()
    env.close()
    assert env.func_env.closed_after == 3

    for functions in (Sled, BatchedSled):
        envs = FunctionalVectorEnv(functions(), 2, render_mode="rgb_array")
        envs.reset(seed=1)
        assert [frame[0, 0, 0] for frame in envs.render()] == [0, 1]
        envs.close()
        assert envs.func_env.closed_after == 2
    with pytest.raises(error.UnsupportedMode, match="without a render mode"):
        FunctionalEnv(Sled()).render()


def test_the_single_environment_passes_the_checks():
    from gymcore.utils.env_checker import check_env

    with pytest.warns(UserWarning, match="not having a spec"):
        check_env(FunctionalEnv(Sled()))


def test_it_can_be_registered(registries):
    gymcore.register(
        "Sled-v0",
        entry_point=lambda **kwargs: FunctionalEnv(Sled(), **kwargs),
        vector_entry_point=lambda num_envs, **kwargs: FunctionalVectorEnv(
            BatchedSled(), num_envs, **kwargs
        ),
        max_episode_steps=5,
    )
    env = gymcore.make("Sled-v0")
    envs = gymcore.make_vec("Sled-v0", 2, vectorization_mode="vector_entry_point")
    assert_same(envs.reset(seed=1)[0]["place"][0], env.reset(seed=1)[0]["place"])
    assert envs.time_limit == 5


def test_there_are_no_reset_options():
    for env in (FunctionalEnv(Sled()), FunctionalVectorEnv(Sled(), 2)):
        with pytest.raises(error.InvalidArgument, match="expected no keys, got 'mine'"):
            env.reset(options={"mine": 1})


def test_errors_come_before_anything_changes():
    envs = FunctionalVectorEnv(
        Sled(), 2, autoreset_mode=AutoresetMode.DISABLED, max_episode_steps=1
    )
    for call in (envs.step, FunctionalEnv(Sled()).step):
        with pytest.raises(error.ResetNeeded, match=r"reset\(\)"):
            call(np.array([0, 0]))
    with pytest.raises(error.ResetNeeded, match="first reset"):
        envs.reset(options={"reset_mask": np.array([True, False])})
    envs.reset(seed=1)
    envs.step(np.array([0, 0]))
    with pytest.raises(error.ResetNeeded, match=r"environments \[0, 1\] have ended"):
        envs.step(np.array([0, 0]))
    envs.close()
    with pytest.raises(error.ClosedEnvironmentError):
        envs.reset()


@pytest.mark.parametrize(
    ("kwargs", "kind", "words"),
    [
        ({"num_envs": 0}, error.InvalidArgument, "num_envs: expected at least 1, got 0"),
        ({"num_envs": 2.0}, error.ArgumentTypeError, "num_envs: expected an integer"),
        ({"max_episode_steps": -1}, error.InvalidArgument, "max_episode_steps"),
        ({"autoreset_mode": "Never"}, error.InvalidArgument, "autoreset_mode"),
        ({"render_mode": "human"}, error.UnsupportedMode, "render_mode"),
        ({"func_env": Sled}, error.ArgumentTypeError, "func_env: expected a FuncEnv"),
    ],
)
def test_wrong_arguments(kwargs, kind, words):
    with pytest.raises(kind, match=words):
        FunctionalVectorEnv(**({"func_env": Sled(), "num_envs": 2} | kwargs))


def test_states_of_batches_are_arrays():
    class Text(Line):
        def initial(self, rng, params=None):
            return "nowhere"

    envs = FunctionalVectorEnv(Text(), 2, batched=True)
    with pytest.raises(error.ArgumentTypeError, match="expected states and observations of arrays"):
        envs.reset()


def test_the_interface_is_gymnasiums():
    theirs = gymnasium.experimental.functional.FuncEnv
    for name in vars(theirs):
        assert hasattr(FuncEnv, name) or name.startswith("__"), name
    for cls in (FuncEnv, theirs):
        functions = cls({"size": 3})
        assert functions.size == 3 and functions.default_params is None
        assert functions.state_info(0) == functions.transition_info(0, 0, 0) == {}
        for call in (functions.initial, functions.render_close):
            with pytest.raises(NotImplementedError):
                call(None)
        with pytest.raises(NotImplementedError):
            functions.render_init()


def test_transform_replaces_the_functions_of_one_object():
    calls = []

    def counted(function: Any) -> Any:
        def call(*args: Any) -> Any:
            calls.append(function.__name__)
            return function(*args)

        return call

    sled, plain = Sled(), Sled()
    assert sled.transform(counted) is None
    rng = np.random.default_rng(1)
    state = sled.initial(rng)
    sled.terminal(state, rng)
    plain.initial(rng)
    assert calls == ["initial", "terminal"]
    assert gymcore.experimental.FuncEnv is FuncEnv
