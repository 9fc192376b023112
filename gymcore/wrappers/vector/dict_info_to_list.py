"""Infos of a batch as a list of dicts, as programs of Gym 0.21 to 0.23 expect them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import ActType, Info, ObsType, Options
from gymcore.error import FailedCheck, FailedTypeCheck
from gymcore.vector.vector_env import ArrayType, VectorEnv, VectorWrapper

__all__ = ["DictInfoToList"]


class DictInfoToList(
    VectorWrapper[ObsType, ActType, ObsType, ActType, ArrayType], RecordConstructorArgs
):
    """Return infos as a list with one dict per environment, instead of one dict of arrays.

    An environment's dict has the keys whose mask (`_key`) is true for it, and those without a mask.
    Nested dicts (`final_info`, `episode`) become nested dicts. This wrapper must be the outermost:
    other wrappers expect the dict of arrays.

    Examples:
        >>> import gymcore as gym
        >>> from gymcore.wrappers.vector import DictInfoToList
        >>> envs = DictInfoToList(gym.make_vec("CartPole-v1", num_envs=2))
        >>> observations, infos = envs.reset(seed=1)
        >>> infos
        [{}, {}]
    """

    _lane_arrays = ()

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType]) -> None:
        VectorWrapper.__init__(self, env)

    def step(  # type: ignore[override]
        self, actions: ActType
    ) -> tuple[ObsType, ArrayType, ArrayType, ArrayType, list[Info]]:
        """Step, and return the infos as a list; see `VectorEnv.step`."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        return observations, rewards, terminations, truncations, self._convert_info_to_list(infos)

    def reset(  # type: ignore[override]
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Options = None,
    ) -> tuple[ObsType, list[Info]]:
        """Reset, and return the infos as a list; see `VectorEnv.reset`."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return observations, self._convert_info_to_list(infos)

    def _convert_info_to_list(self, vector_infos: Info) -> list[dict[str, object]]:
        """Convert infos to a list.

        Returns:
            One dict per environment. Numbers are NumPy scalars, rows of arrays are views.
        """
        if not isinstance(vector_infos, dict):
            raise FailedTypeCheck(f"Expected infos to be a dict, got {type(vector_infos)}")
        n = self.num_envs
        list_info: list[Info] = [{} for _ in range(n)]
        for key, value in vector_infos.items():
            if isinstance(key, str) and key.startswith("_"):
                continue
            column = value
            if isinstance(value, dict):
                column = self._convert_info_to_list(value)
            elif not isinstance(value, np.ndarray):
                raise FailedTypeCheck(
                    f"Expected infos[{key!r}] to be an array or a dict, got {type(value)}"
                )
            elif value.ndim == 0:
                raise FailedCheck(
                    f"Expected infos[{key!r}] to have one entry for each of the {n} environments, "
                    f"got {value!r}"
                )
            elif len(value) != n:
                raise FailedCheck(
                    f"Expects {value} to have length equal to the num-envs ({n}), "
                    f"actual length is {len(value)}"
                )
            mask = vector_infos.get(f"_{key}")
            lanes = range(n) if mask is None else np.flatnonzero(mask).tolist()
            for i in lanes:
                list_info[i][key] = column[i]
        return list_info
