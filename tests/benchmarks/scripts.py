"""Starting the scripts of `benchmarks/` in tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def script(*words: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, paths)))
    for name in [name for name in environment if name.startswith("PYTEST_XDIST")]:
        del environment[name]  # a script's own pytest is not part of this one
    return subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True, text=True, cwd=cwd, env=environment, timeout=280,
    )  # fmt: skip
