"""Exploration bonuses: rewards for situations that a lane has seldom been in."""

from __future__ import annotations

import numpy as np

from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.envs.minigrid.env import MiniGridVectorEnv
from gymcore.error import ArgumentTypeError, UnsupportedMode
from gymcore.spaces import flatdim
from gymcore.vector.vector_env import EnvIds, VectorEnv, VectorStep
from gymcore.wrappers.vector.lanes import LaneWrapper

__all__ = ["ActionBonus", "PositionBonus"]


class _CountBonus(LaneWrapper):
    """Add `scale / sqrt(n)` to rewards, where n counts the visits of the lane to its situation."""

    def __init__(self, env: VectorEnv, scale: float, *situations: int) -> None:
        super().__init__(env)
        if not isinstance(env.unwrapped, MiniGridVectorEnv):
            raise ArgumentTypeError(f"expected a batch of MiniGrid's levels, got {env}")
        if self._episodes.same_step:
            raise UnsupportedMode(
                f"{type(self).__name__}: same-step autoreset hides where an episode ends; "
                'expected autoreset_mode "NextStep" or "Disabled"'
            )
        self._levels = env.unwrapped
        model = self._levels._model
        self.scale = scale
        self.counts = np.zeros((env.num_envs, model.width, model.height, *situations), np.uint32)

    def _situations(self, records: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, ...]:
        return records["agent_x"], records["agent_y"]

    def step(self, actions: object, env_ids: EnvIds | None = None) -> VectorStep:
        """Step, and add the bonus to rewards; see `VectorEnv.step`."""
        results, lanes = self._step(actions, env_ids)
        observations, rewards, terminated, truncated, infos = results
        begun, _ = self._episodes.step(terminated, truncated, lanes)
        rows = np.flatnonzero(~begun)
        stepped = rows if lanes is None else lanes[rows]
        records = self._levels.lane_records[stepped]
        places = (stepped, *self._situations(records, np.asarray(actions)[rows]))
        self.counts[places] += 1
        bonuses = np.zeros(len(rewards))
        bonuses[rows] = self.scale / np.sqrt(self.counts[places])
        return observations, rewards + bonuses, terminated, truncated, infos


class PositionBonus(_CountBonus, RecordConstructorArgs):
    """Add `scale / sqrt(n)` to rewards, where n counts the visits of the lane to its position.

    Counts are of positions after steps, and persist across episodes, as in minigrid's wrapper of
    this name. A step that only resets a lane is not counted.

    Attributes:
        scale: Bonus of the first visit.
        counts: Number of visits, uint32 [num_envs, width, height].

    Examples:
        >>> import gymcore as gym
        >>> from gymcore.envs.minigrid.wrappers import PositionBonus
        >>> envs = PositionBonus(gym.make_vec("MiniGrid-Empty-5x5-v0", num_envs=2))
        >>> _ = envs.reset(seed=1)
        >>> [envs.step([1, 2])[1].round(3).tolist() for _ in range(3)]
        [[1.0, 1.0], [0.707, 1.0], [0.577, 0.707]]
    """

    def __init__(self, env: VectorEnv, scale: float = 1.0) -> None:
        """Wrap a batch of levels.

        Raises:
            ArgumentTypeError: If `env` is another vector environment.
            UnsupportedMode: If its autoreset mode is SAME_STEP.
        """
        _CountBonus.__init__(self, env, scale)


class ActionBonus(_CountBonus, RecordConstructorArgs):
    """Add `1 / sqrt(n)` to rewards, where n counts position, direction and action together.

    Position and direction are those after the step, as in minigrid's wrapper of this name. For the
    rest, see `PositionBonus`.

    Attributes:
        counts: Number of visits, uint32 [num_envs, width, height, 4, actions].

    Examples:
        >>> import gymcore as gym
        >>> from gymcore.envs.minigrid.wrappers import ActionBonus
        >>> envs = ActionBonus(gym.make_vec("MiniGrid-Empty-5x5-v0", num_envs=2))
        >>> _ = envs.reset(seed=1)
        >>> [envs.step([1, 2])[1].round(3).tolist() for _ in range(3)]
        [[1.0, 1.0], [1.0, 1.0], [1.0, 0.707]]
    """

    def __init__(self, env: VectorEnv) -> None:
        """Wrap a batch of levels; raises what `PositionBonus` does."""
        _CountBonus.__init__(self, env, 1.0, 4, flatdim(env.single_action_space))

    def _situations(self, records: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, ...]:
        return *super()._situations(records, actions), records["agent_dir"], actions
