"""`AtariPreprocessing` compared with Gymnasium's: over a fake emulator, and ale-py if installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.wrappers import AtariPreprocessing
from tests.testing_env import assert_same
from tests.wrappers.fake_atari import make_fake_atari
from tests.wrappers.side_by_side import assert_same_space
from tests.wrappers.walk_env import make_walk_env

cv2 = pytest.importorskip("cv2")

OPTIONS: list[dict[str, Any]] = [
    {},
    {"noop_max": 0},
    {"noop_max": 3, "frame_skip": 1},
    {"frame_skip": 2, "screen_size": (20, 12)},
    {"frame_skip": 3, "terminal_on_life_loss": True},
    {"terminal_on_life_loss": True, "noop_max": 0, "screen_size": 40},
    {"grayscale_obs": False, "screen_size": (16, 21)},
    {"grayscale_newaxis": True, "screen_size": 10},
    {"grayscale_obs": False, "grayscale_newaxis": True, "scale_obs": True},
    {"scale_obs": True},
]


def check(ours: Any, theirs: Any, steps: int) -> None:
    """Step both, and compare all results and attributes."""

    def compare(one: Any, other: Any, where: str) -> None:
        assert_same(one, other, where)
        assert ours.lives == theirs.lives, where
        # Gymnasium's value is the last step's even after a reset.
        assert ours.game_over is (theirs.game_over if len(one) == 5 else False), where
        kept.append((one, deepcopy(one)))
        del kept[:-3]
        for was, copy in kept:
            assert_same(was, copy, f"an earlier result, {where}")

    kept: list[tuple[Any, Any]] = []
    assert_same_space(ours.observation_space, theirs.observation_space)
    for name in ("noop_max", "frame_skip", "screen_size", "terminal_on_life_loss"):
        assert_same(getattr(ours, name), getattr(theirs, name))
    for name in ("grayscale_obs", "grayscale_newaxis", "scale_obs"):
        assert_same(getattr(ours, name), getattr(theirs, name))
    assert ours._saved_kwargs == theirs._saved_kwargs
    compare(ours.reset(seed=3), theirs.reset(seed=3), "reset")
    assert ours.observation_space.contains(ours._get_obs())
    theirs.action_space.seed(0)
    for step in range(steps):
        action = theirs.action_space.sample()
        one, other = ours.step(action), theirs.step(action)
        compare(one, other, f"step {step}")
        if other[2] or other[3]:
            seed = step if step % 2 else None
            options = {"lives": 2}
            again = theirs.reset(seed=seed, options=dict(options))
            compare(ours.reset(seed=seed, options=options), again, f"reset after step {step}")


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("loss", [0.05, 0.4])
def test_equals_gymnasiums_over_a_fake_emulator(options: dict[str, Any], loss: float) -> None:
    ours, theirs = (
        package.wrappers.AtariPreprocessing(make_fake_atari(package)(loss=loss), **options)
        for package in (gymcore, gymnasium)
    )
    check(ours, theirs, 36)
    assert ours.unwrapped.seeds == theirs.unwrapped.seeds
    assert ours.unwrapped.actions == theirs.unwrapped.actions


def test_a_pixel_is_the_larger_one_of_two_frames() -> None:
    env = AtariPreprocessing(make_fake_atari()(loss=0), noop_max=0, screen_size=(16, 21))
    env.reset(seed=0)
    screens = []
    step = env.unwrapped.step

    def watched(action: Any) -> Any:
        result = step(action)
        screens.append(result[0][:, :, 1])
        return result

    env.unwrapped.step = watched
    observation, _, _, _, info = env.step(0)
    assert len(screens) == 4 and info["frame"] == 4
    assert_same(observation, np.maximum(screens[2], screens[3]))


def test_a_lost_life_ends_the_episode_and_the_next_reset_begins_the_game_anew() -> None:
    env = AtariPreprocessing(make_fake_atari()(loss=1.0), noop_max=0, terminal_on_life_loss=True)
    env.reset(seed=0)
    *_, terminated, truncated, info = env.step(1)
    assert (terminated, truncated, env.game_over, env.lives) == (True, False, True, 2)
    assert info == {"lives": 2, "frame": 1}
    env.reset()
    assert (env.lives, env.game_over) == (3, False)


def test_between_one_and_noop_max_frames_pass() -> None:
    env = AtariPreprocessing(make_fake_atari()(loss=0), noop_max=3)
    seen = {env.reset(seed=seed)[1]["frame"] for seed in range(30)}
    assert seen == {1, 2, 3}
    assert set(env.unwrapped.actions) == {0}


def test_the_buffers_are_the_emulators_pictures() -> None:
    env = AtariPreprocessing(make_fake_atari()(), grayscale_obs=False)
    assert env.ale is env.unwrapped.ale
    assert [(b.shape, b.dtype) for b in env.obs_buffer] == [((21, 16, 3), np.uint8)] * 2


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"noop_max": -1}, ValueError, "Expect the `noop_max` to be non-negative, actually: -1"),
        ({"noop_max": "a"}, TypeError, "Expect the `noop_max` to be an integer, actually: 'a'"),
        ({"frame_skip": 0}, ValueError, "Expect the `frame_skip` to be positive, actually: 0"),
        ({"frame_skip": 1.5}, TypeError, "Expect the `frame_skip` to be an integer, actually: 1.5"),
        ({"screen_size": 0}, ValueError, "Expect the `screen_size` to be positive, actually: 0"),
        ({"screen_size": 1 << 15}, ValueError, "of at most 32767 pixels"),
        ({"screen_size": (84,)}, ValueError, "Expect the `screen_size` to be positive, actually:"),
        ({"screen_size": (0, 3)}, ValueError, "Expect the `screen_size` to be positive, actually"),
        ({"screen_size": [84, 84]}, ValueError, "to be positive, actually: [84, 84]"),
        ({"screen_size": 84.0}, ValueError, "to be positive, actually: 84.0"),
        ({"screen_size": True}, ValueError, "to be positive, actually: True"),
    ],
)
def test_arguments_out_of_range(options: Any, kind: type, words: str) -> None:
    with pytest.raises(kind) as raised:
        AtariPreprocessing(make_fake_atari()(), **options)
    assert words in str(raised.value)
    assert isinstance(raised.value, error.Error)


@pytest.mark.parametrize(
    ("env_options", "options", "kind", "words"),
    [
        (
            {"frameskip": 4},
            {},
            ValueError,
            "Disable frame-skipping in the original env. Otherwise, ",
        ),
        ({"meanings": ("FIRE",)}, {}, ValueError, "the first action meaning must be 'NOOP'"),
        ({"observation_space": "discrete"}, {}, TypeError, "requires a Box observation space, got"),
        ({"observation_space": "ram"}, {}, ValueError, "requires images as observations"),
    ],
)
def test_environments_that_do_not_fit(
    env_options: Any, options: Any, kind: type, words: str
) -> None:
    spaces = {
        "discrete": gymcore.spaces.Discrete(3),
        "ram": gymcore.spaces.Box(0, 255, (128,), np.uint8),
    }
    if "observation_space" in env_options:
        env_options = {"observation_space": spaces[env_options["observation_space"]]}
    with pytest.raises(kind) as raised:
        AtariPreprocessing(make_fake_atari()(**env_options), **options)
    assert words in str(raised.value)
    assert isinstance(raised.value, error.Error)


def test_an_environment_of_another_kind() -> None:
    with pytest.raises(error.InvalidArgument, match="Disable frame-skipping"):
        AtariPreprocessing(make_walk_env()())
    with pytest.raises(error.ArgumentTypeError, match="Expected env to be a `gymcore"):
        AtariPreprocessing(3)


def test_what_need_not_be() -> None:
    AtariPreprocessing(make_fake_atari()(frameskip=4), frame_skip=1)
    AtariPreprocessing(make_fake_atari()(meanings=("FIRE",)), noop_max=0)
    env = AtariPreprocessing(make_fake_atari()(), screen_size=np.int64(30))
    assert env.screen_size == (30, 30)


def test_a_copy_goes_on_alone() -> None:
    env = AtariPreprocessing(make_fake_atari()(), terminal_on_life_loss=True)
    env.reset(seed=0)
    again = deepcopy(env)
    for _ in range(3):
        assert_same(env.step(1), again.step(1))


def test_without_opencv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(error.DependencyNotInstalled, match="`pip install opencv-python-headless`"):
        AtariPreprocessing(make_fake_atari()())


# --- the emulator ---------------------------------------------------------------------------------


def adapt(package: Any, env: Any) -> Any:
    """Adapt an environment of one package to the other."""

    class Adapter(package.Env):
        def __init__(self) -> None:
            game = env.unwrapped
            self.ale, self._frameskip = game.ale, game._frameskip
            self.get_action_meanings = game.get_action_meanings
            box = env.observation_space
            self.observation_space = package.spaces.Box(0, 255, box.shape, np.uint8)
            self.action_space = package.spaces.Discrete(int(env.action_space.n))

        @property
        def np_random(self) -> Any:
            return env.unwrapped.np_random

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return env.reset(seed=seed)  # games have no options

        def step(self, action: Any) -> Any:
            return env.step(action)

    return Adapter()


def make_games(game: str, **arguments: Any) -> tuple[Any, Any]:
    """Return our game, and ale-py's for Gymnasium."""
    ale_py = pytest.importorskip("ale_py", reason="ale_py is not installed")
    gymnasium.register_envs(ale_py)
    return tuple(package.make(game, frameskip=1, **arguments) for package in (gymcore, gymnasium))  # type: ignore[return-value]


@pytest.fixture(scope="module")
def breakouts() -> Iterator[tuple[Any, Any]]:
    """Yield both games, loaded once."""
    yield make_games("ALE/Breakout-v5")  # not in a variable, to be freed in time


GAME_OPTIONS: list[dict[str, Any]] = [
    {},
    {"noop_max": 0, "frame_skip": 1, "terminal_on_life_loss": True, "screen_size": (160, 210)},
    {"frame_skip": 2, "screen_size": (40, 105), "noop_max": 5, "grayscale_newaxis": True},
    {"frame_skip": 3, "screen_size": (200, 300), "scale_obs": True},
    {"grayscale_obs": False, "scale_obs": True, "screen_size": (64, 250)},
]


@pytest.mark.parametrize("options", GAME_OPTIONS)
def test_equals_gymnasiums_flag_by_flag(
    breakouts: tuple[Any, Any], options: dict[str, Any]
) -> None:
    ours, theirs = breakouts
    check(
        AtariPreprocessing(ours, **options),
        gymnasium.wrappers.AtariPreprocessing(theirs, **options),
        20,
    )


@pytest.mark.soak
@pytest.mark.parametrize("game", ["Breakout", "Pong", "Seaquest", "Tennis", "MontezumaRevenge"])
@pytest.mark.parametrize("options", GAME_OPTIONS)
def test_equals_gymnasiums_for_long(game: str, options: dict[str, Any]) -> None:
    ours, theirs = make_games(f"ALE/{game}-v5")
    check(
        AtariPreprocessing(ours, **options),
        gymnasium.wrappers.AtariPreprocessing(theirs, **options),
        400,
    )


def test_equals_gymnasiums_over_the_games_of_each_other(breakouts: tuple[Any, Any]) -> None:
    options = {"terminal_on_life_loss": True, "noop_max": 3}
    ours, theirs = breakouts
    check(
        AtariPreprocessing(adapt(gymcore, theirs), **options),
        gymnasium.wrappers.AtariPreprocessing(adapt(gymnasium, ours), **options),
        60,
    )


class Watched(gymcore.Wrapper):
    """Wrapper that keeps the frames that pass through it."""

    def step(self, action: Any) -> Any:
        result = super().step(action)
        self.frames.append(result[0])
        return result

    def reset(self, **arguments: Any) -> Any:
        self.frames: list[Any] = []
        return super().reset(**arguments)


def test_a_wrapper_below_sees_the_frames() -> None:
    plain = AtariPreprocessing(make_games("ALE/Pong-v5")[0], noop_max=2)
    watched = AtariPreprocessing(Watched(make_games("ALE/Pong-v5")[0]), noop_max=2)
    assert_same(watched.reset(seed=1), plain.reset(seed=1))
    for action in (2, 3, 2, 2):
        assert_same(watched.step(action), plain.step(action))
        frame = watched.unwrapped.ale.getScreenRGB()
        assert_same(watched.env.frames[-1], frame)
    # Also if the game below the wrapper is stepped directly.
    assert_same(plain.unwrapped.step(0)[0], plain.unwrapped.ale.getScreenRGB())
    with pytest.raises(error.InvalidAction):
        plain.step(77)
    assert_same(plain.env.step(0)[0], plain.unwrapped.ale.getScreenRGB())


def test_a_game_of_ones_own_sees_its_frames() -> None:
    pytest.importorskip("ale_py", reason="ale_py is not installed")
    from gymcore.envs.atari import AtariEnv

    class Bright(AtariEnv):
        def step(self, action: Any) -> Any:
            observation, _, *rest = super().step(action)
            assert_same(observation, self.ale.getScreenRGB())
            return observation, float(observation.mean()), *rest

    env = AtariPreprocessing(Bright("pong", frameskip=1))
    env.reset(seed=1)
    assert env.step(0)[1] > 100
