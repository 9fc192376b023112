"""Infos in shared memory: values that are put into a slot, or overflow it, arrive unchanged."""

from __future__ import annotations

import gc
import mmap
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gymcore_ext.python_envs import infos
from gymcore_ext.python_envs.infos import InfoSlots
from tests.ext import info_values
from tests.ext.info_values import assert_came_through

EMPTY: tuple[dict[str, Any], None, None] = ({}, None, None)


def slots_of(num_envs: int, slot_bytes: int = 4096) -> InfoSlots:
    return InfoSlots(bytearray(InfoSlots.nbytes(num_envs, slot_bytes)), 0, num_envs, slot_bytes)


def through(info: dict[Any, Any], *more: Any) -> tuple[Any, Any, Any]:
    slots = slots_of(2)
    slots.put(1, info, *more)
    return slots.get(1, slots.take_overflow().get(1))


# --- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("num_envs", "offset"), [(1, 64), (3, 8), (9, 0), (64, 8)])
@pytest.mark.parametrize("slot_bytes", [0, 1, 100, 4096])
def test_slots_stay_within_their_memory(num_envs: int, slot_bytes: int, offset: int) -> None:
    nbytes = InfoSlots.nbytes(num_envs, slot_bytes)
    assert nbytes >= num_envs * (8 + slot_bytes)
    memory = bytearray(b"\x55" * (offset + nbytes + 64))
    memory[offset : offset + nbytes] = bytes(nbytes)
    slots = InfoSlots(memory, offset, num_envs, slot_bytes)
    for size in range(0, 4200, 150):
        for lane in range(num_envs):
            array = np.full(size, -1, np.int8)
            slots.put(lane, {"k": array, "f": 1.5})
            ours = slots.get(lane, slots.take_overflow().get(lane))[0]
            assert_came_through(ours, {"k": array, "f": 1.5})
    assert memory[:offset] == b"\x55" * offset
    assert memory[offset + nbytes :] == b"\x55" * 64
    with pytest.raises(ValueError, match="buffer is smaller than requested"):
        InfoSlots(bytearray(offset + nbytes - 1), offset, num_envs, slot_bytes)


@pytest.mark.parametrize(
    ("arguments", "raised", "message"),
    [
        ((bytearray(999), 4, 1, 8), ValueError, "offset that is a multiple of 8"),
        ((bytearray(999), -8, 1, 8), ValueError, "offset must be non-negative"),
        ((bytearray(999), 0, 0, 8), ValueError, "expected at least one lane .* got 0"),
        ((bytearray(999), 0, 2, -1), ValueError, "slots of some bytes, got 2 of -1"),
        ((bytes(999), 0, 1, 8), ValueError, "writable"),
        (("text", 0, 1, 8), TypeError, "bytes-like object is required"),
    ],
)
def test_wrong_arguments(arguments: Any, raised: type[Exception], message: str) -> None:
    with pytest.raises(raised, match=message):
        InfoSlots(*arguments)


@pytest.mark.parametrize("lane", [-1, 2, 2**40])
def test_a_lane_outside_the_batch_is_an_error(lane: int) -> None:
    slots = slots_of(2)
    for call in (
        lambda: slots.put(lane, {}),
        lambda: slots.put(lane, {"k": 1}),
        lambda: slots.get(lane),
        lambda: slots.overflowed([lane]),
    ):
        with pytest.raises(IndexError, match=f"lane: expected one of 2, got {lane}"):
            call()


def test_two_slots_over_one_memory_see_the_same() -> None:
    with mmap.mmap(-1, 64 + InfoSlots.nbytes(3, 256)) as memory:
        writer, reader = (InfoSlots(memory, 64, 3, 256) for _ in range(2))
        writer.put(2, {"x": 1.5}, {"y": 2})
        assert reader.get(2) == ({"x": 1.5}, {"y": 2}, None)
        assert InfoSlots(memory, 64, 3, 256).filled() == [2]  # earlier infos stay
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


# --- what a lane reports --------------------------------------------------------------------------


def test_a_lane_reports_what_was_put_last() -> None:
    slots = slots_of(3)
    assert [slots.get(lane) for lane in range(3)] == [EMPTY] * 3
    assert slots.filled() == []
    slots.put(1, {"a": "a long text " * 20}, {"b": 1}, 3)
    slots.put(1, {"c": 2})
    assert [slots.get(lane)[0] for lane in range(3)] == [{}, {"c": 2}, {}]
    assert slots.filled() == [1]
    slots.put(1, {})
    assert slots.get(1) == EMPTY
    assert slots.filled() == []
    assert slots.put(0, {}, {})
    assert not slots.put(1, {}, None, 0)
    assert slots.get(0) == ({}, {}, None)
    assert slots.get(1, slots.take_overflow()[1]) == ({}, None, 0)


def test_any_mapping_is_an_info() -> None:
    class Info(dict[str, Any]):
        pass

    slots = slots_of(1)
    slots.put(0, Info(x=1.5), {"y": 2.5})
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
    assert slots.overflowed(range(3)) == [1]
    assert slots.filled() == [1]
    with pytest.raises(ValueError, match=f"lane 1: its info of more than {slot_bytes} bytes"):
        slots.get(1)

    overflow = slots.take_overflow()
    assert list(overflow) == [1]
    assert type(overflow[1]) is bytes
    assert slots.take_overflow() == {}
    assert slots.overflowed([1]) == [1]
    ours = slots.get(1, overflow[1])
    assert_came_through(list(ours), [large, {"y": large}, [large]])


def test_an_info_of_just_the_size_of_a_slot_fits() -> None:
    for size in range(64):
        slots = slots_of(2, 64)
        array = np.ones(size, np.int8)
        # words for the dict, the length of the key, the key, the array's type and its one axis
        assert slots.put(0, {"key": array}) == (size <= 64 - 40) != bool(slots.overflowed([0]))
        slots.put(1, {"key": array})
        assert_came_through(slots.get(0, slots.take_overflow().get(0))[0], {"key": array})


def test_an_overflow_is_forgotten_when_its_lane_reports_something_else() -> None:
    slots = slots_of(2, 64)
    for info in ({}, {"x": 1}, {"x": "y" * 99}):
        slots.put(0, {"k": "x" * 99})
        slots.put(1, {"k": "z" * 99})
        slots.put(0, info)
        overflow = slots.take_overflow()
        assert (0 in overflow) == bool(slots.overflowed([0]))
        assert slots.get(0, overflow.get(0))[0] == info
        assert slots.get(1, overflow[1])[0] == {"k": "z" * 99}


def check_comes_through(*record: Any) -> None:
    """Values in the slot keep their exact type; an overflow equals its pickle."""
    slots = slots_of(2)
    expected = list(record) if slots.put(1, *record) else pickle.loads(pickle.dumps([*record], 5))
    ours = slots.get(1, slots.take_overflow().get(1))
    assert_came_through([*ours][: len(record)], expected)


@settings(max_examples=60, deadline=None)
@given(info=info_values.INFOS)
@example(info={"x": 1.5, "y": 2.5, "TimeLimit.truncated": False})
@example(info={text: text for text in info_values.TEXTS})
@example(info={str(k): number for k, number in enumerate(info_values.INTS + info_values.FLOATS)})
@example(info={1: 2})
def test_infos_come_through(info: dict[Any, Any]) -> None:
    check_comes_through(info)


@settings(max_examples=40, deadline=None)
@given(
    info=info_values.INFOS,
    final_info=st.none() | info_values.INFOS,
    extra=info_values.VALUES,
)
def test_final_info_and_extra_come_through(info: Any, final_info: Any, extra: Any) -> None:
    check_comes_through(info, final_info, extra)


@settings(max_examples=60, deadline=None)
@given(array=info_values.number_arrays() | info_values.NUMBER_SCALARS)
def test_numbers_and_arrays_come_through(array: Any) -> None:
    check_comes_through({"k": array})


def test_numbers_and_arrays_of_them_are_never_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [
        *(number for number in info_values.INTS if -(2**63) <= number < 2**63),
        *info_values.FLOATS,
        *(True, False),
        *(dtype.type(1) for dtype in info_values.NUMBER_DTYPES),
        *(np.ones((2, 3), dtype) for dtype in info_values.NUMBER_DTYPES),
        *(np.zeros((0, 2)), np.array(1.5)),
    ]
    info = {"inner": {str(k): value for k, value in enumerate(values)}}
    slots = slots_of(1, 1 << 14)
    monkeypatch.setattr(infos, "pickle", None)
    assert slots.put(0, info, info)
    assert_came_through(list(slots.get(0)), [info, info, None])


def test_what_pickle_cannot_do_cloudpickle_does() -> None:
    offset = 3
    info, _, _ = through({"function": lambda x: x + offset})
    assert info["function"](4) == 7


def test_containers_that_hold_themselves_come_through() -> None:
    endless: list[Any] = [1]
    endless.append(endless)
    info, _, _ = through({"endless": endless, "x": 1.5})
    assert info["x"] == 1.5
    for _ in range(100):
        assert info["endless"][0] == 1
        info["endless"] = info["endless"][1]


@pytest.mark.parametrize(
    ("info", "final_info", "extra", "where"),
    [
        ({"a": 1}, None, None, "info['lock']"),
        ({"a": {"b": [1, (2, 3)]}}, None, None, "info['a']['b'][1][2]"),
        ({"a": 1}, {"b": {}}, None, "final_info['b']['lock']"),
        ({"a": 1}, {"b": 2}, (1, [2]), "extra[1][1]"),
    ],
)
def test_a_value_that_cannot_be_pickled_is_named(
    info: Any, final_info: Any, extra: Any, where: str
) -> None:
    lock = threading.Lock()
    slots = slots_of(2)
    slots.put(1, {"before": 1})
    if where == "info['lock']":
        info["lock"] = lock
    elif where.startswith("info"):
        info["a"]["b"][1] = (2, 3, lock)
    elif where.startswith("final"):
        final_info["b"]["lock"] = lock
    else:
        extra[1].append(lock)
    with pytest.raises(TypeError) as caught:
        slots.put(1, info, final_info, extra)
    assert str(caught.value).startswith(f"{where}: a value of type lock cannot be pickled: ")
    assert slots.get(1) == ({}, None, None)  # rather than the info of before
    slots.put(1, {"after": 2})
    assert slots.get(1)[0] == {"after": 2}


class Breaks:
    """An object that can be pickled, but not loaded."""

    def __reduce__(self) -> Any:
        return (int, ("no number",))


def test_a_value_that_cannot_be_loaded_is_an_error_with_its_reason() -> None:
    with pytest.raises(ValueError, match=r"lane 1: a pickled value cannot be loaded.*no number"):
        through({"k": Breaks()})


class PutsItself:
    """An object that puts an info while it is pickled, as an environment's own code could."""

    slots: InfoSlots

    def __reduce__(self) -> Any:
        self.slots.put(0, {"inner": list(range(1000))})
        return (str, ("pickled",))


def test_an_object_may_use_the_slots_while_it_is_pickled() -> None:
    slots = slots_of(2, 1 << 15)
    PutsItself.slots = slots
    slots.put(1, {"a": 1, "k": PutsItself(), "b": [PutsItself(), 2]})
    overflow = slots.take_overflow()
    assert slots.get(1, overflow[1])[0] == {"a": 1, "k": "pickled", "b": ["pickled", 2]}
    assert slots.get(0, overflow[0])[0] == {"inner": list(range(1000))}


def read_again(slots_name: int) -> Any:
    return READ_AGAIN[slots_name].get(0)[0]


READ_AGAIN: dict[int, InfoSlots] = {}


class GetsItself:
    def __reduce__(self) -> Any:
        return (read_again, (1,))


def test_an_object_may_use_the_slots_while_it_is_loaded() -> None:
    slots = READ_AGAIN[1] = slots_of(2)
    slots.put(0, {"x": 1.5})
    slots.put(1, {"k": GetsItself(), "y": 2.5})
    assert slots.get(1, slots.take_overflow()[1])[0] == {"k": {"x": 1.5}, "y": 2.5}
    del READ_AGAIN[1]


def test_the_dict_that_is_put_stays_as_it_is_and_is_not_held() -> None:
    inner = {"b": [1]}
    info = {"a": inner, "array": np.zeros(3)}
    references = sys.getrefcount(inner), sys.getrefcount(info["array"])
    slots = slots_of(1)
    for _ in range(5):
        slots.put(0, info)
        slots.get(0, slots.take_overflow().get(0))
    assert list(info) == ["a", "array"]
    assert (sys.getrefcount(inner), sys.getrefcount(info["array"])) == references


@pytest.mark.parametrize("key", ["aa", "", "\xe9", "\ud800"])
def test_keys_of_any_text(key: str) -> None:
    assert through({key: 1})[0] == {key: 1}


WRITER = """
import mmap, sys
from gymcore_ext.python_envs.infos import InfoSlots
with open(sys.argv[1], "r+b") as file:
    memory = mmap.mmap(file.fileno(), 0)
slots = InfoSlots(memory, 0, int(sys.argv[2]), int(sys.argv[3]))
k = 0
while True:
    k += 1
    for lane in range(int(sys.argv[2])):
        slots.put(lane, {"values": {str(i): k for i in range(k % 50)}, "last": k}, {"final": k})
    if k == 1:
        print("ready", flush=True)
"""


def test_a_writer_killed_at_any_moment_leaves_whole_infos(tmp_path: Path) -> None:
    num_envs, slot_bytes = 4, 4096
    path = tmp_path / "slots"
    path.write_bytes(bytes(InfoSlots.nbytes(num_envs, slot_bytes)))
    whole = 0
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        slots = InfoSlots(memory, 0, num_envs, slot_bytes)
        for moment in range(4):
            arguments = [sys.executable, "-c", WRITER, str(path), str(num_envs), str(slot_bytes)]
            with subprocess.Popen(arguments, stdout=subprocess.PIPE) as writer:
                assert writer.stdout is not None
                assert writer.stdout.readline() == b"ready\n"
                time.sleep(0.003 * (moment + 1))
                writer.kill()
            for lane in range(num_envs):
                info, final_info, _ = slots.get(lane)
                if info:
                    last = info["last"]
                    assert info["values"] == {str(i): last for i in range(last % 50)}
                    assert final_info == {"final": last}
                    whole += 1
        del slots
    assert whole > 0


@pytest.mark.parametrize("slot_bytes", [64, 100_000])
def test_what_the_reader_could_not_merge_is_refused_and_leaves_no_info(slot_bytes: int) -> None:
    slots = slots_of(2, slot_bytes)
    endless: dict[str, Any] = {}
    endless["itself"] = endless
    for put in (lambda: slots.put(1, endless), lambda: slots.put(1, {}, endless)):
        slots.put(1, {"a": 1})
        with pytest.raises(RecursionError):
            put()
        assert slots.filled() == []
        assert slots.get(1) == EMPTY
    assert slots.take_overflow() == {}
