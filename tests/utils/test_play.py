"""play, PlayableGame and PlayPlot, with posted events and without a screen."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import matplotlib
import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.rendering.window import load_pygame
from gymcore.utils.play import (
    MissingKeysToAction,
    PlayableGame,
    PlayPlot,
    display_arr,
    play,
)
from gymcore.utils.play_keys import default_keys
from tests.videos import make_film_env

FilmEnv = make_film_env()
pygame = load_pygame()
A, B, C = 97, 98, 99


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame.display.quit()
    yield
    pygame.quit()


def down(key: int) -> Any:
    return pygame.event.Event(pygame.KEYDOWN, key=key)


def up(key: int) -> Any:
    return pygame.event.Event(pygame.KEYUP, key=key)


def played(
    env: Any, keys: Any, events: dict[int, list[Any]], steps: int, **kwargs: Any
) -> list[tuple[Any, ...]]:
    """Play `steps` steps, posting events after some; return the callback's arguments."""
    calls: list[tuple[Any, ...]] = []

    def callback(*arguments: Any) -> None:
        calls.append(arguments)
        for event in events.get(len(calls), []):
            pygame.event.post(event)
        if len(calls) >= steps:
            pygame.event.post(pygame.event.Event(pygame.QUIT))

    play(env, callback=callback, keys_to_action=keys, fps=1000, **kwargs)
    return calls


def test_combinations_of_keys() -> None:
    events = {2: [down(A)], 4: [up(A), down(B)], 6: [down(C)], 8: [down(A)]}
    calls = played(FilmEnv(length=3), {"a": 1, "bc": 2, (B,): 3}, events, 10)
    assert [call[2] for call in calls] == [0, 0, 1, 1, 3, 3, 2, 2, 0, 0]
    assert [call[:2] for call in calls[:4]] == [(0, 1), (1, 1), (1, 1), (0, 1)]
    assert [call[4] for call in calls[:4]] == [False, False, True, False]
    assert not pygame.display.get_init()


def test_no_key() -> None:
    assert [call[2] for call in played(FilmEnv(), {"a": 1}, {}, 3, noop=4)] == [4, 4, 4]
    assert {call[2] for call in played(FilmEnv("rgb_array_list"), {"a": 1}, {}, 3)} == {0}


def test_waiting_for_the_player() -> None:
    env = FilmEnv(length=100)
    renders = 0
    picture = env.picture

    def count() -> Any:
        nonlocal renders
        renders += 1
        if renders == 10:
            pygame.event.post(down(A))
        return picture()

    env.picture = count
    calls = played(env, {"a": 1}, {}, 3, wait_on_player=True)
    assert [call[2] for call in calls] == [1, 1, 1] and renders >= 12


@pytest.mark.parametrize(
    "name",
    ["CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Acrobot-v1", "Pendulum-v1"],
)
def test_classic_control_has_keys(name: str) -> None:
    env = gymcore.make(name, render_mode="rgb_array")
    events = {1: [down(pygame.K_RIGHT)], 2: [up(pygame.K_RIGHT), down(pygame.K_LEFT)]}
    first, right, left = (call[2] for call in played(env, None, events, 3, seed=1))
    assert np.any(right != left)
    if not name.startswith("CartPole"):
        assert np.any(first != left) and np.any(first != right)
    env.close()


def test_missing_keys(registries: None) -> None:
    with pytest.raises(ValueError, match=r"must have an `env\.spec` to auto-detect missing keys"):
        play(FilmEnv())
    with pytest.raises(AssertionError):
        PlayableGame(FilmEnv())
    gymcore.register("Foo-v0", lambda **kwargs: FilmEnv())
    env = gymcore.make("Foo-v0")
    for call in (play, PlayableGame):
        with pytest.raises(
            MissingKeysToAction, match="Foo-v0 does not have explicit key to action"
        ):
            call(env)


@pytest.mark.parametrize("mode", ["human", "ansi", None])
def test_render_modes(mode: Any) -> None:
    for call in (play, PlayableGame):
        with pytest.raises(ValueError, match=f"your environment render_mode = {mode}"):
            call(FilmEnv(mode), keys_to_action={(A,): 1})


def test_wrong_keys() -> None:
    with pytest.raises(ValueError, match="cannot be empty"):
        play(FilmEnv(), keys_to_action={(): 1})
    with pytest.raises(ValueError, match="Action 7 is not a valid action"):
        play(FilmEnv(), keys_to_action={"a": 7})


def test_events() -> None:
    game = PlayableGame(FilmEnv(), {(A,): 1, (B, C): 2}, zoom=2)
    assert (game.video_size, game.relevant_keys) == ((96, 64), {A, B, C})
    assert game.original_video_size == game.video_size
    for event, pressed in (
        (down(A), {A}),
        (down(120), {A}),
        (down(B), {A, B}),
        (up(A), {B}),
        (up(C), {B}),
    ):
        game.process_event(event)
        assert game.pressed_keys == pressed and game.running
    game.process_event(pygame.event.Event(pygame.WINDOWRESIZED, x=100, y=80))
    assert game.video_size == (100, 67)
    game.process_event(down(pygame.K_ESCAPE))
    assert not game.running
    with pytest.raises(error.InvalidArgument, match="Zoom"):
        PlayableGame(FilmEnv(), {(A,): 1}, zoom=0)


def test_display() -> None:
    screen = pygame.Surface((8, 6))
    frame = np.zeros((6, 8, 3), np.uint8)
    frame[0, 1] = (255, 0, 0)
    before = frame.copy()
    display_arr(screen, frame, (8, 6), True)
    assert screen.get_at((1, 0))[:3] == (255, 0, 0) and (frame == before).all()
    display_arr(screen, frame.swapaxes(0, 1), (8, 6), False)
    assert screen.get_at((1, 0))[:3] == (255, 0, 0)
    with pytest.raises(AssertionError, match="uint8"):
        display_arr(screen, (frame / 2).astype(object), (8, 6), True)


def test_plot() -> None:
    matplotlib.use("agg")
    from matplotlib import pyplot

    plot = PlayPlot(lambda *arguments: [arguments[3], 2], 5, ["reward", "two"])
    played(FilmEnv(length=100), {"a": 1}, {}, 1)
    for k in range(7):
        plot.callback(0, 0, 0, float(k), False, False, {})
    assert (plot.t, list(plot.data[0])) == (7, [2, 3, 4, 5, 6])
    assert [axis.get_title() for axis in plot.ax] == ["reward", "two"]
    np.testing.assert_array_equal(plot.cur_plot[0].get_xydata(), [[k, k] for k in range(2, 7)])
    with pytest.raises(error.InvalidArgument, match="expected 2 numbers"):
        PlayPlot(lambda *a: [1], 5, ["x", "y"]).callback(0, 0, 0, 0, False, False, {})
    with pytest.raises(ValueError, match="plot_names"):
        PlayPlot(lambda *a: [1], 5, [])
    pyplot.close("all")


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(error.DependencyNotInstalled, match="run `pip install matplotlib`"):
        PlayPlot(lambda *a: [1], 5, ["x"])


@pytest.mark.parametrize("env_id", ["MiniGrid-DoorKey-8x8-v0", "BabyAI-BossLevel-v0"])
def test_grid_worlds_have_the_keys_of_minigrid(env_id: str) -> None:
    keys = default_keys(gymcore.make(env_id))
    assert keys is not None
    expected = {
        "LEFT": 0, "RIGHT": 1, "UP": 2, "TAB": 3, "PAGEUP": 3, "LSHIFT": 4, "PAGEDOWN": 4,
        "SPACE": 5, "RETURN": 6,
    }  # fmt: skip
    for name, action in expected.items():
        assert keys.actions[getattr(pygame, f"K_{name}"),] == action
    assert "page down     drop" in keys.legend


def test_levels_of_three_actions_have_three_keys() -> None:
    keys = default_keys(gymcore.make("MiniGrid-Dynamic-Obstacles-5x5-v0"))
    assert keys is not None and set(keys.actions.values()) == {0, 1, 2}
