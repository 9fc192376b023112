"""Adapters from environments and vector environments of Gym 0.21 to the current interface."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Generic, SupportsFloat

import numpy as np

from gymcore import error, logger
from gymcore.base.arguments import split_reset_mask
from gymcore.base.forwarded import settable
from gymcore.core import ActType, Env, Info, ObsType, Options, RenderFrame
from gymcore.spaces.space import Array
from gymcore.specs import EnvSpec, load_env_creator
from gymcore.utils.step_api_compatibility import convert_to_terminated_truncated_step_api
from gymcore.vector import AutoresetMode, VectorEnv
from gymcore.vector.gym26_infos import ForwardsAttributes
from gymcore.vector.utils import batch_space
from gymcore.vector.utils.infos import merge_info
from gymcore.vector.vector_env import Seeds, VectorStep

__all__ = [
    "EnvCompatibility",
    "OldEnvCreator",
    "VectorEnvCompatibility",
    "modern_metadata",
]


def modern_metadata(metadata: Info | None) -> Info:
    """Return a copy of metadata with Gym 0.21's keys also as `render_modes` and `render_fps`.

    Examples:
        >>> modern_metadata({"render.modes": ["human"]})["render_modes"]
        ['human']
    """
    result = dict(metadata or {})
    result.setdefault("render_modes", list(result.get("render.modes", ())))
    if "video.frames_per_second" in result:
        result.setdefault("render_fps", result["video.frames_per_second"])
    return result


class EnvCompatibility(ForwardsAttributes, Env[ObsType, ActType]):
    """An environment of Gym 0.21 with the current interface.

    Gym 0.26 adds this wrapper with `make(..., apply_api_compatibility=True)`. The old environment
    needs no base class. It has `reset() -> observation`,
    `step(action) -> (observation, reward, done, info)`, and optionally `seed(seed)`,
    `render(mode=...)` and `close()`. `info["TimeLimit.truncated"]` becomes `truncated`. Other
    attributes are forwarded to the old environment.

    Attributes:
        env: The old environment.

    Examples:
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
        """Wrap `old_env`.

        In the render mode "human", every reset and step also calls its `render`, as current
        environments do.
        """
        env = self.env = old_env
        self.metadata = modern_metadata(getattr(env, "metadata", None))
        self.render_mode = render_mode
        self.reward_range = getattr(env, "reward_range", None) or (-math.inf, math.inf)
        spec = getattr(env, "spec", None)
        self.spec = spec if isinstance(spec, EnvSpec) else None
        for name in ("observation_space", "action_space"):
            setattr(self, name, getattr(env, name, None))

    np_random = settable("np_random", "The random generator of the old environment, of any type.")

    def close(self) -> None:
        """Close the old environment, if it has a method `close`."""
        close = getattr(self.__dict__.get("env"), "close", None)
        if close is not None:
            close()

    def __str__(self) -> str:
        return f"<{type(self).__name__}{self.env}>"

    def __repr__(self) -> str:
        return str(self)

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Start an episode; return the observation and an empty info.

        `seed` is passed to the old environment's method `seed`, if it has one; `options` is not
        used.
        """
        if seed is not None:
            if hasattr(self.env, "seed"):
                self.env.seed(seed)
            self._np_random_seed = seed
        observation = self.env.reset()
        if self.render_mode == "human":
            self.render()
        return observation, {}

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Step the environment: the time limit sets `truncated`, any other end `terminated`."""
        result = self.env.step(action)
        if self.render_mode == "human":
            self.render()
        results: tuple[ObsType, SupportsFloat, bool, bool, Info]
        results = convert_to_terminated_truncated_step_api(result)
        return results

    def render(self) -> Any:
        """Render the environment in its `render_mode`; warn if it is None."""
        if self.render_mode is None:
            logger.warn(
                "You are calling render method without specifying any render mode: pass a "
                "render_mode to EnvCompatibility or make, e.g. 'rgb_array'."
            )
            return None
        return self.env.render(mode=self.render_mode)


class OldEnvCreator:
    """An entry point that wraps the environment of another entry point in `EnvCompatibility`.

    Attributes:
        entry_point: Class or function that makes the environment of Gym 0.21, or its location
            "module:name".
    """

    def __init__(self, entry_point: Callable[..., object] | str) -> None:
        self.entry_point = entry_point

    def _load(self) -> Any:
        point = self.entry_point
        return point if callable(point) else load_env_creator(point)

    @property
    def metadata(self) -> Info:
        """Metadata of the environment's class, with the current keys."""
        return modern_metadata(self._load().metadata)

    def __call__(self, render_mode: str | None = None, **kwargs: object) -> EnvCompatibility:
        """Make the environment with `kwargs`, and wrap it; `render` uses `render_mode`."""
        return EnvCompatibility(self.old_env(**kwargs), render_mode)

    def old_env(self, **kwargs: object) -> Any:
        """Make the environment with `kwargs`."""
        return self._load()(**kwargs)


class VectorEnvCompatibility(
    ForwardsAttributes, VectorEnv[ObsType, ActType, Array], Generic[ObsType, ActType]
):
    """A vector environment of Gym 0.21 with the current interface and `SAME_STEP` autoreset.

    The old vector environment needs no base class. It has `num_envs`, `reset() -> observations` and
    `step(actions) -> (observations, rewards, dones, infos)`, where `infos` is a list of dicts, and
    a step that ends an episode has begun the next one. `TimeLimit.truncated` in a dict becomes
    `truncations`, and `terminal_observation` becomes `final_obs`. If it has no
    `single_observation_space`, its spaces are those of one environment (as in Stable Baselines).
    Other attributes are forwarded to it.

    Attributes:
        env: The old vector environment.

    Examples:
        >>> from gymcore import spaces
        >>> class Old:
        ...     num_envs = 2
        ...     observation_space = action_space = spaces.Discrete(9)
        ...
        ...     def reset(self):
        ...         return np.array([3, 4])
        ...
        ...     def step(self, actions):
        ...         infos = [{"TimeLimit.truncated": True, "terminal_observation": 8}, {}]
        ...         return np.array([3, 5]), np.ones(2), np.array([True, False]), infos
        >>> envs = VectorEnvCompatibility(Old())
        >>> observations, infos = envs.reset()
        >>> observations, rewards, terminations, truncations, infos = envs.step(np.array([1, 2]))
        >>> truncations, infos["final_obs"][0]
        (array([ True, False]), 8)
    """

    def __init__(self, old_envs: Any, render_mode: str | None = None) -> None:
        """Wrap `old_envs`; raise `ArgumentTypeError` if it has no `num_envs`."""
        if not isinstance(getattr(old_envs, "num_envs", None), (int, np.integer)):
            raise error.ArgumentTypeError(
                f"old_envs: expected a vector environment with `num_envs`, got {type(old_envs)}"
            )
        self.env = old_envs
        self.num_envs = int(old_envs.num_envs)
        self.render_mode = render_mode
        metadata = modern_metadata(getattr(old_envs, "metadata", None))
        self.metadata = {**metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        spec = getattr(old_envs, "spec", None)
        self.spec = spec if isinstance(spec, EnvSpec) else None
        single = "single_" if hasattr(old_envs, "single_observation_space") else ""
        self.single_observation_space = getattr(old_envs, f"{single}observation_space")
        self.single_action_space = getattr(old_envs, f"{single}action_space")
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[ObsType, Info]:
        """Start new episodes; return the batch of observations and empty infos.

        `seed` is passed to the old vector environment's method `seed`. `options` may contain a
        `reset_mask`, which must select all lanes; otherwise `InvalidArgument` is raised.
        """
        _, mask = split_reset_mask(options, self.num_envs)
        if mask is not None and not mask.all():
            raise error.InvalidArgument(
                "reset_mask: a vector environment of Gym 0.21 resets all lanes, or none, got "
                f"{mask.tolist()}"
            )
        if seed is not None:
            self.env.seed(seed)
        return self.env.reset(), {}

    def step(self, actions: ActType) -> VectorStep[ObsType, Array]:
        """Step the environments; see `VectorEnv.step`.

        `final_obs` is an object array, with None where `terminal_observation` is missing.
        """
        observations, rewards, dones, old_infos = self.env.step(actions)
        dones = np.asarray(dones, np.bool_)
        truncations = np.zeros(self.num_envs, np.bool_)
        infos: Info = {}
        final_obs = np.full(self.num_envs, None, dtype=object)
        final_info: Info = {}
        for lane, old in enumerate(old_infos):
            info = dict(old)
            cut_off = bool(info.pop("TimeLimit.truncated", False))
            if dones[lane]:
                truncations[lane] = cut_off
                final_obs[lane] = info.pop("terminal_observation", None)
            if info:
                merge_info(final_info if dones[lane] else infos, info, lane, self.num_envs)
        if dones.any():
            infos.update(
                final_obs=final_obs,
                _final_obs=dones.copy(),
                final_info=final_info,
                _final_info=dones.copy(),
            )
        terminations = dones & ~truncations
        return observations, np.asarray(rewards, np.float64), terminations, truncations, infos

    def render(self) -> tuple[RenderFrame, ...] | None:
        """Render the environments in `render_mode`."""
        return None if self.render_mode is None else self.env.render(mode=self.render_mode)

    def close_extras(self, **kwargs: object) -> None:
        """Close the old vector environment."""
        self.env.close()
