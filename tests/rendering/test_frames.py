"""The renderer's frames, and its use of windows."""

import os
import subprocess
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from gymcore import error
from gymcore.rendering.frames import Renderer, draw_frame
from gymcore.rendering.window import load_pygame

ROOT = Path(error.__file__).parents[1]


def stripes(surface, left=(255, 0, 0), right=(0, 0, 255)):
    """Fill the halves of the surface with two colors."""
    width, height = surface.get_size()
    surface.fill(left, (0, 0, width // 2, height))
    surface.fill(right, (width // 2, 0, width - width // 2, height))


@pytest.fixture
def pygame(monkeypatch):
    """Yield pygame with SDL's dummy video driver, uninitialized before and after."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    module = load_pygame()
    module.quit()
    yield module
    module.quit()


def human(title="window", fps=1000):
    return Renderer(stripes, (40, 20), fps, "human", title)


def run_python(code, *options, **environment):
    """Run `code` in a new interpreter that finds the package; return its output."""
    search_path = os.pathsep.join([*environment.pop("path", []), str(ROOT)])
    result = subprocess.run(
        [sys.executable, *options, "-c", code],
        env={**os.environ, "PYTHONPATH": search_path, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


class TestFrames:
    def test_shape_dtype_and_channel_order(self):
        frame = Renderer(stripes, (6, 4), 30, "rgb_array").render()
        assert frame.shape == (4, 6, 3)
        assert frame.dtype == np.uint8
        assert frame.flags.c_contiguous and frame.flags.writeable
        expected_row = [[255, 0, 0]] * 3 + [[0, 0, 255]] * 3
        assert frame.tolist() == [expected_row] * 4

    def test_a_width_that_is_no_multiple_of_four_pads_nothing(self):
        frame = Renderer(stripes, (5, 3), 30, "rgb_array").render()
        assert frame.tolist() == [[[255, 0, 0]] * 2 + [[0, 0, 255]] * 3] * 3

    def test_arguments_reach_the_drawing_function(self):
        renderer = Renderer(stripes, (2, 1), 30, "rgb_array")
        assert renderer.render((1, 2, 3), right=(4, 5, 6)).tolist() == [[[1, 2, 3], [4, 5, 6]]]

    def test_frames_are_independent(self):
        renderer = Renderer(stripes, (2, 1), 30, "rgb_array")
        first = renderer.render()
        kept = first.copy()
        second = renderer.render((9, 9, 9))
        second[...] = 7
        assert not np.shares_memory(first, second)
        np.testing.assert_array_equal(first, kept)

    def test_pixels_that_nobody_draws_are_black(self):
        renderer = Renderer(lambda surface: None, (30, 20), 30, "rgb_array")
        for _ in range(3):
            frame = renderer.render()
            assert not frame.any()
            frame[...] = 255

    def test_no_frame_rate_limit(self, pygame, monkeypatch):
        monkeypatch.setattr(pygame.time, "Clock", None)
        renderer = Renderer(stripes, (2, 1), 1, "rgb_array")
        for _ in range(2):
            renderer.render()
        assert renderer.clock is None

    def test_no_sdl_subsystem_is_started(self):
        code = (
            "from gymcore.rendering.frames import Renderer\n"
            "renderer = Renderer(lambda s: s.fill((1, 2, 3)), (8, 8), 30, 'rgb_array')\n"
            "frame = renderer.render()\n"
            "renderer.close()\n"
            "import pygame\n"
            "print(frame[0, 0].tolist(), pygame.get_init(), pygame.display.get_init(),\n"
            "      pygame.font.get_init(), pygame.mixer.get_init(), pygame.joystick.get_init())\n"
        )
        # A driver that does not exist: any attempt to start the video subsystem would fail.
        output = run_python(code, SDL_VIDEODRIVER="no_such_driver")
        assert output == "[1, 2, 3] False False False None False"

    def test_close_is_idempotent_and_rendering_goes_on(self):
        renderer = Renderer(stripes, (2, 1), 30, "rgb_array")
        renderer.close()
        first = renderer.render()
        renderer.close()
        renderer.close()
        np.testing.assert_array_equal(renderer.render(), first)


class TestArguments:
    @pytest.mark.parametrize("mode", [None, "ansi", "rgb_array_list", "HUMAN"])
    def test_unknown_mode(self, mode):
        with pytest.raises(error.UnsupportedMode, match="render_mode: expected one of human, rgb"):
            Renderer(stripes, (2, 1), 30, mode)

    @pytest.mark.parametrize("size", [(0, 1), (1, 0), (-3, 4)])
    def test_size_must_be_positive(self, size):
        with pytest.raises(error.InvalidArgument, match="size: expected a positive"):
            Renderer(stripes, size, 30, "rgb_array")

    @pytest.mark.parametrize("fps", [0, -1, float("nan")])
    def test_fps_must_be_positive(self, fps):
        with pytest.raises(error.InvalidArgument, match="fps: expected a positive"):
            Renderer(stripes, (2, 1), fps, "human")


class TestImport:
    @pytest.mark.parametrize("mode", ["rgb_array", "human"])
    def test_missing_pygame(self, monkeypatch, mode):
        renderer = Renderer(stripes, (2, 1), 30, mode)
        monkeypatch.setitem(sys.modules, "pygame", None)
        message = "run `pip install pygame-ce`"
        with pytest.raises(error.DependencyNotInstalled, match=message):
            renderer.render()
        renderer.close()

    def test_importing_the_modules_leaves_pygame_alone(self):
        code = (
            "import sys, gymcore.rendering.frames, gymcore.envs.classic_control\n"
            "from gymcore.rendering.frames import Renderer\n"
            "Renderer(print, (2, 1), 30, 'rgb_array').close()\n"
            "print('pygame' in sys.modules)\n"
        )
        assert run_python(code) == "False"

    def test_pygame_imports_silently_even_when_warnings_are_errors(self, tmp_path):
        # pygame imports pkg_resources if it is installed, which then warns of its own deprecation.
        warning = "import warnings\nwarnings.warn('pkg_resources is deprecated', UserWarning)\n"
        functions = "resource_stream = resource_exists = None\n"
        (tmp_path / "pkg_resources.py").write_text(warning + functions)
        code = "from gymcore.rendering.window import load_pygame\nprint(load_pygame().__name__)"
        assert run_python(code, "-W", "error", path=[str(tmp_path)]) == "pygame"

    def test_the_banner_stays_out_and_the_environment_as_it_was(self, monkeypatch):
        monkeypatch.delenv("PYGAME_HIDE_SUPPORT_PROMPT", raising=False)
        code = (
            "import os, gymcore\n"
            "before = dict(os.environ)\n"
            "gymcore.make_vec('CarRacing-v3', 1).reset()\n"
            "import pygame\n"
            "print(dict(os.environ) == before)\n"
        )
        assert run_python(code) == "True"


class TestHuman:
    def test_render_returns_none_and_shows_the_picture(self, pygame, monkeypatch):
        from gymcore.rendering.window import Window

        shown = []
        show = Window.show

        def spy(window, frame):
            shown.append(pygame.image.tobytes(frame, "RGB"))
            show(window, frame)

        monkeypatch.setattr(Window, "show", spy)
        renderer = human()
        assert renderer.render() is None
        assert renderer.render((1, 2, 3), (4, 5, 6)) is None
        assert shown[0] == bytes([255, 0, 0] * 20 + [0, 0, 255] * 20) * 20
        assert shown[1] == bytes([1, 2, 3] * 20 + [4, 5, 6] * 20) * 20
        renderer.close()

    def test_frame_rate_is_limited(self, pygame):
        renderer = human(fps=50)
        renderer.render()
        start = time.perf_counter()
        for _ in range(10):
            renderer.render()
        # Ten frames of 20 ms, less one millisecond per frame lost to the clock's rounding.
        assert time.perf_counter() - start > 0.15
        renderer.close()

    def test_closing_one_window_leaves_the_other(self, pygame):
        first, second = human("first"), human("second")
        first.render()
        second.render()
        first.close()
        first.close()
        assert pygame.display.get_init()
        second.render()
        second.close()
        assert not pygame.display.get_init()

    def test_rendering_after_close_opens_a_new_window(self, pygame):
        renderer = human()
        renderer.render()
        renderer.close()
        renderer.render()
        assert pygame.display.get_init()
        renderer.close()

    def test_close_before_the_first_frame_starts_nothing(self, pygame):
        human().close()
        assert not pygame.display.get_init()

    def test_quit_event_is_left_to_the_program(self, pygame):
        renderer = human()
        renderer.render()
        pygame.event.post(pygame.event.Event(pygame.QUIT))
        renderer.render()
        renderer.render()
        assert len(pygame.event.get(pygame.QUIT)) == 1
        renderer.close()

    def test_a_failing_drawing_function_opens_no_window(self, pygame):
        renderer = human()
        with pytest.raises(TypeError):
            renderer.render(unknown=1)
        assert not pygame.display.get_init()
        renderer.close()

    def test_beside_a_gymnasium_window_that_opens_and_closes(self, pygame):
        renderer = human()
        renderer.render()
        peer = gymnasium.make("CartPole-v1", render_mode="human")
        peer.reset(seed=0)
        renderer.render()
        peer.close()  # quits all of pygame
        assert renderer.render() is None
        renderer.close()


def test_a_finished_frame_is_scaled_to_the_surface():
    pygame = pytest.importorskip("pygame", reason="pygame is not installed")
    frame = np.zeros((20, 40, 3), np.uint8)
    frame[:, 20:] = 200
    surface = pygame.Surface((20, 10))
    draw_frame(surface, frame)
    pixels = pygame.surfarray.array3d(surface).swapaxes(0, 1)
    assert pixels[5, 2].tolist() == [0, 0, 0]
    assert pixels[5, 17].tolist() == [200, 200, 200]
