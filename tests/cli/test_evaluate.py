from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import gymcore
from gymcore.learn import PPO, evaluate
from gymcore.wrappers.vector import AgentsAsLanes
from tests.videos import read_video

LEFT = ("--policy", "tests.cli.environments:push_left", "--seed", 7, "--no-progress")


def test_the_statistics_of_all_episodes(run) -> None:
    ran = run("evaluate", "CartPole-v1", "--episodes", 12, "--num-envs", 4, *LEFT)
    assert (ran.code, ran.err) == (0, "")
    with gymcore.make_vec("CartPole-v1", num_envs=4) as envs:
        expected = evaluate(lambda obs: np.zeros(4, int), envs, 12, seed=7)
    assert ran.out.startswith(
        "CartPole-v1: 12 episodes in 4 lanes, CartPoleVectorEnv, seed 7\n"
        "policy      tests.cli.environments:push_left\n"
    )
    assert (
        f"return      mean {expected.mean:.6g}, std {expected.returns.std():.6g}, median "
        in ran.out
    )
    ran = run("evaluate", "CartPole-v1", "--episodes", 12, "--num-envs", 4, *LEFT, "--json")
    printed = json.loads(ran.out)
    assert printed.items() >= expected.summary().items() and printed["seed"] == 7


def test_an_episode_for_each_lane_by_default(run) -> None:
    for episodes, lanes in ((3, 3), (200, 100)):
        ran = run("evaluate", "CartPole-v1", "--episodes", episodes, *LEFT, "--json")
        assert json.loads(ran.out)["num_envs"] == lanes


def test_successes_and_arguments(run, registries) -> None:
    gymcore.register("Lengths-v0", "tests.learn.test_evaluation:Lengths", disable_env_checker=True)
    ran = run("evaluate", "Lengths-v0", "--env-arg", "lane=1", "--episodes", 3, "--no-progress")
    assert ran.code == 0, ran.err
    assert re.search(r"^length      mean 2, std 0, .*\nsuccesses   3 of 3$", ran.out, re.M)


def test_a_video_of_the_first_episode(run, tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    words = ("evaluate", "CartPole-v1", "--episodes", 3, *LEFT, "--video", path)
    ran = run(*words, "--json")
    assert ran.code == 0 and f"stored      {path}" in ran.err
    with gymcore.make_vec("CartPole-v1", num_envs=3) as envs:
        length = evaluate(lambda obs: np.zeros(3, int), envs, 3, seed=7).lengths[0]
    assert len(read_video(path, (400, 600))) == length + 1
    assert json.loads(ran.out)["episodes"] == 3
    again = run(*words)
    assert again.code == 2 and "--video" in again.err and "--overwrite replaces" in again.err


def test_scores_of_games_are_not_clipped(run) -> None:
    pytest.importorskip("ale_py", reason="ale-py is not installed")
    words = ("--num-envs", 1, "--env-arg", "max_num_frames_per_episode=400", "--seed", 1, "--json")
    ran = run("evaluate", "ALE/SpaceInvaders-v5", "--episodes", 2, *words, "--no-progress")
    assert json.loads(ran.out)["return"]["max"] >= 5  # the lowest score of a hit


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("Nope-v1",), "Nope"),
        (("CartPole-v1", "--policy", "a.npz"), "--policy a.npz: [Errno 2]"),
        (("CartPole-v1", "--env-arg", "gravty=1"), "gravty"),
        (("Pendulum-v1", *LEFT), "expected actions of shape (100, 1), got (100,)"),
        (("CartPole-v1", "--video", "no/a.mp4"), "--video: "),
        (("CartPole-v1", "--policy", "math:pi"), "--policy math:pi: policy: expected a function"),
    ],
)
def test_friendly_errors(run, tmp_path: Path, monkeypatch, words, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("evaluate", *words)
    assert ran.code == 2 and message in ran.err and ran.err.count("\n") == 1
    assert not os.listdir(tmp_path)


def test_each_agent_of_a_world_plays_with_the_policy(run, tmp_path: Path) -> None:
    env_id, path, movie = "Foraging-5x5-2p-1f-v3", tmp_path / "a.npz", tmp_path / "a.mp4"
    ppo = PPO(env_id, seed=1, num_envs=2)
    ppo.save(path)
    ppo.close()
    words = ("--policy", path, "--episodes", 3, "--num-envs", 2, "--seed", 4, "--no-progress")
    ran = run("evaluate", env_id, *words, "--json", "--video", movie)
    assert ran.code == 0, ran.err
    printed = json.loads(ran.out)
    options = {"autoreset_mode": "SameStep", "episode_statistics": True}
    with AgentsAsLanes(gymcore.make_vec(env_id, 2, vector_kwargs=options)) as envs:
        expected = evaluate(path, envs, 6, seed=4)
    assert printed.items() >= {**expected.summary(), "agents": 2, "num_envs": 2}.items()
    assert len(read_video(movie, (256, 256))) == expected.lengths[0] + 1
    ran = run("evaluate", env_id, *words)
    assert ran.out.startswith(f"{env_id}: 6 episodes in 2 lanes of 2 agents each, ")


def test_agents_that_differ_in_their_spaces_are_refused(run) -> None:
    ran = run("evaluate", "mpe/simple_adversary_v3", "--episodes", 1)
    assert ran.code == 2 and "agents that share spaces" in ran.err
