"""From a description to the programs that `gymcore_ext.mujoco.simulations` runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.envs.mujoco import quantities as q
from gymcore.envs.mujoco.description import Description
from gymcore.error import InvalidArgument
from gymcore_ext.mujoco.simulations import FIRST_ARRAYS, OPERATION, PHASES

# Spaces of operands, as in gymcore_ext/mujoco/program.pxd.
REGISTERS, CONSTANTS, ACTION, ROW, FIRST_ARRAY = range(5)

# (space, offset, stride)
Place = tuple[int, int, int]
NOWHERE: Place = (REGISTERS, 0, 0)

# Phases in which something else than the arrays of the simulation may be looked at.
_WITH_ACTION = ("before", "after")


class Program:
    """A compiled description: the arguments of `Simulations` that follow from it.

    Args:
        description: the environment.
        parameters: defaults of its parameters.
        nu: numbers that the actuators want.
        nq: positions.
        nv: velocities.

    Raises:
        InvalidArgument: quantities of the wrong length, or used where they mean nothing.
    """

    def __init__(
        self, description: Description, parameters: dict[str, float], nq: int, nv: int, nu: int
    ) -> None:
        self.parameters = parameters
        self.registers = len(parameters)
        self.constants: list[float] = []
        self.arrays: list[tuple[str, str]] = [("data", name) for name in FIRST_ARRAYS]
        self._operations: dict[str, list[Any]] = {phase: [] for phase in PHASES}
        self._places: dict[tuple[str, int], Place] = {}
        self._kept: list[q.Quantity] = []  # ids stay theirs

        self.action_size = nu if description.action_size is None else description.action_size
        if self.action_size < 1:
            raise InvalidArgument("action_size: expected at least 1, got a model without actuators")
        observation = q.joined(*description.observation)
        self.observation_size = observation.size
        self._write("observe", observation, (ROW, 0, 1))
        self._begin(description, nq, nv)
        self.infos = self._inform(description)
        self.reward_register = self._scalar("reward", description.reward)
        ends = 0.0 if description.terminated is None else description.terminated
        self.terminated_register = self._scalar("terminated", ends)
        control = (
            q.Action(nu) if description.control is None else q.as_quantity(description.control)
        )
        if description.control is None and self.action_size != nu:
            raise InvalidArgument(
                f"action_size: expected {nu}, as many as actuators, or a control, "
                f"got {self.action_size}"
            )
        self._write("before", _sized("control", control, nu), (FIRST_ARRAY + 2, 0, 1))
        self._places.clear()
        self._kept.clear()

    @property
    def programs(self) -> dict[str, npt.NDArray[Any]]:
        """The operations of each phase."""
        return {phase: np.array(done, OPERATION) for phase, done in self._operations.items()}

    def _begin(self, description: Description, nq: int, nv: int) -> None:
        for draw in description.draws:
            self._place("start", draw)
        for k, (name, size) in enumerate((("qpos", nq), ("qvel", nv))):
            start = _sized(name, q.as_quantity(getattr(description, name)), size)
            self._write("start", start, (FIRST_ARRAY + k, 0, 1))

    def _inform(self, description: Description) -> tuple[tuple[Any, ...], ...]:
        """Reserve registers for infos and write them; their fields."""
        if unknown := description.reset_infos.keys() - description.infos.keys():
            raise InvalidArgument(
                f"reset_infos: expected names of infos ({sorted(description.infos)}), "
                f"got {sorted(unknown)}"
            )
        entries = {name: q.as_quantity(value) for name, value in description.infos.items()}
        self.info_register = at = self._reserve(sum(entry.size for entry in entries.values()))
        fields = []
        for name, entry in entries.items():
            self._write("after", entry, (REGISTERS, at, 1))
            begins = name in description.reset_infos
            if begins:
                first = _sized(name, q.as_quantity(description.reset_infos[name]), entry.size)
                self._write("begun", first, (REGISTERS, at, 1))
            kind = np.int64 if name in description.integer_infos else np.float64
            fields.append((name, kind, entry.size, not begins))
            at += entry.size
        return tuple(fields)

    def _scalar(self, name: str, value: q.Operand) -> int:
        """A register that holds one number after a step."""
        register = self._reserve(1)
        self._write("after", _sized(name, q.as_quantity(value), 1), (REGISTERS, register, 1))
        return register

    def _reserve(self, count: int) -> int:
        self.registers += count
        return self.registers - count

    # --- placing quantities ----------------------------------------------------------------------

    def _emit(
        self, phase: str, code: int, count: int, out: Place, *operands: Place, width: int = 0
    ) -> None:
        places = [*operands, *[NOWHERE] * (3 - len(operands))]
        self._operations[phase].append((code, count, width, out, *places))

    def _write(self, phase: str, quantity: q.Quantity, out: Place) -> None:
        """Compute a quantity into a place."""
        space, at, _ = out
        if isinstance(quantity, q.Joined):
            for part in quantity.parts:
                self._write(phase, part, (space, at, 1))
                at += part.size
        elif quantity.size and self._is_simple(phase, quantity):
            self._compute(phase, quantity, out)
        elif quantity.size:
            place = self._place(phase, quantity)
            self._emit(phase, q.COPY, quantity.size, out, place)

    def _is_simple(self, phase: str, quantity: q.Quantity) -> bool:
        """Whether it can be computed right where it is wanted."""
        return type(quantity) is q.Computed and (phase, id(quantity)) not in self._places

    def _place(self, phase: str, quantity: q.Quantity) -> Place:
        """Where the quantity is found in a phase, once the operations so far have run."""
        key = (phase, id(quantity))
        if key not in self._places:
            self._kept.append(quantity)
            self._places[key] = self._find(phase, quantity)
        space, at, stride = self._places[key]
        return space, at, (0 if quantity.size == 1 else stride)

    def _find(self, phase: str, quantity: q.Quantity) -> Place:
        if isinstance(quantity, q.Array):
            array = (quantity.owner, quantity.name)
            if array not in self.arrays:
                self.arrays.append(array)
            return FIRST_ARRAY + self.arrays.index(array), 0, 1
        if isinstance(quantity, q.Constant):
            self.constants += quantity.values.tolist()
            return CONSTANTS, len(self.constants) - quantity.size, 1
        if isinstance(quantity, q.Parameter):
            if quantity.name not in self.parameters:
                raise InvalidArgument(
                    f"parameter: expected one of {sorted(self.parameters)}, got {quantity.name!r}"
                )
            return REGISTERS, list(self.parameters).index(quantity.name), 0
        if isinstance(quantity, q.Selection):
            space, at, stride = self._place(phase, quantity.whole)
            stride = 1 if quantity.whole.size == 1 else stride
            return space, at + quantity.start * stride, stride * quantity.step
        if isinstance(quantity, q.Action):
            if phase not in _WITH_ACTION:
                raise InvalidArgument(
                    "action: expected in rewards, ends, infos and controls of steps only (what was "
                    "done last is data.ctrl)"
                )
            _sized("action", quantity, self.action_size)
            return ACTION, 0, 1
        if isinstance(quantity, q.Before):
            return self._remember(phase, quantity)
        at = self._reserve(quantity.size)
        if isinstance(quantity, q.Joined):
            self._write(phase, quantity, (REGISTERS, at, 1))
        else:
            self._compute(phase, quantity, (REGISTERS, at, 1))
        return REGISTERS, at, 1

    def _remember(self, phase: str, quantity: q.Before) -> Place:
        """Keep a quantity from before the step."""
        if phase != "after":
            raise InvalidArgument("before(): expected in rewards, ends and infos of steps only")
        at = self._reserve(quantity.size)
        self._write("before", quantity.quantity, (REGISTERS, at, 1))
        return REGISTERS, at, 1

    def _compute(self, phase: str, quantity: q.Quantity, out: Place) -> None:
        assert isinstance(quantity, q.Computed)
        if isinstance(quantity, q.Draw):
            self._draw(phase, quantity, out)
            return
        operands = [self._place(phase, one) for one in quantity.operands]
        count = quantity.size
        if quantity.code in (q.SUM, q.EVERY, q.WEIGHTED_ROWS):
            count = quantity.operands[0].size
        if quantity.code == q.WEIGHTED_ROWS and operands[1][2] > 1:
            # Rows are read one element after another, also those of a slice with a step.
            rows = quantity.operands[1]
            at = self._reserve(rows.size)
            self._emit(phase, q.COPY, rows.size, (REGISTERS, at, 1), operands[1])
            operands[1] = (REGISTERS, at, 1)
        self._emit(phase, quantity.code, count, out, *operands, width=quantity.width)

    def _draw(self, phase: str, draw: q.Draw, out: Place) -> None:
        if phase != "start":
            raise InvalidArgument("draws: expected at the beginning of an episode only")
        operands = [self._place(phase, one) for one in draw.operands]
        first = len(self._operations[phase])
        self._emit(phase, draw.code, draw.size, out, *operands)
        if draw.condition is not None:
            self._places[phase, id(draw)] = out
            holds = self._place(phase, _sized("until", draw.condition, 1))
            self._emit(phase, q.REPEAT_UNLESS, 1, NOWHERE, holds, width=first)


def _sized(name: str, quantity: q.Quantity, size: int) -> q.Quantity:
    """The quantity, if it has this length."""
    if quantity.size != size:
        raise InvalidArgument(f"{name}: expected a quantity of length {size}, got {quantity.size}")
    return quantity


def sources_of(arrays: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Names of the arrays of the data that programs look at."""
    return tuple(name for owner, name in arrays if owner == "data")
