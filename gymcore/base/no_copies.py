"""Objects that cannot be copied."""

from __future__ import annotations

from typing import ClassVar, NoReturn, SupportsIndex

from gymcore.error import CopyNotSupported


class NoCopies:
    """Refuses copies and pickles of an object that owns processes, connections, files or views.

    Examples:
        >>> import copy
        >>> class Connection(NoCopies):
        ...     pass
        >>> copy.copy(Connection())
        Traceback (most recent call last):
        gymcore.error.CopyNotSupported: Connection: cannot be copied or pickled; make a new one
    """

    # What to do instead.
    advice: ClassVar[str] = "make a new one"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Raise `CopyNotSupported`."""
        raise CopyNotSupported(f"{type(self).__name__}: cannot be copied or pickled; {self.advice}")
