"""Wrappers of Gym 0.26 that change actions, rewards or observations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, SupportsFloat, TypeVar

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.compat.gym26.core import ActionWrapper, ObservationWrapper, RewardWrapper
from gymcore.core import Env
from gymcore.spaces import Box, Dict, Space, flatten, flatten_space
from gymcore.wrappers.utils import Array

__all__ = [
    "ClipAction",
    "FilterObservation",
    "FlattenObservation",
    "RescaleAction",
    "TimeAwareObservation",
    "TransformObservation",
    "TransformReward",
]

Value = TypeVar("Value")


def box_space(space: Space, wrapper: str, kind: str) -> Box:
    """Return `space`; raise `FailedTypeCheck` (an `AssertionError`) if it is not a `Box`."""
    if not isinstance(space, Box):
        raise error.FailedTypeCheck(f"{wrapper}: expected a Box {kind} space, got {space}")
    return space


def _check_function(f: object) -> None:
    if not callable(f):
        raise error.FailedTypeCheck(f"f: expected a function, got {f!r}")


class ClipAction(ActionWrapper, RecordConstructorArgs):
    """Clip actions to the bounds of the action space, which is unchanged (Gym 0.26).

    The action space of Gymnasium 1.x's `ClipAction` is unbounded.

    Examples:
        >>> import gymcore as gym
        >>> ClipAction(gym.make("Pendulum-v1")).action([5.0])
        array([2.], dtype=float32)
    """

    def __init__(self, env: Env) -> None:
        """Wrap an environment with a `Box` action space; any other raises `FailedTypeCheck`."""
        ActionWrapper.__init__(self, env)
        box_space(env.action_space, "ClipAction", "action")

    def action(self, action: npt.ArrayLike) -> Array:
        """Return the clipped action, a new array of the action space's dtype."""
        space: Any = self.action_space
        return np.clip(action, space.low, space.high).astype(space.dtype, copy=False)


class RescaleAction(ActionWrapper, RecordConstructorArgs):
    """Rescale actions from new bounds to those of the environment (Gym 0.26).

    An action outside the new bounds raises `InvalidAction`, and rescaled actions are clipped to the
    environment's bounds. `RescaleAction` of Gymnasium 1.x does neither, and rounds differently.

    Attributes:
        min_action: Lower bounds, an array with the action space's shape and dtype.
        max_action: Upper bounds, in the same form.

    Examples:
        >>> import gymcore as gym
        >>> env = RescaleAction(gym.make("Pendulum-v1"), min_action=0, max_action=1)
        >>> env.action([0.75])
        array([1.], dtype=float32)
    """

    def __init__(
        self,
        env: Env,
        min_action: float | npt.ArrayLike,
        max_action: float | npt.ArrayLike,
    ) -> None:
        """Wrap an environment with a `Box` action space.

        Args:
            env: The environment; any other action space raises `FailedTypeCheck`.
            min_action: Lower bound of all components, or an array of bounds.
            max_action: Upper bound or bounds; `FailedCheck` is raised if below `min_action`.
        """
        ActionWrapper.__init__(self, env)
        space = box_space(env.action_space, "RescaleAction", "action")
        for name, bound in (("min_action", min_action), ("max_action", max_action)):
            if np.asarray(bound).dtype.kind not in "iuf":
                raise error.ArgumentTypeError(f"{name}: expected numbers, got {bound!r}")
        if not np.less_equal(min_action, max_action).all():
            raise error.FailedCheck(
                f"min_action: expected at most max_action, {max_action!r}, got {min_action!r}"
            )
        zeros = np.zeros(space.shape, space.dtype)
        self.min_action: Array = zeros + np.asarray(min_action, space.dtype)
        self.max_action: Array = zeros + np.asarray(max_action, space.dtype)
        self.action_space = Box(self.min_action, self.max_action, space.shape, space.dtype)

    def action(self, action: npt.ArrayLike) -> Array:
        """Return the rescaled action, a new array; raise `InvalidAction` if out of bounds."""
        lowest, highest = self.min_action, self.max_action
        action = np.asarray(action, self.action_space.dtype)
        if not ((action >= lowest).all() and (action <= highest).all()):
            raise error.InvalidAction(
                f"action: expected values in [{lowest}, {highest}], got {action}"
            )
        space: Any = self.env.action_space
        scaled = space.low + (space.high - space.low) * ((action - lowest) / (highest - lowest))
        clipped: Array = np.clip(scaled, space.low, space.high)
        return clipped


class TransformReward(RewardWrapper, RecordConstructorArgs):
    """Apply a function to rewards.

    Examples:
        >>> import gymcore as gym
        >>> env = TransformReward(gym.make("CartPole-v1"), f=lambda reward: 0.01 * reward)
        >>> observation, info = env.reset(seed=1)
        >>> env.step(1)[1]
        0.01
    """

    def __init__(self, env: Env, f: Callable[[SupportsFloat], SupportsFloat]) -> None:
        """Wrap `env`; raise `FailedTypeCheck` if `f` cannot be called."""
        _check_function(f)
        RewardWrapper.__init__(self, env)
        self.f = f

    def reward(self, reward: SupportsFloat) -> SupportsFloat:
        """Return `f(reward)`."""
        return self.f(reward)


class TransformObservation(ObservationWrapper, RecordConstructorArgs):
    """Apply a function to observations; the observation space is unchanged (Gym 0.26).

    Examples:
        >>> import gymcore as gym
        >>> env = TransformObservation(gym.make("CartPole-v1"), lambda obs: 0 * obs)
        >>> abs(env.reset(seed=1)[0]).tolist()
        [0.0, 0.0, 0.0, 0.0]
    """

    def __init__(self, env: Env, f: Callable[..., object]) -> None:
        """Wrap `env`; raise `FailedTypeCheck` if `f` cannot be called."""
        _check_function(f)
        ObservationWrapper.__init__(self, env)
        self.f = f

    def observation(self, observation: object) -> Any:
        """Return `f(observation)`."""
        return self.f(observation)


class FlattenObservation(ObservationWrapper, RecordConstructorArgs):
    """Flatten observations into one array; see `gymcore.spaces.flatten`."""

    def __init__(self, env: Env) -> None:
        ObservationWrapper.__init__(self, env)
        self.observation_space = flatten_space(env.observation_space)

    def observation(self, observation: object) -> Any:
        """Return the flattened observation."""
        return flatten(self.env.observation_space, observation)


class FilterObservation(ObservationWrapper, RecordConstructorArgs):
    """Select entries of dict observations, in the environment's order (Gym 0.26).

    `FilterObservation` of Gymnasium 1.x requires `filter_keys`, and returns entries in their order.

    Examples:
        >>> from gymcore import Env, spaces
        >>> class Walk(Env):
        ...     observation_space = spaces.Dict(clock=spaces.Discrete(9), step=spaces.Discrete(2))
        ...     action_space = spaces.Discrete(2)
        ...
        ...     def reset(self, *, seed=None, options=None):
        ...         return {"clock": 0, "step": 1}, {}
        >>> FilterObservation(Walk(), ["clock"]).reset()
        ({'clock': 0}, {})
    """

    def __init__(self, env: Env, filter_keys: Iterable[str] | None = None) -> None:
        """Wrap an environment with a `Dict` observation space.

        Args:
            env: The environment; any other observation space raises `FailedTypeCheck`.
            filter_keys: Keys to select; a key that the space lacks raises `InvalidArgument`. None
                selects all.
        """
        filter_keys = None if filter_keys is None else tuple(filter_keys)
        self._saved_kwargs["filter_keys"] = filter_keys
        ObservationWrapper.__init__(self, env)
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
        self._filter_keys = frozenset(keys)
        self.observation_space = Dict(self.observation(space.spaces), sort_keys=False)

    def observation(self, observation: dict[str, Value]) -> dict[str, Value]:
        """Return a new dict of the selected entries."""
        return {key: value for key, value in observation.items() if key in self._filter_keys}


class TimeAwareObservation(ObservationWrapper, RecordConstructorArgs):
    """Append the number of steps since the reset to observations (Gym 0.26).

    Observations are float64, although their space is float32. The environment needs no time limit.

    Attributes:
        t: Number of steps since the reset.

    Examples:
        >>> import gymcore as gym
        >>> env = TimeAwareObservation(gym.make("Pendulum-v1"))
        >>> observation, info = env.reset(seed=1)
        >>> env.step([0.0])[0].shape, float(env.step([0.0])[0][-1])
        ((4,), 2.0)
    """

    def __init__(self, env: Env) -> None:
        """Wrap `env`; raise `FailedTypeCheck` unless its observation space is a float32 `Box`."""
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

    def observation(self, observation: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the observation with the number of steps appended, a new float64 array."""
        return np.append(observation, np.float64(self.t))

    def step(self, action: object) -> Any:
        """Step the environment and count the step."""
        self.t += 1
        return super().step(action)

    def reset(self, **kwargs: object) -> Any:
        """Reset the environment and the step counter."""
        self.t = 0
        return super().reset(**kwargs)
