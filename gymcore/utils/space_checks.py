"""Checks of spaces, and of the observations that should lie in them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gymcore import error, logger, spaces

if TYPE_CHECKING:
    from gymcore.spaces import Box, Space


def _check_box_shapes(space: Box, space_type: str) -> None:
    for bound in ("low", "high"):
        shape = getattr(space, bound).shape
        if shape != space.shape:
            raise error.FailedCheck(
                f"The Box {space_type} space shape and {bound} shape have different shapes, "
                f"{bound} shape: {shape}, box shape: {space.shape}"
            )


def _check_box_observation_space(observation_space: Box) -> None:
    """Check the bounds of a box of observations."""
    _check_box_shapes(observation_space, "observation")
    low, high = observation_space.low, observation_space.high
    if (low < high).all():
        return
    if (low == high).any():
        logger.warn("A Box observation space maximum and minimum values are equal.")
    elif (low > high).any():
        logger.warn("A Box observation space low value is greater than a high value.")


def _check_box_action_space(action_space: Box) -> None:
    """Check the bounds of a box of actions."""
    _check_box_shapes(action_space, "action")
    if (action_space.low == action_space.high).any():
        logger.warn("A Box action space maximum and minimum values are equal.")


def check_space(
    space: Space[Any], space_type: str, check_box_space_fn: Callable[[Box], None]
) -> None:
    """Check that a space makes sense, subspaces included.

    Args:
        space: The space.
        space_type: "observation" or "action", for the messages.
        check_box_space_fn: What to check for each `Box`.

    Raises:
        ArgumentTypeError: if it is no `Space`.
        FailedCheck: (also an `AssertionError`) if nothing can be sampled from it.
    """
    if not isinstance(space, spaces.Space):
        raise error.ArgumentTypeError(
            f"{space_type} space does not inherit from `gymcore.spaces.Space`, "
            f"actual type: {type(space)}"
        )
    if isinstance(space, spaces.Box):
        check_box_space_fn(space)
    elif isinstance(space, spaces.Discrete):
        if space.n <= 0:
            raise error.FailedCheck(
                f"Discrete {space_type} space's number of elements must be positive, "
                f"actual number of elements: {space.n}"
            )
        if space.shape != ():
            raise error.FailedCheck(
                f"Discrete {space_type} space's shape should be empty, actual shape: {space.shape}"
            )
    elif isinstance(space, spaces.MultiDiscrete):
        if space.shape != space.nvec.shape:
            raise error.FailedCheck(
                f"Multi-discrete {space_type} space's shape must be equal to the nvec shape, "
                f"space shape: {space.shape}, nvec shape: {space.nvec.shape}"
            )
        if not np.all(space.nvec > 0):
            raise error.FailedCheck(
                f"Multi-discrete {space_type} space's all nvec elements must be greater than 0, "
                f"actual nvec: {space.nvec}"
            )
    elif isinstance(space, spaces.MultiBinary):
        if not all(length > 0 for length in space.shape):
            raise error.FailedCheck(
                f"Multi-binary {space_type} space's all shape elements must be greater than 0, "
                f"actual shape: {space.shape}"
            )
    elif isinstance(space, (spaces.Tuple, spaces.Dict)):
        if len(space.spaces) == 0:
            raise error.FailedCheck(
                f"An empty {type(space).__name__} {space_type} space is not allowed."
            )
        subspaces = space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces
        for subspace in subspaces:
            check_space(subspace, space_type, check_box_space_fn)


check_observation_space = partial(
    check_space, space_type="observation", check_box_space_fn=_check_box_observation_space
)
check_action_space = partial(
    check_space, space_type="action", check_box_space_fn=_check_box_action_space
)


def check_obs(obs: Any, observation_space: Space[Any], method_name: str) -> None:
    """Warn if an observation has the wrong type or lies outside the observation space.

    Args:
        obs: The observation.
        observation_space: The space it should be in.
        method_name: "reset" or "step", for the messages.

    Raises:
        FailedCheck: (also an `AssertionError`) if it has the wrong keys or the wrong length.
    """
    pre = f"The obs returned by the `{method_name}()` method"
    if isinstance(observation_space, spaces.Discrete):
        if not isinstance(obs, (np.int64, int)):
            logger.warn(f"{pre} should be an int or np.int64, actual type: {type(obs)}")
    elif isinstance(observation_space, spaces.Box):
        if not isinstance(obs, np.ndarray):
            logger.warn(f"{pre} was expecting a numpy array, actual type: {type(obs)}")
        elif obs.dtype != observation_space.dtype:
            logger.warn(
                f"{pre} was expecting numpy array dtype to be {observation_space.dtype}, "
                f"actual type: {obs.dtype}"
            )
    elif isinstance(observation_space, (spaces.MultiBinary, spaces.MultiDiscrete)):
        if not isinstance(obs, np.ndarray):
            logger.warn(f"{pre} was expecting a numpy array, actual type: {type(obs)}")
    elif isinstance(observation_space, spaces.Tuple):
        if not isinstance(obs, tuple):
            logger.warn(f"{pre} was expecting a tuple, actual type: {type(obs)}")
        if len(obs) != len(observation_space.spaces):
            raise error.FailedCheck(
                f"{pre} length is not same as the observation space length, "
                f"obs length: {len(obs)}, space length: {len(observation_space.spaces)}"
            )
        for sub_obs, sub_space in zip(obs, observation_space.spaces, strict=True):
            check_obs(sub_obs, sub_space, method_name)
    elif isinstance(observation_space, spaces.Dict):
        if not isinstance(obs, dict):
            raise error.FailedCheck(f"{pre} must be a dict, actual type: {type(obs)}")
        if obs.keys() != observation_space.spaces.keys():
            raise error.FailedCheck(
                f"{pre} observation keys is not same as the observation space keys, "
                f"obs keys: {list(obs)}, space keys: {list(observation_space.spaces)}"
            )
        for key, sub_space in observation_space.spaces.items():
            check_obs(obs[key], sub_space, method_name)

    try:
        if obs not in observation_space:
            logger.warn(f"{pre} is not within the observation space.")
    except Exception as problem:
        logger.warn(f"{pre} is not within the observation space with exception: {problem}")


def data_shares_objects(data_1: Any, data_2: Any) -> bool:
    """Whether changing one of two observations or infos in place would change the other.

    Args:
        data_1: An array, a dict, or a tuple, to any depth. Anything else is taken for independent.
        data_2: The same kind of thing.

    Returns:
        Whether they hold the same dict, or arrays over the same memory, at the same place.

    Example:
        >>> position = np.zeros(2)
        >>> data_shares_objects({"position": position}, {"position": position[:1]})
        True
        >>> data_shares_objects({"position": position}, {"position": position.copy()})
        False
    """
    if type(data_1) is not type(data_2):
        return False
    if isinstance(data_1, np.ndarray):
        try:
            return np.shares_memory(data_1, data_2, max_work=10_000)  # type: ignore[arg-type]
        except np.exceptions.TooHardError:
            return np.may_share_memory(data_1, data_2)
    if isinstance(data_1, dict):
        return data_1 is data_2 or any(
            data_shares_objects(value, data_2[key])
            for key, value in data_1.items()
            if key in data_2
        )
    if isinstance(data_1, tuple):
        return any(data_shares_objects(a, b) for a, b in zip(data_1, data_2, strict=False))
    return False
