"""Environments and spaces of the package `gym`, under the ids by which Gymnasium's users know them.

`gymcore.make("GymV26Environment-v0", env_id="Name-v0")` makes one that is registered with `gym`;
with `env=...` it takes an existing one. `GymV21Environment-v0` is for `gym` 0.21 and
older, whose `step` returns four values.
"""

from __future__ import annotations

import importlib
from typing import Any

from gymcore import error
from gymcore.compat.old_envs import EnvCompatibility, modern_metadata
from gymcore.foreign import ForeignEnv
from gymcore.spaces.conversion import convert_space

__all__ = ["GymV21Environment", "GymV26Environment"]

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
        super().__init__(env)
        self.metadata = modern_metadata(env.metadata)
        self.reward_range = getattr(env, "reward_range", self.reward_range)
