"""The bar of RWARE: a world's step, compared with rware."""

from __future__ import annotations

from bars import Bar, Group, name, ratio

_ID = "rware-tiny-2ag-v2"
_WORLDS = 256


def rware_bars(threads: int) -> list[Bar]:
    """Return the bar; one thread steps the worlds."""
    ours = name("gymcore", _WORLDS, _ID)
    return [ratio(f"{_ID} n={_WORLDS} / rware", ours, [name("rware", 1, _ID)], 200)]


def rware_groups(threads: int) -> list[Group]:
    """Return the measurements needed for the bar."""
    return [Group(_ID, (("gymcore", _ID, _WORLDS, 1), ("rware", _ID, 1, 1)))]
