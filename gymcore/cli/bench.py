"""`gymcore bench`: steps per second on this machine, compared with Gymnasium if installed.

`benchmarks/peers.py` in the repository compares more libraries, each in a separate process.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import statistics
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gymcore.cli.errors import CliError
from gymcore.cli.formats import duration, rate, table, times
from gymcore.cli.options import count, positive
from gymcore.cli.policies import RandomActions
from gymcore.utils.performance import rate_of
from gymcore.vector.vector_env import VectorEnv

HELP = "measure steps per second, and compare with Gymnasium if it is installed"

DEFAULT_IDS = (
    "CartPole-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Pendulum-v1",
    "Acrobot-v1",
)
_BATCHES = 64  # number of different action batches, so that steps do not repeat one


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gymcore bench`."""
    parser.add_argument(
        "ids", nargs="*", metavar="ID", help="environment ids [the five of classic control]"
    )
    parser.add_argument(
        "--num-envs", type=count, nargs="+", default=[64], metavar="N", help="numbers of lanes [64]"
    )
    parser.add_argument(
        "--repeats", type=count, default=5, metavar="R", help="rounds; the medians are shown [5]"
    )
    parser.add_argument(
        "--seconds", type=positive, default=0.1, metavar="S", help="duration of a measurement [0.1]"
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure and print a table for each id and number of lanes; return 0.

    Raises:
        CliError: If an id is unknown, or gymcore cannot run it.
    """
    import gymcore
    from gymcore.error import Error

    modules = ["gymcore", *(["gymnasium"] if importlib.util.find_spec("gymnasium") else [])]
    ids = arguments.ids or DEFAULT_IDS
    try:
        for env_id in ids:
            gymcore.spec(env_id)
    except (Error, ImportError) as error:
        raise CliError(str(error)) from error
    for env_id in ids:
        for num_envs in arguments.num_envs:
            rates = measure(modules, env_id, num_envs, arguments.repeats, arguments.seconds)
            gymcore_rate = rates["gymcore make_vec"]
            rows = [
                [label, rate(speed), duration(num_envs / speed), times(gymcore_rate / speed)]
                for label, speed in sorted(rates.items(), key=lambda pair: -pair[1])
            ]
            header = [f"{env_id}, {num_envs} lanes", "rate", "batch step", "gymcore speedup"]
            print(table(rows, header), end="\n\n", flush=True)
    return 0


def _step_all(step: Callable[[object], object], actions: npt.NDArray[np.generic]) -> int:
    for batch in actions:
        _result = step(batch)  # held while the next step runs, as a training loop would
    return len(actions)


def measure(
    modules: list[str], env_id: str, num_envs: int, repeats: int, seconds: float
) -> dict[str, float]:
    """Return the median steps per second of each library's `make_vec`, in interleaved rounds.

    A library that lacks the environment is left out; if gymcore lacks it, `CliError` is raised.
    """
    opened: dict[str, VectorEnv] = {}
    try:
        for name in modules:
            try:
                envs = importlib.import_module(name).make_vec(env_id, num_envs=num_envs)
            except Exception as error:
                if name == "gymcore":
                    raise CliError(f"{env_id}: {type(error).__name__}: {error}") from error
                continue
            envs.reset(seed=0)
            opened[f"{name} make_vec"] = envs
        actions = RandomActions(
            opened["gymcore make_vec"].single_action_space, num_envs, seed=0
        ).block(_BATCHES)
        rounds: dict[str, list[float]] = {label: [] for label in opened}
        for _ in range(repeats):
            for label, envs in opened.items():
                step_all = functools.partial(_step_all, envs.step)
                calls = rate_of(lambda: actions, step_all, seconds)
                rounds[label].append(num_envs * calls)
    finally:
        for envs in opened.values():
            envs.close()
    return {label: statistics.median(values) for label, values in rounds.items()}
