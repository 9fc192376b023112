import numpy as np
import pytest

from gymcore import error
from gymcore.base.arguments import (
    count,
    flag,
    keywords,
    lane_indices,
    seeds_per_env,
    split_reset_mask,
    step_limit,
    texts,
)


@pytest.mark.parametrize(
    ("seed", "seeds"),
    [
        (None, [None, None, None]),
        (4, [4, 5, 6]),
        (0, [0, 1, 2]),
        (True, [1, 2, 3]),
        (np.int64(4), [4, 5, 6]),
        (np.uint8(255), [255, 256, 257]),
        (np.array(4), [4, 5, 6]),
        ([7, 1, 7], [7, 1, 7]),
        ((7, None, 1), [7, None, 1]),
        (range(3), [0, 1, 2]),
        ([np.int32(3), 2, None], [3, 2, None]),
        (np.array([3, 2, 1], dtype=np.uint16), [3, 2, 1]),
    ],
)
def test_seeds(seed, seeds):
    result = seeds_per_env(seed, 3)
    assert result == seeds
    assert all(type(one) in (int, type(None)) for one in result)


@pytest.mark.parametrize(
    "seed", [1.0, "abc", b"abc", {1, 2, 3}, [1, 2.5, 3], np.array([1.0, 2, 3])]
)
def test_seeds_of_the_wrong_type(seed):
    with pytest.raises(error.ArgumentTypeError, match="Seed must be a python integer"):
        seeds_per_env(seed, 3)


@pytest.mark.parametrize("seed", [-1, np.int64(-2), [1, -1, 1]])
def test_negative_seeds(seed):
    with pytest.raises(ValueError, match="Seed must be greater or equal to zero, actual value: -"):
        seeds_per_env(seed, 3)


@pytest.mark.parametrize("seed", [[], [1, 2], (1, 2, 3, 4), np.array([1])])
def test_seeds_of_the_wrong_length(seed):
    expected = f"the length must match num_envs=3 but got length={len(seed)}"
    with pytest.raises(ValueError, match=expected):
        seeds_per_env(seed, 3)


def test_seeds_in_a_table():
    with pytest.raises(ValueError, match=r"one-dimensional array, got shape \(3, 1\)"):
        seeds_per_env(np.zeros((3, 1), dtype=int), 3)


def test_options_without_a_mask_are_the_callers():
    options = {"low": 1}
    assert split_reset_mask(options, 3)[0] is options
    assert split_reset_mask(options, 3)[1] is None
    assert split_reset_mask(None, 3) == (None, None)


def test_mask_is_taken_out_of_a_copy():
    mask = np.array([True, False, True])
    options = {"reset_mask": mask, "low": 1}
    rest, taken = split_reset_mask(options, 3)
    assert rest == {"low": 1}
    assert taken is mask
    assert options == {"reset_mask": mask, "low": 1}


@pytest.mark.parametrize(
    ("mask", "exception", "message"),
    [
        ([True, False, True], TypeError, "must be a numpy array, got <class 'list'>"),
        (None, TypeError, "must be a numpy array, got <class 'NoneType'>"),
        (np.array([1, 0, 1]), TypeError, "must have `dtype=np.bool_`, got int64"),
        (np.array([True, False]), ValueError, r"must have shape `\(3,\)`, got \(2,\)"),
        (np.array([[True, False, True]]), ValueError, r"must have shape `\(3,\)`, got \(1, 3\)"),
        (np.zeros(3, bool), ValueError, "must contain .* at least one True value, got reset_mask="),
    ],
)
def test_bad_masks(mask, exception, message):
    options = {"reset_mask": mask}
    with pytest.raises(exception, match=r"`options\['reset_mask'\]` " + message) as caught:
        split_reset_mask(options, 3)
    assert isinstance(caught.value, error.Error)
    assert list(options) == ["reset_mask"]


def test_options_that_are_no_dict():
    with pytest.raises(TypeError, match="options: expected a dict"):
        split_reset_mask(3, 3)


@pytest.mark.parametrize("lanes", [[[1], [2, 3]], "ab", np.array(None), [None], [0.5], 1, {}])
def test_lanes_of_other_types_are_refused(lanes):
    with pytest.raises(error.ArgumentTypeError, match="lanes: expected integers or a mask"):
        lane_indices(lanes, 3)


def test_limits_of_steps():
    assert [step_limit("limit", limit) for limit in (None, -1, np.int8(3))] == [None, -1, 3]
    for limit in (0, -2, 1.5, "x", np.ones(2), [1]):
        with pytest.raises(error.Error, match=r"^limit: expected"):
            step_limit("limit", limit)


def test_a_count_is_no_bool():
    assert type(count("num_envs", True)) is int


def test_flags_dicts_and_texts():
    assert [flag("coop", value) for value in (True, np.False_, 1, np.int8(0))] == [1, 0, 1, 0]
    given = {"a": 1}
    assert keywords("task", given) == given and keywords("task", given) is not given
    assert texts("layers", ("a", "b")) == ["a", "b"] and texts("layers", []) == []
    for check, values in (
        (flag, (None, "x", 2, 1.0, np.ones(2), [True])),
        (keywords, (3, "x", [("a", 1)], {1: 2}, np.ones(2))),
        (texts, (None, "ab", b"ab", 3, ["a", 1], np.array(["a"]))),
    ):
        for value in values:
            with pytest.raises(error.ArgumentTypeError, match=r"^name: expected"):
                check("name", value)
