"""The proof: original and converted class, run side by side."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gymcore.core import Env
from gymcore.error import ConversionError
from gymcore.jit.conversion.layouts import leaves
from gymcore.spaces.space import Space

__all__ = ["prove"]

_LARGE = 20  # numbers that a message does not list

AnyEnv = Env[object, object]
Result = tuple[Any, ...]


def prove(
    original: AnyEnv,
    converted: AnyEnv,
    *,
    seeds: range,
    steps: int,
    policy: Callable[[object], object] | None,
    tolerance: float,
    reseeds: bool,
) -> None:
    """Run both environments; raise `ConversionError` at the first difference.

    Args:
        original: The original environment.
        converted: The converted one.
        seeds: Seeds of the runs. Each has `steps` steps, in as many episodes as that takes.
        steps: Number of steps for each seed.
        policy: Function from an observation to an action; None for random actions.
        tolerance: Largest difference of floats, relative to the larger value or 1.
        reseeds: Whether every `reset` gets a seed, because the original may make a generator in it.
    """
    action_space, title = original.action_space, type(converted).__name__
    action_space.seed(seeds.start)
    for seed in seeds:
        ended, next_seed = True, [seed]
        for step in range(steps):
            place = f"{title} differs from the original: seed {seed}, step {step}"
            if ended:
                given = next_seed.pop() if next_seed else seed + 1000 * step if reseeds else None
                wanted = _result(f"{place}: the original", original.reset, seed=given)
                got = _result(f"{place}: it", converted.reset, seed=given)
                ended = False
            else:
                action = action_space.sample() if policy is None else policy(wanted[0])
                wanted = _result(f"{place}: the original", original.step, action)
                got = _result(f"{place}: it", converted.step, action)
                ended = bool(wanted[2] or wanted[3])
            leaves = dict(_leaves(converted.observation_space, got))
            for field, expected in _leaves(converted.observation_space, wanted):
                actual = leaves.get(field)
                if not _is_near(expected, actual, tolerance):
                    raise ConversionError(
                        f"{place}, {_difference(field, expected, actual, tolerance)}"
                    )
        # An environment in an attribute may have the generator that is drawn from.
        if all(_stream(env) != _stream(converted) for env in (original, *vars(original).values())):
            raise ConversionError(f"{place}: the number of random draws")


def _stream(env: object) -> object:
    """Return the state of a generator, or of that of an environment; None if it has none."""
    rng = env if isinstance(env, np.random.Generator) else getattr(env, "np_random", None)
    return rng.bit_generator.state if isinstance(rng, np.random.Generator) else None


def _result(place: str, call: Callable[..., Result], *args: object, **kwargs: object) -> Result:
    try:
        return call(*args, **kwargs)
    except Exception as problem:
        raise ConversionError(f"{place} raises {problem!r}") from problem


def _leaves(space: Space, result: Result) -> Iterator[tuple[str, object]]:
    """Yield name and value of each part of the results of `reset` or `step`."""
    observation, *numbers, info = result
    for keys, leaf in leaves(space):  # in the dtype of its space
        part = functools.reduce(lambda value, key: value[key], keys, observation)
        name = "".join(["observation", *(f"[{key!r}]" for key in keys)])
        yield name, np.asarray(part).astype(leaf.dtype)
    yield from zip(("reward", "terminated", "truncated"), numbers, strict=False)
    for key, value in info.items():
        if value is not None:
            yield f"info[{key!r}]", value.value if isinstance(value, enum.Enum) else value


def _difference(field: str, expected: object, actual: object, tolerance: float) -> str:
    """Return the text for a difference; that of large arrays is that of an element."""
    a, b = np.asarray(expected), np.asarray(actual)
    if a.size > _LARGE and a.shape == b.shape:
        places = np.ndindex(a.shape)
        place = next(place for place in places if not _is_near(a[place], b[place], tolerance))
        field, expected, actual = f"{field}[{', '.join(map(str, place))}]", a[place], b[place]
    return f"{field}: expected {expected!r}, got {actual!r}"


def _is_near(expected: object, actual: object, tolerance: float) -> bool:
    a, b = np.asarray(expected), np.asarray(actual)
    b = b.reshape(a.shape) if a.size == b.size else b
    if a.dtype.kind in "USO" or a.shape != b.shape:
        return np.array_equal(a, b)
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore"):
        scale = np.maximum(np.maximum(np.abs(a), np.abs(b)), 1.0)
        near = (np.abs(a - b) <= tolerance * scale) | (a == b) | (np.isnan(a) & np.isnan(b))
    return bool(near.all())
