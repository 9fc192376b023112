"""What can be asked of an `Environment` in another process or on another machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymcore.error import InvalidArgument

__all__ = ["HELLO", "KIND", "VERBS", "HostedEnvironment"]

KIND = "environment"
VERBS = ("seed", "reset", "execute", "episode_return", "close")
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


class HostedEnvironment:
    """An environment that answers requests, of another process or machine.

    Attributes:
        environment: As `Environment.create` returns it.
    """

    def __init__(self, environment: Any) -> None:
        """Host an environment."""
        self.environment = environment
        self._steps = 0

    def hello(self) -> dict[str, Any]:
        """Return what does not change."""
        described: dict[str, Any] = {"kind": KIND, "name": str(self.environment)}
        for name in HELLO:
            if name != "name":
                described[name] = getattr(self.environment, name)()
        return described

    def steps(self) -> int:
        """Return how many steps of environments there have been."""
        return self._steps

    def respond(self, verb: str, arguments: Sequence[object]) -> Any:
        """Return the reply to a request; closing is left to who made the environment.

        Args:
            verb: One of `VERBS`.
            arguments: Of the method.

        Returns:
            What the method returns; of `execute` a pair with `final_states()`.

        Raises:
            InvalidArgument: If there is no such request.
        """
        if verb not in VERBS:
            raise InvalidArgument(f"verb: expected one of {', '.join(VERBS)}, got {verb!r}")
        if verb == "close":
            return None
        result: Any = getattr(self.environment, verb)(*arguments)
        if verb != "execute":
            return result
        stepped = result[-1]
        self._steps += len(stepped) if len(result) == 4 else 1
        return result, self.environment.final_states()
