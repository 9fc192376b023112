"""Single steps whose outcome can be computed by hand: thresholds, walls, goals, equilibria."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.ext.lanes import facts, step_states

X_LIMIT, THETA_LIMIT = 2.4, 12 * 2 * math.pi / 360


def parameters(name: str, **changed: float) -> Any:
    """Return shared parameters [count, 1]: the defaults, with some changed."""
    return np.array([list({**facts(name)["parameters"], **changed}.values())]).T


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_cartpole_fails_beyond_a_threshold_and_not_at_it(sign: float) -> None:
    # Explicit Euler moves positions by the old velocities, which are zero: positions stay.
    at, beyond = sign * X_LIMIT, sign * math.nextafter(X_LIMIT, 3.0)
    leaning, fallen = sign * THETA_LIMIT, sign * math.nextafter(THETA_LIMIT, 1.0)
    states = [[at, 0, 0, 0], [beyond, 0, 0, 0], [0, 0, leaning, 0], [0, 0, fallen, 0]]
    stepped = step_states("cartpole", states, [1] * 4)
    assert stepped.terminated.tolist() == [False, True, False, True]
    assert stepped.states[:, 0].tolist() == [at, beyond, 0.0, 0.0]
    assert stepped.rewards.tolist() == [1.0] * 4
    sutton_barto = step_states(
        "cartpole", states, [1] * 4, parameters("cartpole", sutton_barto_reward=1.0)
    )
    assert sutton_barto.rewards.tolist() == [0.0, -1.0, 0.0, -1.0]


def test_cartpole_pushes_to_both_sides_alike() -> None:
    stepped = step_states("cartpole", np.zeros((2, 4)), [0, 1])
    np.testing.assert_array_equal(stepped.states[0], -stepped.states[1])
    # Upright and at rest: theta'' = -F / (M l (4/3 - m/M)), x'' = (F - m l theta'') / M.
    theta_acc = -10 / 1.1 / (0.5 * (4 / 3 - 0.1 / 1.1))
    x_acc = (10 - 0.05 * theta_acc) / 1.1
    expected = [0.0, 0.02 * x_acc, 0.0, 0.02 * theta_acc]
    assert stepped.states[1].tolist() == pytest.approx(expected, rel=1e-14)


def test_cartpole_semi_implicit_euler_moves_by_the_new_velocities() -> None:
    semi = step_states("cartpole", [[0.0] * 4], [1], parameters("cartpole", semi_implicit=1.0))
    x, x_dot, theta, theta_dot = semi.states[0].tolist()
    assert (x, theta) == (0.02 * x_dot, 0.02 * theta_dot)
    assert x_dot > 0 > theta_dot


@pytest.mark.parametrize("name", ["mountain_car", "mountain_car_continuous"])
def test_the_left_wall_stops_a_car(name: str) -> None:
    action: Any = [0] if name == "mountain_car" else np.zeros((1, 1), np.float32)
    state = np.array([[-1.19, -0.06]], np.float32).astype(float)
    stepped = step_states(name, state, action)
    left = -1.2 if name == "mountain_car" else float(np.float32(-1.2))
    assert stepped.states[0, :2].tolist() == [left, 0.0]


@pytest.mark.parametrize("name", ["mountain_car", "mountain_car_continuous"])
def test_the_right_end_keeps_a_car_s_speed(name: str) -> None:
    action: Any = [2] if name == "mountain_car" else np.ones((1, 1), np.float32)
    stepped = step_states(name, [[0.5625, 0.0625]], action)
    assert stepped.states[0, 0] == pytest.approx(0.6, abs=1e-7)
    assert stepped.states[0, 1] > 0.06
    assert stepped.terminated[0]


@pytest.mark.parametrize(
    ("name", "goal", "reward"),
    [("mountain_car", 0.5, -1.0), ("mountain_car_continuous", 0.45, 100.0)],
)
def test_a_goal_needs_position_and_velocity(name: str, goal: float, reward: float) -> None:
    action: Any = [1] * 3 if name == "mountain_car" else np.zeros((3, 1), np.float32)
    below = np.float32(goal - 0.02)
    states = [[below, 0.03], [below, 0.01], [np.float32(goal + 0.05), -0.02]]
    stepped = step_states(name, states, action)
    assert stepped.terminated.tolist() == [True, False, False]
    assert stepped.rewards[0] == reward
    fast = step_states(name, states, action, parameters(name, goal_velocity=0.05))
    assert not fast.terminated.any()


def test_mountain_cars_keep_their_speed_limit() -> None:
    stepped = step_states("mountain_car", [[-1.0, 0.07], [-0.2, -0.07]], [2, 0])
    assert stepped.states[:, 1].tolist() == [0.07, -0.07]


def test_mountain_car_continuous_pays_for_the_action_as_given() -> None:
    actions = np.array([[0.5], [1.0], [3.0], [-2.0]], np.float32)
    stepped = step_states("mountain_car_continuous", [[-0.5, 0.0]] * 4, actions)
    assert stepped.rewards.tolist() == pytest.approx([-0.025, -0.1, -0.9, -0.4], rel=1e-15)


def test_pendulum_upright_with_full_torque() -> None:
    stepped = step_states(
        "pendulum", [[0.0, 0.0]] * 3, np.array([[2.0], [-2.0], [50.0]], np.float32)
    )
    # theta'' = 3 u / (m l^2) = 6, for 0.05 s; the torque is clipped, and so is its cost.
    assert stepped.states[:, 1].tolist() == [0.05 * 6, -0.05 * 6, 0.05 * 6]
    np.testing.assert_array_equal(stepped.states[:, 0], 0.05 * stepped.states[:, 1])
    assert stepped.rewards.tolist() == [-float(np.float32(0.001) * np.float32(4.0))] * 3
    assert not stepped.terminated.any()


@pytest.mark.parametrize("turns", [-3, -1, 0, 1, 7])
def test_pendulum_counts_its_angle_from_upright_whatever_the_turns(turns: int) -> None:
    theta = 0.5 + 2 * math.pi * turns
    stepped = step_states("pendulum", [[theta, 0.0], [-theta, 0.0]], np.zeros((2, 1), np.float32))
    assert stepped.rewards.tolist() == pytest.approx([-0.25, -0.25], rel=1e-14)


def test_pendulum_keeps_its_speed_limit() -> None:
    stepped = step_states("pendulum", [[1.5, 7.9], [-1.5, -7.9]], np.zeros((2, 1), np.float32))
    assert stepped.states[:, 1].tolist() == [8.0, -8.0]


def test_acrobot_at_rest_stays_at_rest_without_torque() -> None:
    stepped = step_states("acrobot", [[0.0] * 4], [1])
    # cos(-pi/2) is 6e-17 in doubles.
    np.testing.assert_allclose(stepped.states, 0.0, atol=1e-15)
    assert stepped.rewards.tolist() == [-1.0]


def test_acrobot_ends_above_the_bar() -> None:
    # Height of the tip above the bar: -cos(theta1) - cos(theta1 + theta2).
    states = [[math.pi, 0.0, 0.0, 0.0], [2.2, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]]
    stepped = step_states("acrobot", states, [1] * 3)
    assert stepped.terminated.tolist() == [True, True, False]
    assert stepped.rewards.tolist() == [0.0, 0.0, -1.0]


def test_acrobot_wraps_angles_and_keeps_its_speed_limits() -> None:
    states = [[3.0, -3.0, 5.0, -9.0], [-3.0, 3.0, -5.0, 9.0]]
    stepped = step_states("acrobot", states, [1, 1])
    assert (np.abs(stepped.states[:, :2]) <= math.pi).all()
    np.testing.assert_array_equal(np.sign(stepped.states[0, :2]), [-1, 1])
    np.testing.assert_allclose(stepped.states[0], -stepped.states[1], atol=1e-14)
    limits = parameters("acrobot", MAX_VEL_1=0.5, MAX_VEL_2=0.25)
    limited = step_states("acrobot", states, [1, 1], limits)
    assert np.abs(limited.states[:, 2:]).tolist() == [[0.5, 0.25]] * 2


def test_acrobot_of_the_paper_and_of_the_book_differ_by_one_term() -> None:
    state = [[0.5, 0.7, 1.0, 2.0]]
    book = step_states("acrobot", state, [2])
    paper = step_states("acrobot", state, [2], parameters("acrobot", nips=1.0))
    assert book.states[0, 3] < paper.states[0, 3]
    still = [[0.5, 0.7, 0.0, 0.0]]
    first = [
        step_states("acrobot", still, [2], parameters("acrobot", nips=n, dt=1e-9)) for n in (0, 1)
    ]
    np.testing.assert_allclose(first[0].states, first[1].states, rtol=1e-14)
