"""Environments that match and environments that do not, compared with Gymnasium's function."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import gymnasium
import gymnasium.utils.env_match
import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.utils.env_match import check_environments_match

theirs = gymnasium.utils.env_match.check_environments_match
CHECKS = {gymcore: check_environments_match, gymnasium: theirs}
ONES = {"a": 1, "b": np.ones(2)}
OTHER_INFOS = {
    "same": ONES,
    "more": ONES | {"c": 1},
    "less": {"a": 1},
    "different": ONES | {"b": np.zeros(2)},
    "renamed": {"a": 1, "z": 0},
    "more and different": {"a": 2, "b": np.ones(2), "c": 0},
    "close": ONES | {"b": np.ones(2) + 1e-9},
}
COMPARISONS = ("equivalence", "superset", "keys-equivalence", "keys-superset", "skip")


def make(gym: ModuleType, render_mode: str | None = None, **change: Any) -> Any:
    """Return an environment with one thing changed."""

    class Walk(gym.Env):
        metadata = {"render_modes": ["rgb_array", "human"], "render_fps": 3}  # noqa: RUF012

        def __init__(self):
            self.observation_space = change.get("space", gym.spaces.Box(-1, 1, (2,)))
            self.action_space = change.get("actions", gym.spaces.Discrete(3))
            self.render_mode = render_mode
            self.calls = []

        def observe(self, offset):
            return self.np_random.uniform(-1, 1, 2).astype(np.float32) + np.float32(offset)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.calls.append(("reset", seed))
            self.elapsed = 0
            return self.observe(change.get("start", 0)), dict(change.get("info", {}))

        def step(self, action):
            self.calls.append(("step", int(action)))
            self.elapsed += 1
            reward = change.get("reward", 0.0)
            ended = self.elapsed == 3 or change.get("terminated", False)
            cut = change.get("truncated", False)
            return (
                self.observe(change.get("offset", 0)),
                reward,
                ended,
                cut,
                dict(change.get("info", {})),
            )

        def render(self):
            self.calls.append("render")
            return np.full((2, 2, 3), change.get("color", 0), np.uint8)

    return Walk()


def outcome(gym: ModuleType, change: dict[str, Any], mode: Any = "rgb_array", **kwargs: Any) -> str:
    first = change.pop("first", {})
    one, other = make(gym, mode, **first), make(gym, mode, **change)
    try:
        CHECKS[gym](one, other, 5, **kwargs)
    except AssertionError as problem:
        return str(problem)
    return f"they match: {one.calls == other.calls} {one.calls}"


CHANGES = {
    "nothing": ({}, None),
    "first observation": ({"start": 0.1}, "skip_obs"),
    "observation": ({"offset": 0.1}, "skip_obs"),
    "observation, hardly": ({"offset": 1e-7}, "skip_obs"),
    "reward": ({"reward": 1.0}, "skip_rew"),
    "reward's type": ({"reward": 0}, "skip_rew"),
    "terminated": ({"terminated": True}, "skip_terminal"),
    "truncated": ({"truncated": True}, "skip_truncated"),
    "frames": ({"color": 1}, "skip_render"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_differences(name):
    change, skip = CHANGES[name]
    for mode in (None, "rgb_array", "human"):
        ours, other = (outcome(gym, dict(change), mode) for gym in (gymcore, gymnasium))
        assert ours == other
        if skip:
            ours, other = (outcome(gym, dict(change), mode, **{skip: True}) for gym in CHECKS)
            assert ours == other and ours.startswith("they match")


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("name", OTHER_INFOS)
def test_infos(name, comparison):
    def said(gym: ModuleType) -> str:
        change = {"first": {"info": ONES}, "info": OTHER_INFOS[name]}
        return outcome(gym, change, info_comparison=comparison)

    ours = said(gymcore)
    if comparison == "superset" and name in ("less", "renamed"):
        assert "key b present in info_a is missing in info_b" in ours  # Gymnasium: a KeyError
    elif comparison == "keys-superset" and not ours.startswith("they match"):
        assert ours.endswith("not present in info_b are: {'b'}")  # Gymnasium names the wrong side
        assert said(gymnasium).split(":")[0] == ours.split(":")[0]
    else:
        assert ours == said(gymnasium)


def test_spaces_and_arguments():
    wide, four = gymcore.spaces.Box(-2, 2, (2,)), gymcore.spaces.Discrete(4)
    with pytest.raises(error.FailedCheck, match="observation spaces are not equal"):
        check_environments_match(make(gymcore), make(gymcore, space=wide), 2)
    check_environments_match(make(gymcore), make(gymcore, space=wide), 2, skip_obs=True)
    with pytest.raises(error.FailedCheck, match="action spaces are not equal"):
        check_environments_match(make(gymcore), make(gymcore, actions=four), 2)
    with pytest.raises(error.FailedCheck, match=r"info_comparison: expected .* got 'all'"):
        check_environments_match(make(gymcore), make(gymcore), 2, info_comparison="all")
    with pytest.raises(error.FailedTypeCheck, match="env_b: expected a gymcore"):
        check_environments_match(make(gymcore), None, 2)


def test_the_signature_is_gymnasiums():
    def parameters(function: Any) -> list[tuple[str, Any]]:
        found = inspect.signature(function).parameters.values()
        return [(one.name, one.default) for one in found]

    assert parameters(check_environments_match) == parameters(theirs)
