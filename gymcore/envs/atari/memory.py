"""The layout of ALE's serialized states: offsets and ranges of their numbers.

A state is a head of int32 (paddles, frames, mode and difficulty), the size of the emulator's memory
and that memory, and a tail, the limits of paddles.
"""

from __future__ import annotations

import functools
import re
import struct

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

# Where a serialized state has the text of the emulator's random generator.
GENERATOR = 82

# Where it has the memory, and the name of the first part of it, which follows a digest of the ROM.
_MEMORY, _SYSTEM = 28, 64
# Where the memory has clocks of a frame, from the end of the generator's text on.
_CLOCKS = 628

_MAX_FRAMES = 2**30
# The clock runs three times as fast as cycles are counted: it does not overflow.
_MAX_CYCLES = 2**26

_TWISTER = re.compile(rb"(?:\d{1,10} ){624}\d{1,10}")

COMPLETE = -1
"""Position of a frame that the game has ended after all of its display was drawn."""
CUT_OFF = -2
"""Position of a frame that the game has ended earlier."""

# What the serialized memory of an emulator has after the text of its generator: the names of its
# parts, and for each part (minimum, maximum, count) of its numbers, all int32.
_Numbers = tuple[tuple[int, int, int], ...]
_TRUE, _FALSE = 0xFAB1FAB2 - 2**32, 0xBAD1BAD2 - 2**32
_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1
_LARGE = 2**28  # of rewards and scores, so that sums and differences do not overflow
_PARTS: tuple[tuple[str, _Numbers], ...] = (
    # Registers; flags; what execution waits for.
    ("M6502Low", ((0, 255, 5), (0, 65535, 1), (_TRUE, _FALSE, 7), (0, 15, 1))),
    # The size of the RAM; the RAM and the timer; its shift; cycles; whether it was read; ports.
    (
        "M6532",
        (
            (128, 128, 1),
            (0, 255, 129),
            (0, 10, 1),
            (_INT_MIN, _INT_MAX, 2),
            (_TRUE, _FALSE, 1),
            (0, 255, 2),
        ),
    ),
    (
        "TIA",
        (
            (-227, 0, 1),  # clocks: of the frame, of its display, to the end of the line
            (_INT_MIN, _INT_MAX, 3),
            (0, 228, 1),
            (_INT_MIN, _INT_MAX, 3),
            (0, 255, 5),  # objects, synchronization, sizes
            (_INT_MIN, _INT_MAX, 4),  # colors
            (0, 255, 2),
            (_TRUE, _FALSE, 2),
            (0, 2**20 - 1, 1),  # the playfield
            (0, 255, 4),
            (_TRUE, _FALSE, 4),
            (0, 15, 5),  # motion
            (_TRUE, _FALSE, 5),
            (0, 65535, 1),
            (0, 159, 5),  # positions
            (0, 255, 2),
            (_INT_MIN, _INT_MAX, 1),
            (_TRUE, _FALSE, 2),
            (0, 3, 1),
            (_TRUE, _FALSE, 1),
            (_INT_MIN, _INT_MAX, 1),
        ),
    ),
    ("TIASound", ((0, 255, 6), (_INT_MIN, _INT_MAX, 1))),
)
_RAM: _Numbers = ((128, 128, 1), (0, 255, 128))
_CARTRIDGES: dict[str, _Numbers] = {  # banks, memory
    "Cartridge2K": (),
    "Cartridge4K": (),
    "CartridgeFE": (),
    "CartridgeF8": ((0, 1, 1),),
    "CartridgeF6": ((0, 3, 1),),
    "CartridgeF8SC": ((0, 1, 1), *_RAM),
    "CartridgeF6SC": ((0, 3, 1), *_RAM),
    "CartridgeE0": ((4, 4, 1), (0, 7, 3), (7, 7, 1)),
    "CartridgeDPC": (
        (0, 1, 1),
        *((8, 8, 1), (0, 255, 8)) * 2,
        *((8, 8, 1), (0, 2047, 8)),
        *((8, 8, 1), (0, 255, 8)),
        *((3, 3, 1), (_TRUE, _FALSE, 3)),
        (0, 255, 1),
        (_INT_MIN, _INT_MAX, 1),
        (-(10**8), 10**8, 1),
    ),
}


def memory_fields(state: bytes) -> npt.NDArray[np.int32]:
    """Return what the memory of an emulator may contain, int32 [numbers, 3].

    A row has a number's offset from the end of the generator's text, its minimum and its maximum.
    If the minimum is above the maximum, only these two values are possible.

    Args:
        state: A serialized state of the game.

    Raises:
        ValueError: If the state is not laid out as expected.
    """
    length = int.from_bytes(state[GENERATOR - 4 : GENERATOR], "little")
    memory = state[GENERATOR + length : -8]
    rows: list[tuple[int, int, int]] = []
    offset = 0

    def add(numbers: _Numbers) -> None:
        nonlocal offset
        for low, high, count in numbers:
            rows.extend((offset + 4 * k, low, high) for k in range(count))
            offset += 4 * count

    def value(place: int) -> int:
        return int.from_bytes(memory[place : place + 4], "little", signed=True)

    def add_name(expected: str) -> str:
        """Add the words of a name and its length, which may overlap."""
        nonlocal offset
        size = value(offset)
        name = memory[offset + 4 : offset + 4 + size].decode("ascii", "replace")
        if not name.startswith(expected):
            raise ValueError(f"a saved game has {name!r} where {expected!r} is expected")
        for place in {*range(offset, offset + size, 4), offset + size}:
            rows.append((place, value(place), value(place)))
        offset += 4 + size
        return name

    for name, numbers in _PARTS:
        add_name(name)
        add(numbers)
    kind = add_name("Cartridge")
    if kind not in _CARTRIDGES:
        raise ValueError(f"a saved game has an unknown {kind}")
    add(_CARTRIDGES[kind])
    # The game's own numbers, and finally whether a generator of sticky actions follows.
    while offset < len(memory) - 4:
        is_flag = value(offset) in (_TRUE, _FALSE)
        add(((_TRUE, _FALSE, 1),) if is_flag else ((-_LARGE, _LARGE, 1),))
    add(((_FALSE, _FALSE, 1),))
    if offset != len(memory):
        raise ValueError("a saved game has an unexpected length")
    return np.array(rows, np.int32)


def frame_position(memory: Buffer) -> int:
    """Return how many clocks of the display of an unfinished frame are drawn, given the memory.

    When a frame ends, its lines become those of the last frame, which are counted besides the
    current ones. The result is then COMPLETE or CUT_OFF.
    """
    (length,) = struct.unpack_from("<i", memory, GENERATOR - _MEMORY - 4)
    clocks = struct.unpack_from("<7i", memory, GENERATOR - _MEMORY + length + _CLOCKS)
    _, display_begin, display_end, now, _, lines, last_lines = clocks
    if lines != last_lines:
        return int(now - display_begin)
    return COMPLETE if now == display_end else CUT_OFF


@functools.lru_cache(16)
def _is_twister(text: bytes) -> bool:
    """Return whether a text is an MT19937: its 624 words, and how many of them are used."""
    if not _TWISTER.fullmatch(text):
        return False
    *words, used = map(int, text.split())
    return max(words) < 2**32 and used <= 624


class GameMemory:
    """What states of one game in one mode may contain.

    Attributes:
        known_position: Position of the state from which this object was made.
    """

    def __init__(self, state: bytes) -> None:
        """Read a serialized state of the game, without the generator of sticky actions.

        Raises:
            ValueError: If the state is not laid out as expected.
        """
        fields = memory_fields(state)
        self._offsets = fields[:, :1] + np.arange(4)
        self._minimums, self._maximums = fields[:, 1], fields[:, 2]
        self._end = GENERATOR + int.from_bytes(state[GENERATOR - 4 : GENERATOR], "little")
        self._state = state
        position = self.position(state)
        if position is None:
            raise ValueError("a saved game has unexpected numbers")
        self.known_position = position

    def position(self, state: bytes) -> int | None:
        """Return the `frame_position` of a state; None if no emulator can have it in this game.

        COMPLETE is the only position where every emulator can continue.

        Args:
            state: A state without the generator of sticky actions; bytes that may come from
                anywhere.
        """
        known, known_end = self._state, self._end
        if len(state) < GENERATOR:
            return None
        *paddles, frames, episode_frames, mode, difficulty, size = struct.unpack_from("<7i", state)
        cycles, length = struct.unpack_from("<2i", state, GENERATOR - 8)
        end = GENERATOR + length
        low, high = struct.unpack("<2i", state[-8:])
        if (
            not _is_twister(state[GENERATOR : max(end, 0)])
            or len(state) - end != len(known) - known_end
            or size != len(state) - _MEMORY - 8
            or state[_MEMORY : _SYSTEM + 10] != known[_MEMORY : _SYSTEM + 10]
            or state[-8:] != known[-8:]
            or struct.pack("<2i", mode, difficulty) != known[16:24]
            or not all(low <= paddle <= high for paddle in paddles)
            or not all(0 <= count <= _MAX_FRAMES for count in (frames, episode_frames))
            or not 0 <= cycles <= _MAX_CYCLES
        ):
            return None
        numbers = np.frombuffer(state, np.uint8, offset=end)[self._offsets].view(np.int32)[:, 0]
        # Where the minimum exceeds the maximum, as for _TRUE and _FALSE, only these two values fit.
        is_inside = (self._minimums < numbers) & (numbers < self._maximums)
        if not (is_inside | (numbers == self._minimums) | (numbers == self._maximums)).all():
            return None
        # The display begins and ends as many clocks after the frame as in the known state. It is
        # drawn up to a clock in it.
        begin, *display, now = struct.unpack_from("<4i", state, end + _CLOCKS)
        known_begin, *known_display = struct.unpack_from("<3i", known, known_end + _CLOCKS)
        if [clock - begin for clock in display] != [clock - known_begin for clock in known_display]:
            return None
        if not display[0] <= now <= display[1]:
            return None
        return frame_position(memoryview(state)[_MEMORY:])

    def position_of_all(self, state: bytes) -> int | None:
        """Return the position of a state with the generator of sticky actions; see `position`."""
        length = int.from_bytes(state[GENERATOR - 4 : GENERATOR], "little", signed=True)
        flag = len(self._state) - self._end + GENERATOR + length - 12  # where it is
        text = state[flag + 8 : -8]
        if flag < 0 or state[flag : flag + 8] != struct.pack("<2i", _TRUE, len(text)):
            return None
        size = int.from_bytes(state[_MEMORY - 4 : _MEMORY], "little", signed=True)
        if size != len(state) - _MEMORY - 8 or not _is_twister(text):
            return None
        size_without = struct.pack("<i", flag + 4 - _MEMORY)
        without = state[: _MEMORY - 4] + size_without + state[_MEMORY:flag]
        return self.position(without + struct.pack("<i", _FALSE) + state[-8:])
