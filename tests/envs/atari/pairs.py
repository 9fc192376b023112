"""ale-py's own environments for Gymnasium, compared with ours."""

from __future__ import annotations

from typing import Any

import pytest

import gymcore
from tests.testing_env import assert_same

ale_py = pytest.importorskip("ale_py", reason="ale_py is not installed")
gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed")
gymnasium.register_envs(ale_py)


def make_both(id: str, **arguments: Any) -> tuple[Any, Any]:
    return gymcore.make(id, **arguments), gymnasium.make(id, **arguments)


def walk_both(ours: Any, theirs: Any, steps: int, seed: int) -> int:
    """Step both with the same actions and compare everything; return how many episodes ended."""
    ended = 0
    theirs.action_space.seed(seed)
    assert_same(ours.reset(seed=seed), theirs.reset(seed=seed), "reset")
    for step in range(steps):
        action = theirs.action_space.sample()
        one, other = ours.step(action), theirs.step(action)
        assert_same(one, other, f"step {step}")
        if other[2] or other[3]:
            ended += 1
            again = seed + step if ended % 3 == 0 else None
            assert_same(ours.reset(seed=again), theirs.reset(seed=again), f"reset {ended}")
    return ended
