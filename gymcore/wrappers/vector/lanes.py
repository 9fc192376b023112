"""Shared parts of vector wrappers with per-lane state, which can also step some lanes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gymcore import logger
from gymcore.base.nested import map_leaves
from gymcore.core import Env, Info, Options
from gymcore.error import ArgumentTypeError, InvalidAction, UnsupportedMode
from gymcore.spaces import Space
from gymcore.spaces.layouts import Layout, layout_of, map_layout
from gymcore.vector.agents import Agents
from gymcore.vector.gym26_infos import add_gym26_names, remove_gym26_names
from gymcore.vector.lane_episodes import LaneEpisodes
from gymcore.vector.utils import batch_space, concatenate, create_empty_array, iterate
from gymcore.vector.utils.infos import merge_info, split_info
from gymcore.vector.vector_env import (
    AutoresetMode,
    EnvIds,
    Seeds,
    VectorEnv,
    VectorStep,
    VectorWrapper,
)
from gymcore.wrappers.utils import Array

Lanes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

Batch = TypeVar("Batch")
Single = TypeVar("Single")
Form = TypeVar("Form", bound="VectorForm")


class LaneWrapper(VectorWrapper):
    """Base class of wrappers that track the episode of each lane, and can also step some lanes.

    Subclasses define `step(actions, env_ids=None)`, and `_begin` if they have per-lane state.
    """

    _takes_worlds = False  # whether it works for worlds of several agents

    def __init__(self, env: VectorEnv) -> None:
        super().__init__(env)
        self._episodes = LaneEpisodes(env, takes_worlds=self._takes_worlds)

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[object, Info]:
        """Reset all lanes, or those in `options["reset_mask"]`; see `VectorEnv.reset`."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._begin(observations, self._episodes.reset(options)), infos

    def _begin(self, observations: object, begun: Mask) -> object:
        """Return the observations after a reset of the lanes in a mask."""
        return observations

    @property
    def steps_some_lanes(self) -> bool:
        """Whether the wrapped environment can step some of its lanes."""
        return bool(self.env.steps_some_lanes)

    def end_episodes(self, mask: Mask) -> None:
        """End episodes of the wrapped environment; see `VectorEnv.end_episodes`."""
        self.env.end_episodes(mask)
        self._episodes.end(mask)

    def _lane_attributes(self, names: tuple[str, ...]) -> list[tuple[object, str]]:
        of_episodes = ["ended", "agents_ended"][: 1 + (self._episodes.agents_ended is not None)]
        return [
            *super()._lane_attributes(names),
            *((self._episodes, name) for name in of_episodes),
        ]

    def _step(self, actions: object, env_ids: EnvIds | None) -> tuple[VectorStep, Lanes | None]:
        """Step all lanes of the wrapped environment, or those in `env_ids`.

        Returns:
            The five results, and the lanes as int64 `[k]`; None for all lanes.
        """
        if env_ids is None:
            return self.env.step(actions), None
        results = self.env.step_lanes(actions, env_ids)
        return results, results[4]["env_id"]

    def _reset_only(self, lanes: Lanes | None) -> Mask:
        """Return a mask of the lanes (None for all) that the next step only resets."""
        ended = self._episodes.ended if lanes is None else self._episodes.ended[lanes]
        return ended if self._episodes.mode is AutoresetMode.NEXT_STEP else np.zeros_like(ended)


class AgentRows:
    """The rows of a batch that a wrapper changes one by one: the agents of worlds, or the lanes.

    Attributes:
        spaces: The observation space and the action space of a row. Those of a lane if the agents
            of worlds have different spaces.

    Examples:
        >>> import gymcore as gym
        >>> rows = AgentRows(gym.make_vec("mpe/simple_spread_v3", 2))
        >>> rows.spread(np.zeros((2, 3, 18))).shape, rows.spaces[1]
        ((6, 18), Discrete(5))
    """

    def __init__(self, env: VectorEnv) -> None:
        """Take the rows of `env`."""
        self._agents = agents = env.agents
        self.spaces = env.single_observation_space, env.single_action_space
        if agents is not None and agents.groups is None:
            name = agents.names[0]
            self.spaces = agents.observation_space(name), agents.action_space(name)

    def spread(self, batch: Batch) -> Batch:
        """Return a batch of worlds as one of agents: its arrays without the axis of worlds."""
        return self._reshaped(batch, lambda array: (-1, *array.shape[2:]))

    def joined(self, batch: Batch) -> Batch:
        """Return a batch of agents as one of worlds."""
        count = len(self._agents.names) if self._agents else 1
        return self._reshaped(batch, lambda array: (-1, count, *array.shape[1:]))

    def _reshaped(self, batch: Batch, shape: Callable[[Array], tuple[int, ...]]) -> Batch:
        if self._agents is None:
            return batch
        reshaped: Batch = map_leaves(lambda array: np.asarray(array).reshape(shape(array)), batch)
        return reshaped

    def set_space(self, wrapper: VectorWrapper, role: int, space: Space) -> None:
        """Set the observation space (`role` 0) or action space (1) of the rows of a wrapper.

        Raises:
            UnsupportedMode: If the agents of worlds have different spaces.
        """
        what = ("observation", "action")[role]
        if self._agents is not None:
            if self._agents.groups is not None:
                raise UnsupportedMode(
                    f"{type(wrapper).__name__}: expected agents that have the same spaces, got "
                    f"{self._agents}"
                )
            spaces = (space, self.spaces[1]) if role == 0 else (self.spaces[0], space)
            wrapper.agents = Agents(self._agents.names, *spaces)
            space = wrapper.agents.world_spaces[role]
        setattr(wrapper, f"single_{what}_space", space)
        setattr(wrapper, f"{what}_space", batch_space(space, wrapper.num_envs))


class SpacesOnly(Env):
    """A stand-in for one environment of a batch, for constructing a single wrapper."""

    def __init__(self, observation_space: Space, action_space: Space) -> None:
        self.observation_space = observation_space
        self.action_space = action_space


def make_single(env: VectorEnv, wrapper: Any, base: type[Single], arguments: Info) -> Single:
    """Return a single wrapper around an environment that has only the spaces of the rows.

    `wrapper` is a class derived from `base`, or a function that returns an instance of it from an
    environment and the arguments; for anything else an `ArgumentTypeError` is raised.
    """
    problem = f"Expected wrapper to be a class derived from {base.__name__}, got {wrapper!r}"
    if not callable(wrapper) or (isinstance(wrapper, type) and not issubclass(wrapper, base)):
        raise ArgumentTypeError(problem)
    single = wrapper(SpacesOnly(*AgentRows(env).spaces), **arguments)
    if not isinstance(single, base):
        raise ArgumentTypeError(problem)
    return single


class VectorForm:
    """A mixin that gives a vector wrapper the arguments of a single wrapper.

    The next base class takes the vector environment and a function that wraps one environment, as
    `VectorizeTransformObservation` does. The decorator `vector_form` sets the single wrapper.
    """

    _single: Callable[..., object]

    def __init__(self, env: VectorEnv, *args: object, **kwargs: object) -> None:
        def wrap(lane: Env) -> object:
            return self._single(lane, *args, **kwargs)

        begin: Callable[..., None] = super().__init__  # of the other base class
        begin(env, wrap)


def vector_form(single: type[Env]) -> Callable[[type[Form]], type[Form]]:
    """Return a decorator that makes a class the vector version of a single wrapper.

    The constructor gets the signature and docstring of the constructor of `single`.

    Examples:
        >>> import inspect
        >>> from gymcore.wrappers import ReshapeObservation
        >>> from gymcore.wrappers.vector import VectorizeTransformObservation
        >>> @vector_form(ReshapeObservation)
        ... class Reshaped(VectorForm, VectorizeTransformObservation):
        ...     "Give the observations of each lane another shape."
        >>> list(inspect.signature(Reshaped.__init__).parameters)
        ['self', 'env', 'shape']
    """

    def derive(form: type[Form]) -> type[Form]:
        @wraps(single.__init__)
        def init(self: Form, env: VectorEnv, *args: object, **kwargs: object) -> None:
            VectorForm.__init__(self, env, *args, **kwargs)

        form._single = single
        form.__init__ = init  # type: ignore[method-assign, assignment]
        form.__doc__ = (
            f"{inspect.getdoc(form)}\n\n"
            f"The arguments and errors are those of `gymcore.wrappers.{single.__name__}`.\n"
            "`wrapper` is one of these, around an environment that has only the spaces."
        )
        return form

    return derive


def set_spaces(
    wrapper: VectorWrapper, what: str, batched: Space | None, single: Space | None
) -> None:
    """Set the spaces of a wrapper that applies a function to batches; warn if they disagree.

    `what` is "observation" or "action". If `batched` is None, it is derived from `single`; if both
    are None, the spaces are those of the wrapped environment.
    """
    if single is not None:
        setattr(wrapper, f"single_{what}_space", single)
        setattr(wrapper, f"{what}_space", batch_space(single, wrapper.num_envs))
    if batched is not None:
        setattr(wrapper, f"{what}_space", batched)
    space = getattr(wrapper, f"{what}_space")
    expected = batch_space(getattr(wrapper, f"single_{what}_space"), wrapper.num_envs)
    if space != expected:
        logger.warn(
            f"For {wrapper.env}, the {what} space and the batched single {what} space don't match "
            f"as expected, {what}_space={space}, batched single_{what}_space={expected}"
        )


class BatchIndexer:
    """Select and replace rows in batches of any space.

    Examples:
        >>> import numpy as np
        >>> from gymcore.spaces import Dict, Discrete, Text
        >>> indexer = BatchIndexer(Dict(x=Discrete(9), name=Text(2)))
        >>> batch = {"name": ("a", "b", "c"), "x": np.array([5, 6, 7])}
        >>> part = indexer.take(batch, np.array([2, 0]))
        >>> part["x"], part["name"]
        (array([7, 5]), ('c', 'a'))
    """

    def __init__(self, space: Space) -> None:
        """Prepare for batches of `space`, the space of one row."""
        self.layout = layout_of(space)

    def check_actions(self, actions: object, count: int) -> None:
        """Check the structure of a batch, and that each of its arrays has `count` rows.

        Raises:
            InvalidAction: If the structure or the number of rows is wrong.
        """
        counts: set[int] = set()

        def count_items(items: list[object]) -> list[object]:
            counts.add(len(items))
            return items

        try:
            _apply(self.layout, lambda array: counts.add(len(array)), count_items, actions)
        except (TypeError, KeyError, IndexError):
            raise InvalidAction(
                f"actions: expected a batch of {count}, got {type(actions).__name__}"
            ) from None
        if counts - {count}:
            raise InvalidAction(
                f"actions: expected a batch of {count}, got {max(counts - {count})}"
            )

    def copy(self, batch: Batch) -> Batch:
        """Return a copy of a batch; lists of numbers become arrays."""
        return _apply(self.layout, np.array, list, batch)

    def take(self, batch: Batch, rows: Lanes) -> Batch:
        """Return a new batch with the given rows."""
        return _apply(
            self.layout,
            lambda array: np.asarray(array)[rows],
            lambda items: [items[row] for row in rows.tolist()],
            batch,
        )

    def put(self, batch: Batch, rows: Lanes, part: Batch) -> Batch:
        """Replace rows of a batch, and return the batch; its arrays are changed in place.

        Args:
            batch: A batch as returned by `copy`.
            rows: Indices of the rows to replace, int64 `[k]`.
            part: A batch of k rows.
        """

        def put_array(array: Array, values: npt.ArrayLike) -> Array:
            array[rows] = values
            return array

        def put_items(items: list[object], values: list[object]) -> list[object]:
            for row, value in zip(rows.tolist(), values, strict=True):
                items[row] = value
            return items

        return _apply(self.layout, put_array, put_items, batch, part)

    def choose(self, mask: Mask, batch: Batch, other: Batch) -> Batch:
        """Return a new batch: rows of `batch` where the mask is true, of `other` elsewhere."""

        def choose_array(rows: npt.ArrayLike, others: npt.ArrayLike) -> Array:
            return np.where(mask.reshape((-1,) + (1,) * (np.ndim(rows) - 1)), rows, others)

        def choose_items(items: list[object], others: list[object]) -> list[object]:
            return [
                item if chosen else other
                for item, other, chosen in zip(items, others, mask.tolist(), strict=True)
            ]

        return _apply(self.layout, choose_array, choose_items, batch, other)


def _apply(
    layout: Layout,
    on_arrays: Callable[..., object],
    on_items: Callable[..., list[object]],
    *batches: Batch,
) -> Batch:
    """Apply functions to the arrays of batches, and to the rows of parts that are not arrays."""

    def apply(part: Layout, *parts: object) -> object:
        if part[0] == "array":
            return on_arrays(*parts)
        space = part[1].space
        items = on_items(*[_rows_of(space, batch) for batch in parts])
        return deepcopy(concatenate(space, items, create_empty_array(space, len(items))))

    result: Batch = map_layout(apply, layout, *batches)
    return result


def _rows_of(space: Space, batch: Any) -> list[object]:
    """Return the rows of a batch; the arrays of a stacked batch give their number."""
    arrays = batch
    while isinstance(arrays, dict):
        arrays = next(iter(arrays.values()))
    return list(iterate(batch_space(space, len(arrays)), batch))


def without(infos: Info, *names: str) -> Info:
    """Return infos without some entries and their masks.

    Examples:
        >>> without({"final_obs": 1, "_final_obs": 2, "speed": 3}, "final_obs")
        {'speed': 3}
    """
    dropped = {*names, *(f"_{name}" for name in names)}
    return {key: value for key, value in infos.items() if key not in dropped}


def join_infos(parts: list[tuple[Info, Lanes, Lanes]], num_rows: int) -> Info:
    """Merge rows of several infos into one new dict with `num_rows` rows.

    Each part consists of infos, the rows to take from their arrays, and the rows of the result.
    Final observations that are one array in every part stay one array.

    Examples:
        >>> import numpy as np
        >>> first = {"speed": np.array([1.0, 2.0]), "_speed": np.array([True, True])}
        >>> again = {"speed": np.array([5.0]), "_speed": np.array([True])}
        >>> parts = [(first, np.array([0]), np.array([0])), (again, np.array([0]), np.array([1]))]
        >>> join_infos(parts, 2)["speed"]
        array([1., 5.])
    """
    rows: list[tuple[int, int, Info]] = []
    final_obs = []
    for infos, source, target in parts:
        plain = remove_gym26_names(infos)
        if "final_obs" in plain:
            final_obs.append(plain["final_obs"])
        if plain:
            pairs = zip(target.tolist(), source.tolist(), strict=True)
            rows += [(place, row, plain) for place, row in pairs]
    joined: Info = {}
    for place, row, plain in sorted(rows, key=lambda each: each[0]):
        merge_info(joined, split_info(plain, row), place, num_rows)
    if "final_obs" in joined and all(last.dtype != object for last in final_obs):
        last = np.zeros((num_rows, *final_obs[0].shape[1:]), final_obs[0].dtype)
        for place in np.flatnonzero(joined["_final_obs"]).tolist():
            last[place] = joined["final_obs"][place]
        joined["final_obs"] = last
    if any("final_observation" in infos for infos, _, _ in parts):
        return add_gym26_names(joined)
    return joined
