"""The programs of `of_gym21.py` give the results of the package gym 0.21.0."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymcore.compat import gym21 as gym
from tests.compat.programs.of_gym21 import PROGRAMS

# The output of these programs with gym 0.21.0, line by line.
EXPECTED: dict[str, Any] = {
    "an_environment_of_the_users": (
        [
            [5],
            0.953,
            (1.453, 1.0, False, False),
            (1.953, 1.0, False, False),
            (2.453, 1.0, True, False),
            (4, 4, 3),
            2,
            2,
            "Walk-v0",
            (0.0, 1.0),
        ],
        [
            (False, {}),
            (False, {}),
            (False, {}),
            (False, {}),
            (False, {}),
            (False, {}),
            (False, {}),
            (True, {"TimeLimit.truncated": True}),
        ],
    ),
    "q_learning": (
        [20, 20, 1, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20],
        48.62,
    ),
    "wrappers_of_its_time": ([44.7223, 2.019, 1.2431, 0.9125, 0.725, 0.6034], True, 15.736),
    "a_batch": (
        [0.602, 1.602, 2.602, 1.989, 2.989, 3.989, 2.56, 3.56, 4.56, 3.926, 4.926, 2.066, 2.082],
        [0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 1],
    ),
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program: Callable[[Any, Path], Any], tmp_path: Path) -> None:
    assert program(gym, tmp_path) == EXPECTED[program.__name__]
