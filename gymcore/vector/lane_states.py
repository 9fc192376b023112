"""Saving and restoring single environments of a batch, wrappers included."""

from __future__ import annotations

from math import isnan
from typing import NamedTuple

from gymcore.core import Env
from gymcore.env_states import Layers, check_layers, load_layers, save_layers, state_layers
from gymcore.error import ArgumentTypeError, InvalidArgument

__all__ = ["LaneState", "check_state", "load_env", "save_env"]


class LaneState(NamedTuple):
    """The complete state of a lane; it can be pickled if its parts can.

    Attributes:
        env: As in `EnvState`.
        layers: As in `EnvState`.
        observation: The lane's last observation.
        ended: Whether the lane's episode has ended.
        elapsed: Number of steps of the episode.
        episode_return: Sum of the episode's rewards.
    """

    env: object
    layers: Layers
    observation: object = None
    ended: bool = False
    elapsed: int = 0
    episode_return: float = 0.0


def save_env(env: Env, lane: int) -> tuple[object, Layers]:
    """Return the states of an environment and of its wrappers; errors name the lane.

    Raises:
        StateNotSupported: If the environment has no `get_state` and `set_state`, or an attribute
            of a wrapper cannot be copied.
    """
    where = f"environment {lane}: "
    return save_layers(state_layers(env, where), where)


def check_state(env: Env, state: object, lane: int) -> None:
    """Check that `state` is a `LaneState` of an environment like `env`, with the same wrappers.

    The environment's own part is checked by its `check_state`, if it has one.

    Raises:
        ArgumentTypeError: If it is not a `LaneState`.
        InvalidArgument: If it belongs to another environment or other wrappers, or cannot occur.
        StateNotSupported: If the environment has no `get_state` and `set_state`.
    """
    where = f"environment {lane}"
    if not isinstance(state, LaneState):
        raise ArgumentTypeError(
            f"state: expected what get_state() returned, got {type(state)} for {where}"
        )
    _, ended, elapsed, episode_return = counts = state[2:]
    types = (type(ended), type(elapsed), type(episode_return))
    if types != (bool, int, float) or not 0 <= elapsed < 2**31 or isnan(episode_return):
        raise InvalidArgument(
            f"state: expected ended, elapsed and episode_return of an episode, got {counts[1:]} "
            f"for {where}"
        )
    check_layers(state_layers(env, f"{where}: "), state.env, state.layers, where)


def load_env(env: Env, state: LaneState) -> None:
    """Set an environment to a state that `check_state` has accepted."""
    load_layers(state_layers(env), state.env, state.layers)
