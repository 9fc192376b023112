"""Values of MuJoCo quantities, computed with NumPy: the judge of compiled programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.envs.mujoco import quantities as q
from gymcore.envs.mujoco.quantities import Op, Precision
from gymcore.error import InvalidArgument

Values = np.ndarray


# NumPy's minimum and maximum may return either of two zeros; these return the second.
def _minimum(x: Values, y: Values) -> Values:
    return np.where((x < y) | np.isnan(x), x, y)


def _maximum(x: Values, y: Values) -> Values:
    return np.where((x > y) | np.isnan(x), x, y)


_FUNCTIONS: dict[int, Callable[..., Any]] = {
    Op.ADD: np.add,
    Op.SUBTRACT: np.subtract,
    Op.MULTIPLY: np.multiply,
    Op.DIVIDE: np.divide,
    Op.ABSOLUTE: np.abs,
    Op.ROOT: np.sqrt,
    Op.SINE: np.sin,
    Op.COSINE: np.cos,
    Op.SMALLER: _minimum,
    Op.LARGER: _maximum,
    Op.SELECT: lambda condition, x, y: np.where(condition != 0, x, y),
    Op.LESS: np.less,
    Op.LESS_EQUAL: np.less_equal,
    Op.FINITE: np.isfinite,
    Op.BOTH: np.logical_and,
    Op.EITHER: np.logical_or,
    Op.NEGATIVE: np.negative,
    Op.POWER: np.power,
}


class Evaluator:
    """Evaluates quantities for one model and its data, each once.

    Examples:
        >>> from gymcore.envs.mujoco.quantities import Constant, norm
        >>> Evaluator(None, None)(norm(Constant([3.0, 4.0])))
        array([5.])
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        parameters: Mapping[str, float] | None = None,
        action: npt.ArrayLike | None = None,
    ) -> None:
        """Store the simulation and what else quantities may depend on.

        Args:
            model: A `mujoco.MjModel`.
            data: Its `mujoco.MjData`.
            parameters: Values of the environment's parameters, by column.
            action: The action of the last step, if there was one.
        """
        self.model = model
        self.data = data
        self.parameters = parameters or {}
        self.action = None if action is None else np.asarray(action)
        self._values: dict[int, tuple[q.Quantity, Values]] = {}

    def __call__(self, quantity: q.Quantity) -> Values:
        """Return the value [size], float64; float32 if the quantity follows a float32 action.

        Raises:
            InvalidArgument: The quantity needs an action, the state before the step, or draws.
        """
        if id(quantity) not in self._values:
            # Kept with the quantity, so that its id stays unique.
            with np.errstate(all="ignore"):
                self._values[id(quantity)] = quantity, self._evaluate(quantity)
        return self._values[id(quantity)][1]

    def _evaluate(self, quantity: q.Quantity) -> Values:
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
        if isinstance(quantity, q.Action) and self.action is not None:
            dtype = np.float32 if self.action.dtype == np.float32 else np.float64
            return self.action.astype(dtype).ravel()
        if isinstance(quantity, q.WeightedRows):
            weights, rows = self(quantity.weights), self(quantity.rows).reshape(-1, quantity.size)
            return (weights.astype(np.float64)[:, None] * rows).sum(axis=0, initial=-0.0)
        if isinstance(quantity, q.Computed) and not isinstance(quantity, q.Draw):
            return self._compute(quantity)
        raise InvalidArgument(
            f"{type(quantity).__name__.lower()}: expected a quantity of the current simulation"
        )

    def _compute(self, quantity: q.Computed) -> Values:
        operands = [self(one) for one in quantity.operands]
        if quantity.precision is Precision.ACTION and self.action is not None:
            dtype = np.float32 if self.action.dtype == np.float32 else np.float64
            operands = [operand.astype(dtype) for operand in operands]
        # The initial value -0.0 keeps the sign of a sum of negative zeros.
        if quantity.code == Op.SUM:
            return operands[0].sum(initial=-0.0, keepdims=True)
        if quantity.code == Op.EVERY:
            return np.array([float((operands[0] != 0).all())])
        result = np.asarray(_FUNCTIONS[quantity.code](*operands))
        if result.dtype != np.float32:
            result = result.astype(np.float64)
        return np.broadcast_to(result, (quantity.size,))
