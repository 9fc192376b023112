"""What the wrappers of Gym 0.26 have in common: they answer for what is inside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymcore.core import Env
from gymcore.utils import RecordConstructorArgs
from gymcore.vector import VectorEnv, VectorWrapper

__all__ = ["Forwarding", "LegacyVectorWrapper", "VectorForwarding", "VectorTwin"]


class Forwarding:
    """A base that gives a `Wrapper` the attributes of the layers inside it.

    `env.some_attribute` is that of the outermost layer that has one, as it was until Gym 0.26.
    Names that begin with an underscore are not forwarded. Assignment sets the wrapper's own.

    Example:
        >>> import gymcore as gym
        >>> class Wrapper26(Forwarding, gym.Wrapper):
        ...     pass
        >>> env = Wrapper26(gym.make("CartPole-v1"))
        >>> round(env.gravity, 1)
        9.8
    """

    if not TYPE_CHECKING:  # a type checker that saw this would accept any attribute

        def __getattr__(self, name: str) -> Any:
            """Return an attribute of an inner layer.

            Raises:
                AttributeError: if none has it, or if the name is private.
            """
            env = self.__dict__.get("env")
            if name.startswith("_"):
                raise AttributeError(f"accessing private attribute '{name}' is prohibited")
            if env is None or hasattr(type(self), name):  # half made, or a property that failed
                raise self._missing_attribute(name)
            return env.get_wrapper_attr(name) if isinstance(env, Env) else getattr(env, name)


class VectorForwarding:
    """A base that gives a `VectorWrapper` the attributes of the layers inside it."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return an attribute of an inner layer.

            Raises:
                AttributeError: if none has it, or if the name is private.
            """
            if name.startswith("_"):
                raise AttributeError(f"accessing private attribute '{name}' is prohibited")
            layer = self.__dict__.get("env")
            while isinstance(layer, VectorEnv):
                if hasattr(layer, name):
                    return getattr(layer, name)
                layer = layer.__dict__.get("env")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class LegacyVectorWrapper(
    VectorForwarding, VectorWrapper[Any, Any, Any, Any, Any], RecordConstructorArgs
):
    """Base of the vector forms of Gym 0.26's wrappers."""

    def __repr__(self) -> str:
        """Return the name of the single form around the wrapped environment's text."""
        return f"<{type(self).__name__.removeprefix('_Vector')}, {self.env}>"


class VectorTwin:
    """A base of single wrappers that, given a vector environment, make their vector form instead.

    In Gym 0.26 a vector environment was an environment, and some wrappers took both. A class that
    derives from this names the vector form in `vector_twin`; its subclasses are left alone.
    """

    vector_twin: type[VectorWrapper[Any, Any, Any, Any, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a `vector_twin` if the environment is a `VectorEnv`."""
        env = args[0] if args else kwargs.get("env")
        if isinstance(env, VectorEnv) and "vector_twin" in cls.__dict__:
            return cls.vector_twin(*args, **kwargs)
        return object.__new__(cls)
