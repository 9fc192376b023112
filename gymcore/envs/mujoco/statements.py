"""Statements: what happens, one after the other, at the beginning of an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymcore.envs.mujoco.quantities import Draw, Operand, Quantity


@dataclass(frozen=True)
class Assign:
    """Writes a value to a part of an array of MuJoCo's data or model, or to a `Variable`.

    If a description assigns to the model, each lane has a model of its own. Numbers are rounded for
    float32 arrays of the model, such as `hfield_data`.

    Attributes:
        target: A whole array, or a selection of one, or a `Variable`.
        value: What is written, of the same length.
    """

    target: Quantity
    value: Operand


@dataclass(frozen=True)
class Repeat:
    """Repeats statements until a condition holds; they are executed at least once.

    A lane in which it never holds within 100,000 times fails.
    """

    statements: Sequence[object]
    until: Quantity


@dataclass(frozen=True)
class When:
    """Executes statements if a condition holds."""

    condition: Quantity
    statements: Sequence[object]


@dataclass(frozen=True)
class Forward:
    """Computes everything that follows from positions and velocities (`mj_forward`).

    Attributes:
        actuated: Whether actuators exert forces.
    """

    actuated: bool = True


@dataclass(frozen=True)
class Advance:
    """Makes simulation steps, as a step of the environment does."""

    count: int


@dataclass(frozen=True)
class Reset:
    """Resets MuJoCo's data (`mj_resetData`)."""


__all__ = ["Advance", "Assign", "Draw", "Forward", "Repeat", "Reset", "When"]
