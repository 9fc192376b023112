"""Stable-Baselines3: vector environments as its `VecEnv`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.base.optional_packages import needs
from gymcore.compat.gym21.done_envs import DoneVectorEnv
from gymcore.core import Info
from gymcore.envs.making import make_vec
from gymcore.error import UnsupportedMode
from gymcore.interop.gymnasium import to_gymnasium_space
from gymcore.spaces.space import Array
from gymcore.specs.env_spec import Kwargs
from gymcore.vector import VectorEnv

with needs("stable_baselines3"):
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs

__all__ = ["SB3VecEnv", "make_vec_env"]


def make_vec_env(
    env_id: str,
    n_envs: int = 1,
    seed: int | None = None,
    env_kwargs: Kwargs | None = None,
    vec_env_kwargs: Kwargs | None = None,
) -> SB3VecEnv:
    """Make a batch of environments for Stable-Baselines3, like its function of the same name.

    Args:
        env_id: Id of the environment.
        n_envs: Number of environments.
        seed: Seed of the first reset; environment `i` gets `seed + i`.
        env_kwargs: Arguments of the environments, as in `gymcore.make_vec`.
        vec_env_kwargs: Arguments of the engine, as `vector_kwargs` of `gymcore.make_vec`.

    Examples:
        >>> envs = make_vec_env("CartPole-v1", 8, seed=0)
        >>> observations = envs.reset()
        >>> observations, rewards, dones, infos = envs.step(np.zeros(8, np.int64))
        >>> observations.shape, rewards.dtype, infos[0]
        ((8, 4), dtype('float32'), {})
        >>> envs.close()
    """
    options = {"autoreset_mode": "SameStep", "episode_statistics": True, **(vec_env_kwargs or {})}
    envs = SB3VecEnv(make_vec(env_id, n_envs, vector_kwargs=options, **(env_kwargs or {})))
    if seed is not None:
        envs.seed(seed)
    return envs


class SB3VecEnv(VecEnv):
    """A vector environment with the interface of Stable-Baselines3's vector environments.

    Infos are a list of new dicts. They contain only what the environments report; those of ended
    episodes also have `terminal_observation`, `TimeLimit.truncated` and, if the engine was made
    with `episode_statistics=True`, the `episode` of SB3's `Monitor`.

    Attributes:
        envs: The vector environment, with any engine, autoreset mode and wrappers.

    Examples:
        >>> envs = SB3VecEnv(make_vec("CartPole-v1", num_envs=2, max_episode_steps=1))
        >>> observations = envs.reset()
        >>> observations, rewards, dones, infos = envs.step(np.zeros(2, np.int64))
        >>> dones, infos[0]["TimeLimit.truncated"]
        (array([ True,  True]), True)
        >>> envs.close()
    """

    def __init__(self, envs: VectorEnv) -> None:
        """Wrap `envs`; `close` closes it too."""
        self.envs: Any = envs
        self._done_envs = DoneVectorEnv(envs)
        self._monitored = getattr(envs.unwrapped, "episode_statistics", False)
        self._start_time = time.time()
        super().__init__(
            envs.num_envs,
            to_gymnasium_space(envs.single_observation_space),
            to_gymnasium_space(envs.single_action_space),
        )
        self.metadata: Info = {**envs.metadata, **self.metadata}

    def reset(self) -> VecEnvObs:
        """Start new episodes with the seeds and options set for this reset."""
        first, *others = self._options
        seeds = None if self._seeds[0] is None else self._seeds
        observations, self.reset_infos = self._done_envs.reset(
            seed=seeds, options=first, return_info=True
        )
        for lane, options in enumerate(others, start=1):
            if options != first:
                mask = np.arange(self.num_envs) == lane
                observations, infos = self._done_envs.reset(
                    seed=seeds, options={**options, "reset_mask": mask}, return_info=True
                )
                self.reset_infos[lane] = infos[lane]
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: Array) -> None:
        """Store the actions for `step_wait`."""
        self._done_envs.step_async(actions)

    def step_wait(
        self,
    ) -> tuple[VecEnvObs, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[Info]]:
        """Step the environments.

        Returns:
            Observations, rewards `[num_envs] float32`, dones `[num_envs] bool`, and one dict per
            environment. All of them belong to the caller.
        """
        observations, rewards, dones, infos = self._done_envs.step_wait()
        for info in infos:
            if "episode" in info:
                info["episode"] = {
                    "r": round(float(info["episode"]["r"]), 6),
                    "l": int(info["episode"]["l"]),
                    "t": round(time.time() - self._start_time, 6),
                }
        return observations, rewards.astype(np.float32), dones, infos

    def close(self) -> None:
        """Close the environments."""
        self.envs.close()

    def get_images(self) -> Sequence[npt.NDArray[np.uint8] | None]:
        """Return one frame per environment."""
        return list(self.envs.render() or [None] * self.num_envs)

    def render(self, mode: str | None = None) -> npt.NDArray[np.uint8] | None:
        """Return all frames tiled, or show the window of environments made for "human"."""
        if self.render_mode == "human":
            self.envs.render()
            return None
        image: npt.NDArray[np.uint8] | None = super().render(mode)
        return image

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """Return an attribute of the given environments; of all if `indices` is None."""
        values = self.envs.get_attr(attr_name)
        return [values[i] for i in self._get_indices(indices)]

    def set_attr(
        self, attr_name: str, value: object, indices: int | Iterable[int] | None = None
    ) -> None:
        """Set an attribute to one value in the given environments; in all if `indices` is None."""
        values = [value] * self.num_envs if indices is None else list(self.get_attr(attr_name))
        for i in self._get_indices(indices):
            values[i] = value
        self.envs.set_attr(attr_name, values)

    def env_method(
        self,
        method_name: str,
        *method_args: object,
        indices: int | Iterable[int] | None = None,
        **method_kwargs: object,
    ) -> list[Any]:
        """Call a method of the given environments, all if `indices` is None; return the results.

        Raises:
            UnsupportedMode: If the environments run outside this process, and `indices` selects
                only some of them.
        """
        chosen = list(self._get_indices(indices))
        if chosen == list(range(self.num_envs)):
            return list(self.envs.call(method_name, *method_args, **method_kwargs))
        base: object = self.envs.unwrapped
        if hasattr(base, "lane_envs"):
            lanes = list(base.lane_envs())
        elif hasattr(base, "envs"):
            lanes = base.envs
        else:
            raise UnsupportedMode(
                f"indices: {base} calls a method of all its environments, got {chosen}"
            )
        return [
            lanes[i].get_wrapper_attr(method_name)(*method_args, **method_kwargs) for i in chosen
        ]

    def env_is_wrapped(
        self, wrapper_class: type, indices: int | Iterable[int] | None = None
    ) -> list[bool]:
        """Return whether environments behave as if wrapped by a single wrapper.

        True for `Monitor` if the engine reports episodes, and False for any other wrapper.
        """
        reports = self._monitored and wrapper_class is Monitor
        return [reports for _ in self._get_indices(indices)]
