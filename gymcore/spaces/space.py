"""The base class of all spaces."""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, SupportsIndex, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
from typing_extensions import TypeVar

from gymcore import error
from gymcore.base import seeding

__all__ = ["Array", "DType", "Space"]

Array: TypeAlias = np.ndarray
DType: TypeAlias = "np.dtype"
PickledState: TypeAlias = Iterable[tuple[str, object]] | Mapping[str, object]

# An integer, a collection of seeds of subspaces, or a generator to draw from.
SeedLike: TypeAlias = (
    SupportsIndex | Sequence[object] | Mapping[str, object] | np.random.Generator | None
)

# With defaults, an annotation may omit the arguments, as in a plain `Box`.
T_co = TypeVar("T_co", covariant=True, default=Any)
ScalarT_co = TypeVar("ScalarT_co", bound=np.generic, covariant=True, default=Any)
IntegerT_co = TypeVar("IntegerT_co", bound="np.integer", covariant=True, default=Any)

# Doubles hold all integers up to this.
MAX_EXACT = 2**53

# Attributes in old pickles, and their present names with an underscore.
_LEGACY_NAMES = {"shape": "_shape", "np_random": "_np_random"}


class _LazyGenerator:
    """Class attribute `_np_random`, which is read only if the space itself has no generator.

    Most spaces are never sampled, such as observation spaces and the subspaces of a Dict. Creating
    a generator takes 10 us, so a seeded space stores only the seed until the first draw.
    """

    def __get__(self, space: object, owner: type | None = None) -> object:
        """Create the generator from the seed; return None for a space that was never seeded."""
        if space is None:
            return self
        attributes = space.__dict__
        seed = attributes.get("_pending_seed")
        generator = None if seed is None else seeding.np_random(seed)[0]
        # Only one generator is stored, even if several threads create one.
        generator = attributes.setdefault("_np_random", generator)
        attributes.pop("_pending_seed", None)
        return generator


class Space(Generic[T_co]):
    """The set of values that an observation or action may take.

    A space describes the form of its elements (`shape`, `dtype`), checks whether a value belongs to
    it (`contains`, or the `in` operator), and draws random elements (`sample`, reproducible after
    `seed`). For other sets, write a subclass that defines `sample`, `contains` and
    `is_np_flattenable`.

    Attributes:
        dtype: NumPy dtype of the elements, or None if an element is not one array.

    Examples:
        >>> class Even(Space):
        ...     is_np_flattenable = False
        ...     def sample(self, mask=None, probability=None):
        ...         return 2 * int(self.np_random.integers(5))
        ...     def contains(self, x):
        ...         return isinstance(x, int) and x % 2 == 0
        >>> space = Even(seed=1)
        >>> space.sample() in space, 3 in space
        (True, False)
    """

    _np_random: np.random.Generator | None
    if not TYPE_CHECKING:  # a type checker would infer the descriptor's type
        _np_random = _LazyGenerator()

    def __init__(
        self,
        shape: Sequence[int] | None = None,
        dtype: npt.DTypeLike | None = None,
        seed: SeedLike = None,
    ) -> None:
        """Store the properties that all elements share.

        Args:
            shape: Shape of the elements if they are arrays, otherwise None.
            dtype: Dtype of the elements if they are arrays, otherwise None.
            seed: Seed for `sample`, or a generator to draw from (stored, not copied). None uses
                entropy from the operating system at the first draw.

        Raises:
            ArgumentTypeError: If `seed` has a type that cannot seed this space.
            InvalidArgument: If `seed` is negative.
        """
        self._shape = None if shape is None else tuple(shape)
        self.dtype = None if dtype is None else np.dtype(dtype)
        self._np_random = None
        if isinstance(seed, np.random.Generator):
            self._np_random = seed
        elif seed is not None:
            self.seed(seed)

    @property
    def np_random(self) -> np.random.Generator:
        """The generator used by `sample`, created from fresh entropy when first needed."""
        if self._np_random is None:
            self._np_random = seeding.np_random()[0]
        return self._np_random

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Shape of the elements, or None if an element is not one array."""
        return self._shape

    @property
    def is_np_flattenable(self) -> bool:
        """Whether `gymcore.spaces.flatten` converts every element to a 1-d array of fixed size."""
        raise NotImplementedError(f"{type(self).__name__} does not define `is_np_flattenable`")

    def sample(self, mask: Any = None, probability: Any = None) -> T_co:
        """Draw a random element.

        Args:
            mask: The values that may be drawn; the form depends on the space.
            probability: Probabilities of the values; the form depends on the space. At most one of
                `mask` and `probability` may be given.

        Returns:
            A new element of the space.

        Raises:
            InvalidMask: If `mask` or `probability` is invalid for the space.
            InvalidArgument: If both are given.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define `sample`")

    def seed(self, seed: Any = None) -> Any:
        """Restart the random stream.

        Args:
            seed: A non-negative integer, or None for fresh entropy. Spaces with subspaces also
                accept one seed per subspace.

        Returns:
            The seed in use. Spaces with subspaces return one seed per subspace, in a form that
            `seed` accepts.

        Raises:
            ArgumentTypeError: If `seed` has the wrong type.
            InvalidArgument: If `seed` is negative.
        """
        if seed is None:
            seed = int.from_bytes(os.urandom(16), "little")
        self.__dict__["_pending_seed"] = seed = seeding.checked_seed(seed)
        self.__dict__.pop("_np_random", None)
        return seed

    def _draw_subseeds(self, seed: SupportsIndex, count: int) -> list[int]:
        """Seed the space itself, and draw one seed for each of `count` subspaces."""
        self._np_random = seeding.np_random(seed)[0]
        seeds: list[int] = self._np_random.integers(np.iinfo(np.int32).max, size=count).tolist()
        return seeds

    def _split_seed(
        self, seed: object, count: int, wrong_type: str, wrong_length: str, with_own: bool = False
    ) -> list[Any]:
        """Return the seeds of `count` subspaces, after that of the space itself if `with_own`.

        Args:
            seed: The given seed: an integer, a tuple or list of these seeds, or None.
            count: Number of subspaces.
            wrong_type: Error message for any other type.
            wrong_length: Error message, formatted with the length, for a wrong number of seeds.
            with_own: Whether the space itself has a seed. An integer `seed` is used for it.
        """
        if seed is None:
            return [None] * (count + with_own)
        if isinstance(seed, (tuple, list)):
            if len(seed) != count + with_own:
                raise error.InvalidArgument(wrong_length.format(len(seed)))
            check_seeds(seed)
            return list(seed)
        if not is_plain(seed):
            raise error.ArgumentTypeError(f"{wrong_type}, actual type: {type(seed)}")
        # The caller seeds again, so an integer and the seeds drawn from it give the same streams.
        return [seed] * with_own + self._draw_subseeds(seed, count)

    def _with_generator_of(self, source: Space) -> Self:
        """Continue with a copy of the random state of `source`; return this space."""
        attributes = source.__dict__
        if type(source).np_random is Space.np_random and attributes.get("_np_random") is None:
            seed = attributes.get("_pending_seed")
            Space.seed(self, Space.seed(source) if seed is None else seed)
        else:
            self._np_random = copy.deepcopy(source.np_random)
        return self

    def contains(self, x: object) -> bool:
        """Return whether `x` is an element of the space.

        Args:
            x: Anything.

        Returns:
            True if `x` belongs to the space.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define `contains`")

    def __contains__(self, x: object) -> bool:
        return self.contains(x)

    def to_jsonable(self, sample_n: Iterable[Any]) -> Any:
        """Convert a batch of elements to a form that the `json` module can write.

        Args:
            sample_n: Elements of the space.

        Returns:
            Lists, dicts, numbers and strings, which `from_jsonable` can read.
        """
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[Any]:
        """Convert the result of `to_jsonable` back to elements.

        Args:
            sample_n: The result of `to_jsonable`.

        Returns:
            One element per sample.
        """
        return sample_n

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes for `copy` and `pickle`, including the generator."""
        _ = self._np_random  # create it now, so that a shallow copy shares it
        return self.__dict__.copy()

    def __setstate__(self, state: PickledState) -> None:
        """Restore a pickled space, including older ones where `shape` was a plain attribute."""
        self.__dict__.update(
            (_LEGACY_NAMES.get(name, name), value) for name, value in dict(state).items()
        )


class ArraySpace(Space[T_co]):
    """A space whose elements are arrays (or scalars) of one shape and dtype."""

    dtype: DType
    _shape: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the elements."""
        return self._shape

    @property
    def is_np_flattenable(self) -> bool:
        """Always True."""
        return True

    def to_jsonable(self, sample_n: Iterable[Any]) -> list[Any]:
        """Convert arrays to nested lists; see `Space.to_jsonable`."""
        return [np.asarray(sample).tolist() for sample in sample_n]

    def from_jsonable(self, sample_n: Iterable[Any]) -> list[Any]:
        """Convert nested lists back to arrays; see `Space.from_jsonable`."""
        return [np.asarray(sample, dtype=self.dtype) for sample in sample_n]


def check_seeds(seeds: Iterable[object]) -> None:
    """Raise if a seed is invalid, before any subspace has been seeded.

    Tuples, lists and dicts are checked by the subspaces for which they are meant.
    """
    for seed in seeds:
        if seed is not None and not isinstance(seed, (tuple, list, dict)):
            seeding.checked_seed(seed)


def is_plain(seed: Any) -> TypeGuard[SupportsIndex]:
    """Return whether a seed is a single integer rather than a collection of seeds."""
    return hasattr(seed, "__index__") and np.ndim(seed) == 0


@functools.cache
def dtype_limits(dtype: DType) -> tuple[int, int] | tuple[float, float]:
    """Return the lowest and highest finite value of a dtype as Python numbers.

    Comparisons of Python numbers do not wrap around.
    """
    if dtype.kind == "f":
        floats = np.finfo(dtype)
        return float(floats.min), float(floats.max)
    if dtype.kind == "b":
        return 0, 1
    integers = np.iinfo(dtype)
    return int(integers.min), int(integers.max)
