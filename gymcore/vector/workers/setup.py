"""What a worker process is started with, and what it tells of itself first."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymcore.core import Env
    from gymcore.vector.workers.last_words import LastWords
    from gymcore.vector.workers.shared_block import SharedBlock

__all__ = ["EnvFunctions", "Introduction", "Setup"]


class EnvFunctions:
    """The functions that make a worker's environments; pickles even lambdas and closures."""

    def __init__(self, functions: Sequence[Callable[[], Env[Any, Any]]]) -> None:
        """Keep the functions."""
        self.functions = tuple(functions)

    def __getstate__(self) -> bytes:
        """Return all functions in one pickle, so that equal ones are written once."""
        import cloudpickle

        return cloudpickle.dumps(self.functions)

    def __setstate__(self, state: bytes) -> None:
        """Keep the pickle: it is opened where a failure can be reported."""
        self._pickled = state

    def load(self) -> tuple[Callable[[], Env[Any, Any]], ...]:
        """Return the functions."""
        if not hasattr(self, "functions"):
            self.functions = pickle.loads(self._pickled)
        return self.functions


@dataclass
class Setup:
    """What a worker is started with.

    Attributes:
        index: Number of the worker.
        first: Its first lane.
        functions: One function for each of its lanes.
        registered: Pickled specs of ids that the program has registered.
        connection: Its end of the pipe.
        block: The shared memory; its size comes with the plan.
        parent: Process id of the parent.
        last_words: Takes the traceback of a fatal signal.
        close_fds: Ends of pipes that a forked child inherits and has no use for.
    """

    index: int
    first: int
    functions: EnvFunctions
    registered: list[bytes]
    connection: Any
    block: SharedBlock
    parent: int
    last_words: LastWords
    close_fds: tuple[int, ...]


@dataclass
class Introduction:
    """What the parent has to know about a worker's environments.

    Attributes:
        metadata: Of the first environment.
        render_mode: Of the first environment.
        observation_spaces: One for each lane; equal ones are one object.
        action_spaces: The same.
    """

    metadata: dict[str, Any]
    render_mode: str | None
    observation_spaces: list[Any]
    action_spaces: list[Any]
