"""The bars of the grid worlds: EnvPool and minigrid, pixels, single environments, growth."""

from __future__ import annotations

from bars import Bar, Group, at_most, name, pools, ratio

#: Ids, which all three libraries have, and the ratios to the rates of EnvPool and minigrid.
IDS = (
    ("MiniGrid-Empty-8x8-v0", 25, 400),
    ("MiniGrid-DoorKey-8x8-v0", 25, 400),
    ("MiniGrid-FourRooms-v0", 25, 400),
    ("MiniGrid-MultiRoom-N6-v0", 25, 400),
    ("BabyAI-GoToLocal-v0", 20, 300),
    ("BabyAI-BossLevel-v0", 20, 300),
)


def minigrid_bars(threads: int) -> list[Bar]:
    """Return the bars for a machine with this many usable threads."""
    bars = []
    for env_id, pool, sync in IDS:
        ours, large = (name("gymcore", n, env_id, threads) for n in (64, 4096))
        original = [name("gymnasium-sync", 8, env_id)]
        bars += [
            ratio(f"{env_id} n=64 / EnvPool sync", ours, pools(64, threads, env_id), pool),
            ratio(f"{env_id} n=64 / minigrid, SyncVectorEnv", ours, original, sync),
            at_most(
                *(f"{env_id} n=4096 / n=64, a step", 1.2, "x", 1),
                lambda m, ours=ours, large=large: m.step(large) / m.step(ours),
            ),
            ratio(
                f"make({env_id}).step / minigrid",
                name("gymcore-make", 1, env_id),
                [name("gymnasium-make", 1, env_id)],
                8,
            ),
        ]
    pixels = name("gymcore-pixels", 64, IDS[0][0], threads), name("minigrid-pixels", 8, IDS[0][0])
    bars.append(ratio(f"{IDS[0][0]}, 56 x 56 pixels / minigrid", pixels[0], [pixels[1]], 20))
    return bars


def minigrid_groups(threads: int) -> list[Group]:
    """Return the measurements needed for the bars."""
    groups = []
    for env_id, _, _ in IDS:
        members = [("gymcore", env_id, n, threads) for n in (64, 4096)]
        members += [("gymnasium-sync", env_id, 8, 1)]
        members += [("envpool", env_id, 64, each) for each in dict.fromkeys((1, threads))]
        members += [("gymcore-make", env_id, 1, 1), ("gymnasium-make", env_id, 1, 1)]
        if env_id == IDS[0][0]:
            members += [("gymcore-pixels", env_id, 64, threads), ("minigrid-pixels", env_id, 8, 1)]
        groups.append(Group(env_id, tuple(members)))
    return groups
