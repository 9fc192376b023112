"""EnvPool's results for some games, recorded for `test_pipelines.py`, which runs without EnvPool.

`python tests/envs/atari/envpool_games.py`, with EnvPool 1.2.5 installed, writes
`tests/data/golden_envpool.json`.
"""

import importlib
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).parents[2] / "data" / "golden_envpool.json"
LANES = 2

# Name: (game, id, seed, steps, arguments of EnvPool, and ours).
CASES: dict[str, tuple[str, str, int, int, dict[str, Any], dict[str, Any]]] = {
    "usual": ("pong", "Pong-v5", 5, 60, {}, {}),
    "sticky": (
        *("breakout", "Breakout-v5", 5, 200),
        {"repeat_action_probability": 0.25},
        {"repeat_action_probability": 0.25},
    ),
    "lives": (
        *("breakout", "Breakout-v5", 5, 250),
        {"episodic_life": True, "reward_clip": True},
        {"episodic_life": True, "reward_clipping": True},
    ),
    "colors": (
        *("space_invaders", "SpaceInvaders-v5", 9, 30),
        {"gray_scale": False, "frame_skip": 3},
        {"grayscale": False, "frameskip": 3},
    ),
    "limit": (
        *("seaquest", "Seaquest-v5", 9, 40),
        {"max_episode_steps": 17},
        {"max_num_frames_per_episode": 68},
    ),
    "every frame": ("freeway", "Freeway-v5", 9, 30, {"frame_skip": 1}, {"frameskip": 1}),
}


def draw_actions(case: str, choices: int) -> Any:
    """Return the actions [steps, LANES] of a case."""
    steps = CASES[case][3]
    return np.random.default_rng(2).integers(0, choices, (steps, LANES))


def row(observations: Any, *others: Any) -> list[Any]:
    """Return the recorded values of a reset or a step."""
    return [
        zlib.crc32(np.ascontiguousarray(observations)),
        *(np.asarray(one).astype(int).tolist() for one in others),
    ]


def record(case: str) -> list[Any]:
    """Return the rows of a case: one for the reset, and one for each step."""
    _, task, seed, _, arguments, _ = CASES[case]
    envs = importlib.import_module("envpool").make_gymnasium(
        task, num_envs=LANES, seed=seed, **arguments
    )
    observations, infos = envs.reset()
    rows = [row(observations, infos["lives"])]
    for actions in draw_actions(case, envs.action_space.n):
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        rows.append(row(observations, rewards, terminated, truncated, infos["lives"]))
    return rows


if __name__ == "__main__":
    FILE.write_text(json.dumps({case: record(case) for case in CASES}) + "\n")
