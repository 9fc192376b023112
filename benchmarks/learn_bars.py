"""The bars of collecting rollouts; `learning.py` measures those of training."""

from __future__ import annotations

from bars import CARTPOLE, Bar, Group, at_most, name, ratio

LANES = 64
KEYS = ("gymcore-collector", "gymcore-collector-same-step")
PLAIN = ("gymcore", "gymcore-same-step")


def learn_bars(threads: int) -> list[Bar]:
    """Return the bars; the number of threads does not matter."""
    collecting = [
        ratio(f"{key[8:]} n=64, idle policy / step", name(key, LANES), [name(plain, LANES)], 0.85)
        for key, plain in zip(KEYS, PLAIN, strict=True)
    ]
    advantages = name("gymcore-advantages", LANES)
    return [
        *collecting,
        at_most("advantages T=128 n=64", 30, "us", 1e6, lambda measured: measured.step(advantages)),
    ]


def learn_groups(threads: int) -> list[Group]:
    """Return the measurements needed; the number of threads does not matter."""

    def group(title: str, *keys: str) -> Group:
        return Group(title, tuple((key, CARTPOLE, LANES, 1) for key in keys))

    return [group("collector", *KEYS, *PLAIN), group("advantages", "gymcore-advantages")]
