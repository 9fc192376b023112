"""Wrappers of Gym 0.26 around observations that are pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.compat.forwarding import Forwarding
from gymcore.core import Env, ObservationWrapper
from gymcore.spaces import Box
from gymcore.utils import RecordConstructorArgs
from gymcore.wrappers import transform_observation
from gymcore.wrappers.transform_observation import load_cv2

__all__ = ["GrayScaleObservation", "ResizeObservation", "to_grey"]

_WEIGHTS = np.array([9798.0, 19235.0, 3735.0], np.float32)
"""0.299, 0.587 and 0.114 as OpenCV has them: multiples of 2**-15 that sum up to 1."""


def to_grey(pictures: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the brightness of RGB pictures, rounded as `cv2.cvtColor` does it.

    Args:
        pictures: uint8 [..., 3].

    Returns:
        uint8 [...], a new array: (0.299 R + 0.587 G + 0.114 B) of ITU-R BT.601.

    Example:
        >>> to_grey(np.array([[255, 255, 255], [255, 0, 0], [0, 0, 255]], np.uint8))
        array([255,  76,  29], dtype=uint8)
    """
    # Every product and sum is an integer below 2**24, which float32 holds exactly: fast and exact.
    grey = pictures.astype(np.float32) @ _WEIGHTS
    grey += 2.0**14
    grey *= 2.0**-15
    return grey.astype(np.uint8)


class GrayScaleObservation(Forwarding, ObservationWrapper[Any, Any, Any], RecordConstructorArgs):
    """Turn RGB pictures grey, as `cv2.cvtColor` does it (Gym 0.26).

    In Gymnasium 1.x, `GrayscaleObservation` has other weights, and does not round.

    Attributes:
        keep_dim: Whether observations have an axis of one channel.
    """

    def __init__(self, env: Env[Any, Any], keep_dim: bool = False) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a `Box` observation space [height, width, 3].
            keep_dim: Return [height, width, 1], not [height, width].

        Raises:
            FailedTypeCheck: (also an `AssertionError`) if it has another one.
        """
        RecordConstructorArgs.__init__(self, keep_dim=keep_dim)
        ObservationWrapper.__init__(self, env)
        space = env.observation_space
        if not isinstance(space, Box) or len(space.shape) != 3 or space.shape[-1] != 3:
            raise error.FailedTypeCheck(
                "GrayScaleObservation: expected a Box of shape (height, width, 3) as observation "
                f"space, got {space}"
            )
        self.keep_dim = keep_dim
        shape = (*space.shape[:2], 1) if keep_dim else space.shape[:2]
        self.observation_space = Box(0, 255, shape=shape, dtype=np.uint8)

    def observation(self, observation: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """Return the grey picture, a new uint8 array."""
        grey = to_grey(observation)
        return grey[..., np.newaxis] if self.keep_dim else grey


class ResizeObservation(Forwarding, transform_observation.ResizeObservation):
    """Resize pictures by the area each new pixel covers (Gym 0.26).

    `shape` may be one number, and pictures without channels come back with an axis for one:
    [height, width, 1]. (In Gym 0.26 the observation space lacked that axis; here it has it.) In
    Gymnasium 1.x, `ResizeObservation` takes a tuple only and adds no axis.
    """

    def __init__(self, env: Env[Any, Any], shape: tuple[int, int] | int) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a `Box` observation space of rank 2 or 3.
            shape: New height and width, or one number for both.

        Raises:
            FailedTypeCheck: (also an `AssertionError`) if the observation space is another one.
            FailedCheck: (also an `AssertionError`) if a size is not positive.
            DependencyNotInstalled: if OpenCV is missing.
        """
        RecordConstructorArgs.__init__(self, shape=shape)
        ObservationWrapper.__init__(self, env)
        sizes: Any = (shape, shape) if isinstance(shape, (int, np.integer)) else shape
        try:
            valid = len(sizes) == 2 and all(size > 0 and size == int(size) for size in sizes)
        except (TypeError, ValueError):
            valid = False
        if not valid:
            raise error.FailedCheck(f"shape: expected two positive sizes, got {shape!r}")
        space = env.observation_space
        if not isinstance(space, Box) or len(space.shape) not in (2, 3):
            raise error.FailedTypeCheck(
                "ResizeObservation: expected a Box of shape (height, width) or (height, width, "
                f"channels) as observation space, got {space}"
            )
        self._cv2 = load_cv2("ResizeObservation")
        self.shape = (int(sizes[0]), int(sizes[1]))
        channels = space.shape[2:] or (1,)
        self.observation_space = Box(0, 255, shape=self.shape + channels, dtype=np.uint8)

    def observation(self, observation: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the resized picture, a new array [height, width, channels]."""
        cv2 = self._cv2
        picture: npt.NDArray[Any] = cv2.resize(
            observation, self.shape[::-1], interpolation=cv2.INTER_AREA
        )
        return picture[..., np.newaxis] if picture.ndim == 2 else picture
