"""The bars of the wrappers, measured by `wrapper_measures.py`; see `bars.py`.

A wrapper is measured by its additional time: the time of the wrapped environment minus that of the
same environment without it, round by round.
"""

from __future__ import annotations

import statistics

from bars import CARTPOLE, Bar, Group, Measured, at_most, name, ratio

from gymcore.cli.formats import times

#: Contenders that run outside gymcore's process.
LIBRARIES = {
    "gymnasium-plain": "gymnasium",
    "gymnasium-statistics-wrappers": "gymnasium",
    "gymnasium-frames-plain": "gymnasium",
    "gymnasium-frames-stacked": "gymnasium",
    "gymnasium-step-plain": "gymnasium",
    "gymnasium-step-checked": "gymnasium",
}
#: Contenders whose calls make no environment steps.
NO_STEPS = {"frames-memcpy"}
LANES = 64


def added(measured: Measured, key: str, plain: str, env_id: str, num_envs: int) -> list[float]:
    """Return the additional time of wrappers.

    Args:
        measured: The measurements.
        key: The environment with wrappers.
        plain: The same environment without wrappers.
        env_id: Id of both.
        num_envs: Number of lanes of both.

    Returns:
        Seconds per call for each round; at least a tenth of a nanosecond.
    """
    with_them = measured.rounds[name(key, num_envs, env_id)]
    without = measured.rounds[name(plain, num_envs, env_id)]
    pairs = zip(with_them, without, strict=True)
    return [max((slow - fast) * num_envs, 1e-10) for slow, fast in pairs]


def statistics_added(measured: Measured, library: str) -> list[float]:
    """Return the additional time of the three statistics wrappers per call of 64 CartPoles [s]."""
    key, plain = f"{library}-statistics-wrappers", f"{library}-plain"
    return added(measured, key, plain, CARTPOLE, LANES)


def frames_added(measured: Measured, library: str) -> list[float]:
    """Return the additional time of stacking per call of 64 lanes [s]."""
    key, plain = f"{library}-frames-stacked", f"{library}-frames-plain"
    return added(measured, key, plain, "Frames", LANES)


def step_added(measured: Measured) -> float:
    """Return the additional time of the three wrappers of `make` per step [s]."""
    return statistics.median(
        added(measured, "gymcore-step-checked", "gymcore-step-plain", "Nothing", 1)
    )


def bridge_added(measured: Measured) -> float:
    """Return the additional time of `to_gymnasium` per call of 64 CartPoles [s]."""
    return statistics.median(added(measured, "gymcore-bridged", "gymcore-plain", CARTPOLE, LANES))


def over(ours: list[float], theirs: list[float]) -> float:
    """Return the median of `theirs / ours`."""
    return statistics.median(b / a for a, b in zip(ours, theirs, strict=True))


def statistics_ratio(measured: Measured) -> float:
    """Return the ratio of Gymnasium's additional time to gymcore's."""
    return over(statistics_added(measured, "gymcore"), statistics_added(measured, "gymnasium"))


def frames_ratio(measured: Measured) -> float:
    """Return the ratio of the additional time of Gymnasium's single wrapper to gymcore's."""
    return over(frames_added(measured, "gymcore"), frames_added(measured, "gymnasium"))


def memcpy_ratio(measured: Measured) -> float:
    """Return the ratio of the rate of stacking to that of one copy of its output."""
    copies = [each * LANES for each in measured.rounds[name("frames-memcpy", LANES, "Frames")]]
    return over(frames_added(measured, "gymcore"), copies)


def wrapper_bars() -> list[Bar]:
    """Return all bars of the wrappers."""

    def at_least(measure: str, minimum: float, value: object) -> Bar:
        assert callable(value)
        return Bar(measure, f">= {minimum:g}x", value, times, lambda number: number >= minimum)

    return [
        at_most("NormalizeObservation + NormalizeReward + RecordEpisodeStatistics, CartPole n=64, "
                "added a call", 6, "us", 1e6,
                lambda measured: statistics.median(statistics_added(measured, "gymcore"))),
        at_least("the same, Gymnasium's addition / gymcore's", 10, statistics_ratio),
        at_least("FrameStack 4 of (84, 84) uint8 n=64 / one memcpy of its output", 0.6,
                 memcpy_ratio),
        at_least("the same, addition of Gymnasium's single wrapper under sync / gymcore's", 8,
                 frames_ratio),
        at_most("to_gymnasium, CartPole n=64, added a call", 0.5, "us", 1e6, bridge_added),
        ratio("CartPole n=64 with episode_statistics, copy=False / copies",
              name("gymcore-counting-view", LANES),
              [name("gymcore-counting", LANES)], 0.9),
        at_most("TimeLimit + OrderEnforcing + PassiveEnvChecker, added a step", 0.4, "us", 1e6,
                step_added),
    ]  # fmt: skip


def wrapper_groups() -> list[Group]:
    """Return the measurements needed for the bars."""

    def group(title: str, env_id: str, num_envs: int, *keys: str) -> Group:
        return Group(title, tuple((key, env_id, num_envs, 1) for key in keys))

    return [
        group("wrapper-statistics", CARTPOLE, LANES, "gymcore-plain", "gymcore-statistics-wrappers",
              "gymnasium-plain", "gymnasium-statistics-wrappers"),
        group("bridge", CARTPOLE, LANES, "gymcore-plain", "gymcore-bridged"),
        group("counting", CARTPOLE, LANES, "gymcore-counting", "gymcore-counting-view"),
        group("wrapper-frames", "Frames", LANES, "gymcore-frames-plain", "gymcore-frames-stacked",
              "frames-memcpy", "gymnasium-frames-plain", "gymnasium-frames-stacked"),
        group("wrapper-make", "Nothing", 1, "gymcore-step-plain", "gymcore-step-checked",
              "gymnasium-step-plain", "gymnasium-step-checked"),
    ]  # fmt: skip
