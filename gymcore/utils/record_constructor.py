"""Recording the arguments of a constructor, so that an object can be described and made again."""

from __future__ import annotations

from typing import Any

_CONTAINERS = (list, tuple, dict, set)


def snapshot(value: Any) -> Any:
    """Return a copy of the built-in containers in `value`; everything else is kept by reference.

    This is what a recorded argument needs: a list that the caller changes later is recorded as it
    was, while a model, an array or a function costs nothing and need not be copyable.

    Example:
        >>> weights = object()
        >>> recorded = snapshot({"keys": ["a"], "model": weights})
        >>> recorded["model"] is weights
        True
    """
    kind = type(value)
    if kind is list or kind is tuple:
        return kind([snapshot(item) for item in value])
    if kind is dict:
        return {key: snapshot(item) for key, item in value.items()}
    if kind is set:
        return set(value)
    return value


class RecordConstructorArgs:
    """A base for wrappers that can be made again from `env.spec`.

    Call `RecordConstructorArgs.__init__` first in `__init__`, with every argument but the
    environment. The arguments are recorded as `snapshot` does: containers are copied, all else is
    kept by reference, so recording is cheap and works with any value. One that cannot be written as
    JSON raises an error with its name only when the spec is serialised.

    Example:
        >>> class Scaled(RecordConstructorArgs):
        ...     def __init__(self, scale: float) -> None:
        ...         RecordConstructorArgs.__init__(self, scale=scale)
        >>> Scaled(2.0)._saved_kwargs
        {'scale': 2.0}
    """

    def __init__(self, *, _disable_deepcopy: bool = False, **kwargs: Any) -> None:
        """Record `kwargs`. The first call wins: a subclass records more than its base.

        Args:
            _disable_deepcopy: Record containers by reference too.
            **kwargs: The constructor's arguments.
        """
        if "_saved_kwargs" in self.__dict__:
            return
        if not _disable_deepcopy:
            for name, value in kwargs.items():
                if type(value) in _CONTAINERS:
                    kwargs[name] = snapshot(value)
        self._saved_kwargs: dict[str, Any] = kwargs
