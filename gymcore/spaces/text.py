"""The space of strings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.spaces.masks import (
    check_binary,
    check_dtype,
    check_probabilities,
    given_option,
    normalized,
)
from gymcore.spaces.space import Array, Space

__all__ = ["Text", "alphanumeric"]

alphanumeric: frozenset[str] = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
)

Masks = tuple["int | None", "Array | None"]


class Text(Space[str]):
    """Strings with a range of lengths over a set of characters.

    Examples:
        >>> space = Text(5, min_length=2, charset="01")
        >>> space
        Text(2, 5, charset=01)
        >>> "0110" in space, "2" in space
        (True, False)
    """

    def __init__(
        self,
        max_length: int,
        *,
        min_length: int = 1,
        charset: Iterable[str] = alphanumeric,
        seed: SupportsIndex | np.random.Generator | None = None,
    ) -> None:
        """Create the space.

        Args:
            max_length: Maximum length of a string.
            min_length: Minimum length of a string, 0 or more.
            charset: The characters. A set is sorted; a string, list or tuple keeps its order,
                without duplicates.
            seed: Seed or generator for `sample`.

        Raises:
            ArgumentTypeError: If a length is not an integer or `charset` has non-string elements.
            InvalidArgument: If `min_length` is negative or above `max_length`, or an element of
                `charset` is not one character.
        """
        self.min_length = _as_length("min_length", min_length)
        self.max_length = _as_length("max_length", max_length)
        if self.min_length < 0:
            raise error.InvalidArgument(
                f"Minimum text length must be non-negative, actual value: {min_length}"
            )
        if self.min_length > self.max_length:
            raise error.InvalidArgument(
                "The min_length must be less than or equal to the max_length, "
                f"min_length: {min_length}, max_length: {max_length}"
            )
        characters = tuple(dict.fromkeys(charset))
        if not all(isinstance(char, str) for char in characters):
            raise error.ArgumentTypeError(
                f"Expects all charset elements to be strings, actual elements: {characters}"
            )
        if any(len(char) != 1 for char in characters):
            raise error.InvalidArgument(
                "Expects all charset elements to be a single character, "
                f"actual invalid elements: {[char for char in characters if len(char) != 1]}"
            )
        if isinstance(charset, (set, frozenset)):
            characters = tuple(sorted(characters))
        self._char_set = frozenset(characters)
        self._char_list = characters
        self._char_index = {char: np.int32(i) for i, char in enumerate(characters)}
        self._char_str = "".join(sorted(characters))
        super().__init__(None, np.str_, seed)

    @property
    def character_set(self) -> frozenset[str]:
        """Set of the characters."""
        return self._char_set

    @property
    def character_list(self) -> tuple[str, ...]:
        """The characters in the order of their indices."""
        return self._char_list

    @property
    def characters(self) -> str:
        """The sorted characters as one string."""
        return self._char_str

    def character_index(self, char: str) -> np.int32:
        """Return the index of a character in `character_list`.

        Args:
            char: A character of the space.

        Returns:
            The index.

        Raises:
            KeyError: If the space does not have the character.
        """
        return self._char_index[char]

    @property
    def is_np_flattenable(self) -> bool:
        """Always True."""
        return True

    def sample(
        self,
        mask: tuple[int | None, npt.NDArray[np.int8] | None] | None = None,
        probability: tuple[int | None, npt.NDArray[np.float64] | None] | None = None,
    ) -> str:
        """Draw a random string: first its length, then its characters.

        Args:
            mask: `(length, characters)`: the length of the string, or None for a random length; and
                an int8 array with one entry per character, 1 where it may be drawn and 0 elsewhere,
                or None for all characters.
            probability: `(length, characters)`, with a floating array of the probabilities of the
                characters, which sum to 1. At most one of the two may be given.

        Returns:
            A string of the space; all lengths and (allowed) characters are equally likely. The
            empty string if no character is allowed.

        Raises:
            InvalidMask: If `mask` or `probability` has the wrong form or values, or no character is
                allowed and the empty string does not belong to the space.
            InvalidArgument: If both are given.

        Examples:
            >>> Text(4, charset="ab").sample(mask=(3, np.array([0, 1], dtype=np.int8)))
            'bbb'
        """
        name, option = given_option(mask, probability)
        dtype = np.int8 if name == "mask" else np.float64
        length, weights = (None, None) if option is None else self._checked(option, name, dtype)
        are_probabilities = probability is not None and weights is not None
        if weights is None:
            weights = np.ones(len(self._char_list))
        is_empty = not weights.any()
        if is_empty and self.min_length > 0:
            raise error.InvalidMask(
                f"Trying to sample with a minimum length > 0 (actual minimum length="
                f"{self.min_length}) but the character mask is all zero meaning that no "
                f"character could be sampled."
            )
        if length is None:
            length = int(self.np_random.integers(self.min_length, self.max_length + 1))
        if is_empty:
            return ""
        weights = normalized(weights) if are_probabilities else weights / weights.sum()
        indices = self.np_random.choice(len(weights), size=length, p=weights)
        return "".join([self._char_list[i] for i in indices.tolist()])

    def _checked(self, mask: object, name: str, dtype: type[np.generic]) -> Masks:
        """Check a mask (or probabilities), and return its two parts."""
        if not isinstance(mask, tuple):
            raise error.InvalidMask(
                f"Expects the `{name}` type to be a tuple, actual type: {type(mask)}"
            )
        if len(mask) != 2:
            raise error.InvalidMask(
                f"Expects the `{name}` length to be two, actual length: {len(mask)}"
            )
        length, weights = mask
        if length is not None:
            if not isinstance(length, (int, np.integer)) or isinstance(length, bool):
                raise error.InvalidMask(
                    f"Expects the Text sample length to be an integer, actual type: {type(length)}"
                )
            if not self.min_length <= length <= self.max_length:
                raise error.InvalidMask(
                    f"Expects the Text sample length be between {self.min_length} and "
                    f"{self.max_length}, actual length: {length}"
                )
            length = int(length)
        if weights is not None:
            self._check_weights(weights, name, dtype)
        return length, weights

    def _check_weights(self, weights: object, name: str, dtype: type[np.generic]) -> None:
        """Raise unless the second part of a mask is an array with one entry per character."""
        if not isinstance(weights, np.ndarray):
            raise error.InvalidMask(
                f"Expects the Text sample `{name}` to be an np.ndarray, "
                f"actual type: {type(weights)}"
            )
        check_dtype(weights, dtype, f"Expects the Text sample `{name}` to be type {dtype}")
        if weights.shape != (len(self._char_list),):
            raise error.InvalidMask(
                f"expects the Text sample `{name}` to be {(len(self._char_list),)}, "
                f"actual shape: {weights.shape}"
            )
        if dtype is np.int8:
            check_binary(weights, "Expects all mask values to 0 or 1")
        else:
            check_probabilities(
                weights,
                "Expects all probability mask values to be within 0 and 1",
                "Expects the sum of the probability mask to be 1",
            )

    def contains(self, x: object) -> bool:
        """Return whether `x` is a string of an allowed length and of characters of the space.

        Args:
            x: Anything; only a `str` can be an element.

        Returns:
            True if the length is in range and all characters belong to the space.
        """
        return (
            isinstance(x, str)
            and self.min_length <= len(x) <= self.max_length
            and self._char_set.issuperset(x)
        )

    def __repr__(self) -> str:
        return f"Text({self.min_length}, {self.max_length}, charset={self.characters})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Text)
            and self.min_length == other.min_length
            and self.max_length == other.max_length
            and self._char_set == other._char_set
        )


def _as_length(name: str, value: object) -> int:
    """Return a length as an int; raise if it is not an integer."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise error.ArgumentTypeError(
            f"Expects the {name} to be an integer, actual type: {type(value)}"
        )
    return int(value)
