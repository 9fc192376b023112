"""Programs for Gym 0.26 and Gymnasium 0.29 give the results of the package gymnasium 0.29.1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymcore.compat import gymnasium029 as gym
from tests.compat.programs import of_gym26, of_gymnasium029, test_gym26

# Results with gymnasium 0.29.1; the other programs give the same as with gym 0.26.2.
EXPECTED: dict[str, Any] = {
    **test_gym26.EXPECTED,
    "ppo_with_clipped_actions": (
        [(-117.57, 20), (-114.345, 20), (-119.452, 20), (-116.656, 20)],
        -53.5143,
    ),
    "ppo_with_wrappers_around_the_batch": (
        [17, 18, 21, 8, 15, 22, 45, 29, 9, 23, 14, 16, 23],
        714.5801,
        -2.5305,
    ),
    "infos_of_ended_episodes": [
        {
            "final_observation": ("object", (2,)),
            "_final_observation": ("bool", (2,)),
            "final_info": ("object", (2,)),
            "_final_info": ("bool", (2,)),
        },
        {"r": ("float32", (1,)), "l": ("int32", (1,)), "t": ("float32", (1,))},
        *(None, [False, True], None),
        *(1.14643, [9.0], [9], -1.15587),
    ],
    "statistics_of_a_batch": (
        [
            ([10, 10, 10], [True, True, True]),
            ([0, 8, 0], [False, True, False]),
            ([9, 0, 9], [True, False, True]),
            ([0, 9, 0], [False, True, False]),
            ([9, 0, 9], [True, False, True]),
        ],
        [9.0, 0.0, 9.0],
        {"r": ("float32", (3,)), "l": ("int32", (3,))},
    ),
    "made_by_make_vec": [
        *("AsyncVectorEnv", [{}, {}], [True, True], -0.04845),
        *("SyncVectorEnv", (2, 5), "best", "custom"),
    ],
    "a_batch_of_the_users": [
        *({"seed": 4}, (3, 2), "MultiDiscrete([4 4 4])"),
        ([1.0, 2.0, 3.0], [False, False, False]),
        ([2.0, 4.0, 6.0], [False, False, True]),
        [0.0, 0.0, 9.0],
    ],
    "wrappers_that_changed": (
        [70.71421, 2.01959, 1.24319, 0.91249, 2.0031, 1.06555],
        *((4, 4), (4, 4), 512),
    ),
}
NEEDS = {**test_gym26.NEEDS, "wrappers_that_changed": "cv2"}
PROGRAMS = (*of_gym26.PROGRAMS, *of_gymnasium029.PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program: Callable[[Any, Path], Any], tmp_path: Path) -> None:
    if needed := NEEDS.get(program.__name__):
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    assert program(gym, tmp_path) == EXPECTED[program.__name__]


def test_the_engine_of_make_is_compiled_and_an_env() -> None:
    for envs in (gym.vector.make("CartPole-v1", 2), gym.make_vec("CartPole-v1", 2, "custom")):
        assert isinstance(envs, gym.Env) and isinstance(envs, gym.vector.VectorEnv)
        assert type(envs.unwrapped).__name__ == "CartPoleVectorEnv"
        with pytest.raises(gym.error.Error, match="wrappers: expected none"):
            gym.make_vec("CartPole-v1", 2, "custom", wrappers=[gym.wrappers.FlattenObservation])
