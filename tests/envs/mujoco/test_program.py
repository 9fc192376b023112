"""Compiled programs compute the same as NumPy, for any expression; `Evaluator` is the oracle."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymcore import error

pytest.importorskip("mujoco", reason="mujoco is not installed")

from gymcore.envs.mujoco import quantities as q
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.weights import Range, Weight
from tests.oracles.quantities import Evaluator

MODEL = "inverted_double_pendulum.xml"
NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e300, float("inf"), float("-inf"), float("nan"))
OPERATORS = ("+", "-", "*", "/", "<", "<=", ">", ">=", "&", "|")


class Judge(Evaluator):
    """Oracle that evaluates everything that programs compute, in the plainest way."""

    def __init__(
        self, env: Any, action: Any = None, before: Evaluator | None = None, generator: Any = None
    ) -> None:
        columns = {"gain": 1.5, "span_low": -0.5, "span_high": float("inf")}
        super().__init__(env.model, env.data, columns, action)
        self.before = before
        self.generator = generator

    def _evaluate(self, quantity: q.Quantity) -> Any:
        if isinstance(quantity, q.Before) and self.before is not None:
            return self.before(quantity.quantity)
        if isinstance(quantity, q.Draw) and self.generator is not None:
            return self._draw(quantity)
        return super()._evaluate(quantity)

    def _draw(self, draw: q.Draw) -> Any:
        while True:
            if draw.code == q.Op.NORMAL:
                numbers = self.generator.standard_normal(draw.size)
            else:
                low, width = (self(one) for one in draw.operands)
                numbers = low + width * self.generator.random(draw.size)
            trial = copy.copy(self)
            trial._values = {**self._values, id(draw): (draw, numbers)}
            if draw.condition is None or trial(draw.condition)[0]:
                return numbers


class Described(CompiledMujocoEnv):
    """An environment whose description is passed by a test."""

    gain = Weight()
    span = Range()

    def __init__(self, describe: Any) -> None:
        self._given = describe
        super().__init__(MODEL, 2, gain=1.5, span=(-0.5, float("inf")))

    def describe(self, simulation: Simulation) -> Description:
        return self._given(simulation)


@st.composite
def expressions(draw: st.DrawFn, s: Simulation, size: int, depth: int = 4, after: bool = False):
    """Draw a quantity of a given length, with operations nested up to the given depth."""
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(leaves(s, size, after))
    kind = draw(st.sampled_from(["binary", "unary", "clip", "where", "reduce", "slice", "rows"]))
    parts = lambda count, of=size: [  # noqa: E731
        draw(expressions(s, draw(st.sampled_from([of, 1])), depth - 1, after)) for _ in range(count)
    ]
    if kind == "binary":
        x, y = parts(2)
        symbol = draw(st.sampled_from([*OPERATORS, "min", "max"]))
        found = combine(symbol, x, y)
    elif kind == "unary":
        function = st.sampled_from([abs, q.square, q.root, q.sin, q.cos, q.finite, invert, negate])
        found = draw(function)(parts(1)[0])
    elif kind == "clip":
        found = q.clip(*parts(3))
    elif kind == "where":
        found = q.where(*parts(3))
    elif kind == "reduce":
        length = draw(st.sampled_from([1, 2, 7, 8, 9, 17, 40, 128, 130]))
        whole = draw(expressions(s, length, depth - 1, after))
        found = draw(st.sampled_from([q.total, q.every, q.norm]))(whole)
    elif kind == "slice":
        step = draw(st.integers(1, 3))
        offset = draw(st.integers(0, 3))
        whole = draw(expressions(s, offset + step * size, depth - 1, after))
        return whole[offset::step][:size]
    else:
        weights = draw(expressions(s, draw(st.integers(1, 4)), depth - 1, after))
        return q.weighted_rows(weights, draw(expressions(s, weights.size * size, depth - 1, after)))
    return found if found.size == size else q.joined(*[found] * size)


def combine(symbol: str, x: q.Quantity, y: q.Quantity) -> q.Quantity:
    if symbol in ("min", "max"):
        return {"min": q.minimum, "max": q.maximum}[symbol](x, y)
    return eval(f"x {symbol} y", {}, {"x": x, "y": y})


def invert(x: q.Quantity) -> q.Quantity:
    return ~x


def negate(x: q.Quantity) -> q.Quantity:
    return -x


@st.composite
def leaves(draw: st.DrawFn, s: Simulation, size: int, after: bool) -> q.Quantity:
    """Draw a quantity of a given length that depends on no other."""
    number = st.one_of(st.sampled_from(NUMBERS), st.floats(-100, 100))
    constant = st.lists(number, min_size=size, max_size=size).map(q.Constant)
    if size == 0:
        return draw(constant)
    sources = [s.qpos, s.qvel, s.data.xpos, s.model.body_mass, s.data.qfrc_bias, s.data.ctrl]
    sources += [s.parameter("gain"), *s.bounds("span")]
    if after:
        sources += [s.action(), q.before(s.qvel), q.before(q.square(s.qpos) + 1.0)]
    source = draw(st.one_of(constant, st.sampled_from(sources)))
    while source.size < size:
        source = q.joined(source, draw(st.sampled_from(sources)))
    return source[:size]


class Holder:
    """One simulation, for which Hypothesis writes expressions."""

    env = Described(
        lambda s: Description(observation=[s.qpos], reward=0.0, qpos=s.init_qpos, qvel=s.init_qvel)
    )
    simulation = env.simulation()


def same(compiled: Any, judged: Any) -> None:
    """Check for the same bits, or the same kind of NaN or infinity."""
    compiled, judged = np.atleast_1d(compiled), np.atleast_1d(judged).astype(np.float64)
    missing = np.isnan(judged)
    np.testing.assert_array_equal(np.isnan(compiled), missing)
    np.testing.assert_array_equal(
        compiled[~missing].view(np.int64), judged[~missing].view(np.int64)
    )


@settings(max_examples=16, deadline=None)
@given(data=st.data(), size=st.integers(1, 5), dtype=st.sampled_from([np.float32, np.float64]))
def test_any_expression_is_computed_as_numpy_does(data, size, dtype):
    """In observations, rewards, infos, ends and starts; with earlier values, and the action."""
    s = Holder.simulation
    seen = data.draw(expressions(s, size))
    told = data.draw(expressions(s, size, after=True))
    shift = data.draw(st.lists(st.floats(-0.5, 0.5), min_size=3, max_size=3))
    description = Description(
        observation=[seen, s.qpos, seen[:1]],
        reward=q.total(told),
        terminated=q.every(told),
        infos={"told": told, "seen": seen},
        reset_infos={"seen": seen},
        qpos=s.init_qpos + q.Constant(shift),
        qvel=s.init_qvel + q.Constant(shift) * s.parameter("gain"),
    )
    env = Described(lambda simulation: description)

    observation, info = env.reset(seed=1)
    judge = Judge(env)
    same(observation, judge(q.joined(seen, s.qpos, seen[:1])))
    same(info["seen"], judge(seen))
    np.testing.assert_array_equal(env.data.qvel, np.array(shift) * 1.5)

    earlier = Judge(env)
    earlier.data = copy.copy(env.data)
    action = np.array([0.3], dtype)
    observation, reward, terminated, _, info = env.step(action)
    judge = Judge(env, action, earlier)
    same(observation, judge(q.joined(seen, s.qpos, seen[:1])))
    same(info["told"], judge(told))
    same(info["seen"], judge(seen))
    same(reward, judge(q.total(told))[0])
    assert terminated == bool(judge(q.every(told))[0])


@pytest.mark.parametrize("size", [1, 3, 7, 8, 9, 15, 16, 84, 127, 128, 129, 136, 500, 2000])
def test_sums_are_added_up_in_numpys_order(size):
    numbers = np.random.default_rng(size).normal(size=2 * size) * 10.0 ** np.arange(-5, 5)[0]
    described = Description(
        observation=[q.total(q.Constant(numbers[:size])), q.total(q.Constant(numbers)[::2])],
        reward=0.0,
        qpos=np.zeros(3),
        qvel=np.zeros(3),
    )
    observation, _ = Described(lambda s: described).reset(seed=0)
    assert observation.tolist() == [numbers[:size].sum(), numbers[::2].sum()]


def test_rows_may_be_those_of_a_slice():
    numbers = np.arange(30.0)
    rows = q.weighted_rows(q.Constant([1.0, 10.0, 100.0]), q.Constant(numbers)[1:27:3])
    weights = q.weighted_rows(q.Constant(numbers)[::10], q.Constant(numbers[:6]))
    described = Description(
        observation=[rows, weights], reward=0.0, qpos=np.zeros(3), qvel=np.zeros(3)
    )
    observation, _ = Described(lambda s: described).reset(seed=0)
    expected = [1.0, 10.0, 100.0] @ numbers[1:27:3].reshape(3, 3)
    assert observation.tolist() == [*expected, *(numbers[::10] @ numbers[:6].reshape(3, 2))]


def test_draws_are_numpys_in_the_order_in_which_they_are_named():
    first = q.uniform([-1.0, 2.0], [1.0, 5.0], 2)
    second = q.standard_normal(3).until(lambda drawn: q.norm(drawn) < 1.0)
    noise = q.uniform(-0.1, 0.1, 3)
    described = Description(
        observation=[0.0],
        reward=0.0,
        draws=[second],
        qpos=q.joined(first * 0.01, 0.0),
        qvel=second * 0.1 + noise + second,
    )
    env = Described(lambda s: described)
    env.reset(seed=4)
    judge = Judge(env, generator=np.random.default_rng(4))
    for quantity in (second, described.qpos, described.qvel):
        expected = judge(q.as_quantity(quantity))
    np.testing.assert_array_equal(env.data.qvel, expected)
    np.testing.assert_array_equal(env.data.qpos, judge(q.as_quantity(described.qpos)))
    assert np.linalg.norm(judge(second)) < 1.0
    assert env.np_random.random() == judge.generator.random()


def test_values_that_a_simulation_does_not_have():
    s = Holder.simulation
    for name, quantity in (
        ("action", s.action()),
        ("before", q.before(s.qpos)),
        ("draws", q.standard_normal(1)),
    ):
        with pytest.raises(error.InvalidArgument, match=rf"{name}.*: ha(s|ve) .*value.? only"):
            Holder.env.value_of(quantity)
    with pytest.raises(error.InvalidArgument, match="action: expected a quantity of length 2"):
        Holder.env.value_of(s.action(1), np.zeros(2))


@settings(max_examples=16, deadline=None)
@given(data=st.data(), size=st.integers(1, 5), dtype=st.sampled_from([np.float32, np.float64]))
def test_any_expression_has_the_value_that_numpy_computes(data, size, dtype):
    env, action = Holder.env, np.array([0.3], dtype)
    env.reset(seed=1)
    quantity = data.draw(expressions(Holder.simulation, size))
    same(env.value_of(quantity, action), Judge(env, action)(quantity))
    cost = q.total(q.square(Holder.simulation.action()) * 0.1)
    same(env.value_of(cost, action), Judge(env, action)(cost))
