"""What is put into a slot comes out of it: every type, exactly."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gymcore_ext.python_envs import info_records
from gymcore_ext.python_envs.info_slots import InfoSlots
from tests.ext import info_values
from tests.ext.info_values import assert_came_through


def slots_of(num_envs: int, slot_bytes: int = 4096) -> InfoSlots:
    return InfoSlots(bytearray(InfoSlots.nbytes(num_envs, slot_bytes)), 0, num_envs, slot_bytes)


def through(info: dict[Any, Any], *more: Any) -> tuple[Any, Any, Any]:
    slots = slots_of(2)
    slots.put(1, info, *more)
    return slots.get(1, slots.take_overflow().get(1))


@settings(max_examples=150, deadline=None)
@given(info=info_values.INFOS)
@example(info={"x": 1.5, "y": 2.5, "TimeLimit.truncated": False})
@example(info={text: text for text in info_values.TEXTS})
@example(info={str(k): number for k, number in enumerate(info_values.INTS + info_values.FLOATS)})
@example(info={1: 2})
def test_infos_come_through(info: dict[Any, Any]) -> None:
    ours, final_info, extra = through(info)
    assert_came_through(ours, info)
    assert final_info is None
    assert extra is None


@settings(max_examples=40, deadline=None)
@given(
    info=info_values.INFOS,
    final_info=st.none() | info_values.INFOS,
    extra=info_values.VALUES,
)
def test_final_info_and_extra_come_through(info: Any, final_info: Any, extra: Any) -> None:
    ours = through(info, final_info, extra)
    assert_came_through(list(ours), [info, final_info, extra])


@settings(max_examples=150, deadline=None)
@given(array=info_values.number_arrays())
def test_arrays_come_through(array: np.ndarray[Any, Any]) -> None:
    assert_came_through(through({"k": array})[0]["k"], array)


@pytest.fixture
def no_pickle(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    class Pickled(BaseException):
        """Not an Exception: those make the encoder try cloudpickle."""

    def dumps(*_: Any) -> bytes:
        raise Pickled

    monkeypatch.setattr(info_records, "pickle", SimpleNamespace(dumps=dumps, loads=dumps))
    with pytest.raises(Pickled):
        through({"k": object()})
    yield


def test_numbers_and_texts_are_never_pickled(no_pickle: None) -> None:
    values = [
        *info_values.INTS,
        *info_values.FLOATS,
        *info_values.TEXTS,
        *(True, None, b"bytes", 1 + 2j, complex("nan-0j")),
        *(dtype.type(1) for dtype in info_values.NUMBER_DTYPES),
        *(np.ones((2, 3), dtype) for dtype in info_values.NUMBER_DTYPES),
        *(np.ones((2, 3), dtype.newbyteorder()).T for dtype in info_values.NUMBER_DTYPES),
        *(np.ones((4, 3))[::2], np.zeros((0, 2)), np.array(1.5)),
    ]
    info = {"values": values, "inner": {str(k): (value,) for k, value in enumerate(values)}}
    assert_came_through(through(info, info, info), (info, info, info))


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


def test_deep_containers_come_through() -> None:
    deep: Any = 1.5
    for k in range(200):
        deep = [deep] if k % 2 else {"k": deep}
    assert_came_through(through({"deep": deep})[0]["deep"], deep)


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
    assert slots.get(1) == ({}, None, None)  # rather than what was there before
    slots.put(1, {"after": 2})
    assert slots.get(1)[0] == {"after": 2}


class Breaks:
    """Can be pickled, and not loaded."""

    def __reduce__(self) -> Any:
        return (int, ("no number",))


def test_a_value_that_cannot_be_loaded_is_an_error_with_its_reason() -> None:
    with pytest.raises(ValueError, match="lane 1: a pickled value cannot be loaded here: invalid"):
        through({"k": Breaks()})


class PutsItself:
    """Puts an info while it is pickled, as an environment's object with code of its own could."""

    slots: InfoSlots

    def __reduce__(self) -> Any:
        self.slots.put(0, {"inner": list(range(1000))})
        return (str, ("pickled",))


def test_an_object_may_use_the_slots_while_it_is_pickled() -> None:
    slots = slots_of(2, 1 << 15)
    PutsItself.slots = slots
    slots.put(1, {"a": 1, "k": PutsItself(), "b": [PutsItself(), 2]})
    assert slots.get(1)[0] == {"a": 1, "k": "pickled", "b": ["pickled", 2]}
    assert slots.get(0)[0] == {"inner": list(range(1000))}


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
    assert slots.get(1)[0] == {"k": {"x": 1.5}, "y": 2.5}
    del READ_AGAIN[1]


def test_the_dict_that_is_put_stays_as_it_is_and_is_not_held() -> None:
    inner = {"b": [1]}
    info = {"a": inner, "array": np.zeros(3)}
    references = sys.getrefcount(inner), sys.getrefcount(info["array"])
    slots = slots_of(1)
    for _ in range(5):
        slots.put(0, info)
        slots.get(0)
    assert list(info) == ["a", "array"]
    assert (sys.getrefcount(inner), sys.getrefcount(info["array"])) == references


def test_keys_that_were_met_before_are_the_same_objects() -> None:
    slots = slots_of(2)
    for lane in range(2):
        slots.put(lane, {"".join(["some", " key"]): 1.5, "inner": {"".join(["ot", "her"]): 2}})
    (first, _, _), (second, _, _) = slots.get(0), slots.get(1)
    assert all(one is other for one, other in zip(first, second, strict=True))
    assert next(iter(first["inner"])) is next(iter(second["inner"]))


def test_keys_at_the_same_place_are_told_apart() -> None:
    slots = slots_of(1)
    for key in ["aa", "ab", "a", "abc", "", "aa", "\xe9", "\xe8", "\ud800", "aa"]:
        slots.put(0, {key: 1})
        assert slots.get(0)[0] == {key: 1}
