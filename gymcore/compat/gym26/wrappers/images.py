"""Wrappers of Gym 0.26 with image observations."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.compat.gym26.core import ObservationWrapper, Wrapper
from gymcore.core import Env, Info
from gymcore.spaces import Box, Dict
from gymcore.specs.env_spec import Kwargs
from gymcore.wrappers import atari_preprocessing
from gymcore.wrappers.transform_observation import load_cv2
from gymcore.wrappers.utils import Array

__all__ = [
    "AtariPreprocessing",
    "GrayScaleObservation",
    "PixelObservationWrapper",
    "ResizeObservation",
]

_WEIGHTS = np.array([9798.0, 19235.0, 3735.0], np.float32)
"""0.299, 0.587 and 0.114 times 2**15, rounded as in OpenCV so that their sum is 2**15."""


def to_grayscale(images: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the brightness of RGB images, uint8 [..., 3], rounded as in `cv2.cvtColor`.

    The result is a new uint8 array [...]: 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601).

    Examples:
        >>> to_grayscale(np.array([[255, 255, 255], [255, 0, 0], [0, 0, 255]], np.uint8))
        array([255,  76,  29], dtype=uint8)
    """
    # All products and sums are integers below 2**24, which float32 represents exactly.
    gray = images.astype(np.float32) @ _WEIGHTS
    gray += 2.0**14
    gray *= 2.0**-15
    return gray.astype(np.uint8)


class GrayScaleObservation(ObservationWrapper, RecordConstructorArgs):
    """Convert RGB images to grayscale, as `cv2.cvtColor` does (Gym 0.26).

    `GrayscaleObservation` of Gymnasium 1.x uses other weights and does not round.

    Examples:
        >>> import gymcore as gym
        >>> env = gym.make("CartPole-v1", render_mode="rgb_array")
        >>> env = GrayScaleObservation(gym.wrappers.AddRenderObservation(env))
        >>> env.reset(seed=1)[0].shape
        (400, 600)
    """

    def __init__(self, env: Env, keep_dim: bool = False) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a `Box` observation space [height, width, 3]; any other raises
                `FailedTypeCheck` (an `AssertionError`).
            keep_dim: Whether to return [height, width, 1] instead of [height, width].
        """
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
        """Return the grayscale image, a new uint8 array."""
        gray = to_grayscale(observation)
        return gray[..., np.newaxis] if self.keep_dim else gray


class ResizeObservation(ObservationWrapper, RecordConstructorArgs):
    """Resize images, averaging over the area of each new pixel (Gym 0.26).

    Images without a channel axis become [height, width, 1]. In Gym 0.26, the observation space
    lacked that axis; here it includes it. `ResizeObservation` of Gymnasium 1.x accepts only a tuple
    as `shape`, and adds no axis.
    """

    def __init__(self, env: Env, shape: tuple[int, int] | int) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a `Box` observation space of rank 2 or 3; any other raises
                `FailedTypeCheck` (an `AssertionError`).
            shape: New height and width in pixels, or one number for both.
        """
        ObservationWrapper.__init__(self, env)
        sizes = (shape, shape) if isinstance(shape, (int, np.integer)) else shape
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
        load_cv2("ResizeObservation")
        self.shape = (int(sizes[0]), int(sizes[1]))
        channels = space.shape[2:] or (1,)
        self.observation_space = Box(0, 255, shape=self.shape + channels, dtype=np.uint8)

    def observation(self, observation: Array) -> Array:
        """Return the resized image, a new uint8 array [height, width, channels]."""
        cv2 = load_cv2("ResizeObservation")  # not an attribute: modules cannot be copied
        image: Array = cv2.resize(observation, self.shape[::-1], interpolation=cv2.INTER_AREA)
        return image.reshape(*self.shape, -1)


class AtariPreprocessing(atari_preprocessing.AtariPreprocessing, Wrapper):  # type: ignore[misc]
    """Preprocess the frames of an Atari environment (Gym 0.26).

    Identical to `gymcore.wrappers.AtariPreprocessing`, except that an environment without a spec,
    or with "NoFrameskip" in its id, is assumed not to repeat actions, and that errors about
    arguments are also `AssertionError`s.
    """

    def __init__(
        self,
        env: Env,
        noop_max: int = 30,
        frame_skip: int = 4,
        screen_size: int = 84,
        terminal_on_life_loss: bool = False,
        grayscale_obs: bool = True,
        grayscale_newaxis: bool = False,
        scale_obs: bool = False,
    ) -> None:
        """Wrap `env`; see `gymcore.wrappers.AtariPreprocessing` for arguments and errors."""
        flags = (terminal_on_life_loss, grayscale_obs, grayscale_newaxis, scale_obs)
        try:
            super().__init__(env, noop_max, frame_skip, screen_size, *flags)
        except error.InvalidArgument as problem:
            raise error.FailedCheck(str(problem)) from None
        except error.ArgumentTypeError as problem:
            raise error.FailedTypeCheck(str(problem)) from None

    def _reset_env(self, **kwargs: object) -> Info:
        return super()._reset_env(**{name: x for name, x in kwargs.items() if x is not None})

    def _env_skips_frames(self) -> bool:
        """Return whether the environment is assumed to repeat actions itself."""
        spec = self.env.spec
        return spec is not None and "NoFrameskip" not in spec.id and super()._env_skips_frames()


class PixelObservationWrapper(ObservationWrapper, RecordConstructorArgs):
    """Add rendered images to observations, which become dicts (Gym 0.26).

    Gymnasium 1.x has `AddRenderObservation` instead, which can also observe the images alone. The
    constructor resets the environment once to find the shape of the images.

    Examples:
        >>> import gymcore as gym
        >>> env = gym.make("CartPole-v1", render_mode="rgb_array")
        >>> env = PixelObservationWrapper(env, pixels_only=False)
        >>> observation, info = env.reset(seed=1)
        >>> {key: value.shape for key, value in observation.items()}
        {'state': (4,), 'pixels': (400, 600, 3)}
    """

    def __init__(
        self,
        env: Env,
        pixels_only: bool = True,
        render_kwargs: dict[str, Kwargs] | None = None,
        pixel_keys: Sequence[str] = ("pixels",),
    ) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a Box or Dict observation space. Its render mode must return
                images; without a render mode, the call raises `AttributeError`.
            pixels_only: Whether to leave out the environment's observations. Otherwise the entries
                of a dict are kept, and an array becomes the entry "state".
            render_kwargs: Arguments of `render` for each pixel key.
            pixel_keys: Keys of the images; the observations must not contain them.
        """
        ObservationWrapper.__init__(self, env)
        arguments = self._arguments_of_render()
        space = env.observation_space
        if not isinstance(space, (Box, Dict)):
            raise error.InvalidArgument(
                f"PixelObservationWrapper: expected a Box or Dict observation space, got {space}"
            )
        self._is_dict = isinstance(space, Dict)
        self._pixels_only = pixels_only
        self._pixel_keys = tuple(pixel_keys)
        options = render_kwargs or {}
        self._render_kwargs = {
            key: {**arguments, **options.get(key, {})} for key in self._pixel_keys
        }
        self._history: list[object] = []
        entries = copy.deepcopy(
            self._state_entries(space.spaces if isinstance(space, Dict) else space)
        )
        if duplicates := sorted(set(pixel_keys) & set(entries)):
            raise error.InvalidArgument(f"Duplicate or reserved pixel keys {duplicates}.")
        env.reset()
        for key in self._pixel_keys:
            entries[key] = _space_of(self._render_image(key))
        self._history.clear()
        self.observation_space = Dict(entries, sort_keys=False)

    def _arguments_of_render(self) -> dict[str, object]:
        """Return arguments with which `render` returns an image; raise if there are none."""
        if self.env.render_mode is None:
            raise AttributeError(
                "env.render_mode must be specified to use PixelObservationWrapper: "
                "`gym.make(env_name, render_mode='rgb_array')`."
            )
        return {}

    def observation(self, observation: object) -> dict[str, object]:
        """Return a new dict of the observation and the images."""
        entries = self._state_entries(observation)
        for key in self._pixel_keys:
            entries[key] = self._render_image(key)
        return entries

    def render(self, *args: object, **kwargs: object) -> Any:
        """Render the environment with any arguments that its `render` accepts.

        If the render mode collects frames, the result includes those used by observations.
        """
        frames = self.env.render(*args, **kwargs)
        if isinstance(frames, list):
            frames = self._history + frames
            self._history = []
        return frames

    def _state_entries(self, observation: Any) -> dict[str, object]:
        """Return the environment's own entries of an observation as a new dict."""
        if self._pixels_only:
            return {}
        return dict(observation) if self._is_dict else {"state": observation}

    def _render_image(self, key: str) -> object:
        image = self.env.render(**self._render_kwargs[key])
        if isinstance(image, list):
            self._history += image
            image = image[-1]
        return image


def _space_of(image: object) -> Box:
    """Return the space of images with the shape and dtype of `image`."""
    if not isinstance(image, np.ndarray):
        raise error.ArgumentTypeError(
            f"Render method returns a {type(image)}, expected an array. Use a render_mode "
            "such as 'rgb_array'."
        )
    if image.dtype.kind in "iu":
        return Box(0, 255, image.shape, image.dtype)
    if image.dtype.kind == "f":
        return Box(-np.inf, np.inf, image.shape, image.dtype)
    raise error.ArgumentTypeError(f"expected images of numbers, got dtype {image.dtype}")
