"""The compiled `merge_info` and `split_info` agree with the slow ones in tests/oracles."""

from __future__ import annotations

import copy
import enum
import sys
import tracemalloc
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymcore_ext.python_envs.infos import merge_info, split_info, split_rows
from tests.oracles import merged_infos as oracle
from tests.testing_env import assert_same

NUM_ENVS = 3


class Color(enum.IntEnum):
    RED = 1


class Real(float):
    pass


class Column(np.ndarray):
    pass


NUMBERS = [
    *(np.dtype(code).type(1) for code in "?bBhHiIlLqQefdgFDG"),
    *(True, False, 0, -7, 2**63 - 1, -(2**63), 2**63, 2**53 + 1, 0.0, -0.0, 1.5, float("inf")),
    *(np.float64(0.1), np.float32(0.1), np.int64(-5), np.uint8(255), np.bool_(False), 1 + 2j),
    *(Color.RED, Real(2.5), np.datetime64("2020-01-01"), np.timedelta64(3, "s")),
]
OTHERS = [
    *("text", b"bytes", None, [1, 2], [1, [2]], (1.5, 2), [[1], [2, 3]], {}, {"a": 1}, {"a": "x"}),
    OrderedDict(a=2.5),
    *(np.str_("t"), np.array(3.0), np.array([1, 2]), np.array([0.5, 1.5]), np.array([1, 2, 3])),
    *(np.array([1, 2], ">i4"), np.array([1, 2, 3, 4])[::2], np.zeros((2, 2), order="F")),
    *(np.array(["a", "bc"]), np.array([None, 1], object), np.zeros(0), np.zeros(2, "i4,f8")),
    *(np.array([1.0, 2.0]).view(Column), np.array("2020-01-01", "M8[s]"), np.array([True, False])),
]
VALUES = NUMBERS + OTHERS


def merged(merge: Callable[..., None], lanes: list[tuple[int, dict[Any, Any]]]) -> dict[Any, Any]:
    infos: dict[Any, Any] = {}
    for env_num, info in lanes:
        merge(infos, copy.deepcopy(info), env_num, NUM_ENVS)
    return infos


def check(*lanes: tuple[int, dict[Any, Any]]) -> None:
    """Both versions merge to the same result, or raise the same error."""
    try:
        expected = merged(oracle.merge_info, list(lanes))
    except Exception as error:
        with pytest.raises(type(error)):
            merged(merge_info, list(lanes))
        return
    infos = merged(merge_info, list(lanes))
    assert_same(infos, expected)
    for env_num in range(NUM_ENVS):
        assert_same(split_info(infos, env_num), oracle.split_info(expected, env_num))


@pytest.mark.parametrize("first", VALUES)
def test_every_pair_of_values(first: Any) -> None:
    check((1, {"k": first}))
    for second in VALUES:
        check((0, {"k": first}), (2, {"k": second}))
        check((2, {"k": first}), (0, {"k": second}), (1, {"k": first}))


@pytest.mark.parametrize("value", VALUES)
def test_every_value_in_a_numeric_and_an_object_column(value: Any) -> None:
    for first in (True, 1, 1.5, np.float32(1), "text", np.zeros(2), np.zeros((2, 2))):
        check((0, {"k": first}), (1, {"k": value}), (1, {"k": first}))
        check((0, {"final_obs": first}), (1, {"final_obs": value}))
        check((0, {"n": {"k": first}}), (1, {"n": {"k": value}}))


KEYS = st.sampled_from(["a", "b", "_c", "final_obs", "é", 1, (1, 2), None, np.str_("a")])
INFOS = st.recursive(
    st.dictionaries(KEYS, st.sampled_from(VALUES), max_size=3),
    lambda inner: st.dictionaries(KEYS, st.sampled_from(VALUES) | inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(lanes=st.lists(st.tuples(st.integers(0, NUM_ENVS - 1), INFOS), max_size=5))
def test_any_infos(lanes: list[tuple[int, dict[Any, Any]]]) -> None:
    check(*lanes)


@pytest.mark.parametrize("make", [dict, OrderedDict, lambda: defaultdict(list)])
def test_merged_and_single_infos_may_be_of_any_dict_type(make: Callable[[], Any]) -> None:
    infos = make()
    for env_num in range(NUM_ENVS):
        info = make()
        info["x"] = 1.5 * env_num
        info["inner"] = make()
        info["inner"]["y"] = env_num
        merge_info(infos, info, env_num, NUM_ENVS)
    assert list(infos) == ["x", "_x", "inner", "_inner"]
    assert infos["x"].tolist() == [0, 1.5, 3]
    assert infos["inner"]["y"].tolist() == [0, 1, 2]
    assert_same(dict(split_info(infos, 1)), {"x": np.float64(1.5), "inner": {"y": np.int64(1)}})


@pytest.mark.parametrize("value", [1.5, 1, True, "text", np.float32(1), np.zeros(2), {"a": 1}])
@pytest.mark.parametrize("env_num", [NUM_ENVS, NUM_ENVS + 9, -NUM_ENVS - 1])
def test_an_environment_that_is_none_of_the_batch_is_an_index_error(
    value: Any, env_num: int
) -> None:
    infos: dict[str, Any] = {}
    with pytest.raises(IndexError):
        merge_info(infos, {"k": value}, env_num, NUM_ENVS)
    merge_info(infos, {"k": value}, 0, NUM_ENVS)
    with pytest.raises(IndexError):
        merge_info(infos, {"k": value}, env_num, NUM_ENVS)


def test_environments_are_numbered_by_anything_that_is_an_index() -> None:
    infos: dict[str, Any] = {}
    merge_info(infos, {"k": 1.5}, np.int64(1), np.int32(NUM_ENVS))
    merge_info(infos, {"k": 2.5}, -1, NUM_ENVS)
    assert infos["k"].tolist() == [0, 1.5, 2.5]
    assert infos["_k"].tolist() == [False, True, True]
    assert split_info(infos, np.int64(1)) == {"k": 1.5}


def test_columns_that_are_no_plain_memory_are_written_too() -> None:
    swapped = np.zeros(NUM_ENVS, ">f8")
    strided = np.zeros(2 * NUM_ENVS)[::2]
    infos: dict[str, Any] = {
        **{"swapped": swapped, "_swapped": np.zeros(NUM_ENVS, bool)},
        **{"strided": strided, "_strided": np.zeros(2 * NUM_ENVS, bool)[::2]},
    }
    merge_info(infos, {"swapped": 1.5, "strided": 2.5}, 1, NUM_ENVS)
    assert infos["swapped"].tolist() == [0, 1.5, 0]
    assert infos["strided"] is strided
    assert strided.tolist() == [0, 2.5, 0]
    assert infos["_strided"].tolist() == [False, True, False]


def test_a_column_that_may_not_be_written_is_an_error() -> None:
    column = np.zeros(NUM_ENVS)
    column.flags.writeable = False
    infos = {"k": column, "_k": np.zeros(NUM_ENVS, bool)}
    with pytest.raises(ValueError):
        merge_info(infos, {"k": 1.5}, 1, NUM_ENVS)


def test_a_row_of_a_column_may_be_written_to_another_one() -> None:
    infos: dict[str, Any] = {}
    merge_info(infos, {"k": np.array([1.0, 2.0])}, 0, NUM_ENVS)
    merge_info(infos, {"k": infos["k"][0]}, 2, NUM_ENVS)
    assert infos["k"].tolist() == [[1, 2], [0, 0], [1, 2]]


@pytest.mark.parametrize("value", [[1, [2]], (1, [2]), {1}, np.array([None])], ids=repr)
def test_containers_are_copied(value: Any) -> None:
    infos: dict[str, Any] = {}
    merge_info(infos, {"k": "text"}, 1, NUM_ENVS)
    merge_info(infos, {"k": value}, 0, NUM_ENVS)
    assert infos["k"][0] is not value and type(infos["k"][0]) is type(value)
    assert infos["k"][0] == value


def test_objects_are_referred_to_and_released() -> None:
    value = SimpleNamespace(name="an object")
    before = sys.getrefcount(value)
    infos: dict[str, Any] = {}
    for _ in range(3):
        merge_info(infos, {"k": value}, 0, NUM_ENVS)
        merge_info(infos, {"k": value}, 1, NUM_ENVS)
    assert infos["k"][0] is value
    assert sys.getrefcount(value) == before + 2
    merge_info(infos, {"k": None}, 0, NUM_ENVS)
    assert sys.getrefcount(value) == before + 1
    infos.clear()
    assert sys.getrefcount(value) == before


def test_made_up_keys_are_not_kept() -> None:
    """Keys are cached, but not without limit."""

    def merge_many(start: int) -> None:
        for k in range(start, start + 2000):
            merge_info({}, {f"a key of step {k}": 1.5}, 0, 1)

    merge_many(0)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        merge_many(10_000)
        assert tracemalloc.get_traced_memory()[0] - before < 50_000
    finally:
        tracemalloc.stop()


class Pairs:
    """Not a dict, but it has items, with one key twice."""

    def items(self) -> list[tuple[str, Any]]:
        return [("a", 1), ("a", 1.5), ("a", "x")]


def test_anything_with_items_is_merged() -> None:
    infos: dict[str, Any] = {}
    merge_info(infos, Pairs(), 1, NUM_ENVS)  # type: ignore[arg-type]
    assert infos["a"].tolist() == [None, "x", None]
    with pytest.raises(AttributeError):
        merge_info(infos, 3, 1, NUM_ENVS)  # type: ignore[arg-type]


def test_rows_of_lanes_are_views_or_dicts_and_none_elsewhere() -> None:
    mask = np.array([True, False, True])
    batch = np.arange(6.0).reshape(3, 2)
    rows = split_rows(batch, mask)
    assert rows.dtype == object and rows[1] is None
    assert [rows[0].tolist(), rows[2].tolist()] == [[0, 1], [4, 5]]
    assert np.shares_memory(rows[2], batch)
    assert split_rows(rows, mask) is rows
    assert split_rows(batch[:, 0], mask).tolist() == [0.0, None, 4.0]

    infos: dict[str, Any] = {}
    merge_info(infos, {"k": 1.5}, 2, NUM_ENVS)
    assert split_rows(infos, mask).tolist() == [{}, None, {"k": 1.5}]
    first, _, second = split_rows({}, mask)
    assert first == second == {} and first is not second


def test_a_mask_that_does_not_fit_is_refused() -> None:
    with pytest.raises(IndexError):
        split_rows(np.zeros((2, 2)), np.array([False, False, True]))
    for mask in (np.zeros(3), np.zeros((3, 1), bool)):
        with pytest.raises(ValueError):
            split_rows(np.zeros((3, 2)), mask)


def endless() -> dict[str, Any]:
    info: dict[str, Any] = {}
    info["itself"] = info
    return info


def nested(levels: int) -> dict[str, Any]:
    info: dict[str, Any] = {}
    for _ in range(levels - 1):
        info = {"inner": info}
    return info


@pytest.mark.parametrize("info", [endless(), nested(20_000), nested(257)])
def test_dicts_without_an_end_are_refused(info: dict[str, Any]) -> None:
    with pytest.raises(RecursionError, match=r"^info: expected at most 256 nested dicts$"):
        merge_info({}, info, 1, NUM_ENVS)


def test_dicts_are_merged_and_split_to_the_last_depth() -> None:
    infos: dict[str, Any] = {}
    merge_info(infos, nested(256), 1, NUM_ENVS)
    assert split_info(infos, 1) == nested(256)
