"""Running statistics, zeros of spaces and rescaled boxes, as in Gymnasium and beyond."""

from __future__ import annotations

import copy
import io
import json
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import utils as theirs

import gymcore
from gymcore import error
from gymcore.wrappers import utils
from gymcore.wrappers.utils import RunningMeanStd, create_zero_array, rescale_box
from tests.testing_env import OBSERVATION_KINDS, assert_same, make_space


def state(statistics: Any) -> dict[str, Any]:
    return {name: getattr(statistics, name) for name in ("mean", "var", "count")}


# --- RunningMeanStd -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int64, np.float16, bool])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (3,), (2, 4)])
def test_statistics_are_gymnasiums_to_the_bit(dtype, kind, shape):
    rng = np.random.default_rng(0)
    one, other = (
        RunningMeanStd(shape=shape, dtype=kind),
        theirs.RunningMeanStd(shape=shape, dtype=kind),
    )
    assert_same(state(one), state(other))
    for n in (1, 5, 64, 3):
        x = np.asarray(np.abs(rng.normal(4, 3, (n, *shape))), dtype)
        one.update(x)
        other.update(x)
        assert_same(state(one), state(other))
    one.update_from_moments(1.0, 2.0, 3)
    other.update_from_moments(1.0, 2.0, 3)
    assert_same(state(one), state(other))


def test_statistics_without_a_shape_take_that_of_the_first_batch():
    one, other = RunningMeanStd(), theirs.RunningMeanStd()
    for statistics in (one, other):
        statistics.update(np.arange(6.0).reshape(2, 3))
    assert_same(state(one), state(other))


def test_an_update_leaves_what_was_read():
    statistics = RunningMeanStd(shape=(2,))
    statistics.update(np.ones((3, 2)))
    mean = statistics.mean
    kept = mean.copy()
    statistics.update(np.full((3, 2), 7.0))
    np.testing.assert_array_equal(mean, kept)
    assert statistics.mean is not mean


def test_an_empty_batch_adds_nothing():
    statistics = RunningMeanStd(shape=(2,))
    before = copy.deepcopy(state(statistics))
    statistics.update(np.zeros((0, 2)))
    assert_same(state(statistics), before)


@pytest.mark.parametrize("x", ["x", 3.0, None, np.zeros((2, 3)), np.zeros((2, 2), complex)])
def test_a_wrong_batch_is_named(x):
    statistics = RunningMeanStd(shape=(2,))
    before = copy.deepcopy(state(statistics))
    with pytest.raises(error.InvalidArgument, match=r"^x: expected"):
        statistics.update(x)
    assert_same(state(statistics), before)


@pytest.mark.parametrize("shape", [(), (4,)])
def test_merging_equals_one_pass(shape):
    rng = np.random.default_rng(0)
    data = [rng.normal(5, 2, (n, *shape)) for n in (30, 10, 20, 5)]
    whole, central = RunningMeanStd(shape=shape), RunningMeanStd(shape=shape)
    central.update(data[0])
    start = copy.deepcopy(central)
    workers = [copy.deepcopy(central) for _ in range(4)]
    for worker, part in zip(workers, data[1:], strict=False):
        worker.update(part)
    sent = [pickle.loads(pickle.dumps(worker)) for worker in workers]
    central.merge(sent, start=start)
    whole.update(np.concatenate(data))
    np.testing.assert_allclose(central.mean, whole.mean, 1e-12)
    np.testing.assert_allclose(central.var, whole.var, 1e-12)
    assert central.count == pytest.approx(whole.count, 1e-15)
    assert type(central.mean) is type(whole.mean)
    for worker, other in zip(sent, workers, strict=True):
        assert_same(state(worker), state(other))


def test_merging_without_a_start_counts_everything():
    one, other = RunningMeanStd(), RunningMeanStd(epsilon=2.0)
    one.update(np.array([1.0, 3.0]))
    one.merge(other)
    assert one.count == pytest.approx(4.0001)
    assert float(one.mean) == pytest.approx(4 / 4.0001)
    assert one.mean.dtype == np.float64


def test_what_cannot_be_merged_changes_nothing():
    one = RunningMeanStd(shape=(2,))
    before = copy.deepcopy(state(one))
    with pytest.raises(error.InvalidArgument, match=r"others\[1\]: expected shape \(2,\), got \(3"):
        one.merge([RunningMeanStd(shape=(2,)), RunningMeanStd(shape=(3,))])
    with pytest.raises(error.ArgumentTypeError, match=r"others\[0\]: expected a RunningMeanStd"):
        one.merge([3])
    with pytest.raises(error.InvalidArgument, match="a count of at least that of start, 5"):
        one.merge(RunningMeanStd(shape=(2,)), start=RunningMeanStd(5, (2,)))
    assert_same(state(one), before)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (2, 2)])
@pytest.mark.parametrize("way", ["dict", "pickle", "json", "npz"])
def test_statistics_are_saved_and_restored(kind, shape, way):
    one = RunningMeanStd(shape=shape, dtype=kind)
    one.update(np.random.default_rng(0).normal(size=(9, *shape)).astype(kind))
    kept: Any = one.get_state()
    if way == "pickle":
        kept = pickle.loads(pickle.dumps(kept))
    elif way == "json":
        kept["mean"], kept["var"] = kept["mean"].tolist(), kept["var"].tolist()
        kept = json.loads(json.dumps(kept))
    elif way == "npz":
        file = io.BytesIO()
        np.savez(file, **kept)
        file.seek(0)
        kept = np.load(file)
    other = RunningMeanStd(shape=shape)
    other.set_state(kept)
    x = np.ones((4, *shape), kind)
    one.update(x)
    other.update(x)
    assert_same(state(other), state(one))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mean": [1.0]}, r"state\['mean'\]: expected shape \(2,\), got \(1,\)"),
        ({"var": [-1.0, 1.0]}, "variances of at least 0"),
        ({"count": -1}, "count"),
        ({"count": "many"}, "expected numbers"),
        ({"mean": ["a", "b"]}, "expected numbers"),
        ({"dtype": "nothing"}, "expected numbers"),
        ({"mean": None}, "expected"),
    ],
)
def test_a_wrong_state_changes_nothing(change, message):
    statistics = RunningMeanStd(shape=(2,))
    before = copy.deepcopy(state(statistics))
    with pytest.raises(error.InvalidArgument, match=message):
        statistics.set_state({**statistics.get_state(), **change})
    with pytest.raises(error.InvalidArgument, match="missing: "):
        statistics.set_state({"mean": [0, 0]})
    with pytest.raises(error.ArgumentTypeError, match="expected a dict"):
        statistics.set_state(7)
    assert_same(state(statistics), before)


# --- create_zero_array ----------------------------------------------------------------------------


def spaces_of(package: Any) -> list[Any]:
    s = package.spaces
    return [
        s.Box(3, 5, (2,), np.int8),
        s.Box(np.float32([-1, 2, -4]), np.float32([1, 3, -2])),
        s.Discrete(3, start=2),
        s.Discrete(3, dtype=np.int32),
        s.MultiDiscrete([[2, 3]], start=[[1, 5]], dtype=np.int32),
        s.Text(4, min_length=2, charset="ba"),
        s.Text(4, min_length=0),
        s.Sequence(s.Box(0, 1), stack=True),
        s.Sequence(s.Tuple((s.Discrete(2), s.Box(0, 1))), stack=True),
        s.Graph(s.Discrete(4, start=2), None),
        s.Graph(s.Box(3, 4, (2,)), s.Box(-4, -2, (2,))),
        s.Graph(s.Tuple((s.Box(-1, 1, (2,)), s.Discrete(3))), s.Dict(a=s.Discrete(4))),
        *(make_space(package, kind) for kind in OBSERVATION_KINDS),
    ]


@pytest.mark.parametrize("index", range(len(spaces_of(gymcore))))
def test_zeros_are_gymnasiums(index):
    ours, other = spaces_of(gymcore)[index], spaces_of(gymnasium)[index]
    assert_same(create_zero_array(ours), theirs.create_zero_array(other))
    assert create_zero_array(ours) in ours


def test_zeros_are_new_and_apart():
    space = gymcore.spaces.MultiDiscrete([2, 3], start=[1, 1])
    create_zero_array(space)[:] = 9
    assert create_zero_array(space).tolist() == [1, 1]


def test_zeros_of_other_spaces_can_be_registered():
    class Color(gymcore.spaces.Space[str]):
        pass

    with pytest.raises(error.CustomSpaceError, match=r"Register .*Color"):
        create_zero_array(Color((), np.str_))
    create_zero_array.register(Color, lambda space: "black")
    assert create_zero_array(Color((), np.str_)) == "black"
    with pytest.raises(error.ArgumentTypeError, match="not a gymcore Space instance"):
        create_zero_array(3)


# --- rescale_box ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_boxes_are_rescaled_like_gymnasiums_to_the_bit(dtype):
    rng = np.random.default_rng(0)
    for _ in range(60):
        low = (rng.normal(size=3) * 10.0 ** rng.integers(-2, 3)).astype(dtype)
        high = (low + (0.1 + rng.random(3)) * 10.0 ** rng.integers(-1, 3)).astype(dtype)
        new_low = rng.normal(size=3).astype(dtype)
        new_high = (new_low + 0.1 + rng.random(3)).astype(dtype)
        high[0] = new_high[0] = np.inf
        if rng.random() < 0.5:
            low[1] = new_low[1] = -np.inf
            if rng.random() < 0.5:
                high[1] = new_high[1] = np.inf
        x = rng.normal(size=(4, 3)).astype(dtype)
        given = x.copy()
        ours = rescale_box(gymcore.spaces.Box(low, high, dtype=dtype), new_low, new_high)
        other = theirs.rescale_box(gymnasium.spaces.Box(low, high, dtype=dtype), new_low, new_high)
        assert repr(ours[0]) == repr(other[0])
        assert_same(ours[1](x), other[1](x))
        assert_same(ours[2](x), other[2](x))
        assert_same(x, given)


def test_a_box_is_rescaled_by_numbers():
    box = gymcore.spaces.Box(-1, 1, (2,))
    scaled, forward, backward = rescale_box(box, np.float32(0), 3)
    assert scaled == gymcore.spaces.Box(0, 3, (2,))
    assert forward(np.float32([-1, 1])).tolist() == [0, 3]
    assert backward(np.float32([0, 3])).tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("new_min", "new_max", "kind", "message"),
    [
        (1, 0, error.InvalidArgument, r"new_min to be less than or equal to new_max, got \[1 1\]"),
        (np.nan, 0, error.InvalidArgument, "new_min to be less"),
        (np.zeros(3), 1, error.InvalidArgument, r"new_min.shape to be \(2,\), got \(3,\)"),
        (0, np.zeros(()), error.InvalidArgument, r"new_max.shape to be \(2,\), got \(\)"),
        (-np.inf, np.inf, error.InvalidArgument, "must match the original infinity bounds"),
        ("a", 1, error.ArgumentTypeError, "new_min to be an integer, float, or numpy array, got"),
        (True, 1, error.ArgumentTypeError, "new_min to be"),
        (0, [1, 1], error.ArgumentTypeError, "new_max to be"),
        (np.array(["a", "b"]), 1, error.ArgumentTypeError, "new_min to hold real numbers"),
    ],
)
def test_wrong_bounds_are_named(new_min, new_max, kind, message):
    with pytest.raises(kind, match=message):
        rescale_box(gymcore.spaces.Box(-1, 1, (2,)), new_min, new_max)


def test_only_boxes_are_rescaled():
    with pytest.raises(error.ArgumentTypeError, match="Expected box to be a Box space"):
        rescale_box(gymcore.spaces.Discrete(3), 0, 1)
    box = gymcore.spaces.Box(-np.inf, 1, (2,))
    with pytest.raises(error.InvalidArgument, match="infinity bounds"):
        rescale_box(box, 0, 1)


def test_the_module_has_gymnasiums_names():
    assert set(theirs.__all__) <= set(utils.__all__)
