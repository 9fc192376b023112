"""Acrobot's constants as attributes of the class and of subclasses, beside Gymnasium's."""

from __future__ import annotations

from typing import Any

import gymnasium.envs.classic_control.acrobot
import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.envs.classic_control.acrobot import AcrobotEnv

CONSTANTS: dict[str, Any] = {
    "dt": 0.1,
    "LINK_LENGTH_1": 1.2,
    "LINK_LENGTH_2": 0.8,
    "LINK_MASS_1": 2.0,
    "LINK_MASS_2": 0.5,
    "LINK_COM_POS_1": 0.4,
    "LINK_COM_POS_2": 0.6,
    "LINK_MOI": 1.5,
    "MAX_VEL_1": 0.3,
    "MAX_VEL_2": 0.4,
    "AVAIL_TORQUE": [-2.0, 0.5, 3.0],
    "book_or_nips": "nips",
    "torque_noise_max": 0.5,
}
CLASSES = (AcrobotEnv, gymnasium.envs.classic_control.acrobot.AcrobotEnv)


def assert_equal_steps(ours: Any, theirs: Any) -> None:
    np.testing.assert_array_equal(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
    for action in np.random.default_rng(1).integers(3, size=40).tolist():
        np.testing.assert_allclose(ours.step(action)[0], theirs.step(action)[0], atol=1e-5)


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_of_a_subclass(name):
    ours, theirs = (type("Other", (cls,), {name: CONSTANTS[name]}) for cls in CLASSES)
    assert getattr(ours, name) == getattr(theirs, name) == CONSTANTS[name]
    assert_equal_steps(ours(), theirs())
    assert ours().observation_space.low.tolist() == theirs().observation_space.low.tolist()
    assert getattr(ours(), name) == CONSTANTS[name]


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_of_the_class(name, monkeypatch):
    before = getattr(AcrobotEnv, name)
    for cls in CLASSES:
        monkeypatch.setattr(cls, name, CONSTANTS[name])
    assert_equal_steps(*(cls() for cls in CLASSES))
    assert gym.make_vec("Acrobot-v1", num_envs=2).get_attr(name) == (CONSTANTS[name],) * 2
    # After it has been restored by assignment, instances can still have their own.
    setattr(AcrobotEnv, name, before)
    env = AcrobotEnv()
    assert getattr(env, name) == before
    setattr(env, name, CONSTANTS[name])
    assert_equal_steps(env, CLASSES[1]())


def test_a_constant_that_the_physics_cannot_have():
    with pytest.raises(error.InvalidArgument, match="LINK_MASS_1: expected a number above 0"):
        AcrobotEnv.LINK_MASS_1 = -1.0
    with pytest.raises(error.InvalidArgument, match="LINK_MASS_1: expected a number above 0"):
        type("Other", (AcrobotEnv,), {"LINK_MASS_1": 0.0})
    assert AcrobotEnv.LINK_MASS_1 == 1.0
