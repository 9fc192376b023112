"""The plots of `gymcore collect`; tests/cli/test_train.py covers the one of `gymcore train`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from gymcore.cli.episodes import EpisodeStatistics
from gymcore.cli.errors import CliError
from gymcore.cli.plots import RunHistory, equal_count_bins, plot_run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")]
)
def test_a_picture(run, tmp_path: Path, name: str, start: bytes) -> None:
    words = ("collect", "CartPole-v1", "--num-envs", 8, "--num-steps", 4000, "--no-progress")
    (tmp_path / name).write_bytes(b"old")
    again = run(*words, "--plot", tmp_path / name)
    assert again.code == 2 and "exists already; --overwrite replaces it" in again.err
    assert (tmp_path / name).read_bytes() == b"old"
    ran = run(*words, "--plot", tmp_path / name, "--seed", 1, "--overwrite")
    assert ran.code == 0 and f"plotted     {tmp_path / name}" in ran.out
    assert (tmp_path / name).read_bytes().startswith(start)


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
        (str(tmp_path / "no" / "a.png"), "does not exist"),
    ):
        ran = run("collect", "CartPole-v1", "--plot", plot)
        assert ran.code == 2 and message in ran.err
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ran = run("collect", "CartPole-v1", "--plot", tmp_path / "a.png")
    assert ran.code == 2 and "pip install matplotlib" in ran.err


def test_equal_count_bins() -> None:
    """There are at most 50 bins of at least 20 episodes, whatever an entry represents."""
    for counts in (
        np.ones(1000), np.ones(63), np.ones(1999), np.full(30, 7), np.full(333, 19),
        np.array([1, 500, 2, 2, 300]), np.array([400, 1, 400]), np.array([1, 30, 1, 30, 1, 30]),
    ):  # fmt: skip
        k = equal_count_bins(counts)
        sizes = np.bincount(k, counts)
        assert (np.diff(k) >= 0).all() and k[0] == 0 and len(sizes) <= 50
        assert sizes.min() >= 20 and sizes.max() <= 20 + max(20, sizes.mean()) + counts.max()
    assert equal_count_bins(np.ones(39)).tolist() == [0] * 39
    assert np.bincount(equal_count_bins(np.ones(60))).tolist() == [20, 20, 20]


def test_numbers_of_a_run() -> None:
    history = RunHistory(100)
    history.add(40)
    history.add(60)
    assert history.steps.sum() == 100 and history.steps_done == 100


def test_throughput_is_measured_in_windows_of_equal_time() -> None:
    history = RunHistory(1000)
    history.seconds[:] = 0.01  # 2 s
    history.steps[:100], history.steps[100:] = 2, 8
    rates, edges = history.throughput()
    assert len(rates) == 20 and edges[[0, 10, -1]].tolist() == [0, 200, 1000]
    np.testing.assert_allclose(rates, [200.0] * 10 + [800.0] * 10)
    history.seconds[:] = 0.0001  # too short for more than one
    assert len(history.throughput()[0]) == 1


def test_a_run_without_episodes(tmp_path: Path) -> None:
    nothing = EpisodeStatistics(1, resets_take_a_step=False)
    plot_run(RunHistory(100), nothing, tmp_path / "a.png", "nothing", overwrite=False)
    assert nothing.sampled.shape == (2, 0) and (tmp_path / "a.png").exists()


def test_a_failed_plot_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure  # takes half a second, in every process of pytest

    def full(self: Figure, file: Path, **kwargs: object) -> None:
        file.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", full)
    (tmp_path / "a.png").write_text("old")
    with pytest.raises(CliError, match=r"--plot: cannot write .*a\.png: No space left on device"):
        nothing = EpisodeStatistics(1, resets_take_a_step=False)
        plot_run(RunHistory(100), nothing, tmp_path / "a.png", "nothing", overwrite=True)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.png", "old")]
