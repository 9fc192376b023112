"""Records that are not whole: whatever the bytes are, an error at worst."""

from __future__ import annotations

import contextlib
import mmap
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymcore_ext.python_envs import info_records
from gymcore_ext.python_envs.info_slots import InfoSlots, merge_slots

NUM_ENVS = 3
SLOT_BYTES = 768
NBYTES = InfoSlots.nbytes(NUM_ENVS, SLOT_BYTES)
WORDS_BYTES = NBYTES - NUM_ENVS * SLOT_BYTES

INFO: dict[str, Any] = {
    **{
        "x": 1.5,
        "flag": True,
        "count": 3,
        "complex": 1j,
        "large": 2**70,
        "none": None,
        "text": "t\xe9xt",
    },
    **{"bytes": b"12345", "list": [1, [2.5]], "pair": (1, "a"), "inner": {"y": np.float32(1)}},
    **{"array": np.arange(6, dtype=">i4").reshape(2, 3).T, "object": {1, 2}},
}


@pytest.fixture(autouse=True, scope="module")
def no_foreign_pickles() -> Iterator[None]:
    """Damaged pickles must not be loaded, whatever they would do."""
    known: list[bytes] = []
    real = info_records.pickle  # type: ignore[attr-defined]

    class Checked:
        @staticmethod
        def dumps(value: Any, protocol: int) -> bytes:
            known.append(real.dumps(value, protocol))
            return known[-1]

        @staticmethod
        def loads(data: bytes) -> Any:
            assert data in known
            return real.loads(data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(info_records, "pickle", Checked)
        yield


def read_everything(memory: bytearray) -> None:
    """What is read is garbage or an error; nothing else happens."""
    slots = InfoSlots(memory, 0, NUM_ENVS, SLOT_BYTES)
    for lane in range(NUM_ENVS):
        with contextlib.suppress(ValueError):
            info, final_info, _ = slots.get(lane)
            assert isinstance(info, dict)
            repr((info, final_info))
        slots.overflowed(lane)
    for _ in range(2):
        with contextlib.suppress(ValueError):
            merge_slots({}, slots, 0, NUM_ENVS)
    with contextlib.suppress(ValueError):
        slots.get(0, bytes(memory[WORDS_BYTES:]))
    slots.put(0, {"x": 1.5})
    assert slots.get(0)[0] == {"x": 1.5}


def written() -> bytearray:
    memory = bytearray(NBYTES)
    slots = InfoSlots(memory, 0, NUM_ENVS, SLOT_BYTES)
    slots.put(0, {"x": 1.5, "flag": True})
    assert slots.put(1, INFO)
    slots.put(2, {"x": 2.5, "inner": {"y": 1}}, {"a": [1]}, {"b": {3}})
    return memory


@settings(max_examples=400, deadline=None)
@given(changes=st.lists(st.tuples(st.integers(0, NBYTES - 1), st.integers(0, 255)), min_size=1))
def test_changed_bytes(changes: list[tuple[int, int]]) -> None:
    memory = written()
    for place, byte in changes:
        memory[place] = byte
    read_everything(memory)


@settings(max_examples=400, deadline=None)
@given(
    places=st.lists(st.integers(0, NBYTES // 8 - 1), min_size=1, max_size=4),
    words=st.lists(
        st.builds(lambda tag, rest: tag | rest << 8, st.integers(0, 16), st.integers(0, 2**56 - 1))
        | st.builds(lambda tag, rest: tag | rest << 8, st.integers(0, 16), st.integers(0, 300))
        | st.integers(0, 2**64 - 1),
        min_size=4,
        max_size=4,
    ),
)
def test_changed_words(places: list[int], words: list[int]) -> None:
    memory = written()
    view = memoryview(memory).cast("Q")
    for place, word in zip(places, words, strict=False):
        view[place] = word
    view.release()
    read_everything(memory)


@settings(max_examples=200, deadline=None)
@given(data=st.binary(min_size=NBYTES, max_size=NBYTES), sizes=st.lists(st.integers(0, 600)))
def test_random_bytes(data: bytes, sizes: list[int]) -> None:
    memory = bytearray(data)
    for lane, size in enumerate(sizes[:NUM_ENVS]):
        memory[8 * lane : 8 * lane + 8] = (size << 8 | lane * 2 + 1).to_bytes(8, sys.byteorder)
    read_everything(memory)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_items_in_any_order(data: st.DataObject) -> None:
    """Sequences of well-formed words, which get further than random ones."""
    tags = st.integers(1, 15)
    detail = st.sampled_from([0, 1, 2, 3, 8, 11, 12, 24, 1 << 16 | 12, 2 << 16 | 12, 3 << 16 | 11])
    words = st.builds(lambda tag, more: tag | more << 8, tags, detail) | st.integers(0, 9)
    record = data.draw(st.lists(words, min_size=1, max_size=SLOT_BYTES // 8))
    memory = bytearray(NBYTES)
    for lane, flags in enumerate([1, 3, 7]):
        word = 8 * len(record) << 8 | flags
        memory[8 * lane : 8 * lane + 8] = word.to_bytes(8, sys.byteorder)
        start = WORDS_BYTES + lane * SLOT_BYTES
        encoded = b"".join(word.to_bytes(8, sys.byteorder) for word in record)
        memory[start : start + len(encoded)] = encoded
    read_everything(memory)


@pytest.mark.parametrize("lane", range(NUM_ENVS))
def test_a_record_cut_off_anywhere_is_an_error(lane: int) -> None:
    memory = written()
    word = int.from_bytes(memory[8 * lane : 8 * lane + 8], sys.byteorder)
    slots = InfoSlots(memory, 0, NUM_ENVS, SLOT_BYTES)
    for nbytes in range(word >> 8):
        cut = nbytes << 8 | word & 0xFF
        memory[8 * lane : 8 * lane + 8] = cut.to_bytes(8, sys.byteorder)
        with pytest.raises(ValueError, match=f"info record of lane {lane}: .* at byte"):
            slots.get(lane)


@pytest.mark.parametrize("word", [2, 16, 0xFF, 1 | 769 << 8, 1 | (2**56 - 1) << 8, 9, 1 << 63 | 1])
def test_a_word_that_no_writer_wrote_is_an_error(word: int) -> None:
    memory = written()
    memory[8:16] = word.to_bytes(8, sys.byteorder)
    with pytest.raises(ValueError, match="lane 1: no info record begins with 0x"):
        InfoSlots(memory, 0, NUM_ENVS, SLOT_BYTES).get(1)


@pytest.mark.parametrize("blob", [b"", b"1234567", b"12345678", bytes(64), b"\xff" * 64])
def test_a_blob_that_no_writer_wrote_is_an_error(blob: bytes) -> None:
    slots = InfoSlots(bytearray(NBYTES), 0, NUM_ENVS, SLOT_BYTES)
    with pytest.raises(ValueError, match="lane 2: "):
        slots.get(2, blob)


def test_a_blob_cut_off_anywhere_is_an_error() -> None:
    slots = InfoSlots(bytearray(InfoSlots.nbytes(1, 0)), 0, 1, 0)
    slots.put(0, INFO, INFO, INFO)
    blob = slots.take_overflow()[0]
    for nbytes in range(len(blob)):
        with pytest.raises(ValueError, match="lane 0: "):
            slots.get(0, blob[:nbytes])
    slots.get(0, blob)


WRITER = """
import mmap, sys
from gymcore_ext.python_envs.info_slots import InfoSlots
with open(sys.argv[1], "r+b") as file:
    memory = mmap.mmap(file.fileno(), 0)
slots = InfoSlots(memory, 0, int(sys.argv[2]), int(sys.argv[3]))
print("ready", flush=True)
k = 0
while True:
    k += 1
    for lane in range(slots.num_envs):
        slots.put(lane, {"values": [k] * (k % 50), "last": k, "text": str(k) * 9}, {"final": k})
"""


def test_a_writer_killed_at_any_moment_leaves_whole_records(tmp_path: Path) -> None:
    num_envs, slot_bytes = 4, 2048
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
                    assert info["values"] == [last] * (last % 50)
                    assert info["text"] == str(last) * 9
                    assert final_info == {"final": last}
                    whole += 1
        del slots
    assert whole > 0
