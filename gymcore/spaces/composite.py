"""The common base of spaces that contain several subspaces."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from gymcore import error
from gymcore.base import program
from gymcore.spaces.masks import given_option
from gymcore.spaces.space import Space, T_co


class Composite(Space[T_co]):
    """A space with several subspaces; by default, an element has one part per subspace.

    Attributes:
        spaces: The subspaces, in a tuple or a dict.
    """

    spaces: tuple[Space, ...] | dict[str, Space]

    def _parts(self) -> Collection[Space]:
        """Return the subspaces, in the order of the space."""
        spaces = self.spaces
        return spaces.values() if isinstance(spaces, dict) else spaces

    def _items(self) -> Iterable[tuple[Any, Space]]:
        """Return the subspaces with their keys or indices."""
        spaces = self.spaces
        return spaces.items() if isinstance(spaces, dict) else enumerate(spaces)

    def _pack(self, parts: Iterable[object]) -> Any:
        """Return a dict or tuple, like an element, of one value per subspace."""
        spaces = self.spaces
        # Without `strict`, which takes as long as the rest of this function.
        return dict(zip(spaces, parts)) if isinstance(spaces, dict) else tuple(parts)  # noqa: B905

    def _unpack(self, x: Any) -> Collection[Any]:
        """Return the values in a dict or tuple, in the order of the subspaces."""
        spaces = self.spaces
        return [x[key] for key in spaces] if isinstance(spaces, dict) else x

    @property
    def is_np_flattenable(self) -> bool:
        """Whether all subspaces can be flattened to arrays."""
        return all(space.is_np_flattenable for space in self._parts())

    def sample(self, mask: Any = None, probability: Any = None) -> T_co:
        """Draw a random element of each subspace.

        Args:
            mask: Masks of the subspaces, None for no mask, in the form of an element.
            probability: Probabilities, in the same form. At most one of the two may be given.

        Returns:
            A new element, in the order of the space.

        Raises:
            InvalidMask: If `mask` or `probability` does not have one entry per subspace, or an
                entry is invalid for its subspace.
            InvalidArgument: If both are given.
        """
        if mask is None and probability is None:
            parts = [space.sample() for space in self._parts()]
        else:
            name, option = given_option(mask, probability)
            self._check_option(name, option)
            parts = [space.sample(**{name: option[key]}) for key, space in self._items()]
        element: T_co = self._pack(parts)
        return element

    def _check_option(self, name: str, option: object) -> None:
        """Raise if a mask, or probabilities, do not have one entry per subspace."""
        raise NotImplementedError

    def to_jsonable(self, sample_n: Iterable[Any]) -> object:
        """Convert elements to batches, one per subspace; see `Space.to_jsonable`."""
        samples = list(sample_n)
        columns = [
            space.to_jsonable([sample[key] for sample in samples]) for key, space in self._items()
        ]
        return self._pack(columns) if isinstance(self.spaces, dict) else columns

    def from_jsonable(self, sample_n: Any) -> list[Any]:
        """Convert the result of `to_jsonable` back to elements; see `Space.from_jsonable`."""
        columns = [space.from_jsonable(sample_n[key]) for key, space in self._items()]
        return [self._pack(row) for row in zip(*columns, strict=True)]

    def __getitem__(self, index: Any) -> Any:
        return self.spaces[index]

    def __len__(self) -> int:
        return len(self.spaces)


def checked_spaces(spaces: Iterable[Space]) -> tuple[Space, ...]:
    """Return the spaces as a tuple; raise if one of them is not a space."""
    result = tuple(spaces)
    for space in result:
        if not isinstance(space, Space):
            raise error.ArgumentTypeError(
                f"{space} does not inherit from `{program.package}.Space`. "
                f"Actual Type: {type(space)}"
                f"{error.bridge_hint(space)}"
            )
    return result
