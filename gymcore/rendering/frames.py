"""Frames and windows of environments that draw with pygame, which is imported for the first frame.

Frames for `"rgb_array"` are drawn in memory: no display is opened and no SDL subsystem is started,
so rendering works on a machine without a screen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gymcore import error, logger
from gymcore.base import process_wide
from gymcore.core import ActType, Env, ObsType
from gymcore.rendering.window import Window, load_pygame

if TYPE_CHECKING:
    import pygame

RENDER_MODES = ("human", "rgb_array")


class Renderer:
    """Turns a drawing function into frames (`"rgb_array"`) or a live window (`"human"`).

    Examples:
        >>> def draw(surface, color):
        ...     surface.fill(color)
        >>> renderer = Renderer(draw, size=(4, 2), fps=30, render_mode="rgb_array")
        >>> frame = renderer.render((255, 0, 0))
        >>> frame.shape, frame[0, 0].tolist()
        ((2, 4, 3), [255, 0, 0])
        >>> renderer.close()
    """

    def __init__(
        self,
        draw: Callable[..., None],
        size: tuple[int, int],
        fps: float,
        render_mode: str,
        metadata_id: str = "gymcore",
    ) -> None:
        """Check the settings; the first frame imports pygame and opens the window.

        Args:
            draw: Function called as `draw(surface, *args, **context)` with the arguments of
                `render`; it draws the whole frame on a `pygame.Surface` and must not keep it. One
                thread at a time draws.
            size: Width and height in pixels.
            fps: Frames per second in a window; `render` sleeps to keep this rate.
            render_mode: `"rgb_array"` or `"human"`.
            metadata_id: Title of the window, such as the environment's id.

        Raises:
            gymcore.error.UnsupportedMode: If `render_mode` is another one.
            gymcore.error.InvalidArgument: If `size` or `fps` is not positive.
        """
        self.render_mode = render_mode
        width, height = size
        if width <= 0 or height <= 0:
            raise error.InvalidArgument(
                f"size: expected a positive width and height, got {width} x {height}"
            )
        if not fps > 0:
            raise error.InvalidArgument(f"fps: expected a positive number, got {fps}")
        self.size = (int(width), int(height))
        self.fps = fps
        self.metadata_id = metadata_id
        self._draw = draw
        self._window: Window | None = None
        self._surface: pygame.Surface | None = None
        self._clock: pygame.time.Clock | None = None

    @property
    def render_mode(self) -> str:
        """The render mode. It may be changed between frames, as `gymcore.compat` does.

        Raises:
            gymcore.error.UnsupportedMode: If it is set to any other value.
        """
        return self._render_mode

    @render_mode.setter
    def render_mode(self, mode: str) -> None:
        if mode not in RENDER_MODES:
            raise error.UnsupportedMode(
                f"render_mode: expected one of {', '.join(RENDER_MODES)}, got {mode!r}"
            )
        self._render_mode = mode

    def render(self, *args: object, **context: object) -> NDArray[np.uint8] | None:
        """Draw one frame, and return or show it.

        A window that other code in the process has closed is opened again. The close button has no
        effect by itself: SDL's events, including `QUIT`, stay queued for `pygame.event.get()`.

        Args:
            *args: Arguments of the drawing function after the surface.
            **context: Keyword arguments of the drawing function.

        Returns:
            For `"rgb_array"` the frame [height, width, 3] uint8, a new array that the caller owns;
            for `"human"` None.

        Raises:
            gymcore.error.DependencyNotInstalled: If pygame is not installed.
            gymcore.error.Error: If the mode is `"human"` and no window can be opened.
        """
        pygame = load_pygame()
        if self.render_mode == "rgb_array":
            return self._render_frame(pygame, args, context)
        self._render_window(pygame, args, context)
        return None

    def _render_frame(
        self, pygame: ModuleType, args: tuple[object, ...], context: dict[str, object]
    ) -> NDArray[np.uint8]:
        """Return a new frame. The surface uses the array's own memory: nothing is copied."""
        width, height = self.size
        # Zeros, so that pixels that a drawing leaves out are reproducible.
        frame = np.zeros((height, width, 3), dtype=np.uint8)
        with process_wide.drawing_lock:
            self._draw(pygame.image.frombuffer(frame, self.size, "RGB"), *args, **context)
        return frame

    def _render_window(
        self, pygame: ModuleType, args: tuple[object, ...], context: dict[str, object]
    ) -> None:
        """Show a frame in the window, which is opened if needed; wait to keep the frame rate."""
        if self._surface is None or self._clock is None:
            pixels = np.zeros((self.size[1], self.size[0], 3), dtype=np.uint8)
            self._surface = pygame.image.frombuffer(pixels, self.size, "RGB")
            self._clock = pygame.time.Clock()
        with process_wide.drawing_lock:
            self._draw(self._surface, *args, **context)
        if self._window is None or not self._window.is_open:
            self._window = Window(self.metadata_id, self.size)
        self._window.show(self._surface)
        pygame.event.pump()
        self._clock.tick(self.fps)

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes for a copy, which opens a window of its own at its next frame."""
        return {**self.__dict__, "_window": None, "_surface": None, "_clock": None}

    @property
    def surface(self) -> pygame.Surface | None:
        """Surface of the window; None if there is no window."""
        return self._surface

    @property
    def clock(self) -> pygame.time.Clock | None:
        """Clock of the window; None if there is no window."""
        return self._clock

    def close(self) -> None:
        """Close the window, if there is one; windows of other renderers stay open."""
        if self._window is not None:
            self._window.close()
        self._window = self._surface = self._clock = None


def drawing_object(name: str, of_renderer: str, absent: bool = False) -> property:
    """Return a property for a pygame object of the window, which a subclass may replace.

    Without a window it is None, or raises `AttributeError` if `absent`.
    """

    def read(env: DrawnEnv) -> object:
        value = env._drawing.get(name, getattr(env._renderer, of_renderer, None))
        if value is None and absent:
            raise AttributeError(f"{type(env).__name__!r} object has no attribute {name!r}")
        return value

    def write(env: DrawnEnv, value: object) -> None:
        env._drawing = {**env._drawing, name: value}

    return property(read, write, doc=f"The pygame {of_renderer} of the window; None without one.")


class DrawnEnv(Env[ObsType, ActType]):
    """Base class of environments that are drawn with pygame.

    Attributes:
        frame_size: Width and height of a frame.
        isopen: Whether `close` has not been called.
    """

    frame_size: tuple[int, int] = (600, 400)
    isopen: bool = True
    _renderer: Renderer | None = None

    # The values that a `render` of a subclass has set, as in Gymnasium.
    _drawing: Mapping[str, object] = MappingProxyType({})
    screen = drawing_object("screen", "surface")
    surf = drawing_object("surf", "surface")
    clock = drawing_object("clock", "clock")

    def _has_render_mode(self) -> bool:
        """Return whether there is a render mode; warn if there is none."""
        if self.render_mode is None:
            logger.warn(
                "You are calling render method without specifying any render mode. You can specify "
                "the render_mode at initialization, "
                f'e.g. gym.make("{self._title()}", render_mode="rgb_array")'
            )
        return self.render_mode is not None

    def _title(self) -> str:
        return self.spec.id if self.spec is not None else type(self).__name__

    def _render_with(
        self, draw: Callable[..., None], mode: str, *args: object, **values: object
    ) -> NDArray[np.uint8] | None:
        """Render with the first given drawing function; it must not keep the environment alive."""
        if self._renderer is None:
            fps = self.metadata["render_fps"]
            self._renderer = Renderer(draw, self.frame_size, fps, mode, self._title())
        elif self._renderer.render_mode != mode:
            self._renderer.render_mode = mode
        return self._renderer.render(*args, **values)

    def close(self) -> None:
        """Close the window, if there is one. The environment can still be reset and stepped."""
        self.isopen = False
        windows = ("screen", "window", "window_surface")
        if any(self._drawing.get(name) is not None for name in windows):  # opened by a subclass
            load_pygame().display.quit()
        self._drawing = MappingProxyType({})
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None


def draw_frame(surface: pygame.Surface, frame: NDArray[np.uint8]) -> None:
    """Draw a complete frame [height, width, 3] uint8, scaled to the size of the surface."""
    pygame = load_pygame()
    height, width = frame.shape[:2]
    pixels = pygame.image.frombuffer(np.ascontiguousarray(frame), (width, height), "RGB")
    if surface.get_size() != (width, height):
        pixels = pygame.transform.smoothscale(pixels, surface.get_size())
    surface.blit(pixels, (0, 0))
