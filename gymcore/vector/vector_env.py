"""The base class of every vector environment, and the modes of autoreset.

A vector environment steps `num_envs` independent copies of one environment at once: observations,
rewards and flags are batched along a first axis, and the info dicts are merged into one dict of
arrays (see `gymcore.vector.utils.infos`). An ended episode is followed by a new one in the same
slot; `AutoresetMode` says when.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic

import numpy as np
import numpy.typing as npt
from typing_extensions import TypeVar

from gymcore.core import ActType, ObsType, RenderFrame
from gymcore.error import UnsupportedMode
from gymcore.utils import seeding
from gymcore.vector.utils.infos import merge_info

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from gymcore.spaces import Space
    from gymcore.specs import EnvSpec

ArrayType = TypeVar("ArrayType", default=Any)

__all__ = [
    "ArrayType",
    "AutoresetMode",
    "VectorActionWrapper",
    "VectorEnv",
    "VectorObservationWrapper",
    "VectorRewardWrapper",
    "VectorWrapper",
]


class AutoresetMode(Enum):
    """When an environment whose episode has ended is reset.

    A mode's value, as in `AutoresetMode("SameStep")`, is accepted wherever the mode is.
    """

    NEXT_STEP = "NextStep"
    """The step after the last one resets: its action is ignored, its reward is 0, its flags False,
    and it returns the first observation and info of the new episode."""

    SAME_STEP = "SameStep"
    """The last step resets at once and returns the new episode's observation and info; the old
    ones are in `info["final_obs"]` and `info["final_info"]`."""

    DISABLED = "Disabled"
    """Nothing is reset but by the caller: `reset(options={"reset_mask": terminated | truncated})`.
    Stepping an ended environment raises `gymcore.error.ResetNeeded`."""


class VectorEnv(Generic[ObsType, ActType, ArrayType]):
    """Base class of vector environments.

    Attributes:
        num_envs: Number of environments in the batch.
        observation_space: Space of a whole batch of observations.
        action_space: Space of a whole batch of actions.
        single_observation_space: Space of one environment's observation.
        single_action_space: Space of one environment's action.
        metadata: As an environment's, with `autoreset_mode` beside it.
        spec: How `gymcore.make_vec` made this, or None.
        render_mode: The render mode of the environments, or None.
        closed: Whether `close` has been called.
        is_vector_env: True for vector environments and their wrappers, for code that serves both
            kinds.
        steps_some_lanes: Whether `step_lanes` steps some environments while the others rest, as
            this package's engines do.

    A vector environment is a context manager that closes itself on leaving:

    Example:
        >>> import gymcore as gym
        >>> with gym.make_vec("CartPole-v1", num_envs=3) as envs:
        ...     observations, infos = envs.reset(seed=7)
        >>> observations.shape, envs.closed
        ((3, 4), True)
    """

    metadata: dict[str, Any] = {}  # noqa: RUF012 (instances assign their own)
    spec: EnvSpec | None = None
    render_mode: str | None = None
    closed: bool = False
    is_vector_env: bool = True
    steps_some_lanes: bool = False

    observation_space: Space[Any]
    action_space: Space[Any]
    single_observation_space: Space[Any]
    single_action_space: Space[Any]

    num_envs: int

    _np_random: np.random.Generator | None = None
    _np_random_seed: int | None = None

    def reset(  # type: ignore[return]
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start new episodes; this base only seeds `np_random`, for subclasses to call.

        Args:
            seed: None keeps the generators as they are; an integer `s` seeds environment `i` with
                `s + i`; a sequence gives one seed or None for each environment.
            options: For the environments. `options["reset_mask"]` `[num_envs] bool` selects which
                ones to reset; the others keep their last observation.

        Returns:
            The batch of first observations, and the merged infos.
        """
        if seed is not None:
            self._np_random, self._np_random_seed = seeding.np_random(seed)  # type: ignore[arg-type]

    def step(
        self, actions: ActType
    ) -> tuple[ObsType, ArrayType, ArrayType, ArrayType, dict[str, Any]]:
        """Take one action in every environment.

        Args:
            actions: A batch of actions, an element of `action_space`.

        Returns:
            observations: The batch of observations.
            rewards: `[num_envs] float64`.
            terminations: `[num_envs] bool`, the episode has reached an end state.
            truncations: `[num_envs] bool`, the episode was cut off (both flags may be set).
            infos: The merged infos.

        Raises:
            ResetNeeded: Before the first `reset`, or, when autoreset is disabled, on an ended
                episode.
            ClosedEnvironmentError: After `close`.
        """
        raise NotImplementedError(f"{self} step function is not implemented.")

    def render(self) -> tuple[RenderFrame, ...] | None:
        """Return one frame (in `render_mode`) for each environment.

        Returns:
            A tuple of `num_envs` frames, or None where the mode opens a window.
        """
        raise NotImplementedError(f"{self} render function is not implemented.")

    def close(self, **kwargs: Any) -> None:
        """Close every environment and free what they hold; calling it again does nothing.

        Args:
            **kwargs: For `close_extras`.
        """
        if self.closed:
            return
        self.close_extras(**kwargs)
        self.closed = True

    def close_extras(self, **kwargs: Any) -> None:
        """Free what a subclass holds; `close` calls this once.

        Args:
            **kwargs: As given to `close`.
        """

    def step_lanes(
        self, actions: ActType, env_ids: Sequence[int] | npt.NDArray[Any]
    ) -> tuple[ObsType, ArrayType, ArrayType, ArrayType, dict[str, Any]]:
        """Step some of the environments while the others rest, where `steps_some_lanes` is true.

        Args:
            actions: A row for each of them.
            env_ids: Which ones, indices or a mask `[num_envs] bool`.

        Returns:
            As `step`, with a row for each of them in their order; `infos["env_id"]` int64 names
            them.

        Raises:
            UnsupportedMode: This environment steps all or none.
        """
        raise UnsupportedMode(f"step_lanes: {self} cannot step some of its environments")

    def end_episodes(self, mask: npt.NDArray[np.bool_]) -> None:
        """End the episodes of some environments, as if their last step had.

        For wrappers that truncate. The next step resets these environments (NEXT_STEP), or must not
        be made before they are reset (DISABLED). In SAME_STEP a wrapper resets them itself.

        Args:
            mask: `[num_envs] bool`, the environments.

        Raises:
            UnsupportedMode: This environment cannot do so, or not in its autoreset mode.
        """
        raise UnsupportedMode(f"end_episodes: {self} does not let a wrapper end episodes")

    def keep_final_frames(self, keep: bool = True) -> None:
        """In SAME_STEP, render environments whose episode ends before they are reset.

        For wrappers that need the picture of an episode's last state. Steps then return it in
        `infos["final_info"]["final_frame"]`: what `render` of such an environment returns. In the
        other modes this does nothing: there `render` shows the last state.

        Args:
            keep: Whether to do so from now on.

        Raises:
            UnsupportedMode: This environment cannot do so.
        """
        raise UnsupportedMode(f"keep_final_frames: {self} does not render before it resets")

    @property
    def np_random(self) -> np.random.Generator:
        """The generator of the batch, made with a random seed at first use.

        Vector environments with one generator for each environment return a tuple of these.
        """
        if self._np_random is None:
            self._np_random, self._np_random_seed = seeding.np_random()
        return self._np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._np_random = value
        self._np_random_seed = -1  # unknown

    @property
    def np_random_seed(self) -> int | None:
        """The seed of `np_random`; -1 if the generator was set directly."""
        if self._np_random_seed is None:
            self._np_random, self._np_random_seed = seeding.np_random()
        return self._np_random_seed

    @property
    def unwrapped(self) -> VectorEnv[Any, Any, Any]:
        """The vector environment without its wrappers."""
        return self

    def _add_info(
        self, vector_infos: dict[str, Any], env_info: dict[str, Any], env_num: int
    ) -> dict[str, Any]:
        """Merge one environment's info into the batch's.

        Args:
            vector_infos: The merged dict so far, changed in place.
            env_info: The info of environment `env_num`.
            env_num: Its index.

        Returns:
            `vector_infos`.
        """
        merge_info(vector_infos, env_info, env_num, self.num_envs)
        return vector_infos

    def __enter__(self) -> Self:
        """Return self; leaving the `with` block closes the environments."""
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the environments and let an exception pass."""
        self.close()

    def __repr__(self) -> str:
        """Return the class, the id where there is one, and the number of environments."""
        num_envs = getattr(self, "num_envs", None)
        if self.spec is None:
            return f"{type(self).__name__}(num_envs={num_envs})"
        return f"{type(self).__name__}({self.spec.id}, num_envs={num_envs})"


# The wrappers belong to this module's public names, and are defined on top of VectorEnv.
from gymcore.vector.vector_wrappers import (  # noqa: E402
    VectorActionWrapper,
    VectorObservationWrapper,
    VectorRewardWrapper,
    VectorWrapper,
)
