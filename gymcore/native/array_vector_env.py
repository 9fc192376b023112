"""Vector environments with physics written for whole batches, on top of the compiled engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base.arguments import MAX_COUNT, MAX_STEPS, positive, step_limit
from gymcore.core import Info, Options
from gymcore.native.kernel_spaces import (
    Action,
    action_groups,
    array_layout,
    kernel_action,
    kernel_agents,
    leaves_of,
)
from gymcore.native.state import LaneSeeds
from gymcore.spaces import Space
from gymcore.spaces.batching import batch_space
from gymcore.vector.agents import Agents, Names, Spaces
from gymcore.vector.engine import Lanes, StepResult, VectorEngine
from gymcore.vector.lane_episodes import AUTORESET_NUMBERS, AutoresetMode
from gymcore_ext.engine.batch import Batch
from gymcore_ext.lanes.custom_kernel import CustomKernel, LaneResults
from gymcore_ext.layouts import leaves

Bools = npt.NDArray[np.bool_]


# Action dtype and ranges of a kernel that passes actions to Python unchecked.
_UNCHECKED_ACTION: Action = ((np.int64, ()), ((0, 1),))


def put_infos(infos: Info, source: Info, mask: Bools) -> None:
    """Copy the rows of a mask from `source` (arrays `[num_envs, ...]`) to the infos of a batch.

    Examples:
        >>> infos = {}
        >>> put_infos(infos, {"speed": np.array([1.0, 2.0])}, np.array([False, True]))
        >>> infos
        {'speed': array([0., 2.]), '_speed': array([False,  True])}
    """
    for key, value in source.items():
        if isinstance(value, dict):
            put_infos(infos.setdefault(key, {}), value, mask)
        else:
            rows = np.asarray(value)
            _rows_of(infos.setdefault(key, np.zeros_like(rows)), key, rows)[mask] = rows[mask]
        infos.setdefault(f"_{key}", np.zeros(len(mask), np.bool_))[mask] = True


def _rows_of(array: Any, key: object, rows: np.ndarray) -> np.ndarray:
    """Return the infos' array for a key, after a check that `rows` can be written to it."""
    if isinstance(array, np.ndarray) and array.shape == rows.shape:
        return array
    raise error.InvalidArgument(
        f"infos[{key!r}]: expected an array of shape {np.shape(array)} as in the other infos of "
        f"this step, got shape {rows.shape}"
    )


def _checked_infos(name: str, infos: object, num_envs: int) -> Info:
    """Return infos of all lanes, after a check that each value has a row for each lane."""
    if not isinstance(infos, dict):
        raise error.ArgumentTypeError(f"{name}: expected a dict, got {infos!r:.80} ({type(infos)})")
    for key, value in infos.items():
        if isinstance(value, dict):
            _checked_infos(f"{name}[{key!r}]", value, num_envs)
            continue
        try:
            shape = np.shape(value)
        except ValueError:  # lists of different lengths
            shape = ()
        if shape[:1] != (num_envs,):
            raise error.InvalidArgument(
                f"{name}[{key!r}]: expected an array of shape ({num_envs}, ...), got "
                f"{value!r:.80} of shape {shape}"
            )
    return infos


class _TeamActions:
    """The actions of worlds, as batches of their space, from those that the engine has checked."""

    def __init__(self, team: Agents, sizes: Sequence[int], action: Action, space: Space) -> None:
        lowest = [low for low, _ in action[1]]
        self._lowest = np.array(lowest) if lowest else np.zeros(sum(sizes))
        self._agents = np.repeat(np.arange(len(sizes)), sizes)  # of each number
        self._groups = action_groups(space, team)

    def of_active(self, joined: np.ndarray, active: Bools) -> object:
        """Return the batch, in which agents that do not take part have their lowest actions.

        Args:
            joined: [num_envs, ...], the numbers of all agents in order; they are changed.
            active: [num_envs, agents].
        """
        rows = joined.reshape(len(joined), -1)
        np.copyto(rows, self._lowest, where=~active[:, self._agents], casting="same_kind")
        if self._groups is None:
            return joined
        parts, first = {}, 0
        for group, shape in self._groups:
            last = first + int(np.prod(shape))
            parts[group] = rows[:, first:last].reshape(-1, *shape)
            first = last
        return parts


class ArrayVectorEnv(VectorEngine):
    """Base of vector environments whose physics works on arrays of all lanes.

    A subclass computes the physics and the compiled engine does the rest: it checks actions, counts
    steps, ends episodes at the time limit, resets in any autoreset mode, keeps last observations
    and statistics, and returns arrays that belong to the caller. Subclasses define:

    - `reset_lanes(mask)`: Begin episodes in the lanes of a bool `[num_envs]` mask. Return
      observations and infos of all lanes; only the rows of the mask are read.
    - `step_lanes(actions)`: Step all lanes. Return observations, rewards `[num_envs]`, terminated
      `[num_envs]`, truncated `[num_envs]` (may be left out) and infos. Rows of lanes in `resetting`
      are not read, because these lanes begin an episode.

    In worlds of several `agents`, actions and observations are batches of their joint spaces, and
    rewards, terminated and truncated are `[num_envs, agents]`. The engine ignores the rows of
    agents that have ended, which are False in `active`, and gives them their lowest action.

    Observations are batches of the observation space: NumPy arrays, or objects that convert to
    arrays without a copy, such as CPU tensors. Infos are dicts of arrays `[num_envs, ...]`. The
    engine copies all of these. Results do not depend on the batch size if the lanes draw from their
    own streams: with `random(mask, size)`, or with the generators in `np_random`.

    Attributes:
        resetting: Bool `[num_envs]`, in `step_lanes`: lanes that are about to be reset.
        active: Bool `[num_envs, agents]`, in `step_lanes` of worlds: agents that take part.
        reset_options: In `reset_lanes`, the `options` of `reset` without `reset_mask`.
        max_episode_steps: Steps after which an episode is truncated; None for no limit.

    Examples:
        >>> from gymcore import spaces
        >>> class Walks(ArrayVectorEnv):
        ...     def __init__(self, num_envs, **kwargs):
        ...         box, actions = spaces.Box(-9, 9, (1,), np.float32), spaces.Discrete(2)
        ...         super().__init__(box, actions, num_envs, **kwargs)
        ...         self.position = np.zeros((num_envs, 1))
        ...     def reset_lanes(self, mask):
        ...         self.position[mask] = self.random(mask, 1)
        ...         return self.position, {}
        ...     def step_lanes(self, actions):
        ...         self.position[:, 0] += 2 * actions - 1
        ...         return self.position, -abs(self.position[:, 0]), self.position[:, 0] > 2, {}
        >>> envs = Walks(2, autoreset_mode="SameStep")
        >>> envs.reset(seed=1)[0].round(2).ravel()
        array([0.51, 0.26], dtype=float32)
        >>> for _ in range(2):
        ...     observations, rewards, terminated, truncated, infos = envs.step([1, 0])
        >>> terminated, infos["final_obs"].round(2).ravel()
        (array([ True, False]), array([2.51, 0.  ], dtype=float32))
    """

    steps_some_lanes = False
    stacks_final_obs = True
    active: Bools

    def __init__(
        self,
        observation_space: Spaces,
        action_space: Spaces,
        num_envs: int,
        *,
        agents: Names | None = None,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        episode_statistics: bool = False,
        copy: bool = True,
        render_mode: str | None = None,
    ) -> None:
        """Create the batch.

        Args:
            observation_space: Space of one lane's observation: an array, or Dict and Tuple of them.
            action_space: Space of one lane's action. Only actions that are one array are checked.
            num_envs: Number of lanes.
            agents: The agents of a world (see `gymcore.vector.agents.Agents`): the spaces are then
                those of one agent, or dicts of those of groups. None for a single agent.
            max_episode_steps: Steps after which an episode is truncated; None or -1 for no limit.
            autoreset_mode: When an ended lane begins a new episode.
            episode_statistics: Whether to report ended episodes in `infos["episode"]`.
            copy: Whether returned arrays belong to the caller; if False, steps reuse them.
            render_mode: The render mode, which the subclass implements.

        Raises:
            InvalidArgument: If a value is out of range, elements of the observation space are not
                arrays, or actions of agents are not arrays of one type.
            ArgumentTypeError: If a number is not an integer.
        """
        self._set_options(
            positive("num_envs", num_envs, MAX_COUNT),
            autoreset_mode,
            copy=copy,
            episode_statistics=episode_statistics,
        )
        num_envs = self.num_envs
        limit = step_limit("max_episode_steps", max_episode_steps)
        self.max_episode_steps = None if limit == -1 else limit
        spaces: Any = (observation_space, action_space)
        team = None if agents is None else Agents(agents, *spaces)
        rows: tuple[int, ...] = (num_envs,)
        if team is None:
            for name, space in zip(("observation_space", "action_space"), spaces, strict=True):
                if not isinstance(space, Space):
                    raise error.ArgumentTypeError(f"{name}: expected a space, got {space!r}")
        else:
            self.agents, spaces, rows = team, team.world_spaces, (num_envs, len(team.names))
        self.single_observation_space, self.single_action_space = spaces
        self.observation_space, self.action_space = (batch_space(s, num_envs) for s in spaces)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = render_mode
        self.reset_options: dict[str, object] = {}
        self.resetting = self._begun = np.zeros(num_envs, np.bool_)
        self._is_inside = False  # whether `step_lanes` or `reset_lanes` is running
        self._step_infos: Info = {}
        self._reset_infos: Info = {}

        layout = self._layout = array_layout("observation_space", spaces[0])
        parts = leaves_of(layout)
        checked = kernel_action(spaces[1], team)
        self._checks_actions = checked is not None
        of_agents = kernel_agents(team, layout)
        if team is not None:
            if checked is None:
                raise error.InvalidArgument(
                    "action_space: expected Discrete, MultiDiscrete, MultiBinary, or Box of "
                    f"float32 or float64 with an axis for agents, got {action_space}"
                )
            self._team_actions = _TeamActions(team, of_agents["agents"], checked, spaces[1])
        action, ranges = checked or _UNCHECKED_ACTION
        kernel = CustomKernel(
            type(self).__name__,
            parts=parts,
            action=action,
            ranges=ranges,
            loops=False,
            **of_agents,
        )
        self._last, self._first = (
            [np.zeros((num_envs, *shape), dtype) for dtype, shape in parts] for _ in range(2)
        )
        self._rewards, self._ends = np.zeros(rows), np.zeros(rows, np.uint8)
        self._terminated, self._truncated = np.zeros((2, *rows), np.bool_)
        self._no_actions = np.zeros(num_envs, np.int64)
        self._batch = Batch(
            kernel.capsule,
            num_envs,
            limit=min(self.max_episode_steps or 0, MAX_STEPS),
            mode=AUTORESET_NUMBERS[self.autoreset_mode],
            reuse=not copy,
            statistics=episode_statistics,
            errors=error,
            store=LaneResults(kernel, self._last, self._first, self._rewards, self._ends),
            layout=layout,
            action_groups=action_groups(spaces[1], team),
        )
        self._ended, self._elapsed, _ = self._batch.view_lifecycle()
        self._seeds = LaneSeeds(self._batch)
        self._find_action_layout()

    # --- methods for subclasses ----------------------------------------------------------------

    def reset_lanes(self, mask: Bools) -> tuple[object, Info]:
        """Begin episodes in the lanes of a mask; return observations and infos of all lanes."""
        raise NotImplementedError(f"{type(self).__name__}.reset_lanes")

    def step_lanes(self, actions: object) -> tuple[object, ...]:  # type: ignore[override]
        """Step all lanes; return observations, rewards, flags and infos of all lanes.

        Args:
            actions: A batch of the action space; a copy if the engine checks such actions.
        """
        raise NotImplementedError(f"{type(self).__name__}.step_lanes")

    def random(self, mask: Bools, size: int) -> npt.NDArray[np.float64]:
        """Draw uniformly from [0, 1): float64 `[lanes in the mask, size]`.

        Each row equals `Generator.random(size)` of its lane; `low + (high - low) * x` equals
        `Generator.uniform`.
        """
        return self._batch.random(mask.nonzero()[0], size)

    @property
    def np_random_seed(self) -> tuple[int, ...]:
        """The seed of every lane."""
        return self._seeds.as_tuple()

    def lane_generators(self, lanes: Sequence[int]) -> list[np.random.Generator]:
        """Return generators over the random streams of some lanes."""
        return self._seeds.generators(lanes)

    # --- the engine ----------------------------------------------------------------------------

    @property
    def _needs_reset(self) -> bool:
        return not self._batch.is_ready

    def _reset_lanes(
        self, seed: int | list[int | None] | None, options: Options, mask: Bools | None
    ) -> tuple[object, Info]:
        self._refuse_inside("reset")
        self.reset_options = dict(options or {})
        self._seeds.reset(seed, mask)
        begun = np.ones(self.num_envs, np.bool_) if mask is None else mask
        self._begin_episodes(begun)
        observations, infos = self._batch.reset(mask)
        self._put_infos(infos, self._reset_infos, begun)
        return observations, infos

    def _checked_actions(self, actions: npt.ArrayLike, count: int) -> object:
        return self._batch.checked_actions(actions, count) if self._checks_actions else actions

    def _step_engine(self, actions: Any, lanes: Lanes | None) -> StepResult:
        self._refuse_inside("step")
        batch = self._batch
        checked = actions if self._checks_actions else self._no_actions
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            self.resetting = self._ended.copy()
        self._begun = self.resetting
        if self.agents is not None:
            self.active = batch.view_agents()[0] == 1
            checked = actions = self._team_actions.of_active(actions, self.active)
        self._is_inside = True
        try:
            observations, rewards, terminated, *truncated, step_infos = self.step_lanes(actions)
            self._step_infos = self._checked_infos("step_lanes", step_infos)
            self._copy_observations(self._last, "step_lanes: observations", observations)
            _copy_rows(self._rewards, "step_lanes: rewards", rewards)
            _copy_rows(self._terminated, "step_lanes: terminated", terminated)
            self._ends[:] = self._terminated
            if truncated:
                (flags,) = truncated
                _copy_rows(self._truncated, "step_lanes: truncated", flags)
                self._ends[self._truncated] |= 2
            final_infos: Info = {}
            begins: np.ndarray = self.resetting
            if same_step := self.autoreset_mode is AutoresetMode.SAME_STEP:
                begins = self._ends
                if self.agents is not None:  # a world ends with its last agent
                    begins = ((begins != 0) | ~self.active).all(axis=1)
                if self.max_episode_steps is not None:
                    begins = begins | (self._elapsed >= self.max_episode_steps - 1)
            if np.count_nonzero(begins):  # faster than `any`
                self._begun = begins != 0
                if same_step:
                    self._put_infos(final_infos, self._step_infos, self._begun)
                self._begin_episodes(self._begun)
            results: StepResult = batch.step(checked)
            infos = results[4]
            if self._step_infos:
                self._put_infos(infos, self._step_infos, ~self._begun)
            if final_infos:
                infos["final_info"] |= final_infos
            if self._reset_infos:
                self._put_infos(infos, self._reset_infos, self._begun)
        except BaseException:
            batch.require_reset()
            raise
        finally:
            self._is_inside = False
        return results

    def _begin_episodes(self, mask: Bools) -> None:
        was_inside, self._is_inside = self._is_inside, True
        try:
            observations, infos = self.reset_lanes(mask)
            self._reset_infos = self._checked_infos("reset_lanes", infos)
            self._copy_observations(self._first, "reset_lanes: observations", observations)
        except BaseException:
            self._batch.require_reset()
            raise
        finally:
            self._is_inside = was_inside

    def _copy_observations(self, arrays: list[np.ndarray], name: str, values: object) -> None:
        error_type = error.InvalidArgument
        parts = leaves(self._layout, name, values, error_type, error_type)
        for array, (where, _, rows) in zip(arrays, parts, strict=True):
            _copy_rows(array, where, rows)

    def _refuse_inside(self, method: str) -> None:
        if self._is_inside:
            raise error.ConcurrentUseError(
                f"{method}: cannot be called from step_lanes or reset_lanes"
            )

    def _checked_infos(self, method: str, infos: Any) -> Any:
        """Check the infos that a method has returned, and return them for `_put_infos`."""
        return _checked_infos(f"{method}: infos", infos, self.num_envs)

    def _put_infos(self, infos: Info, source: Any, mask: Bools) -> None:
        if mask.any():
            put_infos(infos, source, mask)

    def _ended_lanes(self) -> Bools:
        return self._ended

    def _end_lanes(self, mask: Bools) -> None:
        self._ended[mask] = True

    def close_extras(self, **kwargs: object) -> None:
        """Close the batch."""
        self._batch.close()


def _copy_rows(array: np.ndarray, name: str, values: object) -> None:
    """Copy values of all lanes into an array of the same kind of numbers."""
    rows = np.asarray(values)
    if rows.shape != array.shape and (rows.ndim or array.ndim > 1):  # one number is for all lanes
        raise error.InvalidArgument(
            f"{name}: expected an array of shape {array.shape} ({array.dtype}), got shape "
            f"{rows.shape} ({rows.dtype})"
        )
    try:
        np.copyto(array, rows, casting="same_kind")
    except TypeError as problem:
        raise error.ArgumentTypeError(
            f"{name}: expected {array.dtype}, got {rows.dtype}"
        ) from problem
