"""Functions and names that programs import from environment modules, compared with Gymnasium."""

from __future__ import annotations

import gymnasium
import gymnasium.envs.classic_control.acrobot as their_acrobot
import gymnasium.envs.toy_text.blackjack as their_blackjack
import gymnasium.envs.toy_text.cliffwalking as their_cliffwalking
import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.envs.classic_control import acrobot
from gymcore.envs.toy_text import blackjack, cliffwalking, frozen_lake, taxi, utils

HANDS = ([1, 10], [10, 1], [1, 5], [10, 10, 5], [1, 1], [], [1, 10, 10], [2, 3], [1, 1, 10])


@pytest.mark.parametrize("name", ["usable_ace", "sum_hand", "is_bust", "score", "is_natural"])
@pytest.mark.parametrize("hand", HANDS)
def test_hands_of_blackjack(hand, name):
    one = getattr(blackjack, name)(hand)
    other = getattr(their_blackjack, name)(hand)
    assert (type(one), one) == (type(other), other), hand


def test_cards_of_blackjack():
    assert blackjack.deck == their_blackjack.deck
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(30):
        assert blackjack.draw_card(one) == their_blackjack.draw_card(other)
        assert blackjack.draw_hand(one) == their_blackjack.draw_hand(other)
    for pair in ((1, 2), (2, 1), (1, 1)):
        found = blackjack.cmp(*pair)
        assert type(found) is float
        assert found == their_blackjack.cmp(*pair)


def test_angles_and_bounds_of_acrobot():
    for x in [0.0, np.pi, -np.pi, *np.random.default_rng(0).uniform(-50, 50, 200)]:
        assert acrobot.wrap(x, -np.pi, np.pi) == their_acrobot.wrap(x, -np.pi, np.pi)
        assert acrobot.bound(x, -3, 3) == their_acrobot.bound(x, -3, 3)
        assert acrobot.bound(x, (-3, 3)) == their_acrobot.bound(x, (-3, 3))
    with pytest.raises(TypeError, match="expected two bounds"):
        acrobot.bound(5, 0)
    for x, low, high in ((np.inf, 0, 1), (np.nan, 0, 1), (5, 1, 1), (5, 2, 1)):
        with pytest.raises(error.InvalidArgument, match="wrap"):
            acrobot.wrap(x, low, high)
    assert acrobot.wrap(1e300, 0.0, 1.0) == 1e300  # adding a period would not change it


def test_runge_kutta_of_acrobot():
    def derivatives(y):
        return np.array([y[1], -np.sin(y[0]), y[3] * y[0], y[2] - y[1], 0.0])

    rng = np.random.default_rng(0)
    for times in ([0, 0.2], [0, 0.2, 0.3], [1.0]):
        for _ in range(20):
            state = rng.normal(size=5)
            kept = state.copy()
            found = acrobot.rk4(derivatives, state, times)
            np.testing.assert_array_equal(found, their_acrobot.rk4(derivatives, state, times))
            np.testing.assert_array_equal(state, kept)
    for state, times in ((np.zeros(2), []), (1.0, [0, 1])):
        with pytest.raises(error.InvalidArgument, match="rk4"):
            acrobot.rk4(lambda y: y, state, times)


@pytest.mark.parametrize(
    ("env_id", "names"),
    [
        ("Acrobot-v1", ("SCREEN_DIM", "action_arrow", "domain_fig")),
        ("CartPole-v1", ("screen_width", "screen_height")),
        ("MountainCar-v0", ("screen_width", "screen_height")),
        ("MountainCarContinuous-v0", ("screen_width", "screen_height")),
        ("Pendulum-v1", ("screen_dim",)),
    ],
)
def test_sizes_of_pictures(env_id, names):
    ours, theirs = gymcore.make(env_id).unwrapped, gymnasium.make(env_id).unwrapped
    for name in names:
        assert getattr(ours, name) == getattr(theirs, name), name
    if "screen_width" in names:
        assert (ours.screen_width, ours.screen_height) == ours.frame_size
    elif names[0].lower() == "screen_dim":
        assert (getattr(ours, names[0]),) * 2 == ours.frame_size


def test_places_of_taxi_in_its_picture():
    env = gymcore.make("Taxi-v4", render_mode="rgb_array").unwrapped
    env.reset(seed=1)
    height, width = env.render().shape[:2]
    assert env.get_surf_loc((0, 0)) == (0, 0)
    assert env.get_surf_loc((4, 1)) == (width // 5, 4 * height // 5)
    assert env.get_surf_loc((5, 5)) == (width, height)


def test_steps_of_cliff_walking():
    assert cliffwalking.POSITION_MAPPING == their_cliffwalking.POSITION_MAPPING


def test_one_function_draws_from_distributions():
    for module in (cliffwalking, frozen_lake, taxi):
        assert module.categorical_sample is utils.categorical_sample
