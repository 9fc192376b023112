"""Compiles descriptions for `gymcore_ext.mujoco.simulations`, and evaluates single quantities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.envs.mujoco import quantities as q
from gymcore.envs.mujoco import statements as st
from gymcore.envs.mujoco.description import Description
from gymcore.envs.mujoco.quantities import Op, Precision
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore_ext.mujoco.simulations import CALLS, OPERATION, PHASES, run

# Spaces of operands, as in gymcore_ext/mujoco/program.pxd.
REGISTERS, CONSTANTS, PARAMETERS, INITIAL_STATE, ACTION, OBSERVATION, FIRST_ARRAY = range(7)

# (space, offset, stride)
Place = tuple[int, int, int]
NOWHERE: Place = (REGISTERS, 0, 0)

# Phases in which the action is known.
_WITH_ACTION = ("before", "after")

# Quantities whose places stay valid when the simulation changes: arrays, and registers that only
# their own statements write.
_LASTING = (q.Array, q.Constant, q.Parameter, q.InitialState, q.Draw, q.Variable)


class Compiler:
    """Compiles quantities into operations, and collects what these use.

    Args:
        parameters: The environment's parameters.
        action_size: Count of numbers in an action.
    """

    def __init__(self, parameters: dict[str, float], action_size: int) -> None:
        self.parameters = parameters
        self.action_size = action_size
        self.registers = 0
        self.fresh = -1
        self.constants: list[float] = []
        self.arrays: list[tuple[str, str]] = []
        self._operations: dict[str, list[tuple[Any, ...]]] = {phase: [] for phase in PHASES}
        self._places: dict[tuple[str, int], Place] = {}
        # The quantities of `_places`, which must stay alive so that their ids are unique.
        self._quantities: dict[tuple[str, int], q.Quantity] = {}

    @property
    def programs(self) -> dict[str, np.ndarray]:
        """The operations of each phase."""
        return {phase: np.array(rows, OPERATION) for phase, rows in self._operations.items()}

    def _reserve(self, count: int) -> int:
        self.registers += count
        return self.registers - count

    def _emit(
        self,
        phase: str,
        code: int,
        count: int,
        out: Place,
        *operands: Place,
        target: int = 0,
        follows_action: bool = False,
    ) -> None:
        places = [*operands, *[NOWHERE] * (3 - len(operands))]
        self._operations[phase].append((code, count, target, follows_action, out, *places))

    def _write(self, phase: str, quantity: q.Quantity, out: Place) -> None:
        """Compute a quantity into a place."""
        space, at, _ = out
        is_new = type(quantity) is q.Computed and (phase, id(quantity)) not in self._places
        if isinstance(quantity, q.Joined):
            for part in quantity.parts:
                self._write(phase, part, (space, at, 1))
                at += part.size
        elif quantity.size and is_new:  # computed directly into its destination
            self._compute(phase, quantity, out)
        elif quantity.size:
            place = self._place(phase, quantity)
            self._emit(phase, Op.COPY, quantity.size, out, place)

    def _place(self, phase: str, quantity: q.Quantity) -> Place:
        """Return the place of the quantity after the operations so far; compute it if necessary."""
        key = (phase, id(quantity))
        if key not in self._places:
            self._quantities[key] = quantity
            self._places[key] = self._find(phase, quantity)
        space, at, stride = self._places[key]
        return space, at, (0 if quantity.size == 1 else stride)

    def _space_of(self, quantity: q.Array) -> int:
        """Return the space of an array."""
        array = (quantity.owner, quantity.name)
        if array not in self.arrays:
            self.arrays.append(array)
        return FIRST_ARRAY + self.arrays.index(array)

    def _find(self, phase: str, quantity: q.Quantity) -> Place:
        if isinstance(quantity, q.Float32Array):
            raise InvalidArgument(
                f"model.{quantity.name}: expected a float64 array in an expression; a start can "
                "assign to this float32 array"
            )
        if isinstance(quantity, q.Array):
            return self._space_of(quantity), 0, 1
        if isinstance(quantity, q.Constant):
            self.constants += quantity.values.tolist()
            return CONSTANTS, len(self.constants) - quantity.size, 1
        if isinstance(quantity, q.Parameter):
            if quantity.name not in self.parameters:
                raise InvalidArgument(
                    f"parameter: expected one of {sorted(self.parameters)}, got {quantity.name!r}"
                )
            return PARAMETERS, list(self.parameters).index(quantity.name), 0
        if isinstance(quantity, q.InitialState):
            return INITIAL_STATE, 0, 1
        if isinstance(quantity, q.Selection):
            space, at, stride = self._place(phase, quantity.whole)
            stride = 1 if quantity.whole.size == 1 else stride
            return space, at + quantity.start * stride, stride * quantity.step
        if isinstance(quantity, q.Action):
            if phase not in _WITH_ACTION:
                raise InvalidArgument(
                    "action: has a value only in rewards, terminations, infos and controls of "
                    "steps (the last controls are data.ctrl)"
                )
            _with_size("action", quantity, self.action_size)
            return ACTION, 0, 1
        if isinstance(quantity, q.Before):
            return self._remember(phase, quantity)
        at = self._reserve(quantity.size)
        out = REGISTERS, at, 1
        if isinstance(quantity, q.Fresh):
            self.fresh = at
        if isinstance(quantity, q.Variable):
            return out
        if isinstance(quantity, q.Joined):
            self._write(phase, quantity, out)
        elif isinstance(quantity, q.WeightedRows):
            self._add_rows(phase, quantity, out)
        else:
            self._compute(phase, quantity, out)
        return out

    def _remember(self, phase: str, quantity: q.Before) -> Place:
        """Compute a quantity before the step, into registers."""
        if phase != "after":
            raise InvalidArgument(
                "before(): has a value only in rewards, terminations and infos of steps"
            )
        at = self._reserve(quantity.size)
        self._write("before", quantity.quantity, (REGISTERS, at, 1))
        return REGISTERS, at, 1

    def _add_rows(self, phase: str, quantity: q.WeightedRows, out: Place) -> None:
        size = quantity.size
        product = REGISTERS, self._reserve(size), 1
        for k in range(quantity.weights.size):
            weight = self._place(phase, quantity.weights[k])
            row = self._place(phase, quantity.rows[k * size : (k + 1) * size])
            self._emit(phase, Op.MULTIPLY, size, product if k else out, weight, row)
            if k:
                self._emit(phase, Op.ADD, size, out, out, product)

    def _compute(self, phase: str, quantity: q.Quantity, out: Place) -> None:
        assert isinstance(quantity, q.Computed)
        if isinstance(quantity, q.Draw):
            self._draw(phase, quantity, out)
            return
        operands = [self._place(phase, operand) for operand in quantity.operands]
        follows_action = quantity.precision is Precision.ACTION
        if follows_action:
            for k, operand in enumerate(quantity.operands):
                if operand.precision is Precision.WEAK:
                    register = REGISTERS, self._reserve(operand.size), 1
                    self._emit(
                        phase, Op.COPY, operand.size, register, operands[k], follows_action=True
                    )
                    operands[k] = (*register[:2], 0 if operand.size == 1 else 1)
        reduces = quantity.code in (Op.SUM, Op.EVERY, Op.DOT, Op.FUSED_DOT)
        count, target = quantity.operands[0].size if reduces else quantity.size, 0
        if quantity.code in (Op.COEFFICIENTS, Op.SPLINE):
            count, target = isqrt(count), isqrt(quantity.operands[0].size)
        self._emit(
            phase,
            quantity.code,
            count,
            out,
            *operands,
            target=target,
            follows_action=follows_action,
        )

    def _draw(self, phase: str, draw: q.Draw, out: Place) -> None:
        if phase != "start":
            raise InvalidArgument("draws: have values only at the beginning of an episode")
        operands = [self._place(phase, operand) for operand in draw.operands]
        counter = None if draw.condition is None else self._counter(phase)
        first = len(self._operations[phase])
        self._emit(phase, draw.code, draw.size, out, *operands)
        if draw.condition is not None and counter is not None:
            self._places[phase, id(draw)] = out
            holds = self._place(phase, _with_size("until", draw.condition, 1))
            self._emit(phase, Op.REPEAT_UNLESS, 1, counter, holds, target=first)

    def _counter(self, phase: str) -> Place:
        """Return a register for the number of repetitions, which is set to 0."""
        counter = REGISTERS, self._reserve(1), 1
        self._emit(phase, Op.COPY, 1, counter, self._place(phase, q.Constant(0.0)))
        return counter


class Program(Compiler):
    """A compiled description, as `Simulations` takes it.

    Args:
        description: The description of the environment.
        parameters: Defaults of its parameters.
        nq: Number of positions.
        nv: Number of velocities.
        nu: Number of actuators.

    Raises:
        InvalidArgument: If a quantity has the wrong length, or is used where it has no value.
    """

    def __init__(
        self, description: Description, parameters: dict[str, float], nq: int, nv: int, nu: int
    ) -> None:
        size = nu if description.action_size is None else description.action_size
        if size < 1:
            raise InvalidArgument("action_size: expected at least 1, got a model without actuators")
        super().__init__(parameters, size)
        observation = self._join_observation(description)
        self.observation_size = observation.size
        self.synchronized = description.synchronized
        self.random_state = description.random_state
        self.writes: list[int] = []
        self._nv, self._nu = nv, nu
        self.infos = self._write_results(description)
        self._write("observe", observation, (OBSERVATION, 0, 1))
        central = q.joined(*description.central_state)
        self.central_size = central.size
        self._write("central", central, (OBSERVATION, 0, 1))
        self._write_start(description, nq, nv)
        if description.control is None and self.action_size != nu:
            raise InvalidArgument(
                f"action_size: expected the number of actuators, {nu}, unless control is given, "
                f"got {self.action_size}"
            )
        control = q.as_quantity(
            q.Action(nu) if description.control is None else description.control
        )
        place = self._place("before", q.Array("data", "ctrl", nu))
        self._write("before", _with_size("control", control, nu), place)
        self._places.clear()
        self._quantities.clear()

    def _join_observation(self, description: Description) -> q.Quantity:
        """Return the numbers of an observation, and store the shapes and names of its arrays."""
        described = description.observation
        if not isinstance(described, Mapping):
            observation = q.joined(*described)
            self.names: tuple[str, ...] = ()
            self.parts: tuple[tuple[int, ...], ...] = ((observation.size,),)
            return observation
        quantities = {name: q.as_quantity(value) for name, value in described.items()}
        shapes = {name: (quantity.size,) for name, quantity in quantities.items()}
        for name, shape in description.shapes.items():
            if name not in shapes or shapes[name] != (int(np.prod(shape)),):
                raise InvalidArgument(
                    f"shapes: expected shapes of {shapes}, got {name!r} with shape {shape}"
                )
        self.names = tuple(shapes)
        self.parts = tuple({**shapes, **description.shapes}.values())
        return q.joined(*quantities.values())

    def _write_start(self, description: Description, nq: int, nv: int) -> None:
        for draw in description.draws:
            self._place("start", draw)
        statements, last = list(description.start), st.Forward()
        if statements and isinstance(statements[-1], st.Forward):
            last = st.Forward(statements[-1].actuated)
            statements.pop()
        self._execute(statements)
        initial_state = q.InitialState(nq + nv)
        for name, option in (("qpos", initial_state[:nq]), ("qvel", initial_state[nq:])):
            array, described = q.Array("data", name, option.size), getattr(description, name)
            start = _with_size(
                name, q.as_quantity(array if described is None else described), option.size
            )
            place = self._place("start", array)
            self._write("start", q.where(q.finite(option), option, start), place)
        self._execute([last])

    def _execute(self, statements: Sequence[object]) -> None:
        """Compile the statements of a start."""
        for statement in statements:
            if isinstance(statement, q.Draw):
                self._place("start", statement)
            elif isinstance(statement, st.Assign):
                self._assign(statement.target, q.as_quantity(statement.value))
            elif isinstance(statement, st.Repeat):
                counter = self._counter("start")
                first = len(self._operations["start"])
                self._execute(statement.statements)
                holds = self._place("start", _with_size("until", statement.until, 1))
                self._emit("start", Op.REPEAT_UNLESS, 1, counter, holds, target=first)
            elif isinstance(statement, st.When):
                self._skip_unless(statement)
            elif isinstance(statement, st.Forward):
                self._forward(statement.actuated)
            elif isinstance(statement, st.Advance):
                self._call("advance", statement.count)
            elif isinstance(statement, st.Reset):
                self._call("reset")
            else:
                raise ArgumentTypeError(f"start: expected a statement, got {statement!r}")
            for key, quantity in list(self._quantities.items()):
                if key[0] == "start" and not isinstance(quantity, _LASTING):
                    del self._places[key], self._quantities[key]

    def _call(self, name: str, count: int = 1) -> None:
        self._emit("start", Op.CALL, count, NOWHERE, target=CALLS.index(name))

    def _forward(self, actuated: bool) -> None:
        if actuated:
            self._call("forward")
            return
        # What MuJoCo does in a model in which actuation is disabled. Lanes may share the model.
        self._call("place")
        for name, size in (("actuator_force", self._nu), ("qfrc_actuator", self._nv)):
            place = self._place("start", q.Array("data", name, size))
            self._emit(
                "start", Op.COPY, size, place, (*self._place("start", q.Constant(0.0))[:2], 0)
            )
        self._call("accelerate")

    def _skip_unless(self, statement: st.When) -> None:
        holds = self._place("start", _with_size("condition", statement.condition, 1))
        place = len(self._operations["start"])
        self._emit("start", Op.SKIP_UNLESS, 1, NOWHERE, holds)
        self._execute(statement.statements)
        code, count, _, *rest = self._operations["start"][place]
        self._operations["start"][place] = (code, count, len(self._operations["start"]), *rest)

    def _assign(self, target: q.Quantity, value: q.Quantity) -> None:
        if isinstance(target, q.Joined):
            at = 0
            for part in target.parts:
                self._assign(part, value[at : at + part.size] if value.size > 1 else value)
                at += part.size
            return
        whole = target.whole if isinstance(target, q.Selection) else target
        if not isinstance(whole, (q.Array, q.Variable)):
            raise InvalidArgument(
                "target: expected an array of the data or the model, a selection of one, or a "
                f"Variable, got {type(target).__name__}"
            )
        _with_size("value", value, target.size)
        if isinstance(whole, q.Array):
            space, at = self._space_of(whole), 0
        else:
            space, at, _ = self._place("start", whole)
        if isinstance(whole, q.Array) and whole.owner == "model":
            number = space - FIRST_ARRAY
            self.writes += [number] if number not in self.writes else []
        write = self._store if isinstance(whole, q.Float32Array) else self._write
        at += target.start if isinstance(target, q.Selection) else 0
        if target.size > 1 and isinstance(target, q.Selection) and target.step > 1:
            for k in range(target.size):
                write("start", value[k], (space, at + k * target.step, 1))
        else:
            write("start", value, (space, at, 1))

    def _store(self, phase: str, quantity: q.Quantity, out: Place) -> None:
        """Compute a quantity, and round it into a place of a float32 array."""
        self._emit(phase, Op.STORE, quantity.size, out, self._place(phase, quantity))

    def _write_results(
        self, description: Description
    ) -> tuple[tuple[str, type[np.int64] | type[np.float64], int, bool], ...]:
        """Compute reward, termination and infos into the next registers; return fields of infos."""
        if unknown := description.reset_infos.keys() - description.infos.keys():
            raise InvalidArgument(
                f"reset_infos: expected names of infos ({sorted(description.infos)}), "
                f"got {sorted(unknown)}"
            )
        entries = {name: q.as_quantity(value) for name, value in description.infos.items()}
        # For single environments: infos that are float32 after a float32 action, and results that
        # are Python numbers.
        self.float32_infos = tuple(
            name
            for name, entry in entries.items()
            if entry.precision is Precision.ACTION and entry.size == 1
        )
        self.number_types = description.number_types
        if unknown := description.number_types.keys() - {"reward", *entries}:
            raise InvalidArgument(
                f"number_types: expected names of infos ({sorted(entries)}) or 'reward', "
                f"got {sorted(unknown)}"
            )
        terminated = 0.0 if description.terminated is None else description.terminated
        at = self._reserve(2 + sum(entry.size for entry in entries.values()))
        for name, value in (("reward", description.reward), ("terminated", terminated)):
            self._write("after", _with_size(name, q.as_quantity(value), 1), (REGISTERS, at, 1))
            at += 1
        fields = []
        for name, entry in entries.items():
            self._write("after", entry, (REGISTERS, at, 1))
            in_resets = name in description.reset_infos
            if in_resets:
                first = _with_size(name, q.as_quantity(description.reset_infos[name]), entry.size)
                self._write("begun", first, (REGISTERS, at, 1))
            dtype = np.int64 if description.number_types.get(name) is int else np.float64
            fields.append((name, dtype, entry.size, not in_resets))
            at += entry.size
        return tuple(fields)


def _with_size(name: str, quantity: q.Quantity, size: int) -> q.Quantity:
    """Return the quantity; raise if it has another length."""
    if quantity.size != size:
        raise InvalidArgument(f"{name}: expected a quantity of length {size}, got {quantity.size}")
    return quantity


def evaluate(
    quantity: q.Quantity,
    model: object,
    data: object,
    parameters: Mapping[str, float],
    action: npt.ArrayLike | None = None,
) -> npt.NDArray[np.float64]:
    """Return the value of a quantity in a simulation, a new float64 array [size].

    Args:
        quantity: The quantity.
        model: A `mujoco.MjModel`.
        data: Its `mujoco.MjData`.
        parameters: Values of the environment's parameters, by column.
        action: The action, if the quantity depends on one.

    Raises:
        InvalidArgument: If the quantity needs an action, the state before the step, or draws.
    """
    numbers = np.empty(0) if action is None else np.asarray(action)
    phase = "begun" if action is None else "before"
    compiled = Compiler(dict(parameters), numbers.size)
    compiled._write(phase, quantity, (OBSERVATION, 0, 1))
    registers = np.zeros(compiled.registers + 1)  # not empty: operands that are not used are there
    arrays = [getattr(data if owner == "data" else model, name) for owner, name in compiled.arrays]
    spaces: list[npt.ArrayLike] = [registers, compiled.constants, list(parameters.values()), []]
    spaces += [numbers, np.empty(quantity.size), *arrays]
    energy = ("data", "energy")
    place = FIRST_ARRAY + compiled.arrays.index(energy) if energy in compiled.arrays else -1
    return run(compiled.programs[phase], spaces, numbers.dtype == np.float32, energy=place)
