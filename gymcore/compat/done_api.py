"""Environments of today, as environments of Gym 0.21."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymcore import error
from gymcore.compat.forwarding import Forwarding
from gymcore.core import Env, Wrapper
from gymcore.utils import seeding
from gymcore.utils.step_api_compatibility import convert_to_done_step_api

__all__ = ["DoneEnv", "SeedNextReset", "fresh_seed"]


def fresh_seed() -> int:
    """Return a seed of 31 bits from the operating system."""
    return int(np.random.SeedSequence().generate_state(1)[0] >> 1)


class SeedNextReset(Forwarding, Wrapper[Any, Any, Any, Any]):
    """Seed the environment in the next reset that brings no seed itself."""

    def __init__(self, env: Env[Any, Any], seed: int) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            seed: For the next reset.
        """
        Wrapper.__init__(self, env)
        self._seed: int | None = seed

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment, with the seed that is waiting unless there is another one."""
        seed = self._seed if seed is None else seed
        self._seed = None
        return self.env.reset(seed=seed, options=options)


class DoneEnv(Forwarding, Wrapper[Any, Any, Any, Any]):
    """An environment with the interface of Gym 0.21; see `gymcore.compat.to_done_api`.

    It is an `Env`, so wrappers of that time can be put around it. Attributes of inner layers are
    forwarded.
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        """Wrap `env`.

        Args:
            env: An environment of today.
        """
        Wrapper.__init__(self, env)
        self.waiting_seed: int | None = None
        modes = env.metadata.get("render_modes") or []
        old_names = {"render.modes": list(modes)}
        if "render_fps" in env.metadata:
            old_names["video.frames_per_second"] = env.metadata["render_fps"]
        self.metadata = {**env.metadata, **old_names}

    def seed(self, seed: int | None = None) -> list[int]:
        """Seed the environment: the next reset begins the random stream of this seed.

        Args:
            seed: None for a new one.

        Returns:
            A list of the seed.

        Raises:
            Error: if `seed` is negative or no integer.
        """
        self.waiting_seed = fresh_seed() if seed is None else seeding.checked_seed(seed)
        return [self.waiting_seed]

    def reset(
        self,
        *,
        seed: int | None = None,
        return_info: bool = False,
        options: dict[str, Any] | None = None,
    ) -> Any:
        """Begin an episode.

        Args:
            seed: As Gym 0.22 had it; None for the one given to `seed`, if there is a new one.
            return_info: As Gym 0.22 had it: return the info too.
            options: For the environment.

        Returns:
            The observation; with `return_info` a tuple of it and the info.
        """
        seed = self.waiting_seed if seed is None else seed
        self.waiting_seed = None
        observation, info = self.env.reset(seed=seed, options=options)
        return (observation, info) if return_info else observation

    def step(self, action: Any) -> tuple[Any, Any, bool, dict[str, Any]]:  # type: ignore[override]
        """Step the environment.

        Returns:
            The observation, the reward, whether the episode ended, and the info; at an end
            `info["TimeLimit.truncated"]` says whether it was only cut off.
        """
        return convert_to_done_step_api(self.env.step(action))

    def render(self, mode: str = "human", **kwargs: Any) -> Any:
        """Render the environment in any of its modes.

        The environment may have been made with another mode, or none: for the time of the call its
        `render_mode` is changed.

        Args:
            mode: One of `metadata["render_modes"]`.
            **kwargs: For the environment's `render`.

        Raises:
            UnsupportedMode: if the environment does not have the mode.
        """
        if mode == self.env.render_mode:
            return self.env.render(**kwargs)
        if mode not in (self.env.metadata.get("render_modes") or ()):
            raise error.UnsupportedMode(
                f"mode: expected one of {self.env.metadata.get('render_modes')}, got {mode!r}"
            )
        base = self.env.unwrapped
        made_with = base.render_mode
        base.render_mode = mode
        try:
            return self.env.render(**kwargs)
        finally:
            base.render_mode = made_with
