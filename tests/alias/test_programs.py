"""CleanRL-style programs of both eras run through the alias, print returns, and learn."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.alias.running import PATHS

pytest.importorskip("torch")
PROGRAMS = Path(__file__).parent / "programs"
# Mean of the last 10 returns that proves learning. Random policies: 20 and -1200.
LEARNT = {"ppo": 80.0, "dqn": 100.0, "sac": -600.0, "td3": -600.0, "pqn": 80.0, "c51": 80.0}
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.py"))


def returns(name: str, *arguments: str) -> list[float]:
    """Run a program and return the returns that it prints."""
    era = "gymnasium==0.29" if name.endswith("029") else "gymnasium==1.4"
    program = str(PROGRAMS / f"{name}.py")
    result = subprocess.run(
        [sys.executable, "-m", "gymcore.alias", "--as", era, program, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": PATHS},
    )
    assert result.returncode == 0, result.stderr
    return [float(text) for text in re.findall(r"episodic_return=(\S+)", result.stdout)]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_programs_print_returns(name: str) -> None:
    assert len(returns(name, "--total-timesteps", "512")) >= 2


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", NAMES)
def test_programs_learn(name: str) -> None:
    last = returns(name)[-10:]
    assert sum(last) / len(last) > LEARNT[name[:3]]
