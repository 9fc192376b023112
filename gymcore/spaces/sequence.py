"""The space of sequences, of any length, of elements of one space."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.spaces.batching import (
    Allocate,
    batch_differing_others,
    batch_differing_spaces,
    batch_space,
    create_empty_array,
    is_array_like,
    stack,
    unstack,
    with_axes,
)
from gymcore.spaces.masks import given_option, pick, split_pair
from gymcore.spaces.space import SeedLike, Space

__all__ = ["Sequence"]


class Sequence(Space):
    """Sequences of any length, including empty ones, of elements of the feature space.

    An element is a tuple of elements of the feature space; with `stack=True` it is a batch of them:
    arrays whose first axis is the position in the sequence.

    Attributes:
        feature_space: Space of one element of a sequence.
        stacked_feature_space: With `stack=True`, the space of a batch of one.

    Examples:
        >>> from gymcore.spaces import Box, Discrete
        >>> (2, 0, 4) in Sequence(Discrete(5))
        True
        >>> space = Sequence(Box(0, 1), stack=True)
        >>> np.zeros((7, 1), dtype=np.float32) in space
        True
    """

    def __init__(self, space: Space, seed: SeedLike = None, stack: bool = False) -> None:
        """Create the space.

        Args:
            space: The feature space.
            seed: Seed as accepted by `seed`, or a generator for the lengths.
            stack: Whether sequences are batches instead of tuples.

        Raises:
            ArgumentTypeError: If `space` is not a space.
        """
        if not isinstance(space, Space):
            raise error.ArgumentTypeError(
                f"Expects the feature space to be instance of a gym Space, "
                f"actual type: {type(space)}"
            )
        self.feature_space = space
        self.stack = stack
        if self.stack:
            self.stacked_feature_space = batch_space(space, 1)
        super().__init__(None, None, seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Always False, because the length varies."""
        return False

    def seed(self, seed: object = None) -> tuple[object, object]:
        """Restart the random streams, and return their seeds; see `Space.seed`.

        Args:
            seed: The integer seed of the lengths, from which that of the feature space is drawn; a
                tuple or list of both; or None for fresh entropy.

        Examples:
            >>> from gymcore.spaces import Discrete
            >>> Sequence(Discrete(2)).seed(3)
            (3, 1742692731)
        """
        own_seed, feature = self._split_seed(
            seed,
            1,
            "Expected None, int, tuple of ints",
            "Expects the seed to have two elements for the Sequence and feature space, "
            "actual length: {}",
            with_own=True,
        )
        return super().seed(own_seed), self.feature_space.seed(feature)

    def sample(
        self,
        mask: tuple[object, object] | None = None,
        probability: tuple[object, object] | None = None,
    ) -> Any:
        """Draw a random sequence: first its length, then its elements.

        Args:
            mask: `(length, feature)`: the length (int), an int array of lengths to choose from, or
                None for a random length; and the mask of the feature space, or None.
            probability: `(length, feature)`, with probabilities for the feature space. At most one
                of the two may be given.

        Returns:
            A tuple of elements of the feature space, or with `stack=True` a batch of them.
            Random lengths are geometric with mean 4.

        Raises:
            InvalidMask: If `mask` or `probability` has the wrong form, a length is negative, or the
                second part is invalid for the feature space.
            ArgumentTypeError: If a length is neither an integer nor an array.
            InvalidArgument: If both are given.

        Examples:
            >>> from gymcore.spaces import Box
            >>> len(Sequence(Box(0, 1)).sample(mask=(3, None)))
            3
        """
        name, option = given_option(mask, probability)
        length, options = None, {}
        if option is not None:
            length, options[name] = split_pair(option, name, "Sequence", "length, feature")
        count = self.generate_sample_length(length, name)
        items = tuple([self.feature_space.sample(**options) for _ in range(count)])
        return stack(self.feature_space, items) if self.stack else items

    def generate_sample_length(
        self,
        length_mask: SupportsIndex | npt.NDArray[np.integer] | None,
        mask_type: str | None,
    ) -> int:
        """Draw the length of a sequence.

        Args:
            length_mask: The length, a 1-d int array of lengths to choose from, or None for a
                geometric length with mean 4.
            mask_type: "mask" or "probability", for error messages.

        Returns:
            The length.

        Raises:
            InvalidMask: If a length is negative, or the array has the wrong form.
            ArgumentTypeError: If `length_mask` is neither an integer nor an array.
        """
        if length_mask is None:
            return int(self.np_random.geometric(0.25))
        if isinstance(length_mask, (int, np.integer)) and not isinstance(length_mask, bool):
            if length_mask < 0:
                raise error.InvalidMask(
                    f"Expects the length mask of `{mask_type}` to be greater than or equal to "
                    f"zero, actual value: {length_mask}"
                )
            return int(length_mask)
        if not isinstance(length_mask, np.ndarray):
            raise error.ArgumentTypeError(
                f"Expects the type of length_mask of `{mask_type}` to be an integer or a "
                f"np.ndarray, actual type: {type(length_mask)}"
            )
        if length_mask.ndim != 1:
            raise error.InvalidMask(
                f"Expects the shape of the length mask of `{mask_type}` to be 1-dimensional, "
                f"actual shape: {length_mask.shape}"
            )
        if length_mask.dtype.kind not in "iu":
            raise error.InvalidMask(
                f"Expects the length mask array of `{mask_type}` to have dtype of np.integer, "
                f"actual type: {length_mask.dtype}"
            )
        if (length_mask < 0).any():
            raise error.InvalidMask(
                f"Expects all values in the length_mask of `{mask_type}` to be greater than or "
                f"equal to zero, actual values: {length_mask}"
            )
        if not len(length_mask):
            raise error.InvalidMask(
                f"Expects the length mask of `{mask_type}` to hold at least one length"
            )
        return int(pick(self.np_random, length_mask))

    def contains(self, x: object) -> bool:
        """Return whether `x` is a sequence of elements of the feature space.

        Args:
            x: A tuple; with `stack=True` a batch.

        Returns:
            True if `x` has this form and every entry belongs to the feature space.
        """
        if self.stack:
            x = unstack(self.stacked_feature_space, x)
            if x is None:
                return False
        elif not isinstance(x, tuple):
            return False
        return all(item in self.feature_space for item in x)

    def to_jsonable(self, sample_n: Iterable[Any]) -> Any:
        """Convert sequences to a form that `json` can write; see `Space.to_jsonable`."""
        if not self.stack:
            return [self.feature_space.to_jsonable(sample) for sample in sample_n]
        if is_array_like(self.feature_space):
            return self.stacked_feature_space.to_jsonable(sample_n)
        return [
            self.feature_space.to_jsonable(unstack(self.stacked_feature_space, sample) or [])
            for sample in sample_n
        ]

    def from_jsonable(self, sample_n: Any) -> list[Any]:
        """Convert the result of `to_jsonable` back to sequences; see `Space.from_jsonable`."""
        space = self.feature_space
        if not self.stack:
            return [tuple(space.from_jsonable(sample)) for sample in sample_n]
        if is_array_like(self.feature_space):
            batches = self.stacked_feature_space.from_jsonable(sample_n)
            return [with_axes(space, batch) for batch in batches]
        return [stack(space, space.from_jsonable(sample)) for sample in sample_n]

    def __repr__(self) -> str:
        return f"Sequence({self.feature_space}, stack={self.stack})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sequence)
            and self.feature_space == other.feature_space
            and self.stack == other.stack
        )


@create_empty_array.register(Sequence)
def _create_empty_sequences(
    space: Sequence, n: int = 1, fn: Allocate = np.zeros
) -> tuple[object, ...]:
    if space.stack:
        return tuple(create_empty_array(space.feature_space, 1, fn) for _ in range(n))
    return tuple(() for _ in range(n))


batch_differing_spaces.register(Sequence, batch_differing_others)
