from __future__ import annotations

from collections.abc import Iterator

import matplotlib
import pytest

import gymcore
import gymcore.utils.play
from gymcore import spaces
from gymcore.rendering.window import load_pygame
from gymcore.utils.play_world import PlayedWorld
from tests.videos import make_film_env

pygame = load_pygame()


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    matplotlib.use("agg")
    yield
    pygame.quit()


def start_with(monkeypatch, key: int) -> list[str]:
    """Press a key whenever the window's title asks for one; return these titles."""
    titles: list[str] = []
    set_caption = pygame.display.set_caption

    def caption(title: str) -> None:
        if "press a key to start" in title:
            titles.append(title)
            for kind in (pygame.KEYDOWN, pygame.KEYUP):
                pygame.event.post(pygame.event.Event(kind, key=key))
        set_caption(title)

    monkeypatch.setattr(pygame.display, "set_caption", caption)
    return titles


def test_without_a_display(run, monkeypatch) -> None:
    for name in ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    ran = run("play", "CartPole-v1")
    assert ran.code == 2 and "play needs a display" in ran.err and ran.err.count("\n") == 1


def test_until_the_window_is_closed(run, monkeypatch) -> None:
    """Each episode starts with a key."""
    steps = 0
    starts = start_with(monkeypatch, pygame.K_LEFT)
    step = gymcore.Wrapper.step

    def counted(self, action):
        nonlocal steps
        steps += 1
        if steps == 60:
            pygame.event.post(pygame.event.Event(pygame.QUIT))
        return step(self, action)

    monkeypatch.setattr("gymcore.wrappers.common.TimeLimit.step", counted)
    words = ("--fps", 10000, "--zoom", 0.5, "--seed", 3, "--plot")
    ran = run("play", "CartPole-v1", *words)
    assert ran.code == 0, ran.err
    # Without a key the cart is pushed to the left, and the pole falls.
    assert "episode     return" in ran.out and steps >= 60 and len(starts) > 3
    assert "left or a     push left" in ran.out


@pytest.mark.parametrize("env_id", ["MiniGrid-Empty-8x8-v0", "FrozenLake-v1"])
def test_grids_step_only_when_a_key_is_pressed(run, monkeypatch, env_id: str) -> None:
    start_with(monkeypatch, pygame.K_RIGHT)
    frames, steps = 0, 0
    display, step = gymcore.utils.play.display_arr, gymcore.Wrapper.step

    def counted(self, action):
        nonlocal steps
        steps += 1
        return step(self, action)

    def displayed(*arguments):
        nonlocal frames
        frames += 1
        if frames == 30:
            pygame.event.post(pygame.event.Event(pygame.QUIT))
        display(*arguments)

    monkeypatch.setattr("gymcore.wrappers.common.OrderEnforcing.step", counted)
    monkeypatch.setattr("gymcore.utils.play.display_arr", displayed)
    ran = run("play", env_id, "--fps", 1000, "--seed", 3)
    assert ran.code == 0, ran.err
    assert frames == 30 and steps == 1


def test_an_environment_without_keys(run, registries) -> None:
    class Worded(make_film_env()):  # type: ignore[misc]
        action_space = spaces.Text(3)

    gymcore.register("Film-v0", lambda render_mode: Worded(render_mode))
    ran = run("play", "Film-v0")
    assert ran.code == 2 and "no keys are known for the actions Text" in ran.err


def test_wrong_words(run) -> None:
    with pytest.raises(SystemExit):
        run("play", "CartPole-v1", "--zoom", "-1")


def test_an_atari_game(run, monkeypatch) -> None:
    pytest.importorskip("ale_py", reason="ale_py is not installed")
    from gymcore.envs.atari import AtariEnv

    actions: list[int] = []
    step = AtariEnv.step

    start_with(monkeypatch, ord("e"))

    def pressing(self, action):
        actions.append(action)
        if len(actions) == 5:
            pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=ord("d")))
        if len(actions) == 10:
            pygame.event.post(pygame.event.Event(pygame.QUIT))
        return step(self, action)

    monkeypatch.setattr(AtariEnv, "step", pressing)
    ran = run("play", "ALE/Breakout-v5", "--fps", 10000, "--seed", 3)
    assert ran.code == 0, ran.err
    assert actions[:5] == [0] * 5 and actions[5:10] == [2] * 5  # of NOOP, FIRE, RIGHT and LEFT


def test_two_players_share_the_keyboard(run, monkeypatch) -> None:
    start_with(monkeypatch, pygame.K_UP)
    actions = []
    step = PlayedWorld.step

    def recorded(self, action):
        actions.append(action.tolist())
        if len(actions) == 3:
            pygame.event.post(pygame.event.Event(pygame.QUIT))
        return step(self, action)

    monkeypatch.setattr(PlayedWorld, "step", recorded)
    ran = run("play", "Foraging-5x5-2p-1f-v3", "--fps", 10000, "--seed", 1)
    assert ran.code == 0, ran.err
    assert "agent_0       w up, s down, a left, d right, e load" in ran.out
    assert actions[0] == [0, 1] and len(actions) >= 3


def test_environments_without_frames_are_refused(run) -> None:
    ran = run("play", "mamujoco/HalfCheetah-2x3-v1")
    assert ran.code == 2 and "no keys are known" in ran.err
