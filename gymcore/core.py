"""The environment interface: `Env`, `Wrapper` and the three wrappers that change one thing."""

from __future__ import annotations

import atexit
import contextlib
import functools
import math
import os
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, SupportsFloat, TypeAlias, cast

import numpy as np
from typing_extensions import TypeVar

from gymcore.base import program, seeding
from gymcore.base.forwarded import forwarded, overridable, settable
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.env_states import EnvState, check_layers, load_layers, save_layers, state_layers
from gymcore.error import ArgumentTypeError, bridge_hint
from gymcore.specs import EnvSpec, WrapperSpec, entry_point_of

if TYPE_CHECKING:
    from gymcore.spaces import Space

ObsType = TypeVar("ObsType", default=Any)
ActType = TypeVar("ActType", default=Any)
RenderFrame = TypeVar("RenderFrame", default=Any)
WrapperObsType = TypeVar("WrapperObsType", default=Any)
WrapperActType = TypeVar("WrapperActType", default=Any)
_Render = TypeVar("_Render", bound=Callable[..., object])
Info: TypeAlias = dict[str, Any]
Options: TypeAlias = Info | None
Metadata: TypeAlias = Info

# Environments that may still be open, by id (a user's environment may not be hashable), in order of
# creation. They are closed at exit, but not when they are collected: the `close` of an environment
# may stop what others use, such as pygame, and the collector runs at any moment. Windows, video
# files and contexts of gymcore free themselves when they are collected.
_environments: weakref.WeakValueDictionary[int, Env] = weakref.WeakValueDictionary()


def leave_open() -> None:
    """Do not close the environments that exist now at exit."""
    _environments.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=leave_open)  # the parent closes them


@atexit.register
def _close_all() -> None:
    """Close every environment that is alive at exit, wrappers before the wrapped environments."""
    for env in reversed(list(_environments.values())):
        with contextlib.suppress(Exception):  # it may be closed, or only partly initialized
            env.close()


def missing_attribute(owner: object, name: str, hint: str = "") -> AttributeError:
    """Return the error for an attribute that the usual lookup did not find, for `__getattr__`."""
    if hasattr(type(owner), name):
        try:
            object.__getattribute__(owner, name)  # a property that raised: return its own error
        except AttributeError as error:
            return error
    if name == "seed":
        hint = hint or ": environments are seeded by `reset(seed=...)` since Gym 0.26"
    message = f"{type(owner).__name__!r} object has no attribute {name!r}{hint}"
    return AttributeError(message, name=name, obj=owner)


class NoSeed:
    """Descriptor for a missing `seed` attribute: reading it raises an error with a hint.

    A `__getattr__` would slow down every attribute access, and a step of 64 lanes by 0.13 us.
    Instances, subclasses and later base classes may define a `seed` of their own.
    """

    def __set_name__(self, cls: type, name: str) -> None:
        self._class = cls

    def __get__(self, env: object, owner: type) -> object:
        """Return `seed` of a later base class, or raise the `AttributeError`."""
        target = owner if env is None else env
        later_bases: object = super(self._class, target)
        if hasattr(later_bases, "seed"):
            return later_bases.seed
        raise missing_attribute(target, "seed")


def without_mode(render: _Render) -> _Render:
    """Make `render(mode)`, the call before Gym 0.26, raise an error that says where modes go."""

    @functools.wraps(render)
    def checked(self: Env, *args: object, **kwargs: object) -> object:
        if args or kwargs:
            raise ArgumentTypeError(
                f"{type(self).__name__}.render() takes no arguments, got {[*args, *kwargs]}: since "
                'Gym 0.26 the mode is given to make, as make(id, render_mode="rgb_array")'
            )
        return render(self)

    return cast("_Render", checked)


class Env(Generic[ObsType, ActType]):
    """One environment: a task that an agent observes and acts in, step by step.

    A subclass defines `observation_space`, `action_space`, `reset` and `step` and,
    if needed, `render` and `close`. Every `reset` and `step` returns new
    observation and info objects, because callers keep them.

    `with env:` closes the environment at the end of the block. `close` is also called when the
    interpreter exits, so a second call must do nothing. Only the process that made the environment
    does so, not a forked child that inherited it. An environment that is collected is not closed:
    gymcore's own windows, video files and OpenGL contexts free themselves then, and so should what
    a `close` of yours frees.

    Attributes:
        action_space: The space of the actions that `step` accepts.
        observation_space: The space of the observations that `reset` and `step` return.
        metadata: Properties of the class, such as `render_modes` and `render_fps`.
        render_mode: The mode chosen when the environment was made, or None for no rendering.
        reward_range: The smallest and largest possible reward of a step (Gym 0.26).
        spec: The `EnvSpec` that `gymcore.make` used, or None if the class was called directly.

    Examples:
        >>> from gymcore import spaces
        >>> class Countdown(Env[int, int]):
        ...     observation_space = spaces.Discrete(4)
        ...     action_space = spaces.Discrete(2)
        ...
        ...     def reset(self, *, seed=None, options=None):
        ...         super().reset(seed=seed)
        ...         self.left = 3
        ...         return self.left, {}
        ...
        ...     def step(self, action):
        ...         self.left -= action
        ...         return self.left, float(action), self.left == 0, False, {}
        >>> with Countdown() as env:
        ...     observation, info = env.reset(seed=1)
        ...     print(observation, *env.step(1))
        3 2 1.0 False False {}
    """

    metadata: Metadata = {"render_modes": []}  # noqa: RUF012 - an override need not be a ClassVar
    render_mode: str | None = None
    spec: EnvSpec | None = None
    reward_range: tuple[float, float] = (-math.inf, math.inf)

    action_space: Space[ActType]
    observation_space: Space[ObsType]

    _np_random: np.random.Generator | None = None
    _np_random_seed: int | None = None

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        """Create an environment, which is closed at exit if its class defines `close`."""
        if cls.__init__ is object.__init__ and (args or kwargs):
            raise TypeError(f"{cls.__name__}() takes no arguments")
        new = super().__new__
        env = new(cls) if new is object.__new__ else new(cls, *args, **kwargs)  # of a mixin
        if cls.close is not Env.close and cls.close is not Wrapper.close:
            _environments[id(env)] = env
        return env

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Apply one action and return the result.

        Args:
            action: An element of `action_space`.

        Returns:
            A tuple of the observation (an element of `observation_space`), the reward, `terminated`
            (the task reached a terminal state), `truncated` (the episode was cut off, for example
            by a time limit; both may be true) and `info`, a dict with additional information. If
            either flag is true, call `reset` next.
        """
        raise NotImplementedError

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Start a new episode. Overrides must call `super().reset(seed=seed)` first, to seed.

        Args:
            seed: The seed of `np_random`. None leaves the generator unchanged, so pass a seed to
                the first reset only.
            options: Options for this episode; each environment defines its own.

        Returns:
            A tuple of the first observation (an element of `observation_space`) and the info dict.

        Raises:
            Error: If `seed` is negative or not an integer.
        """
        if seed is not None:
            self._np_random, self._np_random_seed = seeding.np_random(seed)
        return cast("tuple[ObsType, Info]", None)  # a subclass returns the observation

    if not TYPE_CHECKING:  # hidden, so that a type checker reports uses of `seed`
        seed = NoSeed()

    def render(self) -> Any:
        """Render the current state in the mode `render_mode`.

        Returns:
            None for "human", a uint8 array [height, width, 3] for "rgb_array", text for "ansi". The
            modes that end in "_list" return a list of the frames since the last call.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Free the environment's resources, such as a window; a second call must do nothing."""

    @property
    def unwrapped(self) -> Env:
        """The environment without its wrappers: the environment itself."""
        return self

    @property
    def np_random(self) -> np.random.Generator:
        """The random generator, seeded with entropy from the system unless a seed was given."""
        if self._np_random is None:
            self._np_random, self._np_random_seed = seeding.np_random()
        return self._np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._np_random = value
        self._np_random_seed = -1  # unknown

    @property
    def np_random_seed(self) -> int:
        """The seed of `np_random`, or -1 if the generator was set by assignment."""
        if self._np_random_seed is None:
            self._np_random, self._np_random_seed = seeding.np_random()
        return self._np_random_seed

    def __str__(self) -> str:
        if self.spec is None:
            return f"<{type(self).__name__} instance>"
        return f"<{type(self).__name__}<{self.spec.id}>>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> Literal[False]:
        """Close the environment; exceptions propagate."""
        self.close()
        return False

    def has_wrapper_attr(self, name: str) -> bool:
        """Return whether the environment, or any layer of a wrapper, has an attribute `name`."""
        return hasattr(self, name)

    def get_wrapper_attr(self, name: str) -> Any:
        """Return an attribute; for a wrapper, from the outermost layer that has it.

        Args:
            name: The attribute's name.

        Raises:
            AttributeError: If no layer has the attribute.
        """
        return getattr(self, name)

    def set_wrapper_attr(self, name: str, value: object, *, force: bool = True) -> bool:
        """Set an attribute; for a wrapper, on the outermost layer that has it.

        Args:
            name: The attribute's name.
            value: The new value.
            force: Whether to set the attribute on this object if no layer has it.

        Returns:
            Whether the attribute was set.
        """
        if force or hasattr(self, name):
            setattr(self, name, value)
            return True
        return False


class Wrapper(
    Env[WrapperObsType, WrapperActType],
    Generic[WrapperObsType, WrapperActType, ObsType, ActType],
):
    """Base of wrappers: forwards every call to another environment; subclasses override some.

    Only the interface of `Env` is forwarded. Read other attributes of the inner environment with
    `env.get_wrapper_attr("name")` or `env.unwrapped.name`. A wrapper that also derives from
    `RecordConstructorArgs` can be made again from `env.spec`.

    Examples:
        >>> class Doubled(Wrapper):
        ...     def step(self, action):
        ...         observation, reward, terminated, truncated, info = self.env.step(action)
        ...         return observation, 2 * reward, terminated, truncated, info
    """

    # Attributes that are not part of the state, such as windows, and attributes that are counts.
    _not_state: tuple[str, ...] = ()
    _counts: tuple[str, ...] = ()
    _cached_spec: EnvSpec | None = None

    if not TYPE_CHECKING:  # a type checker sees the attributes of `Env`
        _action_space = _observation_space = _metadata = None
        action_space = overridable("action_space", "The action space.")
        observation_space = overridable("observation_space", "The observation space.")
        metadata = overridable("metadata", "The metadata.")
        reward_range = overridable("reward_range", "The smallest and largest reward.")
        render_mode = forwarded("render_mode", "The wrapped environment's render mode.")
        np_random = settable("np_random", "The base environment's random generator.")
        np_random_seed = forwarded(
            "np_random_seed", "The seed of the base environment's generator."
        )

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        """Wrap `env`.

        Args:
            env: The environment to wrap.

        Raises:
            ArgumentTypeError: If `env` is not an `Env`.
        """
        if not isinstance(env, Env):
            hint = bridge_hint(env)
            if getattr(env, "is_vector_env", False):
                hint = "; wrappers of vector environments are in gymcore.wrappers.vector"
            elif isinstance(env, str):
                hint = f"; make it first: gymcore.make({env!r})"
            raise ArgumentTypeError(
                f"Expected env to be a `{program.package}.Env` but got {type(env)}{hint}"
            )
        self.env = env

    if not TYPE_CHECKING:  # a type checker that saw this would accept any attribute

        def __getattr__(self, name: str) -> object:
            """Raise, with a hint if an inner layer has the attribute (it is not forwarded)."""
            raise self._missing_attribute(name)

    def _missing_attribute(self, name: str) -> AttributeError:
        """Return the error for an attribute that the usual lookup did not find."""
        hint = ""
        if name == "env":
            hint = f": does {type(self).__name__}.__init__ call super().__init__(env)?"
        layer = self.__dict__.get("env")
        while isinstance(layer, Env) and not name.startswith("__"):
            if name in layer.__dict__ or hasattr(type(layer), name):
                hint = (
                    f". The wrapped {type(layer).__name__} has it: "
                    f"use `env.get_wrapper_attr({name!r})`"
                )
                if not isinstance(layer, Wrapper):
                    hint += f" or `env.unwrapped.{name}`"
                break
            layer = layer.__dict__.get("env")
        return missing_attribute(self, name, hint)

    def step(
        self, action: WrapperActType
    ) -> tuple[WrapperObsType, SupportsFloat, bool, bool, Info]:
        """Step the wrapped environment; see `Env.step`."""
        return self.env.step(action)  # type: ignore[arg-type, return-value]

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[WrapperObsType, Info]:
        """Reset the wrapped environment; see `Env.reset`."""
        return self.env.reset(seed=seed, options=options)  # type: ignore[return-value]

    @without_mode
    def render(self) -> Any:
        """Render the wrapped environment; see `Env.render`."""
        return self.env.render()

    def close(self) -> None:
        """Close the wrapped environment."""
        return self.env.close()

    @property
    def unwrapped(self) -> Env:
        """The environment inside all wrappers."""
        return self.env.unwrapped

    if not TYPE_CHECKING:  # a type checker sees the attributes of `Env`

        @property
        def spec(self) -> EnvSpec | None:
            """The spec that makes the environment again with `gymcore.make`, with this wrapper.

            It is a copy, made once: changing it does not change the environment. None if the
            environment was not made by `gymcore.make`.
            """
            if self._cached_spec is None and self.env.spec is not None:
                self._cached_spec = self._wrapped_spec(self.env.spec)
            return self._cached_spec

    def _wrapped_spec(self, inner: EnvSpec) -> EnvSpec:
        """Return a copy of the wrapped environment's spec with this wrapper added."""
        kwargs = None
        if isinstance(self, RecordConstructorArgs):
            kwargs = dict(self._saved_kwargs)
            kwargs.pop("env", None)
        cls = type(self)
        record = WrapperSpec(cls.class_name(), entry_point_of(cls), kwargs)
        return inner.copy(additional_wrappers=(*inner.additional_wrappers, record))

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the class."""
        return cls.__name__

    @classmethod
    def wrapper_spec(cls, **kwargs: object) -> WrapperSpec:
        """Return the spec of this wrapper with the arguments `kwargs`."""
        return WrapperSpec(cls.class_name(), entry_point_of(cls), kwargs)

    if not TYPE_CHECKING:  # a type checker sees the attributes of `Env`

        @property
        def _np_random(self) -> np.random.Generator | None:
            raise AttributeError(
                "Can't access `_np_random` of a wrapper, use `.unwrapped._np_random` or "
                "`.np_random`."
            )

    def get_state(self) -> EnvState:
        """Return everything that determines how the episode continues, of all layers.

        This includes time limits, the random generator and the other attributes of wrappers. The
        environment must define `get_state` and `set_state`, as the built-in ones do. A wrapper that
        defines both itself saves its part and that of the layers inside.

        Returns:
            A copy that the caller owns. `set_state` accepts it here, or in another environment that
            was made in the same way, as often as you like.

        Raises:
            StateNotSupported: If the environment has no `get_state` and `set_state`, or an
                attribute of a wrapper cannot be copied (an `AttributeError`).

        Examples:
            >>> import gymcore
            >>> env = gymcore.make("CartPole-v1")
            >>> _ = env.reset(seed=1)
            >>> saved = env.get_state()
            >>> first = env.step(1)[0]
            >>> env.set_state(saved)
            >>> bool((env.step(1)[0] == first).all())
            True
        """
        return EnvState(*save_layers(state_layers(self)))

    def set_state(self, state: EnvState, *more: object) -> None:
        """Continue from a state of `get_state`, bit for bit.

        Args:
            state: A result of `get_state` of such an environment with the same wrappers, which is
                not changed. Functions and spaces of the wrappers stay as they are.
            *more: With more than one argument, call the environment's own `set_state`, such as
                `set_state(qpos, qvel)` of MuJoCo's, which leaves the wrappers as they are.

        Raises:
            ArgumentTypeError: If `state` is not an `EnvState` (a `TypeError`).
            InvalidArgument: If it belongs to another environment or other wrappers, or is
                impossible (a `ValueError`); nothing is changed.
            StateNotSupported: If the environment has no `get_state` and `set_state`.
        """
        if more:
            self.get_wrapper_attr("set_state")(state, *more)
            return
        if not isinstance(state, EnvState):
            raise ArgumentTypeError(
                f"state: expected what get_state() of {self} returned, got {type(state)}; "
                "env.unwrapped.set_state() takes states without wrappers"
            )
        layers = state_layers(self)
        check_layers(layers, *state, where=str(self))
        load_layers(layers, *state)

    # The methods that every wrapper has. `get_wrapper_attr` and the `call` of vector environments
    # skip these, so that they find the environment's own.
    inherited_states: tuple[object, ...] = (get_state, set_state)

    def _is_inherited(self, name: str) -> bool:
        states = name in ("get_state", "set_state")
        return states and getattr(type(self), name) in self.inherited_states

    def has_wrapper_attr(self, name: str) -> bool:
        """Return whether this wrapper or a layer below it has an attribute `name`."""
        is_defined_here = not self._is_inherited(name) and hasattr(self, name)
        return is_defined_here or self.env.has_wrapper_attr(name)

    def get_wrapper_attr(self, name: str) -> Any:
        """Return an attribute of the outermost layer that has it; see `Env.get_wrapper_attr`."""
        try:
            if not self._is_inherited(name):
                return getattr(self, name)
        except AttributeError:
            pass
        try:
            return self.env.get_wrapper_attr(name)
        except AttributeError as error:
            raise AttributeError(
                f"wrapper {self.class_name()} has no attribute {name!r}"
            ) from error

    def set_wrapper_attr(self, name: str, value: object, *, force: bool = True) -> bool:
        """Set an attribute on the outermost layer that has it; see `Env.set_wrapper_attr`."""
        if hasattr(self, name):
            setattr(self, name, value)
            return True
        if self.env.set_wrapper_attr(name, value, force=False):
            return True
        if force:
            setattr(self, name, value)
        return force

    def __str__(self) -> str:
        return f"<{type(self).__name__}{self.env}>"

    def __repr__(self) -> str:
        return str(self)


class ObservationWrapper(Wrapper[WrapperObsType, ActType, ObsType, ActType]):
    """A wrapper that changes observations: override `observation`."""

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[WrapperObsType, Info]:
        """Reset the wrapped environment and change its observation."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self.observation(observation), info

    def step(self, action: ActType) -> tuple[WrapperObsType, SupportsFloat, bool, bool, Info]:
        """Step the wrapped environment and change its observation."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self.observation(observation), reward, terminated, truncated, info

    def observation(self, observation: ObsType) -> WrapperObsType:
        """Return the observation that replaces the wrapped environment's `observation`."""
        raise NotImplementedError


class RewardWrapper(Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper that changes rewards: override `reward`."""

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Step the wrapped environment and change its reward."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, self.reward(reward), terminated, truncated, info

    def reward(self, reward: SupportsFloat) -> SupportsFloat:
        """Return the reward that replaces the wrapped environment's `reward`."""
        raise NotImplementedError


class ActionWrapper(Wrapper[ObsType, WrapperActType, ObsType, ActType]):
    """A wrapper that changes actions: override `action`."""

    def step(self, action: WrapperActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Step the wrapped environment with the changed action."""
        return self.env.step(self.action(action))

    def action(self, action: WrapperActType) -> ActType:
        """Return the action for the wrapped environment that replaces the caller's `action`."""
        raise NotImplementedError
