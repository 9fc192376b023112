"""Single wrappers that take an action more than once, compared with Gymnasium's."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore.wrappers import RepeatAction, StickyAction
from tests.testing_env import assert_same, make_counting_env
from tests.wrappers.side_by_side import check_side_by_side
from tests.wrappers.walk_env import make_walk_env

PACKAGES = (gymcore, gymnasium)


def message_of(wrap: Any) -> tuple[str, str]:
    with pytest.raises(Exception) as raised:
        wrap()
    return type(raised.value).__name__, str(raised.value)


# StickyAction


@pytest.mark.parametrize("probability", [0, 0.3, 0.9])
@pytest.mark.parametrize("duration", [1, 3, (2, 4), True])
@pytest.mark.parametrize("action_kind", ["discrete", "box", "dict"])
def test_sticky_like_gymnasium(probability: float, duration: Any, action_kind: str) -> None:
    check_side_by_side(
        lambda gym, env: gym.wrappers.StickyAction(env, probability, duration),
        action_kind=action_kind,
        steps=36,
    )


def test_sticky_attributes_like_gymnasium() -> None:
    envs = [gym.wrappers.StickyAction(make_walk_env(gym)(), 0.5, (1, 3)) for gym in PACKAGES]
    for env in envs:
        env.reset(seed=2)
    for action in range(30):
        for env in envs:
            if env.step(action)[2]:
                env.reset()
        ours, theirs = (
            {
                name: getattr(env, name)
                for name in (
                    "repeat_action_probability",
                    "repeat_action_duration_range",
                    "last_action",
                    "is_sticky_actions",
                    "num_repeats",
                    "repeats_taken",
                )
            }
            for env in envs
        )
        assert_same(ours, theirs)


@pytest.mark.parametrize("probability", [1, -1, 1.5, True])
def test_bad_probabilities_like_gymnasium(probability: Any) -> None:
    ours, theirs = (
        message_of(lambda gym=gym: gym.wrappers.StickyAction(make_walk_env(gym)(), probability))
        for gym in PACKAGES
    )
    assert ours == theirs


@pytest.mark.parametrize(
    "duration", [0, -1, 1.5, "a", None, (2, 1), (0, 2), (1, 2, 3), [1, 2], (), (1,)]
)
def test_bad_durations_like_gymnasium(duration: Any) -> None:
    ours, theirs = (
        message_of(lambda gym=gym: gym.wrappers.StickyAction(make_walk_env(gym)(), 0.5, duration))
        for gym in PACKAGES
    )
    assert ours[1] == theirs[1]
    assert (ours[0] == theirs[0]) or theirs[0] == "ValueError"
    with pytest.raises(ValueError):
        StickyAction(make_walk_env(gymcore)(), 0.5, duration)


def test_durations_that_are_no_integers() -> None:
    with pytest.raises(ValueError, match=r"list of two integers\. Received \(1, 1\.5\)"):
        StickyAction(make_walk_env(gymcore)(), 0.5, (1, 1.5))  # type: ignore[arg-type]
    env = StickyAction(make_walk_env(gymcore)(), 0.5, np.int64(2))  # type: ignore[arg-type]
    assert env.repeat_action_duration_range == (2, 2)


# RepeatAction


@pytest.mark.parametrize("num_repeats", [1, 2, 5])
@pytest.mark.parametrize("kind", ["box", "dict", "text"])
def test_repeat_like_gymnasium(num_repeats: int, kind: str) -> None:
    check_side_by_side(
        lambda gym, env: gym.wrappers.RepeatAction(env, num_repeats), kind=kind, steps=24
    )


@pytest.mark.parametrize("num_repeats", [0, -1, 1.5, "a", True, None])
def test_bad_repeats_like_gymnasium(num_repeats: Any) -> None:
    ours, theirs = (
        message_of(lambda gym=gym: gym.wrappers.RepeatAction(make_walk_env(gym)(), num_repeats))
        for gym in PACKAGES
    )
    assert ours[1] == theirs[1]
    with pytest.raises(ValueError if type(num_repeats) is int else TypeError):
        RepeatAction(make_walk_env(gymcore)(), num_repeats)


def test_rewards_are_added_up_and_the_episode_ends_early() -> None:
    env = RepeatAction(make_counting_env(gymcore)(length=5, ending="truncated"), 3)
    env.reset(seed=7)
    observation, *rest = env.step(1)
    assert (observation.tolist(), rest) == ([7, 3], [6.0, False, False, {"elapsed": 3}])
    observation, *rest = env.step(1)
    assert (observation.tolist(), rest) == ([7, 5], [9.0, False, True, {"elapsed": 5}])
    assert env.num_repeats == 3


# Both


def test_specs_like_gymnasium(registries: None) -> None:
    def wrap(gym: Any) -> Any:
        env = gym.wrappers.RepeatAction(gym.make("CartPole-v1"), 2)
        return gym.wrappers.StickyAction(env, 0.25, (1, 2))

    ours, theirs = wrap(gymcore).spec, wrap(gymnasium).spec
    for one, other in zip(ours.additional_wrappers, theirs.additional_wrappers, strict=True):
        assert one.entry_point == other.entry_point.replace("gymnasium", "gymcore")
        assert (one.name, one.kwargs) == (other.name, other.kwargs)
    again = gymcore.make(ours)
    assert again.spec.to_json() == ours.to_json()


# Arrays that are changed later


class _Recorder(gymcore.Env[Any, Any]):
    """Records each action, then changes it in place."""

    observation_space = action_space = gymcore.spaces.Box(-9, 9, (2,))

    def __init__(self) -> None:
        self.taken: list[list[float]] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        self.taken.append(action.tolist())
        action *= 2
        return np.zeros(2, np.float32), 0.0, False, False, {}


WRAPPERS = {
    "repeat": (lambda w, env: w.RepeatAction(env, 3), [1, 1, 1, 2, 2, 2]),
    "skip": (lambda w, env: w.MaxAndSkipObservation(env, 2), [1, 1, 2, 2]),
    "sticky": (lambda w, env: w.StickyAction(env, 1 - 1e-9), [1, 1]),
}


@pytest.mark.parametrize("name", WRAPPERS)
@pytest.mark.parametrize("batch", [False, True], ids=["single", "batch"])
def test_repeated_actions_are_those_that_were_given(name: str, batch: bool) -> None:
    """The caller reuses one buffer, and the environment changes its action in place."""
    wrap, expected = WRAPPERS[name]
    inner = _Recorder()
    if batch:
        env: Any = wrap(gymcore.wrappers.vector, gymcore.vector.SyncVectorEnv([lambda: inner]))
    else:
        env = wrap(gymcore.wrappers, inner)
    env.reset(seed=1)
    buffer = np.empty((1, 2) if batch else 2, np.float32)
    for value in (1, 2):
        buffer[:] = value
        env.step(buffer)
    assert inner.taken == [[value, value] for value in expected]
