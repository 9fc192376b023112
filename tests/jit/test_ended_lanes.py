"""In next-step mode, lanes whose episodes have ended are stepped only if that cannot do harm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import jit, spaces
from gymcore.jit.declarations import needs_live_state
from tests.testing_env import assert_same

STEPS = 3


class Walk(jit.Env):
    """Base class: an episode ends when the energy is used up."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = spaces.Discrete(2)

    class State:
        energy: float
        x: float

    class Parameters:
        substeps: int = 2

    def reset(state, parameters, rng):
        state.energy = 3.0

    def step(state, parameters, action, rng):
        state.energy -= 1.0
        return state.x, state.energy <= 0.0

    def observe(state, parameters, observation):
        observation[0] = state.x


def consume(energy):
    used = 0.0
    while used < 0.5:
        used += 0.1 * energy
    return used


def fall(energy):
    if energy < 1.0:
        return 0.0
    return 1.0 + fall(energy - 1.0)


def move(state, rng):
    state.x += rng.normal()


class While(Walk):
    def step(state, parameters, action, rng):
        used = 0.0
        while used < 0.5:  # never, without energy
            used += 0.1 * state.energy
        state.x += used
        state.energy -= 1.0
        return state.x, state.energy <= 0.0


class WhileInHelper(Walk):
    def step(state, parameters, action, rng):
        state.x += consume(state.energy)
        state.energy -= 1.0
        return state.x, state.energy <= 0.0


class ForOverState(Walk):
    def step(state, parameters, action, rng):
        for _ in range(int(3.0 - state.energy)):
            state.x += 0.5
        state.energy -= 1.0
        return state.x, state.energy <= 0.0


class Recursion(Walk):
    def step(state, parameters, action, rng):
        state.x += fall(state.energy)
        state.energy -= 1.0
        return state.x, state.energy <= 0.0


class DrawInHelper(Walk):
    def step(state, parameters, action, rng):
        move(state, rng)
        state.energy -= 1.0
        return state.x, state.energy <= 0.0


class ForOverParameter(Walk):
    def step(state, parameters, action, rng):
        for _ in range(STEPS * parameters.substeps):
            state.x += 0.5
        state.energy -= 1.0
        return state.x, state.energy <= 0.0


@pytest.mark.parametrize("cls", [While, WhileInHelper, ForOverState, Recursion, DrawInHelper])
@pytest.mark.parametrize("debug", [True, False], ids=["interpreted", "compiled"])
def test_classes_that_must_not_be_stepped_after_the_end(cls: Any, debug: bool) -> None:
    """Lanes go on like single environments, and no step hangs."""
    assert needs_live_state(cls._functions["step"])
    if not debug:
        pytest.importorskip("numba")
    ours = cls.vector_class(2, debug=debug)
    theirs = gym.vector.SyncVectorEnv([lambda: cls(debug=debug)] * 2)
    assert_same(ours.reset(seed=1)[0], theirs.reset(seed=1)[0])
    for _ in range(10):
        assert_same(ours.step([0, 1])[:4], theirs.step([0, 1])[:4])
    ours.close()
    theirs.close()


@pytest.mark.parametrize("cls", [Walk, ForOverParameter])
def test_arithmetic_may_be_stepped_after_the_end(cls: Any) -> None:
    assert not needs_live_state(cls._functions["step"])
