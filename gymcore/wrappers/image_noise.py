"""Wrappers that spoil the frames of an environment: for agents that should see through noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.core import ActType, Env, ObsType, Wrapper
from gymcore.utils import RecordConstructorArgs

__all__ = ["AddWhiteNoise", "ObstructView"]

#: Shares of red, green and blue in how bright white is (ITU-R BT.601), in 255ths.
_GREY_SHARES = (76, 149, 29)

_Frame = npt.NDArray[np.uint8]


class _SpoiltFrames(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Base of the two: hands every frame to `_spoil`."""

    is_noise_grayscale: bool

    def render(self) -> Any:
        """Return the environment's frame (or list of frames), spoilt; a new array.

        The noise comes from the environment's `np_random`, so a seeded episode has the same noise
        again as long as it is rendered at the same steps.

        Raises:
            ArgumentTypeError: if the environment renders something else than pictures.
        """
        frames = self.env.render()
        if isinstance(frames, list):
            return [self._checked(frame) for frame in frames]
        return self._checked(frames)

    def _checked(self, frame: Any) -> _Frame:
        """Spoil a frame if it is one."""
        good = isinstance(frame, np.ndarray) and frame.ndim == 3 and frame.shape[2] == 3
        if not good or frame.dtype != np.uint8:
            what = f"{frame.dtype} {frame.shape}" if isinstance(frame, np.ndarray) else type(frame)
            raise error.ArgumentTypeError(
                f"{type(self).__name__}: expected `env.render()` to return an array "
                f"[height, width, 3] of uint8, got {what} (render_mode={self.env.render_mode!r})"
            )
        return self._spoil(frame)

    def _spoil(self, frame: _Frame) -> _Frame:
        """Return a new frame."""
        raise NotImplementedError

    def _noise(self, shape: tuple[int, ...]) -> _Frame:
        """Draw a whole picture of noise, grey or in colours."""
        if self.is_noise_grayscale:
            shares = self.np_random.integers(0, _GREY_SHARES, size=shape, dtype=np.uint8)
            return shares.sum(axis=-1, keepdims=True, dtype=np.uint8)
        return self.np_random.integers(0, 255, size=shape, dtype=np.uint8)


class AddWhiteNoise(_SpoiltFrames[ObsType, ActType]):
    """Replace random pixels of the frames by noise.

    Example:
        >>> import gymcore
        >>> env = AddWhiteNoise(gymcore.make("CartPole-v1", render_mode="rgb_array"), 0.5)
        >>> observation, info = env.reset(seed=1)
        >>> white = (env.render() == 255).all(axis=-1).mean()
        >>> bool(0.4 < white < 0.5)
        True
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        probability_of_noise_per_pixel: float,
        is_noise_grayscale: bool = False,
    ) -> None:
        """Wrap `env`.

        Args:
            env: An environment that renders "rgb_array" or "rgb_array_list".
            probability_of_noise_per_pixel: Share of the pixels that are noise, in [0, 1).
            is_noise_grayscale: Whether noise is grey, in place of any colour.

        Raises:
            InvalidProbability: if the probability is another number.
        """
        if not 0 <= probability_of_noise_per_pixel < 1:
            raise error.InvalidProbability(
                "probability_of_noise_per_pixel should be in the interval [0,1). "
                f"Received {probability_of_noise_per_pixel}"
            )
        RecordConstructorArgs.__init__(
            self,
            probability_of_noise_per_pixel=probability_of_noise_per_pixel,
            is_noise_grayscale=is_noise_grayscale,
        )
        Wrapper.__init__(self, env)
        self.probability_of_noise_per_pixel = probability_of_noise_per_pixel
        self.is_noise_grayscale = is_noise_grayscale

    def _spoil(self, frame: _Frame) -> _Frame:
        noise = self._noise(frame.shape)
        mask = self.np_random.random(frame.shape[:2]) < self.probability_of_noise_per_pixel
        return np.where(mask[:, :, None], noise, frame)


class ObstructView(_SpoiltFrames[ObsType, ActType]):
    """Put random squares of noise in front of the frames.

    Attributes:
        obstruction_centers_ratio: Squares for each pixel.

    Example:
        >>> import gymcore
        >>> env = ObstructView(gymcore.make("CartPole-v1", render_mode="rgb_array"), 0.5, 20)
        >>> observation, info = env.reset(seed=1)
        >>> env.render().shape
        (400, 600, 3)
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        obstructed_pixels_ratio: float,
        obstruction_width: int,
        is_noise_grayscale: bool = False,
    ) -> None:
        """Wrap `env`.

        Args:
            env: An environment that renders "rgb_array" or "rgb_array_list".
            obstructed_pixels_ratio: Area of all squares as a share of the picture's, in [0, 1).
                They may overlap, so less than that is hidden.
            obstruction_width: Side of a square in pixels.
            is_noise_grayscale: Whether noise is grey, in place of any colour.

        Raises:
            InvalidArgument: if the ratio or the width is another number.
            ArgumentTypeError: if the width is no integer.
        """
        if not 0 <= obstructed_pixels_ratio < 1:
            raise error.InvalidArgument(
                "obstructed_pixels_ratio should be in the interval [0,1). "
                f"Received {obstructed_pixels_ratio}"
            )
        if not isinstance(obstruction_width, (int, np.integer)):
            raise error.ArgumentTypeError(
                f"obstruction_width should be an integer. Received {obstruction_width!r}"
            )
        if obstruction_width < 1:
            raise error.InvalidArgument(
                f"obstruction_width should be larger or equal than 1. Received {obstruction_width}"
            )
        RecordConstructorArgs.__init__(
            self,
            obstructed_pixels_ratio=obstructed_pixels_ratio,
            obstruction_width=obstruction_width,
            is_noise_grayscale=is_noise_grayscale,
        )
        Wrapper.__init__(self, env)
        self.obstruction_centers_ratio = obstructed_pixels_ratio / obstruction_width**2
        self.obstruction_width = obstruction_width
        self.is_noise_grayscale = is_noise_grayscale

    def _spoil(self, frame: _Frame) -> _Frame:
        height, width, _ = frame.shape
        squares = int(height * width * self.obstruction_centers_ratio)
        centers = self.np_random.integers(0, height * width, squares)
        before = self.obstruction_width // 2
        after = self.obstruction_width - before
        y, x = np.divmod(centers, width)
        top, bottom = np.maximum(y - before, 0), np.minimum(y + after, height)
        left, right = np.maximum(x - before, 0), np.minimum(x + after, width)
        # How many squares cover a pixel: the sums of +1 and -1 at the squares' corners.
        corners = np.zeros((height + 1, width + 1), np.int32)
        for rows, columns, sign in (
            (top, left, 1),
            (top, right, -1),
            (bottom, left, -1),
            (bottom, right, 1),
        ):
            np.add.at(corners, (rows, columns), sign)
        mask = corners.cumsum(axis=0).cumsum(axis=1)[:-1, :-1] > 0
        return np.where(mask[:, :, None], self._noise(frame.shape), frame)
