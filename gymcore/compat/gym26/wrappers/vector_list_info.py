"""`VectorListInfo` of Gym 0.26: the infos of a batch as a list of dicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymcore import error
from gymcore.compat.forwarding import LegacyVectorWrapper
from gymcore.utils import RecordConstructorArgs
from gymcore.vector import VectorEnv
from gymcore.vector.utils.infos import split_info

__all__ = ["VectorListInfo"]


class VectorListInfo(LegacyVectorWrapper):
    """Return infos as a list of one dict for each environment (Gym 0.26).

    `DictInfoToList` is the wrapper of Gymnasium 1.x.

    Example:
        >>> import gymcore as gym
        >>> envs = VectorListInfo(gym.vector.make("CartPole-v1", 2, max_episode_steps=1))
        >>> envs.reset(seed=1)[1]
        [{}, {}]
        >>> infos = envs.step([0, 1])[4]
        >>> len(infos), infos[0]["final_observation"].shape, infos[0]["final_info"]
        (2, (4,), {})
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        """Wrap `env`.

        Args:
            env: A vector environment whose infos are dicts.

        Raises:
            FailedTypeCheck: (also an `AssertionError`) for a single environment.
        """
        if not isinstance(env, VectorEnv):
            raise error.FailedTypeCheck(
                "This wrapper can only be used in vectorized environments: expected a "
                f"gymcore.vector.VectorEnv, got {type(env)}"
            )
        RecordConstructorArgs.__init__(self)
        LegacyVectorWrapper.__init__(self, env)

    def step(  # type: ignore[override]
        self, actions: Any
    ) -> tuple[Any, Any, Any, Any, list[dict[str, Any]]]:
        """Step the environments, and return their infos as a list."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        return observations, rewards, terminations, truncations, self._list(infos)

    def reset(  # type: ignore[override]
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, list[dict[str, Any]]]:
        """Reset the environments, and return their infos as a list."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return observations, self._list(infos)

    def _list(self, infos: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the infos of each environment."""
        if not infos:
            return [{} for _ in range(self.num_envs)]
        return [split_info(infos, lane) for lane in range(self.num_envs)]
