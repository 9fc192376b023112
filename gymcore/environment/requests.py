"""What can be asked of an `Environment` in another process or on another machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymcore.error import InvalidArgument

__all__ = ["VERBS", "respond"]

VERBS = ("hello", "seed", "reset", "execute", "episode_return", "close")
"""All requests there are: what is asked for never names an attribute."""


def respond(environment: Any, verb: str, arguments: Sequence[Any]) -> Any:
    """Return the reply to a request.

    Args:
        environment: As `Environment.create` returns it.
        verb: One of `VERBS`; "hello" asks what does not change.
        arguments: Of the method.

    Returns:
        What the method returns; of `execute` a pair with `final_states()`. Of "hello" a dict.

    Raises:
        InvalidArgument: if there is no such request.
    """
    if verb not in VERBS:
        raise InvalidArgument(f"verb: expected one of {', '.join(VERBS)}, got {verb!r}")
    if verb == "hello":
        return {
            "name": str(environment),
            "states": environment.states(),
            "actions": environment.actions(),
            "max_episode_timesteps": environment.max_episode_timesteps(),
            "is_vectorizable": environment.is_vectorizable(),
            "num_actors": environment.num_actors(),
        }
    result = getattr(environment, verb)(*arguments)
    return (result, environment.final_states()) if verb == "execute" else result
