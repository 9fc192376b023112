"""The space of tuples, one element of each of several spaces."""

from __future__ import annotations

import collections.abc
from collections.abc import Iterable
from typing import Any

import numpy as np

from gymcore import error
from gymcore.spaces.masks import reject_both
from gymcore.spaces.space import Space, T_co, check_seeds, is_plain

__all__ = ["Tuple"]


def checked_spaces(spaces: Iterable[Space[Any]]) -> tuple[Space[Any], ...]:
    """Return the spaces as a tuple, or raise if one of them is not a space."""
    result = tuple(spaces)
    for space in result:
        if not isinstance(space, Space):
            raise error.ArgumentTypeError(
                f"{space} does not inherit from `gymcore.Space`. Actual Type: {type(space)}"
                f"{error.bridge_hint(space)}"
            )
    return result


class Tuple(Space[tuple[T_co, ...]], collections.abc.Sequence[Any]):
    """Tuples whose i-th entry is an element of the i-th subspace.

    The space is itself a sequence of its subspaces: index, iterate, take its length.

    Attributes:
        spaces: The subspaces.

    Example:
        >>> from gymcore.spaces import Box, Discrete
        >>> space = Tuple((Discrete(2), Box(-1, 1, shape=(2,))))
        >>> (1, np.zeros(2, dtype=np.float32)) in space
        True
        >>> space[0]
        Discrete(2)
    """

    def __init__(
        self,
        spaces: Iterable[Space[Any]],
        seed: Any | None = None,
    ) -> None:
        """Make the space.

        Args:
            spaces: The subspaces.
            seed: A seed as `seed` takes it, or a generator (from which nothing is drawn: `sample`
                uses the generators of the subspaces).

        Raises:
            ArgumentTypeError: If an element of `spaces` is not a space.
        """
        self.spaces = checked_spaces(spaces)
        super().__init__(None, None, seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Whether all subspaces can be flattened to arrays."""
        return all(space.is_np_flattenable for space in self.spaces)

    def seed(self, seed: Any | None = None) -> tuple[Any, ...]:
        """Restart the random streams of the subspaces.

        Args:
            seed: An integer, from which one seed per subspace is drawn; or a tuple or list with the
                seed of each subspace; or None for fresh entropy.

        Returns:
            The seeds of the subspaces.

        Raises:
            ArgumentTypeError: If `seed` is none of these.
            InvalidArgument: If the number of seeds differs from that of subspaces, or a seed is
                negative.

        Example:
            >>> from gymcore.spaces import Discrete
            >>> Tuple((Discrete(2), Discrete(3))).seed(3)
            (1742692731, 183930185)
        """
        seeds: Iterable[Any]
        if seed is None:
            seeds = [None] * len(self.spaces)
        elif isinstance(seed, (tuple, list)):
            if len(seed) != len(self.spaces):
                raise error.InvalidArgument(
                    "Expects that the subspaces of seeds equals the number of subspaces. "
                    f"Actual length of seeds: {len(seed)}, length of subspaces: {len(self.spaces)}"
                )
            check_seeds(seed)
            seeds = seed
        elif is_plain(seed):
            seeds = self._draw_subseeds(seed, len(self.spaces))
        else:
            raise error.ArgumentTypeError(
                f"Expected seed type: list, tuple, int or None, actual type: {type(seed)}"
            )
        return tuple(space.seed(subseed) for space, subseed in zip(self.spaces, seeds, strict=True))

    def sample(
        self,
        mask: tuple[Any | None, ...] | None = None,
        probability: tuple[Any | None, ...] | None = None,
    ) -> tuple[T_co, ...]:
        """Draw a random element of each subspace.

        Args:
            mask: A tuple with the mask of each subspace, or None for it.
            probability: Likewise with probabilities. At most one of the two may be given.

        Returns:
            A new tuple.

        Raises:
            InvalidMask: If `mask` or `probability` is not a tuple with one entry per subspace, or
                an entry does not fit its subspace.
            InvalidArgument: If both are given.
        """
        if mask is not None:
            reject_both(mask, probability)
            self._check(mask, "mask")
            return tuple(
                space.sample(mask=part) for space, part in zip(self.spaces, mask, strict=True)
            )
        if probability is not None:
            self._check(probability, "probability")
            return tuple(
                space.sample(probability=part)
                for space, part in zip(self.spaces, probability, strict=True)
            )
        return tuple([space.sample() for space in self.spaces])

    def _check(self, mask: Any, name: str) -> None:
        """Raise if a mask is not a tuple with one entry per subspace."""
        if not isinstance(mask, tuple):
            raise error.InvalidMask(
                f"Expected type of `{name}` to be tuple, actual type: {type(mask)}"
            )
        if len(mask) != len(self.spaces):
            raise error.InvalidMask(
                f"Expected length of `{name}` to be {len(self.spaces)}, actual length: {len(mask)}"
            )

    def contains(self, x: Any) -> bool:
        """Tell whether `x` has one element of each subspace.

        Args:
            x: A tuple; a list or an array is read as one.

        Returns:
            True if the length is right and every entry belongs to its subspace.
        """
        if isinstance(x, list) or (isinstance(x, np.ndarray) and x.ndim):
            x = tuple(x)
        if not isinstance(x, tuple) or len(x) != len(self.spaces):
            return False
        return all(part in space for space, part in zip(self.spaces, x, strict=True))

    def to_jsonable(self, sample_n: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Turn tuples into lists, subspace by subspace; see `Space.to_jsonable`."""
        samples = list(sample_n)
        return [
            space.to_jsonable([sample[i] for sample in samples])
            for i, space in enumerate(self.spaces)
        ]

    def from_jsonable(self, sample_n: list[Any]) -> list[tuple[Any, ...]]:
        """Turn the result of `to_jsonable` back into tuples; see `Space.from_jsonable`."""
        columns = [space.from_jsonable(sample_n[i]) for i, space in enumerate(self.spaces)]
        return list(zip(*columns, strict=True))

    def __getitem__(self, index: Any) -> Any:
        """Return a subspace, or a tuple of them for a slice."""
        return self.spaces[index]

    def __len__(self) -> int:
        """Return the number of subspaces."""
        return len(self.spaces)

    def __repr__(self) -> str:
        """Show the subspaces."""
        return f"Tuple({', '.join(map(str, self.spaces))})"

    def __eq__(self, other: object, /) -> bool:
        """Tell whether `other` is a `Tuple` of equal subspaces."""
        return isinstance(other, Tuple) and self.spaces == other.spaces
