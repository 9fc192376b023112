"""Generalized advantage estimates."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore_ext import rollouts

Floats = npt.NDArray[np.float32]


def compute_advantages(
    rewards: npt.NDArray[np.float64], values: Floats, terminated: npt.NDArray[np.bool_],
    truncated: npt.NDArray[np.bool_], final_values: Floats, reset_steps: npt.NDArray[np.bool_], *,
    gamma: float, gae_lambda: float,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return generalized advantage estimates, and the targets of the value function.

    See Schulman et al. 2016, eq. 16. The value after a step is 0 if the step terminates its
    episode, the final value if it only truncates it, and otherwise the value of the next step.
    Advantages never cross the end of an episode. All arrays are C-contiguous.

    Args:
        rewards: float64 [T, N].
        values: float32 [T + 1, N], values of the observations before each step and after the last
            step.
        terminated: bool [T, N].
        truncated: bool [T, N].
        final_values: float32 [T, N], values of the last observations of truncated episodes, at the
            steps that truncate them; the other elements may be anything.
        reset_steps: bool [T, N], steps that only reset a lane; their advantage is 0.
        gamma: discount factor.
        gae_lambda: how far estimates look ahead, from one step (0) to the end of the rollout
            (1).

    Returns:
        Advantages and returns, new arrays float32 [T, N]; returns are `values[:-1] + advantages`.

    Raises:
        InvalidArgument: If an array has another shape, dtype or layout (a `ValueError`).
        ArgumentTypeError: If an argument is not an array, or not a number (a `TypeError`).

    Examples:
        >>> import numpy as np
        >>> no, rewards = np.zeros((2, 1), bool), np.ones((2, 1))
        >>> values = np.array([[1], [2], [4]], np.float32)
        >>> arguments = rewards, values, no, no, values[1:], no
        >>> compute_advantages(*arguments, gamma=0.5, gae_lambda=0.5)[0].tolist()
        [[1.25], [1.0]]
    """
    for name, factor in (("gamma", gamma), ("gae_lambda", gae_lambda)):
        if isinstance(factor, bool) or not isinstance(
            factor, (int, float, np.integer, np.floating)
        ):
            raise ArgumentTypeError(f"{name}: expected a number, got {factor!r:.200}")
    if not isinstance(rewards, np.ndarray):
        raise ArgumentTypeError(f"rewards: expected an array, got {rewards!r:.200}")
    if rewards.ndim != 2:
        raise InvalidArgument(
            f"rewards: expected a float64 array [T, N], got shape {rewards.shape}"
        )
    flags = terminated, truncated, final_values, reset_steps
    return rollouts.compute_advantages(
        rewards, values, *flags, error, gamma=gamma, gae_lambda=gae_lambda
    )
