"""The bars of the MuJoCo environments: raw C, EnvPool and Gymnasium, single steps, memory."""

from __future__ import annotations

from bars import Bar, Group, at_most, name, ratio
from mujoco_ids import CHEAP, CLOCK_RUNNING, CLOCK_STOPPED, IDS, WALKING

from gymcore.cli.formats import times

#: The processes of both contenders, which `peers.py` identifies by library.
LIBRARIES = {key: f"gymcore ({key})" for key in (CLOCK_RUNNING, CLOCK_STOPPED)}
#: Number of lanes for which memory is measured.
MEMORY_LANES = 64
MEMORY = f"bytes/Humanoid-v5/{MEMORY_LANES}"
STEP_OVER_RAW = "step-over-raw/HalfCheetah-v5"
#: Environments that are compared with `mujoco.batch`.
RAW_BATCHES = ("HalfCheetah-v5", "Humanoid-v5")


def against_raw_name(env_id: str) -> str:
    """Return the name of the ratio of a batch to the raw loop."""
    return f"against-raw/{env_id}"


def against_batch_name(env_id: str) -> str:
    """Return the name of the ratio of a batch to `mujoco.batch`."""
    return f"against-mujoco-batch/{env_id}"


def raw_loop_bar(env_id: str, threads: int) -> Bar:
    """Return the bar of a batch of 64 lanes against a loop in C that only steps."""
    return Bar(
        f"{env_id} n=64 / raw C loop, {threads} threads",
        ">= 0.93x",
        lambda measured: measured.values[against_raw_name(env_id)],
        times,
        lambda number: number >= 0.93,
    )


def mujoco_bars(threads: int) -> list[Bar]:
    """Return the bars for a machine with this many usable threads."""
    bars = [raw_loop_bar(env_id, threads) for env_id in IDS]
    for env_id in RAW_BATCHES:
        bars.append(
            Bar(
                f"{env_id} n=64 / steps of mujoco.batch, {threads} threads",
                ">= 1x",
                lambda measured, env_id=env_id: measured.values[against_batch_name(env_id)],
                times,
                lambda number: number >= 1.0,
            )
        )
    for env_id in (*WALKING, *CHEAP):
        ours = name("gymcore", 64, env_id, threads)
        pool = [name("envpool", 64, env_id, threads)]
        minimum = 1.08 if env_id in WALKING else 1.15
        bars.append(ratio(f"{env_id} n=64 / EnvPool sync, {threads} threads", ours, pool, minimum))
    for env_id in WALKING:
        ours = name("gymcore", 64, env_id, threads)
        minimum = 2.6 if env_id == "HalfCheetah-v5" else 2.4
        others = [name("gymnasium-sync", 64, env_id)]
        bars.append(ratio(f"{env_id} n=64 / SyncVectorEnv", ours, others, minimum))
    for env_id in IDS:
        stopped, running = (
            name(key, 64, env_id, threads) for key in (CLOCK_STOPPED, CLOCK_RUNNING)
        )
        measure = f"{env_id} n=64 / the same with MuJoCo's profiler, {threads} threads"
        bars.append(ratio(measure, stopped, [running], 0.97))
    single, other = (name(key, 1, "HalfCheetah-v5") for key in ("gymcore-make", "gymnasium-make"))
    bars += [
        ratio("make(HalfCheetah-v5).step / Gymnasium", single, [other], 1.25),
        at_most(
            "make(HalfCheetah-v5).step over the raw loop",
            3,
            "us",
            1e6,
            lambda measured: measured.values[STEP_OVER_RAW],
        ),
        at_most("memory of a Humanoid-v5 lane", 1.5, "MB", 1e-6, lambda m: m.values[MEMORY]),
    ]
    return bars


def mujoco_groups(threads: int) -> list[Group]:
    """Return the measurements needed for the bars."""
    groups = []
    for env_id in IDS:
        if env_id not in (*WALKING, *CHEAP):
            continue
        members = [("gymcore", env_id, 64, threads), ("envpool", env_id, 64, threads)]
        if env_id in WALKING:
            members.append(("gymnasium-sync", env_id, 64, 1))
        groups.append(Group(f"mujoco-{env_id}", tuple(members)))
    single = [(key, "HalfCheetah-v5", 1, 1) for key in ("gymcore-make", "gymnasium-make")]
    groups.append(Group("mujoco-make", tuple(single)))
    clocks = [
        (key, env_id, 64, threads) for env_id in IDS for key in (CLOCK_RUNNING, CLOCK_STOPPED)
    ]
    groups.append(Group("mujoco-timers", tuple(clocks)))
    return groups


__all__ = [
    "IDS",
    "LIBRARIES",
    "MEMORY",
    "MEMORY_LANES",
    "RAW_BATCHES",
    "STEP_OVER_RAW",
    "against_batch_name",
    "against_raw_name",
    "mujoco_bars",
    "mujoco_groups",
    "raw_loop_bar",
]
