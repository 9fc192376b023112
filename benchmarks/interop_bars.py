"""The bars of other libraries' training programs with the native engine."""

from __future__ import annotations

from bars import CARTPOLE, Bar, Group, name, ratio
from interop_measures import GAME_PROCESSES

_GAMES = 64


def interop_bars(threads: int) -> list[Bar]:
    """Return the bars; the number of threads does not matter."""

    def against(measure: str, key: str, num_envs: int, minimum: float) -> Bar:
        ours, theirs = name(f"gymcore-{key}", num_envs), name(key, num_envs)
        return ratio(f"{measure} n={num_envs}", ours, [theirs], minimum)

    return [
        against("SB3 PPO, environments' time / DummyVecEnv", "sb3-ppo-envs", 8, 5),
        against("SB3 PPO, environments' time / DummyVecEnv", "sb3-ppo-envs", 64, 9),
        against("SB3 PPO, batch 2048, 4 epochs, wall / DummyVecEnv", "sb3-ppo", 64, 1.5),
        against("RLlib sampling, environments' time / SyncVectorEnv", "rllib-envs", 8, 5),
        *(
            ratio(
                f"{n} workers, {_GAMES} games of PettingZoo / SuperSuit's best",
                name(f"gymcore-games-{n}", _GAMES, "Game"),
                [name(f"supersuit-{k}", _GAMES, "Game") for k in GAME_PROCESSES],
                10,
            )
            for n in (1, 2)
        ),
    ]


def interop_groups(threads: int) -> list[Group]:
    """Return the measurements needed for the bars."""

    def group(title: str, num_envs: int, *keys: str) -> Group:
        both = [each for key in keys for each in (f"gymcore-{key}", key)]
        return Group(title, tuple((key, CARTPOLE, num_envs, 1) for key in both))

    return [
        group("sb3-8", 8, "sb3-ppo-envs"),
        group("sb3-64", 64, "sb3-ppo-envs", "sb3-ppo"),
        group("rllib", 8, "rllib-envs"),
        Group(
            "games",
            tuple(
                (key, "Game", _GAMES, 1)
                for key in (
                    *(f"gymcore-games-{n}" for n in (1, 2)),
                    *(f"supersuit-{n}" for n in GAME_PROCESSES),
                )
            ),
        ),
    ]
