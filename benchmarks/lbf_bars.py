"""The bar of level-based foraging: a world's step, compared with lbforaging."""

from __future__ import annotations

from bars import Bar, Group, name, ratio

_ID = "Foraging-8x8-2p-3f-v3"
_WORLDS = 256


def lbf_bars(threads: int) -> list[Bar]:
    """Return the bar; one thread steps the worlds."""
    ours = name("gymcore", _WORLDS, _ID)
    return [ratio(f"{_ID} n={_WORLDS} / lbforaging", ours, [name("lbforaging", 1, _ID)], 250)]


def lbf_groups(threads: int) -> list[Group]:
    """Return the measurements needed for the bar."""
    return [Group(_ID, (("gymcore", _ID, _WORLDS, 1), ("lbforaging", _ID, 1, 1)))]
