"""`Env`: base of environments with physics written for one lane, compiled or interpreted."""

from __future__ import annotations

import copy
import copyreg
import functools
import os
import pickle
import threading
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gymcore import error, logger
from gymcore.base.arguments import RESET_MASK, flag
from gymcore.base.optional_packages import pip_install
from gymcore.core import Info
from gymcore.jit.constants import check_constants
from gymcore.jit.declarations import (
    ARGUMENTS,
    COMPILED,
    Field,
    agent_fields,
    check_functions,
    fields_of,
    indexes,
    location_of,
    numbers_of,
)
from gymcore.jit.loops import InterpretedLoops, Program
from gymcore.native.env import SINGLE, NativeEnv
from gymcore.native.kernel_spaces import (
    action_groups,
    array_layout,
    central_array,
    kernel_action,
    kernel_agents,
    leaves_of,
)
from gymcore.native.lane_generator import lane_generator
from gymcore.native.parameters import Parameter, as_number
from gymcore.native.state import digest
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.spaces import Space
from gymcore.vector.agents import Agents, Names
from gymcore_ext.engine.batch import Batch
from gymcore_ext.engine.kernels import kernel_spec
from gymcore_ext.lanes.custom_kernel import CustomKernel, LaneLoops


class LaneState(LaneLoops):
    """The state of lanes as arrays, with the loops that step the lanes."""

    saved_dtype: np.dtype
    is_single = False

    def raise_faults(self) -> None:
        """Raise the exception of a lane: as `EnvironmentFailed`, unless it is the only one."""
        lane, loop, problem = self.take_fault()
        if isinstance(problem, bytes):
            kind, arguments, place = pickle.loads(problem)  # from the code that has just run
            problem = kind(*arguments)
            if place is not None:
                problem.add_note(f"{place[1]}:{place[2]}, in {place[0]}")
        if self.is_single or lane < 0 or not isinstance(problem, Exception):
            raise problem
        from gymcore.vector.workers.failures import environment_error

        raise environment_error([lane], loop, problem) from problem

    def save(self, indices: npt.NDArray[np.int64], saved: np.ndarray) -> None:
        """Write lanes into an array of `saved_dtype`."""
        for name, array in zip(self.saved_dtype.names or (), self.fields, strict=True):
            saved[name] = array[indices]

    def load(self, indices: npt.NDArray[np.int64], saved: np.ndarray) -> None:
        """Restore saved lanes."""
        for name, array in zip(self.saved_dtype.names or (), self.fields, strict=True):
            array[indices] = saved[name]

    def valid(self, saved: np.ndarray) -> npt.NDArray[np.bool_]:
        """Return which elements of `saved` contain only finite numbers and valid bools."""
        valid = np.ones(len(saved), np.bool_)
        for name in self.saved_dtype.names or ():
            rows = saved[name].reshape(len(saved), -1)
            if rows.dtype.kind == "f":
                valid &= np.isfinite(rows).all(axis=1)
            elif rows.dtype.kind == "b":
                valid &= (np.ascontiguousarray(rows).view(np.uint8) <= 1).all(axis=1)
        return valid


class _Kernel:
    """Data that is computed once for a class and stored on it, but not pickled with it."""

    def __init__(self, cls: type[Env]) -> None:
        self.owner = cls

        def where() -> str:
            return f"{location_of(cls)}{cls.__name__}"  # parses the whole module

        if not {"State", "observation_space", "action_space"} <= set(dir(cls)):
            raise error.InvalidArgument(
                f"{where()}: expected observation_space, action_space, State, reset, step and "
                "observe"
            )
        observation_space, action_space = cls.spaces_of_lane()
        layout = array_layout("observation_space", observation_space)
        checked = kernel_action(action_space, cls.agents)
        if checked is None:
            raise error.InvalidArgument(
                f"{where()}.action_space: expected Discrete, MultiDiscrete, "
                f"MultiBinary, or Box of float32 or float64 with an axis, got {cls.action_space}"
            )
        action, ranges = checked
        central = central_array(cls.state_space)
        self.program = program = Program(
            cls.__name__,
            {name: cls._functions[name] for name in COMPILED if name in cls._functions},
            fields_of(cls, "State"),
            fields_of(cls, "Parameters"),
            fields_of(cls, "Options"),
            fields_of(cls, "Infos"),
            layout,
            action,
            cls.check_indices,
            0 if cls.agents is None else len(cls.agents.names),
            () if central is None else (Field("0", central[0], central[1] or (1,)),),
        )
        program.names()
        self.source = program.source()
        self.copies_actions = indexes(program.functions["step"])
        self.saved_dtype = np.dtype([field[:3] for field in program.state])
        try:
            self.kernel = CustomKernel(
                cls.__name__,
                parts=leaves_of(layout),
                action=action,
                ranges=ranges,
                parameters=numbers_of(cls, "Parameters"),
                reset_options=numbers_of(cls, "Options"),
                infos=tuple((f.name, f.dtype, _info_shape(f, cls.agents)) for f in program.infos),
                central=central,
                **kernel_agents(cls.agents, layout),
            )
        except ValueError as problem:
            raise error.InvalidArgument(f"{where()}: {problem}") from problem
        self.spec = kernel_spec(self.kernel.capsule)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as None."""
        return type(None), ()

    @functools.cached_property
    def compiled(self) -> Any:
        """The compiled loops; the interpreter tests the class first."""
        with _lock:
            from gymcore.jit.compiler import CompiledLoops

            self.owner.check_source()
            return CompiledLoops(self.program)

    @functools.cached_property
    def vector_class(self) -> type[NativeVectorEnv]:
        """The vector environment's class."""
        vector_class = _VectorEnv.of(self.owner)
        vector_class.__qualname__ = f"{self.owner.__qualname__}.vector_class"
        return vector_class


# Neither Numba nor `ast.parse` of Python 3.11 is thread-safe.
_lock = threading.RLock()


def _kernel_of(cls: type[Env]) -> _Kernel:
    kernel: _Kernel | None = cls.__dict__.get("_kernel")
    if kernel is None or kernel.owner is not cls:  # a copied class has the original's kernel
        with _lock:  # the lock is only taken if there is no kernel yet
            kernel = cls.__dict__.get("_kernel")
            if kernel is None or kernel.owner is not cls:
                cls._kernel = kernel = _Kernel(cls)
    return kernel


def _info_shape(field: Field, agents: Agents | None) -> int | tuple[int, ...]:
    if agents is not None and field.name == "active":
        raise ValueError("Infos.active: expected another name, as the engine writes this one")
    if len(field.shape) > 1 + (agents is not None):
        raise ValueError(f"Infos: expected arrays of one axis, got {field.shape}")
    return field.shape if len(field.shape) > 1 else field.shape[0] if field.shape else 1


def is_compiled() -> bool:
    """Return whether classes are compiled; warn once if Numba is missing."""
    return os.environ.get("GYMCORE_JIT", "1") != "0" and _has_numba()


@functools.cache
def _has_numba() -> bool:
    try:
        import numba  # noqa: F401
    except ImportError:
        logger.warn(
            "Numba is not installed, so environments of gymcore.jit run interpreted, hundreds of "
            f"times slower: `{pip_install('numba')}`, or set GYMCORE_JIT=0 if that is intended"
        )
        return False
    return True


class _VectorClass(type):
    """Metaclass of the classes that are pickled as an attribute `vector_class`."""


class _VectorEnv(NativeVectorEnv, metaclass=_VectorClass):
    """See `NativeVectorEnv`."""


def _reduced(cls: _VectorClass) -> str | tuple[Callable[..., Any], tuple[Any, ...]]:
    owner = vars(cls).get("env_class")
    return cls.__qualname__ if owner is None else (getattr, (owner, "vector_class"))


copyreg.pickle(_VectorClass, _reduced)


class _VectorClassDescriptor:
    """Descriptor for the vector environment class that belongs to a class."""

    def __get__(self, env: object, cls: type[Env]) -> type[NativeVectorEnv]:
        return _kernel_of(cls).vector_class


class Env(NativeEnv[Any]):
    """Base class of your own environments at compiled speed, written as functions for one lane.

    A subclass declares and defines, in plain Python:

    - `observation_space`: Box of any dtype except float16, Discrete, MultiDiscrete, MultiBinary, or
      Dict and Tuple of these. `action_space`: Discrete, MultiDiscrete, MultiBinary, or Box.
    - `class State`: the fields of a lane, such as `x: float` or `grid: jit.array(np.int8, 16, 16)`.
      They are 0 when an episode begins; those with a default value, such as `best: float = -1.0`,
      have it in a new lane, and last from episode to episode. In functions, numbers are float64,
      int64 or bool; they are rounded to the field's type when the function returns.
    - `class Parameters`, optional: numbers with default values. They are arguments of the
      constructor, `make` and `make_vec`, and may differ from lane to lane (`set_attr`).
    - `class Options`, optional: numbers with default values, which `reset(options={...})` sets for
      the episodes that it begins. The function is then `reset(state, parameters, rng, options)`.
    - `class Infos`, optional: fields like the fields of `State`.
    - `reset(state, parameters, rng)`.
    - `step(state, parameters, action, rng)`, which returns `reward, terminated` or
      `reward, terminated, truncated`.
    - `observe(state, parameters, observation)`, which writes the whole observation: an array, a
      tuple of arrays, or for a Dict an object with an array for each key. A Discrete part is an
      array of one element.
    - `info(state, parameters, info)`, only with `Infos`: writes the fields of `info`.
    - `render(state, parameters)`, optional: any Python; returns a frame [height, width, 3] uint8.
    - `central_state(state, parameters, values)`, only with a `state_space` of arrays: writes all of
      the array `values`, for critics that see the whole world (`central_state` of a batch).
    - `check_indices = False`, optional: compiled code then does not raise `IndexError` for indices
      out of range, which may read and overwrite other memory.
    - `AGENTS`, optional: the number of agents in a world, their names, or a dict with the names of
      each group of agents that share spaces. The spaces are then those of one agent, or dicts of
      those of groups. In `step(state, parameters, action, rng, agents)`, `action` has the actions
      of all agents, and `agents.active`, `rewards`, `terminated` and `truncated` are arrays with an
      element for each; the function returns whether the world ends for all of them.

    `rng` has the methods of the lane's `numpy.random.Generator` that draw numbers, with `size`.
    Functions may call other functions of their module and of `gymcore.jit.math`, create arrays, and
    raise exceptions. They cannot use strings, lists and dicts.

    A registered class makes single and vector environments like the built-in ones; `vector_class`
    is its `NativeVectorEnv`.

    Args:
        render_mode: None, "rgb_array" or "human".
        debug: Whether to run the source as ordinary Python, which can print and stop in debuggers,
            and raises for nan and indices out of range.
        **parameters: Values of `Parameters`.

    Examples:
        >>> import numpy as np
        >>> import gymcore as gym
        >>> class Walk(gym.jit.Env):
        ...     observation_space = gym.spaces.Box(-9.0, 9.0, (1,), np.float32)
        ...     action_space = gym.spaces.Discrete(2)
        ...     class State:
        ...         position: float
        ...     class Parameters:
        ...         length: float = 1.0
        ...     def reset(state, parameters, rng):
        ...         state.position = rng.uniform(-1.0, 1.0)
        ...     def step(state, parameters, action, rng):
        ...         state.position += parameters.length * (2 * action - 1)
        ...         return -abs(state.position), abs(state.position) > 5.0
        ...     def observe(state, parameters, observation):
        ...         observation[0] = state.position
        >>> env = Walk(length=0.5, debug=True)
        >>> observation, info = env.reset(seed=1)
        >>> [round(float(env.step(1)[0][0]), 2) for _ in range(2)]
        [0.52, 1.02]
    """

    kernel_module = ""
    vector_class = _VectorClassDescriptor()
    arguments: ClassVar[tuple[str, ...]] = ("debug",)
    AGENTS: ClassVar[Names | None] = None
    state_space: ClassVar[Space | None] = None
    check_indices: ClassVar[bool] = True
    _kernel: ClassVar[_Kernel | None] = None  # not inherited: every class has its own
    _functions: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # The functions are removed from the class, so that they do not override the base's methods.
        functions = {name: cls.__dict__[name] for name in ARGUMENTS if name in cls.__dict__}
        functions = {name: getattr(f, "__func__", f) for name, f in functions.items()}
        for name in functions:
            delattr(cls, name)
        if functions:
            cls._functions = {**cls._functions, **functions}
        for field in fields_of(cls, "Parameters"):
            if hasattr(Env, field.name) or field.name in ("action_space", "observation_space"):
                raise error.InvalidArgument(
                    f"{location_of(cls)}{cls.__name__}.Parameters.{field.name}: expected a name "
                    "that environments do not use themselves"
                )
            if field.name not in cls.parameters:
                encode = functools.partial(_encoded, field.python_type)
                decode = functools.partial(_decoded, field.python_type)
                setattr(cls, field.name, parameter := Parameter(encode=encode, decode=decode))
                parameter.__set_name__(cls, field.name)
        super().__init_subclass__(**kwargs)
        if "State" not in dir(cls):
            return
        if missing := {"reset", "step", "observe"} - cls._functions.keys():
            raise error.InvalidArgument(
                f"{location_of(cls)}{cls.__name__}: expected functions {sorted(missing)}"
            )
        roles = {
            **{"state": "State", "parameters": "Parameters", "options": "Options"},
            "info": "Infos",
        }
        fields = {role: fields_of(cls, name) for role, name in roles.items()}
        if cls.AGENTS is not None and {"observation_space", "action_space"} <= set(dir(cls)):
            cls.agents = Agents(cls.AGENTS, cls.observation_space, cls.action_space)
        fields["agents"] = agent_fields(0 if cls.agents is None else len(cls.agents.names))
        if bool(fields["info"]) != ("info" in cls._functions):
            raise error.InvalidArgument(
                f"{location_of(cls)}{cls.__name__}: expected both `class Infos` and "
                "`info(state, parameters, info)`, or neither"
            )
        if (cls.state_space is None) == ("central_state" in cls._functions):
            raise error.InvalidArgument(
                f"{location_of(cls)}{cls.__name__}: expected both `state_space` and "
                "`central_state(state, parameters, values)`, or neither"
            )
        for name in ("Parameters", "Options"):
            numbers_of(cls, name)
        if any(field.name == RESET_MASK for field in fields["options"]):
            raise error.InvalidArgument(
                f"{location_of(cls)}{cls.__name__}.Options.{RESET_MASK}: expected another name, as "
                "`reset(options=...)` uses this one to select lanes"
            )
        check_functions(cls, cls._functions, fields)
        compiled = (cls._functions[name] for name in COMPILED if name in cls._functions)
        check_constants(compiled, cls.__name__)
        if "metadata" not in cls.__dict__:
            modes = ["human", "rgb_array"] if "render" in cls._functions else []
            cls.metadata = {"render_modes": modes, "render_fps": 30}

    def __init__(
        self, render_mode: str | None = None, *, debug: bool = False, **parameters: Any
    ) -> None:
        """Create the batch of one lane; see the class for the arguments."""
        self._debug = flag("debug", debug)
        super().__init__(render_mode, **parameters)
        if self.agents is not None:
            self.observation_space, self.action_space = self.agents.world_spaces

    @classmethod
    def spaces_of_lane(cls) -> tuple[Space, Space]:
        """Return the spaces of the world, or those of the only agent."""
        if cls.agents is not None:
            return cls.agents.world_spaces
        return cls.observation_space, cls.action_space

    @classmethod
    def source(cls) -> str:
        """Return the source text of the loops that are generated around the functions."""
        return _kernel_of(cls).source

    @classmethod
    def program(cls) -> Program:
        """Return the description from which the loops are generated."""
        return _kernel_of(cls).program

    @classmethod
    def check_source(cls, steps: int = 20) -> None:
        """Run the source interpreted for some steps, to find mistakes that compiled code hides.

        Raises:
            InvalidArgument: If a value is nan, `observe` does not fill the observation, or `step`
                does not return two or three values.
            Exception: If the source raises it, for example for an index out of range. Exceptions of
                `raise` and `assert` are not mistakes.
        """
        lines = cls.program().raising_lines()
        env: Any = cls(debug=True) if cls.agents is None else cls.vector_class(1, debug=True)
        space = copy.deepcopy(env.action_space)
        space.seed(1)
        env.reset(seed=1)
        for _ in range(steps):
            try:
                _, _, terminated, truncated, _ = env.step(space.sample())
            except Exception as failure:
                problem: BaseException = failure
                if cls.agents is not None and failure.__cause__ is not None:
                    problem = failure.__cause__
                frame, line = list(traceback.walk_tb(problem.__traceback__))[-1]
                if (frame.f_code.co_filename, line) not in lines:
                    if problem is failure:
                        raise
                    raise problem from None
                env.reset()
                continue
            if cls.agents is None and (terminated or truncated):
                env.reset()

    @classmethod
    def reset_bounds(cls, options: dict[str, object] | None) -> tuple[float, ...] | None:
        """Return the values of `Options`; None for the defaults."""
        numbers = super().reset_bounds(options)
        for field, number in zip(cls.program().options, numbers or (), strict=numbers is not None):
            if number != field.python_type(number):
                raise error.InvalidArgument(
                    f"options[{field.name!r}]: expected {field.python_type.__name__}, got {number}"
                )
        return numbers

    @classmethod
    def kernel_spec(cls) -> dict[str, Any]:
        """Return the kernel's sizes, names and defaults."""
        return _kernel_of(cls).spec

    def make_batch(self, num_envs: int, **options: Any) -> Batch:
        """Return a batch of lanes with compiled or interpreted loops."""
        kernel = _kernel_of(type(self))
        interpreted = self._debug or not is_compiled()
        loops = InterpretedLoops(kernel.program, num_envs) if interpreted else kernel.compiled
        state = kernel.program.state
        fields = [np.zeros((num_envs, *f.shape), f.dtype) for f in state]
        lasting = [k for k, field in enumerate(state) if field.initial is not None]
        for k in lasting:
            fields[k][:] = state[k].initial
        lanes = LaneState(kernel.kernel, fields, loops.addresses, loops, lasting)
        lanes.saved_dtype = kernel.saved_dtype
        lanes.is_single = options.get("mode") == SINGLE
        if interpreted:
            options.update(num_threads=1)
        batch = Batch(
            kernel.kernel.capsule,
            num_envs,
            errors=error,
            store=lanes,
            layout=kernel.program.layout,
            copies_actions=kernel.copies_actions,
            action_groups=action_groups(self.spaces_of_lane()[1], self.agents),
            **options,
        )
        if interpreted:
            loops.bind(lanes.fail, partial(lane_generator, batch))
        return batch

    def fixed_digest(self) -> int:
        """Return a digest of the class: its name, fields and loops."""
        return digest(type(self).__qualname__.encode(), self.source().encode())

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """Step with an element of `action_space`; see `Env.step`.

        Raises:
            InvalidAction: If the action is not an element of `action_space`.
            ResetNeeded: If there was no reset, or the episode has ended.
        """
        if not self.action_space.contains(action):
            raise self._invalid(action)
        if self._batch.is_ready and self._batch.view_lifecycle()[0][0]:
            raise error.ResetNeeded("step: the episode has ended; call reset() first")
        numbers = bool(self.action_space.shape)
        step = self._batch.step_single_array if numbers else self._batch.step_single
        observation, reward, terminated = step(action)
        if self.render_mode == "human":
            self.render()
        return observation, reward, terminated, self._batch.truncated, self._batch.infos()

    def _render_frame(self, render_mode: str, state: Any) -> Any:
        """Return the uint8 frame [height, width, 3], or show it."""
        frame = self._functions["render"](state, self._parameters())
        if render_mode == "rgb_array":
            return frame
        if self._renderer is None:
            from gymcore.rendering.frames import Renderer, draw_frame

            fps = self.metadata["render_fps"]
            size = frame.shape[1], frame.shape[0]
            self._renderer = Renderer(draw_frame, size, fps, "human", type(self).__name__)
        return self._renderer.render(frame)

    def _parameters(self) -> Any:
        """Return the parameters of the lane in the form that functions get."""
        values = {name: getattr(self, name) for name in self.parameters}
        return self.program().names()["Parameters"](**values)


def _encoded(kind: type, value: Any) -> tuple[float, ...]:
    (number,) = as_number(value)
    if kind is not float and number != int(number):
        raise error.InvalidArgument(f"expected {kind.__name__}, got {value!r}")
    return (number,)


def _decoded(kind: type, columns: Any) -> object:
    return kind(columns[0])
