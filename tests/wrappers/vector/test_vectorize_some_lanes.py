"""Steps of some lanes through wrappers of actions and of rewards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error, wrappers
from gymcore.vector import AutoresetMode, SyncVectorEnv
from gymcore.wrappers.vector import ClipAction, ClipReward, VectorizeTransformAction
from tests.testing_env import assert_same
from tests.wrappers.walk_env import make_walk_env


def make_lane() -> Any:
    return make_walk_env()(action_space=gymcore.spaces.Box(-2, 6, (2,)))


class Halved(wrappers.ClipAction):
    """A user's wrapper, called for each lane."""

    def action(self, action: Any) -> Any:
        return super().action(action / 2)


def halved(package: Any, env: Any) -> Any:
    return Halved(env) if package is wrappers else VectorizeTransformAction(env, Halved)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize(
    "wrapper",
    [
        lambda package, env: package.ClipAction(env),
        lambda package, env: package.RescaleAction(env, 0, 1),
        lambda package, env: package.DiscretizeAction(env, 3),
        lambda package, env: package.DiscretizeAction(env, 3, multidiscrete=True),
        halved,
        lambda package, env: package.ClipReward(env, 0.5, 3),
        lambda package, env: package.TransformReward(env, lambda r: 2 * r + 1),
    ],
)
def test_steps_of_some_lanes(wrapper: Any, mode: AutoresetMode) -> None:
    ours = wrapper(wrappers.vector, SyncVectorEnv([make_lane] * 4, autoreset_mode=mode))
    lanes = [lambda: wrapper(wrappers, make_lane())] * 4
    theirs = SyncVectorEnv(lanes, autoreset_mode=mode)
    assert ours.steps_some_lanes
    assert_same(ours.reset(seed=0), theirs.reset(seed=0))
    theirs.action_space.seed(0)
    rng = np.random.default_rng(0)
    for step in range(40):
        actions = theirs.action_space.sample()
        if rng.random() < 0.3:
            assert_same(ours.step(actions), theirs.step(actions), f"step {step}")
            continue
        some = rng.permutation(4)[: rng.integers(1, 5)]
        if rng.random() < 0.5:
            some = np.isin(np.arange(4), some)
        one = ours.step_lanes(actions[some], some)
        assert_same(one, theirs.step_lanes(actions[some], some), f"step {step} of {some}")


def test_steps_of_some_lanes_need_an_environment_that_can() -> None:
    class Whole(gymcore.vector.VectorWrapper):
        def step(self, actions: Any) -> Any:
            return self.env.step(actions)

    for wrapped in (
        ClipAction(Whole(SyncVectorEnv([make_lane] * 3))),
        ClipReward(Whole(SyncVectorEnv([make_lane] * 3)), 0),
    ):
        assert not wrapped.steps_some_lanes
        with pytest.raises(error.UnsupportedMode, match="cannot step some of its environments"):
            wrapped.step_lanes(np.zeros((1, 2), np.float32), [0])
