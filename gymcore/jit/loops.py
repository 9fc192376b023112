"""Generation of the loops over lanes around the functions of a class, and their interpretation.

The interpreter and Numba use the same source text with different definitions of the names `carray`
(an array at an address), `State`, `Parameters`, `Options`, `Info`, `stream` (the random numbers of
a lane), `outcome` (reward, and flags of the end), `guarded` (a call that may raise) and the
functions of the class.
"""

from __future__ import annotations

import collections
import ctypes
import itertools
import keyword
import linecache
import math
import re
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gymcore.error import InvalidArgument
from gymcore.jit.constants import for_numbers, interpreted
from gymcore.jit.declarations import (
    CHECKED_DRAWS,
    DRAWS,
    Field,
    Functions,
    agent_fields,
    location_of,
    needs_live_state,
    raising_lines,
    reachable,
)
from gymcore.native.kernel_spaces import leaves_of
from gymcore.spaces.layouts import Layout
from gymcore_ext.lanes.custom_kernel import FIRST_ARRAYS, LOOPS

Namespace = dict[str, Any]

# Length of arrays in a loop over listed lanes. The loop gets the number of listed lanes, not the
# number of lanes of the batch.
_ALL_LANES = "1 << 40"


class Program(NamedTuple):
    """The description from which the loops are generated."""

    name: str
    functions: Functions
    state: tuple[Field, ...]
    parameters: tuple[Field, ...]
    options: tuple[Field, ...]
    infos: tuple[Field, ...]
    layout: Layout
    action: tuple[Any, tuple[int, ...]]
    check_indices: bool
    agents: int = 0
    central: tuple[Field, ...] = ()  # the array of the state for critics, if there is one

    def loops(self) -> tuple[str, ...]:
        """Return the names of the loops."""
        outputs = {"write_infos": self.infos, "central_state": self.central}
        return tuple(name for name in LOOPS if outputs.get(name, True))

    def raising_lines(self) -> set[tuple[str, int]]:
        """Return file and line of each `raise` and `assert` of the functions."""
        return set().union(*map(raising_lines, self.functions.values()))

    def source(self, guards: bool = False) -> str:
        """Return the text of the loops; with guards, or if a function raises, calls are guarded."""
        text = self._text()
        functions = (f for function in self.functions.values() for f in reachable(function))
        draws = any(CHECKED_DRAWS & set(function.__code__.co_names) for function in functions)
        if not guards and not draws and not self.raising_lines():
            return text
        for k, name in enumerate(LOOPS):
            called = f"{'info' if name == 'write_infos' else name}_lane"
            pattern = rf"\b{called}\((.*)\)$"
            text = re.sub(pattern, rf"guarded(arrays, i, {k}, {called}, (\1,))", text, flags=re.M)
        return text.replace("def step_arrays(", "def step_arrays(arrays, ").replace(
            "    step_arrays(", "    step_arrays(arrays, "
        )

    def _text(self) -> str:
        reset = f"reset(state, parameters, stream(rngs, i){', options' * bool(self.options)})"
        return "\n\n".join(
            [
                f"# Generated from {self.name} by gymcore.jit: i is the lane, arrays are memory of "
                "the batch.",
                self._step(),
                self._source_over_listed("reset", reset, "rngs"),
                self._source_over_listed(
                    "observe", f"observe(state, parameters, {self._observation()})"
                ),
                *(
                    [self._source_over_listed("write_infos", "info(state, parameters, info)")]
                    * bool(self.infos)
                ),
                *(
                    self._source_over_listed(
                        "central_state", "central_state(state, parameters, o_0[i])"
                    )
                    for _ in self.central
                ),
            ]
        )

    def names(self) -> Namespace:
        """Return the names that all loops use: dtypes, parameter and observation classes."""
        names: Namespace = {
            np.dtype(name).name: np.dtype(name).type
            for name in ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1")
        }
        names["bool_"] = np.bool_
        for name, fields in (
            *(("Parameters", self.parameters), ("Options", self.options)),
            ("Agents", agent_fields(self.agents)),
        ):
            names[name] = collections.namedtuple(name, [field.name for field in fields])
        for k, keys in enumerate(_dicts(self.layout)):
            for key in keys:
                if not key.isidentifier() or keyword.iskeyword(key) or key.startswith("_"):
                    raise InvalidArgument(
                        f"{self.name}.observation_space: expected keys that are names, got {key!r}"
                    )
            names[f"Observation{k}"] = collections.namedtuple(f"Observation{k}", keys)
        return names

    # --- text ----------------------------------------------------------------------------------

    def _step(self) -> str:
        """Return the source of the step: a loop over arrays, and a function that makes the arrays.

        Arrays that are arguments can be declared to share no memory (see `CompiledLoops`).
        """
        dtype, shape = self.action
        row = (self.agents,) if self.agents else ()
        arrays = [
            *self._columns(outputs=self.parts()),
            _Array("actions", 2, shape, np.dtype(dtype)),
            _Array("rewards", 3, row, np.dtype("f8")),
            _Array("ends", 4, (*row, 2), np.dtype("u1"))
            if row
            else _Array("ends", 4, (), np.dtype("i2")),
            _Array("rngs", 0, (5,), np.dtype("u8")),
        ]
        call = "step_lane(state, parameters, actions[i], stream(rngs, i))"
        body, outcome = [], ["    rewards[i], ends[i] = outcome(result)"]
        if row:  # the two bytes of an element of `ends` are flags until the function returns
            arrays.append(_Array("active", 5, row, np.dtype("?")))
            call = call.replace("i))", "i), agents)")
            body = [
                *("    rewards[i] = 0.0", "    ends[i] = 0"),
                "    agents = Agents(active[i], rewards[i], ends[i, :, 0], ends[i, :, 1])",
            ]
            outcome = [
                f"    for k in range({self.agents}):",
                "        ends[i, k, 0] = bool(ends[i, k, 0] or result) + 2 * bool(ends[i, k, 1])",
                "        ends[i, k, 1] = 0",
            ]
        # Pure arithmetic is faster if it includes the lanes that are about to be reset.
        lasts = any(field.initial is not None for field in self.state)
        if row or lasts or needs_live_state(self.functions["step"]):
            arrays.append(_Array("left_out", 1, (), np.dtype("u1")))
            body += [
                "    if listed and left_out[i]:",
                "        rewards[i] = 0.0",
                "        ends[i] = 0",
                "        continue",
            ]
        body += [
            f"    state = {self._state()}",
            f"    result = {call}",
            *outcome,
            *self._store(),
        ]
        varied = f"    parameters = {self._parameters('i')}"
        shared = f"parameters = {self._parameters('0')}"
        loop = "for i in range(lo, hi):"
        text = ["if varied:", *(f"    {line}" for line in (loop, varied, *body))]
        text += ["else:", *(f"    {line}" for line in (shared, loop, *body))]
        text += [
            loop,
            f"    state = {self._state()}",
            f"    parameters = {self._parameters('i * varied')}",
            f"    observe_lane(state, parameters, {self._observation()})",
        ]
        names = ", ".join(array.name for array in arrays)
        return "\n".join(
            [
                f"def step_arrays({names}, varied, listed, lo, hi):",
                *(f"    {line}" for line in text),
                "",
                "def step(arrays, varied, listed, lo, hi):",
                *(array.line() for array in arrays),
                f"    step_arrays({names}, varied, listed, lo, hi)",
            ]
        )

    def _source_over_listed(self, loop: str, call: str, *extra: str) -> str:
        outputs = {
            **{"observe": self.parts(), "write_infos": self.infos},
            "central_state": self.central,
        }.get(loop, ())
        name, _, arguments = call.partition("(")
        lines = [
            f"def {loop}(arrays, varied, listed, lo, hi):",
            *(array.line(_ALL_LANES) for array in self._columns(outputs=outputs)),
            _Array("lanes", 1, (), np.dtype("u8")).line(),
            *(_Array(array, 0, (5,), np.dtype("u8")).line(_ALL_LANES) for array in extra),
        ]
        if loop == "reset" and self.options:
            values = [f"given[0, {k}]" for k in range(len(self.options))]
            lines += [
                _Array("given", 2, (len(self.options),), np.dtype("f8")).line(),
                f"    options = {_numbers('Options', self.options, values)}",
            ]
        lines += [
            "    for k in range(lo, hi):",
            "        i = lanes[k] if listed else k",
            f"        state = {self._state()}",
            f"        parameters = {self._parameters('i * varied')}",
        ]
        if loop == "write_infos":
            zeros = (f"o_{f.name}[i]" if f.shape else repr(f.python_type(0)) for f in self.infos)
            lines += [f"        o_{f.name}[i] = 0" for f in self.infos if f.shape]
            lines.append(f"        info = Info({', '.join(zeros)})")
        lines.append(f"        {name}_lane({arguments}")
        if loop == "reset":
            lines += [f"    {line}" for line in self._store()]
        if loop == "write_infos":
            lines += [f"        o_{f.name}[i] = info.{f.name}" for f in self.infos if not f.shape]
        return "\n".join(lines)

    def parts(self) -> tuple[Field, ...]:
        """Return the arrays of an observation; a number is an array of one element."""
        leaves = enumerate(leaves_of(self.layout))
        return tuple(Field(str(k), dtype, shape or (1,)) for k, (dtype, shape) in leaves)

    def _columns(self, outputs: tuple[Field, ...]) -> list[_Array]:
        """Return the arrays of state, parameters and outputs."""
        first = len(FIRST_ARRAYS)
        columns = [Field(f"s_{f.name}", f.dtype, f.shape) for f in self.state]
        columns += [Field(f"p_{f.name}", np.dtype("f8"), ()) for f in self.parameters]
        columns += [Field(f"o_{f.name}", f.dtype, f.shape) for f in outputs]
        return [_Array(f.name, first + k, f.shape, f.dtype) for k, f in enumerate(columns)]

    def _state(self) -> str:
        return f"State({', '.join(f's_{field.name}[i]' for field in self.state)})"

    def _store(self) -> list[str]:
        return [f"    s_{f.name}[i] = state.{f.name}" for f in self.state if not f.shape]

    def _parameters(self, index: str) -> str:
        values = [f"p_{field.name}[{index}]" for field in self.parameters]
        return _numbers("Parameters", self.parameters, values) if values else "None"

    def _observation(self) -> str:
        leaves, dicts = iter(self.parts()), itertools.count()

        def expression(layout: Layout) -> str:
            if layout[0] == "array":
                return f"o_{next(leaves).name}[i]"
            name = "" if layout[0] == "tuple" else f"Observation{next(dicts)}"
            return f"{name}({', '.join(map(expression, layout[-1]))},)"

        return expression(self.layout)


def _numbers(name: str, fields: tuple[Field, ...], values: list[str]) -> str:
    """Return the expression for a named tuple of numbers from float64 columns."""
    casts = {float: "{}", int: "int({})", bool: "{} != 0.0"}
    numbers = (casts[f.python_type].format(v) for f, v in zip(fields, values, strict=True))
    return f"{name}({', '.join(numbers)})"


def _dicts(layout: Layout) -> Iterator[tuple[str, ...]]:
    """Yield the keys of every dict in a layout."""
    if layout[0] == "dict":
        yield layout[1]
    for part in () if layout[0] == "array" else layout[-1]:
        yield from _dicts(part)


class _Array(NamedTuple):
    """An array over all lanes, with its index in the list of addresses that a loop gets."""

    name: str
    slot: int
    shape: tuple[int, ...]
    dtype: np.dtype

    def line(self, length: str = "hi") -> str:
        """Return the line that creates the array; `length` is the expression for its first axis."""
        kind = "bool_" if self.dtype.kind == "b" else self.dtype.name
        sizes = "".join(f", {size}" for size in self.shape)
        return f"    {self.name} = carray(arrays[{self.slot}], ({length}{sizes or ','}), {kind})"


def run_text(text: str, name: str, namespace: Namespace) -> Namespace:
    """Execute the text of loops in a namespace; tracebacks can show its lines."""
    filename = f"<loops of {name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    exec(compile(text, filename, "exec"), namespace)
    return namespace


# --- the interpreter ------------------------------------------------------------------------------


class LaneArray(np.ndarray):
    """An array whose elements are Python numbers, as in compiled code."""

    def __getitem__(self, index: Any) -> Any:
        """Return a float, an int, a bool or a part of the array."""
        value = super().__getitem__(index)
        return value if isinstance(value, np.ndarray) else value.item()

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the first axis."""
        return (self[k] for k in range(len(self)))

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return the result of a NumPy function; a scalar such as a sum is a Python number."""
        return array.item() if return_scalar else array.view(LaneArray)

    @property
    def flat(self) -> Any:
        """All elements along one axis."""
        return self.reshape(-1)


# Methods whose results are numbers of NumPy's types, unless they are arrays.
_METHODS = "all any argmax argmin dot max mean min prod searchsorted std sum var"
for _name in _METHODS.split():
    setattr(LaneArray, _name, for_numbers(getattr(np.ndarray, _name), LaneArray))


class Struct:
    """The state or infos of a lane while a function runs; subclasses define `__fields__`."""

    __slots__ = ()
    __fields__: dict[str, Field]

    def __init__(self, *values: object) -> None:
        """Set each field to a number or array."""
        for name, value in zip(self.__fields__, values, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        """Assign a number, converted to the field's Python type."""
        field = self.__fields__.get(name)
        if field is None:
            raise AttributeError(f"{name!r} is not a field: {', '.join(self.__fields__)}")
        if field.shape:
            raise AttributeError(f"{name} is an array; write to {name}[:]")
        kind = field.python_type
        if np.ndim(value) or (kind is int and not isinstance(value, (int, np.integer))):
            raise TypeError(f"{name}: expected {kind.__name__}, got {value!r}")
        object.__setattr__(self, name, kind(value))

    def __repr__(self) -> str:
        """Return all fields as text."""
        return f"({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__fields__)})"


def struct_class(name: str, fields: tuple[Field, ...]) -> type[Struct]:
    """Return a class of structs with these fields."""
    by_name = {field.name: field for field in fields}
    return type(name, (Struct,), {"__slots__": tuple(by_name), "__fields__": by_name})


class LaneRandom:
    """Methods of a lane's `numpy.random.Generator` that return Python numbers and LaneArrays."""

    def __init__(self, generator: np.random.Generator) -> None:
        """Store the generator."""
        self._generator = generator

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a method."""
        if name not in DRAWS:
            raise AttributeError(f"rng.{name} does not exist; rng has {', '.join(DRAWS)}")
        return for_numbers(getattr(self._generator, name), LaneArray)


_LOOP_TYPE = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int64, ctypes.c_int64, *(ctypes.c_int64,) * 2
)


class InterpretedLoops:
    """The loops of a program as C callbacks that run Python code with checks.

    Attributes:
        addresses: Addresses of the callbacks, by name; valid as long as this object exists.
    """

    def __init__(self, program: Program, num_lanes: int) -> None:
        """Create the callbacks for a batch of `num_lanes` lanes."""
        self._fail: Callable[[BaseException, int, int], None]
        self._generator: Callable[[int], np.random.Generator]
        self._random: dict[int, LaneRandom] = {}
        self._num_lanes = num_lanes
        namespace = {
            **program.names(),
            "carray": self._carray,
            "stream": self._stream,
            "outcome": _outcome,
            "guarded": lambda arrays, lane, loop, function, arguments: function(*arguments),
            "State": struct_class("State", program.state),
            "Info": struct_class("Info", program.infos),
        }
        for name, function in program.functions.items():
            function = interpreted(function, LaneArray)
            namespace[f"{name}_lane"] = _checked(program, name, function)
        run_text(program.source(), program.name, namespace)
        self._callbacks = {name: self._callback(name, namespace[name]) for name in program.loops()}
        self.addresses = {
            name: ctypes.cast(callback, ctypes.c_void_p).value or 0
            for name, callback in self._callbacks.items()
        }

    def bind(
        self,
        fail: Callable[[BaseException, int, int], None],
        generator: Callable[[int], np.random.Generator],
    ) -> None:
        """Store functions of the batch: to make it raise, and to get the generator of a lane."""
        self._fail, self._generator = fail, generator

    def _carray(self, address: int | None, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array over all lanes at an address, or None if there is no address."""
        if address is None:
            return None
        shape = (self._num_lanes, *shape[1:])
        size = math.prod(shape) * np.dtype(dtype).itemsize
        memory = (ctypes.c_char * size).from_address(address)
        return np.frombuffer(memory, dtype).reshape(shape).view(LaneArray)

    def _stream(self, rngs: object, lane: int) -> LaneRandom:
        if lane not in self._random:
            self._random[lane] = LaneRandom(self._generator(lane))
        return self._random[lane]

    def _callback(self, name: str, loop: Callable[..., None]) -> Any:
        def run(*arguments: object) -> None:
            try:
                loop(*arguments)
            except BaseException as problem:  # it cannot pass through C: the batch raises it
                frames = (frame for frame, _ in traceback.walk_tb(problem.__traceback__))
                lanes = (
                    frame.f_locals["i"]
                    for frame in frames
                    if frame.f_globals is loop.__globals__ and "i" in frame.f_locals
                )
                self._fail(problem, int(next(lanes, -1)), LOOPS.index(name))

        return _LOOP_TYPE(run)


def _checked(program: Program, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a class with checks for nan and for the form of its results."""
    title = f"{location_of(function)}{program.name}.{name}"

    def check(values: npt.ArrayLike, value_name: str) -> None:
        if np.isnan(values).any():
            raise InvalidArgument(f"{title}: {value_name} is nan")

    noun = "observation" if name == "observe" else "state"

    def observe(state: Struct, parameters: object, observation: object) -> None:
        parts, results = list(_arrays(observation)), []
        for byte in (0x55, 0x3A):  # elements that are equal after both runs have been written
            for part in parts:
                fill = byte & 1 if part.dtype == np.bool_ else byte
                np.asarray(part).view(np.uint8)[...] = fill
            function(state, parameters, observation)
            results.append([np.array(part) for part in parts])
        for k, (first, second) in enumerate(zip(*results, strict=True)):
            unwritten = np.argwhere((first != second) & ~(np.isnan(first) & np.isnan(second)))
            if len(unwritten):
                array = f" of array {k}" if len(parts) > 1 else ""
                raise InvalidArgument(
                    f"{title}: expected all of the {noun} to be written, but element "
                    f"{unwritten[0].tolist()}{array} is not"
                )
            check(first, f"an {noun}" if noun == "observation" else f"the {noun}")

    def step(state: Struct, *arguments: Any) -> Any:
        result = function(state, *arguments)
        check_state(state)
        if program.agents:
            if not isinstance(result, (bool, np.bool_)):
                raise InvalidArgument(
                    f"{title}: expected `return ended`, whether the world ends, got {result!r}"
                )
            check(arguments[-1].rewards, "a reward")
            return result
        if not isinstance(result, tuple) or len(result) not in (2, 3):
            raise InvalidArgument(
                f"{title}: expected `return reward, terminated` or `return reward, terminated, "
                f"truncated`, got {result!r}"
            )
        check(float(result[0]), "the reward")
        return result

    def reset(state: Struct, *arguments: object) -> None:
        function(state, *arguments)
        check_state(state)

    def check_state(state: Struct) -> None:
        for field in program.state:
            value = getattr(state, field.name)
            if field.dtype.kind == "f":
                check(value, f"state.{field.name}")
            elif field.dtype.kind in "iu" and not field.shape:
                limits = np.iinfo(field.dtype)
                if not limits.min <= value <= limits.max:
                    raise OverflowError(
                        f"{title}: state.{field.name} is {value}, which {field.dtype} cannot hold"
                    )

    checked: dict[str, Callable[..., Any]] = {
        **{"observe": observe, "central_state": observe},
        **{"step": step, "reset": reset},
    }
    return checked.get(name, function)


def _outcome(result: tuple[Any, ...]) -> tuple[float, int]:
    """Return the reward, and the sum of the flags 1 (terminated) and 2 (truncated)."""
    reward, *flags = result
    return float(reward), sum(bool(flag) << k for k, flag in enumerate(flags))


def _arrays(observation: object) -> Iterator[Any]:
    """Yield the arrays of an observation."""
    if isinstance(observation, tuple):
        for part in observation:
            yield from _arrays(part)
    else:
        yield observation
