"""Environments and vector environments for any `FuncEnv` that uses NumPy."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base.arguments import check_options, count
from gymcore.base.nested import map_leaves
from gymcore.core import ActType, Env, Info, ObsType, Options
from gymcore.experimental.functional import FuncEnv
from gymcore.native.array_vector_env import ArrayVectorEnv
from gymcore.vector.utils.infos import merge_info
from gymcore.vector.utils.space_utils import concatenate, create_empty_array, iterate
from gymcore.vector.vector_env import AutoresetMode

if TYPE_CHECKING:
    from gymcore.spaces import Space
    from gymcore.specs import EnvSpec

__all__ = ["FunctionalEnv", "FunctionalVectorEnv"]

Lanes = npt.NDArray[np.intp]


def check_functions(func_env: object) -> None:
    """Raise `ArgumentTypeError` for anything except a `FuncEnv`."""
    if not isinstance(func_env, FuncEnv):
        raise error.ArgumentTypeError(f"func_env: expected a FuncEnv, got {type(func_env)}")


class Frames:
    """The frames of a `FuncEnv`; its render state is created for the first one."""

    def __init__(self, func_env: FuncEnv, render_mode: str | None) -> None:
        if render_mode not in (None, "rgb_array"):
            raise error.UnsupportedMode(
                f"render_mode: expected None or 'rgb_array', got {render_mode!r}"
            )
        self.func_env = func_env
        self._mode = render_mode
        self._render_states: list[object] = []  # empty, or the render state

    def draw(self, state: object) -> npt.NDArray[np.uint8]:
        """Return a frame of the given state."""
        if self._mode is None:
            raise error.UnsupportedMode(
                "render: the environment was made without a render mode; give "
                "render_mode='rgb_array'"
            )
        if not self._render_states:
            self._render_states = [self.func_env.render_init()]
        self._render_states[0], frame = self.func_env.render_image(state, self._render_states[0])
        return frame

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes without the render state."""
        return {**vars(self), "_render_states": []}

    def close(self) -> None:
        """Release the render state; further calls do nothing."""
        while self._render_states:
            self.func_env.render_close(self._render_states.pop())


class FunctionalEnv(Env[ObsType, ActType]):
    """An environment for the functions of a `FuncEnv`, with its own generator.

    A step calls `transition`, `reward`, `terminal`, `observation` and `transition_info`, in this
    order and with the same generator; a reset calls `initial`, `observation` and `state_info`.

    Attributes:
        state: The current state.

    Examples:
        >>> from gymcore import spaces
        >>> class Walk(FuncEnv):
        ...     observation_space = spaces.Box(-9, 9, (), np.float64)
        ...     action_space = spaces.Discrete(2)
        ...     def initial(self, rng, params=None):
        ...         return rng.integers(-1, 2).astype(float)
        ...     def transition(self, state, action, rng, params=None):
        ...         return state + 2.0 * action - 1
        ...     def observation(self, state, rng, params=None):
        ...         return state
        ...     def reward(self, state, action, next_state, rng, params=None):
        ...         return -abs(next_state)
        ...     def terminal(self, state, rng, params=None):
        ...         return abs(state) >= 3
        >>> env = FunctionalEnv(Walk())
        >>> observation, info = env.reset(seed=2)
        >>> float(observation), [float(env.step(1)[0]) for _ in range(2)]
        (1.0, [2.0, 3.0])
    """

    def __init__(
        self,
        func_env: FuncEnv,
        metadata: Info | None = None,
        render_mode: str | None = None,
        spec: EnvSpec | None = None,
    ) -> None:
        """Wrap the functions, which are not changed.

        Args:
            func_env: The functions, with `observation_space` and `action_space`.
            metadata: Metadata of the environment.
            render_mode: None or "rgb_array"; others raise `UnsupportedMode`.
            spec: Spec from which the environment was made, if it was registered.
        """
        check_functions(func_env)
        self.func_env = func_env
        self.observation_space = func_env.observation_space
        self.action_space = func_env.action_space
        self.metadata = metadata or {"render_modes": ["rgb_array"], "render_fps": 30}
        self.render_mode = render_mode
        self.spec = spec
        self.state: object = None
        self._started = False
        self._frames = Frames(func_env, render_mode)

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Start an episode; see `Env.reset`. There are no options."""
        check_options(options)
        super().reset(seed=seed)
        rng = self._random()
        self.state = self.func_env.initial(rng)
        self._started = True
        return self._observation(rng), self.func_env.state_info(self.state)

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, Info]:
        """Take one step; see `Env.step`. Episodes are never truncated: use `TimeLimit`.

        Raises:
            ResetNeeded: If `reset` has not been called.
        """
        if not self._started:
            raise error.ResetNeeded("Cannot call env.step() before calling env.reset()")
        functions, state, rng = self.func_env, self.state, self._random()
        self.state = functions.transition(state, action, rng)
        reward = float(functions.reward(state, action, self.state, rng))
        terminated = bool(functions.terminal(self.state, rng))
        observation = self._observation(rng)
        info = functions.transition_info(state, action, self.state)
        return observation, reward, terminated, False, info

    def _random(self) -> object:
        """Return the source of random numbers for a reset or step."""
        return self.np_random

    def _observation(self, rng: object) -> ObsType:
        """Return an observation of the current state that the caller may keep."""
        observation: ObsType = self.func_env.observation(self.state, rng)
        return deepcopy(observation)

    def render(self) -> npt.NDArray[np.uint8]:
        """Return a frame of the current state, [height, width, 3] uint8.

        Raises:
            UnsupportedMode: If the environment has no render mode.
        """
        return self._frames.draw(self.state)

    def close(self) -> None:
        """Release the render state."""
        self._frames.close()


class FunctionalVectorEnv(ArrayVectorEnv):
    """A vector environment for the functions of a `FuncEnv`, in any autoreset mode.

    Observations are arrays, possibly in dicts and tuples. Lane `i` behaves as a `FunctionalEnv`
    with the same seed: each lane has its own generator.

    Batched functions are called once per step, for all lanes that take one: states, actions,
    observations, infos and results are arrays (or dicts, tuples and lists of arrays) whose first
    axis is the lane, and `rng` is a tuple of the lanes' generators. A function that draws no random
    numbers often needs no change. Other functions are called for each lane in turn.

    Attributes:
        state: The states of all lanes: as returned by the functions if they are batched, otherwise
            an array of objects.

    Examples:
        >>> from gymcore import spaces
        >>> class Walk(FuncEnv):
        ...     batched = True
        ...     observation_space = spaces.Box(-9, 9, (), np.float64)
        ...     action_space = spaces.Discrete(2)
        ...     def initial(self, rng, params=None):
        ...         return np.array([float(r.integers(-1, 2)) for r in rng])
        ...     def transition(self, state, action, rng, params=None):
        ...         return state + 2.0 * action - 1
        ...     def observation(self, state, rng, params=None):
        ...         return state
        ...     def reward(self, state, action, next_state, rng, params=None):
        ...         return -abs(next_state)
        ...     def terminal(self, state, rng, params=None):
        ...         return abs(state) >= 3
        >>> envs = FunctionalVectorEnv(Walk(), num_envs=3, autoreset_mode="SameStep")
        >>> envs.reset(seed=2)[0]
        array([1., 1., 1.])
        >>> for _ in range(2):
        ...     observations, rewards, terminated, truncated, infos = envs.step([1, 0, 0])
        >>> terminated, infos["final_obs"]
        (array([ True, False, False]), array([3., 0., 0.]))
    """

    def __init__(
        self,
        func_env: FuncEnv,
        num_envs: int,
        max_episode_steps: int = 0,
        metadata: Info | None = None,
        render_mode: str | None = None,
        spec: EnvSpec | None = None,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        batched: bool | None = None,
    ) -> None:
        """Wrap the functions; every lane gets a generator with a random seed.

        Args:
            func_env: The functions, with `observation_space` and `action_space` of one lane; not
                changed.
            num_envs: Number of lanes, at least 1.
            max_episode_steps: Steps after which an episode is truncated; 0 for no limit.
            metadata: Metadata of the environment; `autoreset_mode` is added.
            render_mode: None or "rgb_array".
            spec: Spec from which the environment was made, if it was registered.
            autoreset_mode: When to reset a lane whose episode has ended.
            batched: Whether the functions take batches; None for `func_env.batched`, or False.

        Raises:
            ArgumentTypeError: If `func_env` is not a `FuncEnv`, or a number is not an integer.
            InvalidArgument: If a number is out of range, or the autoreset mode is unknown.
            UnsupportedMode: If the render mode is another one.
        """
        check_functions(func_env)
        self.func_env = func_env
        self.time_limit = count("max_episode_steps", max_episode_steps)
        self._frames = Frames(func_env, render_mode)
        super().__init__(
            func_env.observation_space,
            func_env.action_space,
            num_envs,
            max_episode_steps=self.time_limit or None,
            autoreset_mode=autoreset_mode,
            render_mode=render_mode,
        )
        self.metadata = {"render_modes": ["rgb_array"], **(metadata or {})}
        self.metadata["autoreset_mode"] = self.autoreset_mode
        self.spec = spec
        is_batched = getattr(func_env, "batched", False) if batched is None else batched
        self._functions = (BatchedFunctions if is_batched else SingleFunctions)(func_env)
        self._rngs = super().np_random
        self.state: object = None
        self._observations: object = None

    def _reset_lanes(self, seed: Any, options: Options, mask: Any) -> tuple[object, Info]:
        check_options(options)
        return super()._reset_lanes(seed, options, mask)

    def reset_lanes(self, mask: npt.NDArray[np.bool_]) -> tuple[object, Any]:
        """Start episodes in the lanes of a mask; see `ArrayVectorEnv`."""
        functions, lanes = self._functions, np.flatnonzero(mask)
        rngs = self._generators_of(lanes)
        states = functions.call("initial", rngs)
        self._store(lanes, states, functions.call("observation", states, rngs))
        infos = lanes, functions.call("state_info", states)
        return functions.output(self._observations), infos

    def step_lanes(  # type: ignore[override]
        self, actions: object
    ) -> tuple[object, npt.NDArray[np.float64], npt.NDArray[np.bool_], Any]:
        """Take one action in each lane that is not about to be reset; see `ArrayVectorEnv`."""
        functions, lanes = self._functions, np.flatnonzero(~self.resetting)
        rewards, terminated = np.zeros(self.num_envs), np.zeros(self.num_envs, np.bool_)
        row_infos: object = {}
        if len(lanes):
            rngs = self._generators_of(lanes)
            states, moves = self.state, functions.actions(actions, self.action_space)
            if len(lanes) < self.num_envs:
                states, moves = functions.take(states, lanes), functions.take(moves, lanes)
            next_states = functions.call("transition", states, moves, rngs)
            rewards[lanes] = functions.call("reward", states, moves, next_states, rngs)
            terminated[lanes] = functions.call("terminal", next_states, rngs)
            self._store(lanes, next_states, functions.call("observation", next_states, rngs))
            row_infos = functions.call("transition_info", states, moves, next_states)
        return functions.output(self._observations), rewards, terminated, (lanes, row_infos)

    def _generators_of(self, lanes: Lanes) -> tuple[np.random.Generator, ...]:
        return tuple(self._rngs[lane] for lane in lanes.tolist())

    def _store(self, lanes: Lanes, states: object, observations: object) -> None:
        if len(lanes) == self.num_envs:
            self.state, self._observations = states, observations
        else:
            self.state = self._functions.put(self.state, lanes, states)
            self._observations = self._functions.put(self._observations, lanes, observations)

    def _checked_infos(self, method: str, infos: tuple[Lanes, object]) -> tuple[Lanes, object]:
        """Return the infos unchecked, since functions return those of the lanes passed to them."""
        return infos

    def _put_infos(
        self, infos: Info, source: tuple[Lanes, object], mask: npt.NDArray[np.bool_]
    ) -> None:
        """Add the infos of some lanes, as returned by functions, to the rows of a mask."""
        lanes, row_infos = source
        chosen = np.flatnonzero(mask[lanes])
        if len(chosen):
            rows = self._functions.take(row_infos, chosen)
            self._functions.add_infos(infos, rows, lanes[chosen], self.num_envs)

    def render(self) -> tuple[Any, ...]:
        """Return a frame of each lane's state, [height, width, 3] uint8.

        With batched functions, `render_image` is called with batches of one.

        Raises:
            UnsupportedMode: If the environment has no render mode.
        """
        states = (self._functions.state_of(self.state, lane) for lane in range(self.num_envs))
        return tuple(map(self._frames.draw, states))

    def close_extras(self, **kwargs: object) -> None:
        """Release the render state."""
        super().close_extras()
        self._frames.close()


# --- calling the functions of a FuncEnv for lanes -------------------------------------------------


def _map(function: Callable[..., np.ndarray], *batches: object) -> object:
    """Apply a function to the arrays of batches; raise for leaves that are not arrays."""

    def checked(first: object, *others: object) -> np.ndarray:
        if not isinstance(first, np.ndarray):
            raise error.ArgumentTypeError(
                "The functions of a batched FuncEnv: expected states and observations of arrays in "
                f"dicts, tuples and lists, got {type(first)}"
            )
        return function(first, *others)

    return map_leaves(checked, *batches)


class BatchedFunctions:
    """Calls functions written for a batch: the first axis of all arrays is the lane."""

    def __init__(self, func_env: FuncEnv) -> None:
        self._env = func_env

    def call(self, name: str, *batches: object) -> Any:
        """Call the function with this name; return its results for all lanes of the batches."""
        return getattr(self._env, name)(*batches)

    @staticmethod
    def take(batch: object, lanes: Lanes) -> object:
        """Return the rows of the given lanes."""
        return _map(lambda array: array[lanes], batch)

    @staticmethod
    def put(batch: object, lanes: Lanes, rows: object) -> object:
        """Return a copy of a batch with the rows of the given lanes replaced."""

        def put_rows(array: np.ndarray, values: np.ndarray) -> np.ndarray:
            array = array.copy()
            array[lanes] = values
            return array

        return _map(put_rows, batch, rows)

    def state_of(self, states: object, lane: int) -> object:
        """Return the state of a lane in the form expected by `render_image`."""
        return self.take(states, np.array([lane]))

    def actions(self, actions: object, space: Space) -> object:
        """Return a batch of actions as arrays."""
        return np.asarray(actions, space.dtype) if space.dtype is not None else actions

    def output(self, observations: object) -> object:
        """Return observations for the caller: new arrays of the space's dtypes."""
        return _map(np.copy, observations)

    def add_infos(self, infos: Info, rows: Any, lanes: Lanes, num_envs: int) -> None:
        """Add the infos of some lanes, a dict of arrays with one row per lane, to the batch's."""
        for key, value in rows.items():
            if isinstance(value, dict):
                self.add_infos(infos.setdefault(key, {}), value, lanes, num_envs)
            else:
                value = np.asarray(value)
                empty = np.zeros((num_envs, *value.shape[1:]), value.dtype)
                infos.setdefault(key, empty)[lanes] = value
            infos.setdefault(f"_{key}", np.zeros(num_envs, np.bool_))[lanes] = True


class SingleFunctions(BatchedFunctions):
    """Calls functions for one lane after another; a batch is an array of objects."""

    def call(self, name: str, *batches: Any) -> npt.NDArray[np.object_]:
        """Call the function with this name for each lane; return an array of its results."""
        return _objects(list(map(getattr(self._env, name), *batches)))

    def state_of(self, states: Any, lane: int) -> object:
        """Return the state of a lane."""
        return states[lane]

    def actions(self, actions: object, space: Space) -> object:
        """Return a batch of actions, one object each."""
        return _objects(list(iterate(space, actions)))

    def output(self, observations: Any) -> object:
        """Return observations for the caller: a new batch."""
        space = self._env.observation_space
        return concatenate(space, observations, create_empty_array(space, len(observations)))

    def add_infos(self, infos: Info, rows: Any, lanes: Lanes, num_envs: int) -> None:
        """Merge the infos of some lanes into the batch's."""
        for lane, info in zip(lanes.tolist(), rows, strict=True):
            merge_info(infos, info, lane, num_envs)


def _objects(rows: list[object]) -> npt.NDArray[np.object_]:
    """Return an array of these objects, even if they are arrays or sequences."""
    objects = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        objects[i] = row
    return objects
