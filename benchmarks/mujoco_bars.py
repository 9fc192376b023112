"""The bars of the MuJoCo environments: against raw C, EnvPool and Gymnasium, one step, memory."""

from __future__ import annotations

from bars import Bar, Group, at_most, name, ratio
from mujoco_ids import CHEAP, IDS, WALKING

#: Lanes for which memory is measured.
MEMORY_LANES = 64
MEMORY = f"bytes/Humanoid-v5/{MEMORY_LANES}"


def mujoco_bars(threads: int) -> list[Bar]:
    """Return the bars, for a machine with so many usable threads."""
    found = []
    for env_id in IDS:
        own = name("gymcore-endless", 64, env_id, threads)
        raw = [name("raw-mujoco", 64, env_id, threads)]
        found.append(ratio(f"{env_id} n=64 / raw C loop, {threads} threads", own, raw, 0.93))
    for env_id in (*WALKING, *CHEAP):
        own = name("gymcore", 64, env_id, threads)
        pool = [name("envpool", 64, env_id, threads)]
        least = 1.08 if env_id in WALKING else 1.15
        found.append(ratio(f"{env_id} n=64 / EnvPool sync, {threads} threads", own, pool, least))
    for env_id in WALKING:
        own = name("gymcore", 64, env_id, threads)
        least = 2.6 if env_id == "HalfCheetah-v5" else 2.4
        others = [name("gymnasium-sync", 64, env_id)]
        found.append(ratio(f"{env_id} n=64 / SyncVectorEnv", own, others, least))
    single, other, raw_single = (
        name(key, 1, "HalfCheetah-v5") for key in ("gymcore-make", "gymnasium-make", "raw-mujoco")
    )
    found += [
        ratio("make(HalfCheetah-v5).step / Gymnasium", single, [other], 1.25),
        at_most(
            "make(HalfCheetah-v5).step over the raw loop",
            3,
            "us",
            1e6,
            lambda m: m.step(single) - m.step(raw_single),
        ),
        at_most("memory of a Humanoid-v5 lane", 1.5, "MB", 1e-6, lambda m: m.values[MEMORY]),
    ]
    return found


def mujoco_groups(threads: int) -> list[Group]:
    """Return what has to be measured for them."""
    found = []
    for env_id in IDS:
        members = [
            ("gymcore-endless", env_id, 64, threads),
            ("raw-mujoco", env_id, 64, threads),
        ]
        if env_id in (*WALKING, *CHEAP):
            members += [("gymcore", env_id, 64, threads), ("envpool", env_id, 64, threads)]
        if env_id in WALKING:
            members.append(("gymnasium-sync", env_id, 64, 1))
        found.append(Group(f"mujoco-{env_id}", tuple(members)))
    single = [(key, "HalfCheetah-v5", 1, 1) for key in ("gymcore-make", "gymnasium-make")]
    found.append(Group("mujoco-make", (*single, ("raw-mujoco", "HalfCheetah-v5", 1, 1))))
    return found


__all__ = ["MEMORY", "MEMORY_LANES", "mujoco_bars", "mujoco_groups"]
