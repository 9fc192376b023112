import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymcore.vector.utils.infos import merge_info, split_info
from tests.testing_env import assert_same

NUM_ENVS = 3


def merge(*lanes):
    """Merge (env_num, info) pairs."""
    infos = {}
    for env_num, info in lanes:
        merge_info(infos, info, env_num, NUM_ENVS)
    return infos


def merge_in_gymnasium(*lanes):
    envs = gymnasium.vector.VectorEnv()
    envs.num_envs = NUM_ENVS
    infos = {}
    for env_num, info in lanes:
        infos = envs._add_info(infos, info, env_num)
    return infos


VALUES = [
    1,
    1.5,
    True,
    np.float32(1.5),
    np.int8(3),
    np.bool_(True),
    np.complex64(1 + 2j),
    np.array(3.0),
    np.array([1, 2], dtype=np.int16),
    np.array([[True, False]]),
    np.array(["a", "b"]),
    np.array([None, 2], dtype=object),
    np.zeros((0,)),
    "text",
    b"bytes",
    None,
    [1, 2],
    (1, 2),
    1 + 2j,
    {},
    {"a": 1, "b": {"c": "x", "d": np.array([1.5])}},
]


@pytest.mark.parametrize("value", VALUES)
def test_columns_are_laid_out_as_in_gymnasium(value):
    for lanes in ([(1, {"k": value})], [(0, {"k": value}), (2, {"k": value})]):
        assert_same(merge(*lanes), merge_in_gymnasium(*lanes))


@pytest.mark.parametrize("value", VALUES)
def test_final_obs_is_an_object_column(value):
    lanes = [(1, {"final_obs": value}), (2, {"nested": {"final_obs": value}})]
    assert_same(merge(*lanes), merge_in_gymnasium(*lanes))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1.5, 2),
        (1.5, None),
        (5, True),
        (3, np.bool_(True)),
        (300, np.int8(1)),
        (1.1, np.float32(1)),
        ("text", 1),
        (None, np.array([1.0, 2.0])),
        (np.array([1, 2]), 3),
        (np.array([1, 2]), [3, 4]),
        (np.array([1.0, 2.0]), None),
        (np.array([None, 1]), np.array([2, 3])),
        ({"a": 1}, {"b": "x"}),
    ],
)
def test_mixtures_that_lose_nothing_are_as_in_gymnasium(first, second):
    lanes = [(0, {"k": first}), (2, {"k": second})]
    assert_same(merge(*lanes), merge_in_gymnasium(*lanes))


@pytest.mark.parametrize(
    ("first", "second", "column"),
    [
        (1, 2.7, np.array([1, 0, 2.7])),
        (True, 5, np.array([1, 0, 5])),
        (True, 0.5, np.array([1, 0, 0.5])),
        (np.int8(1), 300, np.array([1, 0, 300])),
        (np.float32(0.5), 1.1, np.array([0.5, 0, 1.1])),
        (np.array(1), 1.5, np.array([1, 0, 1.5])),
        (np.array([1, 2]), np.array([1.5, 2.5]), np.array([[1, 2], [0, 0], [1.5, 2.5]])),
        (np.array([1], np.uint8), np.array([300]), np.array([[1], [0], [300]])),
        (np.array([1, 2]), [0.5, 1], np.array([[1, 2], [0, 0], [0.5, 1]])),
        (np.array(["a"]), np.array(["abc"]), np.array([["a"], [""], ["abc"]])),
    ],
)
def test_a_column_is_promoted_rather_than_cut(first, second, column):
    infos = merge((0, {"k": first}), (2, {"k": second}))
    assert_same(infos, {"k": column, "_k": np.array([True, False, True])})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1, None),
        (1, "text"),
        (1, [1, 2]),
        (1, 1j),
        (1, 2**70),
        (2**70, 1),
        (1, {"a": 1}),
        (None, {"a": 1}),
        ({"a": 1}, 1),
        ({"a": 1}, None),
        ({"a": {"b": "x"}}, [1]),
        (3, np.array([1, 2])),
        (np.array([1, 2]), np.array([1, 2, 3])),
        (np.array([1, 2]), [[1], [2, 3]]),
        (np.array([1, 2]), "text"),
        (np.array([1, 2]), np.array(["a", "b"])),
        (np.array(["a"]), np.array([1])),
    ],
)
def test_values_without_a_common_type_share_an_object_column(first, second):
    infos = merge((0, {"k": first}), (2, {"k": second}))
    assert infos["k"].dtype == object
    assert infos["k"].shape == (NUM_ENVS,)
    assert infos["k"][1] is None
    np.testing.assert_equal(infos["k"][0], first)
    np.testing.assert_equal(infos["k"][2], second)
    np.testing.assert_array_equal(infos["_k"], [True, False, True])


def test_lanes_that_had_no_value_stay_none_when_a_column_becomes_objects():
    infos = merge((1, {"k": 0}), (2, {"k": "text"}))
    assert infos["k"].tolist() == [None, 0, "text"]


def test_merging_a_lane_twice_keeps_the_last_value():
    assert merge((0, {"k": 1}), (0, {"k": 2}))["k"].tolist() == [2, 0, 0]


def test_the_lanes_dict_is_left_as_it_is():
    info = {"k": 1, "nested": {"a": 1}}
    merge((0, info), (1, {"k": 2.5, "nested": {"a": "x"}}))
    assert info == {"k": 1, "nested": {"a": 1}}


def test_split_takes_columns_without_a_mask_from_every_lane():
    infos = {"episode": {"r": np.array([1.5, 0.0])}, "_episode": np.array([True, False])}
    assert split_info(infos, 0) == {"episode": {"r": 1.5}}
    assert split_info(infos, 1) == {}


SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**80), 2**80),
    st.floats(allow_nan=False),
    st.text(max_size=3),
    st.sampled_from([[1], (1, 2), b"x", np.float32(0.1), np.int8(-3), np.array([1, 2])]),
    st.sampled_from([np.array([0.5]), np.zeros((2, 2), dtype=np.uint8), np.array(["abc"])]),
)
INFOS = st.recursive(
    st.dictionaries(st.sampled_from("abc"), SCALARS, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), st.one_of(SCALARS, inner), max_size=3),
    max_leaves=6,
)


def same_value(ours, original):
    """Return whether a value that went through a merged dict is the original (1 or 1.0)."""
    if isinstance(original, dict):
        return ours.keys() == original.keys() and all(
            same_value(ours[key], original[key]) for key in original
        )
    if isinstance(ours, np.ndarray):  # scalars and lists in a column of arrays
        expected = np.asarray(original)
        return bool(np.all(ours == expected))
    return bool(ours == original)


@settings(max_examples=60, deadline=None)
@given(lanes=st.lists(INFOS, min_size=1, max_size=NUM_ENVS))
def test_splitting_a_merged_dict_gives_the_values_back(lanes):
    infos = merge(*enumerate(lanes))
    for env_num, info in enumerate(lanes):
        assert same_value(split_info(infos, env_num), info)
