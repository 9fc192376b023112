"""The Box2D environments of both packages, stepped side by side: equal to the bit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gymcore

try:
    import gymcore.envs.box2d.box2d_env  # before Gymnasium does: SWIG's types make Python warn
except gymcore.error.DependencyNotInstalled:
    pytest.skip("Box2D is not installed", allow_module_level=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import gymnasium
    import gymnasium.envs.box2d as gymnasium_box2d

__all__ = [
    "fly_side_by_side",
    "gymnasium",
    "gymnasium_box2d",
    "make_pair",
    "no_action",
    "random_actions",
]

Policy = Callable[[Any, Any, np.random.Generator], Any]
Look = Callable[[Any, Any, int], bool]


def make_pair(env_id: str, **arguments: Any) -> tuple[Any, Any]:
    """Return the same environment of both packages, without wrappers: ours, theirs."""
    ours = gymcore.make(env_id, **arguments).unwrapped
    return ours, gymnasium.make(env_id, **arguments).unwrapped


def random_actions(env: Any, observation: Any, random: np.random.Generator) -> Any:
    """Return any action; continuous ones sometimes exceed the bounds."""
    space = env.action_space
    if hasattr(space, "n"):
        return int(random.integers(space.n))
    return random.uniform(-1.2, 1.2, space.shape).astype(np.float32)


def no_action(env: Any, observation: Any, random: np.random.Generator) -> Any:
    """Return an action that does nothing: the bodies fall, and lie."""
    space = env.action_space
    return 0 if hasattr(space, "n") else np.zeros(space.shape, np.float32)


def fly_side_by_side(
    ours: Any,
    theirs: Any,
    policies: list[Policy],
    *,
    episodes: int,
    seed: int,
    steps: int = 2000,
    beyond: int = 5,
    look: Look | None = None,
    spare: Any = None,
) -> None:
    """Step both through episodes and assert that all their results are equal to the bit.

    Args:
        ours: Our environment.
        theirs: Gymnasium's.
        policies: Functions that choose the actions, in turn.
        episodes: Number of episodes; every third continues with the second's generator, unseeded.
        seed: Seed of the actions and of the episodes' seeds.
        steps: Longest episode.
        beyond: Steps after the end, which must agree too.
        look: Called with both and a number before each reset (0) and step (1, 2, ...); returns
            whether to compare the next observation.
        spare: Another of our environments: the two take turns, every 50 steps, by state.
    """
    random = np.random.default_rng(seed)
    for episode in range(episodes):
        compared = look is None or look(ours, theirs, 0)
        given = None if episode % 3 == 2 else int(random.integers(2**31))
        seen, info = ours.reset(seed=given)
        expected, their_info = theirs.reset(seed=given)
        assert not compared or seen.tobytes() == expected.tobytes()
        assert info == their_info
        policy, left = policies[episode % len(policies)], beyond
        for step in range(steps):
            compared = look is None or look(ours, theirs, step + 1)
            action = policy(theirs, expected, random)
            if spare is not None and step % 50 == 25:
                spare.set_state(ours.get_state())
                ours, spare = spare, ours
            seen, reward, *flags = ours.step(action)
            expected, their_reward, *their_flags = theirs.step(action)
            where = f"seed {given}, step {step}"
            assert seen.dtype == expected.dtype, where
            assert not compared or seen.tobytes() == expected.tobytes(), where
            assert reward == their_reward, where
            assert type(reward) is type(their_reward), where
            assert flags == their_flags, where
            left -= flags[0]
            if left < 0:
                break
        assert ours.np_random.bit_generator.state == theirs.np_random.bit_generator.state, (
            f"seed {given}"
        )
