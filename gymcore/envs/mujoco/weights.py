"""Numbers of described environments as attributes, which lanes of a batch may differ in."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.native.parameters import Parameter, as_number, first


def as_weight(value: Any) -> tuple[float, ...]:
    """One number, maybe infinite."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(f"expected a number, got {value!r} ({type(value)})") from None
    if math.isnan(number):
        raise InvalidArgument(f"expected a number, got {value}")
    return (number,)


def as_range(value: Any) -> tuple[float, ...]:
    """A lower and an upper bound, maybe infinite."""
    try:
        low, high = value
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"expected two numbers (low, high), got {value!r}") from None
    return (*as_weight(low), *as_weight(high))


def as_scale(value: Any) -> tuple[float, ...]:
    """One finite number of at least 0."""
    (number,) = as_number(value)
    if number < 0.0:
        raise InvalidArgument(f"expected a number of at least 0, got {number}")
    return (number,)


def as_switch(value: Any) -> tuple[float, ...]:
    """On or off."""
    return (float(bool(value)),)


class Weight(Parameter):
    """A number of a described environment, which lanes may differ in.

    A class declares it, its constructor passes the value on, and `describe` uses it as
    `simulation.parameter(name)`. A subclass that assigns a value to the name fixes it there: it is
    no argument any more, and a constant of the description.

    The attribute is also there under a name with an underscore before it, as in Gymnasium.
    """

    def __init__(
        self,
        *columns: str,
        encode: Callable[[Any], tuple[float, ...]] = as_weight,
        decode: Callable[[Sequence[float]], Any] = first,
    ) -> None:
        """Name the columns, if they are not called like the attribute."""
        super().__init__(*columns, encode=encode, decode=decode)

    def __get__(self, env: Any, owner: type[Any]) -> Any:
        """The lane's value; the declaration itself of a class."""
        return self if env is None else super().__get__(env, owner)

    def fixed(self, value: Any) -> dict[str, float]:
        """The columns of a value."""
        return dict(zip(self.columns, self.encoded(value), strict=True))


class Range(Weight):
    """A pair of bounds, whose parameters are called `<name>_low` and `<name>_high`."""

    def __init__(self) -> None:
        """Encode pairs."""
        super().__init__(encode=as_range, decode=tuple)

    def __set_name__(self, owner: type, name: str) -> None:
        """Learn the attribute's name."""
        self.name = name
        self.columns = (f"{name}_low", f"{name}_high")


class Scale(Weight):
    """A number of at least 0: how far draws go."""

    def __init__(self) -> None:
        """Encode numbers."""
        super().__init__(encode=as_scale)


class Switch(Weight):
    """True or False; in a description 1.0 or 0.0."""

    def __init__(self) -> None:
        """Encode truths."""
        super().__init__(encode=as_switch, decode=lambda columns: bool(columns[0]))


class Bonus(Weight):
    """A weight whose attribute reads as what the lane's state earns, as Gymnasium's property does.

    The weight itself is read under the name with an underscore. What is earned is the quantity of
    the environment's method `survival(simulation)`.
    """

    def __get__(self, env: Any, owner: type[Any]) -> Any:
        """What is paid now; the declaration itself of a class."""
        return self if env is None else float(env.value_of(env.survival)[0])


class PrivateName:
    """A weight under its name with an underscore."""

    def __init__(self, weight: Weight) -> None:
        """Keep the weight."""
        self.weight = weight

    def __get__(self, env: Any, owner: Any) -> Any:
        """The lane's value, or what a subclass has fixed."""
        if env is None:
            return self
        if self.weight.name not in owner.parameters:
            return getattr(env, self.weight.name)
        return Parameter.__get__(self.weight, env, owner)

    def __set__(self, env: Any, value: Any) -> None:
        """Write the lane's value."""
        if self.weight.name not in env.parameters:
            raise AttributeError(
                f"{self.weight.name}: {type(env).__name__} has it fixed at "
                f"{getattr(env, self.weight.name)}"
            )
        self.weight.__set__(env, value)
