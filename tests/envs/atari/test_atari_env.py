"""One game as an environment: equality with ale-py's own, and additional features."""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import pickle
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.envs.atari import AtariEnv
from gymcore.envs.atari.atari_env import NoKeys, RomNotFound, rom_path
from gymcore.envs.atari.games import GAMES
from gymcore.envs.atari.memory import GENERATOR, memory_fields
from gymcore.specs import EnvSpec
from gymcore.utils.env_checker import check_env
from tests.envs.atari.pairs import ale_py, gymnasium, make_both, walk_both
from tests.testing_env import assert_same
from tests.wrappers.side_by_side import assert_same_space

TEN = (
    "Pong",
    "Breakout",
    "SpaceInvaders",
    "Seaquest",
    "MontezumaRevenge",
    "Skiing",
    "Freeway",
    "Surround",
    "VideoChess",
    "Casino",
)

# Loading a game dominates, so a case has several arguments.
ARGUMENTS: list[dict[str, Any]] = [
    {"sound_obs": True, "frameskip": (2, 5), "continuous": True, "max_num_frames_per_episode": 90},
    {
        **{"obs_type": "grayscale", "full_action_space": True, "mode": 4, "difficulty": 1},
        **{"sound_obs": True, "render_mode": "rgb_array", "repeat_action_probability": 0},
    },
    {"continuous": True, "continuous_action_threshold": 0.2, "obs_type": "ram"},
]


# --- equal to ale-py's own ------------------------------------------------------------------------


@pytest.mark.parametrize("game", TEN[::5])
def test_frames_are_those_of_ale_py(game: str) -> None:
    walk_both(*make_both(f"ALE/{game}-v5"), steps=40, seed=7)


@pytest.mark.soak
@pytest.mark.parametrize("game", TEN)
def test_frames_are_those_of_ale_py_for_2000_steps(game: str) -> None:
    walk_both(*make_both(f"ALE/{game}-v5"), steps=2000, seed=11)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_arguments_do_what_they_do_in_ale_py(arguments: dict[str, Any]) -> None:
    ours, theirs = make_both("ALE/Breakout-v5", **arguments)
    assert_same_space(ours.observation_space, theirs.observation_space)
    assert_same_space(ours.action_space, theirs.action_space)
    assert ours.metadata == theirs.metadata and ours.render_mode == theirs.render_mode
    assert ours.unwrapped.get_action_meanings() == theirs.unwrapped.get_action_meanings()
    ended = sum(walk_both(ours, theirs, steps=60, seed=seed) for seed in (3, 4))
    assert ended or "max_num_frames_per_episode" not in arguments
    if ours.render_mode is not None:
        assert_same(ours.render(), theirs.render())


@pytest.mark.slow
def test_seeds_restore_the_state_of_a_loaded_game(monkeypatch) -> None:
    ours, theirs = make_both("ALE/Breakout-v5", max_num_frames_per_episode=200)
    loads, load_game = [], AtariEnv.load_game
    monkeypatch.setattr(AtariEnv, "load_game", lambda env: loads.append(load_game(env)))

    def walk(seed: int) -> int:
        """Compare frames and emulators; return how often the game was loaded."""
        loads.clear()
        assert walk_both(ours, theirs, steps=60, seed=seed)
        one, other = (env.unwrapped.ale.cloneState(include_rng=True) for env in (ours, theirs))
        assert one.serialize() == other.serialize()
        return len(loads)

    assert [walk(seed) for seed in (1, 2, 1)] == [0, 0, 0]
    for env in (ours, theirs):
        env.unwrapped.ale.setMode(4)
    assert walk(3) == 0
    ours.unwrapped.ale.loadROM(rom_path("pong"))
    assert walk(4) == 1
    for env in (ours, theirs):
        env.unwrapped.ale.setFloat("repeat_action_probability", 0.9)
    assert walk(5) == 1
    assert walk(6) == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*out of date")
@pytest.mark.parametrize("id", ["SpaceInvaders-v0", "SpaceInvadersNoFrameskip-v4"])
def test_earlier_versions_are_those_of_ale_py(id: str) -> None:
    walk_both(*make_both(id), steps=40, seed=5)


def test_arrays_of_one_integer_are_seeds() -> None:
    with gymcore.make("ALE/Pong-v5", obs_type="ram") as env:
        results = [env.reset(seed=seed) for seed in (5, np.array(5), np.int16(5))]
        assert_same(results[1], results[0])
        assert_same(results[2], results[0])
        for seed in (np.array(5.0), "5", [5]):
            with pytest.raises(error.ArgumentTypeError):
                env.unwrapped.seed_game(seed)


def test_a_rare_path_of_the_joystick() -> None:
    """Test every direction, with and without fire, at and around the thresholds."""
    ours, theirs = make_both("ALE/BattleZone-v5", continuous=True, obs_type="ram", frameskip=1)
    ours.reset(seed=1), theirs.reset(seed=1)
    for angle in np.linspace(-np.pi, np.pi, 17):
        for radius in (0, 0.4, 0.5, 0.71, 1):
            for fire in (0, 0.5, 0.51):
                action = np.array([radius, angle, fire], np.float32)
                assert_same(ours.step(action), theirs.step(action), f"{action}")


def _statistics(env: Any, package: Any, episodes: int) -> list[tuple[float, int]]:
    env = package.wrappers.RecordEpisodeStatistics(env)
    rng = np.random.default_rng(0)
    count, lengths = int(env.action_space.n), []
    env.reset(seed=2)
    while len(lengths) < episodes:
        *_, terminated, truncated, info = env.step(int(rng.integers(count)))
        if terminated or truncated:
            lengths.append((float(info["episode"]["r"]), int(info["episode"]["l"])))
            env.reset()
    return lengths


# With lives, and with two players, of which the console plays one.
@pytest.mark.slow
@pytest.mark.parametrize("game", ["Breakout", "Surround"])
def test_whole_games_have_the_returns_and_lengths_of_ale_py(game: str) -> None:
    ours, theirs = make_both(f"ALE/{game}-v5", obs_type="ram")
    expected = _statistics(theirs, gymnasium, 1)
    assert _statistics(ours, gymcore, 1) == expected
    assert expected[0][1] > 100


@pytest.mark.soak
@pytest.mark.parametrize("game", ["Breakout", "Seaquest", "Pong", "Boxing", "Surround", "Hangman"])
def test_many_whole_games(game: str) -> None:
    ours, theirs = make_both(f"ALE/{game}-v5")
    assert _statistics(ours, gymcore, 8) == _statistics(theirs, gymnasium, 8)


# --- every game -----------------------------------------------------------------------------------


def _start(game: str) -> None:
    env = AtariEnv(game, render_mode="rgb_array")
    observation, info = env.reset()
    assert observation in env.observation_space, game
    assert_same(env.render(), observation)
    assert set(info) == {"lives", "episode_frame_number", "frame_number"}
    keys = env.get_keys_to_action()
    assert sorted(keys.values()) == list(range(env.action_space.n)), game


@pytest.mark.parametrize("game", GAMES[::30])
def test_games_start_and_have_keys_and_a_frame(game: Any) -> None:
    _start(game)


@pytest.mark.soak
@pytest.mark.parametrize("game", GAMES)
def test_every_game_starts_and_has_keys_and_a_frame(game: str) -> None:
    _start(game)


@pytest.mark.parametrize("full", [True, False])
def test_keys_are_those_of_ale_py(full: bool) -> None:
    ours, theirs = make_both("ALE/Seaquest-v5", full_action_space=full)
    keys = ours.unwrapped.get_keys_to_action()
    assert keys == theirs.unwrapped.get_keys_to_action()
    # Their cache would keep the emulator past the end of Python, which nanobind reports.
    ale_py.AtariEnv.get_keys_to_action.cache_clear()
    assert keys[("w", "a", " ")] == ours.unwrapped.get_action_meanings().index("UPLEFTFIRE")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*we recommend using a symmetric")
def test_the_checker_is_content() -> None:
    arguments = {"sound_obs": True, "continuous": True, "frameskip": 1}
    env = gymcore.make("ALE/Breakout-v5", **arguments).unwrapped
    check_env(env, skip_render_check=True)


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"game": "breakut"}, error.NameNotFound, "no 'breakut', did you mean 'breakout'?"),
        ({"game": "Space Invaders"}, error.NameNotFound, "did you mean 'space_invaders'?"),
        ({"game": "zzz"}, error.NameNotFound, "games.GAMES lists all 104"),
        ({"game": "../roms/pong"}, error.NameNotFound, "there is no"),
        ({"game": "combat"}, error.InvalidArgument, "for several players only"),
        ({"game": 3}, error.ArgumentTypeError, "expected the name of a ROM, got 3"),
        ({"mode": 1}, error.InvalidArgument, "breakout has the modes [0, 4, 8, "),
        ({"difficulty": 7}, error.InvalidArgument, "has the difficulties [0, 1], got 7"),
        ({"obs_type": "image"}, error.InvalidArgument, "('rgb', 'grayscale', 'ram')"),
        ({"frameskip": 0}, error.InvalidArgument, "expected a positive integer, or a range"),
        ({"frameskip": (3, 3)}, error.InvalidArgument, "0 < low < high, got (3, 3)"),
        ({"frameskip": (0, 3)}, error.InvalidArgument, "got (0, 3)"),
        ({"frameskip": (2, 3, 4)}, error.InvalidArgument, "got (2, 3, 4)"),
        ({"frameskip": 2.5}, error.InvalidArgument, "got 2.5"),
        ({"repeat_action_probability": 1.5}, error.InvalidProbability, "expected 0 to 1"),
        ({"repeat_action_probability": float("nan")}, error.InvalidProbability, "expected 0 to 1"),
        ({"max_num_frames_per_episode": -1}, error.InvalidArgument, "got -1"),
        ({"render_mode": "ansi"}, error.UnsupportedMode, "'human' or 'rgb_array', got 'ansi'"),
    ],
)
def test_arguments_that_cannot_be(arguments: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as raised:
        AtariEnv(**{"game": "breakout", **arguments})
    assert words in str(raised.value)


def test_a_missing_or_damaged_rom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = rom_path("pong")
    monkeypatch.setenv("ALE_ROMS_DIR", str(tmp_path))
    (tmp_path / "breakout.bin").write_bytes(b"not a game")
    with pytest.raises(RomNotFound, match=r"pong\.bin.*Games there: breakout"):
        gymcore.make("ALE/Pong-v5")
    # The emulator would end the process.
    with pytest.raises(FileNotFoundError, match="is not the ROM of 'breakout'"):
        gymcore.make("ALE/Breakout-v5")
    os.symlink(good, tmp_path / "seaquest.bin")
    with pytest.raises(RomNotFound, match="is not the ROM of 'seaquest'"):
        gymcore.make("ALE/Seaquest-v5")
    os.symlink(good, tmp_path / "pong.bin")
    assert gymcore.make("ALE/Pong-v5").reset(seed=1)[0].shape == (210, 160, 3)


def test_without_ale_py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(error.DependencyNotInstalled, match="run `pip install ale-py`"):
        gymcore.make("ALE/Pong-v5")


def test_gymnasium_need_not_be_installed() -> None:
    program = """
import sys
sys.modules["gymnasium"] = None
import gymcore
env = gymcore.wrappers.AtariPreprocessing(gymcore.make("ALE/Pong-v5", frameskip=1))
assert env.reset(seed=1)[0].shape == env.step(0)[0].shape == (84, 84)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize("wrapper", ["lambda env: env", "gymcore.wrappers.AtariPreprocessing"])
def test_python_ends_while_a_daemon_thread_plays(wrapper: str) -> None:
    program = f"""
import threading, time
import gymcore
env = ({wrapper})(gymcore.make("ALE/Pong-v5", frameskip=1))
def play():
    while True:
        env.reset()
        for _ in range(100):
            env.step(0)
threading.Thread(target=play, daemon=True).start()
time.sleep(0.5)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_actions_that_are_none() -> None:
    env = AtariEnv("pong")
    for action in (6, -1, 1.5, None, "0", np.array([0, 1])):
        with pytest.raises(error.InvalidAction, match="expected an integer from 0 to 5"):
            env.step(action)


def test_joysticks_that_are_none() -> None:
    env = AtariEnv("pong", continuous=True)
    for action in (1, [0.1, 0.2], [0, 0, np.nan], np.zeros((1, 3)), ["a", 0, 0], None):
        with pytest.raises(error.InvalidAction, match="expected three finite numbers"):
            env.step(action)
    with pytest.raises(NoKeys) as raised:
        env.get_keys_to_action()
    assert isinstance(raised.value, AttributeError)


def test_no_frame_without_a_render_mode() -> None:
    env = gymcore.make("ALE/Pong-v5")
    env.reset(seed=1)
    with pytest.raises(error.Error, match=r'make\("ALE/Pong-v5", render_mode="rgb_array"\)'):
        env.render()


# --- states and copies ----------------------------------------------------------------------------


def _walk(env: Any, steps: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [env.step(int(rng.integers(env.action_space.n))) for _ in range(steps)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        {"frameskip": (2, 5), "repeat_action_probability": 0.0},
        {"repeat_action_probability": 0.9, "mode": 4, "difficulty": 1},
    ],
)
def test_a_restored_state_continues_as_it_did(arguments: dict[str, Any]) -> None:
    env, other = (AtariEnv("breakout", obs_type="ram", **arguments) for _ in range(2))
    env.reset(seed=1)
    for again in range(6):
        _walk(env, 7, again)
        state = pickle.loads(pickle.dumps(env.get_state()))
        copies = []
        if again == 2 and "frameskip" in arguments:
            copies = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
        expected = _walk(env, 20, again)
        env.set_state(state)
        _walk(other, again)
        other.set_state(state)
        for each in (env, other, *copies):
            assert_same(_walk(each, 20, again), expected)
        if again == 3:
            env.reset()


@pytest.mark.slow
@pytest.mark.parametrize("game", ["qbert", "tetris"])
def test_emulators_in_the_middle_of_a_frame(game: str) -> None:
    """After a reset, these games are in an unfinished frame, which states do not include."""
    options = {"frameskip": 1, "repeat_action_probability": 0.0}
    for steps in (0, 1, 2, 20):
        env, other = (AtariEnv(game, **options) for _ in range(2))
        env.reset(seed=1)
        _walk(env, steps)
        state = env.get_state()
        expected = _walk(env, 10)
        for _ in range(2):
            other.set_state(state)  # first, before its first reset
            assert_same(_walk(other, 10), expected)
            other.reset(seed=2)


def test_nothing_is_drawn_after_the_end_of_a_game() -> None:
    """The emulator stands still: it shows the screen that it has after `set_state`."""
    env, other = (AtariEnv("qbert", repeat_action_probability=0.0) for _ in range(2))
    env.action_space.seed(29)
    env.reset(seed=1)
    while not env.step(int(env.action_space.sample()))[2]:
        pass
    other.reset(seed=2)
    other.set_state(env.get_state())
    before = other.ale.getScreenRGB()
    observation, *results = other.step(0)
    assert results == list(env.step(0)[1:])
    assert np.array_equal(observation, before)
    assert np.array_equal(other.ale.getRAM(), env.ale.getRAM())
    env.reset(), other.reset()
    _walk(env, 1), _walk(other, 1)
    assert_same(_walk(other, 10), _walk(env, 10))


def test_states_of_a_game_that_draws_in_resets() -> None:
    options = {"obs_type": "ram", "frameskip": 1, "repeat_action_probability": 0.5}
    env, other = (AtariEnv("double_dunk", **options) for _ in range(2))
    for again in range(8):
        env.reset(seed=again if again % 2 == 0 else None)
        _walk(env, 7, again)
        other.set_state(env.get_state())
        assert_same(_walk(other, 5, 1), _walk(env, 5, 1))


def test_states_of_the_emulator() -> None:
    env = gymcore.make("ALE/Pong-v5", obs_type="ram", repeat_action_probability=0.0).unwrapped
    env.reset(seed=1)
    _walk(env, 20)
    state = env.clone_state(include_rng=True)
    expected = _walk(env, 30)
    env.restore_state(state)
    assert_same(_walk(env, 30), expected)
    with pytest.raises(error.ArgumentTypeError, match=r"expected an ale_py\.ALEState"):
        env.restore_state(b"state")
    breakout = AtariEnv("breakout", obs_type="ram")
    breakout.reset(seed=1)
    before = breakout.get_state()
    with pytest.raises(error.InvalidArgument, match="expected a state of breakout"):
        breakout.restore_state(state)
    assert breakout.get_state() == before


def test_states_that_cannot_be() -> None:
    env = AtariEnv("pong", obs_type="ram")
    env.reset(seed=1)
    state = env.get_state()
    emulator = state["emulator"]
    damaged = emulator[:4000] + bytes([emulator[4000] ^ 1]) + emulator[4001:]
    cases: list[tuple[Any, str]] = [
        ({**state, "emulator": damaged}, "not as get_state"),
        ({**state, "emulator": None}, "incomplete or invalid"),
        ({**state, "last_action": (99, 1.0)}, "incomplete or invalid"),
        ({**state, "last_action": (0, np.nan)}, "not as get_state"),
        ({**state, "random": {"bit_generator": "MT19937"}}, "incomplete or invalid"),
        ({**state, "random": np.random.SFC64(1).state}, "expected another bit generator"),
        ({**state, "version": 0}, "expected one of"),
        (AtariEnv("pong", frameskip=3).get_state(), "expected one of"),
        (AtariEnv("breakout").get_state(), "expected one of"),
        ({}, "expected one of"),
        (7, "expected what get_state"),
    ]
    for case, words in cases:
        with pytest.raises(error.Error, match=words):
            env.set_state(case)
    assert env.get_state() == state


def test_every_number_of_a_state_is_checked() -> None:
    """A number out of range would make ALE write beyond its memory, at once or steps later."""
    env = AtariEnv("pong", repeat_action_probability=0.25)
    env.reset(seed=2)
    state = env.get_state()
    emulator = state["emulator"]
    text = GENERATOR + int.from_bytes(emulator[GENERATOR - 4 : GENERATOR], "little")
    fields = memory_fields(env.ale.cloneState().serialize())

    def changed(place: int, value: int) -> dict[str, Any]:
        data = emulator[:place] + value.to_bytes(4, "little", signed=True) + emulator[place + 4 :]
        return {**state, "emulator": data, "checksum": zlib.crc32(data)}

    (ram_size,) = [offset for offset, low, high in fields.tolist() if (low, high) == (128, 128)]
    cases = [changed(text + ram_size, 50_000_000), changed(GENERATOR - 4, 2**30), changed(24, 8)]
    cases += [changed(0, 2**30), changed(8, -1), changed(16, 99), changed(len(emulator) - 4, 7)]
    for offset, low, high in fields.tolist():
        if low <= high < 2**31 - 1:
            cases.append(changed(text + offset, high + 1))
    for data in (emulator[:-1], emulator[:40], b"", emulator + b"1"):
        cases.append({**state, "emulator": data, "checksum": zlib.crc32(data)})
    cases += [{**state, "last_action": press} for press in ((0, -1.0), (0, 2.0), (40, 1.0))]
    for case in cases:
        with pytest.raises(error.InvalidArgument):
            env.set_state(case)
    assert env.get_state() == state
    env.set_state(changed(text + ram_size + 4, 77))  # a byte of the RAM may have any value
    assert env.ale.getRAM()[0] == 77


def test_made_again_from_json() -> None:
    spec = EnvSpec.from_json(gymcore.make("SpaceInvaders-v4", obs_type="ram").spec.to_json())
    assert json.loads(spec.to_json())["kwargs"]["frameskip"] == [2, 5]
    env = gymcore.make(spec)
    assert env.unwrapped._frameskip == (2, 5)
    again = gymcore.make("SpaceInvaders-v4", obs_type="ram")
    env.reset(seed=3), again.reset(seed=3)
    assert_same(_walk(env, 20), _walk(again, 20))


# --- in batches, and on the screen ----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_batches_of_single_environments(mode: str) -> None:
    envs = gymcore.make_vec("ALE/Breakout-v5", 2, mode, frameskip=(2, 5))
    singles = [gymcore.make("ALE/Breakout-v5", frameskip=(2, 5)) for _ in range(2)]
    try:
        rng = np.random.default_rng(0)
        observations, infos = envs.reset(seed=5)
        for lane, env in enumerate(singles):
            assert_same(observations[lane], env.reset(seed=5 + lane)[0])
        state = envs.get_state()
        for _ in range(20):
            actions = rng.integers(4, size=2)
            observations, rewards, _, _, infos = envs.step(actions)
            for lane, env in enumerate(singles):
                observation, reward, _, _, info = env.step(actions[lane])
                assert_same(observations[lane], observation)
                assert (rewards[lane], infos["lives"][lane]) == (reward, info["lives"])
        after = envs.step(actions)[0].copy()
        envs.set_state(state)
        rng = np.random.default_rng(0)
        for _ in range(20):
            actions = rng.integers(4, size=2)
            envs.step(actions)
        assert_same(envs.step(actions)[0], after)
    finally:
        envs.close()


def test_frames_since_the_last_call() -> None:
    env = gymcore.make("ALE/Pong-v5", render_mode="rgb_array_list")
    env.reset(seed=1)
    env.step(0)
    frames = env.render()
    assert [frame.shape for frame in frames] == [(210, 160, 3)] * 2


def test_the_emulators_own_window_and_sound() -> None:
    assert importlib.util.find_spec("ale_py") is not None and ale_py.SDL_SUPPORT
    program = """
import gymcore
env = gymcore.make("ALE/Pong-v5", render_mode="human")
env.reset(seed=1)
for _ in range(5):
    env.step(0)
assert env.render() is None
env.close()
print("done")
"""
    drivers = {"SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"}
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, **drivers},
    )
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr
