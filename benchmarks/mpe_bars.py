"""The bars of MPE: a world's step, and its ratio to that of mpe2."""

from __future__ import annotations

from bars import Bar, Group, at_most, name, ratio

_SPREAD = "mpe/simple_spread_v3"
_WORLDS = 1024


def mpe_bars(threads: int) -> list[Bar]:
    """Return the bars; one thread steps the worlds."""
    ours = name("gymcore", _WORLDS, _SPREAD)
    return [
        ratio(f"{_SPREAD} n={_WORLDS} / mpe2", ours, [name("mpe2", 1, _SPREAD)], 900),
        at_most(f"{_SPREAD} n={_WORLDS}, a world", 333, "ns", 1e9, lambda m: m.step(ours)),
    ]


def mpe_groups(threads: int) -> list[Group]:
    """Return the measurements needed for the bars."""
    return [Group(_SPREAD, (("gymcore", _SPREAD, _WORLDS, 1), ("mpe2", _SPREAD, 1, 1)))]
