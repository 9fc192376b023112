"""Vector environments whose arrays are of one library, used from another."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import Info, Options
from gymcore.vector.vector_env import Seeds, VectorEnv, VectorWrapper
from gymcore.wrappers.array_conversion import ConvertsArrays

__all__ = ["ArrayConversion"]


class ArrayConversion(
    ConvertsArrays, VectorWrapper[Any, Any, Any, Any, Any], RecordConstructorArgs
):
    """Use a vector environment whose arrays are of one library from another.

    Actions and options (`reset_mask` among them) are converted to the environment's library;
    observations, rewards, flags and infos to the other one. It serves every autoreset mode: last
    observations in the infos are converted too, as one array or one by one, as they come.

    Arrays share their memory where possible, as `gymcore.wrappers.array_conversion`
    says. A tensor keeps its array alive: the engine does not write there while it exists.

    Example:
        >>> import gymcore
        >>> import numpy as np
        >>> envs = ArrayConversion(gymcore.make_vec("CartPole-v1", num_envs=2), np, np)
        >>> observations, infos = envs.reset(seed=1)
        >>> envs.step(np.array([0, 1]))[1]
        array([1., 1.])
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        env_xp: ModuleType | str,
        target_xp: ModuleType | str,
        env_device: Any = None,
        target_device: Any = None,
    ) -> None:
        """Wrap a vector environment; see `gymcore.wrappers.ArrayConversion`."""
        VectorWrapper.__init__(self, env)
        self._set_libraries(env_xp, target_xp, env_device, target_device)

    def step(self, actions: Any, **kwargs: Any) -> tuple[Any, Any, Any, Any, Info]:
        """Step with converted actions, and convert all that is returned."""
        observations, rewards, terminated, truncated, infos = self.env.step(
            self._inwards(actions), **kwargs
        )
        return (
            self._outwards(observations),
            self._outwards(rewards),
            self._outwards(terminated),
            self._outwards(truncated),
            self._infos(infos),
        )

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[Any, Info]:
        """Reset with converted options, and convert what is returned."""
        observations, infos = self.env.reset(seed=seed, options=self._options(options))
        return self._outwards(observations), self._infos(infos)

    def render(self) -> Any:
        """Render, and convert the frames."""
        return self._outwards(self.env.render())
