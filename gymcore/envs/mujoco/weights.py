"""Parameters of described environments as attributes, which may differ between lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.native.parameters import Encode, Number, Parameter, Value, as_float, as_number


def as_weight(value: Number) -> tuple[float, ...]:
    """Return one number, which may be infinite."""
    number = as_float(value)
    if number != number:
        raise InvalidArgument(f"expected a number, got {value}")
    return (number,)


def as_range(value: Iterable[Number]) -> tuple[float, ...]:
    """Return a lower and an upper bound, which may be infinite."""
    try:
        low, high = value
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"expected two numbers (low, high), got {value!r}") from None
    return (*as_weight(low), *as_weight(high))


def as_scale(value: Number) -> tuple[float, ...]:
    """Return one finite number of at least 0."""
    (number,) = as_number(value)
    if number < 0.0:
        raise InvalidArgument(f"expected a number of at least 0, got {number}")
    return (number,)


def to_columns(parameter: Parameter, value: object) -> dict[str, float]:
    """Return the columns of a parameter for a value."""
    return dict(zip(parameter.columns, parameter.encoded(value), strict=True))


class Weight(Parameter[Value]):
    """A parameter of a described environment, which may differ between lanes.

    A class declares it as a class attribute, its constructor passes the value on, and `describe`
    reads it with `simulation.parameter(name)`. A subclass that assigns a value to the class
    attribute makes the parameter a constant of the description, which is no longer an argument.

    As in Gymnasium, the attribute is also available under its name with an underscore.
    """

    def __init__(
        self,
        *columns: str,
        encode: Encode = as_weight,
        decode: Callable[[Sequence[float]], Value] | None = None,
    ) -> None:
        """Name the columns of the batch, if they differ from the attribute's name."""
        super().__init__(*columns, encode=encode, decode=decode)

    def __get__(self, env: Any, owner: type) -> Any:
        """Return the lane's value; of the class, the declaration."""
        return self if env is None else super().__get__(env, owner)


class Range(Weight[tuple[float, ...]]):
    """A pair of bounds, with the parameters `<name>_low` and `<name>_high`."""

    def __init__(self) -> None:
        super().__init__(encode=as_range, decode=tuple)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.columns = (f"{name}_low", f"{name}_high")


class Scale(Weight):
    """A number of at least 0 that scales random numbers."""

    def __init__(self) -> None:
        super().__init__(encode=as_scale)


class Switch(Weight[bool]):
    """A flag, which is 1.0 or 0.0 in a description."""

    def __init__(self) -> None:
        super().__init__(encode=lambda value: (float(bool(value)),), decode=lambda c: bool(c[0]))


class Bonus(Weight):
    """A weight whose attribute reads as the reward for the lane's current state, as in Gymnasium.

    The reward is the quantity `survival(simulation)` of the environment. The attribute with an
    underscore is the weight itself.
    """

    def __get__(self, env: Any, owner: type) -> Any:
        """Return the reward for the current state; of the class, the declaration."""
        if not hasattr(env, "survival"):  # InvertedDoublePendulum rewards without this quantity
            return super().__get__(env, owner)
        if hasattr(env, "with_health"):
            return env.with_health(env.survival)
        return float(env.value_of(env.survival)[0])


class PrivateName:
    """The attribute of a weight under its name with an underscore."""

    def __init__(self, weight: Weight) -> None:
        self.weight = weight

    def __get__(self, env: Any, owner: type) -> Any:
        if env is None:
            return self
        if self.weight.name not in env.parameters:
            return getattr(env, self.weight.name)
        return Parameter.__get__(self.weight, env, owner)

    def __set__(self, env: Any, value: object) -> None:
        """Set the lane's value; before the batch is made, the default of the environment."""
        if self.weight.name not in env.parameters:
            raise AttributeError(
                f"{self.weight.name}: {type(env).__name__} fixes its value at "
                f"{getattr(env, self.weight.name)}"
            )
        if "_batch" in env.__dict__:
            self.weight.__set__(env, value)
        else:
            env._defaults = {**env._defaults, **to_columns(self.weight, value)}
