"""The bars of the DeepMind control suite: MuJoCo alone in C, and EnvPool."""

from __future__ import annotations

from bars import Bar, Group, name, ratio
from mujoco_bars import raw_loop_bar

import gymcore

#: All tasks.
TASKS = sorted(env_id for env_id in gymcore.registry if env_id.startswith("dm_control/"))
#: A task of each domain: the others have the same physics.
DOMAINS = tuple({env_id.split("-")[0]: env_id for env_id in TASKS}.values())
_LANES = 64


def envpool_id(env_id: str) -> str:
    """Return EnvPool's id of a task, such as "BallInCupCatch-v1"."""
    words = env_id.removeprefix("dm_control/").removesuffix("-v0").replace("-", "_").split("_")
    return "".join(word[0].upper() + word[1:] for word in words) + "-v1"


def dm_control_bars(threads: int) -> list[Bar]:
    """Return the bars for a machine with this many usable threads."""
    bars = [raw_loop_bar(env_id, threads) for env_id in DOMAINS]
    for env_id in TASKS:
        ours = name("gymcore", _LANES, env_id, threads)
        pool = [name("envpool", _LANES, envpool_id(env_id), threads)]
        bars.append(
            ratio(f"{env_id} n={_LANES} / EnvPool sync, {threads} threads", ours, pool, 1.15)
        )
    return bars


def dm_control_groups(threads: int) -> list[Group]:
    """Return the measurements needed for the bars."""
    return [
        Group(
            env_id,
            (
                ("gymcore", env_id, _LANES, threads),
                ("envpool", envpool_id(env_id), _LANES, threads),
            ),
        )
        for env_id in TASKS
    ]
