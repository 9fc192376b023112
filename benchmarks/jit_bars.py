"""The bars of users' own environments: gymcore.jit and ArrayVectorEnv."""

from __future__ import annotations

from bars import CARTPOLE, Bar, Group, at_most, name, ratio

LARGE, SMALL, SNAKES, ARRAYS = 4096, 64, 1024, 1024


def jit_bars(threads: int) -> list[Bar]:
    """Return the bars; steps use one thread."""
    jit, built_in = name("gymcore-jit", LARGE), name("gymcore", LARGE)
    small = name("gymcore-jit", SMALL)
    snake = name("gymcore-jit-snake", SNAKES)
    return [
        ratio("CartPole as jit.Env n=4096 / built-in kernel", jit, [built_in], 0.4),
        ratio("CartPole as jit.Env n=4096 / EnvPool", jit, [name("envpool", LARGE)], 60),
        ratio("CartPole as jit.Env n=64 / built-in kernel", small, [name("gymcore", SMALL)], 0.5),
        ratio(
            "Snake n=1024 / the same Python under SyncVectorEnv",
            snake, [name("gymcore-sync-snake", SNAKES)], 200,
        ),
        at_most("Snake n=1024, ns a step of a lane", 100, "ns", 1e9,
                lambda measured: measured.step(snake)),
        ratio(
            "ArrayVectorEnv over NumPy CartPole n=1024 / Gymnasium's CartPoleVectorEnv",
            name("gymcore-arrays", ARRAYS), [name("gymnasium-arrays", ARRAYS)], 1.5,
        ),
        at_most("jit.Env first use, not cached", 4000, "ms", 1e3,
                lambda measured: measured.step(name("gymcore-jit-compile", 1))),
        at_most("jit.Env first use, cached", 500, "ms", 1e3,
                lambda measured: measured.step(name("gymcore-jit-load", 1))),
    ]  # fmt: skip


def jit_groups(threads: int) -> list[Group]:
    """Return the measurements needed for the bars."""

    def group(title: str, num_envs: int, *keys: str) -> Group:
        return Group(title, tuple((key, CARTPOLE, num_envs, 1) for key in keys))

    return [
        group("jit", LARGE, "gymcore-jit", "gymcore", "envpool"),
        group("jit-small", SMALL, "gymcore-jit", "gymcore"),
        group("jit-snake", SNAKES, "gymcore-jit-snake", "gymcore-sync-snake"),
        group("jit-arrays", ARRAYS, "gymcore-arrays", "gymnasium-arrays"),
        group("jit-first", 1, "gymcore-jit-compile", "gymcore-jit-load"),
    ]
