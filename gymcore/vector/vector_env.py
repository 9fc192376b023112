"""The base classes of vector environments and of wrappers around them.

A vector environment steps `num_envs` independent copies of one environment at once. Observations,
rewards and flags are batched along the first axis, and the info dicts are merged into one dict of
arrays (see `gymcore.vector.utils.infos`). When an episode ends, a new one begins in the same slot;
`AutoresetMode` determines when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from typing_extensions import TypeVar

from gymcore import logger
from gymcore.base import program, seeding
from gymcore.base.arguments import lane_indices
from gymcore.base.forwarded import forwarded, overridable, settable
from gymcore.core import (
    ActType,
    Info,
    Metadata,
    NoSeed,
    ObsType,
    Options,
    RenderFrame,
    WrapperActType,
    WrapperObsType,
    without_mode,
)
from gymcore.error import ArgumentTypeError, UnsupportedMode, bridge_hint
from gymcore.vector.final_observations import change_final_observations
from gymcore.vector.lane_episodes import AutoresetMode
from gymcore.vector.utils.infos import merge_info

if TYPE_CHECKING:
    from gymcore.spaces import Space
    from gymcore.specs import EnvSpec
    from gymcore.vector.agents import Agents

_Result = TypeVar("_Result")
ArrayType = TypeVar("ArrayType", default=Any)

# One seed or one for each lane; indices or a mask of lanes; the results of a step.
Seeds: TypeAlias = int | Sequence[int | None] | None
EnvIds: TypeAlias = Sequence[int] | np.ndarray
VectorStep: TypeAlias = tuple[ObsType, ArrayType, ArrayType, ArrayType, Info]

__all__ = [
    "ArrayType",
    "AutoresetMode",
    "VectorActionWrapper",
    "VectorEnv",
    "VectorObservationWrapper",
    "VectorRewardWrapper",
    "VectorWrapper",
]


class VectorEnv(Generic[ObsType, ActType, ArrayType]):
    """Base class of vector environments.

    Attributes:
        num_envs: Number of environments in the batch.
        observation_space: Space of a whole batch of observations.
        action_space: Space of a whole batch of actions.
        single_observation_space: Space of one environment's observation.
        single_action_space: Space of one environment's action.
        metadata: The metadata of an environment, with the additional entry `autoreset_mode`.
        spec: The spec that `gymcore.make_vec` used, or None.
        render_mode: The render mode of the environments, or None.
        closed: Whether `close` has been called.
        agents: The agents of each environment, if environments are worlds of several agents.
        is_vector_env: True, for code that handles both kinds of environments.
        steps_some_lanes: Whether `step_lanes` can step some environments and not the others.
        stacks_final_obs: Whether `infos["final_obs"]` is one array, with zeros for environments
            that have not ended, instead of an object array.
        state_is_array: Whether `get_state` returns one structured array, without pickles.
        has_gym26_infos: Whether infos of ended episodes also have Gym 0.26's names.

    A vector environment is a context manager; leaving the `with` block closes it:

    Examples:
        >>> import gymcore as gym
        >>> with gym.make_vec("CartPole-v1", num_envs=3) as envs:
        ...     observations, infos = envs.reset(seed=7)
        >>> observations.shape, envs.closed
        ((3, 4), True)
    """

    __module__ = program.imported_name(__name__)  # as for subclasses, below

    metadata: Metadata = {}  # noqa: RUF012 (instances assign their own)
    spec: EnvSpec | None = None
    render_mode: str | None = None
    closed: bool = False
    agents: Agents | None = None
    is_vector_env: bool = True
    stacks_final_obs: bool = False
    state_is_array: bool = False
    has_gym26_infos: bool = False

    observation_space: Space
    action_space: Space
    single_observation_space: Space
    single_action_space: Space

    num_envs: int

    _np_random: np.random.Generator | None = None
    _np_random_seed: int | None = None

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Put the class in the package under the name that the program imports."""
        super().__init_subclass__(**kwargs)
        if cls.__module__.startswith("gymcore."):
            program.put_in_imported_module(cls)

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[ObsType, Info]:
        """Start new episodes. The base class only seeds `np_random`; overrides call it first.

        Args:
            seed: None leaves the generators unchanged; an integer `s` seeds environment `i` with
                `s + i`; a sequence has one seed or None for each environment.
            options: Options for the environments. `options["reset_mask"]` `[num_envs] bool` selects
                the environments to reset; the others keep their last observation.

        Returns:
            The batch of first observations, and the merged infos.
        """
        if seed is not None:
            own_seed = cast("int", seed)  # another one raises
            self._np_random, self._np_random_seed = seeding.np_random(own_seed)
        return cast("tuple[ObsType, Info]", None)  # a subclass returns the observations

    def step(self, actions: ActType) -> VectorStep[ObsType, ArrayType]:
        """Take one action in every environment.

        Args:
            actions: A batch of actions, an element of `action_space`.

        Returns:
            observations: The batch of observations.
            rewards: `[num_envs] float64`.
            terminations: `[num_envs] bool`, whether the episode reached a terminal state.
            truncations: `[num_envs] bool`, whether the episode was cut off (both may be true).
            infos: The merged infos.

        Raises:
            ResetNeeded: If there was no `reset`, or, when autoreset is disabled, if an episode has
                ended.
            ClosedEnvironmentError: If the environment is closed.
        """
        raise NotImplementedError(f"{self} step function is not implemented.")

    if not TYPE_CHECKING:  # hidden, so that a type checker reports uses of `seed`
        seed = NoSeed()

    def render(self) -> tuple[RenderFrame, ...] | None:
        """Return a frame for each environment, or None if `render_mode` opens a window."""
        raise NotImplementedError(f"{self} render function is not implemented.")

    def close(self, **kwargs: object) -> None:
        """Close every environment with `close_extras(**kwargs)`; a second call does nothing."""
        if self.closed:
            return
        self.close_extras(**kwargs)
        self.closed = True

    def close_extras(self, **kwargs: object) -> None:
        """Free the resources of a subclass; `close` calls this once, with its arguments."""

    def step_lanes(self, actions: ActType, env_ids: EnvIds) -> VectorStep[ObsType, ArrayType]:
        """Step some of the environments and not the others, if `steps_some_lanes` is true.

        Args:
            actions: One action for each of the environments.
            env_ids: Indices or a mask `[num_envs] bool` of the environments to step.

        Returns:
            As for `step`, with one row for each of the environments, in the order of `env_ids`;
            `infos["env_id"]` int64 lists them.

        Raises:
            UnsupportedMode: If this environment can only step all environments.
        """
        raise UnsupportedMode(f"step_lanes: {self} cannot step some of its environments")

    def central_state(self) -> np.ndarray:
        """Return the current states of worlds of agents for central critics, `[num_envs, ...]`.

        These are what the environment declares for this purpose, such as `central_state` of a
        class of `gymcore.jit`; otherwise what all agents observe, in their order, float32
        `[num_envs, numbers]`. They belong to the observations that were returned last. The array
        is new.

        Raises:
            UnsupportedMode: If the environments have no such state.
            ResetNeeded: If there was no `reset`.
        """
        raise UnsupportedMode(f"central_state: {self} has no state for central critics")

    def end_episodes(self, mask: npt.NDArray[np.bool_]) -> None:
        """End the episodes of some environments, as if their last step had ended them.

        Wrappers that truncate episodes use this. The next step resets the environments in the mask
        `[num_envs] bool` (NEXT_STEP), or is not allowed before they are reset (DISABLED). In
        SAME_STEP, the wrapper must reset these environments itself.

        Raises:
            UnsupportedMode: If this environment, or its autoreset mode, does not support it.
        """
        raise UnsupportedMode(f"end_episodes: {self} does not let a wrapper end episodes")

    @property
    def steps_some_lanes(self) -> bool:
        """Whether `step_lanes` can step some environments and not the others; False by default."""
        return False

    @property
    def ends_episodes(self) -> bool:
        """Whether `end_episodes` ends episodes, if the autoreset mode allows it."""
        return type(self).end_episodes is not VectorEnv.end_episodes

    def copy_lanes(
        self, source: Sequence[int] | np.ndarray, target: Sequence[int] | np.ndarray
    ) -> None:
        """Copy environments over others; all are read before any is overwritten.

        A copy continues the same episode: it has the original's state, random stream, parameters,
        number of steps and return so far, and whether the episode has ended. Equal actions then
        give equal steps. Durations of episodes are not copied.

        Args:
            source: Indices or a mask of the environments to copy; one may be given several times.
            target: Indices or a mask of the environments to overwrite, one for each in `source`;
                an environment may be in both.

        Raises:
            InvalidArgument: If an index is out of range, one is given twice in `target`, or the
                lengths differ (a `ValueError`); nothing is changed.
            ArgumentTypeError: If they are not integers or masks (a `TypeError`).
            UnsupportedMode: If this vector environment, or a wrapper, cannot copy environments.
            StateNotSupported: If an environment in Python has no `get_state` and `set_state`.
        """
        raise UnsupportedMode(f"copy_lanes: {self} cannot copy its environments")

    def keep_final_frames(self, keep: bool = True) -> None:
        """In SAME_STEP, render an environment whose episode has ended before it is reset.

        Wrappers that need the frame of an episode's last state use this. Steps then return it in
        `infos["final_info"]["final_frame"]`. In the other modes this has no effect, because
        `render` shows the last state.

        Raises:
            UnsupportedMode: If this environment does not support it.
        """
        raise UnsupportedMode(f"keep_final_frames: {self} does not render before it resets")

    def lane_generators(self, lanes: Sequence[int]) -> list[np.random.Generator] | None:
        """Return the random generators of some environments, so that callers can draw from them.

        Return None if they are in another process or if all environments share one generator.
        """
        return None

    @property
    def np_random(self) -> np.random.Generator | tuple[np.random.Generator, ...]:
        """The generator of the batch, made with a random seed at first use.

        Vector environments with one generator for each environment return a tuple of generators.
        """
        if self._np_random is None:
            self._np_random, self._np_random_seed = seeding.np_random()
        return self._np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._np_random = value
        self._np_random_seed = -1  # unknown

    @property
    def np_random_seed(self) -> int | tuple[int, ...] | None:
        """The seed of `np_random`, or -1 if the generator was set by assignment."""
        if self._np_random_seed is None:
            self._np_random, self._np_random_seed = seeding.np_random()
        return self._np_random_seed

    @property
    def unwrapped(self) -> VectorEnv:
        """The vector environment without its wrappers."""
        return self

    def _call_whole(self, begin: Callable[[], None], wait: Callable[[], _Result]) -> _Result:
        """Begin a call and return its results; no call is pending after an exception."""
        begin()
        return wait()

    def _add_info(self, vector_infos: Info, env_info: Info, env_num: int) -> Info:
        """Merge the info of environment `env_num` into `vector_infos`, which is returned."""
        merge_info(vector_infos, env_info, env_num, self.num_envs)
        return vector_infos

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        """Close the environments; exceptions propagate."""
        self.close()

    def __repr__(self) -> str:
        num_envs = getattr(self, "num_envs", None)
        if self.spec is None:
            return f"{type(self).__name__}(num_envs={num_envs})"
        return f"{type(self).__name__}({self.spec.id}, num_envs={num_envs})"


class VectorWrapper(
    VectorEnv[WrapperObsType, WrapperActType, ArrayType],
    Generic[WrapperObsType, WrapperActType, ObsType, ActType, ArrayType],
):
    """Base of vector wrappers: forwards every call to `env`; subclasses override some.

    Spaces and `metadata` that are not set on the wrapper are those of the wrapped environment.
    `call`, `get_attr` and `set_attr` are forwarded to the sub-environments. Other attributes are
    not forwarded: use `wrapper.env` or `wrapper.unwrapped`.

    Examples:
        >>> import gymcore as gym
        >>> class Doubled(gym.vector.VectorWrapper):
        ...     def step(self, actions):
        ...         observations, rewards, *rest = super().step(actions)
        ...         return observations, 2 * rewards, *rest
        >>> envs = Doubled(gym.make_vec("CartPole-v1", num_envs=2))
        >>> _ = envs.reset(seed=0)
        >>> envs.step([0, 1])[1]
        array([2., 2.])
    """

    # Names of the attributes that are arrays with a row for each environment, or None if the
    # wrapper keeps other state of environments, too.
    _lane_arrays: tuple[str, ...] | None = None

    observation_space = overridable("observation_space", "Space of a batch of observations.")
    action_space = overridable("action_space", "Space of a batch of actions.")
    single_observation_space = overridable("single_observation_space", "Space of one observation.")
    single_action_space = overridable("single_action_space", "Space of one action.")
    metadata = overridable("metadata", "The metadata.")
    num_envs = forwarded("num_envs", "Number of environments in the batch.")
    spec = forwarded("spec", "How the wrapped environment was made, or None.")
    render_mode = forwarded("render_mode", "The render mode of the environments, or None.")
    agents = overridable("agents", "The agents of each environment, or None.")
    closed = settable("closed", "Whether the wrapped environment is closed.")
    np_random = settable(
        "np_random", "The wrapped environment's generator, or tuple of generators."
    )
    np_random_seed = forwarded(
        "np_random_seed", "The wrapped environment's seed, or tuple of seeds."
    )
    has_gym26_infos = forwarded(
        "has_gym26_infos", "Whether infos of ended episodes have Gym 0.26's names too."
    )
    unwrapped = forwarded("unwrapped", "The vector environment without its wrappers.")

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType]) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment; closing the wrapper closes it.

        Raises:
            ArgumentTypeError: If `env` is not a `VectorEnv` (a `TypeError`).
        """
        if not isinstance(env, VectorEnv):
            raise ArgumentTypeError(
                f"Expected env to be a `{program.package}.vector.VectorEnv` but got {type(env)}"
                f"{bridge_hint(env)}"
            )
        self.env: Any = env

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[WrapperObsType, Info]:
        """Reset the wrapped environment; see `VectorEnv.reset`."""
        results: tuple[WrapperObsType, Info] = self.env.reset(seed=seed, options=options)
        return results

    def step(self, actions: WrapperActType) -> VectorStep[WrapperObsType, ArrayType]:
        """Step the wrapped environment; see `VectorEnv.step`."""
        results: VectorStep[WrapperObsType, ArrayType] = self.env.step(actions)
        return results

    def step_lanes(
        self, actions: WrapperActType, env_ids: EnvIds
    ) -> VectorStep[WrapperObsType, ArrayType]:
        """Step some of the environments; see `VectorEnv.step_lanes`."""
        results: VectorStep[WrapperObsType, ArrayType]
        if type(self).step is VectorWrapper.step:
            results = self.env.step_lanes(actions, env_ids)
            return results
        if self.steps_some_lanes:
            step: Callable[..., VectorStep[WrapperObsType, ArrayType]] = self.step
            return step(actions, env_ids=env_ids)
        return super().step_lanes(actions, env_ids)

    def central_state(self) -> np.ndarray:
        """Return the states of the wrapped environment; see `VectorEnv.central_state`."""
        states: np.ndarray = self.env.central_state()
        return states

    @property
    def steps_some_lanes(self) -> bool:
        """Whether `step_lanes` can step some of the environments.

        True if the wrapped environment can, unless the wrapper overrides `step` but not
        `step_lanes`. A wrapper whose `step` takes `env_ids` overrides this property.
        """
        cls = type(self)
        supported = cls.step is VectorWrapper.step or cls.step_lanes is not VectorWrapper.step_lanes
        return supported and bool(self.env.steps_some_lanes)

    def lane_generators(self, lanes: Sequence[int]) -> list[np.random.Generator] | None:
        """Return generators of the wrapped environment; see `VectorEnv.lane_generators`.

        A wrapper with other lanes than the wrapped environment overrides this.
        """
        generators: list[np.random.Generator] | None = self.env.lane_generators(lanes)
        return generators

    def end_episodes(self, mask: npt.NDArray[np.bool_]) -> None:
        """End episodes of the wrapped environment; see `VectorEnv.end_episodes`.

        A wrapper that keeps a state for each environment overrides this.
        """
        self.env.end_episodes(mask)

    def copy_lanes(
        self, source: Sequence[int] | np.ndarray, target: Sequence[int] | np.ndarray
    ) -> None:
        """Copy environments of the wrapped environment; see `VectorEnv.copy_lanes`.

        A wrapper that overrides `step` or `reset` must define this method: call `env.copy_lanes`,
        then copy the state that the wrapper keeps for each environment, if any.
        """
        cls, names = type(self), self._lane_arrays
        if names is None:
            if cls.step is not VectorWrapper.step or cls.reset is not VectorWrapper.reset:
                raise UnsupportedMode(
                    f"copy_lanes: {cls.__name__} does not define it, and may keep a state of each "
                    "environment"
                )
            names = ()
        self.env.copy_lanes(source, target)
        source, target = (lane_indices(x, self.num_envs, distinct=False) for x in (source, target))
        for owner, name in self._lane_attributes(names):
            rows = getattr(owner, name).copy()
            rows[target] = rows[source]
            setattr(owner, name, rows)

    def _lane_attributes(self, names: tuple[str, ...]) -> list[tuple[object, str]]:
        return [(self, name) for name in names]

    def keep_final_frames(self, keep: bool = True) -> None:
        """Render last frames before resets; see `VectorEnv.keep_final_frames`."""
        self.env.keep_final_frames(keep)

    @without_mode
    def render(self) -> tuple[RenderFrame, ...] | None:
        """Render the wrapped environment; see `VectorEnv.render`."""
        frames: tuple[RenderFrame, ...] | None = self.env.render()
        return frames

    def close(self, **kwargs: object) -> None:
        """Close the wrapped environment with these arguments."""
        self.env.close(**kwargs)

    def close_extras(self, **kwargs: object) -> None:
        """Call `close_extras` of the wrapped environment with these arguments."""
        self.env.close_extras(**kwargs)

    def call(self, name: str, *args: object, **kwargs: object) -> tuple[Any, ...]:
        """Call a method of every sub-environment, or get an attribute; one result for each."""
        results: tuple[object, ...] = self.env.call(name, *args, **kwargs)
        return results

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of every sub-environment."""
        values: tuple[object, ...] = self.env.get_attr(name)
        return values

    def set_attr(self, name: str, values: object) -> None:
        """Set an attribute of every sub-environment.

        Args:
            name: Name of the attribute.
            values: A list or tuple of one value for each sub-environment, or one value for all.
        """
        self.env.set_attr(name, values)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {self.env}>"


class VectorObservationWrapper(VectorWrapper[WrapperObsType, ActType, ObsType, ActType, ArrayType]):
    """A wrapper that changes observations: define `observations`.

    It supports every autoreset mode. In SAME_STEP, the last observations of ended episodes, which
    are in the infos, are changed as well (see `final_observations`).

    Examples:
        >>> import gymcore as gym
        >>> class Millimetres(gym.vector.VectorObservationWrapper):
        ...     def observations(self, observations):
        ...         return 1000 * observations
        >>> envs = Millimetres(gym.make_vec("CartPole-v1", num_envs=2))
        >>> bool((abs(envs.reset(seed=0)[0]) > 1).any())
        True
    """

    _lane_arrays = ()

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType]) -> None:
        super().__init__(env)
        if "autoreset_mode" not in env.metadata:
            logger.warn(f"Vector environment ({env}) is missing `autoreset_mode` metadata key.")

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[WrapperObsType, Info]:
        """Reset, and return changed observations; see `VectorEnv.reset`."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self.observations(observations), infos

    def step(self, actions: ActType) -> VectorStep[WrapperObsType, ArrayType]:
        """Step, and return changed observations; see `VectorEnv.step`."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        change_final_observations(
            infos, observations, self.env, self.final_observations, self.observation_space
        )
        return self.observations(observations), rewards, terminations, truncations, infos

    def observations(self, observations: ObsType) -> WrapperObsType:
        """Return the changed batch of observations."""
        raise NotImplementedError(f"{type(self).__name__} does not define `observations`")

    def final_observations(self, observations: ObsType) -> WrapperObsType:
        """Return the changed batch of last observations, in SAME_STEP when an episode has ended.

        `step` calls this before `observations`. Define it if `observations` keeps state between
        calls; by default it calls `observations`.

        Args:
            observations: A batch with the last observations of the lanes that have ended, and the
                current observations of the others, whose results are discarded.
        """
        return self.observations(observations)


class VectorActionWrapper(VectorWrapper[ObsType, WrapperActType, ObsType, ActType, ArrayType]):
    """A wrapper that changes actions: define `actions`.

    Examples:
        >>> import gymcore as gym
        >>> class Mirrored(gym.vector.VectorActionWrapper):
        ...     def actions(self, actions):
        ...         return 1 - actions
        >>> envs = Mirrored(gym.make_vec("CartPole-v1", num_envs=2))
        >>> _ = envs.reset(seed=0)
        >>> envs.step(np.array([0, 1]))[1]
        array([1., 1.])
    """

    _lane_arrays = ()

    def step(self, actions: WrapperActType) -> VectorStep[ObsType, ArrayType]:
        """Step the wrapped environment with changed actions; see `VectorEnv.step`."""
        results: VectorStep[ObsType, ArrayType] = self.env.step(self.actions(actions))
        return results

    def actions(self, actions: WrapperActType) -> ActType:
        """Return the batch of actions for the wrapped environment."""
        raise NotImplementedError(f"{type(self).__name__} does not define `actions`")


class VectorRewardWrapper(VectorWrapper[ObsType, ActType, ObsType, ActType, ArrayType]):
    """A wrapper that changes rewards: define `rewards`.

    Examples:
        >>> import gymcore as gym
        >>> class Halved(gym.vector.VectorRewardWrapper):
        ...     def rewards(self, rewards):
        ...         return rewards / 2
        >>> envs = Halved(gym.make_vec("CartPole-v1", num_envs=2))
        >>> _ = envs.reset(seed=0)
        >>> envs.step([0, 1])[1]
        array([0.5, 0.5])
    """

    _lane_arrays = ()

    def step(self, actions: ActType) -> VectorStep[ObsType, ArrayType]:
        """Step, and return changed rewards; see `VectorEnv.step`."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        return observations, self.rewards(rewards), terminations, truncations, infos

    def rewards(self, rewards: ArrayType) -> ArrayType:
        """Return the changed rewards `[num_envs]`."""
        raise NotImplementedError(f"{type(self).__name__} does not define `rewards`")
