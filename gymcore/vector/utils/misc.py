"""Helpers for starting worker processes."""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Callable, Generator
from typing import Generic, TypeVar

from gymcore.core import Env

__all__ = ["CloudpickleWrapper", "clear_mpi_env_vars"]

EnvType = TypeVar("EnvType", bound=Env, covariant=True)


class CloudpickleWrapper(Generic[EnvType]):
    """Wrapper of an environment function that can be pickled even if it is a lambda or closure.

    Examples:
        >>> import pickle
        >>> import gymcore as gym
        >>> wrapped = CloudpickleWrapper(lambda: gym.make("CartPole-v1"))
        >>> pickle.loads(pickle.dumps(wrapped))().spec.id
        'CartPole-v1'
    """

    def __init__(self, fn: Callable[[], EnvType]) -> None:
        """Wrap `fn`.

        Args:
            fn: Function without arguments that makes an environment.
        """
        self.fn = fn

    def __getstate__(self) -> bytes:
        """Return the function as pickled by cloudpickle."""
        import cloudpickle

        return bytes(cloudpickle.dumps(self.fn))

    def __setstate__(self, state: bytes) -> None:
        """Restore the function from its pickle, which may run any code."""
        self.fn = pickle.loads(state)

    def __call__(self) -> EnvType:
        """Return `fn()`."""
        return self.fn()


@contextlib.contextmanager
def clear_mpi_env_vars() -> Generator[None, None, None]:
    """Hide MPI's environment variables while the `with` block runs.

    A child process that inherits them and imports `mpi4py` takes itself for an MPI rank and hangs.
    Start workers inside this block.

    Examples:
        >>> import os
        >>> os.environ["OMPI_COMM_WORLD_RANK"] = "0"
        >>> with clear_mpi_env_vars():
        ...     "OMPI_COMM_WORLD_RANK" in os.environ
        False
        >>> os.environ.pop("OMPI_COMM_WORLD_RANK")
        '0'
    """
    hidden = {
        name: value for name, value in os.environ.items() if name.startswith(("OMPI_", "PMI_"))
    }
    for name in hidden:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(hidden)
