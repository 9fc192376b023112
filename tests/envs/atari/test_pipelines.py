"""Each preset of `AtariVectorEnv` compared with the library that it is named after."""

from __future__ import annotations

import json
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.envs.atari import AtariVectorEnv
from gymcore.envs.atari.pipelines import PRESETS, STAGES
from tests.envs.atari import envpool_games

pytestmark = pytest.mark.slow

ale_py = pytest.importorskip("ale_py")
pytest.importorskip("cv2")
FRAMES = ("lives", "frame_number", "episode_frame_number")
GOLDEN = json.loads(envpool_games.FILE.read_text())


def same(one: Any, other: Any, where: Any) -> None:
    assert np.array_equal(one, other), where


# Game, steps, autoreset mode, and arguments, which both libraries take. Loading a game dominates:
# one case has two lanes, the others one.
ALE_CASES: tuple[tuple[str, int, str, dict[str, Any]], ...] = (
    ("pong", 40, "NextStep", {}),
    ("breakout", 150, "NextStep", {"repeat_action_probability": 0.25, "life_loss_info": True}),
    ("breakout", 150, "SameStep", {"repeat_action_probability": 0.1, "episodic_life": True}),
    (
        *("seaquest", 40, "SameStep"),
        {"max_num_frames_per_episode": 57, "reward_clipping": False, "full_action_space": True},
    ),
    (
        *("space_invaders", 30, "NextStep"),
        {"grayscale": False, "stack_num": 2, "frameskip": 3, "img_height": 100, "img_width": 90},
    ),
    (
        *("space_invaders", 30, "NextStep"),
        {"frameskip": 1, "noop_max": 0, "use_fire_reset": False, "stack_num": 1, "img_width": 160},
    ),
    (
        *("asteroids", 40, "NextStep"),
        {"continuous": True, "maxpool": False, "noop_max": 7, "frameskip": 2},
    ),
)


@pytest.mark.parametrize(("game", "steps", "mode", "arguments"), ALE_CASES)
def test_ale_vector(game, steps, mode, arguments):
    lanes = 2 if game == "breakout" else 1
    theirs = ale_py.AtariVectorEnv(game, lanes, autoreset_mode=mode, **arguments)
    ours = AtariVectorEnv(lanes, game=game, autoreset_mode=mode, **arguments)
    space = theirs.single_observation_space
    assert ours.single_observation_space.shape == space.shape
    assert ours.single_observation_space.dtype == space.dtype
    theirs.single_action_space.seed(1)
    seen, expected = ours.reset(seed=5), theirs.reset(seed=5)
    same(seen[0], expected[0], (game, "reset"))
    for t in range(steps):
        actions = np.stack([theirs.single_action_space.sample() for _ in range(lanes)])
        expected, seen = theirs.step(actions), ours.step(actions)
        for k in range(4):
            same(seen[k], expected[k], (game, mode, t, k))
        for name in FRAMES:
            same(seen[4][name], expected[4][name], (game, mode, t, name))
        ended = expected[2] | expected[3]
        if mode == "SameStep" and ended.any():
            same(seen[4]["_final_obs"], ended, (game, t))
            same(seen[4]["final_obs"][ended], expected[4]["final_obs"][ended], (game, t))
    ours.close()


# Game, id, lanes, steps, arguments of the environment and of AtariPreprocessing, and ours.
GYMNASIUM_CASES: tuple[
    tuple[str, str, int, int, dict[str, Any], dict[str, Any], dict[str, Any]], ...
]
GYMNASIUM_CASES = (
    (
        *("breakout", "Breakout", 2, 120, {"repeat_action_probability": 0.0}),
        {"terminal_on_life_loss": True},
        {"episodic_life": True},
    ),
    ("seaquest", "Seaquest", 1, 60, {"max_num_frames_per_episode": 90}, {}, {}),
    (
        *("montezuma_revenge", "MontezumaRevenge", 1, 30, {"mode": 0, "difficulty": 0}),
        {"grayscale_obs": False, "screen_size": (80, 100)},
        {"grayscale": False, "img_height": 100, "img_width": 80},
    ),
    (
        *("space_invaders", "SpaceInvaders", 1, 30, {"mode": 3, "difficulty": 1}),
        {"frame_skip": 3, "noop_max": 0},
        {"frameskip": 3, "noop_max": 0},
    ),
    ("air_raid", "AirRaid", 1, 20, {}, {}, {}),
)


def gymnasium_env(name: str, arguments: dict[str, Any], preprocessing: dict[str, Any]) -> Any:
    gymnasium.register_envs(ale_py)
    env: Any = gymnasium.make(f"ALE/{name}-v5", frameskip=1, **arguments)
    env = gymnasium.wrappers.AtariPreprocessing(env, **preprocessing)
    return gymnasium.wrappers.FrameStackObservation(env, 4)


@pytest.mark.parametrize(
    ("game", "name", "lanes", "steps", "arguments", "preprocessing", "stages"), GYMNASIUM_CASES
)
def test_gymnasium(game, name, lanes, steps, arguments, preprocessing, stages):
    arguments = {"repeat_action_probability": 0.25, **arguments}
    singles = [gymnasium_env(name, arguments, preprocessing) for _ in range(lanes)]
    arguments |= {"preset": "gymnasium", "autoreset_mode": "Disabled", **stages}
    envs = AtariVectorEnv(lanes, game=game, **arguments)
    observations, _ = envs.reset(seed=5)
    for lane, env in enumerate(singles):
        same(observations[lane], env.reset(seed=5 + lane)[0], (game, "reset", lane))
    rng = np.random.default_rng(1)
    for t in range(steps):
        actions = rng.integers(0, envs.single_action_space.n, lanes)
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        for lane, env in enumerate(singles):
            expected = env.step(int(actions[lane]))
            same(observations[lane], expected[0], (game, t, lane))
            got = rewards[lane], terminated[lane], truncated[lane]
            assert got == expected[1:4], (game, t, lane)
            for key in FRAMES:
                assert infos[key][lane] == expected[4][key], (game, t, lane, key)
        ended = terminated | truncated
        if ended.any():
            observations, _ = envs.reset(options={"reset_mask": ended})
            for lane in np.flatnonzero(ended):
                same(observations[lane], singles[lane].reset()[0], (game, t, lane))
    envs.close()


# ALE presses keys to choose the mode at each reset of these games; Adventure draws places.
DRAWING_CASES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("berzerk", "Berzerk", {"repeat_action_probability": 0.25}),
    ("double_dunk", "DoubleDunk", {"repeat_action_probability": 0.25}),
    ("adventure", "Adventure", {"repeat_action_probability": 0.0, "mode": 2}),
)


@pytest.mark.parametrize("game, name, arguments", DRAWING_CASES)
def test_games_that_draw_in_resets(game, name, arguments):
    arguments = {**arguments, "max_num_frames_per_episode": 60}
    single = gymnasium_env(name, arguments, {})
    options = {"game": game, "preset": "gymnasium", **arguments}
    envs, copy = (AtariVectorEnv(1, autoreset_mode="Disabled", **options) for _ in range(2))

    def walk(seed: int | None) -> list[Any]:
        """Compare an episode with the original; return its frames."""
        frames = [envs.reset(seed=seed)[0]]
        same(frames[0][0], single.reset(seed=seed)[0], (game, seed))
        for t in range(60):
            frames.append(envs.step(np.array([t % 5]))[0])
            expected = single.step(t % 5)
            same(frames[-1][0], expected[0], (game, seed, t))
            (ale,) = envs.get_attr("ale")
            same(ale.getRAM(), single.unwrapped.ale.getRAM(), (game, seed, t))
            assert ale.getFrameNumber() == expected[4]["frame_number"], (game, seed, t)
            if expected[2] or expected[3]:
                return frames
        raise AssertionError("the episode did not end")

    for seed in (1, None, 2, None):
        walk(seed)
    copy.set_state(envs.get_state())
    frames = walk(None)
    same(copy.reset()[0], frames[0], game)
    for t, frame in enumerate(frames[1:]):
        same(copy.step(np.array([t % 5]))[0], frame, (game, t))
    envs.close(), copy.close()


@pytest.mark.parametrize("case", envpool_games.CASES)
def test_envpool(case):
    game, _, seed, _, _, ours = envpool_games.CASES[case]
    envs = AtariVectorEnv(envpool_games.LANES, game=game, preset="envpool", **ours)
    observations, infos = envs.reset(seed=seed)
    assert envpool_games.row(observations, infos["lives"]) == GOLDEN[case][0]
    actions = envpool_games.draw_actions(case, envs.single_action_space.n)
    for t, row in enumerate(GOLDEN[case][1:]):
        observations, rewards, terminated, truncated, infos = envs.step(actions[t])
        got = envpool_games.row(observations, rewards, terminated, truncated, infos["lives"])
        assert got == row, t
    envs.close()


def test_what_is_recorded_of_envpool_is_what_it_does():
    pytest.importorskip("envpool")
    assert {case: envpool_games.record(case) for case in envpool_games.CASES} == GOLDEN


def test_stages_that_are_no_stages():
    for name in STAGES:
        with pytest.raises((error.InvalidArgument, error.ArgumentTypeError), match=name):
            AtariVectorEnv(1, game="pong", **{name: "abc"})
    wrong = {"img_height": 211, "img_width": 161, "stack_num": 0, "frameskip": 0, "noop_max": -1}
    for name, value in wrong.items():
        with pytest.raises(error.InvalidArgument, match=name):
            AtariVectorEnv(1, game="pong", **{name: value})
    with pytest.raises(error.InvalidArgument, match=", ".join(PRESETS)):
        AtariVectorEnv(1, game="pong", preset="dopamine")
    with pytest.raises(error.ArgumentTypeError, match="vectorization_mode='async' takes a range"):
        gymcore.make_vec("ALE/Pong-v5", 1, frameskip=(2, 5))
    with pytest.raises(error.InvalidArgument, match="repeat_action_probability"):
        AtariVectorEnv(1, game="pong", repeat_action_probability=1.5)
    with pytest.raises(error.InvalidArgument, match=r"modes \[0, 1\]"):
        AtariVectorEnv(1, game="pong", mode=77)
    with pytest.raises(error.NameNotFound, match="did you mean 'pong'"):
        AtariVectorEnv(1, game="pongg")
    with pytest.raises(error.ArgumentTypeError, match="obs_type"):
        AtariVectorEnv(1, game="pong", obs_type="ram")
