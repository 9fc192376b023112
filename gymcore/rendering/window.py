"""Lazy import of pygame, and windows for human rendering, several in one process."""

from __future__ import annotations

import os
import weakref
from contextvars import ContextVar
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

from gymcore import error, logger
from gymcore.base import process_wide
from gymcore.base.no_copies import NoCopies
from gymcore.base.optional_packages import pip_install

if TYPE_CHECKING:
    import pygame

expects_display: ContextVar[bool] = ContextVar("expects_display", default=True)
"""Whether a window that nobody can see is worth a warning; to `check_env` it is not."""


def load_pygame() -> ModuleType:
    """Import and return the module pygame, from pygame-ce or the original pygame.

    The import prints no banner, and hides the warning of pygame 2.6 about pkg_resources.

    Raises:
        gymcore.error.DependencyNotInstalled: If pygame is not installed.
    """
    try:
        return process_wide.load_module("pygame", PYGAME_HIDE_SUPPORT_PROMPT="1")
    except ImportError as exc:
        raise error.DependencyNotInstalled(
            f"pygame is not installed, run `{pip_install('pygame')}`"
        ) from exc


def start_display(pygame: ModuleType) -> None:
    """Start SDL's video subsystem, if it is not running, and leave signals to Python.

    SDL would take SIGTERM for a click on the close button, and the program would not end. A program
    that wants this sets the environment variable to 0, or starts the subsystem itself.
    """
    with process_wide.lock:
        if not pygame.display.get_init():
            os.environ.setdefault("SDL_NO_SIGNAL_HANDLERS", "1")
            pygame.display.init()


class _SurfaceBackend:
    """A `pygame.Window` with a surface, as in pygame-ce since 2.5."""

    def __init__(self, pygame: ModuleType, title: str, size: tuple[int, int]) -> None:
        self.window = pygame.Window(title, size)

    def show(self, frame: pygame.Surface) -> None:
        self.window.get_surface().blit(frame, (0, 0))
        self.window.flip()


class _TextureBackend:
    """A window with a software renderer of `pygame._sdl2`, as in pygame 2.

    A hardware renderer would need an OpenGL context. That could disturb a simulator that draws with
    OpenGL in the same process, and often fails in containers.
    """

    def __init__(self, pygame: ModuleType, title: str, size: tuple[int, int]) -> None:
        from pygame._sdl2 import video

        self.window = video.Window(title, size)
        self._renderer = video.Renderer(self.window, accelerated=0)
        self._texture = video.Texture(self._renderer, size, streaming=True)
        # pygame before 2.2 swaps the channels of a texture that is updated from 24-bit pixels.
        self._pixels = pygame.Surface(size, depth=32)

    def show(self, frame: pygame.Surface) -> None:
        self._pixels.blit(frame, (0, 0))
        self._texture.update(self._pixels)
        self._texture.draw()
        self._renderer.present()


_Backend: TypeAlias = _SurfaceBackend | _TextureBackend

_windows: weakref.WeakSet[Window] = weakref.WeakSet()
# Windows lost in a restart of the video subsystem. SDL may reuse their memory for new windows,
# which pygame would destroy if these objects were deleted.
_lost: list[_Backend] = []
_display_is_ours = False
_quit_is_registered = False


class Window(NoCopies):
    """A window on the screen that shows frames.

    Closing a window does not affect the others. The first window starts the video subsystem, and
    the last one stops it unless the program uses it too. A garbage-collected window is closed.
    """

    _backend: _Backend | None = None

    def __init__(self, title: str, size: tuple[int, int]) -> None:
        """Open a window of `size` (width, height) pixels.

        Raises `DependencyNotInstalled` without pygame, and `Error` if no window can be opened.
        """
        global _display_is_ours, _quit_is_registered
        pygame = load_pygame()
        has_surfaces = hasattr(getattr(pygame, "Window", None), "get_surface")
        backend: type[_Backend] = _SurfaceBackend if has_surfaces else _TextureBackend
        try:
            if not any(window.is_open for window in _windows):
                _display_is_ours = not pygame.display.get_init()
            start_display(pygame)
            self._backend = backend(pygame, title, size)
        except pygame.error as exc:
            _stop_display_if_unused(pygame)
            raise error.Error(
                f'render_mode "human" cannot open a window ({exc}); '
                'without a screen, use render_mode="rgb_array"'
            ) from exc
        is_hidden = pygame.display.get_driver() == "offscreen"
        if is_hidden and "SDL_VIDEODRIVER" not in os.environ and expects_display.get():
            logger.warn(
                'render_mode "human" shows nothing: there is no display (DISPLAY and '
                'WAYLAND_DISPLAY are not set); use render_mode="rgb_array", or xvfb-run'
            )
        self._id = self._backend.window.id
        _windows.add(self)
        if not _quit_is_registered:
            pygame.register_quit(_close_all)
            _quit_is_registered = True

    @property
    def is_open(self) -> bool:
        """Whether the window exists; False after `close` or `pygame.quit`."""
        if self._backend is None:
            return False
        # SDL frees windows when its video subsystem stops; using a freed window would crash.
        pygame = load_pygame()
        if not pygame.display.get_init():
            self._backend = None
            return False
        try:
            exists = bool(self._backend.window.id == self._id)
        except pygame.error:
            exists = False
        if not exists:
            _lost.append(self._backend)
            self._backend = None
        return exists

    def show(self, frame: pygame.Surface) -> None:
        """Copy `frame`, which has the window's size, to the screen.

        Raises:
            gymcore.error.ClosedEnvironmentError: If the window is closed.
        """
        if not self.is_open or self._backend is None:
            raise error.ClosedEnvironmentError("the window is closed")
        self._backend.show(frame)

    def close(self) -> None:
        """Remove the window from the screen; further calls do nothing."""
        # A window lost in `pygame.display.quit` must not stop the display started after it.
        if self.is_open and self._backend is not None:
            self._backend.window.destroy()
            self._backend = None
            _stop_display_if_unused(load_pygame())

    def __del__(self) -> None:
        self.close()


def _close_all() -> None:
    """Close every window; `pygame.quit()` calls this once and unregisters it."""
    global _quit_is_registered
    _quit_is_registered = False
    for window in list(_windows):
        window.close()


def _stop_display_if_unused(pygame: ModuleType) -> None:
    """Stop the video subsystem if it was started here and has no windows."""
    global _display_is_ours
    if not _display_is_ours or any(window.is_open for window in _windows):
        return
    _display_is_ours = False
    if pygame.display.get_init() and pygame.display.get_surface() is None:
        pygame.display.quit()
