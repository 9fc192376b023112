"""Conversion between spaces and specifications of an `Environment`, including their values.

| space | specification |
|---|---|
| `Discrete` | an int with `num_values`; values start at 0 |
| `MultiBinary` | bools |
| `MultiDiscrete` | ints with `num_values`; if these differ, scalars `gymmdc0`, `gymmdc1`, ... |
| `Box` | floats, with bounds if these are all equal or all finite |
| `Text` | ints: the indices of the characters, padded with their number |
| `Tuple` | components `gymtpl0`, `gymtpl1`, ... |
| `Dict` | components by key |

All functions here accept one value, or a batch of values with an additional first axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gymcore.environment.value_specs import RESERVED, Kind, Spec, along, is_value
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Text, Tuple
from gymcore.spaces.text_numbers import numbers_of_texts, space_of_numbers
from gymcore.spaces.utils import unflatten

UNBOUNDED = 1e6
"""A bound of this magnitude or larger counts as no bound."""

Convert = Callable[..., Any]


class SpaceSpec(NamedTuple):
    """A space converted to a specification.

    Attributes:
        spec: The specification in full form.
        to_values: Function that converts an element of the space, or a batch, to values.
        from_values: Function that converts values to an element, or a batch.
    """

    spec: Spec
    to_values: Convert
    from_values: Convert


def unchanged(values: object) -> object:
    """Return values unchanged."""
    return values


def spec_of_space(space: Space, kind: Kind) -> SpaceSpec:
    """Return the specification of a space, and functions that convert its elements.

    Args:
        space: Space of observations or actions.
        kind: "states" or "actions".

    Raises:
        ArgumentTypeError: If the space is or contains one that has no specification.
        InvalidArgument: If bounds of actions are unequal and some are infinite.

    Examples:
        >>> from gymcore.spaces import Discrete
        >>> converted = spec_of_space(Discrete(3, start=1), "actions")
        >>> converted.spec, converted.from_values(0).item()
        ({'type': 'int', 'shape': (), 'num_actions': 3, 'num_values': 3}, 1)
    """
    for space_type, describe in DESCRIBED.items():
        if isinstance(space, space_type):
            return describe(space, kind)
    raise ArgumentTypeError(
        f"{kind}(): expected a space of {', '.join(t.__name__ for t in DESCRIBED)}, got {space}"
    )


def _of_discrete(space: Discrete, kind: Kind) -> SpaceSpec:
    return SpaceSpec(_integer_spec((), int(space.n), kind), *_shift_functions(space.start))


def _integer_spec(shape: tuple[int, ...], number: int, kind: Kind) -> Spec:
    return {"type": "int", "shape": shape, f"num_{kind}": number, "num_values": number}


def _shift_functions(start: npt.ArrayLike) -> tuple[Convert, Convert]:
    """Return functions that subtract and add the first value."""
    if not np.any(start):
        return unchanged, unchanged
    return lambda values: values - start, lambda values: values + start


def _of_multi_binary(space: MultiBinary, kind: Kind) -> SpaceSpec:
    return SpaceSpec(
        {"type": "bool", "shape": space.shape},
        lambda values: values.astype(np.bool_),
        lambda values: np.asarray(values).astype(space.dtype),
    )


def _of_multi_discrete(space: MultiDiscrete, kind: Kind) -> SpaceSpec:
    numbers = space.nvec
    shifted, unshifted = _shift_functions(space.start)
    if np.all(numbers == numbers.flat[0]):
        return SpaceSpec(_integer_spec(space.shape, int(numbers.flat[0]), kind), shifted, unshifted)
    indices = {
        f"gymmdc{'_'.join(map(str, index))}": (Ellipsis, *index)
        for index in np.ndindex(space.shape)
    }

    def to_values(values: np.ndarray) -> dict[str, object]:
        values = shifted(values)
        return {name: values[index] for name, index in indices.items()}

    def from_values(values: Mapping[str, object]) -> np.ndarray:
        parts = [np.asarray(values[name]) for name in indices]
        stacked = np.stack(parts, axis=-1).astype(space.dtype)
        values_of: np.ndarray = unshifted(stacked.reshape(stacked.shape[:-1] + space.shape))
        return values_of

    spec = {name: _integer_spec((), int(numbers[index]), kind) for name, index in indices.items()}
    return SpaceSpec(spec, to_values, from_values)


def _of_box(space: Box, kind: Kind) -> SpaceSpec:
    bounds = {"min_value": _bound(space.low, kind), "max_value": _bound(space.high, kind)}
    described = {name: bound for name, bound in bounds.items() if bound is not None}
    spec = {"type": "float", "shape": space.shape, **described}
    if space.dtype.kind == "f":
        return SpaceSpec(spec, unchanged, partial(np.asarray, dtype=space.dtype))
    return SpaceSpec(spec, unchanged, lambda values: np.rint(values).astype(space.dtype))


def _of_text(space: Text, kind: Kind) -> SpaceSpec:
    def from_values(values: npt.ArrayLike) -> object:
        rows = np.reshape(values, (-1, space.max_length))
        texts = tuple([unflatten(space, row) for row in rows])
        return texts if np.ndim(values) > 1 else texts[0]

    spec = spec_of_space(space_of_numbers(space), kind).spec
    return SpaceSpec(spec, partial(numbers_of_texts, space), from_values)


def _bound(bound: np.ndarray, kind: Kind) -> object:
    """Return a bound of a Box: a number if all are equal, None if there is none, or an array."""
    first = bound.flat[0]
    if np.all(bound == first):
        return float(first) if abs(float(first)) < UNBOUNDED else None
    bound = bound.astype(np.float64)
    bound[np.abs(bound) >= UNBOUNDED] *= np.inf
    if kind == "actions" and np.isinf(bound).any():
        raise InvalidArgument(
            f"actions(): expected bounds that are all finite or all infinite, got {bound}"
        )
    return bound


def _of_tuple(space: Tuple, kind: Kind) -> SpaceSpec:
    names = [f"gymtpl{k}" for k in range(len(space.spaces))]
    parts = _components(dict(zip(names, space.spaces, strict=True)), kind)

    def to_values(values: tuple[object, ...]) -> dict[str, object]:
        pairs = zip(parts.items(), values, strict=True)
        return {name: part.to_values(value) for (name, part), value in pairs}

    def from_values(values: Mapping[str, object]) -> tuple[object, ...]:
        return tuple(part.from_values(values[name]) for name, part in parts.items())

    return SpaceSpec({name: part.spec for name, part in parts.items()}, to_values, from_values)


def _of_dict(space: Dict, kind: Kind) -> SpaceSpec:
    names = _component_names(list(space.spaces))
    masks = [key for key in space.spaces if kind == "states" and key.endswith("_mask")]
    parts = _components(
        {names[key]: subspace for key, subspace in space.spaces.items() if key not in masks}, kind
    )

    def to_values(values: Mapping[str, object]) -> dict[str, object]:
        result = {
            names[key]: parts[names[key]].to_values(value)
            for key, value in values.items()
            if key not in masks
        }
        return {**result, **{key: np.asarray(values[key], np.bool_) for key in masks}}

    def from_values(values: Mapping[str, object]) -> dict[str, object]:
        return {key: parts[names[key]].from_values(values[names[key]]) for key in space.spaces}

    return SpaceSpec({name: part.spec for name, part in parts.items()}, to_values, from_values)


def _components(spaces: Mapping[str, Space], kind: Kind) -> dict[str, SpaceSpec]:
    if not spaces:
        raise InvalidArgument(f"{kind}(): expected a space with components, got an empty one")
    return {name: spec_of_space(space, kind) for name, space in spaces.items()}


def _component_names(keys: list[str]) -> dict[str, str]:
    """Return the component name of each key: the key, changed only if it is not allowed."""
    names: dict[str, str] = {}
    for key in keys:
        name = str(key).replace("/", "_") or "_"
        while name in RESERVED or name in names.values() or (name != key and name in keys):
            name += "_"
        names[key] = name
    return names


DESCRIBED: dict[type, Callable[..., SpaceSpec]] = {
    Discrete: _of_discrete,
    MultiBinary: _of_multi_binary,
    MultiDiscrete: _of_multi_discrete,
    Box: _of_box,
    Text: _of_text,
    Tuple: _of_tuple,
    Dict: _of_dict,
}


class SpecSpace(NamedTuple):
    """A specification converted to a space.

    Attributes:
        space: The space.
        to_element: Function that converts values of the specification to an element.
        from_element: Function that converts an element to values.
    """

    space: Space
    to_element: Convert
    from_element: Convert


def space_of_spec(spec: Spec) -> SpecSpace:
    """Return the space of a specification in full form, and functions that convert its values.

    Bools become a `MultiBinary`, with shape `(1,)` for a scalar; integers with a number of values
    become `Discrete` or `MultiDiscrete`; other numbers become a `Box` of int64 or float32.

    Examples:
        >>> space_of_spec({"x": {"type": "int", "shape": (2,), "num_values": 3}}).space
        Dict('x': MultiDiscrete([3 3]))
    """
    if not is_value(spec):
        parts = {name: space_of_spec(child) for name, child in spec.items()}
        return SpecSpace(
            Dict({name: part.space for name, part in parts.items()}),
            lambda values: {name: part.to_element(values[name]) for name, part in parts.items()},
            lambda values: {name: part.from_element(values[name]) for name, part in parts.items()},
        )
    shape = spec["shape"]
    if spec["type"] == "bool":
        binary = MultiBinary(shape or 1)
        return SpecSpace(
            binary,
            lambda value: np.asarray(value, binary.dtype).reshape(binary.shape),
            lambda value: np.asarray(value, np.bool_).reshape(shape)[()],
        )
    space: Space
    if "num_values" in spec:
        number = spec["num_values"]
        space = MultiDiscrete(np.full(shape, number)) if shape else Discrete(number)
    else:
        dtype: type[np.generic] = np.float32 if spec["type"] == "float" else np.int64
        ends = (-np.inf, np.inf) if dtype is np.float32 else (-(2**63), 2**63 - 1)
        low, high = (
            np.broadcast_to(along(spec.get(name, end), shape), shape).astype(dtype)
            for name, end in zip(("min_value", "max_value"), ends, strict=True)
        )
        space = Box(low, high, dtype=dtype)

    def converted(value: npt.ArrayLike) -> np.ndarray:
        return np.asarray(value, space.dtype)[() if isinstance(space, Discrete) else ...]

    return SpecSpace(space, converted, converted)
