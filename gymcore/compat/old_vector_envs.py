"""Vector environments of Gym 0.21 and of libraries of its time, as those of today."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.compat.old_envs import modern_metadata
from gymcore.specs import EnvSpec
from gymcore.utils.arguments import split_reset_mask
from gymcore.vector import AutoresetMode, VectorEnv
from gymcore.vector.utils import batch_space
from gymcore.vector.utils.infos import merge_info

__all__ = ["VectorEnvCompatibility"]


class VectorEnvCompatibility(VectorEnv[Any, Any, npt.NDArray[Any]]):
    """A vector environment of Gym 0.21 as one of today, with `SAME_STEP` autoreset.

    The old one need not derive from anything. It has `num_envs`, `reset() -> observations` and
    `step(actions) -> (observations, rewards, dones, infos)`, where `infos` is a list of dicts and
    an ended environment has restarted. `TimeLimit.truncated` in a dict becomes `truncations`, and
    `terminal_observation` becomes `final_obs`. Its spaces are those of a batch if it has
    `single_observation_space`, and those of one environment otherwise (as in Stable Baselines).
    Attributes that are not found here are the old vector environment's.

    Attributes:
        env: The old vector environment.
    """

    def __init__(self, old_envs: Any, render_mode: str | None = None) -> None:
        """Take an old vector environment.

        Args:
            old_envs: The vector environment.
            render_mode: What `render` asks it for.

        Raises:
            ArgumentTypeError: if it has no `num_envs`.
        """
        if not isinstance(getattr(old_envs, "num_envs", None), (int, np.integer)):
            raise error.ArgumentTypeError(
                f"old_envs: expected a vector environment with `num_envs`, got {type(old_envs)}"
            )
        self.env = old_envs
        self.num_envs = int(old_envs.num_envs)
        self.render_mode = render_mode
        metadata = modern_metadata(getattr(old_envs, "metadata", None))
        self.metadata = {**metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        spec = getattr(old_envs, "spec", None)
        self.spec = spec if isinstance(spec, EnvSpec) else None
        if hasattr(old_envs, "single_observation_space"):
            self.single_observation_space = old_envs.single_observation_space
            self.single_action_space = old_envs.single_action_space
        else:
            self.single_observation_space = old_envs.observation_space
            self.single_action_space = old_envs.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return an attribute of the old vector environment."""
            if name.startswith("_") or name == "env":
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return getattr(self.env, name)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes.

        Args:
            seed: Given to the old vector environment's `seed` first.
            options: Not used, but for `reset_mask`.

        Returns:
            The batch of observations, and empty infos.

        Raises:
            InvalidArgument: if `options["reset_mask"]` leaves a lane out: old vector environments
                reset all or none.
        """
        _, mask = split_reset_mask(options, self.num_envs)
        if mask is not None and not mask.all():
            raise error.InvalidArgument(
                "reset_mask: a vector environment of Gym 0.21 resets all lanes, or none, got "
                f"{mask.tolist()}"
            )
        if seed is not None:
            self.env.seed(seed)
        return self.env.reset(), {}

    def step(
        self, actions: Any
    ) -> tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Step the environments; see `VectorEnv.step`.

        Returns:
            As `VectorEnv.step`, in same-step mode. `final_obs` has None where the old vector
            environment did not give the last observation of an episode that ended.
        """
        observations, rewards, dones, old_infos = self.env.step(actions)
        dones = np.asarray(dones, np.bool_)
        truncations = np.zeros(self.num_envs, np.bool_)
        infos: dict[str, Any] = {}
        ended: list[tuple[int, dict[str, Any]]] = []
        for lane, old in enumerate(old_infos):
            info = dict(old)
            cut_off = bool(info.pop("TimeLimit.truncated", False))
            if dones[lane]:
                truncations[lane] = cut_off
                ended.append((lane, info))
            elif info:
                merge_info(infos, info, lane, self.num_envs)
        if ended:
            final_obs = np.full(self.num_envs, None, dtype=object)
            final_info: dict[str, Any] = {}
            for lane, info in ended:
                final_obs[lane] = info.pop("terminal_observation", None)
                merge_info(final_info, info, lane, self.num_envs)
            infos.update(
                final_obs=final_obs,
                _final_obs=dones.copy(),
                final_info=final_info,
                _final_info=dones.copy(),
            )
        terminations = dones & ~truncations
        return observations, np.asarray(rewards, np.float64), terminations, truncations, infos

    def render(self) -> Any:
        """Render the environments in the mode that was chosen."""
        if self.render_mode is None:
            return None
        return self.env.render(mode=self.render_mode)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the old vector environment."""
        self.env.close()
