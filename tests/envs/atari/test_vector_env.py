"""`AtariVectorEnv` except for frames: states, threads, statistics, attributes, errors, closing."""

from __future__ import annotations

import ast
import copy
import ctypes
import pickle
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.envs.atari import AtariVectorEnv, PreprocessedAtariEnv, games, library, vector_env
from gymcore.envs.atari.atari_env import rom_path

ale_py = pytest.importorskip("ale_py")


def play(envs: Any, steps: int, seed: int = 0) -> list[Any]:
    """Step with random actions; return all results."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(0, envs.single_action_space.n, (steps, envs.num_envs))
    return [envs.step(row) for row in actions]


def assert_same_steps(one: list[Any], other: list[Any]) -> None:
    for t, (a, b) in enumerate(zip(one, other, strict=True)):
        for k in range(4):
            assert np.array_equal(a[k], b[k]), (t, k)
        for name in ("lives", "frame_number", "game_return", "game_length"):
            assert np.array_equal(a[4][name], b[4][name]), (t, name)


def test_make_vec():
    envs = gym.make_vec("ALE/Breakout-v5", num_envs=2)
    assert type(envs) is AtariVectorEnv
    assert envs.observation_space.shape == (2, 4, 84, 84)
    assert envs.get_attr("repeat_action_probability") == (0.25, 0.25)
    assert envs._model.pipeline.reward_clipping
    assert envs.get_attr("game") == ("breakout",) * 2
    assert envs.call("get_action_meanings")[0] == ["NOOP", "FIRE", "RIGHT", "LEFT"]
    envs.reset(seed=1)
    assert envs.get_attr("lives") == (5, 5)
    assert all(isinstance(ale, ale_py.ALEInterface) for ale in envs.get_attr("ale"))
    envs.close()


def table_of_settings() -> list[tuple[str, dict[str, Any]]]:
    """Return the ids and arguments of make_vec in the page's table of other libraries' settings."""
    page = (Path(gym.__file__).parents[1] / "docs/environments/atari.md").read_text()
    rows = {
        cells[1]: cells[2:-1]
        for line in page.splitlines()
        if len(cells := [cell.strip() for cell in line.split("|")]) == 7
    }
    settings = []
    for env_id, preset, others in zip(
        rows["id"], rows["`preset` of `make_vec`"], rows["other arguments of `make_vec`"],
        strict=True,
    ):  # fmt: skip
        env_id = env_id.split("`")[1].replace("Pong-v5", "ALE/Pong-v5").replace("ALE/ALE/", "ALE/")
        given = re.findall(r"`(\w+)=(.+?)`", others)
        if "as Baselines" in others:
            given += re.findall(r"`(\w+)=(.+?)`", rows["other arguments of `make_vec`"][0])
        arguments = {name: ast.literal_eval(value) for name, value in given}
        settings.append((env_id, {"preset": preset.strip('"'), **arguments}))
    return settings


def test_settings_of_other_libraries_on_the_page() -> None:
    made = table_of_settings()
    assert [env_id for env_id, _ in made] == [
        "PongNoFrameskip-v4", "PongNoFrameskip-v0", "ALE/Pong-v5", "ALE/Pong-v5",
    ]  # fmt: skip
    sticky = []
    for env_id, arguments in made:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of v0
            envs = gym.make_vec(env_id, num_envs=1, **arguments)
        pipeline = envs._model.pipeline
        assert pipeline.frameskip == 4 and envs.single_observation_space.shape == (4, 84, 84)
        stages = {**arguments}
        stages.pop("preset"), stages.pop("repeat_action_probability", None)
        assert {name: getattr(pipeline, name) for name in stages} == stages
        sticky.append(envs.get_attr("repeat_action_probability")[0])
        envs.close()
    assert sticky == [0.0, 0.25, 0.0, 0.25]


@pytest.mark.parametrize(
    ("env_id", "options"),
    [
        ("ALE/Pong-v5", {}),
        ("ALE/Pong-v5", {"preset": "envpool", "num_threads": 1}),
        ("PongNoFrameskip-v4", {"preset": "gymnasium"}),
    ],
)
def test_specs_make_single_environments_like_those_of_the_batch(
    env_id: str, options: dict[str, Any]
) -> None:
    with gym.make_vec(env_id, 2, **options) as envs, gym.make(envs.spec) as env:
        assert env.unwrapped.pipeline == envs._model.pipeline
        assert env.observation_space == envs.single_observation_space


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env_id", "frames"),
    [
        ("PongNoFrameskip-v4", 4),
        ("PongDeterministic-v4", 4),
        ("SpaceInvadersDeterministic-v4", 3),
    ],
)
def test_presets_for_ids_without_a_batch_of_their_own(env_id: str, frames: int) -> None:
    assert type(gym.make_vec(env_id, 1)).__name__ == "SyncVectorEnv"
    with gym.make_vec(env_id, 1, noop_max=0) as envs:
        assert isinstance(envs, AtariVectorEnv) and envs._model.pipeline.frameskip == frames
        with gym.make_vec(envs.spec) as again:
            assert again._model.pipeline == envs._model.pipeline
    with gym.make_vec(env_id, 1, preset="envpool", frameskip=2) as envs:
        assert envs._model.pipeline.frameskip == 2


@pytest.mark.parametrize(
    ("env_id", "message"),
    [
        ("Pong-v4", r"frameskip: expected an int, got \(2, 5\)"),
        ("ALE/Pong-ram-v5", "obs_type: expected none in a batch that preprocesses screens"),
    ],
)
def test_ids_that_presets_do_not_fit(env_id: str, message: str) -> None:
    with pytest.raises(error.ArgumentTypeError, match=message):
        gym.make_vec(env_id, 1, preset="gymnasium")


@pytest.mark.parametrize("preset", ("ale_vector", "envpool", "gymnasium"))
def test_infos_have_env_ids_in_presets_of_libraries_that_report_them(preset):
    envs = AtariVectorEnv(3, game="pong", preset=preset)
    actions = np.zeros(3, np.int64)
    for infos in (envs.reset(seed=1)[1], envs.step(actions)[4]):
        assert "env_id" in infos if preset != "gymnasium" else "env_id" not in infos
        assert infos.get("env_id", np.arange(3)).tolist() == [0, 1, 2]
    assert envs.step(actions[1:], env_ids=[2, 0])[4]["env_id"].tolist() == [2, 0]
    envs.close()


def test_what_programs_for_ale_pys_class_give_and_read():
    theirs = {"batch_size": 0, "num_threads": 0, "thread_affinity_offset": -1}
    envs = gym.make_vec("ALE/Pong-v5", 2, **theirs)
    assert envs.batch_size == 2 and envs.num_threads >= 1
    expected = ale_py.AtariVectorEnv("pong", 1).map_action_idx
    assert envs.map_action_idx.dtype == expected.dtype
    assert np.array_equal(envs.map_action_idx, expected)
    envs.close()
    for name in theirs:
        with pytest.raises((error.InvalidArgument, error.ArgumentTypeError), match=name):
            gym.make_vec("ALE/Pong-v5", 2, **{name: 3 if name == "batch_size" else -2})


def test_only_make_vec_loads_roms(monkeypatch):
    opened, open_game = [], vector_env.open_game
    monkeypatch.setattr(
        vector_env, "open_game", lambda *args: opened.append(open_game(*args)) or opened[-1]
    )
    envs = gym.make_vec("ALE/Pong-v5", num_envs=3)
    assert envs.get_attr("ale") == tuple(opened) and len(opened) == 3
    for seed in (1, 2, None):
        envs.reset(seed=seed)
    assert len(opened) == 3
    envs.close()
    for value in (1.5, "often", [0.25]):
        with pytest.raises((ValueError, TypeError)):
            gym.make_vec("ALE/Pong-v5", num_envs=3, repeat_action_probability=value)
    assert len(opened) == 3


def test_wrong_arguments_are_refused_before_a_rom_is_loaded(monkeypatch):
    monkeypatch.setattr(vector_env, "cartridge", lambda *args: pytest.fail("loaded a ROM"))
    wrong: dict[str, Any] = {
        "repeat_action_probability": 1.5,
        "continuous": "yes",
        "continuous_action_threshold": "half",
        "frameskip": (2, 5),
        "preset": "none",
    }
    for name, value in wrong.items():
        with pytest.raises((error.InvalidArgument, error.ArgumentTypeError), match=name):
            PreprocessedAtariEnv("pong", **{name: value})


@pytest.mark.slow
def test_any_number_of_threads_gives_the_same_frames():
    runs, states = [], []
    for threads in (1, 2, 3):
        envs = AtariVectorEnv(
            3, game="breakout", num_threads=threads, repeat_action_probability=0.25
        )
        envs.reset(seed=2)
        play(envs, 10)
        states.append(envs.get_state())
        play(envs, 10, 1)
        envs.set_state(states[0][::-1])
        runs.append(play(envs, 20))
        envs.close()
    assert states[0].tobytes() == states[1].tobytes() == states[2].tobytes()
    assert_same_steps(runs[0], runs[1])
    assert_same_steps(runs[0], runs[2])


@pytest.mark.slow
@pytest.mark.parametrize("preset", ("ale_vector", "gymnasium", "envpool"))
def test_states_continue_bit_for_bit(preset):
    options: dict[str, Any] = {
        "game": "breakout",
        "preset": preset,
        "repeat_action_probability": 0.25,
        "episodic_life": True,
        "max_num_frames_per_episode": 108_000,  # games of all presets are recycled
    }
    lanes = 3 if preset == "envpool" else 2
    envs, other = AtariVectorEnv(lanes, **options), AtariVectorEnv(lanes, **options)
    envs.reset(seed=1)
    play(envs, 20)
    saved = envs.get_state()
    expected = play(envs, 25, 1)
    other.set_state(saved)
    assert_same_steps(play(other, 25, 1), expected)
    envs.set_state(saved[::-1])
    envs.set_state(saved[[0, -1]], lanes=[0, lanes - 1])
    envs.set_state(saved[1:2], lanes=[1])
    assert_same_steps(play(envs, 25, 1), expected)
    for way in (copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))):
        other.set_state(saved)
        copied = way(other)
        assert_same_steps(play(copied, 10, 1), expected[:10])
        copied.close()
        del copied  # so that the next batch reuses its games
    single = PreprocessedAtariEnv(**options)
    single.set_state(saved[-1:])
    rng = np.random.default_rng(1)
    actions = rng.integers(0, 4, (25, lanes))
    for t in range(20):
        step = single.step(int(actions[t, -1]))
        assert np.array_equal(step[0], expected[t][0][-1])
        if step[2]:
            break
    envs.close(), other.close()


def test_states_from_before_a_reset_and_after_it():
    """The emulator's random generator, from which resets draw, is omitted if its state is known."""
    envs = AtariVectorEnv(3, game="breakout")
    envs.reset(seed=1)
    states = []
    for mask in ([True] * 3, [False, True, True], [False, False, True]):
        envs.reset(options={"reset_mask": np.array(mask)})
        play(envs, 5)
        states.append(envs.get_state())
    generators = {state["state"]["memory"][-1, 54:6766].tobytes() for state in states}
    assert len(generators) == 3
    for state in (*states, *reversed(states), states[1], states[1]):
        play(envs, 3, 1)
        envs.set_state(state)
        assert envs.get_state().tobytes() == state.tobytes()
    envs.reset(seed=1)
    envs.set_state(states[0])
    assert envs.get_state().tobytes() == states[0].tobytes()
    envs.close()


# Offsets in the episode of a lane: the next words of the two generators, and the data after them.
@pytest.mark.parametrize(
    ("place", "dtype", "value"),
    [
        (2496, np.int32, -1),  # of no-ops
        (2 * 2500 - 4, np.int32, 625),  # of sticky actions
        (5000, np.int32, 18),  # the last action
        (5004, np.float32, np.nan),  # its strength
        (5024, np.int32, 4),  # the oldest frame in the stack
        (5032, np.int64, -1),  # frames
    ],
)
def test_states_of_strangers(place, dtype, value):
    """The episode of a lane is checked before it changes."""
    envs = AtariVectorEnv(1, game="pong")
    envs.reset(seed=1)
    state = envs.get_state()
    changed = state.copy()
    game = changed["state"]
    number = np.array([value], dtype)
    game["episode"][0, place : place + number.nbytes] = number.view(np.uint8)
    with pytest.raises(error.InvalidArgument, match="expected a state that lanes of"):
        envs.set_state(changed)
    assert envs.get_state().tobytes() == state.tobytes()
    envs.close()


# Numbers in Ms. Pacman's emulator memory: the offset counts either from the end of the generator's
# text, or from the start; 54 bytes precede the text.
@pytest.mark.parametrize(
    ("after_generator", "place", "value"),
    [
        (False, 0, -1),  # the length of the ROM's digest
        (False, 4, 0),  # the digest
        (False, 46, -1),  # cycles
        (False, 50, 2**31 - 1),  # the length of the generator's text
        (False, 54, 0),  # the text
        (True, 0, 3),  # the length of the processor's name
        (True, 36, 1),  # a flag
        (True, 77, 10**8),  # the size of the RAM
        (True, 597, 2**30),  # the shift of the timer
        (True, 628, 5),  # the clock of the frame
        (True, 640, 2**31 - 1),  # the clock of what is drawn
        (True, 800, 160),  # the position of a player
        (True, -24, 60_000),  # the bank of the cartridge
        (True, -12, 1),  # whether the game is over
        (True, -4, 0xFAB1FAB2 - 2**32),  # whether another generator follows
    ],
)
def test_emulators_of_strangers(after_generator, place, value):
    """The emulator's memory is checked before it changes."""
    with AtariVectorEnv(1, game="ms_pacman") as envs:
        envs.reset(seed=1)
        state = envs.get_state()
        changed = state.copy()
        game = changed["state"]
        memory = game["memory"][0, : game["size"][0]]
        length = int(memory[50:54].view(np.int32)[0])
        number = memory[54 + length :] if after_generator else memory
        place %= len(number)
        number[place : place + 4] = np.array([value], np.int32).view(np.uint8)
        assert changed.tobytes() != state.tobytes()
        with pytest.raises(error.InvalidArgument, match="expected a state that lanes of"):
            envs.set_state(changed)
        assert envs.get_state().tobytes() == state.tobytes()


def test_a_state_for_an_emulator_with_another_rom():
    """`ale` is public; ALE throws an exception for a state of another game."""
    with AtariVectorEnv(2, game="pong") as envs:
        envs.reset(seed=1)
        state = envs.get_state()
        list(envs.lane_envs())[1].ale.loadROM(rom_path("boxing"))
        envs.set_state(state)
        assert envs.get_state().tobytes() == state.tobytes()


def test_states_in_the_middle_of_a_frame():
    """Journey Escape's display ends after its frame, so ALE would continue drawing."""
    with AtariVectorEnv(1, game="journey_escape") as envs:
        envs.reset(seed=1)
        state = envs.get_state()
        frames = [play(envs, 5)]
        for _ in range(2):
            envs.set_state(state)
            assert envs.get_state().tobytes() == state.tobytes()
            frames.append(play(envs, 5))
        assert_same_steps(frames[1], frames[0])
        assert_same_steps(frames[2], frames[0])


@pytest.mark.slow
@pytest.mark.parametrize("game", ["qbert", "tetris"])
@pytest.mark.parametrize("steps", [0, 1, 2, 20])
def test_emulators_in_the_middle_of_a_frame(game, steps):
    """After a reset, these games are in an unfinished frame, which states do not include."""
    options = {"game": game, "frameskip": 1, "noop_max": 0}
    with AtariVectorEnv(1, **options) as envs, AtariVectorEnv(1, **options) as other:
        envs.reset(seed=1)
        play(envs, steps)
        state = envs.get_state()
        expected, after = play(envs, 10), envs.get_state()["state"]
        other.set_state(state)  # before its first reset
        assert_same_steps(play(other, 10), expected)
        other.reset(seed=2)
        other.set_state(state)
        play(other, 10)  # the first frame may have pixels of an earlier one
        for part in ("episode", "state", "memory"):
            assert np.array_equal(other.get_state()["state"][part], after[part])


def test_states_of_other_games():
    envs = AtariVectorEnv(2, game="pong")
    envs.reset(seed=1)
    saved = envs.get_state()
    for options in ({"game": "breakout"}, {"game": "pong", "noop_max": 5}):
        other = AtariVectorEnv(2, **options)
        other.reset(seed=1)
        with pytest.raises(error.InvalidArgument, match="state"):
            envs.set_state(other.get_state())
        other.close()
    envs.set_state(saved)
    envs.close()


# A game with lives, one without, and a ROM for two players.
@pytest.mark.slow
@pytest.mark.parametrize("game", ("Breakout", "Pong", "SpaceWar"))
def test_statistics_of_whole_games(game):
    gymnasium.register_envs(ale_py)
    envs = gym.make_vec(
        f"ALE/{game}-v5",
        num_envs=1,
        preset="gymnasium",
        reward_clipping=True,
        max_num_frames_per_episode=2000,
        vector_kwargs={"episode_statistics": True},
    )
    single: Any = gymnasium.make(f"ALE/{game}-v5", frameskip=1, max_num_frames_per_episode=2000)
    single = gymnasium.wrappers.AtariPreprocessing(single)
    single = gymnasium.wrappers.RecordEpisodeStatistics(single)
    envs.reset(seed=3), single.reset(seed=3)
    rng = np.random.default_rng(4)
    while True:
        action = rng.integers(0, envs.single_action_space.n, 1)
        _, rewards, terminated, truncated, infos = envs.step(action)
        step = single.step(int(action[0]))
        assert rewards[0] == np.sign(step[1])
        assert infos["reward"][0] == step[1]
        assert (terminated[0], truncated[0]) == step[2:4]
        if step[2] or step[3]:
            break
    for name in ("r", "l"):
        assert infos["episode"][name][0] == step[4]["episode"][name]
    assert infos["game_return"][0] == infos["episode"]["r"][0]
    assert infos["game_length"][0] == infos["episode"]["l"][0]
    envs.close()


def test_games_over_several_lives():
    envs = AtariVectorEnv(
        2, game="breakout", preset="envpool", episodic_life=True, episode_statistics=True
    )
    envs.reset(seed=1)
    returns, lengths, lives = np.zeros(2), np.zeros(2, int), 0
    for _, _, terminated, _, infos in play(envs, 400):
        lengths += ~terminated  # neither counts steps that only reset
        if "episode" in infos:
            returns += infos["episode"]["r"]
            over = terminated & (infos["game_over"] == 1)
            lives += (terminated & ~over).sum()
            np.testing.assert_array_equal(infos["game_return"][over], returns[over])
            returns[over] = 0
    assert lives > 8
    envs.close()


def test_memory_of_a_lane():
    envs = AtariVectorEnv(2, game="pong")
    assert envs.get_attr("state") == (None, None)
    envs.reset(seed=1)
    memory = envs.get_attr("state")[0]
    assert (memory.shape, memory.dtype) == ((128,), np.float64)
    memory[14] = 20
    envs.set_attr("state", memory)
    assert [one[14] for one in envs.get_attr("state")] == [20, 20]
    for wrong in (memory[1:], memory + 0.5, memory - 300.0, np.zeros((3, 128)), "abc"):
        with pytest.raises(error.InvalidArgument, match="state"):
            envs.set_attr("state", wrong)
    envs.close()


def test_send_and_recv():
    envs = AtariVectorEnv(4, game="pong", batch_size=2)
    envs.reset(seed=1)
    envs.send(np.zeros(4, np.int64))
    lanes = [*envs.recv()[4]["env_id"], *envs.recv()[4]["env_id"]]
    assert sorted(lanes) == [0, 1, 2, 3]
    envs.close()


def test_a_game_that_ale_does_not_restore():
    env = gym.make("ALE/MiniatureGolf-v5", repeat_action_probability=0.0)
    envs = AtariVectorEnv(1, game="miniature_golf", noop_max=0, use_fire_reset=False)
    for seed in (1, 2):  # the second time it is not loaded again
        env.reset(seed=seed), envs.reset(seed=seed)
        for action in np.random.default_rng(0).integers(0, 18, 30):
            results, expected = envs.step(np.array([action])), env.step(action)
            assert (results[4]["reward"][0], results[2][0]) == expected[1:3]
            (ale,) = envs.get_attr("ale")
            assert np.array_equal(ale.getScreenRGB(), expected[0])
    for other in (env.unwrapped, envs):
        with pytest.raises(error.StateNotSupported, match="miniature_golf"):
            other.get_state()
        with pytest.raises(error.StateNotSupported, match="miniature_golf"):
            copy.deepcopy(other)
    env.close(), envs.close()


@pytest.mark.soak
@pytest.mark.parametrize("game", games.GAMES)
def test_emulators_draw_only_when_games_are_reset(game):
    """`set_state` relies on it: the emulator's random generator stays where the reset left it."""
    ale = library.open_game(rom_path(game), game)
    ale.reset_game()
    generator = re.search(rb"(\d+ ){624}\d+", ale.cloneState().serialize())[0]
    actions = ale.getLegalActionSet()
    for index in np.random.default_rng(0).integers(0, len(actions), 1000):
        ale.act(actions[index])
    assert generator in ale.cloneState().serialize()
    ale.reset_game()
    assert generator not in ale.cloneState().serialize()


def test_render():
    envs = AtariVectorEnv(2, game="pong", render_mode="rgb_array")
    envs.reset(seed=1)
    frames = envs.render()
    assert [frame.shape for frame in frames] == [(210, 160, 3)] * 2
    assert np.array_equal(frames[1], envs.get_attr("ale")[1].getScreenRGB())
    envs.close()


def test_an_ale_that_cannot_be_used(monkeypatch):
    good, ale = library.library_functions(), library.open_game(rom_path("pong"), "pong")

    def swapped(one: str, other: str) -> dict[str, int]:
        return {**good, one: good[other], other: good[one]}

    with pytest.raises(error.DependencyNotInstalled, match=r"0\.12\.1.*async"):
        library.try_functions(swapped("lives", "episode_frame_number"), ale)
    library.try_functions(good, ale)
    monkeypatch.setitem(library.SYMBOLS, "act", "_ZN3ale12ALEInterface3actENS_6ActionEd")
    with pytest.raises(error.DependencyNotInstalled, match="it has no _ZN3ale12"):
        library.library_functions.__wrapped__()
    with pytest.raises(error.DependencyNotInstalled, match="nanobind"):
        library.address_of(object())

    class Other(ctypes.Structure):
        _fields_ = (("places", ctypes.c_int64 * 8),)

    with pytest.raises(error.DependencyNotInstalled, match="nanobind"):
        library.address_of(Other())


@pytest.mark.timeout(60)
def test_an_interrupt_while_games_load_does_not_stop_other_loads():
    interrupted = vector_env._loads_games()
    interrupted.__enter__()  # an exception arrives before the block, and stays alive
    envs = AtariVectorEnv(1, game="pong")
    envs.reset(seed=1)
    envs.close()
    interrupted.__exit__(None, None, None)


ENDS = {
    "an exception, while it steps": """
forever(lambda: envs.step(np.zeros(2, np.int64)))
raise SystemExit(7)
""",
    "while it loads games": "forever(batch)",
    "while it saves and restores": "forever(lambda: envs.set_state(envs.get_state()))",
    "killed, after a forked child": """
child = os.fork()
if child == 0:
    envs.set_state(envs.get_state())
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
forever(lambda: envs.step(np.zeros(2, np.int64)))
os.kill(os.getpid(), signal.SIGKILL)
""",
    # Left open, closed, collected, in a cycle, never reset, one lane; and its emulators.
    "every other way": """
closed = batch()
closed.close()
collected = batch()
del collected
gc.collect()
envs.itself = sys.modules["cycle"] = batch()
envs.itself.itself = envs.itself
sys.modules["never reset"] = AtariVectorEnv(1, game="pong")
sys.modules["one lane"] = closed.env_class("pong")
sys.modules["one lane"].reset()
ales = envs.get_attr("ale")
del ales
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("end", ENDS)
def test_the_end_of_the_process(end):
    program = f"""
import gc, os, signal, sys, threading, time
import numpy as np
from gymcore.envs.atari import AtariVectorEnv

def batch(num_envs=1):
    envs = AtariVectorEnv(num_envs, game="pong", num_threads=2)
    envs.reset(seed=1)
    return envs

def forever(function):
    def loop():
        while True:
            function()
    threading.Thread(target=loop, daemon=True).start()
    time.sleep(0.2)

envs = batch(2)
{ENDS[end]}
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    codes = {"an exception, while it steps": 7, "killed, after a forked child": -signal.SIGKILL}
    assert done.returncode == codes.get(end, 0), done.stderr
    assert "nanobind" not in done.stderr, done.stderr


def test_states_are_checked_while_no_other_thread_uses_the_batch(monkeypatch):
    """The check runs on the threads of the batch, which another call would use at the same time."""
    with AtariVectorEnv(2, game="pong") as envs:
        envs.reset(seed=1)
        states = envs.get_state()
        batch, valid = envs._batch, type(envs._batch.store).valid

        def valid_while_busy(store, saved):
            with pytest.raises(error.ConcurrentUseError):
                batch.observe()
            return valid(store, saved)

        monkeypatch.setattr(type(batch.store), "valid", valid_while_busy)
        envs.set_state(states)


@pytest.mark.slow
def test_a_rom_with_another_screen():
    """`ale` is public; Adventure's screen has 250 rows, Pong's 210."""
    with AtariVectorEnv(3, game="pong") as envs, PreprocessedAtariEnv("pong") as env:
        envs.reset(seed=1), env.reset(seed=1)
        for emulator in (list(envs.lane_envs())[1].ale, env.ale):
            emulator.loadROM(rom_path("adventure"))
        with pytest.raises(error.Error, match=r"lanes \[1\]: expected screens of \(210, 160\)"):
            envs.step(np.zeros(3, np.int64))
        with pytest.raises(error.ResetNeeded):
            envs.step(np.zeros(3, np.int64))
        with pytest.raises(error.Error, match=r"lanes \[1\]: expected screens"):
            envs.reset()
        with AtariVectorEnv(3, game="pong") as others:
            assert np.array_equal(envs.reset(seed=2)[0], others.reset(seed=2)[0])
            actions = np.ones(3, np.int64)
            assert np.array_equal(envs.step(actions)[0], others.step(actions)[0])
        with pytest.raises(error.Error, match=r"lanes \[0\]: expected screens of \(210, 160\)"):
            env.step(0)
        with pytest.raises(error.Error, match=r"lanes \[0\]: expected screens"):
            env.reset()


def test_games_that_draw_in_resets_need_the_version_whose_layout_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gymcore.envs.atari.vector_env.TESTED", "0.0")
    with pytest.raises(error.DependencyNotInstalled, match="are random, which needs"):
        AtariVectorEnv(1, game="berzerk")
