"""Vector wrappers that take an action more than once.

Each does to every lane what its namesake in `gymcore.wrappers.stateful_action` does to one
environment, in every autoreset mode and under masked resets.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore.utils import RecordConstructorArgs
from gymcore.vector.partial_batches import lane_array
from gymcore.vector.utils.arguments import seeds_per_env
from gymcore.vector.vector_env import AutoresetMode
from gymcore.vector.vector_wrappers import VectorWrapper
from gymcore.wrappers.stateful_action import check_repeats, check_sticky
from gymcore.wrappers.vector.lane_episodes import LaneEpisodes
from gymcore.wrappers.vector.lane_repeats import LaneRepeats
from gymcore.wrappers.vector.lane_steps import stepped
from gymcore.wrappers.vector.lane_streams import LaneStreams
from gymcore.wrappers.vector.rows import RowsOf

if TYPE_CHECKING:
    from gymcore.vector.vector_env import VectorEnv

__all__ = ["RepeatAction", "StickyAction"]


class RepeatAction(LaneRepeats, RecordConstructorArgs):
    """Take each action several times, and add up the rewards.

    A lane whose episode ends earlier rests until the others are done.

    Attributes:
        num_repeats: How often.

    Example:
        >>> import gymcore as gym
        >>> envs = RepeatAction(gym.make_vec("CartPole-v1", num_envs=2), num_repeats=3)
        >>> _ = envs.reset(seed=123)
        >>> envs.step([1, 0])[1]
        array([3., 3.])
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], num_repeats: int) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment; it can step some lanes while others rest.
            num_repeats: How often an action is taken, at least 1.

        Raises:
            ArgumentTypeError: `num_repeats` is no integer (a `TypeError`).
            InvalidArgument: It is less than 1 (a `ValueError`).
            UnsupportedMode: The environment steps all lanes or none.
        """
        count = check_repeats(num_repeats)
        RecordConstructorArgs.__init__(self, num_repeats=num_repeats)
        LaneRepeats.__init__(self, env, count)
        self.num_repeats = count


class StickyAction(VectorWrapper[Any, Any, Any, Any, npt.NDArray[Any]], RecordConstructorArgs):
    """Now and then, in some lanes, take the last action again instead of the one that was given.

    Chance is each lane's own `np_random`, so that a lane does what the single wrapper would around
    its environment. That cannot be so where environments live in other processes, or where there
    is one generator for all lanes: the wrapper then has one generator for each lane, seeded by the
    seeds of `reset`.

    Attributes:
        repeat_action_probability: As given.
        repeat_action_duration_range: Fewest and most steps that an action sticks.
        last_action: The batch of actions taken last; None before the first.
        is_sticky_actions: bool [num_envs], whether the next action will be the last one again.
        num_repeats: int64 [num_envs], how many steps it sticks in all.
        repeats_taken: int64 [num_envs], how many of them have been taken.

    Example:
        >>> import gymcore as gym
        >>> envs = StickyAction(gym.make_vec("CartPole-v1", num_envs=3), 0.9)
        >>> _ = envs.reset(seed=123)
        >>> _ = [envs.step([action] * 3) for action in (1, 0, 0)]
        >>> envs.last_action
        array([1, 0, 1])
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        repeat_action_probability: float,
        repeat_action_duration: int | tuple[int, int] = 1,
    ) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment.
            repeat_action_probability: Of beginning to repeat, in [0, 1).
            repeat_action_duration: For how many steps, or the fewest and the most of them.

        Raises:
            InvalidProbability: The probability is outside [0, 1).
            InvalidArgument: The duration is no such thing, or less than 1 (a `ValueError`).
            InvalidBound: The fewest are more than the most.
        """
        durations = check_sticky(repeat_action_probability, repeat_action_duration)
        RecordConstructorArgs.__init__(
            self,
            repeat_action_probability=repeat_action_probability,
            repeat_action_duration=repeat_action_duration,
        )
        VectorWrapper.__init__(self, env)
        self.repeat_action_probability = repeat_action_probability
        self.repeat_action_duration_range = durations
        n = env.num_envs
        self.last_action: Any = None
        self.is_sticky_actions = np.zeros(n, np.bool_)
        self.num_repeats = np.zeros(n, np.int64)
        self.repeats_taken = np.zeros(n, np.int64)
        self._acted = np.zeros(n, np.bool_)  # lanes that have a last action
        self._episodes = LaneEpisodes(env)
        self._rows = RowsOf(env.single_action_space)
        self._streams = LaneStreams(env)

    @property
    def steps_some_lanes(self) -> bool:  # type: ignore[override]
        """Whether the wrapped environment does."""
        return self.env.steps_some_lanes

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environments, and forget their last actions; see `VectorEnv.reset`."""
        results = self.env.reset(seed=seed, options=options)
        begun = self._episodes.reset(options)
        self._forget(np.flatnonzero(begun))
        self._streams.seed(seeds_per_env(seed, self.num_envs), begun)
        return results

    def _forget(self, lanes: npt.NDArray[np.int64]) -> None:
        self._acted[lanes] = self.is_sticky_actions[lanes] = False
        self.num_repeats[lanes] = self.repeats_taken[lanes] = 0

    def step(
        self, actions: Any, env_ids: Sequence[int] | npt.NDArray[Any] | None = None
    ) -> tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Step the environments with these actions, or some of the last; see `VectorEnv.step`.

        Args:
            actions: A row for each lane that is stepped; not changed.
            env_ids: Which lanes, where the wrapped environment can step some; None for all.
        """
        if env_ids is None:
            lanes = np.arange(self.num_envs)
        else:
            env_ids = lanes = lane_array(env_ids, self.num_envs)
        self._rows.check_actions(actions, len(lanes))
        before = self.is_sticky_actions.copy(), self.num_repeats.copy(), self.repeats_taken.copy()
        taken, acting = self._taken(actions, lanes)
        try:
            results, _ = stepped(self, taken, env_ids)
        except BaseException:
            self.is_sticky_actions, self.num_repeats, self.repeats_taken = before
            raise
        self._remember(taken, lanes, acting)
        episodes = self._episodes
        begun, _ = episodes.step(results[2], results[3], None if env_ids is None else lanes)
        if begun.any():
            self._forget(lanes[begun])
        return results

    def _taken(
        self, actions: Any, lanes: npt.NDArray[np.int64]
    ) -> tuple[Any, npt.NDArray[np.bool_]]:
        """Return the actions that are taken, and in which lanes they are."""
        acting = np.ones(len(lanes), np.bool_)
        if self._episodes.mode is AutoresetMode.NEXT_STEP:
            acting = ~self._episodes.ended[lanes]  # the others are only reset
        self._draw(lanes[acting & self._acted[lanes] & ~self.is_sticky_actions[lanes]])
        sticks = acting & self.is_sticky_actions[lanes]
        if sticks.any():
            last = self._rows.take(self.last_action, lanes)
            actions = self._rows.choose(sticks, last, actions)
            self.repeats_taken[lanes[sticks]] += 1
            done = lanes[sticks & (self.repeats_taken[lanes] == self.num_repeats[lanes])]
            self.is_sticky_actions[done] = False
            self.num_repeats[done] = self.repeats_taken[done] = 0
        return actions, acting

    def _draw(self, lanes: npt.NDArray[np.int64]) -> None:
        """Let chance decide in which lanes the last action begins to stick."""
        fewest, most = self.repeat_action_duration_range
        counts = self._streams.draw_repeats(lanes, self.repeat_action_probability, fewest, most)
        begin = counts > 0
        if begin.any():
            chosen = lanes[begin]
            self.is_sticky_actions[chosen] = True
            self.num_repeats[chosen] = counts[begin]
            self.repeats_taken[chosen] = 0

    def _remember(
        self, actions: Any, lanes: npt.NDArray[np.int64], acting: npt.NDArray[np.bool_]
    ) -> None:
        if len(lanes) == self.num_envs and (lanes == np.arange(self.num_envs)).all():
            # What a lane that does not act has here is never used.
            self.last_action = self._rows.copy(actions)
        elif self.last_action is None:
            whole = deepcopy(self.env.action_space.sample())  # room for all lanes
            self.last_action = self._rows.put(whole, lanes, actions)
        else:
            chosen = lanes[acting]
            part = self._rows.take(actions, np.flatnonzero(acting))
            self.last_action = self._rows.put(self.last_action, chosen, part)
        self._acted[lanes[acting]] = True
