"""Declarations of classic control, and the start of its episodes, compared with Gymnasium."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from tests.envs.classic_control.pairs import (
    ARGUMENTS,
    IDS,
    assert_same_observation,
    make_pair,
    their_state,
)

FIELDS = (
    "id",
    "namespace",
    "name",
    "version",
    "reward_threshold",
    "nondeterministic",
    "max_episode_steps",
    "order_enforce",
    "disable_env_checker",
    "kwargs",
    "additional_wrappers",
)
RESET_OPTIONS: dict[str, list[dict[str, Any]]] = {
    "Pendulum-v1": [
        {"x_init": 0.3, "y_init": 0.2},
        {"x_init": 2.0},
        {"y_init": 0.0},
        {},
    ],
    "others": [{"low": -0.3, "high": -0.1}, {"low": -0.7, "high": 0.0}, {"high": 0.2}, {}],
}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Suppress Gymnasium's warnings that some of the ids are out of date."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("env_id", IDS)
def test_spec(env_id: str) -> None:
    ours, theirs = gymcore.spec(env_id), gymnasium.spec(env_id)
    for field in FIELDS:
        assert getattr(ours, field) == getattr(theirs, field), field
    assert str(ours.entry_point).partition(".")[2] == str(theirs.entry_point).partition(".")[2]


@pytest.mark.parametrize("env_id", IDS)
def test_spaces_and_metadata(env_id: str) -> None:
    ours, theirs = make_pair(env_id)
    assert ours.metadata == theirs.metadata
    assert repr(ours.action_space) == repr(theirs.action_space)
    assert repr(ours.observation_space) == repr(theirs.observation_space)
    assert ours.observation_space.dtype == theirs.observation_space.dtype
    assert ours.observation_space.low.tobytes() == theirs.observation_space.low.tobytes()
    assert ours.observation_space.high.tobytes() == theirs.observation_space.high.tobytes()
    assert str(ours) == str(theirs)


@pytest.mark.parametrize("env_id", IDS)
def test_constructors(env_id: str) -> None:
    ours, theirs = (type(env.unwrapped) for env in make_pair(env_id))
    assert ours.__name__ == theirs.__name__
    defaults = [
        {name: one.default for name, one in inspect.signature(owner).parameters.items()}
        for owner in (ours, theirs)
    ]
    assert defaults[0] == defaults[1]
    assert list(defaults[0]) == list(defaults[1])


@pytest.mark.parametrize(("env_id", "arguments"), ARGUMENTS)
def test_attributes_of_the_physics(env_id: str, arguments: dict[str, Any]) -> None:
    ours, theirs = make_pair(env_id, **arguments)
    numbers = {
        name: value
        for name in dir(theirs.unwrapped)
        if not name.startswith(("_", "screen", "SCREEN"))
        and isinstance(value := getattr(theirs.unwrapped, name), (int, float, str, list))
        and name not in ("isopen", "torque_noise_max", "np_random_seed")
    }
    assert len(numbers) >= 6
    for name, value in numbers.items():
        assert getattr(ours.unwrapped, name) == value, name


@pytest.mark.parametrize("env_id", IDS)
def test_initial_states_of_many_seeds(env_id: str) -> None:
    ours, theirs = make_pair(env_id)
    for seed in [*range(200), 2**31, 2**32 - 1, 2**32, 2**63 + 1, 2**64, 2**128 + 5, 10**60]:
        first, info = ours.reset(seed=seed)
        second, _ = theirs.reset(seed=seed)
        assert_same_observation(env_id, first, second)
        assert ours.unwrapped.state.tolist() == their_state(theirs)
        assert info == {}
        assert ours.unwrapped.np_random_seed == theirs.unwrapped.np_random_seed == seed


@pytest.mark.parametrize("env_id", IDS)
def test_streams_go_on_alike_after_a_reset(env_id: str) -> None:
    ours, theirs = make_pair(env_id)
    for seed in range(20):
        ours.reset(seed=seed)
        theirs.reset(seed=seed)
        for _ in range(3):
            ours.reset()
            theirs.reset()
            assert ours.unwrapped.state.tolist() == their_state(theirs)
        assert ours.np_random.bit_generator.state == theirs.np_random.bit_generator.state
        assert (
            ours.np_random.integers(0, 99, 3).tolist()
            == theirs.np_random.integers(0, 99, 3).tolist()
        )
        assert ours.np_random.normal() == theirs.np_random.normal()
        ours.reset()
        theirs.reset()
        assert ours.unwrapped.state.tolist() == their_state(theirs)


@pytest.mark.parametrize("env_id", IDS)
def test_steps_draw_nothing(env_id: str) -> None:
    env = gymcore.make(env_id)
    env.reset(seed=4)
    before = env.np_random.bit_generator.state
    env.step(env.action_space.sample())
    assert env.np_random.bit_generator.state == before


@pytest.mark.parametrize("env_id", IDS)
def test_reset_options(env_id: str) -> None:
    ours, theirs = make_pair(env_id)
    for options in RESET_OPTIONS.get(env_id, RESET_OPTIONS["others"]):
        for seed in range(30):
            first, _ = ours.reset(seed=seed, options=options)
            second, _ = theirs.reset(seed=seed, options=options)
            assert_same_observation(env_id, first, second)
            assert ours.unwrapped.state.tolist() == their_state(theirs)


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize(
    "options", [{"low": 1.0, "high": -1.0}, {"low": "a"}, {"high": None}, {"low": [1, 2]}]
)
def test_wrong_reset_options(env_id: str, options: dict[str, Any]) -> None:
    if env_id == "Pendulum-v1":
        options = {"x_init": next(iter(options.values())), "y_init": None}
    ours, theirs = make_pair(env_id)
    with pytest.raises(Exception) as theirs_raised:
        theirs.reset(options=options)
    with pytest.raises(type(theirs_raised.value)) as ours_raised:
        ours.reset(options=options)
    assert isinstance(ours_raised.value, gymcore.error.Error)


@pytest.mark.parametrize("env_id", IDS)
def test_vector_resets_are_those_of_single_environments(env_id: str) -> None:
    ours = gymcore.make_vec(env_id, num_envs=9)
    theirs = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make(env_id)] * 9)
    for seed in (0, 77, 2**32 - 4, [5, 3, 8, 1, 2**70, 4, 9, 9, 0]):
        first, second = ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0]
        assert_same_observation(env_id, first, second)
        states = np.array([their_state(env) for env in theirs.envs])
        np.testing.assert_array_equal(np.array(ours.get_attr("state")), states)
    ours.close()
    theirs.close()
