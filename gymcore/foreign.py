"""Adapters from Gymnasium's environments to gymcore's, which do not import Gymnasium."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, SupportsFloat

import numpy as np

from gymcore import spaces
from gymcore.base.forwarded import forwarded, settable
from gymcore.core import Env, Info, Options
from gymcore.spaces.conversion import convert_space
from gymcore.specs import from_gymnasium_spec

# Attributes of the adapter itself; all others are set on the adapted environment.
_ADAPTER_ATTRIBUTES = frozenset(
    {"env", "metadata", "render_mode", "spec", "action_space", "observation_space", "reward_range"}
)


class Adapter:
    """Mixin for an `Env` class whose instances adapt an environment of another package.

    The spaces are converted to the classes of the given package. Results, the random generator and
    all other attributes are those of the adapted environment; setting one sets it there.

    Attributes:
        env: The adapted environment. It stays open when the adapter is garbage-collected.
    """

    env: Env

    def __init__(self, env: Env, package: ModuleType) -> None:
        """Adapt an environment.

        Args:
            env: The environment.
            package: The module that defines the classes of the adapter's spaces.
        """
        self.env = env
        self.metadata = env.metadata
        self.render_mode = env.render_mode
        self.observation_space = convert_space(env.observation_space, package)
        self.action_space = convert_space(env.action_space, package)

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[object, Info]:
        """Reset the adapted environment; see `Env.reset`."""
        return self.env.reset(seed=seed, options=options)

    def step(self, action: object) -> tuple[object, SupportsFloat, bool, bool, Info]:
        """Step the adapted environment; see `Env.step`."""
        return self.env.step(action)

    def render(self) -> Any:
        """Render the adapted environment; see `Env.render`."""
        return self.env.render()

    def close(self) -> None:
        """Close the adapted environment."""
        self.env.close()

    if not TYPE_CHECKING:  # a type checker sees the attributes of `Env`
        np_random = settable("np_random", "The adapted environment's random generator.")
        np_random_seed = forwarded(
            "np_random_seed", "The seed of that generator; -1 if it is not known."
        )

        @property
        def _np_random(self) -> np.random.Generator | None:
            return getattr(self.env, "unwrapped", self.env)._np_random

        def __getattr__(self, name: str) -> object:
            if name == "env" or name.startswith("__"):  # `env` is missing during a copy
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            env = self.env
            return env.get_wrapper_attr(name) if _has_layers(env) else getattr(env, name)

        def __setattr__(self, name: str, value: object) -> None:
            if name in _ADAPTER_ATTRIBUTES:
                object.__setattr__(self, name, value)
            elif _has_layers(self.env):
                self.env.set_wrapper_attr(name, value)
            else:
                setattr(self.env, name, value)

    def __str__(self) -> str:
        return f"<{type(self).__name__}{self.env}>"

    __repr__ = __str__


class ForeignEnv(Adapter, Env):
    """Gymnasium environment adapted to gymcore's `Env`; see `Adapter`."""

    def __init__(self, env: Env) -> None:
        super().__init__(env, spaces)

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: object) -> None:
            """Set an attribute; `spec` also on the inner environment if that has no spec."""
            super().__setattr__(name, value)
            inner = getattr(self.env, "unwrapped", None)
            if name == "spec" and getattr(inner, "spec", value) is None:
                inner.spec = value


def _has_layers(env: object) -> bool:
    """Return whether an environment has `get_wrapper_attr` and others, added in Gymnasium 1.0."""
    return hasattr(env, "set_wrapper_attr")


def is_gymnasium(value: object, module: str, name: str) -> bool:
    """Return whether a value is an instance of a Gymnasium class, without importing it."""
    return any((cls.__module__, cls.__name__) == (module, name) for cls in type(value).__mro__)


def adopt(env: Any) -> Any:
    """Adapt an environment of Gymnasium's classes; return anything else unchanged.

    gymcore's engines and `make` apply this to the results of users' functions.
    """
    if isinstance(env, Adapter) and not isinstance(env, Env):
        return env.env  # a gymcore environment that was adapted to another package
    if isinstance(env, Env) or not is_gymnasium(env, "gymnasium.core", "Env"):
        return env
    adapter = ForeignEnv(env)
    adapter.spec = from_gymnasium_spec(env.spec)
    return adapter


def make_adopted(env_fn: Callable[[], object]) -> Env:
    """Call a vector environment's `env_fn` and return the adapted environment; see `adopt`.

    Raises:
        AttributeError: If the result is not an environment or lacks a space.
    """
    env: Env = adopt(env_fn())
    if env is None:
        raise AttributeError(
            "'NoneType' object has no attribute 'observation_space': the function returned None, "
            "expected an environment; does it end with `return env`?"
        )
    for name in ("observation_space", "action_space"):
        if not hasattr(env, name):
            raise AttributeError(
                f"{type(env).__name__!r} object has no attribute {name!r}: expected an environment "
                "whose class or __init__ sets it"
            )
    return env
