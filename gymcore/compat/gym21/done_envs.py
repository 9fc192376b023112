"""Adapters that give environments and vector environments the interface of Gym 0.21."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import gymcore
from gymcore import error, spaces
from gymcore.base import seeding
from gymcore.base.arguments import checked_seeds, seeds_per_env
from gymcore.compat.gym21.core import Env
from gymcore.compat.gym26.core import inner_attribute
from gymcore.core import Info, Options
from gymcore.foreign import Adapter
from gymcore.spaces.space import Array
from gymcore.utils.step_api_compatibility import convert_to_done_step_api
from gymcore.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymcore.vector.agents import check_single_agents
from gymcore.vector.gym26_infos import remove_gym26_names
from gymcore.vector.utils import iterate
from gymcore.vector.utils.infos import split_info
from gymcore.vector.vector_env import Seeds

__all__ = ["DoneEnv", "DoneVectorEnv"]

# Observations, rewards float64 [num_envs], dones bool [num_envs], one info per environment.
VectorDoneStep = tuple[object, Array, npt.NDArray[np.bool_], list[Info]]


def _new_seed() -> int:
    """Return a seed of 31 bits from the operating system."""
    return int(np.random.SeedSequence().generate_state(1)[0] >> 1)


class DoneEnv(Adapter, Env):
    """A current environment with the interface of Gym 0.21; see `gymcore.compat.to_done_api`.

    It is an `Env` of Gym 0.21. Other attributes are read from the layers of `env`, and set in the
    layer that has them.

    Attributes:
        env: The current environment.
        waiting_seed: Seed of the next reset, or None.

    Examples:
        >>> import gymcore as gym
        >>> env = DoneEnv(gym.make("FrozenLake-v1", is_slippery=False))
        >>> env.reset(), env.step(2)
        (0, (1, 0, False, {'prob': 1.0}))
    """

    waiting_seed: int | None = None

    def __init__(self, env: gymcore.Env) -> None:
        super().__init__(env, spaces)
        self.spec = env.spec
        self.reward_range = env.reward_range
        old_names: Info = {"render.modes": list(env.metadata.get("render_modes") or [])}
        if "render_fps" in env.metadata:
            old_names["video.frames_per_second"] = env.metadata["render_fps"]
        self.metadata = {**env.metadata, **old_names}

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: object) -> None:
            """Set an attribute here if a class declares it, otherwise in `env`."""
            if hasattr(type(self), name):
                object.__setattr__(self, name, value)
            else:
                super().__setattr__(name, value)

    @property
    def np_random(self) -> Any:
        """The environment's random generator, with the methods that generators had in Gym 0.21."""
        return np.random.RandomState(self.env.np_random.bit_generator)

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self.env.np_random = value

    def seed(self, seed: int | None = None) -> list[int]:
        """Set the seed of `np_random` and of the next reset; return it in a list.

        None draws a new seed. An `Error` is raised if the seed is negative or not an integer.
        """
        self.waiting_seed = _new_seed() if seed is None else seeding.checked_seed(seed)
        self.env.np_random = seeding.np_random(self.waiting_seed)[0]
        return [self.waiting_seed]

    def reset(
        self, *, seed: int | None = None, return_info: bool = False, options: Options = None
    ) -> Any:
        """Start an episode and return its first observation.

        Without `seed`, the reset uses the seed passed to `seed()` since the last reset, if any.
        With `return_info` (Gym 0.22), return a tuple of the observation and the info.
        """
        seed = self.waiting_seed if seed is None else seed
        self.waiting_seed = None
        observation, info = self.env.reset(seed=seed, options=options)
        return (observation, info) if return_info else observation

    def step(self, action: object) -> tuple[Any, Any, bool, Info]:  # type: ignore[override]
        """Step the environment; return observation, reward, done and info."""
        return convert_to_done_step_api(self.env.step(action))

    def render(self, mode: str = "human", **kwargs: object) -> Any:
        """Render the environment in one of its modes; any other raises `UnsupportedMode`.

        The environment may have been made with another mode or without one: the call sets its
        `render_mode` temporarily.
        """
        if mode == self.env.render_mode:
            return self.env.render(**kwargs)
        if mode not in (self.env.metadata.get("render_modes") or ()):
            raise error.UnsupportedMode(
                f"mode: expected one of {self.env.metadata.get('render_modes')}, got {mode!r}"
            )
        base = self.env.unwrapped
        original_mode = base.render_mode
        base.render_mode = mode
        try:
            return self.env.render(**kwargs)
        finally:
            base.render_mode = original_mode

    def __str__(self) -> str:
        return Env.__str__(self)

    __repr__ = __str__


class DoneVectorEnv(VectorWrapper, Env):  # type: ignore[misc]
    """A vector environment with the interface of Gym 0.21; see `gymcore.compat.to_done_api`.

    A step that ends an episode also begins the next one, regardless of the autoreset mode of the
    wrapped vector environment: the row is the first observation of the new episode, and the info
    has the final observation of the old one as `terminal_observation`. Attributes of inner layers
    are forwarded.

    Attributes:
        waiting_seed: Seed or seeds of the next reset, or None.

    Examples:
        >>> import gymcore as gym
        >>> envs = DoneVectorEnv(gym.make_vec("FrozenLake-v1", num_envs=3, is_slippery=False))
        >>> observations = envs.reset()
        >>> observations, rewards, dones, infos = envs.step([2, 1, 0])
        >>> observations, dones
        (array([1, 4, 0]), array([False, False, False]))
    """

    def __init__(self, env: Any) -> None:
        check_single_agents(env)
        super().__init__(env if isinstance(env, VectorEnv) else env.unwrapped)
        self.env = env
        mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self._same_step = mode is AutoresetMode.SAME_STEP
        self.waiting_seed: int | list[int | None] | None = None
        self._actions: object = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            return inner_attribute(self.__dict__.get("env"), name)

    def seed(self, seed: int | Sequence[int | None] | None = None) -> list[list[int | None]]:
        """Set the seeds of the next reset; return a list with a list of one seed per environment.

        An integer `s` seeds environment `i` with `s + i`; None draws a new `s`. A sequence has one
        seed per environment, or None to leave its generator unchanged; a wrong length raises
        `InvalidArgument`.
        """
        chosen = checked_seeds(_new_seed() if seed is None else seed, self.num_envs)
        self.waiting_seed = chosen
        return [[item] for item in seeds_per_env(chosen, self.num_envs)]

    def reset(
        self, *, seed: Seeds = None, return_info: bool = False, options: Options = None
    ) -> Any:
        """Start new episodes and return the batch of first observations.

        The arguments are those of `DoneEnv.reset`; with `return_info`, return the list of infos as
        well.
        """
        seed = self.waiting_seed if seed is None else seed
        self.waiting_seed = None
        observations, infos = self.env.reset(seed=seed, options=options)
        return (observations, self._list_infos(infos)) if return_info else observations

    def step(  # type: ignore[override]
        self, actions: object
    ) -> VectorDoneStep:
        """Step the environments; return observations, rewards, dones and a list of infos.

        Rewards are float64 [num_envs], dones bool [num_envs]. If an episode has ended, the info is
        the final one of this episode, with `terminal_observation` and `TimeLimit.truncated`.
        """
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        dones = terminations | truncations
        infos_list = self._list_infos(infos)
        lanes = np.flatnonzero(dones).tolist()
        if not lanes:
            return observations, rewards, dones, infos_list
        if "episode" in infos:
            for lane in np.flatnonzero(infos["_episode"]).tolist():
                infos_list[lane]["episode"] = split_info(infos["episode"], lane)
        if self._same_step:
            last = infos["final_obs"]
            # Outside final_info are the new episode's entries, and those that wrappers added to the
            # old.
            final_info = remove_gym26_names(infos).get("final_info", {})
            for lane in lanes:
                infos_list[lane].update(split_info(final_info, lane))
        else:
            last = list(iterate(self.observation_space, observations))
            observations, _ = self.env.reset(options={"reset_mask": dones.copy()})
        for lane in lanes:
            infos_list[lane].update(
                {
                    "TimeLimit.truncated": bool(truncations[lane] and not terminations[lane]),
                    "terminal_observation": last[lane],
                }
            )
        return observations, rewards, dones, infos_list

    def _list_infos(self, infos: Info) -> list[Info]:
        """Return one dict per lane, without the entries of ended episodes."""
        if not infos:
            return [{} for _ in range(self.num_envs)]
        final = {"final_obs", "final_observation", "final_info", "episode"}
        current = {key: value for key, value in infos.items() if key.removeprefix("_") not in final}
        return [split_info(current, lane) if current else {} for lane in range(self.num_envs)]

    def step_async(self, actions: object) -> None:
        """Store the actions for `step_wait`; a second call raises `AlreadyPendingCallError`."""
        if self._actions is not None:
            raise error.AlreadyPendingCallError("step_async was called twice", "step")
        self._actions = actions

    def step_wait(self) -> VectorDoneStep:
        """Step with the actions of `step_async`; without that call, raise `NoAsyncCallError`."""
        if self._actions is None:
            raise error.NoAsyncCallError("step_wait was called without step_async", "step")
        actions, self._actions = self._actions, None
        return self.step(actions)

    def render(self, mode: str | None = None) -> Any:
        """Return a tuple of frames, or None, in the mode with which the environments were made.

        Another `mode` raises `UnsupportedMode`.
        """
        if mode is not None and mode != self.env.render_mode:
            raise error.UnsupportedMode(
                f"mode: the environments were made with render_mode={self.env.render_mode!r}, "
                f"got {mode!r}"
            )
        return self.env.render()
