"""Dicts of which some values are built when somebody looks at them.

Infos of a large batch say something at nearly every step, and a training loop reads little of it: a
step only notes what there would be to build.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, ValuesView
from typing import Any

__all__ = ["LATER", "LateDict"]


class _Later:
    """Stands for a value that is not built yet."""


LATER = _Later()


class LateDict(dict[str, Any]):
    """A dict whose values may be `LATER`: `_build_value` then builds them at first access.

    They stay the same objects from then on. Everything that reads values builds them first,
    `dict(infos)`, `{**infos}` and `f(**infos)` included; copies and pickles are plain dicts.

    Example:
        >>> class Squares(LateDict):
        ...     def _build_value(self, key: str) -> int:
        ...         return int(key) ** 2
        >>> squares = Squares({"3": LATER, "4": LATER, "unit": "m"})
        >>> squares["3"], len(squares), squares
        (9, 3, {'3': 9, '4': 16, 'unit': 'm'})
    """

    # There is no __init__, and nothing like __setitem__ and __delitem__: in Python they would cost
    # as much as all the rest.
    __slots__ = ()

    def _build_value(self, key: str) -> Any:
        """Return the value of a key that is `LATER`."""
        raise NotImplementedError

    def _build(self) -> LateDict:
        """Build what is not built yet."""
        for key in [key for key, value in dict.items(self) if value is LATER]:
            self[key]
        return self

    # --- reading one value ---------------------------------------------------------------------

    def __getitem__(self, key: str) -> Any:
        """Return a value."""
        value = dict.__getitem__(self, key)
        if value is LATER:
            value = self[key] = self._build_value(key)
        return value

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value, or the default."""
        try:
            return self[key]
        except KeyError:
            return default

    def pop(self, key: str, *default: Any) -> Any:
        """Remove a key and return its value, or the default."""
        self._build()
        return super().pop(key, *default)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return a value, after setting it to the default if it is missing."""
        super().setdefault(key, default)
        return self[key]

    # --- reading all of them -------------------------------------------------------------------

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys.

        Defining this keeps `dict()` and `**` from copying the entries behind our back: they ask for
        each value instead.
        """
        return super().__iter__()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        """The view of keys and values."""
        return dict.items(self._build())

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        """The view of values."""
        return dict.values(self._build())

    def popitem(self) -> tuple[str, Any]:
        """Remove the last key and return it with its value."""
        self._build()
        return super().popitem()

    def copy(self) -> dict[str, Any]:
        """A plain dict of the same values."""
        return dict(self)

    __copy__ = copy

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle as a plain dict."""
        return dict, (dict(self),)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """As `__reduce__`, for every protocol."""
        return self.__reduce__()

    def __or__(self, other: Any) -> Any:
        """A plain dict of both; the other one's values win."""
        return dict(self) | other

    def __ror__(self, other: Any) -> Any:
        """A plain dict of both; these values win."""
        return other | dict(self)

    def __eq__(self, other: object) -> bool:
        """Compare as a dict of its values."""
        return dict.__eq__(self._build(), other._build() if isinstance(other, LateDict) else other)

    def __ne__(self, other: object) -> bool:
        """Compare as a dict of its values."""
        return not self == other

    __hash__ = None

    def __repr__(self) -> str:
        """As a plain dict."""
        return repr(dict(self))
