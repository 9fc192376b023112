"""Generators of spaces that are made when something is first drawn from them.

Most spaces are never sampled: an environment's observation spaces, the subspaces of a Dict, the
rows of a batch. A generator costs 10 us to make and 50 us to copy, so a space that is seeded, or
that gets the random state of another one, keeps a short recipe instead, and its `_np_random` is
made from the recipe when it is first asked for. The stream is the same as if it had been made at
once. A recipe is plain data, one of

    seed                    an int
    (seed, count)           the seed, and how many seeds of subspaces have been drawn since
    (state, origin)         the state of a PCG64 (a dict), and what makes its seed sequence
"""

from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from gymcore.utils import seeding
from gymcore_ext.spaces import subseeds

if TYPE_CHECKING:
    from gymcore.spaces.space import Space

# The attribute that holds the recipe while there is no `_np_random` in the space's `__dict__`.
_RECIPE = "_np_random_recipe"


class LaterGenerator:
    """Class attribute `_np_random`, looked up only where the space itself has none."""

    def __get__(self, space: Any, owner: type | None = None) -> Any:
        """Make the generator from the recipe; None without one."""
        if space is None:
            return self
        attributes = space.__dict__
        recipe = attributes.get(_RECIPE)
        if recipe is None:
            # None, unless another thread made the generator in the meantime.
            return attributes.setdefault("_np_random", None)
        # Also with several threads there is one generator, as if it had been there before.
        generator = attributes.setdefault("_np_random", _make(recipe))
        attributes.pop(_RECIPE, None)
        return generator


def seed_later(space: Space[Any], seed: int | None) -> int:
    """Seed a space, whose generator is made when it is needed.

    Args:
        space: The space; a generator that it has is dropped.
        seed: A checked seed, or None for fresh entropy.

    Returns:
        The seed in use: `seeding.np_random` makes the same generator from it.
    """
    used = int.from_bytes(os.urandom(16), "little") if seed is None else seed
    _set(space, used)
    return used


def seed_with_parts_later(space: Space[Any], seed: int, count: int) -> list[int]:
    """Seed a space, and draw the seeds of the spaces it holds, without its generator.

    Args:
        space: The space; a generator that it has is dropped.
        seed: A checked seed.
        count: How many seeds to draw.

    Returns:
        Ints in [0, 2**31 - 1), which the generator, when it is made, has behind it.
    """
    _set(space, (seed, count))
    return subseeds(seed, count)


def copy_generator(source: Space[Any], target: Space[Any]) -> None:
    """Give `target` what `deepcopy(source.np_random)` would be, made when it is needed.

    Args:
        source: A space. One that was never seeded is now, so that both have the same stream.
        target: The space that gets the copy.
    """
    recipe: Any
    attributes = source.__dict__
    if "_np_random" not in attributes and _RECIPE in attributes:
        recipe = attributes[_RECIPE]
    elif attributes.get("_np_random") is None:
        recipe = seed_later(source, None)
    else:
        recipe = _recipe_of(attributes["_np_random"])
        if recipe is None:
            target._np_random = copy.deepcopy(attributes["_np_random"])
            return
    _set(target, recipe)


def _set(space: Space[Any], recipe: Any) -> None:
    attributes = space.__dict__
    attributes[_RECIPE] = recipe
    attributes.pop("_np_random", None)


def _recipe_of(generator: Any) -> Any:
    """Return the recipe for a copy of a generator, or None if it is not one of the usual kind."""
    random = np.random
    bits = generator.bit_generator
    if type(bits) is not random.PCG64 or type(generator) is not random.Generator:
        return None
    seeds = bits.seed_seq
    if type(seeds) is not random.SeedSequence or type(seeds.entropy) is not int:
        return None
    origin = (seeds.entropy, seeds.spawn_key, seeds.pool_size, seeds.n_children_spawned)
    return bits.state, origin


def _make(recipe: Any) -> np.random.Generator:
    if isinstance(recipe, int):
        return seeding.np_random(recipe)[0]
    if isinstance(recipe[0], int):
        seed, count = recipe
        generator = seeding.np_random(seed)[0]
        generator.integers(2**31 - 1, size=count)
        return generator
    state, (entropy, spawn_key, pool_size, n_children_spawned) = recipe
    seeds = np.random.SeedSequence(
        entropy,
        spawn_key=spawn_key,
        pool_size=pool_size,
        n_children_spawned=n_children_spawned,
    )
    bits = np.random.PCG64(seeds)
    bits.state = state
    return np.random.Generator(bits)
