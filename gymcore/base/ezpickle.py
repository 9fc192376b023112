"""Pickling objects as the arguments of their constructors."""

from __future__ import annotations

from typing import Any


class EzPickle:
    """Pickles and copies an object by its constructor's arguments instead of its attributes.

    It is for objects with attributes that cannot be pickled, such as a simulator or a window. The
    copy is in the state after construction.

    Examples:
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
        """Store the arguments from which the object is made again.

        Args:
            *args: Positional arguments of the subclass's constructor.
            **kwargs: Keyword arguments of the subclass's constructor.
        """
        self._ezpickle_args = args
        self._ezpickle_kwargs = kwargs

    def __getstate__(self) -> dict[str, object]:
        """Return the arguments."""
        return {
            "_ezpickle_args": self._ezpickle_args,
            "_ezpickle_kwargs": self._ezpickle_kwargs,
        }

    def __setstate__(self, d: dict[str, Any]) -> None:
        """Call the constructor of this object with the arguments in `d`."""
        # A temporary second object would close what both share when it is collected.
        type(self).__init__(self, *d["_ezpickle_args"], **d["_ezpickle_kwargs"])
