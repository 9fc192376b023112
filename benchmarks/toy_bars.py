"""The bars of the toy text environments: EnvPool and Gymnasium, and the cost of a step."""

from __future__ import annotations

from bars import Bar, Group, at_most, name, pools, ratio

#: gymcore's id, EnvPool's, Gymnasium's, and the maximum ns per step with 4096 lanes.
IDS = (
    ("FrozenLake-v1", "FrozenLake-v1", "FrozenLake-v1", 8),
    ("CliffWalking-v1", "CliffWalking-v0", "CliffWalking-v1", 8),
    ("Taxi-v4", "Taxi-v3", "Taxi-v4", 8),
    ("Blackjack-v1", "Blackjack-v1", "Blackjack-v1", 15),
)


def toy_bars(threads: int) -> list[Bar]:
    """Return the bars for a machine with this many usable threads."""
    bars = []
    for env_id, pool_id, other_id, maximum in IDS:
        ours, large = name("gymcore", 64, env_id), name("gymcore-default", 4096, env_id)
        others = [name("gymnasium-sync", 64, other_id)]
        bars += [
            ratio(f"{env_id} n=64 / EnvPool sync", ours, pools(64, threads, pool_id), 40),
            ratio(f"{env_id} n=64 / SyncVectorEnv", ours, others, 150),
            at_most(
                f"{env_id} n=4096, a step", maximum, "ns", 1e9, lambda m, large=large: m.step(large)
            ),
        ]
    return bars


def toy_groups(threads: int) -> list[Group]:
    """Return the measurements needed for the bars."""
    groups = []
    for env_id, pool_id, other_id, _ in IDS:
        members = [("gymcore", env_id, 64, 1), ("gymnasium-sync", other_id, 64, 1)]
        members += [("envpool", pool_id, 64, each) for each in dict.fromkeys((1, threads))]
        members += [(key, env_id, 4096, 1) for key in ("gymcore-default", "gymcore")]
        groups.append(Group(env_id, tuple(members)))
    return groups
