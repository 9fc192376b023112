"""Base classes of compiled environments: an `Env` that is a batch of one lane."""

from __future__ import annotations

import contextlib
import copy
import inspect
import math
import sys
import weakref
from abc import ABCMeta
from collections.abc import Callable, Collection
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from gymcore import error, logger
from gymcore.base import seeding
from gymcore.base.arguments import check_options, invalid_action
from gymcore.core import ActType, Info, ObsType, Options, without_mode
from gymcore.native.kernel_spaces import check_spaces
from gymcore.native.lane_generator import lane_generator, stream_state
from gymcore.native.parameters import (
    Derived,
    KernelSpec,
    Parameter,
    batch_of,
    write_parameter,
)
from gymcore.native.python_step import PythonStepBatch
from gymcore.native.state import (
    checked_lanes,
    digest,
    read_states,
    save_lanes,
    write_lanes,
    write_states,
)
from gymcore.rendering.frames import DrawnEnv
from gymcore.specs.env_spec import Kwargs
from gymcore_ext.engine.batch import Batch
from gymcore_ext.engine.kernels import kernel_spec

if TYPE_CHECKING:
    from gymcore.vector.agents import Agents
    from gymcore.vector.protocols import CompiledEngine

# Mode of a `Batch` that leaves episodes to the wrappers around a single environment.
SINGLE = 3


# Twice this number is still finite.
_LARGEST_BOUND = sys.float_info.max / 2

_METHODS = (property, FunctionType, staticmethod, classmethod)

# Attributes of an environment that the lanes of a batch do not share with it.
_NOT_SHARED = (
    *("_batch", "_generator", "_np_random_seed", "_renderer", "_drawing", "render_mode", "spec"),
)


class NativeEnvMeta(ABCMeta):  # not `type`, so that a class may have an `ABC` among its bases
    """Makes a value that is assigned to a class the default of its parameter of that name."""

    def __setattr__(cls, name: str, value: object) -> None:
        parameter = getattr(cls, "parameters", {}).get(name)
        if parameter is not None and not isinstance(value, (Parameter, *_METHODS)):
            value = parameter.with_default(value)
        super().__setattr__(name, value)


class NativeEnv(DrawnEnv[ObsType, ActType], metaclass=NativeEnvMeta):
    """Base of the compiled environments. Subclasses only declare; `gymcore_ext` computes.

    A subclass sets `kernel_module`, its spaces and `metadata`, declares physics parameters as
    `Parameter` attributes, and defines how it is drawn: `frame_size`, `draw` and `draw_arguments`.

    Observations are new arrays, which the caller may keep. `np_random` is a view of the lane's own
    random stream. Only one thread at a time may use an environment.
    """

    kernel_module: ClassVar[str]
    # Static method `draw(surface, state, **draw_arguments())` of environments that can be rendered.
    draw: ClassVar[Callable[..., None]]
    parameters: ClassVar[dict[str, Parameter]] = {}
    # Other constructor arguments, which have the same value for all lanes of a batch.
    arguments: ClassVar[tuple[str, ...]] = ()
    # Whether rewards and infos are NumPy scalars, as Gymnasium's are if it computes with NumPy.
    numpy_scalars: ClassVar[bool] = False
    # Minimum size of the objects of a lane outside of arrays, in bytes.
    object_bytes: ClassVar[int] = 0
    # Names of infos, or "reward", that are float32 after a float32 action.
    float32_numbers: ClassVar[tuple[str, ...]] = ()
    # Attributes of a lane other than parameters that may be set.
    settable: ClassVar[tuple[str, ...]] = ()
    derived: ClassVar[frozenset[str]] = frozenset()
    # Methods and properties, in addition to the bases' ones, that compiled code replaces. A class
    # that overrides one steps in Python.
    compiled_methods: ClassVar[frozenset[str]] = frozenset()
    batch_type: type[Batch] = Batch
    # The overrides for which the class steps in Python.
    in_python: ClassVar[tuple[str, ...]] = ()
    observation_method: ClassVar[str | None] = None
    # Overrides that observe in Python after a reset and after a step.
    _observe: ClassVar[Callable[..., Any] | None] = None
    _observe_step: ClassVar[Callable[..., Any] | None] = None

    # Attributes that are left out of copies and pickles, and are created again.
    _not_pickled: ClassVar[tuple[str, ...]] = ("_batch", "_generator", "_renderer", "_drawing")

    # An object that represents a lane of a vector environment shares the environment's batch.
    _lane: int = 0
    _generator: np.random.Generator | None = None
    # The step of the episode at which an array was assigned to `state`, and the array's dtype.
    _assigned: tuple[int, np.dtype] = (-1, np.dtype(np.float64))
    _shares_batch: bool = False
    # The agents of a world, or None if a lane is a single agent.
    agents: Agents | None = None
    # Whether an info with a row for each agent is divided among them.
    infos_by_agent: ClassVar[bool] = True
    # Whether spaces and parameters are known to match the kernel, as for built-in classes.
    fits_kernel: bool = True

    @property
    def default_max_episode_steps(self) -> int | None:
        """The time limit, in steps, if neither the caller nor the spec gives one."""
        return None

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        for name in cls.parameters.keys() & vars(cls).keys():
            setattr(cls, name, vars(cls)[name])
        declared = {**cls.__dict__}
        cls.parameters = {
            **cls.parameters,
            **{name: value for name, value in declared.items() if isinstance(value, Parameter)},
        }
        cls.derived = cls.derived | {
            name for name, value in declared.items() if isinstance(value, Derived)
        }
        if not _is_built_in(cls):
            cls._find_overrides()
            cls.fits_kernel = False

    def check_kernel(self) -> None:
        """Raise `InvalidArgument` if a parameter or a space does not match the kernel.

        Environments of your own classes are checked at their first reset, after the constructor has
        run. A vector environment checks the one from which it takes its spaces when it is made.
        """
        spec = batch_of(self).spec
        for parameter in self.parameters.values():
            parameter.rows(spec)
        if _is_built_in(type(self).step) and self._observe is None:
            check_spaces(self)
        self.fits_kernel = True

    @classmethod
    def _find_overrides(cls) -> None:
        """Apply a subclass's overrides."""
        compiled = (vars(base).get("compiled_methods", ()) for base in cls.__mro__)
        cls.in_python = tuple(
            name
            for name in sorted(set().union(*compiled))
            if (override := cls._override(name)) is not None
            # A plain value is the default of a parameter.
            and (name not in cls.parameters or isinstance(override, _METHODS))
        )
        if cls.in_python:
            cls.batch_type = PythonStepBatch
            if _is_built_in(cls.step):
                warn_of_python(cls, cls.in_python[0])
        if cls.observation_method and (observe := cls._override(cls.observation_method)):
            cls._observe = cls._observe_step = observe

    @classmethod
    def _override(cls, name: str) -> Any:
        """Return the attribute if a class outside this package defines it, otherwise None."""
        owner = next((base for base in cls.__mro__ if name in vars(base)), NativeEnv)
        return None if _is_built_in(owner) else vars(owner)[name]

    def __init__(self, render_mode: str | None = None, **parameters: Any) -> None:
        """Create the batch of one lane.

        Args:
            render_mode: One of `metadata["render_modes"]`, or None.
            **parameters: Values of declared `Parameter` attributes.
        """
        for name in parameters.keys() - self.parameters.keys():
            raise TypeError(
                f"{type(self).__name__} got an unexpected keyword argument {name!r}; "
                f"its parameters are {', '.join(self.parameters) or 'none'}"
            )
        self.render_mode = render_mode
        self._batch = self._own_batch()
        for name, value in parameters.items():
            setattr(self, name, value)

    @classmethod
    def create_with_parameters(cls, **arguments: object) -> Self:
        """Create an environment for `make`, which accepts every parameter, as `make_vec` does.

        The constructor takes only Gymnasium's arguments; other parameters are set afterwards.
        """
        extra = cls.parameters.keys() & arguments.keys()
        for argument in inspect.signature(cls).parameters.values() if extra else ():
            extra = set() if argument.kind is argument.VAR_KEYWORD else extra - {argument.name}
        settings = {name: arguments.pop(name) for name in extra}
        make: Callable[..., Self] = cls
        self = make(**arguments)
        if self.agents is not None:
            self.close()
            raise error.UnsupportedMode(
                f"{cls.__name__}: a world of several agents has no single reward; use make_vec, or "
                "gymcore.interop.pettingzoo.parallel_env for one world"
            )
        for name, value in settings.items():
            setattr(self, name, value)
        return self

    def _own_batch(self) -> Batch:
        """Return a batch of one lane for a single environment."""
        batch = self.make_batch(1, mode=SINGLE, **self.batch_options())
        self._step_as_defined(batch)
        batch.numpy_scalars, batch.float32_numbers = self.numpy_scalars, self.float32_numbers
        self.set_class_values(batch)
        return batch

    def set_class_values(self, batch: Batch) -> None:
        """Set the parameters whose defaults were assigned to the class."""
        for name in self.parameters:
            parameter = next(vars(base)[name] for base in type(self).__mro__ if name in vars(base))
            if isinstance(parameter, Parameter) and parameter.default is not None:
                write_parameter(batch, parameter, [parameter.default], None)

    def _step_as_defined(self, batch: Batch) -> None:
        """If the batch steps in Python, let it call this environment."""
        if isinstance(batch, PythonStepBatch):
            batch.env = weakref.ref(self)

    def step_in_python(self, action: Any) -> tuple[float, bool, Info]:
        """Step by calling the methods in `compiled_methods`; return reward, `terminated`, infos."""
        raise NotImplementedError(f"{type(self).__name__} has no step_in_python(action)")

    @classmethod
    def kernel_spec(cls) -> KernelSpec:
        """Return the kernel's sizes, names and defaults; see `gymcore_ext.engine.kernels`."""
        return _spec_of(cls.kernel_module)

    def reset_option_names(self) -> Collection[str]:
        """Return the names of the options of `reset`."""
        return list(self.kernel_spec()["reset_options"])

    def make_batch(self, num_envs: int, **options: Any) -> Batch:
        """Return a batch of lanes of this environment's kernel."""
        kernel = import_module(self.kernel_module).kernel
        return self.batch_type(kernel, num_envs, errors=error, **options)

    def batch_options(self) -> Kwargs:
        """Return options of a batch that depend on `arguments`, such as the kernel's table."""
        return {}

    def fixed_digest(self) -> int:
        """Return a digest of everything fixed at construction, which saved states must match."""
        return digest(self.kernel_module.encode())

    def state_bounds(self) -> dict[str, tuple[float, float]]:
        """Return bounds of state columns, by name; a lower bound of type int means whole numbers.

        All other columns may hold any finite number.
        """
        return {}

    @classmethod
    def lane_of(cls, envs: CompiledEngine, lane: int, seed: int) -> Self:
        """Return one lane of a native vector environment, for inspection and setting parameters.

        Args:
            envs: The vector environment, whose memory the returned object shares.
            lane: Index of the lane.
            seed: The seed of the lane.
        """
        # Skips the constructor and `Env.__new__`, so that the object is not closed at exit.
        self = object.__new__(cls)
        self.__dict__.update(envs._model.shared_attributes())
        self._batch = envs._batch
        self._shares_batch = True
        self._lane = lane
        self.render_mode = envs.render_mode
        self.spec = envs.spec
        self.observation_space = envs.single_observation_space
        self.action_space = envs.single_action_space
        self._np_random_seed = seed
        return self

    def shared_attributes(self) -> dict[str, object]:
        """Return the attributes that depend on `arguments`, which all lanes of a batch share."""
        # Iterate over a copy: another thread may add an attribute at first use.
        return {k: v for k, v in self.__dict__.copy().items() if k not in _NOT_SHARED}

    # --- stepping ------------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Begin an episode; see `Env.reset`.

        Args:
            seed: The seed of `np_random`, as in Gymnasium.
            options: Bounds of the initial state, under the names that the class documents.

        Raises:
            InvalidArgument: If bounds are not finite numbers or are in the wrong order, or if an
                option is unknown.
        """
        bounds = self.reset_bounds(options)
        self._prepare_reset(seed)
        observation, infos = self._batch.reset(options=bounds)
        if self._observe is not None:
            observation = self._observe()
        if self.render_mode == "human":
            self.render()
        return observation, infos

    @classmethod
    def reset_bounds(cls, options: dict[str, object] | None) -> tuple[float, ...] | None:
        """Return the kernel's reset bounds from the options; None for the defaults."""
        if options is None:
            return None
        defaults = cls.kernel_spec()["reset_options"]
        check_options(options, defaults)
        bounds = {name: as_bound(options.get(name, value)) for name, value in defaults.items()}
        if {"low", "high"} <= bounds.keys() and not bounds["low"] <= bounds["high"]:
            raise error.InvalidArgument(
                f"Lower bound ({bounds['low']}) must be lower than higher bound ({bounds['high']})."
            )
        return tuple(bounds.values())

    def _prepare_reset(self, seed: int | None) -> None:
        """Check that this environment can be reset, and seed it."""
        if self._shares_batch:
            raise error.Error(
                "a lane of a vector environment: reset and step the vector environment instead"
            )
        if not self.fits_kernel:
            self.check_kernel()
        self._assigned = NativeEnv._assigned
        if seed is not None:
            self._seed(seeding.checked_seed(seed))
        else:
            self._ensure_seeded()

    def _seed(self, seed: int) -> None:
        batch_of(self).seed(seed, 0, 1)
        self._np_random_seed = seed
        self._generator = lane_generator(self._batch, 0)
        # The lane's memory holds the stream only, not the seed sequence.
        seeding.set_seed_sequence(self._generator, np.random.SeedSequence(seed))

    def _ensure_seeded(self) -> None:
        """Create the view of the lane's stream, seeded by the system unless a seed was given."""
        if self._generator is not None:
            return
        if self._shares_batch:
            self._generator = lane_generator(self._batch, self._lane)
        else:
            self._seed(seeding.np_random()[1])

    def _invalid(self, action: Any) -> error.InvalidAction:
        hint = ""
        with contextlib.suppress(Exception):  # an array or tensor of one element
            if self.action_space.contains(action.item()):
                hint = "; pass `action.item()`"
        return invalid_action(action, f"an element of {self.action_space}{hint}")

    @property
    def np_random(self) -> np.random.Generator:
        """Generator over the lane's random stream: drawing from it advances the stream."""
        self._ensure_seeded()
        assert self._generator is not None
        return self._generator

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._np_random = value
        self._np_random_seed = -1

    @property
    def _np_random(self) -> np.random.Generator | None:
        """The generator, or None if none is in use; setting it copies its state to the lane."""
        return self._generator

    @_np_random.setter
    def _np_random(self, value: np.random.Generator | None) -> None:
        if value is None:
            self._generator = None
            return
        state = stream_state(value)
        self._ensure_seeded()
        assert self._generator is not None
        self._generator.bit_generator.state = state

    # --- state ---------------------------------------------------------------------------------

    @property
    def state(self) -> Any:
        """A copy of the physics state, float64 [state_size]; None before the first reset.

        For a `jit.Env` it is a record with the fields of `State`. Assign a sequence to set it: an
        array of floats keeps its dtype until the next step or reset, as in Gymnasium.
        """
        if not batch_of(self).is_ready:
            return None
        state = self.shown_state(read_states(self._batch, [self._lane])[0])
        step, dtype = self._assigned
        return state.astype(dtype) if step == self._elapsed() else state

    @state.setter
    def state(self, value: npt.ArrayLike | None) -> None:
        if value is None:
            return
        self._ensure_seeded()
        write_states(self._batch, [self.stored_state(value)], np.array([self._lane]))
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            self._assigned = self._elapsed(), value.dtype
        else:
            self._assigned = NativeEnv._assigned

    def _elapsed(self) -> int:
        """Return how many steps of the episode compiled code has made."""
        return int(self._batch.view_lifecycle()[1][self._lane])

    @classmethod
    def shown_state(cls, stored: Any) -> Any:
        """Return the value of `state` for the columns or the record of a lane."""
        return stored

    @classmethod
    def stored_state(cls, value: object) -> object:
        """Return the columns or the record of a lane for a value that was assigned to `state`."""
        return value

    def get_state(self) -> np.ndarray:
        """Return the complete state, including the random stream, as a structured array [1].

        It lacks the state of wrappers, such as the count of `TimeLimit`, which `get_state` of the
        outermost wrapper includes.
        """
        self._ensure_seeded()
        return save_lanes(self._batch, self, self.spec, np.array([self._lane]))

    def check_state(self, state: np.ndarray) -> dict[str, object]:
        """Return the fields of a state that `set_state` accepts, or raise as `set_state` does."""
        return checked_lanes(self._batch, self, self.spec, state, np.array([self._lane]))

    def set_state(self, state: np.ndarray) -> None:
        """Continue from a state that `get_state` of this or a vector environment returned.

        Raises:
            InvalidArgument: If it is the state of another environment or is impossible; nothing
                is changed.
        """
        write_lanes(self._batch, self.check_state(state), np.array([self._lane]))
        self._generator = lane_generator(self._batch, self._lane)
        self._np_random_seed = -1
        self._assigned = NativeEnv._assigned

    def close(self) -> None:
        """Close the window, if any; do nothing for a lane of a vector environment."""
        if not self._shares_batch:
            super().close()

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes and the lane as an array; batches and windows are made again."""
        state = {k: v for k, v in self.__dict__.items() if k not in self._not_pickled}
        seeded = self._shares_batch or self._generator is not None
        indices = np.array([self._lane])
        state["_saved"] = save_lanes(batch_of(self), self, self.spec, indices), seeded
        return state

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Return a copy. Objects copied with it that hold the generator then hold the copy's."""
        copied = memo[id(self)] = type(self).__new__(type(self))
        copied.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        memo[id(self._generator)] = copied._generator
        return copied

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Create the batch again and restore the lane; a copied lane gets a batch of its own."""
        state = dict(state)
        saved, seeded = state.pop("_saved")
        if state.pop("_shares_batch", False):
            state.pop("_lane")
        self.__dict__.update(state)
        self._batch = self._own_batch()
        write_lanes(self._batch, saved, np.array([0]))
        self._generator = lane_generator(self._batch, 0) if seeded else None

    # --- rendering -----------------------------------------------------------------------------

    def _get_obs(self) -> ObsType:
        """Return the observation of the current state."""
        observation: ObsType = self._batch.observe()
        return observation

    def _remember_action(self, action: npt.NDArray[np.float32]) -> None:
        """Store the last action, for environments that draw it."""

    def draw_arguments(self) -> dict[str, object]:
        """Return the keyword arguments of `draw`."""
        return {}

    def _render_text(self) -> str:
        """Return the state as text, if the environment has the render mode "ansi"."""
        raise NotImplementedError

    @without_mode
    def render(self) -> Any:
        """Return a uint8 frame [height, width, 3] for "rgb_array", a str for "ansi", else None."""
        if not self._has_render_mode():
            return None
        if not batch_of(self).is_ready:
            return None
        if self.render_mode == "ansi":
            return self._render_text()
        return self._render_gui(str(self.render_mode))

    def _render_gui(self, mode: str) -> Any:
        """Show the current frame, or return it."""
        return self._render_frame(mode, self.state)

    def _render_frame(self, render_mode: str, state: npt.NDArray[np.float64]) -> Any:
        """Show the frame of a state, or return it."""
        return self._render_with(type(self).draw, render_mode, state, **self.draw_arguments())


def warn_of_python(cls: type, name: str) -> None:
    """Warn that a class steps in Python because it overrides `name`."""
    logger.warn(
        f"{cls.__name__}.{name}: overrides a part of the compiled step, so the class steps in "
        "Python, more slowly, and has no compiled batches"
    )


def _is_built_in(definition: object) -> bool:
    """Return whether a class or function belongs to this package."""
    return str(definition.__module__).partition(".")[0] == "gymcore"


@cache
def _spec_of(kernel_module: str) -> dict[str, object]:
    return kernel_spec(import_module(kernel_module).kernel)


def as_bound(value: Any) -> float:
    """Return a reset option as a float `x` for which the width of [-x, x] is finite."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError):
        raise error.InvalidArgument(
            f"An option ({value}) could not be converted to a float."
        ) from None
    if not abs(number) <= _LARGEST_BOUND:
        raise error.InvalidArgument(
            f"An option ({value}) must be a finite number of at most {_LARGEST_BOUND:.3g}."
        )
    return number


class NativeDiscreteEnv(NativeEnv[ObsType, int]):
    """A compiled environment with discrete actions."""

    def step(self, action: int) -> tuple[ObsType, float, bool, bool, Info]:
        """Step with an action of `action_space`; see `Env.step`.

        Raises:
            InvalidAction: If the action is not an element of `action_space`.
            ResetNeeded: If the environment has not been reset.
        """
        if not self.action_space.contains(action):
            raise self._invalid(action)
        observation, reward, terminated = self._batch.step_single(action)
        if self._observe_step is not None:
            observation = self._observe_step()
        if self.render_mode == "human":
            self.render()
        return observation, reward, terminated, False, self._batch.infos()


class NativeContinuousEnv(NativeEnv[npt.NDArray[np.float32], npt.NDArray[np.float32]]):
    """A compiled environment with float32 actions, which its physics clips."""

    def step(
        self, action: npt.NDArray[np.float32]
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, Info]:
        """Step with a float32 array of the shape of `action_space`; see `Env.step`.

        Other numbers are rounded to float32; the physics clips values outside the bounds.

        Raises:
            InvalidAction: If the shape is wrong or a value is nan or not a number.
            ResetNeeded: If the environment has not been reset.
        """
        try:
            observation, reward, terminated = self._batch.step_single_array(action)
        except error.InvalidAction:
            raise self._invalid(action) from None
        self._remember_action(action)
        if self._observe_step is not None:
            observation = self._observe_step()
        if self.render_mode == "human":
            self.render()
        return observation, reward, terminated, False, {}
