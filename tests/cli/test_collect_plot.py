from __future__ import annotations

import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from gymcore.cli.collect_plot import BINS, RunHistory, draw


@pytest.mark.parametrize(
    ("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")]
)
def test_a_picture(run, tmp_path: Path, name: str, start: bytes) -> None:
    words = ("collect", "CartPole-v1", "--num-envs", 8, "--num-steps", 4000, "--no-progress")
    ran = run(*words, "--plot", tmp_path / name, "--seed", 1)
    assert ran.code == 0 and f"plotted     {tmp_path / name}" in ran.out
    assert (tmp_path / name).read_bytes().startswith(start)
    again = run(*words, "--plot", tmp_path / name)
    assert again.code == 2 and "exists already; replace it with --overwrite" in again.err
    assert run(*words, "--plot", tmp_path / name, "--overwrite").code == 0


def test_the_run_is_the_same_with_a_picture(run, tmp_path: Path) -> None:
    words = ("collect", "CartPole-v1", "--num-envs", 8, "--num-steps", 4000, "--no-progress")
    lines = [
        [line for line in run(*words, "--seed", 1, *more).out.splitlines() if "mean" in line]
        for more in ((), ("--plot", tmp_path / "a.png"))
    ]
    assert lines[0] == lines[1] and len(lines[0]) == 2


def test_friendly_errors(run, tmp_path: Path, monkeypatch) -> None:
    for plot, message in (
        ("a.txt", "ends in one of .png"),
        (str(tmp_path / "no" / "a.png"), "there is no folder"),
    ):
        ran = run("collect", "CartPole-v1", "--plot", plot)
        assert ran.code == 2 and message in ran.err
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ran = run("collect", "CartPole-v1", "--plot", tmp_path / "a.png")
    assert ran.code == 2 and 'pip install "gymcore[other]"' in ran.err


def test_numbers_of_a_run() -> None:
    history = RunHistory(BINS * 10)
    returns = np.random.default_rng(0).normal(size=(BINS, 50)) + np.arange(BINS)[:, None]
    for row in returns:
        history.add(10, row)
    assert history.steps.tolist() == [10] * BINS and history.episodes == returns.size
    np.testing.assert_allclose(history.mean, returns.mean(axis=1))
    np.testing.assert_allclose(history.quantiles(0.9), np.quantile(returns, 0.9, axis=1))


def test_samples_are_fair() -> None:
    """Each quarter of a long run has a quarter of the points, and quantiles stay near."""
    history = RunHistory(400_000)
    for block in range(400):
        history.add(1000, np.full(250, float(block)))
    counts = np.histogram(history.points[1], bins=4, range=(0, 400))[0]
    assert counts.sum() == 4000 and abs(counts - 1000).max() < 150
    single = RunHistory(100)
    single.add(100, np.linspace(0, 1, 100_000))
    assert abs(single.quantiles(0.5)[-1] - 0.5) < 0.15


def test_memory_does_not_grow() -> None:
    history = RunHistory(10**9)
    returns = np.zeros(1000)
    history.add(10**5, returns)
    tracemalloc.start()
    for _ in range(1000):
        history.add(10**5, returns)
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 100_000


def test_a_run_without_episodes(tmp_path: Path) -> None:
    history = RunHistory(100)
    draw(history, tmp_path / "a.png", "nothing")
    assert np.isnan(history.mean).all() and (tmp_path / "a.png").exists()
