"""Vector environments of today, as vector environments of Gym 0.21."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.compat.done_api import fresh_seed
from gymcore.compat.forwarding import VectorForwarding
from gymcore.utils import seeding
from gymcore.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymcore.vector.gym26_infos import remove_gym26_names
from gymcore.vector.utils import iterate
from gymcore.vector.utils.infos import split_info

__all__ = ["DoneVectorEnv", "list_infos"]

FINAL_KEYS = frozenset({"final_obs", "final_observation", "final_info"})


def list_infos(infos: dict[str, Any], num_envs: int) -> list[dict[str, Any]]:
    """Return one info dict for each lane.

    Args:
        infos: The merged infos of a step, left as they are.
        num_envs: Number of lanes.

    Returns:
        A list of dicts, without the last observations and infos of ended episodes.
    """
    kept = {key: value for key, value in infos.items() if key.removeprefix("_") not in FINAL_KEYS}
    return [split_info(kept, lane) if kept else {} for lane in range(num_envs)]


class DoneVectorEnv(VectorForwarding, VectorWrapper[Any, Any, Any, Any, npt.NDArray[Any]]):
    """A vector environment with the interface of Gym 0.21; see `gymcore.compat.to_done_api`.

    An environment that has ended restarts in the same step, whatever the autoreset mode of the
    wrapped one: its row is the first observation of the new episode, and its info has the last one
    as `terminal_observation`.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        """Wrap `env`.

        Args:
            env: A vector environment of today.
        """
        VectorWrapper.__init__(self, env)
        mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self._same_step = mode is AutoresetMode.SAME_STEP
        self.waiting_seed: int | list[int | None] | None = None
        self._actions: Any = None

    def seed(self, seed: int | Sequence[int | None] | None = None) -> list[Any]:
        """Seed the environments: the next reset begins the random streams of these seeds.

        Args:
            seed: `s` for `s + i` in environment `i`, a sequence of seeds, or None for new ones.

        Returns:
            A list of a list with the seed, for each environment.
        """
        if seed is None or isinstance(seed, (int, np.integer)):
            first = fresh_seed() if seed is None else seeding.checked_seed(seed)
            self.waiting_seed = first
            return [[first + i] for i in range(self.num_envs)]
        seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise error.InvalidArgument(
                f"seed: expected {self.num_envs} seeds, one for each environment, got {len(seeds)}"
            )
        self.waiting_seed = seeds
        return [[one] for one in seeds]

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        return_info: bool = False,
        options: dict[str, Any] | None = None,
    ) -> Any:
        """Begin new episodes.

        Args:
            seed: As Gym 0.22 had it; None for what was given to `seed`, if that is new.
            return_info: As Gym 0.22 had it: return the infos too.
            options: For the environments.

        Returns:
            The batch of observations; with `return_info` a tuple of it and the list of infos.
        """
        seed = self.waiting_seed if seed is None else seed
        self.waiting_seed = None
        observations, infos = self.env.reset(seed=seed, options=options)
        if return_info:
            return observations, list_infos(infos, self.num_envs)
        return observations

    def step(  # type: ignore[override]
        self, actions: Any
    ) -> tuple[Any, npt.NDArray[Any], npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Step the environments.

        Returns:
            observations: The batch of observations.
            rewards: `[num_envs] float64`.
            dones: `[num_envs] bool`, terminated or truncated.
            infos: A list of one dict for each environment. Where an episode has ended it is the
                last info, with `terminal_observation` and `TimeLimit.truncated`.
        """
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        dones = terminations | truncations
        infos_list = list_infos(infos, self.num_envs)
        lanes = np.flatnonzero(dones).tolist()
        if not lanes:
            return observations, rewards, dones, infos_list
        if self._same_step:
            # What is beside final_info is the new episode's, or was added for the old by a wrapper.
            old_infos = _ended_infos(infos, infos_list, lanes)
            last = infos["final_obs"]
        else:
            old_infos = {lane: infos_list[lane] for lane in lanes}
            rows = list(iterate(self.observation_space, observations))
            last = {lane: rows[lane] for lane in lanes}
            observations, _ = self.env.reset(options={"reset_mask": dones.copy()})
        for lane in lanes:
            infos_list[lane] = {
                **old_infos[lane],
                "TimeLimit.truncated": bool(truncations[lane] and not terminations[lane]),
                "terminal_observation": last[lane],
            }
        return observations, rewards, dones, infos_list

    def step_async(self, actions: Any) -> None:
        """Keep the actions for `step_wait`.

        Args:
            actions: A batch of actions.

        Raises:
            AlreadyPendingCallError: if the last ones were not stepped yet.
        """
        if self._actions is not None:
            raise error.AlreadyPendingCallError("step_async was called twice", "step")
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[Any, npt.NDArray[Any], npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Step with the actions of `step_async`.

        Raises:
            NoAsyncCallError: if there are none.
        """
        if self._actions is None:
            raise error.NoAsyncCallError("step_wait was called without step_async", "step")
        actions, self._actions = self._actions, None
        return self.step(actions)

    def render(self, mode: str | None = None) -> Any:
        """Render the environments in the mode they were made with.

        Args:
            mode: That mode, or None.

        Returns:
            A tuple of frames, or None.

        Raises:
            UnsupportedMode: for another mode.
        """
        if mode is not None and mode != self.env.render_mode:
            raise error.UnsupportedMode(
                f"mode: the environments were made with render_mode={self.env.render_mode!r}, "
                f"got {mode!r}"
            )
        return self.env.render()


def _ended_infos(
    infos: dict[str, Any], infos_list: list[dict[str, Any]], lanes: list[int]
) -> dict[int, dict[str, Any]]:
    """Return the last infos of ended episodes in same-step mode, by lane."""
    final = remove_gym26_names(infos).get("final_info", {})
    result = {}
    for lane in lanes:
        result[lane] = {**infos_list[lane], **split_info(final, lane)}
    return result
