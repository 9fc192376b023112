"""`TimeAwareObservation` of Gym 0.26."""

from __future__ import annotations

from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.compat.forwarding import Forwarding
from gymcore.core import Env, ObservationWrapper
from gymcore.spaces import Box
from gymcore.utils import RecordConstructorArgs

__all__ = ["TimeAwareObservation"]


class TimeAwareObservation(Forwarding, ObservationWrapper[Any, Any, Any], RecordConstructorArgs):
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
