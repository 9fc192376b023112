from __future__ import annotations

import copy
import pickle

import gymnasium.utils
import pytest

import gymcore
from gymcore.utils import EzPickle


class Simulator(EzPickle):
    def __init__(self, gravity: float, *, friction: float = 0.1) -> None:
        super().__init__(gravity, friction=friction)
        self.gravity = gravity
        self.friction = friction
        self.handle = (item for item in ())  # cannot be pickled
        self.time = 0.0


class GymnasiumSimulator(gymnasium.utils.EzPickle):
    def __init__(self, gravity: float) -> None:
        super().__init__(gravity)
        self.gravity = gravity
        self.time = 0.0


def test_made_again_from_the_arguments() -> None:
    simulator = Simulator(9.8, friction=0.3)
    simulator.time = 5.0
    for again in (pickle.loads(pickle.dumps(simulator)), copy.deepcopy(simulator)):
        assert (again.gravity, again.friction, again.time) == (9.8, 0.3, 0.0)
        assert again._ezpickle_args == (9.8,)
        assert again._ezpickle_kwargs == {"friction": 0.3}


def test_the_same_state_as_gymnasium() -> None:
    class Ours(EzPickle):
        def __init__(self, gravity: float) -> None:
            super().__init__(gravity)

    assert Ours(3.0).__getstate__() == GymnasiumSimulator(3.0).__getstate__()


def test_a_state_that_is_none() -> None:
    with pytest.raises(KeyError, match="_ezpickle_args"):
        Simulator.__new__(Simulator).__setstate__({})


class ClosingEnv(gymcore.Env[int, int], EzPickle):
    closed = 0

    def __init__(self) -> None:
        EzPickle.__init__(self)

    def close(self) -> None:
        type(self).closed += 1


def test_making_a_copy_closes_nothing() -> None:
    env = ClosingEnv()
    again = pickle.loads(pickle.dumps(env))
    assert ClosingEnv.closed == 0
    again.close()
    env.close()
