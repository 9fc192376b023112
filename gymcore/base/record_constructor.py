"""Recording of constructor arguments, so that objects can be described and made again."""

from __future__ import annotations

import functools
import inspect
from types import ModuleType
from typing import Any, Self


def snapshot(value: Any) -> Any:
    """Copy the built-in containers in `value`, and keep everything else by reference.

    Thus a list that the caller changes later is recorded as it was, while models, arrays and
    functions cost nothing and need not be copyable. A module is replaced by its name, which can be
    pickled.

    Examples:
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
    return value.__name__ if kind is ModuleType else value


_signature = functools.lru_cache(maxsize=256)(inspect.signature)


class RecordConstructorArgs:
    """Base class of wrappers that can be made again from `env.spec`.

    The arguments of the constructor, except `env`, are recorded: containers are copied, everything
    else is kept by reference. An argument that cannot be written as JSON raises an error with its
    name only when the spec is serialized. As in Gymnasium, `__init__` may also call
    `RecordConstructorArgs.__init__` to record other arguments.

    Examples:
        >>> class Scaled(RecordConstructorArgs):
        ...     def __init__(self, env: object, scale: float = 1.0) -> None:
        ...         self.scale = scale
        >>> Scaled(object(), scale=2.0)._saved_kwargs
        {'scale': 2.0}
    """

    _saved_kwargs: dict[str, object]

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        """Record the arguments of `__init__`."""
        self = super().__new__(cls)
        try:
            bound = _signature(cls.__init__).bind(self, *args, **kwargs)
        except TypeError:  # `__init__` will raise; copies are made without arguments
            return self
        bound.apply_defaults()
        values: dict[str, object] = {}
        for name, parameter in list(bound.signature.parameters.items())[1:]:
            if parameter.kind is parameter.VAR_KEYWORD:
                values.update(bound.arguments[name])
            elif name != "env":
                values[name] = bound.arguments[name]
        self._saved_kwargs = snapshot(values)
        return self

    def __init__(self, *, _disable_deepcopy: bool = False, **kwargs: Any) -> None:
        """Record `kwargs` instead. Only the first call counts, so a subclass overrides its base.

        Args:
            _disable_deepcopy: Whether to keep containers by reference too.
            **kwargs: The constructor's arguments.
        """
        if "_records_itself" not in self.__dict__:
            self._records_itself = True
            self._saved_kwargs = kwargs if _disable_deepcopy else snapshot(kwargs)
