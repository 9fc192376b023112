"""`gymcore train`, and the policies of its checkpoints."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from gymcore.learn import PPO, Settings
from tests.videos import read_video

TRAIN = ("train", "CartPole-v1", "--seed", 1, "--no-progress")


def test_train_and_resume(run, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.npz", tmp_path / "part.npz"
    ran = run(*TRAIN, "--total-steps", 6_000, "--out", whole, "--plot", tmp_path / "a.png")
    assert (ran.code, ran.err) == (0, "")
    assert re.search(r"^CartPole-v1: 6,\d+ steps, [\d,]+ episodes$", ran.out, re.M)
    assert re.search(
        r"^return      mean [\d.]+ of the last 100 episodes, target 475$", ran.out, re.M
    )
    assert f"stored      {whole}\nplotted     {tmp_path}/a.png" in ran.out
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert run(*TRAIN, "--total-steps", 3_000, "--out", part).code == 0
    again = run("train", "--resume", part, "--no-progress")
    assert again.code == 2 and again.err == (
        f"gymcore: error: {part}: training is complete: it took 3,072 of 3,000 steps; pass a "
        "higher --total-steps to continue\n"
    )
    ran = run("train", "--resume", part, "--total-steps", 6_000, "--no-progress")
    assert ran.code == 0, ran.err
    assert "resumed     at 3,072 steps; the run before took 3,072 of 3,000 steps\n" in ran.out
    one, other = PPO.load(whole), PPO.load(part)
    assert (one._network.parameters == other._network.parameters).all()
    assert one.curve == other.curve


def test_a_target_ends_training(run, tmp_path: Path) -> None:
    ran = run(*TRAIN, "--target", 15, "--out", tmp_path / "a.npz")
    assert ran.code == 0 and "target 15 (reached)" in ran.out
    steps = PPO.load(tmp_path / "a.npz").steps
    assert steps < 50_000
    resume = ("train", "--resume", tmp_path / "a.npz", "--no-progress")
    ran = run(*resume, "--total-steps", 10)
    assert ran.code == 2 and "it reached the target, 15, with a mean return of " in ran.err
    assert (
        f"took {steps:,} of 10 steps; pass a higher --target and a higher --total-steps" in ran.err
    )
    ran = run(*resume, "--target", 1e9, "--total-steps", steps + 1)
    assert ran.code == 0, ran.err
    assert f"resumed     at {steps:,} steps; the run before reached the target, 15, " in ran.out


def test_the_plan_comes_first(run, tmp_path: Path) -> None:
    ran = run(*TRAIN, "--total-steps", 2_000, "--out", tmp_path / "a.npz")
    plan, time, result = ran.out.splitlines()[2:5]
    assert plan == (
        "plan        2,000 steps, or until the mean return of 100 episodes is 475; 32 lanes of "
        "CartPoleVectorEnv"
    )
    assert re.fullmatch(r"time        about [\d.]+ \w+ for all steps", time)
    assert result.startswith("CartPole-v1: 2,")
    ran = run("train", "--resume", tmp_path / "a.npz", "--total-steps", 4_000, "--target", "inf")
    assert ran.out.splitlines()[2] == "plan        1,952 steps; 32 lanes of CartPoleVectorEnv"
    assert re.search(r"^return      mean [\d.]+ of the last 100 episodes$", ran.out, re.M)


def test_every_setting_is_an_option(run, tmp_path: Path) -> None:
    settings = Settings(
        num_envs=3, num_steps=5, epochs=2, minibatch=7, learning_rate=0.02, anneal=True, gamma=0.9,
        gae_lambda=0.8, clip=0.3, target_kl=0.1, entropy=0.01, value=0.4, clip_value=0.6,
        max_gradient=2.0, hidden=(8, 4), normalize=True, scale_actions=False, total_steps=30,
        target=9.5,
    )  # fmt: skip
    given = vars(settings)
    assert not given.items() & vars(Settings()).items() - {("normalize", True)}
    words = [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]
    words[words.index("--anneal=True")] = "--anneal"
    words[words.index("--hidden=(8, 4)")] = "--hidden=8,4"
    words[words.index("--normalize=True")] = "--normalize"  # CartPole's default is off
    words[words.index("--scale-actions=False")] = "--no-scale-actions"
    ran = run(*TRAIN, *words, "--out", tmp_path / "a.npz")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("seed        1\nsettings    num_envs=3, num_steps=5, epochs=2, ")
    last = "hidden=(8, 4), normalize=True, scale_actions=False, total_steps=30, target=9.5\n"
    assert last in ran.out
    assert PPO.load(tmp_path / "a.npz").settings == settings
    ran = run("train", "--resume", tmp_path / "a.npz", "--no-anneal", "--total-steps", 60)
    assert ran.code == 0 and "anneal=False" in ran.out and "seed" not in ran.out
    assert PPO.load(tmp_path / "a.npz").settings.gamma == 0.9
    ran = run(*TRAIN, "--gamma", 2, "--out", tmp_path / "b.npz")
    assert ran.code == 2 and "CartPole-v1: gamma: expected at most 1, got 2.0" in ran.err


def test_workers_step_the_lanes(run, tmp_path: Path) -> None:
    small = ("--num-steps=8", "--num-envs=4", "--total-steps=64", "--num-workers=2")
    ran = run(*TRAIN, *small, "--out", tmp_path / "a.npz")
    assert (ran.code, ran.err) == (0, "")
    with np.load(tmp_path / "a.npz") as file:
        assert "lanes" not in file  # processes step them, not the native engine
    ran = run("train", "--resume", tmp_path / "a.npz", "--num-workers=1", "--total-steps=96")
    assert ran.code == 0, ran.err


def test_a_random_seed_is_printed(run, tmp_path: Path) -> None:
    words = ("train", "CartPole-v1", "--total-steps", 2_000, "--no-progress", "--out")
    ran = run(*words, tmp_path / "a.npz")
    seed = ran.out.partition("\n")[0].removeprefix("seed ")
    assert run(*words, tmp_path / "b.npz", "--seed", seed.strip()).code == 0
    one, other = (PPO.load(tmp_path / name)._network.parameters for name in ("a.npz", "b.npz"))
    assert (one == other).all()


def test_matrix_products_use_one_thread(run, tmp_path: Path, monkeypatch) -> None:
    def threads() -> list[int]:
        return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

    during, update, before = [], PPO.update, threads()
    monkeypatch.setattr(PPO, "update", lambda ppo: during.append(threads()) or update(ppo))
    assert run(*TRAIN, "--total-steps", 100, "--out", tmp_path / "a.npz").code == 0
    assert before and during == [[1] * len(before)]
    assert threads() == before


def test_metrics_are_logged(run, tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("tensorboardX", reason="tensorboardX is not installed")
    words = (*TRAIN, "--total-steps", 100, "--log", tmp_path / "log")
    assert run(*words, "--out", tmp_path / "a.npz").code == 0
    (path,) = (tmp_path / "log").iterdir()
    assert (
        path.name.startswith("events.out.tfevents.") and b"explained_variance" in path.read_bytes()
    )
    (tmp_path / "file").write_text("")
    ran = run(*words[:-1], tmp_path / "file", "--out", tmp_path / "b.npz")
    assert ran.code == 2 and "--log: [Errno 20] Not a directory" in ran.err
    assert not (tmp_path / "b.npz").exists()
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    ran = run(*words, "--out", tmp_path / "b.npz")
    assert ran.code == 2 and "run `pip install tensorboardX`" in ran.err


def test_a_training_in_which_no_episode_ends(run, tmp_path: Path) -> None:
    words = ("--total-steps", 100, "--num-steps", 4, "--no-progress", "--out", tmp_path / "a.npz")
    ran = run("train", "Pendulum-v1", *words)
    assert ran.code == 0 and "return      no episode has ended, target -200\n" in ran.out


def test_images_are_refused(run, tmp_path: Path) -> None:
    pytest.importorskip("ale_py", reason="ale-py is not installed")
    ran = run("train", "ALE/Pong-v5", "--num-envs", 2, "--out", tmp_path / "a.npz")
    assert ran.code == 2 and "examples/ppo_atari.py" in ran.err and not os.listdir(tmp_path)
    assert ran.err.startswith("gymcore: error: ALE/Pong-v5: expected observations for a percep")


def test_ctrl_c_stores_a_checkpoint(run, tmp_path: Path, monkeypatch) -> None:
    update = PPO.update

    def interrupted(ppo: PPO) -> dict[str, float]:
        metrics = update(ppo)
        signal.raise_signal(signal.SIGINT)
        return metrics

    assert threading.current_thread() is threading.main_thread()
    monkeypatch.setattr(PPO, "update", interrupted)
    path = tmp_path / "a.npz"
    ran = run(*TRAIN, "--out", path)
    assert ran.code == 130
    assert f"interrupted; continue with: gymcore train --resume {path}" in ran.err
    assert PPO.load(path).steps > 0
    monkeypatch.undo()
    assert run("train", "--resume", path, "--total-steps", 3_000, "--no-progress").code == 0


def test_a_file_that_appears_during_the_training_stays(run, tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "a.npz"
    update = PPO.update
    monkeypatch.setattr(PPO, "update", lambda ppo: (update(ppo), path.write_text("mine")))
    ran = run(*TRAIN, "--total-steps", 100, "--out", path)
    assert ran.code == 0, ran.err
    (stored,) = re.findall("^stored      (.*)$", ran.out, re.M)
    assert path.read_text() == "mine" and re.search(r"a-\w{6}\.npz$", stored)
    assert PPO.load(stored).steps > 0
    assert run(*TRAIN, "--total-steps", 100, "--out", path, "--overwrite").code == 0


def test_the_policy_of_a_checkpoint(run, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    PPO("CartPole-v1", seed=1, num_envs=2, num_steps=4).save(path)
    words = ("CartPole-v1", "--policy", path, "--seed", 1, "--no-progress")
    ran = run("video", *words, "--steps", 5, "--out", tmp_path / "a.mp4")
    assert ran.code == 0, ran.err
    assert len(read_video(tmp_path / "a.mp4", (400, 600))) == 6
    assert run("collect", *words, "--num-steps", 100).code == 0
    other = run("collect", "Acrobot-v1", *words[1:], "--num-steps", 100)
    assert other.code == 2 and "trained on CartPole-v1, expected single_obs" in other.err
    PPO("Blackjack-v1", seed=1, num_envs=2, num_steps=4).save(path)
    assert run("collect", "Blackjack-v1", *words[1:], "--num-steps", 100).code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("train",), "expected an environment id or --resume"),
        (("train", "CartPole-v1", "--resume", "a.npz"), "a.npz"),
        (("train", "--resume", "a.npz", "--seed", 1), "--seed: expected none with --resume"),
        (("train", "--resume", "a.npz"), "a.npz"),
        (("train", "Nope-v1"), "Nope"),
        (("train", "CartPole-v1", "--out", "no/a.npz"), "does not exist"),
        (("train", "CartPole-v1", "--out", "b.npz"), "exists already; --overwrite replaces it"),
        (("train", "CartPole-v1", "--plot", "a.txt"), "--plot a.txt: expected a name"),
        (("train", "--resume", "b.npz"), "not a checkpoint"),
        (("video", "CartPole-v1", "--out", "a.mp4", "--policy", "b.npz"), "not a checkpoint"),
        (("video", "CartPole-v1", "--out", "a.mp4", "--policy", "c.npz"), "c.npz"),
    ],
)
def test_friendly_errors(run, tmp_path: Path, monkeypatch, words, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("b.npz").write_bytes(b"nonsense")
    ran = run(*words)
    assert ran.code == 2 and message in ran.err and ran.err.count("\n") == 1
    assert os.listdir(tmp_path) == ["b.npz"]
