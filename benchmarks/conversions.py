"""Which Gymnasium classes convert to `gymcore.jit`, and how fast they are then.

Converts Gymnasium's own classes, that of the documentation, and classes of packages from PyPI that
nobody wrote for this project, as they are or with the few changed lines that the report of their
obstacles proposes. Times are processor times, and "hand" is the rate relative to that of the same
physics written by hand with the same bits (hand_written.py). Packages that are not installed are
left out:

    pip install --no-deps safety-gridworlds-gymnasium stokasta or-gym-inventory or-gymnasium \
        popgym gym-simplegrid tornadocliff-env kaist-or-gym gym-lqr gym-sailing gym-anytrading \
        kraken-crossing gymnasium-snake-game
    pip install pandas
    python benchmarks/conversions.py [part of a name ...]
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

LANES = 1024
ROOT = Path(__file__).resolve().parents[1]


class Subject(NamedTuple):
    """A class that is converted.

    Attributes:
        name: The class, "module:name", or an id such as "gymnasium:CartPole-v1".
        kind: What it is about.
        arguments: A function that returns the arguments of its constructor.
        changes: Lines that are changed first: text and replacement.
        tolerance: Largest relative difference, if the C library's bits are not NumPy's.
    """

    name: str
    kind: str
    arguments: Callable[[], dict[str, Any]] = dict
    changes: tuple[tuple[str, str], ...] = ()
    tolerance: float = 0.0


def _stocks() -> dict[str, Any]:
    datasets = importlib.import_module("gym_anytrading.datasets")
    return {"df": datasets.STOCKS_GOOGL, "window_size": 10, "frame_bound": (10, 300)}


GYMNASIUM = [
    *(Subject(f"gymnasium:{name}", "classic control") for name in (
        "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1")),
    *(Subject(f"gymnasium:{name}", "table") for name in (
        "FrozenLake-v1", "CliffWalking-v1", "Taxi-v4")),
    Subject("gymnasium:Blackjack-v1", "cards"),
]  # fmt: skip
DOCUMENTATION = [Subject("documentation:Docking", "control")]
PYPI = [
    Subject("safety_gridworlds_gymnasium.environments:IslandNavigationEnv", "grid world"),
    Subject("safety_gridworlds_gymnasium.environments:SokobanGridWorldEnv", "grid world"),
    Subject(
        "gym_simplegrid.envs.simple_grid:SimpleGridEnv",
        "grid world",
        lambda: {"obstacle_map": ["0001", "0100", "0000", "1000"]},
    ),
    Subject(
        "tornado_cliff_env.tornadocliffenv:CliffWalkingWithTornadosEnv",
        "grid world",
    ),
    Subject("kaist_or_gym.envs.windy_gridworld:WindyGridworld", "grid world"),
    Subject(
        "kraken_crossing.envs.kraken_crossing:KrakenCrossingEnv",
        "grid world",
        changes=(
            ('            "heading_name": Action(self.heading).name,\n', ""),
            ('            "event": self._last_event,\n', ""),
        ),
    ),
    Subject("kaist_or_gym.envs.pendulum:DiscretePendulumEnv", "control"),
    Subject("popgym.envs.position_only_cartpole:PositionOnlyCartPole", "control"),
    Subject("popgym.envs.noisy_position_only_pendulum:NoisyPositionOnlyPendulum", "control"),
    Subject("gym_lqr.envs.lqr:LQR", "control", lambda: {"env_id": "AC1"}),
    Subject("gym_sailing.envs.motorboat_env:MotorboatEnv", "control"),
    Subject(
        "gym_anytrading.envs.stocks_env:StocksEnv",
        "trading",
        _stocks,
        changes=(("        self._update_history(info)\n", ""),),
    ),
    Subject("stokasta.envs.dynamic_inventory:DynamicInventoryEnv", "inventory"),
    Subject(
        "or_gym_inventory.newsvendor:NewsvendorEnv",
        "inventory",
        changes=(
            (
                "self.max_inventory - current_pipeline_inventory)",
                "float(self.max_inventory - current_pipeline_inventory))",
            ),
            ("min(inv_on_hand, demand)", "min(float(inv_on_hand), demand)"),
            (
                "- holding_cost - lost_sales_penalty",
                "- float(holding_cost) - float(lost_sales_penalty)",
            ),
        ),
    ),
    Subject(
        "or_gymnasium.envs.newsvendor:NewsvendorEnv",
        "inventory",
        changes=(("min(inv_on_hand, demand)", "min(float(inv_on_hand), demand)"),),
    ),
    Subject("popgym.envs.multiarmed_bandit:MultiarmedBandit", "bandit"),
    Subject(
        "popgym.envs.higher_lower:HigherLower",
        "cards",
        changes=(('return obs, {"card": viz}', "return obs, {}"),),
    ),
    Subject("popgym.envs.minesweeper:MineSweeper", "board game"),
    Subject("popgym.envs.battleship:Battleship", "board game"),
    Subject("gymnasium_snake_game.environment.snake_env:SnakeEnv", "arcade game"),
]


class Row(NamedTuple):
    """The result for a class."""

    result: str
    convert_s: float = np.nan
    saved_s: float = np.nan
    compiled: float = np.nan
    python: float = np.nan
    by_hand: float = np.nan


def class_of(subject: Subject, folder: Path) -> tuple[type, dict[str, Any]]:
    """Return the class, with its changed lines, and the arguments of its constructor."""
    from gymcore.jit.conversion.source import find_class

    module_name, _, name = subject.name.partition(":")
    if module_name == "gymnasium":
        return find_class(subject.name)
    if module_name == "documentation":
        text = (ROOT / "docs/own_environments.md").read_text()
        blocks = re.findall(r"```python\n(.*?)```", text, re.S)
        source = next(block for block in blocks if f"class {name}(gym.Env)" in block)
        source = source.partition("\n\ngym.register(")[0]
        module = _imported(source, "documentation", "", folder)
    else:
        module = importlib.import_module(module_name)
        if subject.changes:
            module = _changed(subject, getattr(module, name), folder)
    return getattr(module, name), subject.arguments()


def _changed(subject: Subject, cls: type, folder: Path) -> Any:
    """Return the module of a class after changes to it and to the modules of its bases."""
    names = [base.__module__ for base in reversed(cls.__mro__)]
    for name in dict.fromkeys(
        n for n in names if n.partition(".")[0] == names[-1].partition(".")[0]
    ):
        module = sys.modules[name]
        source = Path(str(module.__file__)).read_text()
        for old, new in subject.changes:
            source = source.replace(old, new)
        module = _imported(source, name, module.__package__ or "", folder)
    return module


def _imported(source: str, name: str, package: str, folder: Path) -> Any:
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__package__ = package
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def rates(batches: list[Any], rounds: int = 3) -> list[float]:
    """Return the steps of lanes in a second of processor time, with random actions.

    Each result is the best of several turns, in which one batch follows the other.
    """
    actions, best = [], [0.0] * len(batches)
    for envs in batches:
        envs.reset(seed=0)
        envs.action_space.seed(0)
        actions.append([envs.action_space.sample() for _ in range(8)])
        envs.step(actions[-1][0])
    for _ in range(rounds):
        for k, envs in enumerate(batches):
            count, start = 0, time.process_time()
            while (spent := time.process_time() - start) < 0.25 or count == 0:
                envs.step(actions[k][count % 8])
                count += 1
            best[k] = max(best[k], count * envs.num_envs / spent)
    return best


def measure(subject: Subject, folder: Path) -> Row:
    """Convert a class, prove it, and measure it."""
    from hand_written import HAND_WRITTEN

    import gymcore as gym
    from gymcore.jit import convert
    from gymcore.jit.conversion import saved
    from gymcore.jit.conversion.proof import prove

    with contextlib.redirect_stdout(io.StringIO()):
        cls, arguments = class_of(subject, folder)
        start = time.process_time()
        try:
            converted = convert(cls, tolerance=subject.tolerance, **arguments)
        except gym.error.ConversionError as problem:
            lines = [str(line) for line in problem.obstacles] or [str(problem)]
            return Row("\n    ".join([f"{len(lines)} obstacles", *lines]))
        envs = converted.vector_class(LANES, num_threads=1)
        spent = time.process_time() - start
        saved._classes.clear()
        start = time.process_time()
        convert(cls, tolerance=subject.tolerance, **arguments).vector_class(LANES, num_threads=1)
        loaded = time.process_time() - start
        other = HAND_WRITTEN.get(subject.name.removeprefix("gymnasium:"))
        batches = [envs]
        if other is not None:
            limits: dict[str, Any] = {"steps": 200, "policy": None, "tolerance": 0.0}
            prove(cls(**arguments), other(), seeds=range(3), **limits)
            batches.append(other.vector_class(LANES, num_threads=1))
        compiled, by_hand, *_ = [*rates(batches), np.nan]
        python = rates([gym.vector.SyncVectorEnv([lambda: cls(**arguments)] * LANES)])[0]
    result = f"{len(subject.changes)} changed lines" if subject.changes else "unchanged"
    return Row(result, spent, loaded, compiled, python, by_hand)


def rows(names: list[str]) -> Iterator[tuple[str, Subject, Row]]:
    """Yield the results of the classes whose names contain one of these, or of all."""
    groups = {"Gymnasium": GYMNASIUM, "documentation": DOCUMENTATION, "PyPI": PYPI}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GYMCORE_CACHE_DIR"] = f"{folder}/cache"
        for group, subjects in groups.items():
            for subject in subjects:
                if names and not any(name in subject.name for name in names):
                    continue
                try:
                    yield group, subject, measure(subject, Path(folder))
                except ModuleNotFoundError as problem:
                    yield group, subject, Row(f"not installed: {problem.name}")
                except Exception as problem:
                    title = f"{type(problem).__name__}: {problem}".partition("\n")[0]
                    yield group, subject, Row(f"failed: {title}")


def main(names: list[str]) -> None:
    """Print a table, and the medians."""
    warnings.simplefilter("ignore")
    done: list[tuple[str, Row]] = []
    titles = f"{'convert':>8} {'saved':>7} {'lanes':>9} {'Sync':>9} {'ratio':>6} {'hand':>5}"
    print(f"{'class':38} {titles}  result")
    for group, subject, row in rows(names):
        done.append((group, row))
        numbers = (
            f"{row.convert_s:6.1f} s {row.saved_s:5.2f} s {row.compiled / 1e6:7.1f} M "
            f"{row.python / 1e3:7.1f} k {row.compiled / row.python:6.0f} "
            f"{row.compiled / row.by_hand:5.2f}"
        )
        print(f"{subject.name.partition(':')[2]:38} {numbers}  {row.result}", flush=True)
    for group in dict.fromkeys(group for group, _ in done):
        converted = [row for g, row in done if g == group and row.compiled > 0]
        asked = [row for g, row in done if g == group and "not installed" not in row.result]
        unchanged = sum(row.result == "unchanged" for row in converted)
        ratios = [row.compiled / row.python for row in converted] or [np.nan]
        by_hand = [row.compiled / row.by_hand for row in converted if row.by_hand > 0] or [np.nan]
        print(
            f"{group}: {unchanged} of {len(asked)} unchanged, {len(converted) - unchanged} with "
            f"changed lines; median ratio {np.median(ratios):.0f}, by hand {np.median(by_hand):.2f}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
