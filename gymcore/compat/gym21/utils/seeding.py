"""`gym.utils.seeding` of Gym 0.21: Mersenne Twister generators, seeded with a hash."""

from __future__ import annotations

import hashlib
import os

import numpy as np

from gymcore import error

__all__ = ["create_seed", "hash_seed", "np_random"]


def np_random(seed: int | None = None) -> tuple[np.random.RandomState, int]:
    """Return a generator that draws the same numbers as Gym 0.21's, and its seed.

    None draws the seed from the operating system. A seed that is negative or not an integer raises
    `Error`.

    Examples:
        >>> generator, seed = np_random(0)
        >>> generator.uniform(-0.05, 0.05, 4)  # CartPole's first state
        array([-0.04456399,  0.04653909,  0.01326909, -0.02099827])
    """
    if seed is not None and (not isinstance(seed, (int, np.integer)) or seed < 0):
        raise error.Error(f"Seed must be a non-negative integer or omitted, not {seed}")
    seed = create_seed(seed)
    hashed = hash_seed(seed)
    words = []
    while hashed:
        hashed, word = divmod(hashed, 2**32)
        words.append(word)
    return np.random.RandomState(words or [0]), seed


def hash_seed(seed: int | None = None, max_bytes: int = 8) -> int:
    """Return a hash of a seed (random if None), so that similar seeds give different generators."""
    seed = create_seed(max_bytes=max_bytes) if seed is None else seed
    return int.from_bytes(hashlib.sha512(str(seed).encode()).digest()[:max_bytes], "little")


def create_seed(a: int | None = None, max_bytes: int = 8) -> int:
    """Return `a` modulo `2**(8 * max_bytes)`, or a seed from the operating system if it is None."""
    if a is None:
        return int.from_bytes(os.urandom(max_bytes), "little")
    return int(a) % (1 << 8 * max_bytes)
