from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gymcore.cli import video
from tests.videos import read_video

CARTPOLE = (400, 600)


@pytest.mark.parametrize("name", ["a.mp4", "a.gif"])
def test_steps(run, tmp_path: Path, name: str) -> None:
    words = ("video", "Acrobot-v1", "--out", tmp_path / name, "--steps", 8, "--seed", 1)
    ran = run(*words, "--no-progress")
    assert (ran.code, ran.err) == (0, "") and f"{name} (" in ran.out and "9 frames" in ran.out
    assert len(read_video(tmp_path / name, (500, 500))) == 9
    again = run(*words)
    assert again.code == 2 and "exists already; --overwrite replaces it" in again.err
    assert run(*words, "--overwrite").code == 0


def test_lanes_and_an_episode(run, tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    ran = run(
        *("video", "CartPole-v1", "--out", path, "--num-envs", 3, "--seed", 1, "--no-progress"),
        *("--policy", "tests.cli.environments:push_left", "--fps", 25),
    )
    assert ran.code == 0, ran.err
    # Pushed to one side, the pole falls within a dozen steps.
    frames = read_video(path, (800, 1200))
    assert 8 <= len(frames) <= 14
    assert frames[0, 800 - 399 :, 601:].max() < 40, "the fourth place is empty"


def test_frames_of_many_lanes_fit_into_a_screen(run, tmp_path: Path, monkeypatch) -> None:
    words = ("video", "CartPole-v1", "--num-envs", 16, "--steps", 2, "--seed", 1, "--no-progress")
    assert run(*words, "--out", tmp_path / "a.mp4").code == 0
    frames = read_video(tmp_path / "a.mp4", (1080, 1620))
    assert len(frames) == 3 and (frames.mean(axis=(1, 2, 3)) > 200).all()
    monkeypatch.setitem(sys.modules, "cv2", None)
    ran = run(*words, "--out", tmp_path / "b.mp4")
    assert ran.code == 2
    assert "pip install opencv-python-headless`: a video of so many lanes" in ran.err
    assert os.listdir(tmp_path) == ["a.mp4"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("Nope-v1", "--out", "a.mp4"), "Nope"),
        (("CartPole-v1", "--out", "a.avi"), r".mp4 or .gif, got 'a.avi'"),
        (("CartPole-v1", "--out", "no/a.mp4"), "does not exist"),
        (("CartPole-v1", "--out", "a.mp4", "--policy", "nope:f"), "cannot import 'nope'"),
    ],
)
def test_friendly_errors(run, tmp_path: Path, monkeypatch, words, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("video", *words)
    assert ran.code == 2 and message in ran.err and ran.err.count("\n") == 1
    assert not os.listdir(tmp_path)


def test_an_environment_without_pictures(run, tmp_path: Path, registries) -> None:
    import gymcore

    gymcore.register("Words-v0", "tests.cli.environments:WordsEnv", disable_env_checker=True)
    ran = run("video", "Words-v0", "--out", tmp_path / "a.mp4")
    assert ran.code == 2 and "Words-v0" in ran.err and "render_mode" in ran.err
    assert run("play", "Words-v0").code == 2


def test_missing_package(run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    ran = run("video", "CartPole-v1", "--out", tmp_path / "a.mp4")
    assert ran.code == 2 and "pip install imageio-ffmpeg" in ran.err


def push_to_the_end(run, path: Path, *words: object) -> tuple[int, str]:
    """Record Acrobot, whose episodes end after 30 steps, and return frames and messages."""
    limit = ("--env-arg", "max_episode_steps=30", "--seed", 1, "--fps", 60, "--no-progress")
    ran = run("video", "Acrobot-v1", "--out", path, *limit, *words)
    assert (ran.code, ran.err) == (0, "")
    return len(read_video(path, (500, 500))), ran.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "frames", "missing"),
    [
        (("--episodes", 3), 1 + 3 * 30 + 2, ""),
        ((), 31, ""),
        (("--episodes", 3, "--steps", 40), 41, "1 of 3 episodes had ended after 40 steps"),
        (("--steps", 40), 41, ""),
    ],
    ids=["episodes", "one", "limited", "steps"],
)
def test_how_much_is_recorded(run, tmp_path: Path, monkeypatch, words, frames, missing) -> None:
    monkeypatch.setattr(video, "_STEPS", 50)
    recorded, out = push_to_the_end(run, tmp_path / "a.mp4", *words)
    assert recorded == frames
    assert ("unfinished" in out) == bool(missing) and missing in out


def test_an_episode_that_does_not_end_is_said_to_be_unfinished(
    run, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(video, "_STEPS", 20)
    recorded, out = push_to_the_end(run, tmp_path / "a.mp4")
    assert recorded == 21
    assert "unfinished  0 of 1 episodes had ended after 20 steps; --steps sets the limit" in out


@pytest.mark.parametrize(
    ("env_id", "limit", "words"),
    [
        ("mpe/simple_spread_v3", "max_cycles=4", ("--episodes", 2)),
        ("Foraging-5x5-2p-1f-v3", "max_episode_steps=4", ("--num-envs", 2, "--episodes", 2)),
        ("rware-tiny-2ag-easy-v2", "max_steps=4", ("--steps", 9)),
    ],
)
def test_worlds_end_with_their_last_agent(run, tmp_path: Path, env_id, limit, words) -> None:
    path = tmp_path / "a.mp4"
    words = (*words, "--env-arg", limit, "--seed", 1, "--no-progress")
    ran = run("video", env_id, "--out", path, *words)
    assert (ran.code, ran.err) == (0, "")
    assert "10 frames" in ran.out
