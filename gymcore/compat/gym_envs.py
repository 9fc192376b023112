"""Environments and spaces of the package `gym`, under the ids by which Gymnasium's users know them.

`gymcore.make("GymV26Environment-v0", env_id="Name-v0")` makes one that is registered with `gym`;
with `env=...` it takes an existing one. `GymV21Environment-v0` is for `gym` 0.21 and
older, whose `step` returns four values.
"""

from __future__ import annotations

import importlib
from typing import Any, SupportsFloat

from gymcore import error, spaces
from gymcore.compat.old_envs import EnvCompatibility, ForeignEnv
from gymcore.core import Info, Options

__all__ = ["GymV21Environment", "GymV26Environment", "convert_space"]

# Modes that `make` passes on; the environment's own are known once it is made.
_MODES = ("human", "rgb_array", "ansi")


def _old_env(env_id: str | None, make_kwargs: dict[str, Any] | None, env: Any) -> Any:
    """Return the environment that was given, or the one that `gym` makes."""
    if env is not None:
        if env_id is not None or make_kwargs is not None:
            raise error.InvalidArgument(
                f"env_id: expected either env_id (and make_kwargs) or env, got {env_id!r} and {env}"
            )
        return env
    try:
        gym = importlib.import_module("gym")
    except ImportError as missing:
        raise error.DependencyNotInstalled(
            "To use the gym compatibility environments, run `pip install gym==0.21` or "
            "`pip install gym==0.26.2`, or give an environment as `env`"
        ) from missing
    if env_id is None:
        raise error.ArgumentTypeError("env_id: expected an id of `gym`, or env, got None")
    return gym.make(env_id, **(make_kwargs or {}))


class GymV21Environment(EnvCompatibility):
    """An environment of `gym` 0.21 as one of today; see `EnvCompatibility`.

    Spaces of `gym` become gymcore's.
    """

    metadata: dict[str, Any] = {"render_modes": list(_MODES)}  # noqa: RUF012

    def __init__(
        self,
        env_id: str | None = None,
        make_kwargs: dict[str, Any] | None = None,
        env: Any = None,
        render_mode: str | None = None,
    ) -> None:
        """Make the environment, or take it; see `GymV26Environment`."""
        super().__init__(_old_env(env_id, make_kwargs, env), render_mode)
        self.observation_space = convert_space(self.env.observation_space)
        self.action_space = convert_space(self.env.action_space)


class GymV26Environment(ForeignEnv):
    """An environment of `gym` 0.26 as one of gymcore's: other classes, the same interface.

    Spaces of `gym` become gymcore's.
    """

    metadata: dict[str, Any] = {"render_modes": list(_MODES)}  # noqa: RUF012

    def __init__(
        self,
        env_id: str | None = None,
        make_kwargs: dict[str, Any] | None = None,
        env: Any = None,
        render_mode: str | None = None,
    ) -> None:
        """Make the environment with `gym.make(env_id, **make_kwargs)`, or take `env`.

        `render_mode` is for `gym.make`; a given `env` must have the same. Raises
        `DependencyNotInstalled` without `gym`, and `InvalidArgument` if both are given.
        """
        if env is None and render_mode is not None:
            make_kwargs = {**(make_kwargs or {}), "render_mode": render_mode}
        env = _old_env(env_id, make_kwargs, env)
        env_mode = getattr(env, "render_mode", None)
        if render_mode not in (None, env_mode):
            raise error.InvalidArgument(
                f"render_mode: expected that of env, {env_mode!r}, got {render_mode!r}"
            )
        super().__init__(env, env_mode)
        self.observation_space = convert_space(self.env.observation_space)
        self.action_space = convert_space(self.env.action_space)

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Any, Info]:
        """Begin an episode; see `Env.reset`."""
        if seed is not None:
            self._np_random_seed = seed
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, Info]:
        """Step the environment; see `Env.step`."""
        return self.env.step(action)

    def render(self) -> Any:
        """Return what the inner environment renders."""
        return self.env.render()


def convert_space(space: Any) -> spaces.Space[Any]:
    """Return a space of `gymcore.spaces` that holds the same values.

    A space of `gym`, `gymnasium` or a similar package is recognised by the name of its class, or of
    a base class, and its attributes. Others are an `ArgumentTypeError`; a space of `gymcore` is
    returned as it is.

    Example:
        >>> class Discrete:
        ...     n = 3
        >>> convert_space(Discrete())
        Discrete(3)
    """
    if isinstance(space, spaces.Space):
        return space
    for cls in type(space).__mro__:
        if convert := _CONVERSIONS.get(cls.__name__):
            return convert(space)
    raise error.ArgumentTypeError(
        f"space: expected one of {sorted(_CONVERSIONS)}, of any package, got {space!r} "
        f"({type(space)})"
    )


def _box(space: Any) -> spaces.Box:
    return spaces.Box(space.low, space.high, space.shape, space.dtype.type)


def _discrete(space: Any) -> spaces.Discrete:
    return spaces.Discrete(int(space.n), start=int(getattr(space, "start", 0)))


def _text(space: Any) -> spaces.Text:
    return spaces.Text(
        space.max_length, min_length=space.min_length, charset="".join(space.character_set)
    )


def _graph(space: Any) -> spaces.Graph:
    edges = space.edge_space
    # Either is a Box or a Discrete, and stays one.
    return spaces.Graph(
        convert_space(space.node_space),
        None if edges is None else convert_space(edges),
    )


_CONVERSIONS: dict[str, Any] = {
    "Box": _box,
    "Discrete": _discrete,
    "MultiDiscrete": lambda space: spaces.MultiDiscrete(space.nvec, dtype=space.dtype.type),
    "MultiBinary": lambda space: spaces.MultiBinary(space.n),
    "Text": _text,
    "Tuple": lambda space: spaces.Tuple(tuple(map(convert_space, space.spaces))),
    "Dict": lambda space: spaces.Dict({k: convert_space(v) for k, v in space.spaces.items()}),
    "Sequence": lambda space: spaces.Sequence(
        convert_space(space.feature_space), stack=bool(getattr(space, "stack", False))
    ),
    "OneOf": lambda space: spaces.OneOf(tuple(map(convert_space, space.spaces))),
    "Graph": _graph,
}
