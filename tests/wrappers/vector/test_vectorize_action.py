"""Wrappers of batches of actions: equal in each lane, compared with Gymnasium's, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error, wrappers
from gymcore.vector import AutoresetMode, SyncVectorEnv
from gymcore.wrappers.vector import (
    ClipAction,
    DiscretizeAction,
    RescaleAction,
    TransformAction,
    VectorizeTransformAction,
)
from tests.testing_env import assert_same
from tests.wrappers.lane_by_lane import MODES, check_lane_by_lane, in_modes
from tests.wrappers.side_by_side import check_vectors_side_by_side
from tests.wrappers.walk_env import make_walk_env

SPACES = {
    "float32": (-2, 6, (2,), np.float32),
    "float64": (-2, 6, (2, 3), np.float64),
    "int64": (0, 12, (2,), np.int64),
    "uint8": (3, 9, (2,), np.uint8),
}


def make_lane(kind: str = "float32", package: Any = gymcore) -> Any:
    return make_walk_env(package)(action_space=package.spaces.Box(*SPACES[kind]))


def make_batch(kind: str = "float32", n: int = 3) -> Any:
    return SyncVectorEnv([lambda: make_lane(kind)] * n)


class Halved(wrappers.ClipAction):
    """A user's subclass of a built-in wrapper, with its own `action`."""

    def action(self, action: Any) -> Any:
        action /= 2  # In place; the caller's array must not change.
        return super().action(action)


CASES = [
    ("ClipAction", {}),
    ("RescaleAction", {"min_action": 0, "max_action": 3}),
    ("RescaleAction", {"min_action": np.float32(-0.7), "max_action": np.float32(0.3)}),
    ("DiscretizeAction", {"bins": 3}),
    ("DiscretizeAction", {"bins": 3, "multidiscrete": True}),
    ("DiscretizeAction", {"bins": 70}),
]


@in_modes(
    "name, kwargs, kind",
    [(*case, kind) for case in CASES[:2] + CASES[3:5] for kind in ("float32", "int64")],
)
def test_each_lane_gets_what_the_single_wrapper_gives(
    name: str, kwargs: dict[str, Any], kind: str, mode: AutoresetMode
) -> None:
    def wrap_vector(envs: Any) -> Any:
        return getattr(wrappers.vector, name)(envs, **kwargs)

    def wrap_single(env: Any) -> Any:
        return getattr(wrappers, name)(env, **kwargs)

    check_lane_by_lane(wrap_vector, wrap_single, lambda: make_lane(kind), mode=mode, steps=12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("wrapper", "kwargs"),
    [
        (Halved, {}),
        (wrappers.ClipAction, {}),
        (wrappers.TransformAction, {"func": lambda a: a / 2, "action_space": None}),
        (wrappers.DiscretizeAction, {"bins": (3, 4)}),
    ],
)
def test_a_wrapper_is_called_for_each_lane(
    wrapper: Any, kwargs: dict[str, Any], mode: AutoresetMode
) -> None:
    check_lane_by_lane(
        lambda envs: VectorizeTransformAction(envs, wrapper, **kwargs),
        lambda env: wrapper(env, **kwargs),
        make_lane,
        mode=mode,
        steps=12,
    )


@pytest.mark.parametrize("mode", MODES)
def test_a_function_of_batches(mode: AutoresetMode) -> None:
    space = gymcore.spaces.Box(0, 1, (2,))

    def func(actions: Any) -> Any:
        actions *= 2  # In place; the caller's array must not change.
        return actions

    check_lane_by_lane(
        lambda envs: TransformAction(envs, func, single_action_space=space),
        lambda env: wrappers.TransformAction(env, lambda a: 2 * a, space),
        make_lane,
        mode=mode,
        steps=12,
    )


@pytest.mark.parametrize("mode", MODES)
def test_nested_actions_lane_by_lane(mode: AutoresetMode) -> None:
    def func(action: Any) -> Any:
        action["stick"] *= 0.5
        return {**action, "button": np.int64(action["button"] // 2)}

    def make() -> Any:
        space = gymcore.spaces.Dict(
            button=gymcore.spaces.Discrete(5), stick=gymcore.spaces.Box(-1, 1, (2,))
        )
        return make_walk_env()(action_space=space)

    kwargs = {"func": func, "action_space": None}
    check_lane_by_lane(
        lambda envs: VectorizeTransformAction(envs, wrappers.TransformAction, **kwargs),
        lambda env: wrappers.TransformAction(env, **kwargs),
        make,
        mode=mode,
        steps=18,
    )


@pytest.mark.parametrize("mode", ["NextStep", "Disabled", "SameStep"])
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("ClipAction", ()),
        ("RescaleAction", (0, 3)),
        ("TransformAction", (lambda a: a / 2,)),
    ],
)
def test_rollouts_equal_gymnasiums(name: str, args: Any, mode: str) -> None:
    def wrap(package: Any, envs: Any) -> Any:
        return getattr(package.wrappers.vector, name)(envs, *args)

    check_vectors_side_by_side(wrap, mode=mode, steps=18, action_kind="box")


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize(("name", "kwargs"), CASES)
@pytest.mark.parametrize("n", [1, 4])
def test_a_batch_equals_its_lanes(name: str, kwargs: dict[str, Any], kind: str, n: int) -> None:
    if kind == "uint8" and name == "RescaleAction" and kwargs["min_action"] < 0:
        return
    if kind[0] in "iu" and name == "RescaleAction" and kwargs["max_action"] == np.float32(0.3):
        return
    envs = getattr(wrappers.vector, name)(make_batch(kind, n), **kwargs)
    lane = getattr(wrappers, name)(make_lane(kind), **kwargs)
    assert envs.single_action_space == lane.action_space
    envs.action_space.seed(1)
    for _ in range(5):
        actions = envs.action_space.sample()
        want = np.stack([lane.action(action) for action in actions]).astype(SPACES[kind][3])
        given = actions.copy()
        assert_same(envs.actions(given), want)
        assert_same(given, actions)
        for other in (actions.tolist(), actions[:, ...], np.asfortranarray(actions)):
            np.testing.assert_allclose(envs.actions(other), want, rtol=1e-6)


def test_the_bits_of_both_packages_batches() -> None:
    import gymnasium

    rng = np.random.default_rng(0)
    for kind in ("float32", "float64"):
        theirs = gymnasium.vector.SyncVectorEnv([lambda kind=kind: make_lane(kind, gymnasium)] * 5)
        for name, args in (("ClipAction", ()), ("RescaleAction", (-1, 3))):
            one = getattr(wrappers.vector, name)(make_batch(kind, 5), *args)
            other = getattr(gymnasium.wrappers.vector, name)(theirs, *args)
            for dtype in (np.float32, np.float64, np.int64):
                actions = (9 * rng.normal(size=theirs.action_space.shape)).astype(dtype)
                assert_same(one.actions(actions), other.actions(actions.copy()))


def test_a_function_may_make_the_wrapper() -> None:
    envs = VectorizeTransformAction(make_batch(), lambda env: wrappers.RescaleAction(env, 0, 1))
    assert_same(envs.actions(np.ones((3, 2), np.float32)), np.full((3, 2), 6, np.float32))
    with pytest.raises(error.ArgumentTypeError, match="derived from TransformAction"):
        VectorizeTransformAction(make_batch(), lambda env: env)


def test_nothing_is_kept_between_calls() -> None:
    envs = ClipAction(make_batch())
    first = envs.actions(np.full((3, 2), 9, np.float32))
    envs.actions(np.full((3, 2), -9, np.float32))
    assert_same(first, np.full((3, 2), 6, np.float32))


def test_bins_of_a_batch() -> None:
    envs = DiscretizeAction(make_batch(), (3, 4))
    actions = np.array([0, 7, 11])
    assert_same(envs.revert_actions(envs.actions(actions)), actions)
    for dtype in (np.int32, np.uint8, np.uint64):
        assert_same(envs.actions(actions.astype(dtype)), envs.actions(actions))
    with pytest.raises(error.InvalidAction):
        envs.actions(np.array([0, 1, 2**64 - 1], np.uint64))
    envs = DiscretizeAction(make_batch(), 70)
    with pytest.raises(error.InvalidAction):
        envs.actions(np.array([0, 1, 70**2]))
    envs = DiscretizeAction(make_batch(), 2000)
    with pytest.raises(error.InvalidAction):
        envs.actions(np.array([0, 1, 2000**2]))
    assert_same(
        envs.revert_actions(envs.actions(np.array([0, 9, 1234567]))), np.array([0, 9, 1234567])
    )
    envs = DiscretizeAction(make_batch(), (3, 4), multidiscrete=True)
    actions = np.array([[0, 3], [2, 2], [1, 1]])
    assert_same(envs.revert_actions(envs.actions(actions)), actions)
    assert_same(envs.actions(actions.astype(np.int32)), envs.actions(actions))


def test_spaces_of_a_function() -> None:
    single = gymcore.spaces.Box(0, 1, (2,))
    envs = make_batch()
    assert TransformAction(envs, abs).action_space is envs.action_space
    wrapped = TransformAction(envs, abs, single_action_space=single)
    assert wrapped.single_action_space is single
    assert wrapped.action_space == gymcore.spaces.Box(0, 1, (3, 2))
    with pytest.warns(UserWarning, match="the action space and the batched single action space"):
        wrapped = TransformAction(envs, abs, action_space=gymcore.spaces.Box(0, 1, (3, 2)))
    assert wrapped.action_space == gymcore.spaces.Box(0, 1, (3, 2))
    assert wrapped.single_action_space == envs.single_action_space


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda e: ClipAction(make_lane()), TypeError, "`gymcore.vector.VectorEnv` but got"),
        (lambda e: TransformAction(e, 3), TypeError, "Expected func to be a function of actions"),
        (lambda e: TransformAction(e, abs, 3), TypeError, "Expected action_space to be a Space"),
        (lambda e: VectorizeTransformAction(e, 3), TypeError, "derived from TransformAction, got"),
        (
            lambda e: VectorizeTransformAction(e, wrappers.ClipReward, min_reward=0),
            TypeError,
            "Expected wrapper to be a class derived from TransformAction, got",
        ),
        (lambda e: RescaleAction(e, 1, 0), ValueError, "Expected new_min to be less than or equal"),
        (lambda e: RescaleAction(e, 0, 0), error.InvalidBound, "Min action (0) must be strictly"),
        (lambda e: DiscretizeAction(e, (3,)), ValueError, "bins must match action dimensions"),
        (
            lambda e: ClipAction(e).step(np.zeros((2, 2), np.float32)),
            error.InvalidAction,
            "Expected actions of shape (3, 2), got (2, 2)",
        ),
        (
            lambda e: DiscretizeAction(e, 3).actions(np.array([0, -1, 2])),
            error.InvalidAction,
            "Expected actions in Discrete(9), got [ 0 -1  2]",
        ),
        (
            lambda e: DiscretizeAction(e, 3).actions(np.array([0.0, 1, 2])),
            error.InvalidAction,
            "Discrete(9)",
        ),
        (
            lambda e: DiscretizeAction(e, 3).revert_actions(np.zeros((3, 1))),
            error.InvalidAction,
            "(3, 2)",
        ),
        (
            lambda e: VectorizeTransformAction(e, Halved).actions(np.zeros((2, 2))),
            error.InvalidAction,
            "3 environments",
        ),
    ],
)
def test_mistakes(make: Any, kind: type, words: str) -> None:
    with pytest.raises(kind) as raised:
        make(make_batch())
    assert words in str(raised.value)
    assert isinstance(raised.value, error.Error)


def test_arguments_are_recorded() -> None:
    assert RescaleAction(make_batch(), 0, 1)._saved_kwargs == {"min_action": 0, "max_action": 1}
    assert DiscretizeAction(make_batch(), 3)._saved_kwargs == {"bins": 3, "multidiscrete": False}
