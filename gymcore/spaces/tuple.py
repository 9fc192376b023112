"""The space of tuples with one element of each of several spaces."""

from __future__ import annotations

import collections.abc
from collections.abc import Iterable

import numpy as np

from gymcore.spaces.composite import Composite, checked_spaces
from gymcore.spaces.masks import check_parts
from gymcore.spaces.space import SeedLike, Space, T_co

__all__ = ["Tuple"]


class Tuple(Composite[tuple[T_co, ...]], collections.abc.Sequence[Space]):
    """Tuples whose i-th entry is an element of the i-th subspace.

    The space is itself a sequence of its subspaces, with indexing, iteration and `len`.

    Examples:
        >>> from gymcore.spaces import Box, Discrete
        >>> space = Tuple((Discrete(2), Box(-1, 1, shape=(2,))))
        >>> (1, np.zeros(2, dtype=np.float32)) in space
        True
        >>> space[0]
        Discrete(2)
    """

    spaces: tuple[Space, ...]

    def __init__(self, spaces: Iterable[Space], seed: SeedLike = None) -> None:
        """Create the space.

        Args:
            spaces: The subspaces.
            seed: Seed as accepted by `seed`, or a generator (which is not used: `sample` uses the
                generators of the subspaces).

        Raises:
            ArgumentTypeError: If an element of `spaces` is not a space.
        """
        self.spaces = checked_spaces(spaces)
        super().__init__(None, None, seed)

    def seed(self, seed: object = None) -> tuple[object, ...]:
        """Restart the random streams of the subspaces, and return their seeds; see `Space.seed`.

        Args:
            seed: An integer, from which one seed per subspace is drawn; a tuple or list with the
                seed of each subspace; or None for fresh entropy.

        Examples:
            >>> from gymcore.spaces import Discrete
            >>> Tuple((Discrete(2), Discrete(3))).seed(3)
            (1742692731, 183930185)
        """
        seeds = self._split_seed(
            seed,
            len(self.spaces),
            "Expected seed type: list, tuple, int or None",
            "Expects that the subspaces of seeds equals the number of subspaces. "
            f"Actual length of seeds: {{}}, length of subspaces: {len(self.spaces)}",
        )
        return tuple(space.seed(subseed) for space, subseed in zip(self.spaces, seeds, strict=True))

    def _check_option(self, name: str, option: object) -> None:
        check_parts(option, name, len(self.spaces), "to be")

    def contains(self, x: object) -> bool:
        """Return whether `x` has one element of each subspace.

        Args:
            x: A tuple; a list or an array is read as a tuple.

        Returns:
            True if the length is right and every entry belongs to its subspace.
        """
        if isinstance(x, list) or (isinstance(x, np.ndarray) and x.ndim):
            x = tuple(x)
        if not isinstance(x, tuple) or len(x) != len(self.spaces):
            return False
        return all(part in space for space, part in zip(self.spaces, x, strict=True))

    def __repr__(self) -> str:
        return f"Tuple({', '.join(map(str, self.spaces))})"

    def __eq__(self, other: object, /) -> bool:
        return isinstance(other, Tuple) and self.spaces == other.spaces
