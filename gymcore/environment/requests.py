"""Requests to an `Environment` in another process or on another machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymcore.base.arguments import positive
from gymcore.error import InvalidArgument

KIND = "environment"
VERBS = ("seed", "reset", "execute", "episode_return", "close")
"""All possible requests; a request never names an attribute."""

HELLO: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "states": dict,
    "actions": dict,
    "max_episode_timesteps": (int, type(None)),
    "is_vectorizable": bool,
    "num_actors": int,
}
"""The entries of the reply to "hello", except its kind, with their types."""


class HostedEnvironment:
    """An environment that answers requests from another process or machine.

    Attributes:
        environment: An environment as returned by `Environment.create`.
    """

    def __init__(self, environment: Any, max_parallel: int | None = None) -> None:
        """Host an environment; a client can run at most `max_parallel` copies in parallel."""
        self.environment = environment
        self._max_parallel = max_parallel
        self._steps = 0

    def hello(self) -> dict[str, object]:
        """Return the constant properties of the environment."""
        description: dict[str, object] = {"kind": KIND, "name": str(self.environment)}
        for name in HELLO:
            if name != "name":
                description[name] = getattr(self.environment, name)()
        return description

    def steps(self) -> int:
        """Return the number of environment steps so far."""
        return self._steps

    def respond(self, verb: str, arguments: Sequence[object]) -> object:
        """Return the reply to a request; the owner of the environment handles closing.

        Args:
            verb: One of `VERBS`.
            arguments: Arguments of the method.

        Returns:
            The result of the method; for `execute`, a pair of the result and `final_states()`.

        Raises:
            InvalidArgument: If there is no such request.
        """
        if verb not in VERBS:
            raise InvalidArgument(f"verb: expected one of {', '.join(VERBS)}, got {verb!r}")
        if verb == "close":
            return None
        if verb == "reset" and arguments and arguments[0] is not None:
            positive("num_parallel", arguments[0], self._max_parallel)
        result = getattr(self.environment, verb)(*arguments)
        if verb != "execute":
            return result
        rewards = result[-1]
        self._steps += len(rewards) if len(result) == 4 else 1
        return result, self.environment.final_states()
