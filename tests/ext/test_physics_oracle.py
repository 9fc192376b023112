"""Single steps of the compiled physics, compared with an oracle of 50 digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

from tests.ext.lanes import KERNELS, facts, make_batch, random_actions, step_states
from tests.oracles.classic_control import ORACLES, single

Floats = npt.NDArray[np.float64]

TOLERANCE = 1e-12
# Acrobot's kernel computes cos(angle - pi/2) in doubles, as the reference does: rounding the
# difference costs up to 1e-16, which gravity turns into 1e-15.
FLOOR = {"acrobot": 2e-15}
TURN = math.pi


def scattered(random: np.random.Generator, n: int, size: int, exponents: tuple[int, int]) -> Floats:
    """Return numbers of all magnitudes and both signs."""
    magnitude = 10.0 ** random.uniform(*exponents, (n, size))
    return magnitude * random.choice([-1.0, 1.0], (n, size))


def within(*bounds: float) -> Callable[[np.random.Generator, int], Floats]:
    """Return a function that draws uniformly from +-bounds."""
    return lambda random, n: random.uniform(-1, 1, (n, len(bounds))) * np.array(bounds)


def on_the_track(random: np.random.Generator, n: int) -> Floats:
    """Return mountain car states, including lanes at the walls and at full speed."""
    states = random.uniform([-1.2, -0.07], [0.6, 0.07], (n, 2))
    states[::7, 0] = -1.2
    states[1::7, 0] = 0.6
    states[::5, 1] = -0.07
    states[1::5, 1] = 0.07
    return states


STATES: dict[str, dict[str, Callable[[np.random.Generator, int], Floats]]] = {
    "cartpole": {
        "of an episode": within(2.4, 3.0, 0.21, 3.0),
        "about the thresholds": lambda random, n: (
            within(2.4, 1.0, 0.2095, 1.0)(random, n)
            + scattered(random, n, 4, (-16, -1)) * random.integers(0, 2, (n, 4))
        ),
        "turning": within(10.0, 30.0, 50.0, 30.0),
        "of all magnitudes": lambda random, n: scattered(random, n, 4, (-12, 5)),
    },
    "mountain_car": {
        "of an episode": on_the_track,
        "outside the track": within(10.0, 1.0),
        "of all magnitudes": lambda random, n: scattered(random, n, 2, (-12, 1)),
    },
    "mountain_car_continuous": {
        "of an episode": lambda random, n: np.pad(
            on_the_track(random, n).astype(np.float32).astype(float), ((0, 0), (0, 1))
        ),
        "after reset": lambda random, n: np.column_stack(
            [random.uniform(-0.6, -0.4, n), np.zeros(n), np.ones(n)]
        ),
        "of all magnitudes": lambda random, n: np.pad(
            scattered(random, n, 2, (-12, 4)).astype(np.float32).astype(float), ((0, 0), (0, 1))
        ),
    },
    "pendulum": {
        "of an episode": within(20.0, 8.0),
        "about half turns": lambda random, n: (
            random.integers(-9, 10, (n, 2)) * [math.pi / 2, 0.5]
            + scattered(random, n, 2, (-17, -2))
        ),
        "of all magnitudes": lambda random, n: scattered(random, n, 2, (-12, 2)),
    },
    "acrobot": {
        "of an episode": within(TURN, TURN, 4.0, 9.0),
        "at full speed": within(TURN, TURN, 4 * TURN, 9 * TURN),
        "hanging": within(0.1, 0.1, 0.1, 0.1),
        "about the goal": lambda random, n: np.column_stack(
            [random.uniform(1.8, 4.4, n), random.uniform(-0.7, 0.7, n), within(0.5, 0.5)(random, n)]
        ),
        "of all magnitudes": lambda random, n: scattered(random, n, 4, (-12, 0)),
    },
}
REGIONS = [(name, region) for name in KERNELS for region in STATES[name]]


def seed_of(*words: str) -> int:
    """Return a seed that is the same in every run."""
    return sum(ord(letter) * 31**k for k, letter in enumerate(" ".join(words))) % 2**32


def random_parameters(name: str, random: np.random.Generator, n: int) -> Floats:
    """Return parameters [count, n] near their defaults; switches are on or off."""
    defaults = facts(name)["parameters"]
    table = np.array(list(defaults.values()))[:, None] * random.uniform(
        0.6, 1.6, (len(defaults), n)
    )
    for row, parameter in enumerate(defaults):
        if parameter in ("semi_implicit", "sutton_barto_reward", "nips"):
            table[row] = random.integers(0, 2, n)
        elif parameter in ("torque_middle", "goal_velocity"):
            table[row] = random.uniform(-0.05, 0.05, n)
    return table


def last_bits(oracle: Any, state: list[float], action: Any) -> Floats:
    """Return the largest effect of any last bit of the state on each result [state_size]."""
    with mpmath.workdps(50):
        outcomes = []
        for changed in range(-1, len(state)):
            numbers = [mpmath.mpf(x) for x in state]
            if changed >= 0:
                numbers[changed] += math.ulp(state[changed])
            outcomes.append(oracle.step(numbers, action, mpmath).state)
        return np.array(
            [
                [float(abs(x - y)) for x, y in zip(outcomes[0], other, strict=True)]
                for other in outcomes
            ]
        ).max(axis=0)


def check_steps(
    name: str, states: Floats, actions: npt.NDArray[Any], parameters: Floats | None = None
) -> None:
    """Compare a step of every lane with the oracle.

    Errors are relative to the larger of the new value and the old one, to which a step adds.
    """
    stepped = step_states(name, states, actions, parameters)
    names = facts(name)["parameters"]
    rounds = name == "mountain_car_continuous"  # in float32, after every operation
    for lane in range(len(states)):
        values = {} if parameters is None else parameters[:, lane % parameters.shape[1]].tolist()
        oracle = ORACLES[name](**dict(zip(names, values, strict=True)) if values else {})
        state = states[lane].tolist()
        action = actions[lane] if oracle.actions else float(actions[lane, 0])
        with mpmath.workdps(50):
            exact = state if rounds else [mpmath.mpf(number) for number in state]
            outcome = oracle.step(exact, action, math if rounds else mpmath)
            errors = np.abs(
                [
                    float(x - y)
                    for x, y in zip(stepped.states[lane].tolist(), outcome.state, strict=True)
                ]
            )
            reward = float(outcome.reward)
        new = np.abs(np.array(outcome.state, np.float64))
        allowed = TOLERANCE * np.maximum(new, np.abs(state)) + FLOOR.get(name, 0.0)
        if name == "acrobot" and (errors > allowed).any():
            # At full speed Acrobot multiplies rounding errors: allow those of a few operations.
            allowed += 8 * last_bits(oracle, state, action)
        assert (errors <= allowed).all(), (state, action, values, errors, allowed)
        assert stepped.rewards[lane] == pytest.approx(reward, rel=TOLERANCE, abs=TOLERANCE)
        assert stepped.terminated[lane] == outcome.terminated, (state, action, values)


@pytest.mark.parametrize(("name", "region"), REGIONS)
def test_steps(name: str, region: str) -> None:
    random = np.random.default_rng(seed_of(name, region))
    n = 100 if name == "acrobot" else 400
    check_steps(name, STATES[name][region](random, n), random_actions(name, random, n))


@pytest.mark.parametrize(("name", "region"), REGIONS)
def test_steps_with_parameters_of_their_own(name: str, region: str) -> None:
    random = np.random.default_rng(seed_of(region, name))
    n = 100 if name == "acrobot" else 250
    states, actions = STATES[name][region](random, n), random_actions(name, random, n)
    check_steps(name, states, actions, random_parameters(name, random, n))


@pytest.mark.parametrize("name", KERNELS)
def test_steps_with_other_shared_parameters(name: str) -> None:
    random = np.random.default_rng(seed_of(name))
    for region in STATES[name]:
        for _ in range(4):
            states, actions = STATES[name][region](random, 20), random_actions(name, random, 20)
            check_steps(name, states, actions, random_parameters(name, random, 1))


@pytest.mark.parametrize("name", KERNELS)
def test_defaults(name: str) -> None:
    oracle = ORACLES[name]()
    found = facts(name)
    assert found["parameters"] == vars(oracle)
    assert found["discrete_actions"] == oracle.actions
    assert tuple(found["reset_options"].values()) == oracle.start


@pytest.mark.parametrize(("name", "region"), REGIONS)
def test_observations(name: str, region: str) -> None:
    random = np.random.default_rng(seed_of(name, region, "observed"))
    states = STATES[name][region](random, 300)
    stepped = step_states(name, states, random_actions(name, random, 300))
    observed = stepped.observations
    oracle = ORACLES[name]()
    with mpmath.workdps(40):
        exact = [
            oracle.observe([mpmath.mpf(x) for x in state], mpmath)
            for state in stepped.states.tolist()
        ]
        expected = np.array([[single(x) for x in row] for row in exact], np.float32)
    if name in ("pendulum", "acrobot"):
        # Two roundings: a sine near the middle of two float32 may round to either of them.
        np.testing.assert_array_max_ulp(observed, expected, 1)
        assert (observed != expected).mean() < 1e-3
    else:
        np.testing.assert_array_equal(observed, expected)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("bounds", [None, (0.2, 0.3), (0.0, 0.0), (1e-9, 700.0)])
def test_resets_draw_in_the_order_of_the_oracle(
    name: str, bounds: tuple[float, float] | None
) -> None:
    batch = make_batch(name, 50)
    batch.seed(7, 0, 50)
    oracle = ORACLES[name]()
    generators = [np.random.default_rng(7 + lane) for lane in range(50)]
    for _ in range(3):
        batch.reset(options=bounds)
        expected = [oracle.reset(random, *(bounds or oracle.start)) for random in generators]
        assert batch.view_state().T.tolist() == expected


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, -1e20, 2.0**51, 5e-324])
def test_states_out_of_this_world_end_neither_in_a_trap_nor_in_a_hang(
    name: str, value: float
) -> None:
    size = len(facts(name)["state_names"])
    states = np.full((size + 1, size), 0.01)
    np.fill_diagonal(states, value)
    states[size] = value
    actions = random_actions(name, np.random.default_rng(0), size + 1)
    stepped = step_states(name, states, actions)
    if math.isnan(value) and name != "mountain_car_continuous":
        assert np.isnan(stepped.states[size]).any()
