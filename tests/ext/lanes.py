"""Stepping given states through a kernel, without environments around it."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import gymcore
from gymcore import error
from gymcore.envs.toy_text.tabular import Transitions
from gymcore_ext.engine.batch import Batch
from gymcore_ext.engine.kernels import kernel_spec

Floats = npt.NDArray[np.float64]

# Kernels of continuous physics.
KERNELS = ("cartpole", "mountain_car", "mountain_car_continuous", "pendulum", "acrobot")
# Kernels of tables and cards; the part after a colon names the argument they are made with.
TOY_TEXT = ("tabular:lake", "tabular:cliff", "tabular:any", "taxi", "taxi:fickle", "blackjack")
PARAMETERS = {"taxi:fickle": {"fickle_passenger": 1.0}}


class Stepped(NamedTuple):
    """States [num_envs, size], and the results of a step."""

    states: Floats
    observations: npt.NDArray[np.float32]
    rewards: Floats
    terminated: npt.NDArray[np.bool_]


def _kernel(name: str) -> Any:
    return import_module(f"gymcore_ext.physics.{name.partition(':')[0]}").kernel


def any_table() -> Transitions:
    """Return random transitions: up to five outcomes, different probabilities for all actions."""
    random = np.random.default_rng(11)

    def outcomes() -> list[tuple[float, int, float, bool]]:
        chances = random.dirichlet(np.ones(random.integers(1, 6))).tolist()
        return [
            (chance, int(random.integers(40)), float(random.normal()), bool(random.random() < 0.1))
            for chance in chances
        ]

    P = {s: {a: outcomes() for a in range(3)} for s in range(40)}
    return Transitions(P, random.dirichlet(np.ones(40)))


@cache
def tables(name: str) -> dict[str, Any]:
    """Return further arguments that a batch of the kernel needs."""
    if name == "tabular:any":
        table = any_table()
        return {"shared": table.capsule, "choices": table.num_actions}
    makers = {
        "tabular:lake": lambda: gymcore.make("FrozenLake-v1"),
        "tabular:cliff": lambda: gymcore.make("CliffWalking-v1"),
        "taxi": lambda: gymcore.make("Taxi-v4"),
        "taxi:fickle": lambda: gymcore.make("Taxi-v4", is_rainy=True, fickle_passenger=True),
    }
    options: dict[str, Any] = makers[name]().unwrapped.batch_options() if name in makers else {}  # type: ignore[no-untyped-call]
    return options


def make_batch(name: str, num_envs: int, **options: Any) -> Batch:
    batch = Batch(_kernel(name), num_envs, errors=error, **tables(name), **options)
    if name in PARAMETERS:
        batch.set_parameters(np.array([list(facts(name)["parameters"].values())]).T.copy())
    return batch


def facts(name: str) -> dict[str, Any]:
    found = kernel_spec(_kernel(name))
    return {**found, "parameters": {**found["parameters"], **PARAMETERS.get(name, {})}}


def step_states(
    name: str,
    states: npt.ArrayLike,
    actions: npt.ArrayLike,
    parameters: Floats | None = None,
    **options: Any,
) -> Stepped:
    """Step a new batch whose lanes have the states [num_envs, size] once.

    Args:
        name: Kernel name.
        states: float64 [num_envs, up to state_size]; columns that are left out are zeros.
        actions: [num_envs], or [num_envs, size] for continuous ones.
        parameters: [parameter_count, 1 or num_envs]; None for the defaults.
        **options: Options of the batch.
    """
    rows = np.asarray(states, np.float64)
    batch = make_batch(name, len(rows), **options)
    if parameters is not None:
        batch.set_parameters(np.ascontiguousarray(parameters))
    batch.view_state()[: rows.shape[1]] = rows.T
    batch.view_state()[rows.shape[1] :] = 0.0
    batch.mark_ready()
    observations, rewards, terminated, _, _ = batch.step(np.asarray(actions))
    return Stepped(batch.view_state().T.copy(), observations, rewards, terminated)


def random_actions(name: str, random: np.random.Generator, *shape: int) -> npt.NDArray[Any]:
    """Return actions [*shape] or [*shape, size]; continuous ones sometimes leave their bounds."""
    found = facts(name)
    if found["discrete_actions"]:
        choices = tables(name).get("choices", found["discrete_actions"])
        return random.integers(0, choices, shape)
    bound = {"pendulum": 2.6, "mountain_car_continuous": 1.3}[name]
    return random.uniform(-bound, bound, (*shape, found["action_size"])).astype(np.float32)
