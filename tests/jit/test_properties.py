"""Classes of `gymcore.jit` over dtypes, lengths and spaces, and in processes that were spawned."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gymcore import jit, spaces
from tests.build.test_examples import ROOT
from tests.testing_env import assert_same

DTYPES = ("f8", "f4", "i8", "i4", "i2", "i1", "u1", "?")


def reset(state, parameters, rng):
    state.one = rng.integers(2)
    for k in range(len(state.several)):
        state.several[k] = rng.integers(0, 2)


def step(state, parameters, action, rng):
    for k in range(len(state.several)):
        if state.several[k]:
            state.several[k] = 0
        else:
            state.several[k] = rng.integers(2)
    state.one = 1 if state.several[0] else 0
    return 0.5 * state.one, rng.random() < 0.2


def observe(state, parameters, observation):
    for k in range(len(state.several)):
        observation[0][k] = state.several[k]
    observation[1][0] = 1 if state.one else 0


def declare(one: str, several: str, seen: str, length: int, action_space: Any) -> Any:
    """A class whose fields, observations and actions are of these kinds."""
    annotations = {"one": np.dtype(one), "several": jit.array(several, length)}
    box = spaces.Box(0, 1, (length,), np.dtype(seen)) if seen != "?" else spaces.MultiBinary(length)
    members = {
        "observation_space": spaces.Tuple((box, spaces.Discrete(2))),
        "action_space": action_space,
        "State": type("State", (), {"__annotations__": annotations}),
        **{"reset": reset, "step": step, "observe": observe, "__module__": __name__},
    }
    return type("Any", (jit.Env,), members)


KINDS = st.sampled_from(DTYPES)
ACTIONS = st.sampled_from(
    (
        spaces.Discrete(3, start=-1),
        spaces.MultiDiscrete([2, 5]),
        spaces.MultiBinary(3),
        spaces.Box(-1, 1, (2,), np.float32),
        spaces.Box(-1, 1, (1, 2), np.float64),
    )
)
MODES = st.sampled_from(("NextStep", "SameStep"))


@given(KINDS, KINDS, KINDS, st.integers(1, 5), ACTIONS, MODES)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_lanes_are_single_environments_and_states_go_on(
    one: str, several: str, seen: str, length: int, actions: Any, mode: str
) -> None:
    cls = declare(one, several, seen, length, actions)
    envs, others = (cls.vector_class(3, debug=True, autoreset_mode=mode) for _ in range(2))
    single = cls(debug=True)
    first, _ = envs.reset(seed=4)
    alone, _ = single.reset(seed=5)
    assert envs.observation_space.contains(first) and single.observation_space.contains(alone)
    assert_same(first[0][1], alone[0])
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
            alive = not step[2]
            assert (result[1][1], result[2][1]) == step[1:3]
            if alive:
                assert_same(result[0][0][1], step[0][0])


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
