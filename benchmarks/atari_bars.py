"""The bars of the Atari environments: one game with the usual preprocessing."""

from __future__ import annotations

from bars import Bar, Group, name, ratio

IDS = ("ALE/Pong-v5", "ALE/Breakout-v5")

#: The processes of the contenders, which `peers.py` distinguishes by library.
LIBRARIES = {"gymcore-atari": "gymcore", "gymnasium-atari": "gymnasium"}


def atari_bars(threads: int) -> list[Bar]:
    """Return the bars, for a machine with this many usable threads."""
    bars = []
    for env_id in IDS:
        ours, other = (name(key, 1, env_id) for key in ("gymcore-atari", "gymnasium-atari"))
        bars.append(ratio(f"AtariPreprocessing({env_id}).step / Gymnasium", ours, [other], 1.3))
    return bars


def atari_groups(threads: int) -> list[Group]:
    """Return the measurements needed for them."""
    groups = []
    for env_id in IDS:
        members = [(key, env_id, 1, 1) for key in ("gymcore-atari", "gymnasium-atari")]
        groups.append(Group(f"{env_id.removeprefix('ALE/')}-single", tuple(members)))
    return groups
