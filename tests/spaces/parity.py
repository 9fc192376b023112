"""Comparison of the same expression on the spaces of gymcore and of Gymnasium."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import gymnasium.spaces.utils
import numpy as np

import gymcore.error
import gymcore.spaces
import gymcore.spaces.utils

OURS = gymcore.spaces
THEIRS = gymnasium.spaces

# Names of Gymnasium are mapped to gymcore's.
_RENAMED = ("gymnasium", "gymcore")


def assert_same(ours: Any, theirs: Any, path: str = "value") -> None:
    """Check that two values have equal types, dtypes, shapes and contents, through all levels."""
    if isinstance(theirs, THEIRS.Space):
        assert type(ours).__name__ == type(theirs).__name__, path
        assert repr(ours) == repr(theirs), path
        assert_same_space(ours, theirs, path)
    elif isinstance(theirs, THEIRS.GraphInstance):
        assert isinstance(ours, OURS.GraphInstance), path
        for name in ("nodes", "edges", "edge_links"):
            assert_same(getattr(ours, name), getattr(theirs, name), f"{path}.{name}")
    elif isinstance(theirs, np.ndarray):
        assert type(ours) is np.ndarray, path
        assert ours.dtype == theirs.dtype, path
        assert ours.shape == theirs.shape, path
        assert ours.tobytes() == theirs.tobytes() or np.array_equal(ours, theirs), (
            f"{path}: {ours} != {theirs}"
        )
    elif isinstance(theirs, Mapping):
        assert type(ours) is type(theirs), path
        assert list(ours) == list(theirs), path
        for key in theirs:
            assert_same(ours[key], theirs[key], f"{path}[{key!r}]")
    elif isinstance(theirs, (tuple, list)):
        assert type(ours) is type(theirs), path
        assert len(ours) == len(theirs), path
        for i, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(mine, other, f"{path}[{i}]")
    else:
        assert type(ours) is type(theirs), f"{path}: {type(ours)} is not {type(theirs)}"
        assert ours == theirs, f"{path}: {ours!r} != {theirs!r}"


def assert_same_space(ours: Any, theirs: Any, path: str = "space") -> None:
    """Check that two spaces have equal shapes, dtypes, bounds and subspaces."""
    assert ours.shape == theirs.shape, path
    assert ours.dtype == theirs.dtype, path
    for name in ("low", "high", "bounded_below", "bounded_above", "nvec", "start", "n"):
        if hasattr(theirs, name):
            assert_same(getattr(ours, name), getattr(theirs, name), f"{path}.{name}")
    for mine, other in zip(subspaces(ours), subspaces(theirs), strict=True):
        assert_same(mine, other, f"{path}.spaces")


def subspaces(space: Any) -> list[Any]:
    """Return the spaces directly below a space."""
    if hasattr(space, "spaces"):
        return list(space.spaces.values() if isinstance(space.spaces, dict) else space.spaces)
    named = [getattr(space, name, None) for name in ("node_space", "edge_space", "feature_space")]
    return [sub for sub in named if sub is not None]


def random_states(space: Any) -> list[Any]:
    """Return the states of the generators of a space and of all spaces below it."""
    generator = space._np_random
    states = [None if generator is None else generator.bit_generator.state]
    for sub in subspaces(space):
        states += random_states(sub)
    return states


class Outcome:
    """Effect of a call: its value or exception, and its warnings."""

    def __init__(self, function: Callable[[Any], Any], spaces: Any) -> None:
        self.value: Any = None
        self.error: Exception | None = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self.value = function(spaces)
            except Exception as exception:
                self.error = exception
        self.warnings = [(warning.category, str(warning.message)) for warning in caught]


def assert_same_outcome(function: Callable[[Any], Any], message: bool = True) -> None:
    """Call `function(gymcore.spaces)` and `function(gymnasium.spaces)`, and compare all effects.

    Args:
        function: Function of a module of spaces.
        message: Whether the texts of exceptions must be equal too.
    """
    ours, theirs = Outcome(function, OURS), Outcome(function, THEIRS)
    if theirs.error is None:
        if ours.error is not None:
            raise ours.error
        assert_same(ours.value, theirs.value)
    else:
        assert ours.error is not None, f"{theirs.error!r} was expected, got {ours.value!r}"
        kind = type(theirs.error)
        if kind.__module__.startswith("gymnasium"):
            kind = getattr(gymcore.error, kind.__name__)
        assert isinstance(ours.error, kind), f"{ours.error!r} is not a {kind}"
        if message:
            assert str(ours.error) == str(theirs.error).replace(*_RENAMED)
    assert ours.warnings == theirs.warnings


def assert_same_result(expression: str, message: bool = True) -> None:
    """Evaluate an expression over the names of both modules of spaces, and compare all effects.

    Args:
        expression: Python code; besides the spaces it may use np, inf, i8, f8 and GraphInstance.
        message: Whether the texts of exceptions must be equal too.
    """

    def evaluate(spaces: Any) -> Any:
        names = {**vars(spaces.utils), **vars(spaces), "np": np, "inf": np.inf, "i8": i8, "f8": f8}
        return eval(expression, names)

    assert_same_outcome(evaluate, message)


def i8(*values: int) -> Any:
    """Return a mask."""
    return np.array(values, dtype=np.int8)


def f8(*values: float) -> Any:
    """Return probabilities."""
    return np.array(values, dtype=np.float64)
