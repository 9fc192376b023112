"""Arrays of the space of a batch, written out when they are first asked for.

The space of a batch of n images has four arrays of bounds, each n images large, and most programs
never look at them: the batch is there for its shape and dtype. So it keeps one row of each and the
number n, and an array gets its own memory, as if it had always been there, when it is read.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from gymcore_ext.spaces import repeat

# The attribute that holds the rows of a space with arrays that are not written out.
_ROWS = "_rows"


class Rows:
    """One row of each array of a space, and how many rows the arrays have.

    Attributes:
        n: Number of rows.
        rows: By the name of an attribute of the space the row of its array.
        arrays: The arrays so far: shallow copies of a space share them.
    """

    __slots__ = ("arrays", "n", "rows")

    def __init__(self, n: int, rows: dict[str, npt.NDArray[Any]]) -> None:
        """Keep the rows, which nobody else may change."""
        self.n = n
        self.rows = rows
        self.arrays: dict[str, npt.NDArray[Any]] = {}

    def __reduce__(self) -> Any:
        """Pickle the rows; the arrays belong to the space."""
        return Rows, (self.n, self.rows)

    def __deepcopy__(self, memo: dict[int, Any]) -> Rows:
        """Share the rows."""
        return Rows(self.n, self.rows)

    def array(self, name: str) -> npt.NDArray[Any]:
        """Return the array of an attribute, always the same one."""
        array = self.arrays.get(name)
        if array is None:
            # One array for all threads.
            array = self.arrays.setdefault(name, repeat(self.rows[name], self.n))
        return array


class LaterArray:
    """Class attribute for an array of a space, looked up only where the space itself has none."""

    def __set_name__(self, owner: type, name: str) -> None:
        """Learn the name of the attribute."""
        self.name = name

    def __get__(self, space: Any, owner: type | None = None) -> Any:
        """Write the array out and leave it with the space."""
        if space is None:
            return self
        rows = space.__dict__.get(_ROWS)
        if rows is None:
            raise AttributeError(f"{type(space).__name__!r} object has no attribute {self.name!r}")
        return space.__dict__.setdefault(self.name, rows.array(self.name))
