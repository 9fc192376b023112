from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from gymcore.cli import main


class Ran(NamedTuple):
    """Exit code and output of a command line."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Return a function that runs a command line in this process."""

    def run_words(*words: object) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run_words
