"""Environments of the package `gym`, under the same ids as in Gymnasium.

`gymcore.make("GymV26Environment-v0", env_id="Name-v0")` makes an environment that is registered
with `gym`; `env=...` wraps an existing one. `GymV21Environment-v0` is for `gym` 0.21 and older,
where `step` returns four values.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from gymcore import error
from gymcore.compat.old_envs import EnvCompatibility, modern_metadata
from gymcore.core import Info
from gymcore.foreign import ForeignEnv
from gymcore.spaces.conversion import convert_space

__all__ = ["GymV21Environment", "GymV26Environment"]

# Modes that `make` accepts; the environment's own modes are known only after it is made.
_MODES = ("human", "rgb_array", "ansi")


def _old_env(env_id: str | None, make_kwargs: Mapping[str, object] | None, env: object) -> object:
    """Return `env`, or make an environment with `gym` if it is None."""
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
            "`pip install gym==0.26.2`, or pass an environment as `env`"
        ) from missing
    if env_id is None:
        raise error.ArgumentTypeError("env_id: expected an id of `gym`, or env, got None")
    return gym.make(env_id, **(make_kwargs or {}))


class GymV21Environment(EnvCompatibility):
    """An environment of `gym` 0.21 with the current interface; see `EnvCompatibility`.

    Its spaces are converted to gymcore's.
    """

    metadata: Info = {"render_modes": list(_MODES)}  # noqa: RUF012

    def __init__(
        self,
        env_id: str | None = None,
        make_kwargs: Mapping[str, object] | None = None,
        env: Any = None,
        render_mode: str | None = None,
    ) -> None:
        """Make the environment, or wrap `env`; see `GymV26Environment`."""
        super().__init__(_old_env(env_id, make_kwargs, env), render_mode)
        self.observation_space = convert_space(self.env.observation_space)
        self.action_space = convert_space(self.env.action_space)


class GymV26Environment(ForeignEnv):
    """An environment of `gym` 0.26, which has the same interface, as a `gymcore.Env`.

    Its spaces are converted to gymcore's.
    """

    metadata: Info = {"render_modes": list(_MODES)}  # noqa: RUF012

    def __init__(
        self,
        env_id: str | None = None,
        make_kwargs: Mapping[str, object] | None = None,
        env: Any = None,
        render_mode: str | None = None,
    ) -> None:
        """Make the environment with `gym.make(env_id, **make_kwargs)`, or wrap `env`.

        Args:
            env_id: An id registered with `gym`.
            make_kwargs: Arguments of `gym.make`.
            env: An environment, instead of `env_id` and `make_kwargs`.
            render_mode: Render mode for `gym.make`; `env` must have been made with the same one.

        Raises:
            DependencyNotInstalled: If the package `gym` is not installed.
            InvalidArgument: If both `env_id` and `env` are given, or `env` has another render mode.
            ArgumentTypeError: If neither is given.
        """
        if env is None and render_mode is not None:
            make_kwargs = {**(make_kwargs or {}), "render_mode": render_mode}
        env = _old_env(env_id, make_kwargs, env)
        env_mode = getattr(env, "render_mode", None)
        if render_mode not in (None, env_mode):
            raise error.InvalidArgument(
                f"render_mode: expected the render mode of env, {env_mode!r}, got {render_mode!r}"
            )
        super().__init__(env)
        self.metadata = modern_metadata(env.metadata)
        self.reward_range = getattr(env, "reward_range", self.reward_range)
