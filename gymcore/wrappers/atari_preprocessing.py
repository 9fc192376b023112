"""The standard preprocessing of Atari frames in deep reinforcement learning."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import ActType, Env, Info, Options, Wrapper
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.rendering.area_resizer import area_resizer
from gymcore.spaces import Box
from gymcore.wrappers.common import OrderEnforcing, PassiveEnvChecker
from gymcore.wrappers.transform_observation import load_cv2
from gymcore.wrappers.utils import Array, is_integer
from gymcore_ext.atari.frames import Resizer

__all__ = ["AtariPreprocessing"]

MAX_SIDE = 2**15 - 1
"""The longest side of images that OpenCV resizes."""


class AtariPreprocessing(Wrapper[Array, ActType, Array, ActType], RecordConstructorArgs):
    """Prepare an Atari environment for learning from images.

    After Machado et al., "Revisiting the Arcade Learning Environment: Evaluation Protocols and Open
    Problems for General Agents", Journal of Artificial Intelligence Research 61 (2018):

    - each reset is followed by up to `noop_max` no-op steps, so that episodes begin differently;
    - an action is repeated `frame_skip` times, and the rewards are added up;
    - each pixel is the maximum of the last two frames, because games draw some objects only in
      every other frame. If an episode ends in an earlier frame, the frames before it are used;
    - `terminal_on_life_loss` ends an episode when a life is lost; the next reset begins a new game;
    - the image is resized by averaging areas, by default to 84 x 84;
    - optionally, the image is converted to gray and scaled to [0, 1].

    The environment must come from the Arcade Learning Environment (ale-py), with `frameskip=1`, or
    have the same interface: `env.unwrapped` has `_frameskip`, `get_action_meanings()`, and an `ale`
    with `lives()`, `getScreenGrayscale(buffer)` and `getScreenRGB(buffer)`.

    OpenCV is needed only for images that are wider or higher than the screen: `pip install
    opencv-python-headless`.

    Attributes:
        lives: Lives left after the last reset or the last step that read them.
        game_over: Whether the last step ended the episode.
        obs_buffer: The last two frames, `[height, width]` or `[height, width, 3] uint8`.

    Examples:
        >>> import gymcore
        >>> env = AtariPreprocessing(gymcore.make("ALE/Pong-v5", frameskip=1))
        >>> env.reset(seed=1)[0].shape
        (84, 84)
    """

    _tuple_arguments = ("screen_size",)

    def __init__(
        self,
        env: Env[Array, ActType],
        noop_max: int = 30,
        frame_skip: int = 4,
        screen_size: int | tuple[int, int] = 84,
        terminal_on_life_loss: bool = False,
        grayscale_obs: bool = True,
        grayscale_newaxis: bool = False,
        scale_obs: bool = False,
    ) -> None:
        """Wrap `env`.

        Args:
            env: An Atari environment that does not skip frames itself.
            noop_max: Maximum number of no-op steps after a reset (at least 1 is made); 0 for none.
            frame_skip: Number of times that an action is repeated, at least 1.
            screen_size: Width and height of observations, or one number for both.
            terminal_on_life_loss: Whether to end an episode when a life is lost.
            grayscale_obs: Whether to return gray images instead of RGB images.
            grayscale_newaxis: Whether to return gray images as `[height, width, 1]`.
            scale_obs: Whether to return float32 numbers in [0, 1] instead of uint8.

        Raises:
            ArgumentTypeError: If `env` is not an `Env`, its observation space is not a `Box`, or a
                number is not an integer.
            InvalidArgument: If a number is out of range, `env` skips frames itself or does not
                observe images, or `noop_max` is positive and the first action is not "NOOP".
            DependencyNotInstalled: If OpenCV is needed and not installed.
        """
        Wrapper.__init__(self, env)
        for name, value in (("frame_skip", frame_skip), ("noop_max", noop_max)):
            if not is_integer(value):
                raise ArgumentTypeError(
                    f"Expect the `{name}` to be an integer, actually: {value!r}"
                )
        size = (screen_size, screen_size) if is_integer(screen_size) else screen_size
        if not (
            isinstance(size, tuple)
            and len(size) == 2
            and all(is_integer(length) and 0 < length <= MAX_SIDE for length in size)
        ):
            raise InvalidArgument(
                f"Expect the `screen_size` to be positive, actually: {screen_size!r}; "
                f"one integer or a tuple (width, height), of at most {MAX_SIDE} pixels"
            )
        if frame_skip <= 0:
            raise InvalidArgument(f"Expect the `frame_skip` to be positive, actually: {frame_skip}")
        if noop_max < 0:
            raise InvalidArgument(f"Expect the `noop_max` to be non-negative, actually: {noop_max}")
        atari: Any = env.unwrapped
        if frame_skip > 1 and self._env_skips_frames():
            raise InvalidArgument(
                "Disable frame-skipping in the original env. Otherwise, more than one frame-skip "
                "will happen as through this wrapper; make it with frameskip=1"
            )
        if noop_max > 0 and atari.get_action_meanings()[0] != "NOOP":
            raise InvalidArgument("When noop_max > 0, the first action meaning must be 'NOOP'")
        space = env.observation_space
        if not isinstance(space, Box):
            raise ArgumentTypeError(
                f"AtariPreprocessing wrapper requires a Box observation space, got {type(space)}"
            )
        if len(space.shape) < 2:
            raise InvalidArgument(
                "AtariPreprocessing wrapper requires images as observations, got an observation "
                f"space of shape {space.shape}; make the environment with obs_type='rgb' or "
                "'grayscale'"
            )

        self.noop_max = noop_max
        self.frame_skip = frame_skip
        self.screen_size = (int(size[0]), int(size[1]))
        self.terminal_on_life_loss = terminal_on_life_loss
        self.grayscale_obs = grayscale_obs
        self.grayscale_newaxis = grayscale_newaxis
        self.scale_obs = scale_obs
        self.lives = 0
        self.game_over = False
        frame = space.shape[:2] if grayscale_obs else (*space.shape[:2], 3)
        self.obs_buffer = [np.empty(frame, np.uint8), np.empty(frame, np.uint8)]
        width, height = self.screen_size
        shape: tuple[int, ...] = (height, width)
        if not grayscale_obs:
            shape = (height, width, 3)
        elif grayscale_newaxis:
            shape = (height, width, 1)
        _resize(self.obs_buffer[0], self.screen_size)  # raises if OpenCV is needed but missing
        self.observation_space = (
            Box(low=0, high=1, shape=shape, dtype=np.float32)
            if scale_obs
            else Box(low=0, high=255, shape=shape, dtype=np.uint8)
        )

    def _env_skips_frames(self) -> bool:
        """Return whether the environment may skip frames: it does not declare `frameskip=1`."""
        return getattr(self.env.unwrapped, "_frameskip", None) != 1

    @property
    def ale(self) -> Any:
        """The interface to the emulator, `env.unwrapped.ale`."""
        return self.env.get_wrapper_attr("ale")

    def step(self, action: ActType) -> tuple[Array, float, bool, bool, Info]:
        """Repeat an action `frame_skip` times.

        Args:
            action: The action.

        Returns:
            The image, a new array; the sum of the rewards; whether the episode terminated; whether
            it was truncated; the info of the last frame.
        """
        total_reward, terminated, truncated = 0.0, False, False
        info: Info = {}
        step = self._step_function()
        for frame in range(self.frame_skip):
            _, reward, terminated, truncated, info = step(action)
            total_reward += reward
            if self.terminal_on_life_loss:
                lives = self.ale.lives()
                terminated = terminated or lives < self.lives
                self.lives = lives
            self.game_over = terminated
            if terminated or truncated:
                break
            if frame == self.frame_skip - 2:
                self._capture(1)
            elif frame == self.frame_skip - 1:
                self._capture(0)
        return self._get_obs(), total_reward, terminated, truncated, info

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Array, Info]:
        """Reset the environment, and make a random number of no-op steps.

        Args:
            seed: Seed of the environment, whose generator also draws the number of no-op steps.
            options: Options for the environment.

        Returns:
            The image, a new array; and the info, updated with those of the no-op steps.
        """
        info = self._reset_env(seed=seed, options=options)
        frames = self._draw_noops() if self.noop_max > 0 else 0
        step, noop = self._step_function(), 0
        for _ in range(frames):
            _, _, terminated, truncated, step_info = step(noop)
            info.update(step_info)
            if terminated or truncated:
                info = self._reset_env(seed=seed, options=options)
        self.lives = self.ale.lives()
        self.game_over = False
        self._capture(0)
        self.obs_buffer[1].fill(0)
        return self._get_obs(), info

    def _reset_env(self, **kwargs: Any) -> Info:
        return self.env.reset(**kwargs)[1]

    def _draw_noops(self) -> int:
        return int(self.env.unwrapped.np_random.integers(1, self.noop_max + 1))

    def _step_function(self) -> Callable[[Any], tuple[Any, Any, bool, bool, Info]]:
        """Return the environment's `step`, or a faster one that makes no observation if possible.

        Making an observation, the color screen of every frame, takes a quarter of a step. Wrappers
        or a subclass of AtariEnv may need it. A `PassiveEnvChecker` or `OrderEnforcing` that has
        done its checks only forwards steps and is skipped, unless it is a subclass or its `step`
        was replaced.
        """
        game: Any = self.env
        while "step" not in vars(game) and (
            (type(game) is PassiveEnvChecker and game.checked_data_reuse)
            or (type(game) is OrderEnforcing and game._has_reset)
        ):
            game = game.env
        if "_step_unobserved" in vars(type(game)) and "step" not in vars(game):
            unobserved: Callable[[object], Any] = game._step_unobserved
            return unobserved
        return self.env.step

    def _capture(self, index: int) -> None:
        """Copy the emulator's screen to a buffer."""
        if self.grayscale_obs:
            self.ale.getScreenGrayscale(self.obs_buffer[index])
        else:
            self.ale.getScreenRGB(self.obs_buffer[index])

    def _get_obs(self) -> Array:
        """Return the observation made of the two buffers, a new array."""
        pooled = self.obs_buffer[0]
        if self.frame_skip > 1:  # in place: an early end shows the last pooled frame
            np.maximum(pooled, self.obs_buffer[1], out=pooled)
        observation: Array = _resize(pooled, self.screen_size)
        if self.scale_obs:
            observation = observation.astype(np.float32) / 255.0
        if self.grayscale_obs and self.grayscale_newaxis:
            observation = np.expand_dims(observation, axis=-1)
        return observation


@functools.lru_cache
def _resizer(size: tuple[int, int], target: tuple[int, int]) -> Resizer | None:
    """Return a resizer that matches OpenCV bit for bit but is faster; None if frames grow.

    The cache is global because wrappers are copied, and a resizer is not stored in them.
    """
    try:
        return area_resizer(size, target)
    except ValueError:
        return None


def _resize(frame: Array, screen_size: tuple[int, int]) -> Array:
    """Return a copy of the frame with this width and height."""
    target = screen_size[::-1]
    rescale = _resizer(frame.shape[:2], target)
    if rescale is not None:
        return rescale(frame, np.empty(target + frame.shape[2:], np.uint8))
    cv2 = load_cv2("AtariPreprocessing")
    larger: Array = cv2.resize(frame, screen_size, interpolation=cv2.INTER_AREA)
    return larger
