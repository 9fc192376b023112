"""What can be asked of an `Environment` in another process or on another machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymcore.error import InvalidArgument

__all__ = ["HELLO", "KIND", "VERBS", "HostedEnvironment", "respond"]

KIND = "environment"
VERBS = ("hello", "seed", "reset", "execute", "episode_return", "close")
"""All requests there are: what is asked for never names an attribute."""

HELLO: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "states": dict,
    "actions": dict,
    "max_episode_timesteps": (int, type(None)),
    "is_vectorizable": bool,
    "num_actors": int,
}
"""What the reply to "hello" holds besides its kind, and the types."""


def respond(environment: Any, verb: str, arguments: Sequence[object]) -> Any:
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
            "kind": KIND,
            "name": str(environment),
            "states": environment.states(),
            "actions": environment.actions(),
            "max_episode_timesteps": environment.max_episode_timesteps(),
            "is_vectorizable": environment.is_vectorizable(),
            "num_actors": environment.num_actors(),
        }
    result = getattr(environment, verb)(*arguments)
    return (result, environment.final_states()) if verb == "execute" else result


class HostedEnvironment:
    """An environment that a server hosts.

    Attributes:
        environment: As `Environment.create` returns it.
    """

    def __init__(self, environment: Any) -> None:
        """Host an environment."""
        self.environment = environment
        self._steps = 0

    def hello(self) -> dict[str, Any]:
        """Return what does not change."""
        described: dict[str, Any] = respond(self.environment, "hello", ())
        return described

    def steps(self) -> int:
        """Return how many steps of environments there have been."""
        return self._steps

    def respond(self, verb: str, arguments: Sequence[object]) -> Any:
        """Return the reply to a request; closing is left to who made the environment."""
        result: Any = respond(self.environment, verb, arguments) if verb != "close" else None
        if verb == "execute":
            stepped = result[0][-1]
            self._steps += len(stepped) if len(result[0]) == 4 else 1
        return result
