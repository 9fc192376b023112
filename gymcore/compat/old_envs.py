"""Environments of Gym 0.21, as environments of today."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, SupportsFloat

import numpy as np

from gymcore import logger
from gymcore.core import Env
from gymcore.specs import EnvSpec
from gymcore.utils.step_api_compatibility import convert_to_terminated_truncated_step_api

__all__ = ["EnvCompatibility", "ForeignEnv", "modern_metadata"]


def modern_metadata(metadata: dict[str, Any] | None) -> dict[str, Any]:
    """Return metadata with `render_modes` and `render_fps`, taken from their names in Gym 0.21.

    Args:
        metadata: Of an environment class, left as it is.

    Example:
        >>> modern_metadata({"render.modes": ["human"]})["render_modes"]
        ['human']
    """
    result = dict(metadata or {})
    result.setdefault("render_modes", list(result.get("render.modes", ())))
    if "video.frames_per_second" in result:
        result.setdefault("render_fps", result["video.frames_per_second"])
    return result


class ForeignEnv(Env[Any, Any]):
    """An environment of another package inside one of gymcore's; how it is stepped is left open.

    Attributes that are not found here are the inner environment's.

    Attributes:
        env: The inner environment.
    """

    def __init__(self, env: Any, render_mode: str | None = None) -> None:
        """Take an environment.

        Args:
            env: The environment.
            render_mode: What `render` returns.
        """
        self.env = env
        self.metadata = modern_metadata(getattr(env, "metadata", None))
        self.render_mode = render_mode
        self.reward_range = getattr(env, "reward_range", None) or (-math.inf, math.inf)
        spec = getattr(env, "spec", None)
        self.spec = spec if isinstance(spec, EnvSpec) else None
        self.observation_space = getattr(env, "observation_space", None)  # type: ignore[assignment]
        self.action_space = getattr(env, "action_space", None)  # type: ignore[assignment]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return an attribute of the inner environment."""
            if name.startswith("_") or name == "env":
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return getattr(self.env, name)

    @property
    def np_random(self) -> np.random.Generator:
        """The inner environment's random generator, of whatever kind it is."""
        generator: np.random.Generator = self.env.np_random
        return generator

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self.env.np_random = value

    def close(self) -> None:
        """Close the inner environment, if it can be closed."""
        close = getattr(self.__dict__.get("env"), "close", None)
        if close is not None:
            close()

    def __str__(self) -> str:
        """Return the wrapped environment's text."""
        return f"<{type(self).__name__}{self.env}>"

    def __repr__(self) -> str:
        """Return the same as `str`."""
        return str(self)


class EnvCompatibility(ForeignEnv):
    """An environment of Gym 0.21 as one of today: `make(..., apply_api_compatibility=True)`.

    The old environment need not derive from anything. It has `reset() -> observation`,
    `step(action) -> (observation, reward, done, info)`, and perhaps `seed(seed)`,
    `render(mode=...)` and `close()`. `info["TimeLimit.truncated"]` becomes `truncated`. Attributes
    that are not found here are the old environment's.

    Attributes:
        env: The old environment.

    Example:
        >>> from gymcore import spaces
        >>> class Old:
        ...     observation_space = action_space = spaces.Discrete(9)
        ...
        ...     def seed(self, seed=None):
        ...         self.start = seed
        ...
        ...     def reset(self):
        ...         return self.start
        ...
        ...     def step(self, action):
        ...         return action, 1.0, True, {"TimeLimit.truncated": True}
        >>> env = EnvCompatibility(Old())
        >>> env.reset(seed=3), env.step(5)
        ((3, {}), (5, 1.0, False, True, {}))
    """

    def __init__(self, old_env: Any, render_mode: str | None = None) -> None:
        """Take an old environment.

        Args:
            old_env: The environment.
            render_mode: What `render` asks it for. With "human" it is also shown at every reset and
                step, as environments of today do it.
        """
        super().__init__(old_env, render_mode)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Given to the old environment's `seed` first, if there is one.
            options: Not used: old environments have no options.

        Returns:
            The observation, and an empty info.
        """
        if seed is not None:
            if hasattr(self.env, "seed"):
                self.env.seed(seed)
            self._np_random_seed = seed
        observation = self.env.reset()
        if self.render_mode == "human":
            self.render()
        return observation, {}

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment; an end by time limit is `truncated`, any other `terminated`."""
        result = self.env.step(action)
        if self.render_mode == "human":
            self.render()
        return convert_to_terminated_truncated_step_api(result)

    def render(self) -> Any:
        """Render the environment in the mode that was chosen; without one, warn."""
        if self.render_mode is None:
            logger.warn(
                "You are calling render method without specifying any render mode: give "
                "EnvCompatibility (or make) a render_mode, e.g. 'rgb_array'."
            )
            return None
        return self.env.render(mode=self.render_mode)
