"""The bars of the Box2D environments: a single environment, and batches."""

from __future__ import annotations

from typing import NamedTuple

from bars import Bar, Group, Measured, at_most, name, ratio

LANES = 64


class Limits(NamedTuple):
    """The bars of a compiled environment, as multiples of the speed of others.

    Attributes:
        single: Relative to steps and resets of `gymnasium.make`.
        sync: Relative to 64 environments in Gymnasium's `SyncVectorEnv`, with all threads.
        envpool: Relative to EnvPool with as many threads; its environments are not identical.
        microseconds: Maximum time of a lane's step beyond Box2D's own step.
    """

    single: float
    sync: float
    envpool: float
    microseconds: float


COMPILED = {
    "LunarLander-v3": Limits(3.0, 6.0, 1.0, 2.0),
    "BipedalWalker-v3": Limits(4.0, 8.0, 1.15, 8.0),
}
RACING, RACING_SINGLE, RACING_SYNC, RACING_LANES = "CarRacing-v3", 1.5, 4.0, 16


def box2d_bars(threads: int) -> list[Bar]:
    """Return the bars for a machine with this many usable threads."""
    racing = name("gymcore-make", 1, RACING), [name("gymnasium-make", 1, RACING)]
    bars = [ratio(f"make({RACING}).step / Gymnasium", *racing, RACING_SINGLE)]
    racing = (
        name("gymcore", RACING_LANES, RACING, threads),
        [name("gymnasium-sync", RACING_LANES, RACING)],
    )
    bars.append(ratio(f"{RACING} n={RACING_LANES} / SyncVectorEnv", *racing, RACING_SYNC))
    for env_id, limits in COMPILED.items():
        ours = {count: name("gymcore", LANES, env_id, count) for count in (1, threads)}
        others = [name("gymnasium-sync", LANES, env_id)]
        episodes = [name(f"{library}-episodes", 1, env_id) for library in ("gymcore", "gymnasium")]
        bars += [
            ratio(
                f"make({env_id}), steps and resets / Gymnasium",
                episodes[0],
                episodes[1:],
                limits.single,
            ),
            ratio(f"{env_id} n={LANES} / SyncVectorEnv", ours[threads], others, limits.sync),
        ]
        for count, contender in ours.items():
            pool = [name("envpool", LANES, env_id, count)]
            title = f"{env_id} n={LANES}, {count} threads / EnvPool sync"
            bars.append(ratio(title, contender, pool, limits.envpool))

        def beyond(measured: Measured, env_id: str = env_id) -> float:
            return measured.step(name("beyond-box2d", LANES, env_id))

        title = f"{env_id}: a lane's step beyond b2World.Step"
        bars.append(at_most(title, limits.microseconds, "us", 1e6, beyond))
    return bars


def box2d_groups(threads: int) -> list[Group]:
    """Return the measurements needed for the bars."""
    members = [("gymcore-make", RACING, 1, 1), ("gymnasium-make", RACING, 1, 1)]
    groups = [Group(f"{RACING}-make", tuple(members))]
    members = [
        ("gymcore", RACING, RACING_LANES, threads),
        ("gymnasium-sync", RACING, RACING_LANES, 1),
    ]
    groups.append(Group(RACING, tuple(members)))
    for env_id in COMPILED:
        members = [("gymcore-episodes", env_id, 1, 1), ("gymnasium-episodes", env_id, 1, 1)]
        groups.append(Group(f"{env_id}-episodes", tuple(members)))
        members = [("gymnasium-sync", env_id, LANES, 1), ("beyond-box2d", env_id, LANES, 1)]
        for each in dict.fromkeys((1, threads)):
            members += [("gymcore", env_id, LANES, each), ("envpool", env_id, LANES, each)]
        groups.append(Group(env_id, tuple(members)))
    return groups
