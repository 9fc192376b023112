"""The command line as a separate program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import gymcore

ROOT = Path(__file__).resolve().parents[2]


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "gymcore", *map(str, words)]


def environment() -> dict[str, str]:
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, paths)))


def run(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*words), capture_output=True, text=True, cwd=cwd, env=environment(), timeout=120
    )


@pytest.mark.skipif(os.name != "posix", reason="closes a descriptor by the shell")
@pytest.mark.parametrize("words", [["list"], ["collect", "CartPole-v1", "--num-steps", 64]])
def test_with_stderr_closed(tmp_path, words):
    line = ["sh", "-c", 'exec "$@" 2>&-', "sh", *command(*words)]
    ran = subprocess.run(
        line, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=environment(), timeout=120
    )
    assert ran.returncode == 0 and "CartPole-v1" in ran.stdout


def test_the_main_job(tmp_path):
    ran = run(
        "collect", "CartPole-v1", "--num-envs", 64, "--num-steps", 64_000, "--seed", 0,
        "--out", "data.npz", cwd=tmp_path,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "64 lanes x 1000 steps" in ran.stdout
    assert "\r" not in ran.stderr  # progress bars are only for terminals
    with np.load(tmp_path / "data.npz", allow_pickle=False) as data:
        assert data["observations"].shape == (1000, 64, 4)
    assert [path.name for path in tmp_path.iterdir()] == ["data.npz"]


def test_version(tmp_path):
    assert run("--version", cwd=tmp_path).stdout.strip() == gymcore.__version__


def test_an_unknown_id_is_one_line_without_a_traceback(tmp_path):
    ran = run("collect", "CartPool-v1", cwd=tmp_path)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith("gymcore: error: CartPool-v1: ")
    assert ran.stderr.count("\n") == 1


def test_a_reader_that_leaves_early_is_no_error(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.Popen(
        command("list"), stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path, env=environment()
    )
    os.close(writer)
    _, errors = process.communicate(timeout=120)
    assert b"Traceback" not in errors


def test_the_command_line_starts_without_its_heavy_parts(tmp_path):
    program = (
        "import sys, gymcore.cli; gymcore.cli.build_parser(); "
        "print([m for m in ('tqdm', 'matplotlib', 'pygame', 'gymnasium') if m in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, cwd=tmp_path, env=environment(), timeout=120,
    )  # fmt: skip
    assert ran.stdout.strip() == "[]", ran.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is another thing on Windows")
@pytest.mark.parametrize("policy", ["random", "slow_policy:act"])
def test_ctrl_c(tmp_path, policy):
    (tmp_path / "slow_policy.py").write_text(
        "import time\n"
        "def act(observations):\n"
        "    time.sleep(0.01)\n"
        "    return [0] * len(observations)\n"
    )
    process = subprocess.Popen(
        command(
            "collect", "CartPole-v1", "--num-envs", 8, "--num-steps", 10**11, "--policy", policy
        ),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment(),
    )  # fmt: skip
    try:
        assert process.stderr is not None
        shown = b""
        while b"CartPole-v1: 0 %" not in shown:  # printed between two steps
            piece = os.read(process.stderr.fileno(), 4096)
            assert piece, shown.decode()
            shown += piece
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, errors
    assert b"Traceback" not in errors and b"interrupted" in errors
    assert b"throughput" in out and b"steps/s" in out


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM")
def test_sigterm_leaves_no_temporary_file(tmp_path):
    process = subprocess.Popen(
        command("video", "CartPole-v1", "--steps", 10**6, "--out", "a.mp4"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment(),
    )  # fmt: skip
    try:
        # Once the file has bytes, ffmpeg encodes. A signal while ffmpeg starts can leave the file.
        while not any(path.stat().st_size for path in tmp_path.iterdir()):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 128 + signal.SIGTERM and b"Traceback" not in errors
    assert os.listdir(tmp_path) == []
