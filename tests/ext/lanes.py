"""Stepping given states through a kernel, without environments around it."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore_ext.batch import Batch
from gymcore_ext.lane_memory import kernel_facts

Floats = npt.NDArray[np.float64]

KERNELS = ("cartpole", "mountain_car", "mountain_car_continuous", "pendulum", "acrobot")


class Stepped(NamedTuple):
    """States [num_envs, size], and what a step reported of them."""

    states: Floats
    observations: npt.NDArray[np.float32]
    rewards: Floats
    terminated: npt.NDArray[np.bool_]


def make_batch(name: str, num_envs: int, **options: Any) -> Batch:
    kernel = import_module(f"gymcore_ext.physics.{name}").kernel
    return Batch(kernel, num_envs, errors=error, **options)


def facts(name: str) -> dict[str, Any]:
    return kernel_facts(import_module(f"gymcore_ext.physics.{name}").kernel)


def step_states(
    name: str,
    states: npt.ArrayLike,
    actions: npt.ArrayLike,
    parameters: Floats | None = None,
    **options: Any,
) -> Stepped:
    """One step of a new batch whose lanes have the states [num_envs, size].

    Args:
        name: the kernel.
        states: float64 [num_envs, state_size].
        actions: [num_envs], or [num_envs, size] for continuous ones.
        parameters: [parameter_count, 1 or num_envs]; None for the defaults.
        **options: of the batch.
    """
    rows = np.asarray(states, np.float64)
    batch = make_batch(name, len(rows), **options)
    if parameters is not None:
        batch.set_parameters(np.ascontiguousarray(parameters))
    batch.view_state()[:] = rows.T
    batch.mark_ready()
    observations, rewards, terminated, _, _ = batch.step(np.asarray(actions))
    return Stepped(batch.view_state().T.copy(), observations, rewards, terminated)


def random_actions(name: str, random: np.random.Generator, *shape: int) -> npt.NDArray[Any]:
    """Actions [*shape] or [*shape, size]; continuous ones leave their bounds now and then."""
    found = facts(name)
    if found["discrete_actions"]:
        return random.integers(0, found["discrete_actions"], shape)
    bound = {"pendulum": 2.6, "mountain_car_continuous": 1.3}[name]
    return random.uniform(-bound, bound, (*shape, found["action_size"])).astype(np.float32)
