"""`gymcore collect --cluster`: actors, and the actions that they take."""

from __future__ import annotations

import argparse
import contextlib
import functools
import signal
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from gymcore.cli.errors import CliError
from gymcore.cli.policies import Lanes, PolicyActions, RandomActions, actions_of

if TYPE_CHECKING:
    from gymcore.distributed import Collector
    from gymcore.vector import VectorEnv


def cluster(text: str) -> str:
    """Parse `ray` or `ray:ADDRESS`; return the address, or "" if there is none."""
    name, _, address = text.partition(":")
    if name != "ray":
        raise argparse.ArgumentTypeError(f"expected ray or ray:ADDRESS, got {text!r}")
    return address


@contextlib.contextmanager
def actors_of(
    arguments: argparse.Namespace,
    make: Callable[[argparse.Namespace], VectorEnv],
    envs: VectorEnv,
    seed: int,
) -> Iterator[Collector]:
    """Start the actors of a run, which divide its lanes evenly, and stop them afterwards.

    Args:
        arguments: Arguments of `gymcore collect`.
        make: Function that makes a vector environment from such arguments.
        envs: Result of `make` for these arguments.
        seed: Seed of the run.
    """
    lanes, remainder = divmod(arguments.num_envs, arguments.actors)
    if remainder:
        raise CliError(
            f"--num-envs: expected a multiple of --actors {arguments.actors}, got "
            f"{arguments.num_envs}"
        )
    from gymcore.distributed import Collector
    from gymcore.distributed.cluster import connected_ray
    from gymcore.error import Error
    from gymcore.spaces.batching import batch_space

    space = envs.single_action_space
    actor_lanes = Lanes(lanes, envs.single_observation_space, space, batch_space(space, lanes))
    share = argparse.Namespace(**{**vars(arguments), "num_envs": lanes})
    on_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        connected_ray(arguments.cluster or None)
    except Error as error:
        raise CliError(f"--cluster: {error}") from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, on_sigterm)  # Ray has replaced the handler
    policy = ActorPolicy(arguments.policy, actor_lanes)
    with Collector(functools.partial(make, share), policy, arguments.actors, seed) as collector:
        yield collector


class ActorPolicy:
    """The actions selected by `--policy`, as a policy for actors."""

    def __init__(self, policy: str, envs: Lanes) -> None:
        """Store the argument, and the number of lanes and the action spaces of an actor."""
        self._policy = policy
        self._envs = envs
        self._actions: RandomActions | PolicyActions | None = None

    def __call__(
        self, weights: object, observations: object, generator: np.random.Generator
    ) -> object:
        """Return the actions for a batch of observations."""
        if self._actions is None:
            self._actions = actions_of(self._policy, self._envs, int(generator.integers(2**31)))
        return self._actions(observations)
