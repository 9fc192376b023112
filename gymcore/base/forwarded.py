"""Properties of wrappers and adapters that access attributes of the wrapped object, `env`."""

from __future__ import annotations

from typing import Any


def forwarded(name: str, doc: str) -> property:
    """Return a property that reads the attribute of `env`; it cannot be set.

    Examples:
        >>> class Inner:
        ...     size, name = 3, "inner"
        >>> class Outer:
        ...     size = forwarded("size", "The size inside.")
        ...     name = overridable("name", "The name inside, or the one that was set here.")
        ...     def __init__(self, env):
        ...         self.env = env
        >>> outer = Outer(Inner())
        >>> outer.name = "outer"
        >>> outer.size, outer.name, outer.env.name
        (3, 'outer', 'inner')
    """
    return property(lambda wrapper: getattr(wrapper.env, name), doc=doc)


def settable(name: str, doc: str) -> property:
    """Return a property that reads and sets the attribute of `env`."""

    def write(wrapper: Any, value: object) -> None:
        setattr(wrapper.env, name, value)

    return forwarded(name, doc).setter(write)


def overridable(name: str, doc: str) -> property:
    """Return a property that reads the attribute of `env`, unless the wrapper has set its own.

    The wrapper stores its own value under the name with a leading underscore; None means no value.
    """
    override_name = f"_{name}"

    def read(wrapper: Any) -> object:
        override = wrapper.__dict__.get(override_name)
        return getattr(wrapper.env, name) if override is None else override

    def write(wrapper: object, value: object) -> None:
        wrapper.__dict__[override_name] = value

    return property(read, write, doc=doc)
