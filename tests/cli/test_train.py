"""`gymcore train`, and the policies of its checkpoints."""

from __future__ import annotations

import os
import re
import signal
import threading
from pathlib import Path

import pytest

from gymcore.learn import PPO
from tests.videos import read_video

TRAIN = ("train", "CartPole-v1", "--seed", 1, "--no-progress")


def test_train_and_resume(run, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.npz", tmp_path / "part.npz"
    ran = run(*TRAIN, "--num-steps", 6_000, "--out", whole, "--plot", tmp_path / "a.png")
    assert (ran.code, ran.err) == (0, "")
    assert re.search(r"^CartPole-v1: 6,\d+ steps, [\d,]+ episodes$", ran.out, re.M)
    assert re.search(
        r"^return      mean [\d.]+ of the last 100 episodes, target 475$", ran.out, re.M
    )
    assert f"stored      {whole}\nplotted     {tmp_path}/a.png" in ran.out
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert run(*TRAIN, "--num-steps", 3_000, "--out", part).code == 0
    again = run("train", "--resume", part, "--no-progress")
    assert again.code == 2 and "complete, with" in again.err and "--num-steps" in again.err
    ran = run("train", "--resume", part, "--num-steps", 6_000, "--no-progress")
    assert ran.code == 0, ran.err
    one, other = PPO.load(whole), PPO.load(part)
    assert (one._network.parameters == other._network.parameters).all()
    assert one.curve == other.curve


def test_a_target_ends_training(run, tmp_path: Path) -> None:
    ran = run(*TRAIN, "--target", 15, "--out", tmp_path / "a.npz")
    assert ran.code == 0 and "target 15 (reached)" in ran.out
    assert PPO.load(tmp_path / "a.npz").steps < 50_000


def test_ctrl_c_stores_a_checkpoint(run, tmp_path: Path, monkeypatch) -> None:
    update = PPO.update

    def interrupted(ppo: PPO) -> None:
        update(ppo)
        signal.raise_signal(signal.SIGINT)

    assert threading.current_thread() is threading.main_thread()
    monkeypatch.setattr(PPO, "update", interrupted)
    path = tmp_path / "a.npz"
    ran = run(*TRAIN, "--out", path)
    assert ran.code == 130
    assert f"interrupted; continue with: gymcore train --resume {path}" in ran.err
    assert PPO.load(path).steps > 0
    monkeypatch.undo()
    assert run("train", "--resume", path, "--num-steps", 3_000, "--no-progress").code == 0


def test_a_file_that_appears_during_the_training_stays(run, tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "a.npz"
    update = PPO.update
    monkeypatch.setattr(PPO, "update", lambda ppo: (update(ppo), path.write_text("mine")))
    ran = run(*TRAIN, "--num-steps", 100, "--out", path)
    assert ran.code == 0, ran.err
    (stored,) = re.findall("^stored      (.*)$", ran.out, re.M)
    assert path.read_text() == "mine" and re.search(r"a-\w{6}\.npz$", stored)
    assert PPO.load(stored).steps > 0
    assert run(*TRAIN, "--num-steps", 100, "--out", path, "--overwrite").code == 0


def test_the_policy_of_a_checkpoint(run, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    PPO("CartPole-v1", seed=1, num_envs=2, num_steps=4).save(path)
    words = ("CartPole-v1", "--policy", path, "--seed", 1, "--no-progress")
    ran = run("video", *words, "--steps", 5, "--out", tmp_path / "a.mp4")
    assert ran.code == 0, ran.err
    assert len(read_video(tmp_path / "a.mp4", (400, 600))) == 6
    assert run("collect", *words, "--num-steps", 100).code == 0
    other = run("collect", "Acrobot-v1", *words[1:], "--num-steps", 100)
    assert other.code == 2 and "was trained on CartPole-v1: expected single_obs" in other.err
    PPO("Blackjack-v1", seed=1, num_envs=2, num_steps=4).save(path)
    assert run("collect", "Blackjack-v1", *words[1:], "--num-steps", 100).code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("train",), "expected an environment id or --resume"),
        (("train", "CartPole-v1", "--resume", "a.npz"), "a.npz"),
        (("train", "--resume", "a.npz", "--seed", 1), "--seed: a checkpoint has its own"),
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
