"""The results and calls allowed to subclasses of `ArrayVectorEnv`; others are typed errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gymcore import error
from gymcore.spaces import Box, Dict, Discrete, Tuple
from gymcore.vector import ArrayVectorEnv, AutoresetMode
from tests.vector.array_envs import ArrayCartPole

ACTIONS = np.zeros(3, np.int64)


class Reporting(ArrayCartPole):
    """Environment that returns given infos, and makes a call in its methods."""

    in_step: Any = None
    in_reset: Any = None

    def __init__(self, num_envs: int, **kwargs: Any) -> None:
        super().__init__(num_envs, **kwargs)
        self.step_infos: Any = {}
        self.reset_infos: Any = {}

    def reset_lanes(self, mask: Any) -> Any:
        if self.in_reset is not None:
            self.in_reset()
        return super().reset_lanes(mask)[0], self.reset_infos

    def step_lanes(self, actions: Any) -> Any:
        if self.in_step is not None:
            self.in_step()
        return *super().step_lanes(actions)[:3], self.step_infos


class Impatient(ArrayCartPole):
    """Environment that truncates the second lane at every step."""

    def step_lanes(self, actions: Any) -> Any:
        *results, infos = super().step_lanes(actions)
        return *results, np.arange(self.num_envs) == 1, infos


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("observation_space", None),
        ("action_space", 2),
        ("num_envs", 2**62),
        ("max_episode_steps", np.ones(2)),
        ("copy", np.ones(2)),
        ("episode_statistics", "no"),
    ],
)
def test_arguments_of_other_types(name: str, value: Any) -> None:
    spaces = {"observation_space": Box(-1.0, 1.0, (2,)), "action_space": Discrete(2)}
    with pytest.raises(error.Error, match=f"^{name}: expected"):
        ArrayVectorEnv(**{**spaces, "num_envs": 2, name: value})


def test_a_limit_beyond_the_counters_is_no_limit() -> None:
    with ArrayCartPole(2, max_episode_steps=10**30) as envs:
        envs.reset(seed=1)
        assert not envs.step(ACTIONS[:2])[3].any()


def test_steps_may_truncate() -> None:
    for mode in AutoresetMode:
        with Impatient(3, autoreset_mode=mode) as envs:
            envs.reset(seed=1)
            envs.set_attr("state", np.array([[0, 0, 0, 0], [0, 0, 0, 0], [9, 0, 0, 0]], float))
            _, _, terminated, truncated, infos = envs.step(ACTIONS)
            assert terminated.tolist() == [False, False, True]
            assert truncated.tolist() == [False, True, False]
            if mode is AutoresetMode.SAME_STEP:
                assert infos["_final_obs"].tolist() == [False, True, True]


INFOS = [
    ({"a": np.zeros(2)}, r"infos\['a'\]: expected an array of shape \(3, ...\), got array"),
    ({"a": [1, 2]}, r"got \[1, 2\] of shape \(2,\)"),
    ({"a": [[1], [1, 2], [3]]}, r"got \[\[1\], \[1, 2\], \[3\]\]"),
    ({"a": 5}, "got 5"),
    ({"a": "text"}, "got 'text'"),
    ({"a": {"b": np.zeros(4)}}, r"infos\['a'\]\['b'\]: expected an array"),
    ({"a": np.zeros(3), "_a": np.zeros(2, bool)}, r"infos\['_a'\]: expected"),
    ([1, 2, 3], r"infos: expected a dict, got \[1, 2, 3\]"),
    (None, "infos: expected a dict, got None"),
]


@pytest.mark.parametrize(("infos", "message"), INFOS)
def test_infos_without_a_row_for_each_lane(infos: Any, message: str) -> None:
    for mode in AutoresetMode:
        with Reporting(3, autoreset_mode=mode, max_episode_steps=2) as envs:
            envs.reset_infos = infos
            with pytest.raises(error.Error, match=f"reset_lanes: {message}|{message}"):
                envs.reset(seed=1)
            envs.reset_infos = {}
            envs.reset(seed=1)
            envs.step_infos = infos
            with pytest.raises(error.Error, match=message):
                envs.step(ACTIONS)
            envs.step_infos = {}
            with pytest.raises(error.ResetNeeded):  # the step was half done
                envs.step(ACTIONS)
            envs.reset(seed=1)
            assert len(envs.step(ACTIONS)) == 5


def test_infos_of_steps_and_resets_that_do_not_fit() -> None:
    with Reporting(3, max_episode_steps=2) as envs:
        envs.reset(seed=1)
        envs.step(ACTIONS)
        envs.reset(options={"reset_mask": np.array([True, False, False])})
        envs.step_infos, envs.reset_infos = {"a": np.zeros(3)}, {"a": np.zeros((3, 2))}
        with pytest.raises(error.InvalidArgument, match=r"infos\['a'\]: expected .* shape \(3,\)"):
            for _ in range(3):
                envs.step(ACTIONS)
        envs.reset(seed=1)


@pytest.mark.parametrize("place", ["in_step", "in_reset"])
@pytest.mark.parametrize("call", ["step", "reset"])
def test_no_step_and_no_reset_inside_of_another(place: str, call: str) -> None:
    with Reporting(3) as envs:
        envs.reset(seed=1)
        calls = {"step": lambda: envs.step(ACTIONS), "reset": envs.reset}
        setattr(envs, place, calls[call])
        with pytest.raises(
            error.ConcurrentUseError, match=f"{call}: cannot be called from step_lanes"
        ):
            envs.step(ACTIONS) if place == "in_step" else envs.reset()
        setattr(envs, place, None)
        observations, _ = envs.reset(seed=1)
        with ArrayCartPole(3) as others:
            assert np.array_equal(observations, others.reset(seed=1)[0])


class Nested(ArrayVectorEnv):
    """Environment that observes its argument."""

    def __init__(self, observations: Any) -> None:
        space = Dict(place=Box(-1, 1, (2,)), parts=Tuple([Discrete(3), Discrete(4)]))
        super().__init__(space, Discrete(2), 3)
        self.observations = observations

    def reset_lanes(self, mask: Any) -> Any:
        return self.observations, {}


NUMBERS = np.arange(3)


@pytest.mark.parametrize(
    "observations, message",
    [
        ({"parts": (NUMBERS, NUMBERS)}, "observations: expected a dict with .*'place'"),
        ({"place": np.zeros((3, 2)), "parts": (NUMBERS,)}, r"\['parts'\]: expected a tuple of 2"),
        (
            {"place": np.zeros((3, 1)), "parts": (NUMBERS, NUMBERS)},
            r"\['place'\]: expected .* shape",
        ),
        (np.zeros((3, 2)), "observations: expected a dict with .*, got ndarray"),
    ],
)
def test_observations_of_another_structure(observations: Any, message: str) -> None:
    with Nested(observations) as envs:
        with pytest.raises(error.InvalidArgument, match=message):
            envs.reset(seed=1)
        envs.observations = {"place": np.full((3, 2), 0.5), "parts": (NUMBERS, NUMBERS)}
        assert envs.reset(seed=1)[0]["parts"][1].tolist() == [0, 1, 2]
