"""Action and reward wrappers of Gym 0.26."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.compat.forwarding import Forwarding
from gymcore.core import ActionWrapper, Env
from gymcore.spaces import Box
from gymcore.utils import RecordConstructorArgs
from gymcore.wrappers import transform_reward

__all__ = ["ClipAction", "RescaleAction", "TransformReward"]

Array = npt.NDArray[Any]


def _box_action_space(env: Env[Any, Any], wrapper: str) -> Box:
    """Return the action space, or raise if it is no `Box`."""
    space = env.action_space
    if not isinstance(space, Box):
        raise error.FailedTypeCheck(f"{wrapper}: expected a Box action space, got {space}")
    return space


class ClipAction(Forwarding, ActionWrapper[Any, Any, Any], RecordConstructorArgs):
    """Clip actions to the bounds of the action space, which stays as it is (Gym 0.26).

    In Gymnasium 1.x, `ClipAction` has an action space without bounds.

    Example:
        >>> import gymcore as gym
        >>> env = ClipAction(gym.make("Pendulum-v1"))
        >>> env.action_space
        Box(-2.0, 2.0, (1,), float32)
        >>> env.action([5.0])
        array([2.], dtype=float32)
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a `Box` action space.

        Raises:
            FailedTypeCheck: (also an `AssertionError`) if it has another one.
        """
        RecordConstructorArgs.__init__(self)
        ActionWrapper.__init__(self, env)
        _box_action_space(env, "ClipAction")

    def action(self, action: Any) -> Array:
        """Return the clipped action, a new array of the action space's dtype."""
        space = self.action_space
        clipped = np.minimum(np.maximum(action, space.low), space.high)  # type: ignore[attr-defined]
        return clipped.astype(space.dtype, copy=False)


class RescaleAction(Forwarding, ActionWrapper[Any, Any, Any], RecordConstructorArgs):
    """Let actions have other bounds than the environment's (Gym 0.26).

    An action outside the new bounds is an error, and rounding never leaves the old ones. In
    Gymnasium 1.x, `RescaleAction` does neither, and differs in the last bits.

    Attributes:
        min_action: Lower bounds, an array of the action space's shape and dtype.
        max_action: Upper bounds, likewise.

    Example:
        >>> import gymcore as gym
        >>> import numpy as np
        >>> env = RescaleAction(gym.make("Pendulum-v1"), min_action=0, max_action=1)
        >>> env.action(np.float32([0.75]))
        array([1.], dtype=float32)
    """

    def __init__(
        self,
        env: Env[Any, Any],
        min_action: float | npt.ArrayLike,
        max_action: float | npt.ArrayLike,
    ) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a `Box` action space.
            min_action: Lower bound of all components, or an array of them.
            max_action: Upper bounds, at least as large.

        Raises:
            FailedTypeCheck: (also an `AssertionError`) if the action space is no `Box`.
            ArgumentTypeError: if a bound is no number and no array of numbers.
            FailedCheck: (also an `AssertionError`) if a lower bound is above its upper bound.
        """
        RecordConstructorArgs.__init__(self, min_action=min_action, max_action=max_action)
        ActionWrapper.__init__(self, env)
        space = _box_action_space(env, "RescaleAction")
        for name, bound in (("min_action", min_action), ("max_action", max_action)):
            if np.asarray(bound).dtype.kind not in "iuf":
                raise error.ArgumentTypeError(f"{name}: expected numbers, got {bound!r}")
        if not np.less_equal(min_action, max_action).all():
            raise error.FailedCheck(
                f"min_action: expected at most max_action, {max_action!r}, got {min_action!r}"
            )
        self.min_action: Array = np.zeros(space.shape, space.dtype) + np.asarray(
            min_action, space.dtype
        )
        self.max_action: Array = np.zeros(space.shape, space.dtype) + np.asarray(
            max_action, space.dtype
        )
        self.action_space = Box(
            self.min_action,
            self.max_action,
            shape=space.shape,
            dtype=space.dtype,
        )

    def action(self, action: Any) -> Array:
        """Return the action in the environment's own bounds.

        Raises:
            InvalidAction: (also an `AssertionError`) if it is outside the new bounds.
        """
        lowest, highest = self.min_action, self.max_action
        if not (np.greater_equal(action, lowest).all() and np.less_equal(action, highest).all()):
            raise error.InvalidAction(
                f"action: expected values in [{lowest}, {highest}], got {action}"
            )
        space = self.env.action_space
        low, high = space.low, space.high  # type: ignore[attr-defined]
        scaled = low + (high - low) * ((action - lowest) / (highest - lowest))
        return np.minimum(np.maximum(scaled, low), high)


class TransformReward(Forwarding, transform_reward.TransformReward):
    """Change rewards by a function (Gym 0.26: the argument is called `f`).

    Example:
        >>> import gymcore as gym
        >>> env = TransformReward(gym.make("CartPole-v1"), f=lambda reward: 0.01 * reward)
        >>> observation, info = env.reset(seed=1)
        >>> env.step(1)[1]
        0.01
    """

    def __init__(self, env: Env[Any, Any], f: Callable[[SupportsFloat], SupportsFloat]) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            f: From a reward to the one that is returned in its place.

        Raises:
            FailedTypeCheck: (also an `AssertionError`) if `f` cannot be called.
        """
        if not callable(f):
            raise error.FailedTypeCheck(f"f: expected a function, got {f!r}")
        RecordConstructorArgs.__init__(self, f=f)
        transform_reward.TransformReward.__init__(self, env, f)
        self.f = f
