"""Saving and restoring an environment together with its wrappers.

The state of a wrapper is a copy of its attributes, without those that configure it: spaces,
functions, classes, modules and specs stay the ones of the wrapper that is restored.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from numbers import Number
from typing import Any, NamedTuple, Protocol

import numpy as np

from gymcore.base import seeding
from gymcore.error import InvalidArgument, StateNotSupported
from gymcore.spaces import Space
from gymcore.specs import EnvSpec
from gymcore_ext.python_envs.infos import copied

# For each layer, outermost first: the name of its class, and attributes by name.
Layers = tuple[tuple[str, dict[str, Any]], ...]

# Attributes with values of these types, or tuples of them, are not part of a state.
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, partial)
_CONFIGURATION = (Space, EnvSpec, type, types.ModuleType, *_FUNCTIONS)
# Nor are these: the inner layer, and the arguments of constructors.
_NOT_STATE = ("env", "_cached_spec", "_saved_kwargs", "_ezpickle_args", "_ezpickle_kwargs")


class EnvState(NamedTuple):
    """The complete state of an environment with its wrappers; it can be pickled if its parts can.

    Attributes:
        env: The result of `get_state` of the outermost layer whose class defines this method.
        layers: Class and attributes of each wrapper around that layer, outermost first; last, class
            and random generator of the layer itself.
    """

    env: object
    layers: Layers


class _Wrapper(Protocol):
    """What is read of a wrapper; see `gymcore.core.Wrapper`."""

    _not_state: tuple[str, ...]
    _counts: tuple[str, ...]


class _Reference:
    """Stands in a state for a layer of the environment, or for its random generator."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __deepcopy__(self, memo: dict[object, Sequence[object]]) -> object:
        """Return the object of the environment that is restored, or the reference in a copy."""
        objects = memo.get(_Reference)
        return self if objects is None else objects[self.number]


def state_layers(env: Any, where: str = "") -> list[object]:
    """Return the wrappers around the outermost layer that can save its state, and that layer.

    Raises:
        StateNotSupported: If no layer can; the message begins with `where`.
    """
    layers = [env]
    while not _saves_itself(type(layers[-1])):
        if not hasattr(type(layers[-1]), "inherited_states"):  # not a wrapper
            name = type(layers[-1]).__name__
            raise StateNotSupported(
                f"{where}{name} has no get_state() and set_state(); define both, as the methods of "
                "gymcore.Env describe"
            )
        layers.append(layers[-1].env)
    return layers


def _saves_itself(cls: type) -> bool:
    """Return whether a class has methods for states, other than those of every wrapper."""
    inherited = getattr(cls, "inherited_states", ())
    names = ("get_state", "set_state")
    return all(hasattr(cls, name) and getattr(cls, name) not in inherited for name in names)


def save_layers(layers: Sequence[Any], where: str = "") -> tuple[object, Layers]:
    """Return the two parts of an `EnvState` of layers that `state_layers` has returned.

    Raises:
        StateNotSupported: If an attribute of a wrapper cannot be copied.
    """
    *wrappers, env = layers
    state = copied(env.get_state())
    references = {id(each): _Reference(i) for i, each in enumerate(_shared_objects(layers))}
    saved = []
    for wrapper in wrappers:
        try:
            saved.append((_name(wrapper), deepcopy(_attributes(wrapper), {**references})))
        except Exception as problem:
            raise StateNotSupported(
                f"{where}the state of its wrapper {type(wrapper).__name__} cannot be copied: "
                f"{problem}"
            ) from problem
    generator = vars(env).get("_np_random")
    is_plain = isinstance(generator, np.random.Generator)
    random = {"np_random": generator.bit_generator.state} if is_plain else {}
    return state, (*saved, (_name(env), random))


def check_layers(layers: Sequence[Any], state: object, saved: Layers, where: str) -> None:
    """Raise if the two parts of an `EnvState` are not those of such layers.

    `state` is checked by the `check_state` of the environment, if it has one.

    Raises:
        InvalidArgument: If they belong to another environment or other wrappers, or an attribute
            is impossible.
    """
    try:
        names = [name for name, _ in saved]
        attributes = [dict(part).items() for _, part in saved]
    except (TypeError, ValueError):
        raise InvalidArgument(f"state: expected layers of {where}, got {saved!r:.80}") from None
    expected = [_name(layer) for layer in layers]
    if names != expected:
        raise InvalidArgument(f"state: expected the layers {expected} for {where}, got {names}")
    for layer, part in zip(layers, attributes, strict=True):
        fits = _fits_env if layer is layers[-1] else _fits_wrapper
        for name, value in part:
            if not fits(layer, name, value):
                raise InvalidArgument(
                    f"state: expected a value that {name!r} of {type(layer).__name__} can have "
                    f"for {where}, got {value!r:.80}"
                )
    if hasattr(layers[-1], "check_state"):
        layers[-1].check_state(state)


def load_layers(layers: Sequence[Any], state: object, saved: Layers) -> None:
    """Restore layers from the two parts of an `EnvState`, which `check_layers` has accepted."""
    *wrappers, env = layers
    memo: dict[Any, object] = {_Reference: _shared_objects(layers)}
    loaded = [deepcopy(attributes, {**memo}) for _, attributes in saved]
    env.set_state(copied(state))
    if "np_random" in loaded[-1]:
        random = loaded[-1]["np_random"]
        if env.np_random.bit_generator.state["bit_generator"] != random["bit_generator"]:
            env.np_random = np.random.Generator(seeding.bit_generator_of(random))
        env.np_random.bit_generator.state = random  # in place: others may hold the generator
    for wrapper, attributes in zip(wrappers, loaded, strict=False):
        for name in _attributes(wrapper).keys() - attributes.keys():
            del vars(wrapper)[name]  # set after the state was saved
        vars(wrapper).update(attributes)


def _shared_objects(layers: Sequence[object]) -> list[object]:
    """Return the objects that attributes of wrappers may refer to."""
    return [*layers, getattr(layers[-1], "np_random", None)]


def _name(layer: object) -> str:
    return f"{type(layer).__module__}.{type(layer).__qualname__}"


def _attributes(wrapper: _Wrapper) -> dict[str, object]:
    """Return the attributes that are part of a wrapper's state."""
    return {
        name: value
        for name, value in vars(wrapper).items()
        if name not in (*_NOT_STATE, *wrapper._not_state) and not _is_configuration(value)
    }


def _is_configuration(value: object) -> bool:
    if isinstance(value, tuple) and value:
        return all(map(_is_configuration, value))
    return isinstance(value, _CONFIGURATION)


def _fits_env(env: object, name: object, value: object) -> bool:
    """Return whether a value can be the state of the random generator."""
    try:
        seeding.bit_generator_of(value)
    except ValueError:
        return False
    return name == "np_random" and hasattr(env, "np_random")


def _fits_wrapper(wrapper: _Wrapper, name: Any, value: object) -> bool:
    """Return whether an attribute of a wrapper can have a value.

    A state cannot replace methods or the configuration. Attributes of gymcore's own wrappers keep
    their type, and counts must not be negative; attributes of other classes may have any value.
    """
    is_excluded = not isinstance(name, str) or name in (*_NOT_STATE, *wrapper._not_state)
    default = None if is_excluded else getattr(type(wrapper), name, None)
    is_method = callable(default) or hasattr(type(default), "__get__")
    if is_excluded or is_method or _is_configuration(value):
        return False
    if not type(wrapper).__module__.startswith("gymcore."):
        return True
    if name in wrapper._counts:
        return value is None or (isinstance(value, (int, np.integer)) and 0 <= int(value) < 2**63)
    if name not in vars(wrapper):
        return hasattr(type(wrapper), name)
    kinds = _comparable_type(vars(wrapper)[name]), _comparable_type(value)
    return None in kinds or kinds[0] == kinds[1]


def _comparable_type(value: object) -> object:
    """Return what an attribute's old and new values must share; None for None."""
    if isinstance(value, (Number, np.bool_, np.ndarray)):
        return Number
    if isinstance(value, deque):
        return deque, value.maxlen
    simple = (str, bytes, list, tuple, dict, set)
    return None if value is None else type(value) if type(value) in simple else object
