"""Slots of infos in shared memory, records that overflow them, and merging them."""

from __future__ import annotations

import copy
import gc
import mmap
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymcore_ext.python_envs.info_slots import InfoSlots, merge_slots
from gymcore_ext.python_envs.infos import merge_info
from tests.ext import info_values
from tests.ext.info_values import assert_came_through
from tests.testing_env import assert_same

NOTHING: tuple[dict[str, Any], None, None] = ({}, None, None)


def slots_of(num_envs: int, slot_bytes: int = 4096) -> InfoSlots:
    return InfoSlots(bytearray(InfoSlots.nbytes(num_envs, slot_bytes)), 0, num_envs, slot_bytes)


# --- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("slot_bytes", [0, 1, 8, 100, 4096])
@pytest.mark.parametrize("num_envs", [1, 3, 8, 9, 64])
@pytest.mark.parametrize("offset", [0, 8, 64])
def test_slots_stay_within_their_memory(num_envs: int, slot_bytes: int, offset: int) -> None:
    nbytes = InfoSlots.nbytes(num_envs, slot_bytes)
    assert nbytes >= num_envs * (8 + slot_bytes)
    memory = bytearray(b"\x55" * (offset + nbytes + 64))
    memory[offset : offset + nbytes] = bytes(nbytes)
    slots = InfoSlots(memory, offset, num_envs, slot_bytes)
    for size in range(0, 4200, 150):
        for lane in range(num_envs):
            slots.put(lane, {"k": b"\xff" * size})
    assert memory[:offset] == b"\x55" * offset
    assert memory[offset + nbytes :] == b"\x55" * 64
    with pytest.raises(ValueError, match=rf"memory: expected {nbytes} bytes from byte {offset} on"):
        InfoSlots(bytearray(offset + nbytes - 1), offset, num_envs, slot_bytes)


@pytest.mark.parametrize(
    ("arguments", "raised", "message"),
    [
        ((bytearray(999), 4, 1, 8), ValueError, "offset: expected a multiple of 8"),
        ((bytearray(999), -8, 1, 8), ValueError, "from byte -8 on"),
        ((bytearray(999), 2**62, 1, 8), ValueError, "from byte 4611686018427387904 on"),
        ((bytearray(999), 0, 0, 8), ValueError, "num_envs: expected at least 1 and .* got 0"),
        ((bytearray(999), 0, -3, 8), ValueError, "num_envs: expected at least 1 and .* got -3"),
        ((bytearray(999), 0, 2, -1), ValueError, "slot_bytes: expected 0 to .* got -1"),
        ((bytearray(999), 0, 2**60, 8), ValueError, "num_envs: .* got 1152921504606846976"),
        ((bytearray(999), 0, 8, 2**61), ValueError, "slot_bytes: .* got 2305843009213693952"),
        ((bytes(999), 0, 1, 8), BufferError, "not writable"),
        (("text", 0, 1, 8), TypeError, "bytes-like object is required"),
    ],
)
def test_wrong_arguments(arguments: Any, raised: type[Exception], message: str) -> None:
    with pytest.raises(raised, match=message):
        InfoSlots(*arguments)


@pytest.mark.parametrize("lane", [-1, 2, 2**40])
def test_a_lane_that_is_none_of_the_batch_is_an_error(lane: int) -> None:
    slots = slots_of(2)
    for call in (
        *(lambda: slots.put(lane, {}), lambda: slots.put(lane, {"k": 1})),
        *(lambda: slots.get(lane), lambda: slots.clear(lane), lambda: slots.empty(lane)),
        *(lambda: slots.overflowed(lane), lambda: merge_slots({}, slots, 0, 1, lanes=[lane])),
    ):
        with pytest.raises(IndexError, match=f"lane: expected one of 2, got {lane}"):
            call()


def test_two_slots_over_one_memory_see_the_same() -> None:
    with mmap.mmap(-1, 64 + InfoSlots.nbytes(3, 256)) as memory:
        writer, reader = (InfoSlots(memory, 64, 3, 256) for _ in range(2))
        writer.put(2, {"x": 1.5}, {"y": 2}, "extra")
        assert reader.get(2) == ({"x": 1.5}, {"y": 2}, "extra")
        assert InfoSlots(memory, 64, 3, 256).get(2)[2] == "extra"  # nothing is cleared
        reader.clear(2)
        assert writer.get(2) == NOTHING
        del writer, reader


def test_memory_is_released_with_the_slots() -> None:
    memory = bytearray(InfoSlots.nbytes(2, 64))
    slots = InfoSlots(memory, 0, 2, 64)
    with pytest.raises(BufferError):
        memory.append(0)
    del slots
    memory.append(0)

    ring: list[Any] = [InfoSlots(memory, 0, 2, 64)]
    ring.append(ring)
    del ring
    gc.collect()
    memory.append(0)


# --- records --------------------------------------------------------------------------------------


def test_a_lane_says_what_was_put_last() -> None:
    slots = slots_of(3)
    assert [slots.get(lane) for lane in range(3)] == [NOTHING] * 3
    assert all(slots.empty(lane) for lane in range(3))
    slots.put(1, {"a": "a long text " * 20}, {"b": 1}, 3)
    slots.put(1, {"c": 2})
    assert [slots.get(lane)[0] for lane in range(3)] == [{}, {"c": 2}, {}]
    assert [slots.empty(lane) for lane in range(3)] == [True, False, True]
    slots.put(1, {})
    assert slots.get(1) == NOTHING
    assert slots.empty(1)
    slots.put(0, {}, {})
    slots.put(1, {}, None, 0)
    assert slots.get(0) == ({}, {}, None)
    assert slots.get(1) == ({}, None, 0)
    slots.clear(0)
    assert slots.get(0) == NOTHING


def test_any_mapping_is_an_info() -> None:
    class Info(dict[str, Any]):
        pass

    slots = slots_of(1)
    slots.put(0, Info(x=1.5), Info(y=2.5))
    info, final_info, _ = slots.get(0)
    assert type(info) is dict
    assert info == {"x": 1.5}
    assert final_info == {"y": 2.5}
    with pytest.raises(TypeError):
        slots.put(0, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("slot_bytes", [0, 8, 64, 4096])
def test_what_does_not_fit_overflows(slot_bytes: int) -> None:
    slots = slots_of(3, slot_bytes)
    large = {"image": np.arange(2000.0), "x": 1.5}
    assert slots.put(0, {})
    assert not slots.put(1, large, {"y": large}, [large])
    assert [slots.overflowed(lane) for lane in range(3)] == [False, True, False]
    assert not slots.empty(1)
    with pytest.raises(ValueError, match=f"lane 1: the info record of more than {slot_bytes} byt"):
        slots.get(1)
    with pytest.raises(ValueError, match="lane 1"):
        merge_slots({}, slots, 0, 3)

    overflow = slots.take_overflow()
    assert list(overflow) == [1]
    assert type(overflow[1]) is bytes
    assert slots.take_overflow() == {}
    assert slots.overflowed(1)
    ours = slots.get(1, overflow[1])
    assert_came_through(list(ours), [large, {"y": large}, [large]])
    infos: dict[str, Any] = {}
    assert list(merge_slots(infos, slots, 0, 3, None, overflow)) == [1]
    assert infos["x"].tolist() == [0, 1.5, 0]


def test_a_record_of_just_the_size_of_a_slot_fits() -> None:
    for size in range(64):
        slots = slots_of(2, 64)
        fits = slots.put(0, {"key": b"\xff" * size})
        # a word for the dict, two for the key, one for the bytes
        assert fits == (size <= 64 - 32)
        assert fits != slots.overflowed(0)
        slots.put(1, {"key": b"\xff" * size})
        info = slots.get(0, slots.take_overflow().get(0))[0]
        assert info == {"key": b"\xff" * size}


def test_an_overflow_is_forgotten_when_its_lane_says_something_else() -> None:
    slots = slots_of(2, 64)
    for put_next in (
        *(lambda: slots.put(0, {}), lambda: slots.put(0, {"x": 1}), lambda: slots.clear(0)),
        lambda: slots.put(0, {"x": "y" * 99}),
    ):
        slots.put(0, {"k": "x" * 99})
        slots.put(1, {"k": "z" * 99})
        put_next()
        overflow = slots.take_overflow()
        assert (0 in overflow) == slots.overflowed(0)
        assert slots.get(1, overflow[1])[0] == {"k": "z" * 99}
        if 0 in overflow:
            assert slots.get(0, overflow[0])[0] == {"x": "y" * 99}


# --- merging --------------------------------------------------------------------------------------

Record = tuple[dict[Any, Any], "dict[Any, Any] | None", Any]


def merged_one_by_one(
    infos: dict[Any, Any], records: list[Record], rows: list[int], num_envs: int
) -> dict[int, Any]:
    extras = {}
    for lane, row in enumerate(rows):
        info, final_info, extra = records[lane]
        if extra is not None:
            extras[lane] = extra
        if final_info is not None:
            final = {"final_obs": ("final", lane, extra), "final_info": final_info}
            merge_info(infos, final, row, num_envs)
        merge_info(infos, info, row, num_envs)
    return extras


def final_obs(lane: int, extra: Any) -> Any:
    return ("final", lane, extra)


def check_merge(*batches: list[Record], slot_bytes: int = 300) -> None:
    """One pair of slots, several steps: what is remembered of one must not spoil the next."""
    num_envs = len(batches[0])
    slots = slots_of(num_envs, slot_bytes)
    for records in batches:
        for lane, record in enumerate(records):
            slots.put(lane, *record)
        overflow = slots.take_overflow()
        infos: dict[Any, Any] = {}
        expected: dict[Any, Any] = {}
        for _ in range(2):  # into empty columns, and into some that there are
            extras = merge_slots(infos, slots, 0, num_envs, final_obs, overflow)
            came = [slots.get(lane, overflow.get(lane)) for lane in range(num_envs)]
            others = merged_one_by_one(expected, came, list(range(num_envs)), num_envs)
            assert_same(infos, expected)
            assert_same(extras, others)


TYPICAL: dict[str, Any] = {"x": 1.5, "y": 2.5, "TimeLimit.truncated": True}


@pytest.mark.parametrize(
    "infos",
    [
        [TYPICAL, TYPICAL, TYPICAL],
        [{}, TYPICAL, {}],
        [{"x": 1.5}, {"x": 2}, {"x": None}],
        [{"x": 1.5}, {"x": 2.5}, {"x": "text"}],
        [{"x": 1}, {"x": 2.5}, {"x": 3}],
        [{"x": True}, {"x": False}, {"x": 5}],
        [{"x": 2**63}, {"x": 1}, {"x": 2}],
        [{"x": np.float32(1)}, {"x": np.float32(2)}, {"x": np.float64(0.1)}],
        [{"x": np.longlong(1)}, {"x": np.int64(2)}, {"x": 3}],
        [{"x": np.bool_(True)}, {"x": True}, {"x": np.bool_(False)}],
        [{"x": True}, {"x": np.bool_(True)}, {"x": 1}],
        [{"x": np.longdouble(1)}, {"x": np.longdouble(2) / 3}, {"x": np.clongdouble(1j)}],
        [{"x": np.zeros(2)}, {"x": np.ones(2)}, {"x": np.ones(3)}],
        [{"x": 1.5}, {"x": {"a": 1}}, {"x": 2.5}],
        [{"x": {"a": 1}}, {"x": {"a": 2}}, {"x": 2.5}],
        [{"x": {"a": {"b": 1.5}}}, {"x": {"a": {"b": 2.5}}}, {"x": {"a": {"b": 3.5}, "c": 1}}],
        [{"a": {"x": 1.5}, "x": 2.5}, {"x": 1.5}, {"a": {"x": 1.5}, "x": 2.5}],
        [{"final_obs": 1.5}, {"final_obs": {"a": 1}}, {"final_obs": np.zeros(2)}],
        [{"\xe9": 1.5}, {"\xe9": 2.5}, {"\ud800": 3.5}],
        [{"x": 1.5, "s": "text", "y": 2.5}] * 3,
        [{1: 2.5}, {1: 3.5}, {"x": 2.5}],
        [{"a": 1, "_a": 2}, {"_a": 1, "a": 2}, {"_a": True, "a": True}],
        [{"x": 1.5, "image": np.zeros(100)}, {"x": 2.5}, {"x": 1.5, "image": np.ones(100)}],
    ],
    ids=repr,
)
def test_merging_is_as_lane_by_lane(infos: list[dict[Any, Any]]) -> None:
    plain: list[Record] = [(info, None, None) for info in infos]
    final: list[Record] = [({"x": 0.5}, info, k or None) for k, info in enumerate(infos)]
    check_merge(plain)
    check_merge(final, plain, final)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_merging_any_records_is_as_lane_by_lane(data: st.DataObject) -> None:
    keys = st.sampled_from(["a", "b", "c", "\xe9"])
    values = st.sampled_from([1.5, 2, True, None, "s", np.float32(1), np.zeros(2), np.ones((2, 2))])
    infos = st.recursive(
        st.dictionaries(keys, values | info_values.LEAVES, max_size=4),
        lambda inner: st.dictionaries(keys, values | inner, max_size=4),
        max_leaves=6,
    )
    record = st.tuples(infos, st.none() | infos, st.none() | st.integers())
    batch = st.lists(record, min_size=3, max_size=3)
    check_merge(data.draw(batch), data.draw(batch))


def test_some_lanes_are_merged_into_rows_of_their_own() -> None:
    slots = slots_of(8)
    for lane in range(8):
        slots.put(lane, {"lane": lane}, {"x": 0.5 * lane} if lane % 2 else None, lane)
    lanes = [6, 1, 3]
    infos: dict[str, Any] = {"before": 1}
    extras = merge_slots(infos, slots, 1, 3, final_obs, lanes=np.array(lanes), num_envs=5)
    expected: dict[str, Any] = {"before": 1}
    records = [slots.get(lane) for lane in lanes]
    for row, (info, final_info, extra) in enumerate(records, 1):
        if final_info is not None:
            final = {"final_obs": ("final", extra, extra), "final_info": final_info}
            merge_info(expected, final, row, 5)
        merge_info(expected, info, row, 5)
    assert_same(infos, expected)
    assert extras == {6: 6, 1: 1, 3: 3}

    part: dict[str, Any] = {}
    merge_slots(part, slots, 2, 3)
    assert part["lane"].tolist() == [0, 0, 2, 3, 4, 0, 0, 0]
    assert "final_obs" not in part
    assert part["_final_info"].tolist() == [False, False, False, True, False, False, False, False]
    assert merge_slots({}, slots, 8, 0) == {}


@pytest.mark.parametrize(("first", "count"), [(-1, 2), (0, 9), (8, 1), (3, -1), (2**62, 2**62)])
def test_rows_that_there_are_not_are_an_error(first: int, count: int) -> None:
    with pytest.raises(IndexError, match="rows: expected some of 8, got"):
        merge_slots({}, slots_of(8), first, count)


def test_a_column_may_change_while_its_batch_is_merged() -> None:
    """By what is called for final observations, say: no pointer to the old column is left."""
    slots = slots_of(4)
    for lane in range(4):
        slots.put(lane, {"x": 1.5, "y": True}, {"z": 1} if lane == 2 else None)
    infos: dict[str, Any] = {}

    def replace(lane: int, extra: Any) -> int:
        infos["x"] = np.full(4, 7.0)
        del infos["y"], infos["_y"]
        gc.collect()
        return lane

    merge_slots(infos, slots, 0, 4, replace)
    assert infos["x"].tolist() == [7, 7, 1.5, 1.5]
    assert infos["y"].tolist() == [False, False, True, True]


def test_merging_needs_no_dict_of_a_single_lane() -> None:
    """Numbers come out of the slots without one; the merged dict is any dict."""

    class Infos(dict[str, Any]):
        pass

    slots = slots_of(2)
    for lane in range(2):
        slots.put(lane, copy.deepcopy({"a": {"x": 1.5}, "y": lane}))
    infos = Infos()
    merge_slots(infos, slots, 0, 2)
    assert list(infos) == ["a", "_a", "y", "_y"]
    assert infos["a"]["x"].tolist() == [1.5, 1.5]
    assert infos["y"].tolist() == [0, 1]
