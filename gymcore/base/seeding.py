"""NumPy random generators made from seeds, with the same streams on every machine."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from gymcore import error

if TYPE_CHECKING:
    from numpy.random.bit_generator import ISeedSequence

    RNG = np.random.Generator
    """The class of `env.np_random`."""

    RandomNumberGenerator = np.random.Generator
    """The same class under its older name."""


def __getattr__(name: str) -> type[np.random.Generator]:
    # Imported at first use: numpy.random takes a seventh of the time to import NumPy.
    if name in ("RNG", "RandomNumberGenerator"):
        return np.random.Generator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def checked_seed(seed: Any) -> int:
    """Return `seed` as a Python int; raise if it cannot seed a generator.

    Args:
        seed: A non-negative integer: `int`, a NumPy integer, or anything else with `__index__`.

    Returns:
        The same number as an `int`.

    Raises:
        ArgumentTypeError: If `seed` is not an integer.
        InvalidArgument: If `seed` is negative.

    Examples:
        >>> checked_seed(np.int64(3))
        3
    """
    try:
        value = operator.index(seed)
    except TypeError:
        raise error.ArgumentTypeError(
            f"Seed must be a python integer, actual type: {type(seed)}"
        ) from None
    if value < 0:
        raise error.InvalidArgument(f"Seed must be greater or equal to zero, actual value: {value}")
    return value


def np_random(seed: SupportsIndex | None = None) -> tuple[np.random.Generator, int]:
    """Make a generator from a seed, or from the operating system's entropy.

    Args:
        seed: A non-negative integer (anything with `__index__`), or None for a fresh 128-bit seed.

    Returns:
        `Generator(PCG64(SeedSequence(seed)))`, and the seed that was used as an `int`: pass it
        again to get the same stream.

    Raises:
        ArgumentTypeError: If `seed` is neither None nor an integer.
        InvalidArgument: If `seed` is negative.

    Examples:
        >>> generator, seed = np_random(7)
        >>> int(generator.integers(10)), seed
        (9, 7)
    """
    sequence = np.random.SeedSequence(None if seed is None else checked_seed(seed))
    generator = np.random.Generator(np.random.PCG64(sequence))
    assert isinstance(sequence.entropy, int)
    return generator, sequence.entropy


def bit_generator_of(state: Any) -> np.random.BitGenerator:
    """Return a bit generator with a state from an untrusted source.

    NumPy does not check positions and increments: with a bad state it would read outside of its
    memory or draw the same number forever.

    Raises:
        ValueError: If it is not the state of a bit generator or is an impossible state.

    Examples:
        >>> state = np.random.PCG64(1).state
        >>> state["state"]["inc"] = 0
        >>> bit_generator_of(state)
        Traceback (most recent call last):
        ValueError: expected a valid state of PCG64
    """
    try:
        name, numbers = state["bit_generator"], state["state"]
    except (KeyError, TypeError) as problem:
        raise ValueError(f"not the state of a bit generator ({problem!r})") from problem
    if name not in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"):
        raise ValueError(f"expected the state of a NumPy bit generator, got {name!r:.80}")
    try:
        generator: np.random.BitGenerator = getattr(np.random, name)()
        descriptor: Any = type(generator).state
        descriptor.__set__(generator, state)
        is_possible = (
            numbers["inc"] % 2 == 1
            if name.startswith("PCG64")
            else 0 <= numbers["pos"] <= 624
            if name == "MT19937"
            else name == "SFC64" or 0 <= state["buffer_pos"] <= 4
        )
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise ValueError(f"expected a valid state of {name} ({problem!r})") from problem
    if not is_possible:
        raise ValueError(f"expected a valid state of {name}")
    return generator


def set_seed_sequence(generator: np.random.Generator, sequence: ISeedSequence) -> None:
    """Set the seed sequence for `spawn`, of a generator whose stream is stored elsewhere."""
    generator.bit_generator.seed_seq = sequence  # type: ignore[misc]
