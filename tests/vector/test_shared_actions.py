"""Kernels that index by actions read a checked copy, whatever holds the actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gymcore import error
from gymcore_ext.engine.batch import Batch
from tests.ext.test_struct_lanes import FUNCTIONS, Counters, batch_of

Floats = np.ndarray


class Subclass(np.ndarray):
    """An array of another class."""


class Interface:
    """An object with NumPy's array interface."""

    def __init__(self, numbers: Floats) -> None:
        self.numbers = numbers
        self.__array_interface__ = numbers.__array_interface__


def tensor(numbers: Floats) -> Any:
    return pytest.importorskip("torch").from_numpy(numbers)


HOLDERS = {
    "array": lambda numbers: numbers,
    "subclass": lambda numbers: numbers.view(Subclass),
    "memoryview": memoryview,
    "interface": lambda numbers: Interface(numbers),
    "tensor": tensor,
}


def tampering(numbers: Floats) -> tuple[Counters, Batch, list[float]]:
    """Return a batch of two lanes, of which each writes to the caller's memory in its step."""
    seen: list[float] = []

    def step(lane: Any, shared: Any, parameters: Any, action: Any, *_: Any) -> int:
        seen.append(action[0])
        numbers[...] = 1e9
        return 0

    counters = Counters()
    counters.callbacks["step"] = counters.table.step = FUNCTIONS["step"](step)
    return counters, batch_of(counters.store(2)), seen


def outputs(*lead: int) -> tuple[Any, ...]:
    flags = np.zeros((2, *lead), bool)
    return np.zeros((*lead, 1)), np.zeros(lead), flags[0], flags[1]


WAYS = {
    "step": lambda batch, actions: batch.step(actions),
    "step_lanes": lambda batch, actions: batch.step_subset(actions, np.array([0, 1])),
    "bind_step": lambda batch, actions: batch.bind_step(actions, *outputs(2))(),
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("way", [*WAYS, "rollout", "kept"])
def test_lanes_do_not_see_what_is_written_during_a_step(holder: str, way: str) -> None:
    numbers = np.array([[1.0], [2.0]])
    if way == "rollout":
        numbers = numbers[None].copy()
    counters, batch, seen = tampering(numbers)
    actions = HOLDERS[holder](numbers)
    if way == "rollout":
        batch.rollout(actions, *outputs(1, 2))
    elif way == "kept":  # by `send`, until `recv`
        kept = batch.checked_actions(actions, 2)
        numbers[...] = 7.0
        batch.step_subset(kept, np.array([0, 1]))
    else:
        WAYS[way](batch, actions)
    assert seen == [1.0, 2.0] and counters.callbacks


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_bound_step_reads_the_actions_at_every_call(holder: str) -> None:
    numbers = np.array([[1.0], [2.0]])
    batch = batch_of(Counters().store(2))
    observations, rewards, *flags = outputs(2)
    bound = batch.bind_step(HOLDERS[holder](numbers), observations, rewards, *flags)
    bound()
    first = rewards.tolist()
    numbers[:] = [[5.0], [np.nan]]
    with pytest.raises(error.InvalidAction, match=r"actions\[1, 0\] = nan"):
        bound()
    numbers[1] = 2.0
    bound()
    assert rewards.tolist() != first
