"""The value of a quantity in a simulation as it stands: with NumPy, one at a time, slowly.

What compiled programs compute, computed again in the most obvious way: for methods and properties
of environments that look at a quantity, and to judge programs by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.envs.mujoco import quantities as q
from gymcore.error import InvalidArgument

Values = npt.NDArray[np.float64]


def _clip(x: Values, low: Values, high: Values) -> Values:
    return np.where(x < low, low, np.where(x > high, high, x))


def _select(condition: Values, x: Values, y: Values) -> Values:
    return np.where(condition != 0, x, y)


# NumPy's minimum and maximum may return either of two zeros; these return the second.
def _smaller(x: Values, y: Values) -> Values:
    return np.where((x < y) | np.isnan(x), x, y)


def _larger(x: Values, y: Values) -> Values:
    return np.where((x > y) | np.isnan(x), x, y)


_FUNCTIONS: dict[int, Callable[..., Any]] = {
    q.ADD: np.add,
    q.SUBTRACT: np.subtract,
    q.MULTIPLY: np.multiply,
    q.DIVIDE: np.divide,
    q.SQUARE: np.square,
    q.ABSOLUTE: np.abs,
    q.ROOT: np.sqrt,
    q.SINE: np.sin,
    q.COSINE: np.cos,
    q.SMALLER: _smaller,
    q.LARGER: _larger,
    q.CLIP: _clip,
    q.SELECT: _select,
    q.LESS: np.less,
    q.LESS_EQUAL: np.less_equal,
    q.FINITE: np.isfinite,
    q.BOTH: np.logical_and,
    q.EITHER: np.logical_or,
    q.NEGATE_TRUTH: np.logical_not,
    q.NEGATIVE: np.negative,
}


class Evaluator:
    """Evaluates quantities on one model and its data, each once.

    Example:
        >>> from gymcore.envs.mujoco.quantities import Constant, norm
        >>> Evaluator(None, None)(norm(Constant([3.0, 4.0])))
        array([5.])
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        parameters: Mapping[str, float] | None = None,
        *,
        action: npt.ArrayLike | None = None,
        before: Evaluator | None = None,
        generator: np.random.Generator | None = None,
    ) -> None:
        """Look at a simulation.

        Args:
            model: a `mujoco.MjModel`.
            data: its `mujoco.MjData`.
            parameters: values of the environment's parameters, by column.
            action: of the step that led here, if there was one.
            before: an evaluator on the data as it was before that step.
            generator: what draws are drawn from.
        """
        self.model = model
        self.data = data
        self.parameters = parameters or {}
        self.action = action
        self.before = before
        self.generator = generator
        self._known: dict[int, tuple[q.Quantity, Values]] = {}

    def __call__(self, quantity: q.Quantity) -> Values:
        """Return the quantity's numbers [size] float64.

        Raises:
            InvalidArgument: it needs an action, a state before, or draws, and there are none.
        """
        if id(quantity) not in self._known:
            # Noted with the quantity, whose id stays its own.
            with np.errstate(all="ignore"):
                self._known[id(quantity)] = quantity, self._find(quantity)
        return self._known[id(quantity)][1]

    def _find(self, quantity: q.Quantity) -> Values:
        if isinstance(quantity, q.Constant):
            return quantity.values
        if isinstance(quantity, q.Array):
            owner = self.data if quantity.owner == "data" else self.model
            return np.array(getattr(owner, quantity.name), np.float64).ravel()
        if isinstance(quantity, q.Parameter):
            return np.array([self.parameters[quantity.name]])
        if isinstance(quantity, q.Joined):
            return np.concatenate([self(part) for part in quantity.parts])
        if isinstance(quantity, q.Selection):
            indices = quantity.start + quantity.step * np.arange(quantity.size)
            return self(quantity.whole)[indices]
        if isinstance(quantity, q.Action):
            return np.array(self._needed("action", self.action), np.float64).ravel()
        if isinstance(quantity, q.Before):
            return self._needed("before", self.before)(quantity.quantity)
        if isinstance(quantity, q.Draw):
            return self._drawn(quantity)
        assert isinstance(quantity, q.Computed)
        return self._computed(quantity)

    @staticmethod
    def _needed(name: str, value: Any) -> Any:
        if value is None:
            raise InvalidArgument(f"{name}: expected by the quantity, got none")
        return value

    def _computed(self, quantity: q.Computed) -> Values:
        operands = [self(one) for one in quantity.operands]
        # Sums begin with their first term: of negative zeros they are one.
        if quantity.code == q.SUM:
            return np.array([operands[0].sum(initial=-0.0)])
        if quantity.code == q.EVERY:
            return np.array([float((operands[0] != 0).all())])
        if quantity.code == q.WEIGHTED_ROWS:
            weights, rows = operands
            return (weights[:, None] * rows.reshape(-1, quantity.width)).sum(axis=0, initial=-0.0)
        found = np.asarray(_FUNCTIONS[quantity.code](*operands), np.float64)
        return np.broadcast_to(found, (quantity.size,))

    def _drawn(self, draw: q.Draw) -> Values:
        generator: np.random.Generator = self._needed("generator", self.generator)
        while True:
            if draw.code == q.NORMAL:
                drawn = generator.standard_normal(draw.size)
            else:
                low, width = (self(one) for one in draw.operands)
                drawn = low + width * generator.random(draw.size)
            trial = Evaluator(self.model, self.data, self.parameters)
            trial._known = {**self._known, id(draw): (draw, drawn)}
            if draw.condition is None or trial(draw.condition)[0]:
                return drawn


__all__ = ["Evaluator"]
