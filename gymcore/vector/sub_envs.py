"""The spaces of a batch, from those of its environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.spaces import Space
from gymcore.spaces.batching import batch_differing_spaces, batch_space
from gymcore.vector.utils.space_checks import check_equal_spaces, check_equivalent_spaces

__all__ = ["adopt_spaces"]


def adopt_spaces(
    envs: Any, observation_spaces: Sequence[Space[Any]], action_spaces: Sequence[Space[Any]]
) -> None:
    """Set the four spaces of a vector environment, after checking that they can be batched.

    Args:
        envs: A vector environment with `num_envs` and `observation_mode`.
        observation_spaces: One for each of its environments.
        action_spaces: One for each of its environments.

    Raises:
        SpaceMismatch: They cannot be batched (a `RuntimeError`).
        InvalidArgument: An unknown `observation_mode` (a `ValueError`).
        ArgumentTypeError: A tuple of what are no spaces (a `TypeError`).
    """
    name, num_envs, mode = type(envs).__name__, envs.num_envs, envs.observation_mode
    if isinstance(mode, tuple) and len(mode) == 2:
        if not all(isinstance(space, Space) for space in mode):
            raise ArgumentTypeError(
                "observation_mode: Expected both elements of observation_mode to be "
                f"Spaces, got {type(mode[0])} and {type(mode[1])}"
            )
        envs.observation_space, envs.single_observation_space = mode
    elif isinstance(mode, str) and mode in ("same", "different"):
        envs.single_observation_space = observation_spaces[0]
        if mode == "same":
            check_equal_spaces("observation", observation_spaces[0], observation_spaces, name)
            envs.observation_space = batch_space(observation_spaces[0], num_envs)
        else:
            envs.observation_space = batch_differing_spaces(list(observation_spaces))
    else:
        raise InvalidArgument(
            "Invalid `observation_mode`, expected: 'same' or 'different' or tuple of single "
            f"and batch observation space, actual got {mode}"
        )
    if mode != "same":
        check_equivalent_spaces(envs.single_observation_space, observation_spaces, name)

    envs.single_action_space = action_spaces[0]
    check_equal_spaces("action", action_spaces[0], action_spaces, name)
    envs.action_space = batch_space(action_spaces[0], num_envs)
