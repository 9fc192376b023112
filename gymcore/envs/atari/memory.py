"""What a serialized state of ALE has: where its numbers are, and their ranges."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

# Where a serialized state has the text of the emulator's random generator.
GENERATOR = 82

# What the serialized memory of an emulator has after the text of its generator: the names of its
# parts, and for each part the least and the greatest value of so many numbers, all int32.
_Numbers = tuple[tuple[int, int, int], ...]
_TRUE, _FALSE = 0xFAB1FAB2 - 2**32, 0xBAD1BAD2 - 2**32
_LEAST, _GREATEST = -(2**31), 2**31 - 1
_LARGE = 2**28  # of rewards and scores: sums and differences of some do not overflow
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
            (_LEAST, _GREATEST, 2),
            (_TRUE, _FALSE, 1),
            (0, 255, 2),
        ),
    ),
    (
        "TIA",
        (
            (-227, 0, 1),  # clocks: of the frame, of its display, to the end of the line
            (_LEAST, _GREATEST, 3),
            (0, 228, 1),
            (_LEAST, _GREATEST, 3),
            (0, 255, 5),  # objects, synchronization, sizes
            (_LEAST, _GREATEST, 4),  # colours
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
            (_LEAST, _GREATEST, 1),
            (_TRUE, _FALSE, 2),
            (0, 3, 1),
            (_TRUE, _FALSE, 1),
            (_LEAST, _GREATEST, 1),
        ),
    ),
    ("TIASound", ((0, 255, 6), (_LEAST, _GREATEST, 1))),
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
        (_LEAST, _GREATEST, 1),
        (-(10**8), 10**8, 1),
    ),
}


def memory_fields(state: bytes) -> npt.NDArray[np.int32]:
    """Return what the memory of an emulator may contain, int32 [numbers, 3].

    Each number has its offset from the end of the generator's text, its least value and its
    greatest one; if the least is the greater one of both, it is one of these two.

    Args:
        state: A serialized state of the game.

    Raises:
        ValueError: It is not laid out as expected.
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
    # The game's own numbers, and at last whether a generator of sticky actions follows.
    while offset < len(memory) - 4:
        is_flag = value(offset) in (_TRUE, _FALSE)
        add(((_TRUE, _FALSE, 1),) if is_flag else ((-_LARGE, _LARGE, 1),))
    add(((_FALSE, _FALSE, 1),))
    if offset != len(memory):
        raise ValueError("a saved game has an unexpected length")
    return np.array(rows, np.int32)
