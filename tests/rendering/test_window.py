"""Several windows at once, and windows in a program that uses pygame itself."""

import copy
import gc
import os
import pickle
import signal
import subprocess
import sys

import pytest

from gymcore import error
from gymcore.rendering import window as window_module
from gymcore.rendering.window import Window, load_pygame

SIZE = (12, 8)


@pytest.fixture
def pygame(monkeypatch):
    """Yield pygame with SDL's dummy video driver, uninitialized before and after."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    module = load_pygame()
    module.quit()
    yield module
    module.quit()


@pytest.fixture
def frame(pygame):
    surface = pygame.Surface(SIZE, depth=24)
    surface.fill((10, 20, 30))
    return surface


def test_load_pygame_returns_the_module():
    import pygame

    assert load_pygame() is pygame


def test_open_show_close(pygame, frame):
    window = Window("title", SIZE)
    assert window.is_open
    window.show(frame)
    window.close()
    assert not window.is_open
    window.close()


def test_the_pixels_arrive_in_the_window(pygame, frame):
    frame.set_at((3, 2), (200, 100, 50))
    window = Window("title", SIZE)
    window.show(frame)
    backend = window._backend
    if isinstance(backend, window_module._TextureBackend):
        backend._texture.draw()
        on_screen = backend._renderer.to_surface()
    else:
        on_screen = backend.window.get_surface()
    assert on_screen.get_size() == SIZE
    assert on_screen.get_at((3, 2))[:3] == (200, 100, 50)
    assert on_screen.get_at((0, 0))[:3] == (10, 20, 30)
    window.close()


def test_title_and_size(pygame):
    window = Window("CartPole-v1", SIZE)
    assert window._backend.window.title == "CartPole-v1"
    assert tuple(window._backend.window.size) == SIZE
    window.close()


def test_show_on_a_closed_window(pygame, frame):
    window = Window("title", SIZE)
    window.close()
    with pytest.raises(error.ClosedEnvironmentError, match="closed"):
        window.show(frame)


def test_the_display_stops_with_the_last_window(pygame):
    windows = [Window(str(index), SIZE) for index in range(3)]
    for window in windows:
        assert pygame.display.get_init()
        window.close()
    assert not pygame.display.get_init()


def test_a_display_that_was_on_before_stays_on(pygame):
    pygame.display.init()
    Window("title", SIZE).close()
    assert pygame.display.get_init()


def test_a_display_in_use_by_the_program_stays_on(pygame):
    window = Window("title", SIZE)
    screen = pygame.display.set_mode((5, 5))
    window.close()
    assert pygame.display.get_surface() is screen


@pytest.mark.parametrize("everything", [True, False])
def test_quitting_pygame_closes_the_windows(pygame, frame, everything):
    windows = [Window(str(index), SIZE) for index in range(2)]
    if everything:
        pygame.quit()
    else:
        pygame.display.quit()
    assert [window.is_open for window in windows] == [False, False]
    with pytest.raises(error.ClosedEnvironmentError):
        windows[0].show(frame)
    again = Window("again", SIZE)
    again.show(frame)
    pygame.quit()
    assert not again.is_open


def test_a_restarted_display_belongs_to_the_program(pygame, frame):
    lost = Window("lost", SIZE)
    pygame.display.quit()
    pygame.display.init()
    assert not lost.is_open
    fresh = Window("fresh", SIZE)
    del lost
    gc.collect()
    fresh.show(frame)
    fresh.close()
    assert pygame.display.get_init()


def test_a_window_that_nobody_refers_to_closes(pygame, frame):
    window = Window("title", SIZE)
    window.show(frame)
    del window
    gc.collect()
    assert not pygame.display.get_init()


def test_without_a_screen_the_error_says_what_to_do(pygame, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "no_such_driver")
    with pytest.raises(error.Error, match=r'cannot open a window .*render_mode="rgb_array"'):
        Window("title", SIZE)
    assert not pygame.display.get_init()


def test_a_window_that_nobody_can_see_is_warned_of(pygame, monkeypatch):
    """SDL uses its "offscreen" driver if there is no display."""
    monkeypatch.delenv("SDL_VIDEODRIVER")
    pygame.display.init()
    monkeypatch.setattr(pygame.display, "get_driver", lambda: "offscreen")
    with pytest.warns(UserWarning, match='render_mode "human" shows nothing: there is no display'):
        Window("title", SIZE).close()


def test_the_public_window_class_is_used_where_pygame_has_it(pygame, frame, monkeypatch):
    class PublicWindow:
        def __init__(self, title, size):
            self.title, self.id, self.flips = title, 7, 0
            self.surface = pygame.Surface(size)

        def get_surface(self):
            return self.surface

        def flip(self):
            self.flips += 1

        def destroy(self):
            self.id = 0

    monkeypatch.setattr(pygame, "Window", PublicWindow, raising=False)
    window = Window("title", SIZE)
    public = window._backend.window
    window.show(frame)
    assert public.flips == 1
    assert public.surface.get_at((4, 4))[:3] == (10, 20, 30)
    window.close()
    assert public.id == 0


def test_windows_and_files_cannot_be_copied(pygame, tmp_path):
    window = Window("title", SIZE)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(error.CopyNotSupported, match="Window: cannot be copied"):
            copied(window)
    assert window.is_open
    window.close()


@pytest.mark.skipif(os.name != "posix", reason="SIGTERM needs POSIX")
@pytest.mark.parametrize("way", ["human", "wrapper", "play"])
def test_sigterm_ends_a_program_with_a_window(way):
    """SDL would take the signal, for events that such a program does not read."""
    make = {
        "human": "env = gymcore.make('CartPole-v1', render_mode='human')",
        "wrapper": "env = gymcore.wrappers.HumanRendering("
        "gymcore.make('CartPole-v1', render_mode='rgb_array'))",
        "play": "env = gymcore.make('CartPole-v1', render_mode='rgb_array')\n"
        "env.reset()\n"
        "game = gymcore.utils.play.PlayableGame(env, {(97,): 0})",
    }[way]
    program = f"import gymcore, gymcore.utils.play, os, signal, time\n{make}\nenv.reset()\n"
    program += "os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(60)\n"
    environment = {**os.environ, "SDL_VIDEODRIVER": "dummy"}
    environment.pop("SDL_NO_SIGNAL_HANDLERS", None)
    result = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True)
    assert result.returncode == -signal.SIGTERM, result.stderr.decode()
