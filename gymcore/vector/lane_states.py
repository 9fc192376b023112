"""Saving and restoring single environments of a batch, wrappers included."""

from __future__ import annotations

import io
import pickle
from math import isnan
from typing import Any, NamedTuple

from gymcore.core import Env, Wrapper
from gymcore.error import ArgumentTypeError, InvalidArgument, StateNotSupported
from gymcore.spaces import Space

__all__ = ["LaneState", "check_state", "load_env", "save_env"]


class LaneState(NamedTuple):
    """The complete state of a lane; it can be pickled if the environment's state can.

    `wrappers` holds pickles, which `set_state` loads: a state from an untrusted source may run any
    code. States of native environments are plain arrays.

    Attributes:
        env: The result of `get_state` of the outermost layer that has this method.
        wrappers: The attributes of the wrappers around that layer, outermost first: name of the
            class, pickle.
        observation: The lane's last observation.
        ended: Whether the lane's episode has ended.
        elapsed: Number of steps of the episode.
        episode_return: Sum of the episode's rewards.
    """

    env: Any
    wrappers: tuple[tuple[str, bytes], ...]
    observation: Any = None
    ended: bool = False
    elapsed: int = 0
    episode_return: float = 0.0


def save_env(env: Env, lane: int) -> tuple[Any, tuple[tuple[str, bytes], ...]]:
    """Return the first two parts of a `LaneState`; errors name the lane.

    Raises:
        StateNotSupported: If the environment has no `get_state` and `set_state`, or a wrapper
            around it cannot be pickled.
    """
    layers, inner = _layers(env, lane)
    wrappers = tuple((_name(layer), _pickled(layer, [*layers, inner], lane)) for layer in layers)
    return inner.get_state(), wrappers


def check_state(env: Env, state: Any, lane: int) -> None:
    """Check that `state` is a `LaneState` of such an environment with the same wrappers.

    The environment's own part is checked by its `check_state`, if it has one.

    Raises:
        ArgumentTypeError: If it is not a `LaneState`.
        InvalidArgument: If it belongs to another environment or other wrappers, or is impossible.
        StateNotSupported: If the environment has no `get_state` and `set_state`.
    """
    if not isinstance(state, LaneState):
        raise ArgumentTypeError(
            f"state: expected what get_state() returned, got {type(state)} for environment {lane}"
        )
    layers, inner = _layers(env, lane)
    here, there = [_name(layer) for layer in layers], [name for name, _ in state.wrappers]
    if here != there:
        raise InvalidArgument(
            f"state: environment {lane} has the wrappers {here}, but its state has {there}"
        )
    _, ended, elapsed, episode_return = counts = state[2:]
    types = (type(ended), type(elapsed), type(episode_return))
    if types != (bool, int, float) or not 0 <= elapsed < 2**31 or isnan(episode_return):
        raise InvalidArgument(
            f"state: expected ended, elapsed and episode_return of an episode, got {counts[1:]} "
            f"for environment {lane}"
        )
    if hasattr(inner, "check_state"):
        inner.check_state(state.env)


def load_env(env: Env, state: LaneState) -> None:
    """Set an environment to a state that `check_state` has accepted."""
    layers, inner = _layers(env, -1)
    loaded = [_Loader(pickled, [*layers, inner]).load() for _, pickled in state.wrappers]
    inner.set_state(state.env)
    for layer, attributes in zip(layers, loaded, strict=True):
        layer.__dict__.update(attributes)


def _layers(env: Any, lane: int) -> tuple[list[Any], Any]:
    """Return the wrappers around the outermost layer that can save its state, and that layer."""
    wrappers = []
    layer = env
    while not (hasattr(type(layer), "get_state") and hasattr(type(layer), "set_state")):
        if not isinstance(layer, Wrapper):
            raise StateNotSupported(
                f"environment {lane}: {type(layer).__name__} has no get_state() and set_state()"
            )
        wrappers.append(layer)
        layer = layer.env
    return wrappers, layer


def _name(layer: Any) -> str:
    return f"{type(layer).__module__}.{type(layer).__qualname__}"


def _pickled(layer: Any, layers: list[Any], lane: int) -> bytes:
    buffer = io.BytesIO()
    changing = {
        name: value
        for name, value in vars(layer).items()
        if name != "env" and not name.endswith("spec") and not isinstance(value, Space)
    }
    try:
        _Saver(buffer, layers).dump(changing)
    except Exception as problem:
        raise StateNotSupported(
            f"environment {lane}: the state of its wrapper {type(layer).__name__} does not "
            f"pickle: {problem}"
        ) from problem
    return buffer.getvalue()


class _Saver(pickle.Pickler):
    """Pickler that writes references to layers of the environment as their numbers."""

    def __init__(self, file: io.BytesIO, layers: list[Any]) -> None:
        super().__init__(file, protocol=5)
        self._numbers = {id(layer): number for number, layer in enumerate(layers)}

    def persistent_id(self, obj: Any) -> int | None:
        return self._numbers.get(id(obj))


class _Loader(pickle.Unpickler):
    """Unpickler that replaces the numbers by the layers of this environment."""

    def __init__(self, pickled: bytes, layers: list[Any]) -> None:
        super().__init__(io.BytesIO(pickled))
        self._layers = layers

    def persistent_load(self, pid: Any) -> Any:
        return self._layers[pid]
