"""Wrappers about pictures: collect, show, film and spoil what an environment renders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, SupportsFloat

import numpy as np

from gymcore import error
from gymcore.core import ActType, Env, ObsType, Wrapper
from gymcore.rendering.window import Window, load_pygame
from gymcore.utils import RecordConstructorArgs
from gymcore.wrappers.image_noise import AddWhiteNoise, ObstructView
from gymcore.wrappers.record_video import RecordVideo

if TYPE_CHECKING:
    import pygame

__all__ = ["AddWhiteNoise", "HumanRendering", "ObstructView", "RecordVideo", "RenderCollection"]


class RenderCollection(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Collect a frame at every reset and step, for `render` to return as a list.

    Turns the render mode "rgb_array" into "rgb_array_list", "ansi" into "ansi_list", and so on.

    Attributes:
        frame_list: The frames since the last `render` (or reset, or ever; see the arguments).

    Example:
        >>> import gymcore
        >>> env = RenderCollection(gymcore.make("CartPole-v1", render_mode="rgb_array"))
        >>> observation, info = env.reset(seed=1)
        >>> result = env.step(0)
        >>> [frame.shape for frame in env.render()]
        [(400, 600, 3), (400, 600, 3)]
    """

    def __init__(
        self, env: Env[ObsType, ActType], pop_frames: bool = True, reset_clean: bool = True
    ) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a render mode that does not end in "_list".
            pop_frames: Let `render` empty the list. Otherwise it returns the list itself, which
                grows.
            reset_clean: Let `reset` empty the list.

        Raises:
            InvalidArgument: if the environment has no render mode, or one that ends in "_list".
        """
        mode = env.render_mode if isinstance(env, Env) else None
        if isinstance(env, Env) and mode is None:
            raise error.InvalidArgument("Expected env.render_mode to be not None")
        if mode is not None and mode.endswith("_list"):
            raise error.InvalidArgument(
                f"Expected env.render_mode to not end with '_list', got {mode!r}"
            )
        RecordConstructorArgs.__init__(self, pop_frames=pop_frames, reset_clean=reset_clean)
        Wrapper.__init__(self, env)
        self.frame_list: list[Any] = []
        self.pop_frames = pop_frames
        self.reset_clean = reset_clean
        modes = list(env.metadata.get("render_modes") or ())
        self.metadata = {**env.metadata, "render_modes": [*modes, f"{mode}_list"]}

    @property
    def render_mode(self) -> str:  # type: ignore[override]
        """The wrapped environment's render mode with "_list" at the end."""
        return f"{self.env.render_mode}_list"

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment and collect a frame."""
        result = self.env.step(action)
        self.frame_list.append(self.env.render())
        return result

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset the environment and collect its first frame."""
        result = self.env.reset(seed=seed, options=options)
        if self.reset_clean:
            self.frame_list = []
        self.frame_list.append(self.env.render())
        return result

    def render(self) -> list[Any]:
        """Return the collected frames, and forget them if `pop_frames`."""
        frames = self.frame_list
        if self.pop_frames:
            self.frame_list = []
        return frames


class HumanRendering(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Show the frames of an environment that only returns them, at every reset and step.

    Attributes:
        window: The window, which belongs to this wrapper alone; None before the first frame.
        screen_size: Its width and height in pixels.
        clock: Keeps the frame rate at `metadata["render_fps"]`.
    """

    ACCEPTED_RENDER_MODES: ClassVar[list[str]] = [
        "rgb_array",
        "rgb_array_list",
        "depth_array",
        "depth_array_list",
    ]

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        """Wrap `env`.

        Args:
            env: An environment whose render mode is one of `ACCEPTED_RENDER_MODES`.

        Raises:
            InvalidArgument: if it has another render mode, or no `render_fps` in its metadata.
        """
        RecordConstructorArgs.__init__(self)
        Wrapper.__init__(self, env)
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
        self.screen_size: tuple[int, int] | None = None
        self.window: Window | None = None
        self.clock: pygame.time.Clock | None = None
        modes = list(env.metadata.get("render_modes") or ())
        if "human" not in modes:
            self.metadata = {**env.metadata, "render_modes": [*modes, "human"]}

    @property
    def render_mode(self) -> str:  # type: ignore[override]
        """The render mode: "human"."""
        return "human"

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment and show its frame."""
        result = self.env.step(action)
        self._render_frame()
        return result

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset the environment and show its first frame."""
        result = self.env.reset(seed=seed, options=options)
        self._render_frame()
        return result

    def render(self) -> None:
        """Do nothing: `reset` and `step` show the frames."""

    def _next_frame(self) -> np.ndarray | None:
        """Return the frame to show, uint8 [height, width, 3], or None if there is none yet."""
        frame: Any = self.env.render()
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
        if frame.ndim == 2:  # depth or grey: scale to the full range of grey
            low, high = (float(frame.min()), float(frame.max())) if frame.size else (0.0, 0.0)
            if frame.dtype != np.uint8:
                frame = (frame - low) * (255.0 / (high - low) if high > low else 0.0)
            frame = np.repeat(frame.astype(np.uint8)[:, :, None], 3, axis=2)
        if frame.ndim != 3 or frame.shape[2] != 3:
            raise error.FailedCheck(
                "Expected `env.render()` to return an array [height, width, 3] or [height, width], "
                f"actual shape: {frame.shape}"
            )
        return frame

    def _render_frame(self) -> None:
        """Show one frame, and wait so that the frame rate is kept."""
        frame = self._next_frame()
        if frame is None:
            return
        pygame = load_pygame()
        size = (frame.shape[1], frame.shape[0])
        if self.window is not None and (size != self.screen_size or not self.window.is_open):
            self.window.close()
            self.window = None
        if self.window is None:
            title = self.spec.id if self.spec is not None else type(self.unwrapped).__name__
            self.window = Window(title, size)
            self.screen_size = size
        if self.clock is None:
            self.clock = pygame.time.Clock()
        pygame.event.pump()
        self.window.show(pygame.surfarray.make_surface(frame.transpose(1, 0, 2)))
        self.clock.tick(self.metadata["render_fps"])

    def close(self) -> None:
        """Close the window and the environment."""
        if self.window is not None:
            self.window.close()
            self.window = None
            self.clock = None
        super().close()
