"""The programs of `of_gym26.py` give the results of the package gym 0.26.2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymcore.compat import gym26 as gym
from tests.compat.programs.of_gym26 import PROGRAMS

# The output of these programs with gym 0.26.2, line by line.
EXPECTED: dict[str, Any] = {
    "q_learning": (433, 2.589241),
    "ppo_with_clipped_actions": (
        [(-117.57, 20), (-114.345, 20), (-119.452, 20), (-116.656, 20)],
        -56.3337,
    ),
    "ppo_with_wrappers_around_the_batch": (
        [17, 18, 21, 8, 15, 22, 45, 29, 9, 23, 14, 16, 23],
        714.2212,
        -2.5305,
    ),
    "statistics_of_a_users_wrapper": [[-5.0], [-5.0, -5.0, -5.0], -1.4333, [True, True, True]],
    "an_environment_of_the_users": (
        [
            -0.7429,
            -1.2429,
            -0.7429,
            -0.2429,
            -0.7429,
            -0.2429,
            -0.0014,
            -0.5014,
            -0.0014,
            0.4986,
            -0.0014,
            0.4986,
            0.203,
        ],
        [(5, True, 6), (11, True, 6)],
        [0, 10, 20, 30, 40, 50, 0, 10, 20, 30, 40, 50, 0],
        (51,),
    ),
    "an_environment_of_gym_021": [
        [5.0],
        ([6.0], 1.0, False, False, {"clock": 1}),
        ([7.0], 1.0, False, False, {"clock": 2}),
        ([8.0], 1.0, False, True, {"clock": 3}),
        3,
        (True, {"TimeLimit.truncated": True}),
    ],
    "preprocessing_of_images": (
        1.0,
        204673,
        [128, 151, 103, 124, 125],
        "Box(0, 255, (4, 20, 20), uint8)",
    ),
    "videos": (
        [
            "rl-video-episode-0.meta.json",
            "rl-video-episode-0.mp4",
            "rl-video-episode-2.meta.json",
            "rl-video-episode-2.mp4",
        ],
        [10, 10, 9],
    ),
    "workers": ([9.8, 9.8, 1.0, 2.0], [True, False], [1.0884, None]),
    "infos_as_lists": [(2, 0.2344), (2, -0.2337)],
}
NEEDS = {"videos": "imageio_ffmpeg", "preprocessing_of_images": "cv2"}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program: Callable[[Any, Path], Any], tmp_path: Path) -> None:
    if needed := NEEDS.get(program.__name__):
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    assert program(gym, tmp_path) == EXPECTED[program.__name__]
