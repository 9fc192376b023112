"""Whole episodes of a thousand seeds equal Gymnasium's to the bit, also through saved states."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pygame", reason="pygame is not installed")
from tests.envs.box2d import test_bipedal_walker, test_car_racing, test_lunar_lander  # isort: skip
from tests.envs.box2d.pairs import fly_side_by_side, make_pair  # isort: skip
from tests.envs.box2d.racing_driver import drive  # isort: skip
from tests.envs.box2d.racing_pictures import SomePictures  # isort: skip

RACING = [*test_car_racing.POLICIES, drive]
KINDS: dict[str, tuple[str, dict[str, Any], int, list[Any]]] = {
    "lander": ("LunarLander-v3", {}, 1000, test_lunar_lander.POLICIES),
    "continuous lander": ("LunarLanderContinuous-v3", {}, 1000, test_lunar_lander.POLICIES),
    "lander in the wind": (
        "LunarLander-v3",
        {"enable_wind": True, "wind_power": 20.0, "turbulence_power": 2.0},
        1000,
        test_lunar_lander.POLICIES,
    ),
    "walker": ("BipedalWalker-v3", {}, 1600, test_bipedal_walker.POLICIES),
    "hardcore walker": ("BipedalWalkerHardcore-v3", {}, 2000, test_bipedal_walker.POLICIES),
    "car": ("CarRacing-v3", {}, 1000, RACING),
    "discrete car": ("CarRacing-v3", {"continuous": False}, 1000, test_car_racing.POLICIES),
    "car in other colors": ("CarRacing-v3", {"domain_randomize": True}, 1000, RACING),
}
PARTS = 40


@pytest.mark.soak
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_thousand_seeds_equal_gymnasium(part, kind):
    """In parts, so that each takes about a minute."""
    env_id, arguments, steps, policies = KINDS[kind]
    ours, theirs = make_pair(env_id, **arguments)
    spare = type(ours)(**ours.spec.kwargs)
    look = SomePictures(every=16) if "car" in kind else None
    for seed in range(part, 1000, PARTS):
        policy = policies[seed // PARTS % len(policies)]
        fly_side_by_side(
            ours, theirs, [policy], episodes=1, seed=seed, steps=steps, look=look, spare=spare
        )
