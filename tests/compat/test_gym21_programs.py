"""Programs as they were written for Gym 0.21 run unchanged under the alias, and learn."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.alias.running import PATHS

pytestmark = pytest.mark.slow

PROGRAMS = Path(__file__).parent / "gym21_programs"
NEEDED = {"atari_wrappers": "ale_py", "videos": "imageio_ffmpeg"}
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.py") if path.stem != "nets")


@pytest.mark.parametrize("name", NAMES)
def test_program(name: str, tmp_path: Path) -> None:
    """Each program asserts that it has learnt."""
    if name in NEEDED:
        pytest.importorskip(NEEDED[name], reason=f"{NEEDED[name]} is not installed")
    result = subprocess.run(
        [sys.executable, "-m", "gymcore.alias", "--as", "gym==0.21", str(PROGRAMS / f"{name}.py")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": PATHS, "OPENBLAS_NUM_THREADS": "1"},
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stderr
