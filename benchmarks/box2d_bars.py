"""The bars of the Box2D environments: one of them, and batches that use all processors."""

from __future__ import annotations

from bars import Bar, Group, name, pools, ratio

#: The id, the bar of one environment against Gymnasium's, of 64 against its `SyncVectorEnv`, and
#: of 64 against EnvPool, whose environments are not equal to Gymnasium's to the bit.
IDS: tuple[tuple[str, float, float | None, float | None], ...] = (
    ("LunarLander-v3", 3.0, 6.0, 1.0),
    ("BipedalWalker-v3", 4.0, 8.0, 1.15),
    ("CarRacing-v3", 1.5, None, None),
)
LANES = 64


def box2d_bars(threads: int) -> list[Bar]:
    """Return the bars, for a machine with this many usable threads."""
    bars = []
    for env_id, single, batch, of_envpool in IDS:
        single_env, other = name("gymcore-make", 1, env_id), name("gymnasium-make", 1, env_id)
        bars.append(ratio(f"make({env_id}).step / Gymnasium", single_env, [other], single))
        if batch is None or of_envpool is None:
            continue
        ours = name("gymcore", LANES, env_id)
        others = [name("gymnasium-sync", LANES, env_id)]
        bars += [
            ratio(f"{env_id} n={LANES} / SyncVectorEnv", ours, others, batch),
            ratio(
                f"{env_id} n={LANES} / EnvPool sync",
                ours,
                pools(LANES, threads, env_id),
                of_envpool,
            ),
        ]
    return bars


def box2d_groups(threads: int) -> list[Group]:
    """Return the measurements needed for them."""
    groups = []
    for env_id, _, batch, _ in IDS:
        members = [("gymcore-make", env_id, 1, 1), ("gymnasium-make", env_id, 1, 1)]
        groups.append(Group(f"{env_id}-make", tuple(members)))
        if batch is None:
            continue
        members = [("gymcore", env_id, LANES, 1), ("gymnasium-sync", env_id, LANES, 1)]
        members += [("envpool", env_id, LANES, each) for each in dict.fromkeys((1, threads))]
        groups.append(Group(env_id, tuple(members)))
    return groups
