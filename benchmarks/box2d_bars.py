"""The bars of the Box2D environments: one of them, and batches that use all processors."""

from __future__ import annotations

from bars import Bar, Group, name, pools, ratio

#: The id, the bar of one environment against Gymnasium's, and of 64 against its `SyncVectorEnv`.
IDS: tuple[tuple[str, float, float | None], ...] = (
    ("LunarLander-v3", 1.6, 3.0),
    ("BipedalWalker-v3", 1.6, 3.5),
    ("CarRacing-v3", 1.5, None),
)
LANES = 64
# EnvPool's Box2D environments are C++ throughout, and not equal to Gymnasium's to the bit: how far
# they are is shown, and must not become a multiple.
LEAST_OF_ENVPOOL = 0.4


def box2d_bars(threads: int) -> list[Bar]:
    """Return the bars, for a machine with so many usable threads."""
    found = []
    for env_id, single, batch in IDS:
        one, other = name("gymcore-make", 1, env_id), name("gymnasium-make", 1, env_id)
        found.append(ratio(f"make({env_id}).step / Gymnasium", one, [other], single))
        if batch is None:
            continue
        own = name("gymcore", LANES, env_id)
        others = [name("gymnasium-sync", LANES, env_id)]
        found += [
            ratio(f"{env_id} n={LANES} / SyncVectorEnv", own, others, batch),
            ratio(
                f"{env_id} n={LANES} / EnvPool sync",
                own,
                pools(LANES, threads, env_id),
                LEAST_OF_ENVPOOL,
            ),
        ]
    return found


def box2d_groups(threads: int) -> list[Group]:
    """Return what has to be measured for them."""
    found = []
    for env_id, _, batch in IDS:
        members = [("gymcore-make", env_id, 1, 1), ("gymnasium-make", env_id, 1, 1)]
        found.append(Group(f"{env_id}-make", tuple(members)))
        if batch is None:
            continue
        members = [("gymcore", env_id, LANES, 1), ("gymnasium-sync", env_id, LANES, 1)]
        members += [("envpool", env_id, LANES, each) for each in dict.fromkeys((1, threads))]
        found.append(Group(env_id, tuple(members)))
    return found
