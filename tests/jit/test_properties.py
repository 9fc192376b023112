"""Random classes of `gymcore.jit`, compiled and interpreted; and classes in spawned processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gymcore.vector.utils import iterate
from tests.build.test_examples import ROOT
from tests.jit.random_classes import classes, edited, random_states
from tests.jit.test_interpreted import plain
from tests.testing_env import assert_same

pytestmark = pytest.mark.slow

MODES = st.sampled_from(("NextStep", "SameStep"))
SEEDS = st.integers(0, 2**31)


@given(classes(), MODES, SEEDS)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_lanes_are_single_environments_and_states_go_on(cls: Any, mode: str, seed: int) -> None:
    envs, others = (cls.vector_class(3, debug=True, autoreset_mode=mode) for _ in range(2))
    single = cls(debug=True)
    first, _ = envs.reset(seed=seed)
    alone, _ = single.reset(seed=seed + 1)
    assert envs.observation_space.contains(first) and single.observation_space.contains(alone)
    others.reset(seed=9)
    others.set_state(envs.get_state())
    envs.action_space.seed(1)
    alive = True
    for _ in range(8):
        batch = envs.action_space.sample()
        result = envs.step(batch)
        assert_same(result, others.step(batch))
        if alive:
            step = single.step(batch[1])
            alive = not (step[2] or step[3])
            assert (result[1][1], result[2][1], result[3][1]) == step[1:4]
            if alive:
                lanes = list(iterate(envs.observation_space, result[0]))
                assert_same(plain(lanes[1]), plain(step[0]))


def check_compiled(cls: Any, mode: str, seed: int) -> None:
    """Check that compiled lanes equal interpreted ones, from their own states and from any."""
    ours = cls.vector_class(4, autoreset_mode=mode, max_episode_steps=7)
    theirs = cls.vector_class(4, autoreset_mode=mode, max_episode_steps=7, debug=True)
    assert_same(ours.reset(seed=seed), theirs.reset(seed=seed))
    ours.action_space.seed(seed)
    for step in range(20):
        if step % 5 == 4:
            for envs in (ours, theirs):
                envs.set_attr("state", list(random_states(cls, 4, seed + step)))
        actions = ours.action_space.sample()
        assert_same(ours.step(actions), theirs.step(actions), f"step {step}")
        assert ours.get_state().tobytes() == theirs.get_state().tobytes()


def check_edited(cls: Any, data: Any, seed: int) -> None:
    """Check a class whose text is that of another, except for the value of a constant."""
    check_compiled(cls, "NextStep", seed)
    check_compiled(data.draw(edited(cls)), "NextStep", seed)


@pytest.mark.parametrize("count", [3, pytest.param(2000, marks=pytest.mark.soak)])
def test_compiled_random_classes_are_interpreted_ones(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    monkeypatch.setenv("GYMCORE_CACHE_DIR", str(tmp_path))
    options: dict[str, Any] = {"suppress_health_check": list(HealthCheck), "deadline": None}
    given(classes(), MODES, SEEDS)(settings(max_examples=count, **options)(check_compiled))()


@pytest.mark.parametrize("count", [2, pytest.param(500, marks=pytest.mark.soak)])
def test_no_edit_of_a_constant_runs_old_code(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    monkeypatch.setenv("GYMCORE_CACHE_DIR", str(tmp_path))
    options: dict[str, Any] = {"suppress_health_check": list(HealthCheck), "deadline": None}
    given(classes(), st.data(), SEEDS)(settings(max_examples=count, **options)(check_edited))()


@pytest.mark.parametrize(
    ("count", "length"),
    [(6, 6), pytest.param(2000, 12, marks=[pytest.mark.soak, pytest.mark.timeout(0)])],
)
def test_edits_of_constants_between_processes(count: int, length: int, tmp_path: Path) -> None:
    """Functions with all kinds of constants; a second process edits all, a third edits none."""
    pytest.importorskip("numba")
    for step in ("first", "edited", "again"):
        words = "-m", "tests.jit.random_functions", "1", str(count), str(length), step
        subprocess.run(
            [sys.executable, *words],
            check=True,
            cwd=ROOT,
            env={**os.environ, "GYMCORE_CACHE_DIR": str(tmp_path)},
        )


PROGRAM = """
import numpy as np
import gymcore as gym
from gymcore import jit, spaces


class Here(jit.Env):
    observation_space = spaces.Box(-99.0, 99.0, (1,), np.float32)
    action_space = spaces.Discrete(2)

    class State:
        x: float

    def reset(state, parameters, rng):
        state.x = rng.uniform(-1.0, 1.0)

    def step(state, parameters, action, rng):
        state.x += action
        return state.x, state.x > 3.0

    def observe(state, parameters, observation):
        observation[0] = state.x


if __name__ == "__main__":
    import pickle

    one = gym.vector.AsyncVectorEnv([Here] * 2, context="spawn", num_workers=2)
    other = pickle.loads(pickle.dumps(Here.vector_class(2)))
    print((one.reset(seed=1)[0] == other.reset(seed=1)[0]).all())
    print((one.step([1, 0])[1] == other.step(np.array([1, 0]))[1]).all())
    one.close()
"""


def test_a_class_of_the_main_program_is_spawned_and_pickled(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    run = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "GYMCORE_JIT": "0"},
        timeout=120,
    )
    assert run.stdout.split() == ["True", "True"]
