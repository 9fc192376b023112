"""The space of elements of any of several spaces."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex

import numpy as np

from gymcore import error
from gymcore.spaces.batching import (
    Allocate,
    batch_differing_others,
    batch_differing_spaces,
    create_empty_array,
    is_array_like,
)
from gymcore.spaces.composite import Composite, checked_spaces
from gymcore.spaces.dict import Dict
from gymcore.spaces.masks import check_parts, given_option
from gymcore.spaces.sequence import Sequence
from gymcore.spaces.space import SeedLike, Space, T_co
from gymcore.spaces.tuple import Tuple

__all__ = ["OneOf"]


def _is_columnar(space: Space) -> bool:
    """Return whether `to_jsonable` of one element returns anything but a list of length one."""
    if isinstance(space, Tuple):
        return len(space.spaces) != 1
    if isinstance(space, Sequence):
        return (
            space.stack
            and is_array_like(space.feature_space)
            and _is_columnar(space.stacked_feature_space)
        )
    return isinstance(space, Dict)


class OneOf(Composite[tuple[np.int64, T_co]]):
    """Pairs `(i, x)` where `x` is an element of the i-th subspace.

    Examples:
        >>> from gymcore.spaces import Box, Discrete
        >>> space = OneOf((Discrete(2), Box(-1, 1, shape=(2,))))
        >>> (0, 1) in space
        True
        >>> (1, np.zeros(2, dtype=np.float32)) in space
        True
    """

    spaces: tuple[Space, ...]

    def __init__(self, spaces: Iterable[Space], seed: SeedLike = None) -> None:
        """Create the space.

        Args:
            spaces: The subspaces, at least one.
            seed: Seed as accepted by `seed`, or a generator for the choice of the subspace.

        Raises:
            ArgumentTypeError: If `spaces` is not iterable, or an element of it is not a space.
            InvalidArgument: If `spaces` is empty.
        """
        if not isinstance(spaces, Iterable):
            raise error.ArgumentTypeError(f"{spaces} is not an iterable")
        self.spaces = checked_spaces(spaces)
        if not self.spaces:
            raise error.InvalidArgument("Empty `OneOf` spaces are not supported.")
        super().__init__(None, None, seed)

    def seed(self, seed: object = None) -> tuple[object, ...]:
        """Restart the random streams, and return their seeds; see `Space.seed`.

        Args:
            seed: The integer seed of the choice, from which one seed per subspace is drawn; a tuple
                or list with the seeds of the choice and of each subspace; or None for fresh
                entropy.

        Examples:
            >>> from gymcore.spaces import Discrete
            >>> OneOf((Discrete(2), Discrete(3))).seed(3)
            (3, 1742692731, 183930185)
        """
        own_seed, *seeds = self._split_seed(
            seed,
            len(self.spaces),
            "Expected None, int, or tuple of ints",
            "Expects that the subspaces of seeds equals the number of subspaces + 1. "
            f"Actual length of seeds: {{}}, length of subspaces: {len(self.spaces)}",
            with_own=True,
        )
        pairs = zip(self.spaces, seeds, strict=True)
        return (Space.seed(self, own_seed), *[space.seed(subseed) for space, subseed in pairs])

    def sample(
        self,
        mask: tuple[object, ...] | None = None,
        probability: tuple[object, ...] | None = None,
    ) -> tuple[np.int64, T_co]:
        """Draw a random subspace (all equally likely), and a random element of it.

        Args:
            mask: A tuple with the mask of each subspace; None for no mask. It restricts the
                element, not the choice of the subspace.
            probability: Probabilities in the same form. At most one of the two may be given.

        Returns:
            The index of the subspace, and an element of it.

        Raises:
            InvalidMask: If `mask` or `probability` is not a tuple with one entry per subspace, or
                the entry of the chosen subspace is invalid for it.
            InvalidArgument: If both are given.
        """
        name, option = given_option(mask, probability)
        if option is not None:
            check_parts(option, name, len(self.spaces), "is")
        chosen = self.np_random.integers(0, len(self.spaces), dtype=np.int64)
        options = {} if option is None else {name: option[chosen]}
        return chosen, self.spaces[chosen].sample(**options)

    def contains(self, x: object) -> bool:
        """Return whether `x` is the index of a subspace and an element of that subspace.

        Args:
            x: A tuple of an `int` or `np.int64` and an element.

        Returns:
            True if the index exists and the second entry belongs to that subspace.
        """
        if not isinstance(x, tuple) or len(x) != 2:
            return False
        chosen, value = x
        return (
            isinstance(chosen, (int, np.int64))
            and 0 <= int(chosen) < len(self.spaces)
            and value in self.spaces[chosen]
        )

    def to_jsonable(self, sample_n: Iterable[tuple[SupportsIndex, object]]) -> list[object]:
        """Convert pairs to lists; see `Space.to_jsonable`."""
        result: list[object] = []
        for chosen, value in sample_n:
            space = self.spaces[chosen]
            batch = space.to_jsonable([value])
            result.append([operator.index(chosen), batch if _is_columnar(space) else batch[0]])
        return result

    def from_jsonable(self, sample_n: Iterable[Any]) -> list[tuple[np.int64, T_co]]:
        """Convert the result of `to_jsonable` back to pairs; see `Space.from_jsonable`."""
        result: list[tuple[np.int64, T_co]] = []
        for chosen, value in sample_n:
            space = self.spaces[chosen]
            batch = value if _is_columnar(space) else [value]
            result.append((np.int64(chosen), space.from_jsonable(batch)[0]))
        return result

    def __repr__(self) -> str:
        return f"OneOf({', '.join(map(str, self.spaces))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OneOf) and self.spaces == other.spaces


@create_empty_array.register(OneOf)
def _create_empty_one_ofs(space: OneOf, n: int = 1, fn: Allocate = np.zeros) -> tuple[object, ...]:
    return tuple(() for _ in range(n))


batch_differing_spaces.register(OneOf, batch_differing_others)
