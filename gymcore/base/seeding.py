"""Makes NumPy random generators from seeds, which are the same on every machine."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from gymcore import error

__all__ = ["RNG", "RandomNumberGenerator", "checked_seed", "np_random", "set_seed_sequence"]

if TYPE_CHECKING:
    from numpy.random.bit_generator import ISeedSequence

    RNG = RandomNumberGenerator = np.random.Generator


def __getattr__(name: str) -> Any:
    # At first use: importing numpy.random costs a seventh of importing NumPy.
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

    Example:
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

    Example:
        >>> generator, seed = np_random(7)
        >>> int(generator.integers(10)), seed
        (9, 7)
    """
    sequence = np.random.SeedSequence(None if seed is None else checked_seed(seed))
    generator = np.random.Generator(np.random.PCG64(sequence))
    assert isinstance(sequence.entropy, int)
    return generator, sequence.entropy


def set_seed_sequence(generator: np.random.Generator, sequence: ISeedSequence) -> None:
    """Set what `generator.spawn` derives from, for a generator over a stream stored elsewhere."""
    generator.bit_generator.seed_seq = sequence  # type: ignore[misc]
