"""Specifications of the states and actions of an `Environment`: type, shape and range of values.

A specification describes one value, such as `{"type": "float", "shape": (4,), "min_value": 0.0}`,
or is a dict of specifications, nested to any depth. A dict with a `type` or a `shape` describes
one value.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gymcore.error import ArgumentTypeError, InvalidArgument

Spec = dict[str, Any]
"""A specification of one value, or of several by name."""

Kind = Literal["states", "actions"]

COUNTS = ("num_values", "num_states", "num_actions")
"""Names for the number of an integer's values; all are accepted, with the same meaning."""

TYPES: dict[object, str] = {
    bool: "bool",
    int: "int",
    float: "float",
    np.bool_: "bool",
}
ENTRIES = {"type", "shape", "min_value", "max_value", *COUNTS}
RESERVED = {"bool", "int", "float", "parallel", "reward", "terminal", "horizons", *ENTRIES}
"""Names that components of a nested specification must not have."""

BOUND_DIFFERENCE = 1e-6
"""Smallest allowed difference between `min_value` and `max_value`."""


def is_value(spec: Mapping[str, object]) -> bool:
    """Return whether a specification describes one value, and is not a dict of specifications."""
    return "type" in spec or "shape" in spec


def checked_spec(spec: object, kind: Kind, name: str = "") -> Spec:
    """Return a specification in full form: types by name, shapes as tuples, both names of counts.

    Args:
        spec: Specification of one value, or a nested dict. `type` is "bool", "int" or "float", or
            the Python or NumPy type; states may omit it ("float"). `shape` is an integer or a
            sequence of integers; the default is a scalar. An integer may have `num_values`
            (`num_states` and `num_actions` are synonyms); numbers may have `min_value` and
            `max_value`, which are numbers or arrays for the first axes of the shape.
        kind: "states" or "actions".
        name: Name of the component, for messages.

    Raises:
        ArgumentTypeError: If something has the wrong type.
        InvalidArgument: If something is invalid; the message names the component.

    Examples:
        >>> checked_spec({"type": int, "num_values": 3}, "actions")
        {'type': 'int', 'shape': (), 'num_actions': 3, 'num_values': 3}
    """
    where = f"{kind}() of component {name!r}" if name else f"{kind}()"
    if not isinstance(spec, Mapping):
        raise ArgumentTypeError(f"{where}: expected a dict, got {spec!r} ({type(spec)})")
    if is_value(spec):
        return _checked_value(spec, kind, where)
    if not spec:
        raise InvalidArgument(f"{where}: expected a type, a shape or components, got an empty dict")
    result = {}
    for key, child in spec.items():
        if not isinstance(key, str):
            raise ArgumentTypeError(f"{where}: expected component names, got {key!r}")
        if not key or "/" in key or key in RESERVED:
            raise InvalidArgument(
                f"{where}: expected a component name without '/' and not in {sorted(RESERVED)}, "
                f"got {key!r}"
            )
        result[key] = checked_spec(child, kind, f"{name}/{key}" if name else key)
    return result


def _checked_value(spec: Mapping[str, Any], kind: Kind, where: str) -> Spec:
    """Return the full specification of one value."""
    unknown = sorted(set(spec) - ENTRIES)
    if unknown:
        raise InvalidArgument(f"{where}: expected entries from {sorted(ENTRIES)}, got {unknown}")
    if "type" not in spec and kind == "actions":
        raise InvalidArgument(f"{where}: expected a type ('bool', 'int' or 'float'), got {spec!r}")
    result: Spec = {
        "type": _type_name(spec.get("type", "float"), where),
        "shape": _checked_shape(spec.get("shape", ()), where),
    }
    counts = {spec[name] for name in COUNTS if spec.get(name) is not None}
    bounds = {name: spec[name] for name in ("min_value", "max_value") if spec.get(name) is not None}
    if counts:
        if result["type"] != "int":
            raise InvalidArgument(
                f"{where}: num_values: expected only with type 'int', got type {result['type']!r}"
            )
        if len(counts) > 1 or bounds:
            raise InvalidArgument(
                f"{where}: expected one number of values and no bounds, got {spec!r}"
            )
        (number,) = counts
        try:
            number = operator.index(number)
        except TypeError:
            raise ArgumentTypeError(
                f"{where}: num_values: expected an integer, got {number!r}"
            ) from None
        if number < 1:
            raise InvalidArgument(f"{where}: num_values: expected at least 1, got {number}")
        return {**result, f"num_{kind}": number, "num_values": number}
    if bounds and result["type"] == "bool":
        raise InvalidArgument(f"{where}: expected no bounds for type 'bool', got {spec!r}")
    for name, bound in bounds.items():
        result[name] = _checked_bound(bound, result["shape"], f"{where}: {name}")
    if len(bounds) == 2:
        shape = result["shape"]
        low, high = (along(result[name], shape) for name in ("min_value", "max_value"))
        if not np.all(low + BOUND_DIFFERENCE <= high):
            raise InvalidArgument(
                f"{where}: expected min_value below max_value, got {low} and {high}"
            )
    return result


def _type_name(value: Any, where: str) -> str:
    """Return "bool", "int" or "float" for a name, a Python type or a NumPy type."""
    if isinstance(value, str) and value in ("bool", "int", "float"):
        return value
    try:
        kind = (
            TYPES.get(value)
            or {"b": "bool", "i": "int", "u": "int", "f": "float"}[np.dtype(value).kind]
        )
    except (TypeError, KeyError):
        raise InvalidArgument(
            f"{where}: type: expected 'bool', 'int' or 'float', got {value!r}"
        ) from None
    return kind


def _checked_shape(shape: int | Iterable[int], where: str) -> tuple[int, ...]:
    try:
        axes = [shape] if isinstance(shape, (int, np.integer)) else list(shape)
        result = tuple(operator.index(axis) for axis in axes)
    except TypeError:
        raise ArgumentTypeError(f"{where}: shape: expected integers, got {shape!r}") from None
    if any(axis < 1 for axis in result):
        raise InvalidArgument(f"{where}: shape: expected axes of at least 1, got {shape!r}")
    return result


def _checked_bound(bound: npt.ArrayLike, shape: tuple[int, ...], where: str) -> float | np.ndarray:
    """Return a bound as a number or an array for the first axes of a shape."""
    array = np.asarray(bound)
    if array.dtype.kind not in "iuf":
        raise ArgumentTypeError(f"{where}: expected numbers, got {bound!r}")
    if array.shape != shape[: array.ndim]:
        raise InvalidArgument(
            f"{where}: expected a prefix of shape {shape}, got shape {array.shape}"
        )
    if np.isnan(array).any():
        raise InvalidArgument(f"{where}: expected numbers, got {bound!r}")
    return array if array.ndim else array.item()


def along(bound: npt.ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """Return a bound with missing axes added, so that it broadcasts to a shape."""
    array = np.asarray(bound)
    return array.reshape(array.shape + (1,) * (len(shape) - array.ndim))


def leaves(spec: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, Spec]]:
    """Yield the specifications of values with their paths: names joined by "/".

    The path of a specification of a single value is "".

    Examples:
        >>> [path for path, _ in leaves({"a": {"b": {"type": "int"}}, "c": {"type": "bool"}})]
        ['a/b', 'c']
    """
    if is_value(spec):
        yield name, dict(spec)
        return
    for key, child in spec.items():
        yield from leaves(child, f"{name}/{key}" if name else key)


def check_values(
    values: object, spec: Mapping[str, Any], kind: Kind, num: int | None = None, name: str = ""
) -> None:
    """Raise unless values have the types and shapes of a specification.

    Bounds are not checked. Integers are accepted as floats. States may contain entries whose
    names end in `_mask`; states of a single value are then called "state".

    Args:
        values: One value, or nested dicts of values.
        spec: Specification as returned by `checked_spec`.
        kind: "states" or "actions".
        num: Number of environments, if each value has an additional first axis for them.
        name: Name of the component, for messages.

    Raises:
        InvalidArgument: If values differ from the specification; the message names the component.
    """
    where = f"{kind} of {name!r}" if name else kind
    if is_value(spec):
        if not name and kind == "states" and isinstance(values, Mapping):
            values = values.get("state")
        array = np.asarray(values)
        shape = spec["shape"] if num is None else (num, *spec["shape"])
        if array.shape != shape:
            raise InvalidArgument(f"{where}: expected shape {shape}, got {array.shape}")
        if array.dtype.kind not in {"bool": "b", "int": "iu", "float": "fiu"}[spec["type"]]:
            raise InvalidArgument(
                f"{where}: expected values of type {spec['type']!r}, got {array.dtype}"
            )
        return
    if not isinstance(values, Mapping):
        raise InvalidArgument(f"{where}: expected a dict of {sorted(spec)}, got {type(values)}")
    masks = {key for key in values if kind == "states" and str(key).endswith("_mask")}
    if set(values) - (masks - set(spec)) != set(spec):
        raise InvalidArgument(f"{where}: expected {sorted(spec)}, got {sorted(map(str, values))}")
    for key, child in spec.items():
        check_values(values[key], child, kind, num, f"{name}/{key}" if name else key)
