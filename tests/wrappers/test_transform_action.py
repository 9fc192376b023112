"""Wrappers of actions, compared with Gymnasium's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gymcore
from gymcore import error
from gymcore.wrappers import ClipAction, DiscretizeAction, RescaleAction, TransformAction
from tests.testing_env import assert_same
from tests.wrappers.side_by_side import assert_same_space, check_side_by_side
from tests.wrappers.walk_env import make_walk_env

FLOATS = (np.float32, np.float64)


def box_env(
    package: Any = gymcore, low: Any = -2, high: Any = 6, shape: Any = (2,), dtype: Any = np.float32
) -> Any:
    """Return an environment with a `Box` action space."""
    if isinstance(low, list):
        low, high, shape = np.array(low, dtype), np.array(high, dtype), None
    space = package.spaces.Box(low, high, shape, dtype)
    return make_walk_env(package)(action_space=space)


def both(name: str, *args: Any, **box: Any) -> tuple[Any, Any]:
    """Return the wrapper of each package."""
    return tuple(
        getattr(package.wrappers, name)(box_env(package, **box), *args)
        for package in (gymcore, gymnasium)
    )


# --- parity ---------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*precision lowered")  # Gymnasium's, for every Python float
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(2,), (2, 3)])
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("ClipAction", ()),
        ("RescaleAction", (-0.5, 0.25)),
        ("DiscretizeAction", (3,)),
        ("DiscretizeAction", (3, True)),
    ],
)
def test_rollouts_equal_gymnasiums(name: str, args: Any, dtype: Any, shape: Any) -> None:
    def wrap(package: Any, env: Any) -> Any:
        space = package.spaces.Box(-2, 6, shape, dtype)
        env = make_walk_env(package)(action_space=space)
        return getattr(package.wrappers, name)(env, *args)

    check_side_by_side(wrap)


def test_a_function_of_actions_as_gymnasium_applies_it() -> None:
    def wrap(package: Any, env: Any) -> Any:
        space = package.spaces.Discrete(3)
        return package.wrappers.TransformAction(env, lambda a: np.int64(2 * a), space)

    check_side_by_side(wrap)
    env = make_walk_env()()
    assert TransformAction(env, abs, None).action_space is env.action_space


@pytest.mark.parametrize("dtype", [*FLOATS, np.int64])
@pytest.mark.parametrize(
    "action",
    [
        [-3.5, 9],
        np.array([-3.5, 9]),
        np.array([np.nan, np.inf], np.float32),
        np.array([[-9.0, 1.0]] * 3),
        np.array([-3, 9]),
        np.array([-3.5, 9, 2.5, 0])[::2],
        9,
        np.float32(2.5),
    ],
)
def test_clipping_takes_what_numpy_takes(dtype: Any, action: Any) -> None:
    ours, theirs = both("ClipAction", dtype=dtype)
    assert_same_space(ours.action_space, theirs.action_space)
    before = copy.deepcopy(action)
    assert_same(ours.action(action), theirs.action(action))
    assert_same(action, before)


def test_unsigned_integers_can_be_clipped() -> None:
    env = ClipAction(box_env(low=1, high=5, dtype=np.uint8))
    assert env.action_space == gymcore.spaces.Box(0, 255, (2,), np.uint8)
    assert_same(env.action(np.array([0, 9], np.uint8)), np.array([1, 5], np.uint8))


bound = st.floats(-1e3, 1e3, width=32)
number = st.floats(width=32)


@settings(deadline=None, max_examples=30)
@given(
    dtype=st.sampled_from(FLOATS),
    bounds=st.lists(st.tuples(bound, bound), min_size=1, max_size=5),
    data=st.data(),
)
def test_any_clip_equals_gymnasiums(dtype: Any, bounds: Any, data: Any) -> None:
    low, high = [min(pair) for pair in bounds], [max(pair) for pair in bounds]
    ours, theirs = both("ClipAction", low=low, high=high, dtype=dtype)
    n = len(bounds)
    for kind in FLOATS:
        action = np.array(data.draw(st.lists(number, min_size=n, max_size=n)), kind)
        assert_same(ours.action(action), theirs.action(action))


@settings(deadline=None, max_examples=40)
@given(
    dtype=st.sampled_from(FLOATS),
    bounds=st.lists(
        st.tuples(bound, bound, bound, bound, st.sampled_from(["both", "low", "high", "none"])),
        min_size=1,
        max_size=4,
    ),
    action=number,
)
@pytest.mark.filterwarnings("ignore")
def test_any_rescaling_equals_gymnasiums_to_the_bit(dtype: Any, bounds: Any, action: Any) -> None:
    low, high, new_low, new_high = [], [], [], []
    for a, b, c, d, bounded in bounds:
        low.append(min(a, b) if bounded in ("both", "low") else -np.inf)
        high.append(max(a, b) if bounded in ("both", "high") else np.inf)
        new_low.append(min(c, d) if bounded in ("both", "low") else -np.inf)
        new_high.append(max(c, d) if bounded in ("both", "high") else np.inf)
    new = np.array(new_low), np.array(new_high)
    if (np.array(low, dtype) >= np.array(high, dtype)).any():
        return
    made = []
    for package in (gymcore, gymnasium):
        try:
            made.append(
                package.wrappers.RescaleAction(box_env(package, low, high, dtype=dtype), *new)
            )
        except (ValueError, gymcore.error.Error, gymnasium.error.Error) as raised:
            made.append(raised)
    ours, theirs = made
    if isinstance(theirs, Exception):
        assert isinstance(ours, Exception)
        assert isinstance(ours, ValueError) or not isinstance(theirs, ValueError)
        return
    assert repr(ours.action_space) == repr(theirs.action_space)
    for kind in FLOATS:
        actions = np.full(len(bounds), action, kind)
        assert_same(ours.action(actions), theirs.action(actions))


@settings(deadline=None, max_examples=30)
@given(
    dtype=st.sampled_from((*FLOATS, np.uint8, np.int64)),
    bounds=st.lists(
        st.tuples(st.integers(0, 100), st.integers(0, 100), st.integers(1, 7)),
        min_size=1,
        max_size=3,
    ),
    multidiscrete=st.booleans(),
    data=st.data(),
)
def test_any_bins_equal_gymnasiums(dtype: Any, bounds: Any, multidiscrete: bool, data: Any) -> None:
    low, high = [min(a, b) / 3 for a, b, _ in bounds], [max(a, b) / 3 for a, b, _ in bounds]
    bins = tuple(n for _, _, n in bounds)
    ours, theirs = both("DiscretizeAction", bins, multidiscrete, low=low, high=high, dtype=dtype)
    assert_same_space(ours.action_space, theirs.action_space)
    assert_same(ours.bin_centers, theirs.bin_centers)
    for _ in range(4):
        action = theirs.action_space.sample()
        given_action = theirs.action(action)
        assert_same(ours.action(action), given_action)
        assert_same(ours.revert_action(given_action), theirs.revert_action(given_action))
        other = np.array(
            data.draw(st.lists(st.floats(-10, 50), min_size=len(bins), max_size=len(bins)))
        )
        assert_same(ours.revert_action(other), theirs.revert_action(other))


def test_bins_that_people_read() -> None:
    ours, theirs = both("DiscretizeAction", (3, 4))
    for name in ("low", "high", "n_dims", "bins", "bin_centers", "multidiscrete"):
        assert_same(getattr(ours, name), getattr(theirs, name), name)
    assert_same(ours.action(7), np.array([2, 5], np.float32))
    assert_same(ours.revert_action(np.array([2.1, 4.9])), np.int64(7))
    for action in (np.int64(3), np.array(3), [3]):
        assert_same(ours.action(action), theirs.action(action))
    ours, theirs = both("DiscretizeAction", (3, 4), True)
    for action in ((1, 2), [1, 2], np.array([9, -4]), np.array([1.5, 2.0])):
        assert_same(ours.action(action), theirs.action(action))


def test_a_discretised_action_is_the_callers() -> None:
    env = DiscretizeAction(box_env(), 3)
    env.action(4)[:] = 99
    assert_same(env.action(4), np.array([2, 2], np.float32))


@pytest.mark.parametrize("multidiscrete", [False, True])
def test_bins_that_are_not_numbers(multidiscrete: bool) -> None:
    env = DiscretizeAction(box_env(shape=(1,)), 3, multidiscrete)
    for action in (["bad"], [None], [{}]):
        with pytest.raises(error.InvalidAction, match="Expected actions in"):
            env.action(action)


def test_many_combinations() -> None:
    box = {"low": -1, "high": 1, "shape": (6,)}
    ours, theirs = both("DiscretizeAction", 30, **box)
    assert ours.action_space.n == 30**6
    for action in (0, 30**6 - 1, 123456789):
        assert_same(ours.action(action), theirs.action(action))
        assert ours.revert_action(ours.action(action)) == action


def test_bins_of_infinite_and_enormous_numbers() -> None:
    env = DiscretizeAction(box_env(), 3)
    assert env.revert_action(np.array([np.inf, -np.inf])) == 6
    env = DiscretizeAction(box_env(low=-1e38, high=3e38), 2)
    np.testing.assert_allclose(env.action(0), [0, 0], atol=1e31)
    np.testing.assert_allclose(env.action(3), [2e38, 2e38], rtol=1e-6)


def test_integers_are_rescaled_to_the_nearest() -> None:
    env = RescaleAction(box_env(low=0, high=10, dtype=np.uint8), 0, 1)
    assert env.action_space == gymcore.spaces.Box(0, 1, (2,), np.float32)
    assert_same(env.action(np.array([0.31, 1], np.float32)), np.array([3, 10], np.uint8))
    env = RescaleAction(box_env(low=0, high=10, dtype=np.uint8), 0, 20)
    assert env.action_space == gymcore.spaces.Box(0, 20, (2,), np.uint8)
    assert_same(env.action(np.array([6, 20], np.uint8)), np.array([3, 10], np.uint8))


# --- errors ---------------------------------------------------------------------------------------


def walk() -> Any:
    return make_walk_env()()


def rescale(low: Any, high: Any, env: Any = None) -> Any:
    return RescaleAction(env or box_env(), low, high)


def discretize(*args: Any, env: Any = None) -> Any:
    return DiscretizeAction(env or box_env(), *args)


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: ClipAction(walk()), TypeError, "ClipAction requires a Box action space, got "),
        (lambda: ClipAction(3), TypeError, "Expected env to be a `gymcore.Env` but got"),
        (lambda: rescale(0, 1, walk()), TypeError, "RescaleAction requires a Box action space, "),
        (lambda: rescale(0, 0), error.InvalidBound, "Min action (0) must be strictly smaller than"),
        (lambda: rescale(0, 1, box_env(low=[1, 1], high=[1, 2])), error.InvalidBound, "equal"),
        (lambda: rescale(1, 0), ValueError, "Expected new_min to be less than or equal to new_max"),
        (lambda: rescale(np.zeros(3), 1), ValueError, "new_min.shape to be (2,), got (3,)"),
        (lambda: rescale([0, 0], 1), TypeError, "an integer, float, or numpy array, got <class 'l"),
        (lambda: rescale(0, np.inf), ValueError, "the target bounds must match the original inf"),
        (lambda: discretize(3, env=walk()), TypeError, "is only compatible with Box continuous"),
        (lambda: discretize(3, env=box_env(high=np.inf)), ValueError, "high=[inf inf]"),
        (lambda: discretize((3,)), ValueError, "bins must match action dimensions: expected 2, go"),
        (lambda: discretize(0), ValueError, "bins must be positive"),
        (lambda: discretize((3, -1), True), ValueError, "bins must be positive"),
        (lambda: discretize(2.5), TypeError, "bins must be"),
        (lambda: discretize((2.5, 3)), TypeError, "bins must be"),
        (lambda: discretize(100, env=box_env(shape=(40,))), ValueError, "too many for a Discrete"),
        (lambda: discretize(3).action(9), error.InvalidAction, "Discrete(9)"),
        (lambda: discretize(3).action(-1), error.InvalidAction, "Discrete(9)"),
        (lambda: discretize(3).action(2.0), error.InvalidAction, "Discrete(9)"),
        (
            lambda: discretize(3).action([1, 2]),
            error.InvalidAction,
            "Expected a bin index as action",
        ),
        (lambda: discretize(3, True).action(2), error.InvalidAction, "2 bin indices"),
        (lambda: discretize(3).revert_action(2), error.InvalidAction, "2 numbers"),
        (lambda: TransformAction(box_env(), 3, None), TypeError, "Expected func to be a function"),
        (lambda: TransformAction(box_env(), abs, 3), TypeError, "to be a Space or None"),
    ],
)
def test_mistakes(make: Any, kind: type, words: str) -> None:
    with pytest.raises(kind) as raised:
        make()
    assert words in str(raised.value)
    assert isinstance(raised.value, error.Error)


# --- other behavior ------------------------------------------------------------------------------


def test_the_spec_makes_the_same_stack_again() -> None:
    env = gymcore.make("MountainCarContinuous-v0")
    env = DiscretizeAction(
        RescaleAction(ClipAction(RescaleAction(env, -2, 2)).env, -0.3, 0.1), (5,)
    )
    spec = gymcore.envs.registration.EnvSpec.from_json(env.spec.to_json())
    for again in (gymcore.make(spec), gymcore.make(TransformAction(env, abs, None).spec).env):
        assert str(again).count("RescaleAction") == 2
        assert again.action_space == env.action_space
        assert_same(again.action(4), env.action(4))


@pytest.mark.parametrize("name", ["ClipAction", "RescaleAction"])
def test_functions_can_be_copied_and_pickled(name: str) -> None:
    args = (0, 1) if name == "RescaleAction" else ()
    env = getattr(gymcore.wrappers, name)(box_env(), *args)
    action = np.array([0.3, 9], np.float32)
    for func in (pickle.loads(pickle.dumps(env.func)), copy.deepcopy(env.func)):
        assert_same(func(action), env.action(action))
