"""Steps of classic control compared with Gymnasium: from synced states, and whole episodes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest

from tests.envs.classic_control.pairs import (
    ARGUMENTS,
    assert_same_observation,
    make_pair,
    their_state,
)

# Gymnasium computes MountainCarContinuous in float32, where one rounding is 6e-8.
TOLERANCE = {"MountainCarContinuous-v0": 1e-6}
# It squares Pendulum's torque in float32, sometimes one unit off; the cost is at most 0.004.
REWARD_TOLERANCE = {"Pendulum-v1": 5e-10}
# Attributes that users change.
CHANGES: dict[str, dict[str, Any]] = {
    "CartPole-v1": {
        "gravity": 5.0,
        "force_mag": 3.0,
        "tau": 0.01,
        "x_threshold": 0.01,
        "kinematics_integrator": "semi-implicit euler",
    },
    "MountainCar-v0": {
        "force": 0.005,
        "gravity": 0.001,
        "goal_position": -0.3,
        "max_speed": 0.02,
    },
    "MountainCarContinuous-v0": {"power": 0.003, "goal_position": -0.3, "max_speed": 0.02},
    "Pendulum-v1": {"m": 2.0, "l": 1.5, "dt": 0.02, "max_speed": 1, "max_torque": 1.0},
    "Acrobot-v1": {
        "LINK_MASS_1": 2.0,
        "LINK_COM_POS_2": 0.25,
        "book_or_nips": "nips",
        "AVAIL_TORQUE": [-2.0, 0.5, 2.0],
    },
}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Suppress Gymnasium's warnings that some of the ids are out of date."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def actions_of(env: Any, random: np.random.Generator, count: int) -> list[Any]:
    """Return random actions; some continuous ones are held, some outside the bounds."""
    if isinstance(env.action_space, gymnasium.spaces.Discrete):
        # Repeated actions bring environments to more of their states than noise does.
        return np.repeat(
            random.integers(0, env.action_space.n, count), random.integers(1, 4)
        ).tolist()[:count]
    scale = 1.2 * float(env.action_space.high[0])
    noise = random.uniform(-scale, scale, (count, 1))
    held = (
        np.repeat(random.choice([-1.0, 1.0], (count // 20 + 1, 1)), 20, axis=0)[:count]
        * scale
        / 1.2
    )
    return list(np.where(random.random((count, 1)) < 0.5, noise, held).astype(np.float32))


def assert_close_states(env_id: str, ours: npt.NDArray[np.float64], theirs: list[float]) -> None:
    # Relative to the larger of the two numbers that a step adds; velocities pass through zero.
    scale = np.maximum(np.abs(theirs), 1e-3)
    assert (np.abs(ours - theirs) <= TOLERANCE.get(env_id, 1e-12) * scale).all(), (ours, theirs)


@pytest.mark.parametrize(("env_id", "arguments"), ARGUMENTS)
def test_synced_steps(env_id: str, arguments: dict[str, Any]) -> None:
    ours, theirs = make_pair(env_id, **arguments)
    random = np.random.default_rng(len(env_id))
    steps = 0
    for seed in range(1000):
        ours.reset(seed=seed)
        theirs.reset(seed=seed)
        for action in actions_of(theirs, random, 400):
            ours.unwrapped.state = np.array(theirs.unwrapped.state)  # its dtype matters
            observation, reward, *flags, info = ours.step(action)
            expected, their_reward, *their_flags, _ = theirs.step(action)
            steps += 1
            assert_close_states(env_id, ours.unwrapped.state, their_state(theirs))
            assert_same_observation(env_id, observation, expected)
            allowed = REWARD_TOLERANCE.get(env_id, 1e-12)
            same = reward == float(their_reward)  # `approx` takes longer than a step
            assert same or reward == pytest.approx(float(their_reward), rel=1e-12, abs=allowed)
            assert type(reward) is (np.float64 if type(their_reward) is np.float64 else float)
            assert flags == their_flags
            assert info == {}
            if any(flags):
                break
        if steps >= 700:
            break
    assert steps >= 700


@pytest.mark.parametrize(
    ("env_id", "arguments"), [one for one in ARGUMENTS if one[0] != "Acrobot-v1"]
)
def test_whole_episodes_without_syncing(env_id: str, arguments: dict[str, Any]) -> None:
    ours, theirs = make_pair(env_id, **arguments)
    random = np.random.default_rng(3)
    ended = {"terminated": 0, "truncated": 0}
    for seed in range(4):
        ours.reset(seed=seed)
        theirs.reset(seed=seed)
        for action in actions_of(theirs, random, 1000):
            observation, reward, *flags, _ = ours.step(action)
            expected, their_reward, *their_flags, _ = theirs.step(action)
            assert flags == their_flags
            same = reward == float(their_reward)
            assert same or reward == pytest.approx(float(their_reward), rel=1e-9, abs=1e-9)
            if observation.tobytes() != expected.tobytes():
                np.testing.assert_allclose(observation, expected, rtol=2e-6, atol=2e-6)
            if any(flags):
                break
        ended["terminated"] += flags[0]
        ended["truncated"] += flags[1]
    assert sum(ended.values()) == 4


def test_mountain_cars_that_reach_the_goal() -> None:
    # Push in the direction of motion: both then reach the goal in every episode.
    for env_id in ("MountainCar-v0", "MountainCarContinuous-v0"):
        ours, theirs = make_pair(env_id)
        for seed in range(8):
            first, _ = ours.reset(seed=seed)
            second, _ = theirs.reset(seed=seed)
            for _ in range(1000):
                push = 1.0 if second[1] >= 0 else -1.0
                action: Any = (
                    int(push) + 1 if env_id == "MountainCar-v0" else np.array([push], np.float32)
                )
                first, reward, *flags, _ = ours.step(action)
                second, their_reward, *their_flags, _ = theirs.step(action)
                np.testing.assert_array_equal(first, second)
                assert (reward, flags) == (pytest.approx(their_reward, rel=1e-15), their_flags)
                if any(flags):
                    break
            assert flags == [True, False]


def test_the_first_steps_of_acrobot_without_syncing() -> None:
    ours, theirs = make_pair("Acrobot-v1")
    random = np.random.default_rng(6)
    for seed in range(10):
        ours.reset(seed=seed)
        theirs.reset(seed=seed)
        for action in actions_of(theirs, random, 100):
            observation, reward, *flags, _ = ours.step(action)
            expected, their_reward, *their_flags, _ = theirs.step(action)
            assert (reward, flags) == (their_reward, their_flags)
            np.testing.assert_allclose(observation, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("arguments", [{}, {"sutton_barto_reward": True}])
def test_cartpole_after_its_end(arguments: Any) -> None:
    ours, theirs = make_pair("CartPole-v1", **arguments)
    rewards: list[list[float]] = [[], []]
    for env, kept in zip((ours, theirs), rewards, strict=True):
        env.reset(seed=1)
        kept.extend(float(env.step(1)[1]) for _ in range(20))
    assert rewards[0] == rewards[1]
    assert rewards[0][-1] == (-1.0 if arguments else 0.0)


@pytest.mark.parametrize("env_id", CHANGES)
def test_changed_attributes_take_effect(env_id: str) -> None:
    ours, theirs = make_pair(env_id)
    random = np.random.default_rng(2)
    for env in (ours, theirs):
        env.reset(seed=3)
        for name, value in CHANGES[env_id].items():
            setattr(env.unwrapped, name, value)
    for action in actions_of(theirs, random, 60):
        observation, reward, *flags, _ = ours.step(action)
        expected, their_reward, *their_flags, _ = theirs.step(action)
        np.testing.assert_allclose(observation, expected, rtol=1e-6, atol=1e-6)
        assert (reward, flags) == (pytest.approx(float(their_reward), rel=1e-9), their_flags)
        if any(flags):
            break
