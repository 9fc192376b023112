"""Tianshou: a batch of environments as one `BaseVectorEnv`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.base.arguments import seeds_per_env
from gymcore.base.nested import map_leaves
from gymcore.base.optional_packages import needs
from gymcore.envs.making import make_vec
from gymcore.error import UnsupportedMode
from gymcore.interop.gymnasium import to_gymnasium_space
from gymcore.spaces.space import Array
from gymcore.specs.env_spec import Kwargs
from gymcore.vector import AutoresetMode, VectorEnv
from gymcore.vector.agents import check_single_agents
from gymcore.vector.utils.infos import split_rows

with needs("tianshou"):
    from tianshou.env import BaseVectorEnv
    from tianshou.highlevel.env import EnvPoolFactory

__all__ = ["GymcoreFactory", "TianshouVectorEnv", "make_venv"]

Ids = int | Sequence[int] | npt.NDArray[np.integer] | None


def make_venv(env_id: str, num_envs: int = 1, **kwargs: Any) -> TianshouVectorEnv:
    """Make a batch of environments for Tianshou.

    Args:
        env_id: Id of the environment.
        num_envs: Number of environments.
        **kwargs: Arguments of `gymcore.make_vec`.

    Examples:
        >>> envs = make_venv("CartPole-v1", 8)
        >>> observations, infos = envs.reset()
        >>> observations, rewards, *flags, infos = envs.step(np.array([0, 1]), [3, 5])
        >>> observations.shape, infos[1]
        ((2, 4), {'env_id': np.int64(5)})
        >>> envs.close()
    """
    options = {**kwargs.pop("vector_kwargs", {}), "autoreset_mode": AutoresetMode.DISABLED}
    return TianshouVectorEnv(make_vec(env_id, num_envs, vector_kwargs=options, **kwargs))


class GymcoreFactory(EnvPoolFactory):
    """A factory for Tianshou's `EnvFactoryRegistered(envpool_factory=...)`, in place of EnvPool.

    Examples:
        >>> envs = GymcoreFactory().create_venv("CartPole-v1", 8, mode=None, seed=0, kwargs={})
        >>> envs.env_num
        8
        >>> envs.close()
    """

    def create_venv(
        self, task: str, num_envs: int, mode: object, seed: int, kwargs: Kwargs
    ) -> TianshouVectorEnv:
        """Make the batch for a task, which is an id; environment `i` is seeded with `seed + i`."""
        envs = make_venv(task, num_envs, **kwargs)
        envs.seed(seed)
        return envs


class TianshouVectorEnv(BaseVectorEnv):
    """A vector environment without autoreset with the interface of Tianshou's vector environments.

    Tianshou resets ended environments itself, and may step only some, selected by index. Infos are
    an object array of dicts with `env_id`.

    Examples:
        >>> options = {"autoreset_mode": "Disabled"}
        >>> envs = TianshouVectorEnv(make_vec("CartPole-v1", num_envs=8, vector_kwargs=options))
        >>> _ = envs.reset()
        >>> observations, *_, infos = envs.step(np.array([0, 1]), [2, 6])
        >>> observations.shape, infos[1]
        ((2, 4), {'env_id': np.int64(6)})
        >>> envs.close()
    """

    def __init__(self, envs: VectorEnv) -> None:
        """Wrap `envs`, whose autoreset mode must be DISABLED (else `UnsupportedMode`)."""
        check_single_agents(envs)
        mode = AutoresetMode(envs.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        if mode is not AutoresetMode.DISABLED:
            raise UnsupportedMode(f"envs: expected autoreset mode DISABLED, got {mode}")
        self.envs: Any = envs
        self.env_num = self.wait_num = envs.num_envs
        self.is_async = self.is_closed = False
        self._spaces = {
            "observation_space": to_gymnasium_space(envs.single_observation_space),
            "action_space": to_gymnasium_space(envs.single_action_space),
        }
        self._seeds: list[int | None] = [None] * envs.num_envs

    def reset(self, env_id: Ids = None, **kwargs: Any) -> tuple[object, Array]:
        """Start new episodes.

        Args:
            env_id: Indices of the environments; None for all.
            **kwargs: `seed` and `options`, as for `VectorEnv.reset`.

        Returns:
            Observations and infos, with one row per selected environment.
        """
        ids = np.asarray(self._wrap_id(env_id))
        mask = np.zeros(self.env_num, np.bool_)
        mask[ids] = True
        seed = kwargs.pop("seed", None)
        seeds = self._seeds if seed is None else seeds_per_env(seed, self.env_num)
        options = {**(kwargs.pop("options", None) or {}), "reset_mask": mask}
        observations, infos = self.envs.reset(seed=seeds, options=options, **kwargs)
        self._seeds = [None if mask[i] else seed for i, seed in enumerate(self._seeds)]
        return map_leaves(lambda rows: rows[ids], observations), split_rows(infos, mask)[ids]

    def step(self, action: object, id: Ids = None) -> tuple[object, Array, Array, Array, Array]:
        """Step the selected environments.

        Args:
            action: One row per selected environment.
            id: Indices of the environments; None for all.

        Returns:
            Observations, rewards, terminated, truncated and infos, with one row per environment.
        """
        ids = np.asarray(self._wrap_id(id))
        *results, infos = self.envs.step_lanes(np.asarray(action), ids)
        return *results, split_rows(infos, np.ones(len(ids), np.bool_))

    def seed(self, seed: int | list[int] | None = None) -> list[list[int] | None]:
        """Seed the next reset of each environment; `s` seeds environment `i` with `s + i`."""
        self._seeds = seeds_per_env(seed, self.env_num)
        return [None if env_seed is None else [env_seed] for env_seed in self._seeds]

    def get_env_attr(self, key: str, id: Ids = None) -> list[object]:
        """Return an attribute of the given environments; spaces are Gymnasium's."""
        if key in self._spaces:
            return [self._spaces[key] for _ in self._wrap_id(id)]
        values = self.envs.get_attr(key)
        return [values[i] for i in self._wrap_id(id)]

    def set_env_attr(self, key: str, value: object, id: Ids = None) -> None:
        """Set an attribute of the given environments to one value."""
        values = [value] * self.env_num if id is None else list(self.envs.get_attr(key))
        for i in self._wrap_id(id):
            values[i] = value
        self.envs.set_attr(key, values)

    def render(self, **kwargs: object) -> list[object]:
        """Return the result of each environment's `render`."""
        return list(self.envs.render() or [None] * self.env_num)

    def close(self) -> None:
        """Close the environments."""
        self.envs.close()
        self.is_closed = True
