"""A vector environment whose lanes are spread over actors of a Ray cluster."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from gymcore import error
from gymcore.base.arguments import positive, seeds_per_env, time_limit
from gymcore.base.nested import map_leaves
from gymcore.base.no_copies import NoCopies
from gymcore.core import ActType, Info, ObsType, Options, RenderFrame
from gymcore.distributed.cluster import actor_class, connected_ray
from gymcore.spaces.batching import batch_space
from gymcore.spaces.layouts import Layout, layout_of, map_layout
from gymcore.vector.engine import Lanes, Mask, StepResult, VectorEngine, checked_actions
from gymcore.vector.engine_options import values_per_env
from gymcore.vector.vector_env import AutoresetMode, VectorEnv, VectorStep
from gymcore.vector.workers.failures import describe_lanes, worker_died_error, worker_timeout_error
from gymcore.vector.workers.shared_memory import split_lanes

CLOSE_SECONDS = 5.0
RAY_OPTIONS = ("num_actors", "address", "timeout", "copy", "actor_options")
"""Options of `RayVectorEnv`; others in `vector_kwargs` go to the environments in the actors."""

DESCRIBED = (
    *("single_observation_space", "single_action_space", "metadata", "render_mode", "agents"),
)


class RayVectorEnv(NoCopies, VectorEngine[ObsType, ActType]):
    """Vector environment whose lanes are stepped by Ray actors, a range of lanes in each.

    Results are the same as from one vector environment with all lanes. A step calls all actors over
    the network, which takes about 1 ms. If the policy can run in the actors, use `Collector`.

    Exceptions of environments are raised unchanged. `WorkerDied` means that an actor was lost,
    `WorkerTimeout` that one did not answer in time. After an error in `reset` or `step`, all lanes
    must be reset.

    Examples:
        >>> import gymcore as gym
        >>> options = {"num_actors": 2}
        >>> envs = gym.make_vec("CartPole-v1", 64, "ray", options)  # doctest: +SKIP
        >>> observations, infos = envs.reset(seed=1)  # doctest: +SKIP
    """

    steps_some_lanes = False
    ends_episodes = False

    def __init__(
        self,
        make: Callable[..., VectorEnv],
        num_envs: int,
        *,
        num_actors: int = 2,
        address: str | None = None,
        timeout: float | None = 60.0,
        copy: bool = True,
        actor_options: Options = None,
    ) -> None:
        """Start the actors, and make the environments in them.

        Args:
            make: Function of `num_envs` that makes the vector environment of an actor.
            num_envs: Number of lanes of all actors together.
            num_actors: Number of actors; at most one per lane.
            address: Address of the cluster, as for `ray.init`; no effect after `ray.init`.
            timeout: Maximum time of a call, in seconds, including the start of the actors; None or
                `inf` for no limit.
            copy: Whether observations belong to the caller; if False, they are one buffer that the
                next call overwrites.
            actor_options: Options of `ray.remote`, such as `num_cpus` (default: 1).

        Raises:
            InvalidArgument: If a number is out of range.
            DependencyNotInstalled: If Ray is not installed.
            RemoteError: If there is no such cluster.
            WorkerTimeout: If the cluster has no room for the actors.
        """
        self._set_options(positive("num_envs", num_envs), AutoresetMode.NEXT_STEP, copy=copy)
        num_actors = min(positive("num_actors", num_actors), self.num_envs)
        self.timeout = time_limit("timeout", timeout)
        self._ray = connected_ray(address)
        self._bounds = split_lanes(self.num_envs, num_actors)
        lanes = actor_class(self._ray, LanesActor, actor_options)
        self._actors = [lanes.remote() for _ in self._bounds]
        self._ready = False
        try:
            description = self._call_actors("make", [(make, hi - lo) for lo, hi in self._bounds])[0]
        except BaseException:
            self.close()
            raise
        for name in DESCRIBED:
            setattr(self, name, description[name])
        self.autoreset_mode = self.metadata["autoreset_mode"]
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._layout = layout_of(self.single_observation_space)
        self._find_action_layout()
        self._buffer: ObsType | None = None
        self._last: list[object] = [None] * num_actors  # the observations of each actor
        self._ended = np.zeros(self.num_envs, np.bool_)

    # --- calls ---------------------------------------------------------------------------------

    def _call_actors(
        self, call: str, arguments: Sequence[tuple[object, ...] | None], **kwargs: object
    ) -> list[Any]:
        """Call a method of every actor with its own arguments; None skips the actor.

        Returns:
            The results, with None for skipped actors.
        """
        self._check_call(call)
        calls = [
            None if args is None else getattr(actor, call).remote(*args, **kwargs)
            for actor, args in zip(self._actors, arguments, strict=True)
        ]
        return [None if ref is None else self._reply(ref, i, call) for i, ref in enumerate(calls)]

    def _reply(self, reference: object, actor: int, call: str) -> Any:
        errors = self._ray.exceptions
        lanes = range(*self._bounds[actor])
        try:
            limit = None if math.isinf(self.timeout) else self.timeout
            return self._ray.get(reference, timeout=limit)
        except errors.GetTimeoutError as problem:
            raise worker_timeout_error(lanes, call, self.timeout) from problem
        except errors.RayTaskError as problem:
            cause = problem.cause
            if isinstance(cause, error.EnvironmentFailed):
                cause.lanes = [lanes[lane] for lane in cause.lanes]
                cause.message += f" (counted within {describe_lanes(lanes)})"
            raise cause from problem
        except errors.RayError as problem:
            raise worker_died_error(lanes, call, None, actor, str(problem)) from problem

    def _call_all(self, name: str, *args: object, **kwargs: object) -> tuple[Any, ...]:
        """Call a method of all actors, and return the results of all lanes in order."""
        parts = self._call_actors("call", [(name, *args)] * len(self._actors), **kwargs)
        return tuple(itertools.chain.from_iterable(parts))

    # --- stepping ------------------------------------------------------------------------------

    @property
    def _needs_reset(self) -> bool:
        return not self._ready

    def _ended_lanes(self) -> Mask:
        return self._ended

    def _reset_lanes(
        self, seed: int | list[int | None] | None, options: Options, mask: Mask | None
    ) -> tuple[ObsType, Info]:
        seeds = seeds_per_env(seed, self.num_envs)
        if mask is None:
            mask = np.ones(self.num_envs, np.bool_)
        self._ready = False
        arguments = [
            (seeds[lo:hi], options, mask[lo:hi]) if mask[lo:hi].any() else None
            for lo, hi in self._bounds
        ]
        parts = self._call_actors("reset", arguments)
        for actor, part in enumerate(parts):
            if part is not None:
                self._last[actor] = part[0]
        self._ended[mask] = False
        self._ready = True
        infos = joined_infos([{} if part is None else part[1] for part in parts], self._bounds)
        return self._observations(), infos

    def _step_engine(self, actions: list[object], lanes: Lanes | None) -> StepResult[ObsType]:
        self._ready = False
        parts = self._call_actors("step", [(batch,) for batch in actions])
        self._last = [part[0] for part in parts]
        rewards, terminated, truncated = (
            np.concatenate([part[k] for part in parts]) for k in (1, 2, 3)
        )
        infos = joined_infos([part[4] for part in parts], self._bounds)
        if self.autoreset_mode is AutoresetMode.DISABLED:
            self._ended = terminated | truncated
            if self.agents is not None:  # a world ends with its last agent
                self._ended = ~(infos["active"] & ~self._ended).any(axis=1)
        self._ready = True
        return self._observations(), rewards, terminated, truncated, infos

    def _checked_actions(self, actions: ActType, count: int) -> list[object]:
        if self._action_layout is not None:
            batch = checked_actions(self._action_layout, actions, count)
            return [map_leaves(itemgetter(slice(*lanes)), batch) for lanes in self._bounds]
        single = super()._checked_actions(actions, count)
        return [tuple(single[lo:hi]) for lo, hi in self._bounds]

    def _observations(self) -> ObsType:
        batch: ObsType = joined(self._layout, self._last)
        if self.copy:
            return batch
        if self._buffer is None:
            self._buffer = batch
        map_leaves(np.copyto, self._buffer, batch)
        return self._buffer

    # --- lanes ---------------------------------------------------------------------------------

    def render(self) -> tuple[RenderFrame, ...] | None:
        """Return the frame of each lane, or None without a render mode."""
        self._check_call("render")
        return None if self.render_mode is None else self._call_all("render")

    def _call_lanes(
        self, name: str, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[Any, ...]:
        return self._call_all("call", name, *args, **kwargs)

    def _set_lanes_attr(self, name: str, values: object) -> None:
        values = list(values_per_env(values, self.num_envs))
        self._call_actors("call", [("set_attr", name, values[lo:hi]) for lo, hi in self._bounds])

    def _generators(self) -> tuple[np.random.Generator, ...]:
        return self._call_all("np_random")

    @property
    def np_random_seed(self) -> tuple[int, ...]:
        """The seed of every lane."""
        return self._call_all("np_random_seed")

    def close_extras(self, **kwargs: object) -> None:
        """Close the environments and end the actors; the connection to the cluster stays."""
        ray = self._ray
        if not ray.is_initialized():
            return
        closing = [actor.call.remote("close") for actor in self._actors]
        with contextlib.suppress(Exception):
            ray.wait(closing, num_returns=len(closing), timeout=CLOSE_SECONDS)
        for actor in self._actors:
            ray.kill(actor)


class LanesActor:
    """The class of the actors, with the vector environment of a range of lanes."""

    envs: VectorEnv

    def make(self, make: Callable[..., VectorEnv], num_envs: int) -> dict[str, object]:
        """Make the environment, and return its attributes `DESCRIBED`."""
        self.envs = make(num_envs=num_envs)
        return {name: getattr(self.envs, name) for name in DESCRIBED}

    def reset(self, seeds: list[int | None], options: Options, mask: Mask) -> tuple[object, Info]:
        """Reset the lanes of a mask."""
        if not mask.all():
            options = {**(options or {}), "reset_mask": mask}
        seed = None if seeds.count(None) == len(seeds) else seeds
        return self.envs.reset(seed=seed, options=options)

    def step(self, actions: object) -> VectorStep:
        """Step all lanes."""
        return self.envs.step(actions)

    def call(self, name: str, *args: object, **kwargs: object) -> object:
        """Call a method of the vector environment, or get an attribute."""
        value = getattr(self.envs, name)
        return value(*args, **kwargs) if callable(value) else value


def joined(layout: Layout, parts: list[object]) -> Any:
    """Concatenate batches of consecutive lanes to one new batch.

    Examples:
        >>> from gymcore.spaces import Discrete
        >>> joined(layout_of(Discrete(3)), [np.array([0, 1]), np.array([2])])
        array([0, 1, 2])
    """

    def join(part: Layout, *batches: np.ndarray) -> object:
        if part[0] == "array":
            return np.concatenate(batches)
        return tuple(itertools.chain.from_iterable(batches))

    return map_layout(join, layout, *parts)


def joined_infos(parts: list[Info], bounds: list[tuple[int, int]]) -> Info:
    """Return the infos of consecutive lanes as one dict, with zeros or None where a key is missing.

    Examples:
        >>> infos = [{"x": np.array([1]), "_x": np.array([True])}, {}]
        >>> joined_infos(infos, [(0, 1), (1, 3)])
        {'x': array([1, 0, 0]), '_x': array([ True, False, False])}
    """
    infos: Info = {}
    for key in dict.fromkeys(itertools.chain.from_iterable(parts)):
        columns = [part.get(key) for part in parts]
        if any(isinstance(column, dict) for column in columns):
            infos[key] = joined_infos([column or {} for column in columns], bounds)
        else:
            infos[key] = _joined_column(columns, bounds)
    return infos


def _joined_column(columns: list[np.ndarray | None], bounds: list[tuple[int, int]]) -> np.ndarray:
    present = [column for column in columns if column is not None]
    shapes = {column.shape[1:] for column in present}
    dtype = np.result_type(*present) if len(shapes) == 1 else np.dtype(object)
    if dtype.kind == "O":
        result = np.full(bounds[-1][1], None, object)
    else:
        result = np.zeros((bounds[-1][1], *shapes.pop()), dtype)
    for column, (lo, hi) in zip(columns, bounds, strict=True):
        if column is not None and dtype.kind == "O":
            for row in range(lo, hi):  # one by one, because values may be arrays
                result[row] = column[row - lo]
        elif column is not None:
            result[lo:hi] = column
    return result
