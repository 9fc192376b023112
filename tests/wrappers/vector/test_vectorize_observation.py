"""Batched wrappers that change observations: equal in each lane, and compared with Gymnasium."""

from __future__ import annotations

import functools
import inspect

import gymnasium
import numpy as np
import pytest

import gymcore as gym
from gymcore import error, wrappers
from gymcore.vector import SyncVectorEnv
from gymcore.wrappers import transform_observation, vector
from gymcore.wrappers.transform_observation import _flattens_as_batch, flatten_batch
from gymcore.wrappers.vector import vectorize_observation
from tests.testing_env import OBSERVATION_KINDS, assert_same, make_space
from tests.wrappers.lane_by_lane import MODES, check_lane_by_lane, in_modes
from tests.wrappers.side_by_side import check_vectors_side_by_side
from tests.wrappers.walk_env import make_walk_env

WalkEnv = make_walk_env(gym)

# test_transform_observation.py expects it
pytestmark = pytest.mark.filterwarnings("ignore:.*FlattenObservation. elements of")


def pictures(*shape):
    return {"shape": shape}


def make_lane(shape=None, **kwargs):
    """Return an environment, with image observations if a shape is given."""
    if shape is not None:
        kwargs["observation_space"] = gym.spaces.Box(0, 255, shape, np.uint8)
    return WalkEnv(limit=6, **kwargs)


def wrap_single(name, *args):
    """Return a function that wraps one lane."""
    if name != "DiscretizeObservation":
        return lambda env: getattr(wrappers, name)(env, *args)

    class Discretize(wrappers.DiscretizeObservation):
        """A wrapper whose observation is an `int`, while last observations of a batch are rows."""

        def observation(self, observation):
            indices = super().observation(observation)
            return np.int64(indices) if isinstance(indices, int) else indices

    return lambda env: Discretize(env, *args)


CASES = [
    *[
        ("FilterObservation", (keys,), {"kind": "dict"})
        for keys in (["goal"], ["camera", "position"])
    ],
    *[("FilterObservation", (keys,), {"kind": "tuple"}) for keys in ([2, 0], [1], [-1])],
    *[("FlattenObservation", (), {"kind": kind}) for kind in OBSERVATION_KINDS],
    ("GrayscaleObservation", (), pictures(4, 5, 3)),
    ("GrayscaleObservation", (True,), pictures(4, 5, 3)),
    ("ResizeObservation", ((3, 2),), pictures(9, 7, 3)),
    ("ResizeObservation", ((3, 2),), pictures(9, 7)),
    ("ResizeObservation", ((12, 20),), pictures(9, 7, 1)),
    ("ResizeObservation", ((3, 2),), pictures(9, 7, 6)),
    ("ReshapeObservation", ((2, 1),), {}),
    ("ReshapeObservation", ((1,),), {"kind": "scalar"}),
    ("RescaleObservation", (0, 1), {}),
    ("RescaleObservation", (np.zeros((), "f8"), np.array(3.0)), {"kind": "scalar"}),
    ("RescaleObservation", (0, 51), pictures(3, 3)),
    ("DtypeObservation", (np.float64,), {}),
    ("DtypeObservation", (np.int32,), {}),
    ("DtypeObservation", (np.int16,), {"kind": "scalar"}),
    ("DtypeObservation", (np.float32,), {"kind": "discrete"}),
    ("DtypeObservation", (np.int16,), {"kind": "multi_discrete"}),
    ("DtypeObservation", (bool,), {"kind": "multi_binary"}),
    ("DiscretizeObservation", (3,), {}),
    ("DiscretizeObservation", ((4, 7), True), {}),
    ("DiscretizeObservation", (5,), {"kind": "scalar"}),
    ("DiscretizeObservation", (3, True), pictures(2, 2)),
]


# --- every lane -----------------------------------------------------------------------------------


@in_modes("name, args, kwargs", CASES)
def test_lane_by_lane(name, args, kwargs, mode):
    if name == "ResizeObservation":
        pytest.importorskip("cv2")
    check_lane_by_lane(
        lambda envs: getattr(vector, name)(envs, *args),
        wrap_single(name, *args),
        functools.partial(make_lane, **kwargs),
        mode=mode,
        steps=12,
    )


class Shifted(wrappers.TransformObservation):
    """A user's wrapper without a whole-batch form."""

    def __init__(self, env, by):
        space = gym.spaces.Box(-20, 20, env.observation_space.shape, np.float32)
        super().__init__(env, lambda o: (o + by).astype(np.float32), space)


class NegativeRescale(wrappers.RescaleObservation):
    """A changed built-in wrapper: the whole-batch form must not be used."""

    def observation(self, observation):
        return -super().observation(observation)


@in_modes(
    "wrapper, kwargs",
    [
        (Shifted, {"by": 3}),
        (NegativeRescale, {"min_obs": -1, "max_obs": 1}),
        (wrappers.TransformObservation, {"func": np.negative, "observation_space": None}),
        (wrappers.ReshapeObservation, {"shape": (2, 1)}),
        (wrappers.DiscretizeObservation, {"bins": 4}),
    ],
)
def test_any_wrapper_lane_by_lane(wrapper, kwargs, mode):
    check_lane_by_lane(
        lambda envs: vector.VectorizeTransformObservation(envs, wrapper, **kwargs),
        wrap_single("DiscretizeObservation", 4)
        if wrapper is wrappers.DiscretizeObservation
        else lambda env: wrapper(env, **kwargs),
        mode=mode,
        steps=12,
    )


@pytest.mark.parametrize("mode", MODES)
def test_transform_lane_by_lane(mode):
    space = gym.spaces.Box(-20, 20, (2,), np.float64)
    check_lane_by_lane(
        lambda envs: vector.TransformObservation(
            envs, lambda o: o.astype(np.float64) * 2, single_observation_space=space
        ),
        lambda env: wrappers.TransformObservation(env, lambda o: o.astype(np.float64) * 2, space),
        mode=mode,
        steps=12,
    )


@in_modes("kind", ["dict", "tuple"])
def test_nested_observations_go_through_a_stack(kind, mode):
    keys = ["goal", "position"] if kind == "dict" else [2, 1]

    def stack(module, env):
        env = module.FilterObservation(env, keys)
        env = module.FlattenObservation(env)
        env = module.DtypeObservation(env, np.float64)
        env = module.RescaleObservation(env, 0, 1)
        return module.ReshapeObservation(env, (*env.single_observation_space.shape, 1))

    def stack_single(env):
        env = wrappers.FilterObservation(env, keys)
        env = wrappers.FlattenObservation(env)
        env = wrappers.DtypeObservation(env, np.float64)
        env = wrappers.RescaleObservation(env, 0, 1)
        return wrappers.ReshapeObservation(env, (*env.observation_space.shape, 1))

    check_lane_by_lane(
        functools.partial(stack, vector),
        stack_single,
        functools.partial(WalkEnv, kind),
        mode=mode,
        steps=12,
    )


@in_modes("name, args, kwargs", CASES[::3])
def test_some_lanes_step_while_others_rest(name, args, kwargs, mode):
    """An action is repeated only in lanes whose episode continues: the inner `step_lanes`."""
    if name == "ResizeObservation":
        pytest.importorskip("cv2")
    single = wrap_single(name, *args)
    check_lane_by_lane(
        lambda envs: vector.RepeatAction(getattr(vector, name)(envs, *args), 3),
        lambda env: wrappers.RepeatAction(single(env), 3),
        functools.partial(make_lane, **kwargs),
        mode=mode,
        steps=12,
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("inner", ["function", "lane by lane"])
def test_some_lanes_step_through_functions(inner, mode):
    def wrap(envs):
        if inner == "function":
            return vector.TransformObservation(envs, np.negative)
        return vector.VectorizeTransformObservation(
            envs, wrappers.TransformObservation, func=np.negative, observation_space=None
        )

    check_lane_by_lane(
        lambda envs: vector.RepeatAction(wrap(envs), 3),
        lambda env: wrappers.RepeatAction(wrappers.TransformObservation(env, np.negative, None), 3),
        mode=mode,
        steps=12,
    )


@pytest.mark.parametrize("ids", [[2, 0], np.array([True, False, True]), [1]])
def test_rows_of_step_lanes(ids):
    envs, plain = vector.FlattenObservation(make("dict", 3)), make("dict", 3)
    envs.reset(seed=3)
    plain.reset(seed=3)
    actions = np.zeros(int(np.sum(ids)) if isinstance(ids, np.ndarray) else len(ids), np.int64)
    observations, *_, infos = envs.step_lanes(actions, ids)
    rows, *_, others = plain.step_lanes(actions, ids)
    assert_same(infos, others)
    space = plain.single_observation_space
    expected = [
        gym.spaces.flatten(space, row)
        for row in gym.vector.utils.iterate(plain.observation_space, rows)
    ]
    assert observations.shape == (len(actions), gym.spaces.flatdim(space))
    for row, one in zip(observations, expected, strict=True):
        assert_same(row, one)
    assert envs.reset(seed=1)[0].shape == (3, observations.shape[1])


# --- native environments: dense last observations -------------------------------------------------


@pytest.mark.parametrize("engine", ["native", "sync"])
def test_last_observations_of_both_engines(engine):
    envs = gym.make_vec(
        "MountainCar-v0",
        num_envs=3,
        vectorization_mode=engine,
        max_episode_steps=4,
        vector_kwargs={"autoreset_mode": "SameStep"},
    )
    plain = gym.make_vec(
        "MountainCar-v0",
        num_envs=3,
        vectorization_mode=engine,
        max_episode_steps=4,
        vector_kwargs={"autoreset_mode": "SameStep"},
    )
    envs = vector.ReshapeObservation(vector.RescaleObservation(envs, 0, 1), (1, 2))
    envs.reset(seed=5)
    plain.reset(seed=5)
    low, high = plain.single_observation_space.low, plain.single_observation_space.high
    for step in range(1, 9):
        observations, *_, infos = envs.step(np.ones(3, np.int64))
        expected, *_, others = plain.step(np.ones(3, np.int64))
        assert_rescaled(observations[:, 0], expected, low, high)
        assert ("final_obs" in infos) == (step % 4 == 0)
        if step % 4 == 0:
            for last, before in zip(infos["final_obs"], others["final_obs"], strict=True):
                assert_rescaled(last[0], before, low, high)


def assert_rescaled(new, old, low, high):
    np.testing.assert_allclose(new, (old - low) / (high - low), rtol=0, atol=1e-6)


# --- parity with Gymnasium ------------------------------------------------------------------------


GYMNASIUMS = [
    case for case in CASES if case[0] != "DiscretizeObservation" and "shape" not in case[2]
]


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "mode"),
    [(*case, ("NextStep", "Disabled")[i % 2]) for i, case in enumerate(GYMNASIUMS)],
)
def test_side_by_side(name, args, kwargs, mode):
    if kwargs.get("kind") == "one_of" or (name, args) == ("DtypeObservation", (np.float64,)):
        return  # Gymnasium cannot batch the first, and warns for the second
    spaces = kwargs.get("kind") not in ("scalar", "discrete") or name == "FlattenObservation"

    def wrap(package, envs):
        return getattr(package.wrappers.vector, name)(envs, *args)

    check_vectors_side_by_side(wrap, mode=mode, steps=12, spaces=spaces, **kwargs)


@pytest.mark.parametrize("mode", ["NextStep", "Disabled"])
@pytest.mark.parametrize("name", ["GrayscaleObservation", "ResizeObservation"])
def test_pictures_side_by_side(name, mode):
    args = () if name == "GrayscaleObservation" else ((3, 2),)
    if args:
        pytest.importorskip("cv2")

    def wrap(package, envs):
        lanes = [
            lambda: make_walk_env(package)(
                observation_space=package.spaces.Box(0, 255, (9, 7, 3), np.uint8)
            )
        ] * 3
        envs = package.vector.SyncVectorEnv(
            lanes, autoreset_mode=package.vector.AutoresetMode(mode)
        )
        return getattr(package.wrappers.vector, name)(envs, *args)

    check_vectors_side_by_side(wrap, mode=mode, steps=12)


@pytest.mark.parametrize("mode", ["NextStep", "Disabled"])
def test_filtered_batches_have_the_order_of_their_space(mode):
    def wrap(package, envs):
        return package.wrappers.vector.FilterObservation(envs, ["position", "camera"])

    check_vectors_side_by_side(wrap, mode=mode, steps=12, kind="dict")


@pytest.mark.parametrize("mode", ["NextStep", "Disabled"])
def test_transforms_side_by_side(mode):
    def transform(package, envs):
        space = package.spaces.Box(-20, 20, (2,), np.float64)
        wrapper = package.wrappers.vector.TransformObservation
        return wrapper(envs, lambda o: o.astype(np.float64) * 2, single_observation_space=space)

    def vectorize(package, envs):
        return package.wrappers.vector.VectorizeTransformObservation(
            envs,
            package.wrappers.TransformObservation,
            func=lambda o: o.astype(np.float64) * 2,
            observation_space=package.spaces.Box(-20, 20, (2,), np.float64),
        )

    check_vectors_side_by_side(transform, mode=mode)
    check_vectors_side_by_side(vectorize, mode=mode)


# --- details --------------------------------------------------------------------------------------


def make(kind="box", num_envs=2, mode="NextStep", **kwargs):
    return SyncVectorEnv([lambda: WalkEnv(kind, **kwargs)] * num_envs, autoreset_mode=mode)


def test_spaces_of_transform():
    single = gym.spaces.Box(0, 1, (2,), np.float64)
    batch = gym.spaces.Box(0, 1, (2, 2), np.float64)
    same = vector.TransformObservation(make(), np.negative)  # no warning
    assert same.observation_space == same.env.observation_space
    with pytest.warns(UserWarning, match="batched single observation space don't match"):
        given = vector.TransformObservation(make(), np.negative, batch)
    assert given.observation_space is batch
    assert given.single_observation_space == given.env.single_observation_space
    made = vector.TransformObservation(make(), np.negative, single_observation_space=single)
    assert (made.single_observation_space, made.observation_space) == (single, batch)
    both = vector.TransformObservation(make(), np.negative, batch, single)
    assert (both.single_observation_space, both.observation_space) == (single, batch)


@pytest.mark.parametrize("kind", OBSERVATION_KINDS)
def test_whole_batches_are_flattened_like_their_rows(kind):
    space = make_space(gym, kind)
    space.seed(4)
    rows = [space.sample() for _ in range(5)]
    assert _flattens_as_batch(space) == (kind not in ("sequence", "graph"))
    if _flattens_as_batch(space):
        empty = gym.vector.utils.create_empty_array(space, 5)
        batch = gym.vector.utils.concatenate(space, rows, empty)
        expected = np.stack([gym.spaces.flatten(space, row) for row in rows])
        assert_same(flatten_batch(space, batch), expected)


@pytest.mark.parametrize(
    ("space", "batch"),
    [
        (gym.spaces.Discrete(3, start=1), np.array([1, 4])),
        (gym.spaces.Discrete(3, start=1), np.array([0, 1])),
        (gym.spaces.MultiDiscrete([2, 3]), np.array([[1, 2], [2, 0]])),
    ],
)
def test_flatten_refuses_what_is_no_element(space, batch):
    with pytest.raises(error.InvalidArgument, match="is not a batch of elements of"):
        flatten_batch(space, batch)


def test_a_space_of_a_users_own_is_flattened_row_by_row():
    class Own(gym.spaces.Box):
        pass

    assert not _flattens_as_batch(Own(0, 1, (2,)))
    assert not _flattens_as_batch(gym.spaces.Dict(a=Own(0, 1, (2,))))


def test_discretize_reverts_batches():
    envs = vector.DiscretizeObservation(make(), (4, 5))
    single = wrappers.DiscretizeObservation(WalkEnv(), (4, 5))
    lower, upper = envs.revert_observation(np.array([3, 17]))
    for i, index in enumerate((3, 17)):
        assert_same((lower[i], upper[i]), single.revert_observation(index))
    with pytest.raises(IndexError, match=r"at least 0 and below 20"):
        envs.revert_observation([3, 20])
    with pytest.raises(error.InvalidArgument, match=r"of shape \(2,\), got \(3,\)"):
        envs.revert_observation([1, 2, 3])


@pytest.mark.parametrize(
    ("name", "args", "kind", "error_type", "message"),
    [
        ("TransformObservation", (3,), "box", TypeError, "func to be callable"),
        ("TransformObservation", (abs, 3), "box", TypeError, "observation_space to be a Space"),
        (
            "TransformObservation",
            (abs, None, 3),
            "box",
            TypeError,
            "single_observation_space to be",
        ),
        ("VectorizeTransformObservation", (3,), "box", TypeError, "Expected wrapper to be a class"),
        (
            "VectorizeTransformObservation",
            (wrappers.TimeLimit, 3),
            "box",
            TypeError,
            "VectorizeTransformObservation",
        ),
        ("FilterObservation", (["z"],), "dict", ValueError, "Missing keys"),
        ("FilterObservation", (None,), "dict", TypeError, "to be a Sequence"),
        ("ResizeObservation", (84,), "image", TypeError, "shape to be a tuple"),
        ("GrayscaleObservation", (), "image", ValueError, "3 channels"),
        ("ReshapeObservation", ((5,),), "box", ValueError, "product of the new shape"),
        ("RescaleObservation", (1, 0), "box", ValueError, "less than or equal"),
        ("DtypeObservation", (int,), "dict", TypeError, "requires a Box, Discrete"),
        ("DiscretizeObservation", (0,), "box", ValueError, "must be positive"),
        ("AddRenderObservation", (), "box", ValueError, "got None"),
    ],
)
def test_bad_arguments(name, args, kind, error_type, message):
    with pytest.raises(error_type, match=message):
        getattr(vector, name)(make(kind), *args)


def test_signatures_are_those_of_gymnasium():
    ours_alone = {"AddRenderObservation", "DiscretizeObservation"}
    names = [name for name in vectorize_observation.__all__ if name not in ours_alone]
    pairs = [(vector, gymnasium.wrappers.vector, name) for name in names]
    pairs += [(wrappers, gymnasium.wrappers, name) for name in transform_observation.__all__]
    for ours, theirs, name in pairs:
        signatures = [inspect.signature(getattr(package, name)) for package in (ours, theirs)]
        ours_too, theirs_too = (
            [(p.name, p.default, p.kind) for p in one.parameters.values()] for one in signatures
        )
        assert ours_too == theirs_too, name


def test_wrappers_that_cannot_be_applied_to_lanes():
    def limited(env):
        return wrappers.TimeLimit(env, 3)

    with pytest.raises(error.ArgumentTypeError, match="class derived from TransformObs"):
        vector.VectorizeTransformObservation(make(), limited)
    with pytest.raises(error.InvalidArgument, match=r"use gymcore\.wrappers\.vector\.AddRender"):
        vector.VectorizeTransformObservation(make(), wrappers.AddRenderObservation)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("TransformObservation", (abs,)),
        ("VectorizeTransformObservation", (wrappers.FlattenObservation,)),
        ("FlattenObservation", ()),
        ("ReshapeObservation", ((2, 1),)),
        ("AddRenderObservation", ()),
    ],
)
def test_no_vector_environment(name, args):
    with pytest.raises(error.ArgumentTypeError, match=r"Expected env to be a `gymcore.vector"):
        getattr(vector, name)(WalkEnv(), *args)


def test_arguments_are_recorded():
    envs = vector.ReshapeObservation(make(), (2, 1))
    assert envs._saved_kwargs == {"shape": (2, 1)}
    envs = vector.VectorizeTransformObservation(make(), wrappers.FlattenObservation)
    assert envs._saved_kwargs == {"wrapper": wrappers.FlattenObservation}


def test_calls_do_not_use_the_lanes_wrapper(monkeypatch):
    """They use the whole-batch form, without one call per lane."""
    envs = vector.RescaleObservation(make(num_envs=4), 0, 1)
    monkeypatch.setattr(envs.wrapper, "observation", None)
    assert envs.reset(seed=1)[0].shape == (4, 2)
