"""Collecting experience with actors of a Ray cluster."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from gymcore.base.arguments import count, positive, time_limit
from gymcore.base.no_copies import NoCopies
from gymcore.core import Options
from gymcore.distributed.cluster import actor_class, connected_ray
from gymcore.distributed.fragment import Fragment, FragmentMaker, Policy
from gymcore.error import ClosedEnvironmentError, WorkerDied, WorkerTimeout
from gymcore.vector.vector_env import VectorEnv

MAX_LOSSES = 3
"""Number of times in a row that an actor may be lost without a fragment before it is an error."""


class Collector(NoCopies):
    """Collects experience with actors that each step a vector environment with a policy copy.

    Fragments are the same in every run with the same arguments, unless actors are late or lost.
    The random streams of an actor are derived from (seed, index of the actor, number of restarts).
    A lost actor is replaced by one with the next number of restarts, which begins new episodes.

    Attributes:
        restarts: Number of times that each actor has been replaced.
        late: Number of fragments that did not arrive in time; they are discarded on arrival.
        lost: Number of fragments that were lost with their actors and collected again.

    Examples:
        >>> import numpy as np
        >>> import gymcore as gym
        >>> def make():
        ...     mode = {"autoreset_mode": "SameStep"}
        ...     return gym.make_vec("CartPole-v1", num_envs=64, vector_kwargs=mode)
        >>> def policy(weights, observations, generator):
        ...     return (observations @ weights > 0).astype(int)
        >>> with Collector(make, policy, num_actors=2, seed=1) as collector:  # doctest: +SKIP
        ...     fragments = collector.collect(np.ones(4, np.float32), steps=128)
        >>> fragments[0].observations.shape  # doctest: +SKIP
        (128, 64, 4)
    """

    def __init__(
        self,
        make: Callable[[], VectorEnv],
        policy: Policy,
        num_actors: int,
        seed: int = 0,
        *,
        address: str | None = None,
        actor_options: Options = None,
    ) -> None:
        """Start the actors.

        Args:
            make: Function that makes the vector environment of an actor, with same-step autoreset.
            policy: A function of (weights, observations [K, ...], random generator) that returns
                actions [K, ...], or a tuple of actions and a dict of further arrays [K, ...] to
                collect, such as log-probabilities. A callable object may keep state between calls;
                each actor has its own copy.
            num_actors: Number of actors.
            seed: Seed of the random streams, at least 0.
            address: Address of the cluster, as for `ray.init`; no effect after `ray.init`.
            actor_options: Options of `ray.remote`, such as `num_cpus` (default: 1).

        Raises:
            InvalidArgument: If a number is out of range.
            DependencyNotInstalled: If Ray is not installed.
            RemoteError: If there is no such cluster.
        """
        self.num_actors = positive("num_actors", num_actors)
        self._arguments = make, policy, count("seed", seed)
        self._ray = connected_ray(address)
        self._actor_class = actor_class(self._ray, FragmentMaker, actor_options)
        self.restarts = [0] * num_actors
        self.late = self.lost = 0
        self._losses = [0] * num_actors
        self._round = 0
        self._last_raised = 0  # the last round whose exception was raised
        self._calls: dict[object, tuple[int, int]] = {}  # reference -> actor, round
        self._actors = [self._start_actor(actor) for actor in range(num_actors)]

    def collect(self, weights: object, steps: int, timeout: float | None = None) -> list[Fragment]:
        """Collect a fragment of `steps` steps from every actor, and return the fragments.

        Args:
            weights: Weights for the policy; put into Ray's object store once for all actors.
            steps: T, the number of steps of each lane.
            timeout: Maximum time to wait, in seconds; None or `inf` waits for every actor.

        Returns:
            A fragment from each actor that was in time, in the order of the actors. All of them
            were collected with these weights.

        Raises:
            WorkerTimeout: If no actor was in time.
            WorkerDied: If an actor is lost repeatedly.
            ClosedEnvironmentError: If the collector is closed.
            Exception: If the policy or an environment raises it. The actor is replaced, and the
                next call collects again.
        """
        if not self._actors:
            raise ClosedEnvironmentError("collect: the collector is closed")
        steps = positive("steps", steps)
        limit = time_limit("timeout", timeout)
        deadline = None if math.isinf(limit) else time.monotonic() + limit
        ray = self._ray
        request = ray.put(weights), steps
        self._round += 1
        busy = {actor for actor, _ in self._calls.values()}
        for actor in set(range(self.num_actors)) - busy:
            self._request(actor, request)
        fragments: dict[int, Fragment] = {}
        while len(fragments) < self.num_actors:
            remaining = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready, _ = ray.wait(list(self._calls), timeout=remaining)
            if not ready:
                break
            actor, number = self._calls.pop(ready[0])
            fragment = self._receive(actor, number, ready[0])
            if fragment is not None and number == self._round:
                fragments[actor] = fragment
            else:
                self._request(actor, request)
        self.late += self.num_actors - len(fragments)
        if not fragments:
            raise WorkerTimeout(f"collect: no actor has returned a fragment in {timeout} s")
        return [fragments[actor] for actor in sorted(fragments)]

    def _request(self, actor: int, request: tuple[object, int]) -> None:
        self._calls[self._actors[actor].collect.remote(*request)] = actor, self._round

    def _receive(self, actor: int, number: int, reference: object) -> Fragment | None:
        """Return the fragment of a call of round `number`; None if it is lost."""
        errors = self._ray.exceptions
        try:
            fragment: Fragment = self._ray.get(reference)
        except errors.RayTaskError as problem:  # the policy or the environment raised
            self._replace(actor)
            if number == self._last_raised:  # this round has already raised another actor's failure
                return None
            self._last_raised = number
            raise problem.cause from problem
        except errors.RayError as problem:
            self.lost += 1
            self._losses[actor] += 1
            if self._losses[actor] > MAX_LOSSES:
                raise WorkerDied(
                    f"actor {actor} was lost {self._losses[actor]} times in a row: {problem}"
                ) from problem
            self._replace(actor)
            return None
        self._losses[actor] = 0
        return fragment

    def _replace(self, actor: int) -> None:
        self._ray.kill(self._actors[actor])
        self.restarts[actor] += 1
        self._actors[actor] = self._start_actor(actor)

    def _start_actor(self, actor: int) -> Any:
        return self._actor_class.remote(*self._arguments, actor, self.restarts[actor])

    def close(self) -> None:
        """End the actors; the connection to the cluster stays. Calling it again does nothing."""
        if self._ray.is_initialized():
            for actor in self._actors:
                self._ray.kill(actor)
        self._actors = []
        self._calls = {}

    def __enter__(self) -> Collector:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
