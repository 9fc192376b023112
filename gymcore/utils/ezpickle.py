"""Pickling an object as the arguments it was made from."""

from __future__ import annotations

from typing import Any


class EzPickle:
    """Pickle and copy an object by its constructor's arguments instead of its attributes.

    For an object that holds something which cannot be pickled (a simulator, a window) and that can
    be made again from its arguments. What happened to the object since then is not kept.

    Example:
        >>> import copy
        >>> class Simulator(EzPickle):
        ...     def __init__(self, gravity: float) -> None:
        ...         EzPickle.__init__(self, gravity)
        ...         self.gravity = gravity
        ...         self.handle = (item for item in ())  # a generator cannot be pickled
        >>> copy.deepcopy(Simulator(9.8)).gravity
        9.8
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        """Remember the arguments to make the object again from.

        Args:
            *args: Positional arguments of the subclass's constructor.
            **kwargs: Keyword arguments of the subclass's constructor.
        """
        self._ezpickle_args = args
        self._ezpickle_kwargs = kwargs

    def __getstate__(self) -> dict[str, Any]:
        """Return the arguments."""
        return {
            "_ezpickle_args": self._ezpickle_args,
            "_ezpickle_kwargs": self._ezpickle_kwargs,
        }

    def __setstate__(self, d: dict[str, Any]) -> None:
        """Make the object again, in place, from the arguments in `d`."""
        # In place: a second, temporary object would be collected, and close what this one shares.
        type(self).__init__(self, *d["_ezpickle_args"], **d["_ezpickle_kwargs"])
