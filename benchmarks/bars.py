"""The performance bars of gymcore: measurements, the ratios computed from them, and targets.

A bar finds measurements by name (`key/id/num_envs/threads`). Ratios are computed in each round, and
the median is used: both sides of a round run within a second of each other.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gymcore.cli.formats import times

CARTPOLE = "CartPole-v1"
CURVE = (64, 256, 1024, 4096, 16384, 65536, 262144, 1_000_000)
MILLION = 1_000_000


class Measured:
    """Seconds per environment step of every measurement, in every round.

    Attributes:
        rounds: Name -> seconds per step, one entry per round.
        values: Name -> a number measured in another way (bytes, seconds).
        missing: Name -> reason why it was not measured.
    """

    def __init__(self) -> None:
        self.rounds: dict[str, list[float]] = {}
        self.values: dict[str, float] = {}
        self.missing: dict[str, str] = {}

    def step(self, name: str) -> float:
        """Return the median seconds per step; KeyError if it was not measured."""
        return statistics.median(self.rounds[name])

    def best(self) -> Measured:
        """Return a copy with only the fastest round of each measurement, as on an idle machine."""
        fastest = Measured()
        fastest.rounds = {name: [min(each)] for name, each in self.rounds.items()}
        fastest.values, fastest.missing = self.values, self.missing
        return fastest

    def faster(self, name: str, than: Iterable[str]) -> float:
        """Return the ratio of the rate of `name` to that of the fastest of the others.

        Raises:
            KeyError: If `name` or all of the others are missing.
        """
        others = [self.rounds[other] for other in than if other in self.rounds]
        if not others:
            raise KeyError(next(iter(than)))
        best_times = (min(each) for each in zip(*others, strict=True))
        return statistics.median(
            other / seconds for seconds, other in zip(self.rounds[name], best_times, strict=True)
        )


class Bar(NamedTuple):
    """One row of the table.

    Attributes:
        measure: Name of the quantity.
        target: The bar as text.
        value: Function that returns the number; raises KeyError with the name of a missing one.
        show: Function that formats the number.
        met: Function that returns whether a number meets the bar.
    """

    measure: str
    target: str
    value: Callable[[Measured], float]
    show: Callable[[float], str]
    met: Callable[[float], bool]


def name(key: str, num_envs: int, env_id: str = CARTPOLE, threads: int = 1) -> str:
    """Return the name of a measurement."""
    return f"{key}/{env_id}/{num_envs}/{threads}"


def parts(name: str) -> tuple[str, str, str, str]:
    """Split a measurement's name into key, id (possibly with a namespace), lanes and threads."""
    key, rest = name.split("/", 1)
    env_id, num_envs, threads = rest.rsplit("/", 2)
    return key, env_id, num_envs, threads


def pools(num_envs: int, threads: int, env_id: str = CARTPOLE) -> list[str]:
    """Return the names of EnvPool's measurements: with one thread, and with all threads."""
    return [name("envpool", num_envs, env_id, each) for each in dict.fromkeys((1, threads))]


def ratio(measure: str, key: str, others: list[str], minimum: float) -> Bar:
    """Return a bar for the ratio of the speed of `key` to that of the fastest of the others."""
    return Bar(
        measure,
        f">= {minimum:g}x",
        lambda measured: measured.faster(key, others),
        times,
        lambda number: number >= minimum,
    )


def at_most(
    measure: str,
    maximum: float,
    unit: str,
    scale: float,
    value: Callable[[Measured], float],
) -> Bar:
    """Return a bar for an absolute number; `scale` converts it to the unit of the table."""
    return Bar(
        measure,
        f"<= {maximum:g} {unit}".rstrip(),
        lambda measured: value(measured) * scale,
        lambda number: f"{number:.3g} {unit}".rstrip(),
        lambda number: number <= maximum,
    )


def after_minimum(measured: Measured) -> float:
    """Return how much the cost of a step increases after its minimum, as a ratio."""
    costs = [measured.step(name("gymcore", each)) for each in CURVE]
    lowest = costs.index(min(costs))
    return max(costs[lowest:]) / costs[lowest]


def before_minimum(measured: Measured) -> float:
    """Return the largest increase from one size to the next before the minimum, as a ratio."""
    costs = [measured.step(name("gymcore", each)) for each in CURVE]
    lowest = costs.index(min(costs))
    falling = costs[: lowest + 1]
    rises = (after / before for before, after in itertools.pairwise(falling))
    return max(rises, default=1.0)


def bars(threads: int) -> list[Bar]:
    """Return all bars for a machine with this many usable threads."""
    step_64, step_4096 = name("gymcore", 64), name("gymcore", 4096)
    all_on = name("gymcore-statistics", 4096)
    table = [
        ratio("CartPole n=64 / EnvPool sync", step_64, pools(64, threads), 60),
        ratio("CartPole n=64 / CartPoleVectorEnv", step_64, [name("gymnasium-vector", 64)], 20),
        ratio("CartPole n=64 / SyncVectorEnv", step_64, [name("gymnasium-sync", 64)], 200),
        ratio("CartPole n=64 / PufferLib native", step_64, [name("pufferlib", 64)], 2),
        *[
            ratio(
                f"vector.make n={n}{read} / make_vec, same step",
                name(f"gymcore-vector-make{read}", n),
                [name("gymcore-same-step", n)],
                bar,
            )
            for n in (64, 4096)
            for read, bar in (("", 0.85), ("-read", 0.5))
        ],
        at_most("CartPole n=64, a call", 1.5, "us", 64e6, lambda m: m.step(step_64)),
        ratio("CartPole n=4096 / EnvPool sync", step_4096, pools(4096, threads), 100),
        ratio(
            "CartPole n=4096 / CartPoleVectorEnv", step_4096, [name("gymnasium-vector", 4096)], 10
        ),
        ratio("CartPole n=4096 / PufferLib native", step_4096, [name("pufferlib", 4096)], 4),
        at_most("CartPole n=4096, statistics on, a step", 6, "ns", 1e9, lambda m: m.step(all_on)),
        ratio(
            "rollout n=4096 T=128 / raw physics loop",
            name("gymcore-rollout", 4096),
            [name("raw-physics", 4096)],
            0.55,
        ),
    ]
    for env_id, minimum in (
        ("Pendulum-v1", 50),
        ("MountainCar-v0", 50),
        ("MountainCarContinuous-v0", 50),
        ("Acrobot-v1", 30),
    ):
        default = name("gymcore-default", 1024, env_id)
        table.append(
            ratio(f"{env_id} n=1024 / EnvPool sync", default, pools(1024, threads, env_id), minimum)
        )
    single, other = name("gymcore-make", 1), name("gymnasium-make", 1)
    seeding = name("gymcore-seeding", MILLION)
    large = name("gymcore", 65536)
    table += [
        ratio("make(CartPole-v1).step / Gymnasium", single, [other], 4),
        Bar(
            "cost a step from n=64: rise before its minimum",
            "<= 1.1x",
            before_minimum,
            times,
            lambda number: number <= 1.1,
        ),
        Bar("cost a step to n=1,000,000: rise after it", "<= 2x", after_minimum, times,
            lambda number: number <= 2.0),
        at_most("memory a lane beside observations", 160, "bytes", 1, lambda m: m.values["memory"]),
        at_most("seeding 1,000,000 lanes", 1, "s", MILLION, lambda m: m.step(seeding)),
        at_most("import gymcore over import numpy", 60, "ms", 1e3, lambda m: m.values["import"]),
        at_most("optional packages imported", 0, "", 1, lambda m: m.values["optional"]),
        ratio("two threads / one, n=65536", name("gymcore", 65536, threads=2), [large], 1.7),
    ]  # fmt: skip
    return table


class Group(NamedTuple):
    """Measurements that are open together and interleaved.

    Attributes:
        title: Name for `--groups`.
        members: `(key, id, num_envs, threads)` of each measurement.
    """

    title: str
    members: tuple[tuple[str, str, int, int], ...]


def groups(threads: int) -> list[Group]:
    """Return the measurements needed on a machine with this many usable threads."""

    def group(title: str, env_id: str, num_envs: int, *keys: str, pool: bool = True) -> Group:
        members = [(key, env_id, num_envs, 1) for key in keys]
        if pool:
            members += [("envpool", env_id, num_envs, t) for t in dict.fromkeys((1, threads))]
        return Group(title, tuple(members))

    puffer = ("pufferlib", "pufferlib-128")
    native = (
        "gymcore", "gymcore-statistics", "gymcore-same-step", "gymcore-vector-make",
        "gymcore-vector-make-read", "gymcore-rollout", "raw-physics",
    )  # fmt: skip
    result = [
        group("cartpole-64", CARTPOLE, 64, *native, "gymnasium-vector", "gymnasium-sync", "sb3",
              *puffer),
        group("cartpole-4096", CARTPOLE, 4096, *native, "gymnasium-vector", *puffer),
    ]  # fmt: skip
    for env_id in ("Pendulum-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Acrobot-v1"):
        result.append(group(env_id, env_id, 1024, "gymcore-default", "gymcore"))
    result.append(group("make", CARTPOLE, 1, "gymcore-make", "gymnasium-make", pool=False))
    curve = [("gymcore", CARTPOLE, n, 1) for n in CURVE]
    curve.insert(CURVE.index(65536) + 1, ("gymcore", CARTPOLE, 65536, 2))
    result.append(Group("curve", tuple(curve)))
    result.append(group("seeding", CARTPOLE, MILLION, "gymcore-seeding", pool=False))
    return result
