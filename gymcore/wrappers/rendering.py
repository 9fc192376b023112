"""Wrappers that collect, show, record or distort the frames of an environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, SupportsFloat, TypeAlias

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import ActType, Env, Info, ObsType, Options, Wrapper
from gymcore.rendering.recorder import Recorder, always, make_video_folder
from gymcore.rendering.video_files import as_rgb, find_ffmpeg
from gymcore.rendering.window import Window, load_pygame
from gymcore_ext.python_envs.infos import copied

if TYPE_CHECKING:
    import pygame

    from gymcore.vector.vector_env import VectorEnv

    AnyEnv: TypeAlias = Env | VectorEnv

__all__ = ["AddWhiteNoise", "HumanRendering", "ObstructView", "RecordVideo", "RenderCollection"]


def collecting_metadata(mode: str | None, metadata: Info) -> Info:
    """Check the render mode, and return the metadata of `RenderCollection`."""
    if mode is None:
        raise error.InvalidArgument("Expected env.render_mode to be not None")
    if mode.endswith("_list"):
        raise error.InvalidArgument(
            f"Expected env.render_mode to not end with '_list', got {mode!r}"
        )
    modes, collected = [*(metadata.get("render_modes") or ())], f"{mode}_list"
    return {**metadata, "render_modes": modes if collected in modes else [*modes, collected]}


collected_mode = property(
    lambda wrapper: f"{wrapper.env.render_mode}_list",
    doc='The wrapped environment\'s render mode with "_list" at the end.',
)


class RenderCollection(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Collect a frame at every reset and step, for `render` to return as a list.

    The render mode "rgb_array" becomes "rgb_array_list", "ansi" becomes "ansi_list", and so on.

    Attributes:
        frame_list: Frames collected since they were last cleared; see the arguments.

    Examples:
        >>> import gymcore
        >>> env = RenderCollection(gymcore.make("CartPole-v1", render_mode="rgb_array"))
        >>> observation, info = env.reset(seed=1)
        >>> result = env.step(0)
        >>> [frame.shape for frame in env.render()]
        [(400, 600, 3), (400, 600, 3)]
    """

    render_mode = collected_mode

    def __init__(
        self, env: Env[ObsType, ActType], pop_frames: bool = True, reset_clean: bool = True
    ) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a render mode that does not end in "_list".
            pop_frames: Whether `render` empties the list. Otherwise `render` returns the list
                itself, which keeps growing.
            reset_clean: Whether `reset` empties the list.

        Raises:
            InvalidArgument: If the environment has no render mode, or one that ends in "_list".
        """
        Wrapper.__init__(self, env)
        self.metadata = collecting_metadata(env.render_mode, env.metadata)
        self.pop_frames = pop_frames
        self.reset_clean = reset_clean
        self.frame_list: list[object] = []

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Step the environment and collect a frame."""
        result = self.env.step(action)
        self.frame_list.append(copied(self.env.render()))
        return result

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Reset the environment and collect the first frame."""
        result = self.env.reset(seed=seed, options=options)
        self._collect_first()
        return result

    def _collect_first(self) -> None:
        if self.reset_clean:
            self.frame_list = []
        self.frame_list.append(copied(self.env.render()))

    def render(self) -> list[object]:
        """Return the collected frames, and clear the list if `pop_frames`."""
        frames = self.frame_list
        if self.pop_frames:
            self.frame_list = []
        return frames


class FrameWindow:
    """A mixin with the window of `HumanRendering`, for one environment or a batch."""

    render_mode: str | None = "human"
    ACCEPTED_RENDER_MODES: ClassVar[list[str]] = [
        "rgb_array",
        "rgb_array_list",
        "depth_array",
        "depth_array_list",
    ]
    metadata: Info
    _not_state: tuple[str, ...] = ("window", "clock", "_surface")

    def _prepare_window(self, env: AnyEnv) -> None:
        if env.render_mode not in self.ACCEPTED_RENDER_MODES:
            raise error.InvalidArgument(
                f"Expected env.render_mode to be one of {self.ACCEPTED_RENDER_MODES} "
                f"but got '{env.render_mode}'"
            )
        if "render_fps" not in env.metadata:
            raise error.InvalidArgument(
                "The base environment must specify 'render_fps' to be used with the HumanRendering "
                "wrapper"
            )
        self.window: Window | None = None
        self.clock: pygame.time.Clock | None = None
        modes = list(env.metadata.get("render_modes") or ())
        if "human" not in modes:
            self.metadata = {**env.metadata, "render_modes": [*modes, "human"]}

    def render(self) -> None:
        """Do nothing: the frames are shown by `reset` and `step`."""

    def _show(self, env: AnyEnv, surface: pygame.Surface) -> None:
        """Show a surface of the window's size, and wait to keep the frame rate."""
        pygame = load_pygame()
        if self.window is None or not self.window.is_open:
            title = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
            self.window = Window(title, surface.get_size())
        if self.clock is None:
            self.clock = pygame.time.Clock()
        pygame.event.pump()
        self.window.show(surface)
        self.clock.tick(self.metadata["render_fps"])

    def _close_window(self) -> None:
        if self.window is not None:
            self.window.close()
            self.window = None
            self.clock = None

    def __getstate__(self) -> Info:
        """Return the attributes for a copy, which opens a window of its own at its next frame."""
        return {**self.__dict__, "window": None, "clock": None, "_surface": None}


class HumanRendering(
    FrameWindow, Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs
):
    """Show the frames of an environment with an image render mode at every reset and step.

    Attributes:
        window: The window, owned by this wrapper; None before the first frame.
        screen_size: Width and height of the window in pixels.
        clock: Clock that keeps the frame rate at `metadata["render_fps"]`.

    Examples:
        >>> import gymcore
        >>> env = HumanRendering(gymcore.make("CartPole-v1", render_mode="rgb_array"))
        >>> env.render_mode
        'human'
    """

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        """Wrap `env`.

        Args:
            env: An environment whose render mode is one of `ACCEPTED_RENDER_MODES`.

        Raises:
            InvalidArgument: If `env` has another render mode, or no `render_fps` in its metadata.
        """
        Wrapper.__init__(self, env)
        self._prepare_window(env)
        self.screen_size: tuple[int, int] | None = None

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Step the environment and show the new frame."""
        result = self.env.step(action)
        self._render_frame()
        return result

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Reset the environment and show the first frame."""
        result = self.env.reset(seed=seed, options=options)
        self._render_frame()
        return result

    def _next_frame(self) -> npt.NDArray[np.uint8] | None:
        """Return the frame to show, uint8 [height, width, 3], or None if there is none yet."""
        frame: object = self.env.render()
        mode = self.env.render_mode or ""
        if mode.endswith("_list"):
            if not isinstance(frame, list):
                raise error.FailedTypeCheck(
                    f"Expected `env.render()` to return a list, actually returned {type(frame)}"
                )
            if not frame:
                return None
            frame = frame[-1]
        if not isinstance(frame, np.ndarray):
            raise error.FailedTypeCheck(
                f"Expected `env.render()` to return a numpy array, actually returned {type(frame)}"
            )
        if frame.ndim != 2 and frame.shape[2:] != (3,):
            raise error.FailedCheck(
                "Expected `env.render()` to return an array [height, width, 3] or [height, width], "
                f"actual shape: {frame.shape}"
            )
        return as_rgb(frame)

    def _render_frame(self) -> None:
        """Show the current frame."""
        frame = self._next_frame()
        if frame is None:
            return
        surface = load_pygame().surfarray.make_surface(frame.transpose(1, 0, 2))
        if self.window is not None and surface.get_size() != self.screen_size:
            self._close_window()
        self.screen_size = surface.get_size()
        self._show(self.env, surface)

    def close(self) -> None:
        """Close the window and the environment."""
        self._close_window()
        super().close()


def check_records_videos(mode: str | None) -> None:
    """Raise if `RecordVideo` cannot record this render mode, or ffmpeg is missing."""
    if mode in {None, "human", "ansi"}:
        raise error.InvalidArgument(
            f"Render mode is {mode}, which is incompatible with RecordVideo. Initialize your "
            "environment with a render_mode that returns an image, such as rgb_array."
        )
    find_ffmpeg()


class RecordVideo(Recorder, Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Record episodes of an environment, or a number of steps, to MP4 or GIF files.

    Frames are streamed to the encoder, so only one frame is held in memory, however long the video
    is. Files are named `{name_prefix}-episode-{number}.mp4` or `{name_prefix}-step-...` and appear
    when they are complete. `close` finishes the last video, as do an exception in `step`, the exit
    of the program, and the deletion of the wrapper (which also warns).

    For the attributes see `gymcore.rendering.recorder.Recorder`.

    Examples:
        >>> import gymcore
        >>> env = RecordVideo(gymcore.make("CartPole-v1", render_mode="rgb_array"), "videos")
        >>> observation, info = env.reset(seed=1)
        >>> for _ in range(5):
        ...     result = env.step(env.action_space.sample())
        >>> len(env.recorded_frames)
        6
        >>> env.close()
        >>> import os
        >>> os.listdir("videos")
        ['rl-video-episode-0.mp4']
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        video_folder: str,
        episode_trigger: Callable[[int], bool] | None = None,
        step_trigger: Callable[[int], bool] | None = None,
        video_length: int = 0,
        name_prefix: str = "rl-video",
        fps: int | None = None,
        disable_logger: bool = True,
        gc_trigger: Callable[[int], bool] | None = always,
        format: str = "mp4",
    ) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a render mode that returns images.
            video_folder: Folder for the files; created if missing.
            episode_trigger: Takes the number of an episode and returns whether to record it.
                Without either trigger, episodes 0, 1, 8, 27, ... k**3 and every thousandth are
                recorded.
            step_trigger: Takes the number of a step and returns whether to begin a video there.
            video_length: Number of frames after which a video ends, not counting the first one; a
                video may span several episodes. 0 ends a video with its episode.
            name_prefix: Prefix of the file names.
            fps: Frames per second; None for `metadata["render_fps"]`, or 30 if it is missing.
            disable_logger: Whether to suppress printing the file names.
            gc_trigger: Takes the number of an episode and returns whether to collect garbage when
                its video is finished.
            format: "mp4" or "gif".

        Raises:
            InvalidArgument: If the render mode returns no images, or an argument is invalid.
            DependencyNotInstalled: If imageio-ffmpeg is missing.
        """
        Wrapper.__init__(self, env)
        check_records_videos(env.render_mode)
        fps = env.metadata.get("render_fps", 30) if fps is None else fps
        Recorder.__init__(
            self, video_folder, name_prefix, fps=fps, format=format, video_length=video_length,
            episode_trigger=episode_trigger, step_trigger=step_trigger, gc_trigger=gc_trigger,
            disable_logger=disable_logger,
        )  # fmt: skip
        make_video_folder(self.video_folder)

    @property
    def render_history(self) -> list[Any]:
        """Frames that recording took from a "_list" render mode, to be returned by `render`."""
        return self._history[0] if self._history else []

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Step the environment, and record a frame if a video is being recorded."""
        try:
            result = self.env.step(action)
        except BaseException:
            self.finish()  # the video cannot continue
            raise
        self.count_step()
        if self.recording:
            self.record([self.env.render()])
        return result

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Reset the environment, and record a frame if a video is being recorded."""
        result = self.env.reset(seed=seed, options=options)
        if getattr(self.env, "reset_clean", False):
            # The environment's own collector has cleared its frames as well.
            self._history = []
        self.begin_episode()
        if self.recording:
            self.record([self.env.render()])
        return result

    def render(self) -> Any:
        """Render the environment; in a "_list" mode, include the frames used by the recording."""
        frames: object = self.env.render()
        if self._history and isinstance(frames, list):
            (frames,) = self.with_history([frames])
        return frames

    def _capture_frame(self) -> None:
        """Add the current frame to the video."""
        self.record([self.env.render()])

    def close(self) -> None:
        """Finish the video and close the environment."""
        try:
            super().close()
        finally:
            self.finish()


#: Weights of red, green and blue in the brightness (ITU-R BT.601), in 255ths.
_BRIGHTNESS_SHARES = (76, 149, 29)

_Frame = npt.NDArray[np.uint8]


class _NoisyFrames(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Base class of `AddWhiteNoise` and `ObstructView`: passes every frame to `_add_noise`."""

    is_noise_grayscale: bool

    def render(self) -> Any:
        """Return the environment's frame (or list of frames) with the noise; a new array.

        The noise comes from the environment's `np_random`, so a seeded episode has the same noise
        every time if `render` is called at the same steps.
        """
        frames = self.env.render()
        if isinstance(frames, list):
            return [self._checked(frame) for frame in frames]
        return self._checked(frames)

    def _checked(self, frame: object) -> _Frame:
        """Check that `frame` is an image, and return a copy with noise."""
        what = str(type(frame))
        if isinstance(frame, np.ndarray):
            if frame.dtype == np.uint8 and frame.ndim == 3 and frame.shape[2] == 3:
                return self._add_noise(frame)
            what = f"{frame.dtype} {frame.shape}"
        raise error.ArgumentTypeError(
            f"{type(self).__name__}: expected `env.render()` to return an array "
            f"[height, width, 3] of uint8, got {what} (render_mode={self.env.render_mode!r})"
        )

    def _add_noise(self, frame: _Frame) -> _Frame:
        raise NotImplementedError

    def _noise(self, shape: tuple[int, ...]) -> _Frame:
        """Return an image of random noise, gray or in color."""
        if self.is_noise_grayscale:
            shares = self.np_random.integers(0, _BRIGHTNESS_SHARES, size=shape, dtype=np.uint8)
            gray: npt.NDArray[np.uint8] = shares.sum(axis=-1, keepdims=True, dtype=np.uint8)
            return gray
        return self.np_random.integers(0, 255, size=shape, dtype=np.uint8)


class AddWhiteNoise(_NoisyFrames[ObsType, ActType]):
    """Replace random pixels of the frames by noise.

    Examples:
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
            probability_of_noise_per_pixel: Probability that a pixel becomes noise, in [0, 1).
            is_noise_grayscale: Whether noise is gray instead of colored.

        Raises:
            InvalidProbability: If the probability is out of range.
        """
        if not 0 <= probability_of_noise_per_pixel < 1:
            raise error.InvalidProbability(
                "probability_of_noise_per_pixel should be in the interval [0,1). "
                f"Received {probability_of_noise_per_pixel}"
            )
        Wrapper.__init__(self, env)
        self.probability_of_noise_per_pixel = probability_of_noise_per_pixel
        self.is_noise_grayscale = is_noise_grayscale

    def _add_noise(self, frame: _Frame) -> _Frame:
        noise = self._noise(frame.shape)
        mask = self.np_random.random(frame.shape[:2]) < self.probability_of_noise_per_pixel
        return np.where(mask[:, :, None], noise, frame)


class ObstructView(_NoisyFrames[ObsType, ActType]):
    """Cover random squares of the frames with noise.

    Attributes:
        obstruction_centers_ratio: Number of squares per pixel.

    Examples:
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
            obstructed_pixels_ratio: Area of all squares as a share of the image's area, in [0, 1).
                The squares may overlap, so the hidden share is smaller.
            obstruction_width: Side length of a square in pixels.
            is_noise_grayscale: Whether noise is gray instead of colored.

        Raises:
            InvalidArgument: If the ratio or the width is out of range.
            ArgumentTypeError: If the width is not an integer.
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
        Wrapper.__init__(self, env)
        self.obstruction_centers_ratio = obstructed_pixels_ratio / obstruction_width**2
        self.obstruction_width = obstruction_width
        self.is_noise_grayscale = is_noise_grayscale

    def _add_noise(self, frame: _Frame) -> _Frame:
        height, width, _ = frame.shape
        squares = int(height * width * self.obstruction_centers_ratio)
        centers = self.np_random.integers(0, height * width, squares)
        before = self.obstruction_width // 2
        after = self.obstruction_width - before
        y, x = np.divmod(centers, width)
        top, bottom = np.maximum(y - before, 0), np.minimum(y + after, height)
        left, right = np.maximum(x - before, 0), np.minimum(x + after, width)
        # Number of squares over each pixel: cumulative sums of +1 and -1 at the squares' corners.
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
