"""Wrappers that change batches of actions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from gymcore.base.arguments import lane_indices
from gymcore.base.nested import map_leaves
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import ActType, ObsType, WrapperActType
from gymcore.error import ArgumentTypeError, InvalidAction
from gymcore.spaces import Space
from gymcore.vector.utils import batch_space, concatenate, create_empty_array, iterate
from gymcore.vector.vector_env import ArrayType, EnvIds, VectorActionWrapper, VectorEnv, VectorStep
from gymcore.wrappers import transform_action
from gymcore.wrappers.utils import Change, Function
from gymcore.wrappers.vector.lanes import (
    AgentRows,
    VectorForm,
    make_single,
    set_spaces,
    vector_form,
)

__all__ = [
    "ClipAction",
    "DiscretizeAction",
    "RescaleAction",
    "TransformAction",
    "VectorizeTransformAction",
]


class _LaneActions(
    VectorActionWrapper[ObsType, WrapperActType, ActType, ArrayType], RecordConstructorArgs
):
    """Base class of wrappers that change the actions of all lanes or of some."""

    def step_lanes(
        self, actions: WrapperActType, env_ids: EnvIds
    ) -> VectorStep[ObsType, ArrayType]:
        """Step some environments with changed actions; see `VectorEnv.step_lanes`."""
        lanes = lane_indices(env_ids, self.num_envs, "env_ids")
        results: VectorStep[ObsType, ArrayType]
        results = self.env.step_lanes(self._lane_actions(actions, len(lanes)), lanes)
        return results

    def _lane_actions(self, actions: WrapperActType, n: int) -> ActType:
        """Return the actions that are passed to `n` lanes."""
        return self.actions(actions)


class TransformAction(_LaneActions[ObsType, WrapperActType, ActType, ArrayType]):
    """Apply a function to the batches of actions.

    The function gets a copy of the actions, which it may change.

    Examples:
        >>> import gymcore as gym
        >>> from gymcore.wrappers.vector import TransformAction
        >>> envs = gym.make_vec("Pendulum-v1", num_envs=3)
        >>> envs = TransformAction(envs, lambda actions: -actions)
        >>> envs.actions(np.ones((3, 1), np.float32)).tolist()
        [[-1.0], [-1.0], [-1.0]]
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        func: Callable[[WrapperActType], ActType],
        action_space: Space[WrapperActType] | None = None,
        single_action_space: Space | None = None,
    ) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment.
            func: Function that maps a batch of actions of the wrapper to a batch for `env`.
            action_space: Space of the arguments of `func`; None to batch `single_action_space`.
            single_action_space: Space of one action. If both are None, the spaces are those of
                `env`.

        Raises:
            ArgumentTypeError: If `env` is not a `VectorEnv`, `func` cannot be called, or a space is
                not a `Space`.
        """
        if not callable(func):
            raise ArgumentTypeError(f"Expected func to be a function of actions, got {type(func)}")
        for name, space in (
            ("action_space", action_space),
            ("single_action_space", single_action_space),
        ):
            if not (space is None or isinstance(space, Space)):
                raise ArgumentTypeError(f"Expected {name} to be a Space or None, got {type(space)}")
        _LaneActions.__init__(self, env)
        set_spaces(self, "action", action_space, single_action_space)
        self.func = func

    def actions(self, actions: WrapperActType) -> ActType:
        """Return the batch of actions that is passed to `env`."""
        return self.func(_copy(actions))


class VectorizeTransformAction(_LaneActions[ObsType, WrapperActType, ActType, ArrayType]):
    """Apply a single wrapper that changes actions to each action of a batch, also of agents.

    Wrappers of gymcore are applied to the whole batch at once; others are called for each action.

    Attributes:
        wrapper: The single wrapper, around an environment that has only the spaces.

    Examples:
        >>> import gymcore as gym
        >>> from gymcore.wrappers import TransformAction
        >>> from gymcore.wrappers.vector import VectorizeTransformAction
        >>> envs = gym.make_vec("Pendulum-v1", num_envs=2)
        >>> envs = VectorizeTransformAction(
        ...     envs, TransformAction, func=lambda action: -action, action_space=None
        ... )
        >>> envs.actions(np.ones((2, 1), np.float32)).tolist()
        [[-1.0], [-1.0]]
    """

    wrapper: transform_action.TransformAction

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        wrapper: Callable[..., transform_action.TransformAction],
        **kwargs: object,
    ) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment.
            wrapper: A class derived from `gymcore.wrappers.TransformAction`, or a function that
                returns an instance of it from an environment.
            **kwargs: Arguments of `wrapper`, except the environment.

        Raises:
            ArgumentTypeError: If `env` is not a `VectorEnv`, or `wrapper` is not such a class.
        """
        _LaneActions.__init__(self, env)
        self.wrapper = make_single(env, wrapper, transform_action.TransformAction, kwargs)
        self._rows = AgentRows(env)
        self._rows.set_space(self, 1, self.wrapper.action_space)
        self._batch_function = self.wrapper._batch_function()
        single = self.agents is None
        self._whole_batch = _for_batch(self._batch_function, self.num_envs) if single else None
        self._shape, self._dtype = self.action_space.shape, env.action_space.dtype

    def actions(self, actions: WrapperActType) -> ActType:
        """Return the batch of actions that is passed to `env`, a new batch.

        Raises:
            InvalidAction: If `actions` is not a batch of one action per environment.
        """
        if self._whole_batch is None:
            return self._lane_actions(actions, self.num_envs)
        return self._checked(self._whole_batch, actions, self._shape)

    def _lane_actions(self, actions: WrapperActType, n: int) -> ActType:
        if self._batch_function is not None:
            shape = (n, *(self.single_action_space.shape or ()))
            return self._checked(self._batch_function, actions, shape)
        single, count = self._rows.spaces[1], n * (len(self.agents.names) if self.agents else 1)
        # Copied, since the wrapper may change its argument.
        rows = self._rows.spread(_copy(actions))
        each = iterate(batch_space(self.wrapper.action_space, count), rows)
        changed = [self.wrapper.action(action) for action in each]
        if len(changed) != count:
            raise InvalidAction(f"Expected actions for {n} environments, got {len(changed)}")
        batch: ActType = concatenate(single, changed, create_empty_array(single, count))
        return self._rows.joined(batch)

    def _checked(
        self, function: Function, actions: WrapperActType, shape: tuple[int, ...] | None
    ) -> ActType:
        """Check the shape of actions; return `function(actions)` in the dtype of `env`."""
        array = np.asarray(actions)
        if array.shape != shape:
            raise InvalidAction(f"Expected actions of shape {shape}, got {array.shape}")
        changed = self._rows.joined(function(self._rows.spread(array)))
        checked: ActType = changed if changed.dtype == self._dtype else changed.astype(self._dtype)
        return checked


@vector_form(transform_action.ClipAction)
class ClipAction(VectorForm, VectorizeTransformAction):
    """Clip the actions of a batch to the bounds of a `Box` space.

    Examples:
        >>> import gymcore as gym
        >>> from gymcore.wrappers.vector import ClipAction
        >>> envs = ClipAction(gym.make_vec("Pendulum-v1", num_envs=2))
        >>> envs.actions(np.array([[-7.0], [1.0]], np.float32)).tolist()
        [[-2.0], [1.0]]
    """


@vector_form(transform_action.RescaleAction)
class RescaleAction(VectorForm, VectorizeTransformAction):
    """Rescale the actions of a batch linearly to the bounds of a `Box` space.

    Examples:
        >>> import gymcore as gym
        >>> envs = RescaleAction(gym.make_vec("Pendulum-v1", num_envs=2), -1, 1)
        >>> envs.actions(np.float32([[0.5], [-1]])).tolist()
        [[1.0], [-2.0]]
    """


@vector_form(transform_action.DiscretizeAction)
class DiscretizeAction(VectorForm, VectorizeTransformAction):
    """Split each component of bounded `Box` actions into equal bins, chosen by index.

    Examples:
        >>> import gymcore as gym
        >>> from gymcore.wrappers.vector import DiscretizeAction
        >>> envs = DiscretizeAction(gym.make_vec("Pendulum-v1", num_envs=2), bins=4)
        >>> envs.actions(np.array([3, 0])).tolist()
        [[1.5], [-1.5]]
        >>> envs.revert_actions(np.array([[1.2], [-9.0]]))
        array([3, 0])
    """

    wrapper: transform_action.DiscretizeAction

    def revert_actions(self, actions: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return the actions of the wrapper whose bin centers are nearest to actions of `env`.

        Args:
            actions: A batch of actions of `env`, `[num_envs, ...]`.

        Returns:
            Bin indices, `[num_envs] int64`; `[num_envs, n_dims]` with `multidiscrete`.

        Raises:
            InvalidAction: If the shape is wrong.
        """
        if np.shape(actions) != self.env.action_space.shape:
            raise InvalidAction(
                f"Expected actions of shape {self.env.action_space.shape}, got {np.shape(actions)}"
            )
        reverted = self.wrapper.revert_batch(self._rows.spread(np.asarray(actions)))
        return self._rows.joined(reverted)


Actions = TypeVar("Actions")


def _copy(actions: Actions) -> Actions:
    """Copy the NumPy arrays in actions; arrays of other packages are not copied."""
    copies: Actions = map_leaves(
        lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, actions
    )
    return copies


def _for_batch(function: Change | None, n: int) -> Change | None:
    """Return a version of `function` for batches of `n`: broadcasting takes 4 times as long."""
    if not isinstance(function, partial):
        return function
    arrays = isinstance(function.args[0], np.ndarray)  # bounds, or slope and offset
    args = [np.array([each] * n) if arrays else each for each in function.args]
    return partial(function.func, *args)
