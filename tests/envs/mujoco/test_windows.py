"""Windows, on a virtual display; and the errors if there is no display."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gymcore
from gymcore import error
from gymcore.envs.mujoco import gl_backend
from tests.envs.mujoco.walkers import walker, write_model

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

HERE = Path(__file__).parent
CHECKS = ["is_paced", "shows_and_closes", "user_closes", "keys_and_mouse", "chooses_a_size"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "checks"), [("egl", [*CHECKS, "several"]), ("glfw", ["several"])]
)
def test_windows(tmp_path, display, backend, checks, monkeypatch):
    """Several windows and offscreen frames of either OpenGL, which must share the thread."""
    monkeypatch.delenv("PYOPENGL_PLATFORM", raising=False)  # rendering in this process has set it
    if backend == "egl" and (problem := gl_backend._missing("egl")):
        pytest.skip(f"{problem} (Debian: {gl_backend.PACKAGES['egl']})")
    environment = {**os.environ, "DISPLAY": display, "MUJOCO_GL": backend}
    environment.pop("WAYLAND_DISPLAY", None)
    done = subprocess.run(
        [sys.executable, str(HERE / "windows.py"), write_model(tmp_path), *checks],
        env={**environment, "PYTHONPATH": str(HERE.parents[2])},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == checks
    assert done.stderr == ""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="others always have a display")
def test_no_display(tmp_path, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    env = walker(gymcore)(write_model(tmp_path), render_mode="human")
    with pytest.raises(error.Error, match=r"there is no display .*xvfb-run"):
        env.reset()
    env.close()


def test_a_display_that_does_not_answer(tmp_path):
    code = (
        "import sys, gymcore\n"
        "from gymcore.envs.mujoco import MujocoEnv\n"
        "env = MujocoEnv(sys.argv[1], 5, None, 'human')\n"
        "try: env.render()\n"
        "except gymcore.error.Error as problem: print(problem)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, write_model(tmp_path)],
        env={**os.environ, "DISPLAY": ":93999"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "GLFW cannot start" in done.stdout, done.stderr
