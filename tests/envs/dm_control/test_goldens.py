"""Episodes are dm_control's, which tools/dm_control_goldens.py recorded on MuJoCo 3.17.0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore
from tools import dm_control_goldens as goldens

pytest.importorskip("mujoco", reason="mujoco is not installed")

GOLDEN = np.load(goldens.EPISODES)
TASKS = sorted({name.split("/")[0] for name in GOLDEN.files})


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a temporary folder: MuJoCo warns about `settotalmass` in MUJOCO_LOG.TXT."""
    monkeypatch.chdir(tmp_path)


def close(actual: Any, expected: Any, tolerance: float) -> None:
    """Compare up to the rounding of other machines and versions of MuJoCo."""
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("task", TASKS)
def test_episodes_are_dm_controls(task: str) -> None:
    env: Any = gymcore.make(f"dm_control/{task}-v0", flat_observation=True)
    for seed in goldens.SEEDS:
        observations = GOLDEN[f"{task}/{seed}/observations"]
        draw = goldens.random_actions(env.action_space.low, env.action_space.high, seed)
        first, _ = env.reset(seed=seed)
        close(first, observations[0], 1e-8)
        results = [env.step(draw()) for _ in range(goldens.STEPS)]
        close(results[-1][0], observations[1], 1e-6)
        close([reward for _, reward, *_ in results], GOLDEN[f"{task}/{seed}/rewards"], 1e-8)
        discounts = [info["discount"] for *_, info in results]
        assert discounts == GOLDEN[f"{task}/{seed}/discounts"].tolist()
    env.close()


def test_all_tasks_were_recorded() -> None:
    registered = {name for name in gymcore.registry if name.startswith("dm_control/")}
    assert registered == {f"dm_control/{task}-v0" for task in TASKS}
    assert len(TASKS) == 51


def test_recordings_differ_by_seed_and_show_rewards() -> None:
    for task in TASKS:
        first, second = (GOLDEN[f"{task}/{seed}/observations"] for seed in goldens.SEEDS)
        assert not np.array_equal(first, second), task
    rewarding = [task for task in TASKS if GOLDEN[f"{task}/0/rewards"].any()]
    assert len(rewarding) > 30
