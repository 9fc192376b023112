"""Running programs under the alias, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])


def run(
    folder: Path, text: str, *arguments: str, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run the program `program.py` of a folder under the alias."""
    program = folder / "program.py"
    program.write_text(text)
    target = "program" if "-m" in options else str(program)
    return subprocess.run(
        [sys.executable, "-m", "gymcore.alias", *options, target, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": PATHS},
        cwd=folder,
    )


def lines(folder: Path, text: str, *arguments: str, **kwargs: Any) -> list[str]:
    """Return the lines that a program prints; it must succeed."""
    result = run(folder, text, *arguments, **kwargs)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()
