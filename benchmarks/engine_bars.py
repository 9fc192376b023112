"""The bars of the engines for Python environments, measured by `engine_measures.py`.

The environments are those of `python_envs.py`. A name ends in one thread, as everywhere; each
asynchronous engine chooses the number of its worker processes, as part of the comparison.
"""

from __future__ import annotations

import statistics

from bars import Bar, Group, Measured, at_most, name, ratio

from gymcore.cli.formats import times

#: Contenders that run outside gymcore's process.
LIBRARIES = {
    "gymnasium-bare-loop": "gymnasium",
    "gymnasium-SyncVectorEnv": "gymnasium",
    "gymnasium-AsyncVectorEnv": "gymnasium",
    "gymnasium-AsyncVectorEnv-view": "gymnasium",
    "gymnasium-construction": "gymnasium",
    "gymnasium-batch_space": "gymnasium",
    "gymnasium-batch_space-unread": "gymnasium",
    "sb3-DummyVecEnv": "stable_baselines3",
    "sb3-SubprocVecEnv": "stable_baselines3",
}
#: Contenders whose calls make no environment steps.
NO_STEPS = {
    f"{library}-{what}"
    for library in ("gymcore", "gymnasium")
    for what in ("construction", "batch_space", "batch_space-unread")
} | {"raw-ping-pong"}
LANES = 64
IMAGE_LANES = 32
SPACE_LANES = 4096


def python(key: str, env_id: str, num_envs: int = LANES) -> str:
    """Return the name of a measurement with Python environments."""
    return name(key, num_envs, env_id)


def overheads(measured: Measured, library: str) -> list[float]:
    """Return the time of SyncVectorEnv beyond a bare loop over its environments.

    Args:
        measured: The measurements.
        library: "gymcore" or "gymnasium".

    Returns:
        Seconds per lane and step for each round; at least a tenth of a nanosecond.
    """
    engine = measured.rounds[python(f"{library}-SyncVectorEnv", "Nothing")]
    loop = measured.rounds[python(f"{library}-bare-loop", "Nothing")]
    return [max(total - bare, 1e-10) for total, bare in zip(engine, loop, strict=True)]


def overhead_ratio(measured: Measured) -> float:
    """Return the ratio of Gymnasium's overhead to gymcore's."""
    pairs = zip(overheads(measured, "gymcore"), overheads(measured, "gymnasium"), strict=True)
    return statistics.median(theirs / ours for ours, theirs in pairs)


def round_trip(measured: Measured) -> float:
    """Return the ratio of one worker's empty step to the bare ping-pong of two processes."""
    engine = measured.rounds[python("gymcore-round-trip", "Nothing", 1)]
    raw = measured.rounds[python("raw-ping-pong", "Nothing", 1)]
    return statistics.median(a / b for a, b in zip(engine, raw, strict=True))


def engine_bars(cores: int) -> list[Bar]:
    """Return all bars of the engines for a machine with this many usable processors."""

    def against(
        measure: str, key: str, other: str, minimum: float, env_id: str, num_envs: int = LANES
    ) -> Bar:
        ours, others = python(key, env_id, num_envs), [python(other, env_id, num_envs)]
        return ratio(measure, ours, others, minimum)

    plain, image, space = "PlainCartPole", ("Image", IMAGE_LANES), ("Dict", SPACE_LANES)
    return [
        at_most(
            "SyncVectorEnv n=64, overhead a lane-step", 0.2, "us", 1e6,
            lambda measured: statistics.median(overheads(measured, "gymcore")),
        ),
        Bar("SyncVectorEnv n=64, Gymnasium's overhead / gymcore's", ">= 4x", overhead_ratio, times,
            lambda number: number >= 4.0),
        against("Python CartPole n=64, sync / Gymnasium SyncVectorEnv",
                "gymcore-SyncVectorEnv", "gymnasium-SyncVectorEnv", 1.2, plain),
        against("Python CartPole n=64, sync / SB3 DummyVecEnv",
                "gymcore-SyncVectorEnv", "sb3-DummyVecEnv", 1.5, plain),
        against("Python CartPole n=64, async / Gymnasium AsyncVectorEnv",
                "gymcore-AsyncVectorEnv", "gymnasium-AsyncVectorEnv", 15, plain),
        against("Python CartPole n=64, async / SB3 SubprocVecEnv",
                "gymcore-AsyncVectorEnv", "sb3-SubprocVecEnv", 10, plain),
        against(f"200 us a step n=64, async / sync, {cores} cores",
                "gymcore-AsyncVectorEnv", "gymcore-SyncVectorEnv", round(0.92 * cores, 3), "Busy"),
        against("one lane in eight 20x slower, half batches / full",
                "gymcore-AsyncVectorEnv-half", "gymcore-AsyncVectorEnv", 2, "Uneven"),
        against("images n=32 / Gymnasium AsyncVectorEnv",
                "gymcore-AsyncVectorEnv", "gymnasium-AsyncVectorEnv", 5, *image),
        against("images n=32, copy=False / the same of Gymnasium",
                "gymcore-AsyncVectorEnv-view", "gymnasium-AsyncVectorEnv-view", 5, *image),
        at_most("empty step, one worker / futex ping-pong in C", 1.5, "x", 1, round_trip),
        against("batch_space of a Dict n=4096 / Gymnasium",
                "gymcore-batch_space-unread", "gymnasium-batch_space-unread", 10, *space),
        # Bounds are computed lazily, so reading them is measured as well.
        against("batch_space of a Dict n=4096, bounds read / Gymnasium",
                "gymcore-batch_space", "gymnasium-batch_space", 10, *space),
        against("AsyncVectorEnv(...) n=64 / Gymnasium",
                "gymcore-construction", "gymnasium-construction", 5, plain),
    ]  # fmt: skip


def engine_groups() -> list[Group]:
    """Return the measurements needed."""

    def group(title: str, env_id: str, num_envs: int, *keys: str) -> Group:
        return Group(title, tuple((key, env_id, num_envs, 1) for key in keys))

    return [
        group("engine-overhead", "Nothing", LANES, "gymcore-bare-loop", "gymcore-SyncVectorEnv",
              "gymnasium-bare-loop", "gymnasium-SyncVectorEnv"),
        group("engine-cartpole", "PlainCartPole", LANES, "gymcore-bare-loop",
              "gymcore-SyncVectorEnv", "gymnasium-SyncVectorEnv", "sb3-DummyVecEnv",
              "gymcore-AsyncVectorEnv", "gymnasium-AsyncVectorEnv", "sb3-SubprocVecEnv"),
        group("engine-busy", "Busy", LANES, "gymcore-SyncVectorEnv", "gymcore-AsyncVectorEnv",
              "gymnasium-AsyncVectorEnv"),
        group("engine-uneven", "Uneven", LANES, "gymcore-AsyncVectorEnv",
              "gymcore-AsyncVectorEnv-half"),
        group("engine-images", "Image", IMAGE_LANES, "gymcore-AsyncVectorEnv",
              "gymcore-AsyncVectorEnv-view", "gymnasium-AsyncVectorEnv",
              "gymnasium-AsyncVectorEnv-view"),
        group("engine-round-trip", "Nothing", 1, "gymcore-round-trip", "raw-ping-pong"),
        group("engine-batch-space", "Dict", SPACE_LANES, "gymcore-batch_space",
              "gymcore-batch_space-unread", "gymnasium-batch_space",
              "gymnasium-batch_space-unread"),
        group("engine-construction", "PlainCartPole", LANES, "gymcore-construction",
              "gymnasium-construction"),
    ]  # fmt: skip
