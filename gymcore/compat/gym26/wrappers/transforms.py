"""Wrappers of Gym 0.26 that change actions, rewards or observations by a rule."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.compat.gym26.core import ActionWrapper, ObservationWrapper, Wrapper
from gymcore.core import Env
from gymcore.spaces import Box, Dict
from gymcore.utils import RecordConstructorArgs
from gymcore.wrappers import transform_observation, transform_reward

__all__ = [
    "ClipAction",
    "FilterObservation",
    "FlattenObservation",
    "RescaleAction",
    "TimeAwareObservation",
    "TransformObservation",
    "TransformReward",
]

Array = npt.NDArray[Any]


def _box_action_space(env: Env[Any, Any], wrapper: str) -> Box:
    """Return the action space, or raise if it is no `Box`."""
    space = env.action_space
    if not isinstance(space, Box):
        raise error.FailedTypeCheck(f"{wrapper}: expected a Box action space, got {space}")
    return space


class ClipAction(ActionWrapper, RecordConstructorArgs):
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


class RescaleAction(ActionWrapper, RecordConstructorArgs):
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


class TransformReward(transform_reward.TransformReward[Any, Any], Wrapper):
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


class TransformObservation(transform_observation.TransformObservation[Any, Any, Any], Wrapper):
    """Change observations by a function; the observation space stays as it is (Gym 0.26).

    Example:
        >>> import gymcore as gym
        >>> env = TransformObservation(gym.make("CartPole-v1"), lambda obs: 0 * obs)
        >>> abs(env.reset(seed=1)[0]).tolist()
        [0.0, 0.0, 0.0, 0.0]
    """

    def __init__(self, env: Env[Any, Any], f: Callable[[Any], Any]) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            f: From an observation to the one that is returned in its place.

        Raises:
            FailedTypeCheck: (also an `AssertionError`) if `f` cannot be called.
        """
        if not callable(f):
            raise error.FailedTypeCheck(f"f: expected a function, got {f!r}")
        RecordConstructorArgs.__init__(self, f=f)
        space = env.observation_space if isinstance(env, Env) else None
        transform_observation.TransformObservation.__init__(self, env, f, space)
        self.f = f


class FlattenObservation(transform_observation.FlattenObservation[Any, Any, Any], Wrapper):
    """Flatten observations into one array.

    As `gymcore.wrappers.FlattenObservation`; attributes of inner layers are forwarded (Gym 0.26).
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        """Wrap `env`; see `gymcore.wrappers.FlattenObservation`.

        Args:
            env: An environment whose observation space can be flattened.
        """
        transform_observation.FlattenObservation.__init__(self, env)


class FilterObservation(transform_observation.FilterObservation[Any, Any, Any], Wrapper):
    """Keep some entries of dict observations, in the order the environment has them (Gym 0.26).

    In Gymnasium 1.x, `FilterObservation` must be given keys, whose order it follows.

    Example:
        >>> from gymcore import Env, spaces
        >>> class Walk(Env):
        ...     observation_space = spaces.Dict(clock=spaces.Discrete(9), step=spaces.Discrete(2))
        ...     action_space = spaces.Discrete(2)
        ...
        ...     def reset(self, *, seed=None, options=None):
        ...         return {"clock": 0, "step": 1}, {}
        >>> FilterObservation(Walk(), ["clock"]).reset()
        ({'clock': 0}, {})
        >>> FilterObservation(Walk()).reset()
        ({'clock': 0, 'step': 1}, {})
    """

    def __init__(self, env: Env[Any, Any], filter_keys: Iterable[str] | None = None) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a `Dict` observation space.
            filter_keys: The keys to keep; None for all.

        Raises:
            FailedTypeCheck: (also an `AssertionError`) if the observation space is no `Dict`.
            InvalidArgument: (a `ValueError`) if it lacks one of the keys.
        """
        filter_keys = None if filter_keys is None else tuple(filter_keys)
        RecordConstructorArgs.__init__(self, filter_keys=filter_keys)
        Wrapper.__init__(self, env)
        space = env.observation_space
        if not isinstance(space, Dict):
            raise error.FailedTypeCheck(
                f"FilterObservation: expected a Dict observation space, got {space}"
            )
        keys = tuple(space.spaces) if filter_keys is None else filter_keys
        missing = [key for key in keys if key not in space.spaces]
        if missing:
            raise error.InvalidArgument(
                "All the filter_keys must be included in the original observation space.\n"
                f"Filter keys: {keys}\n"
                f"Observation keys: {tuple(space.spaces)}\n"
                f"Missing keys: {missing}"
            )
        kept = {key: copy.copy(sub) for key, sub in space.spaces.items() if key in keys}
        self.observation_space = Dict(kept, sort_keys=False)
        self._filter_keys = frozenset(keys)

    def observation(self, observation: dict[str, Any]) -> dict[str, Any]:
        """Return a new dict of the entries that are kept."""
        keys = self._filter_keys
        return {key: value for key, value in observation.items() if key in keys}


class TimeAwareObservation(ObservationWrapper, RecordConstructorArgs):
    """Append the number of steps since the reset to observations (Gym 0.26).

    Observations are float64, though their space is float32, and no time limit is needed. In
    Gymnasium 1.x, `TimeAwareObservation` has more forms.

    Attributes:
        t: Steps since the reset.

    Example:
        >>> import gymcore as gym
        >>> env = TimeAwareObservation(gym.make("Pendulum-v1"))
        >>> observation, info = env.reset(seed=1)
        >>> env.step([0.0])[0].shape, float(env.step([0.0])[0][-1])
        ((4,), 2.0)
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a float32 `Box` of rank 1 as observation space.

        Raises:
            FailedTypeCheck: (also an `AssertionError`) if it has another one.
        """
        RecordConstructorArgs.__init__(self)
        ObservationWrapper.__init__(self, env)
        space = env.observation_space
        if not isinstance(space, Box) or space.dtype != np.float32:
            raise error.FailedTypeCheck(
                f"TimeAwareObservation: expected a float32 Box as observation space, got {space}"
            )
        low = np.append(space.low, np.float32(0.0))
        high = np.append(space.high, np.float32(np.inf))
        self.observation_space = Box(low, high, dtype=np.float32)
        self.is_vector_env = False
        self.t = 0

    def observation(self, observation: Any) -> npt.NDArray[np.float64]:
        """Return the observation with the time at its end, a new float64 array."""
        return np.append(observation, np.float64(self.t))

    def step(
        self, action: Any
    ) -> tuple[npt.NDArray[np.float64], SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment, a step later."""
        self.t += 1
        return super().step(action)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float64], dict[str, Any]]:
        """Reset the environment and the time."""
        self.t = 0
        return super().reset(seed=seed, options=options)
