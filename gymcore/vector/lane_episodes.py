"""Autoreset modes, and tracking of the lanes that begin or end an episode."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.base.arguments import split_reset_mask
from gymcore.core import Options
from gymcore.vector.agents import Agents, check_single_agents

Mask = npt.NDArray[np.bool_]


class AutoresetMode(Enum):
    """When an environment whose episode has ended is reset.

    Functions that take a mode also accept its value, such as "SameStep", and other spellings of it,
    such as "same_step" and "same-step".

    Examples:
        >>> AutoresetMode("same_step")
        <AutoresetMode.SAME_STEP: 'SameStep'>
    """

    NEXT_STEP = "NextStep"
    """The step after the last one resets: its action is ignored, its reward is 0, its flags are
    False, and it returns the first observation and info of the new episode."""

    SAME_STEP = "SameStep"
    """The last step itself resets and returns the new episode's first observation and info; the old
    episode's last ones are in `info["final_obs"]` and `info["final_info"]`."""

    DISABLED = "Disabled"
    """The caller resets: `reset(options={"reset_mask": terminated | truncated})`. Stepping an ended
    environment raises `gymcore.error.ResetNeeded`."""

    @classmethod
    def _missing_(cls, value: object) -> AutoresetMode:
        normalized = str(value).replace("_", "").replace("-", "").lower()
        for mode in cls:
            if mode.value.lower() == normalized:
                return mode
        expected = ", ".join(repr(mode.value) for mode in cls)
        raise ValueError(f"{value!r} is not a valid AutoresetMode: expected one of {expected}")


AutoresetMode.__module__ = "gymcore.vector.vector_env"  # where pickles of Gymnasium find it

# The numbers of the modes in compiled code (gymcore_ext/engine/episodes.pxd).
AUTORESET_NUMBERS = {mode: number for number, mode in enumerate(AutoresetMode)}


class LaneEpisodes:
    """Tracks the starts and ends of episodes for a vector wrapper that keeps a state per lane.

    Call `reset` with the options of every reset, `step` with the flags of every step, and `end` in
    the wrapper's `end_episodes`.

    Attributes:
        mode: The `AutoresetMode` of the environment; NEXT_STEP if its metadata has none.
        same_step: Whether the mode is SAME_STEP: the row of a lane that has ended is then the first
            observation of its new episode, and the old episode's last one is in the infos.
        ended: `[num_envs] bool`, lanes whose episode has ended and that have not begun a new one.
            The next step resets them (NEXT_STEP) or is not allowed (DISABLED). Never changed in
            place.
        agents_ended: `[num_envs, agents] bool`, agents that ended before their world, for worlds of
            several agents. None for single agents.

    Examples:
        >>> import gymcore as gym
        >>> import numpy as np
        >>> episodes = LaneEpisodes(gym.make_vec("CartPole-v1", num_envs=2))
        >>> episodes.reset({"reset_mask": np.array([True, False])})
        array([ True, False])
        >>> no, first = np.array([False, False]), np.array([True, False])
        >>> episodes.step(first, no)  # lane 0 ends
        (array([False, False]), array([ True, False]))
        >>> episodes.step(no, no)  # and begins its next episode
        (array([ True, False]), array([False, False]))
    """

    def __init__(self, env: Any, *, takes_worlds: bool = False) -> None:
        """Record that no episode has begun; only size, mode and agents of `env` are read."""
        if not takes_worlds:
            check_single_agents(env)
        agents = getattr(env, "agents", None)
        self.mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self.same_step = self.mode is AutoresetMode.SAME_STEP
        self._num_envs = env.num_envs
        self._no_lanes = np.zeros(env.num_envs, np.bool_)
        self._no_lanes.flags.writeable = False
        self.ended: Mask = self._no_lanes
        self.agents_ended: Mask | None = None
        if isinstance(agents, Agents):
            self.agents_ended = np.zeros((env.num_envs, len(agents.names)), np.bool_)

    def reset(self, options: Options) -> Mask:
        """Record a reset with these options; return the lanes that have begun an episode.

        The mask is a new array `[num_envs] bool`: `options["reset_mask"]`, or all True.
        """
        _, mask = split_reset_mask(options, self._num_envs)
        begun = np.ones(self._num_envs, np.bool_) if mask is None else mask.copy()
        self.ended = self.ended & ~begun
        if self.agents_ended is not None:
            self.agents_ended = self.agents_ended & ~begun[:, None]
        return begun

    def step(
        self, terminated: Mask, truncated: Mask, lanes: npt.NDArray[np.int64] | None = None
    ) -> tuple[Mask, Mask]:
        """Record a step; return two masks `[num_envs] bool`, which must not be changed.

        `begun`: lanes whose row is the first observation of an episode. In NEXT_STEP, their
        previous episode ended in an earlier step, and this step took no action and gave no reward;
        in SAME_STEP, it ended in this step. `ended`: lanes whose episode ended in this step. If
        `lanes` is given, all arrays have one row for each of these lanes instead.
        """
        ended: Mask = terminated | truncated
        if self.agents_ended is not None:  # a world ends with its last agent
            rows = slice(None) if lanes is None else lanes
            ended_agents = self.agents_ended.copy()
            of_world = ended_agents[rows] | ended
            ended = np.logical_and.reduce(of_world, axis=1)
            ended_agents[rows] = of_world & ~ended[:, None]
            self.agents_ended = ended_agents
        if self.same_step:
            return ended, ended
        begun = self.ended if self.mode is AutoresetMode.NEXT_STEP else self._no_lanes
        if lanes is None:
            self.ended = ended
        else:
            begun = begun[lanes]
            self.ended = self.ended.copy()
            self.ended[lanes] = ended
        return begun, ended

    def end(self, mask: Mask) -> None:
        """Record that an outer wrapper has ended episodes; see `VectorEnv.end_episodes`."""
        if not self.same_step:
            self.ended = self.ended | mask
            if self.agents_ended is not None:
                self.agents_ended = self.agents_ended & ~mask[:, None]
