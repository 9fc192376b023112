"""An `Environment` as an `Env`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymcore.base.arguments import check_options
from gymcore.core import Env, Info, Options
from gymcore.environment.environment import ABORTED, Environment
from gymcore.environment.space_specs import space_of_spec
from gymcore.environment.value_specs import is_value


class EnvironmentEnv(Env):
    """An `Environment` with Gym's interface.

    Masks in the states are moved to the info dict. For a vector environment, pass functions that
    make such environments to `SyncVectorEnv` or `AsyncVectorEnv`.

    Attributes:
        environment: The environment.

    Examples:
        >>> from gymcore.vector import SyncVectorEnv
        >>> def make():
        ...     return EnvironmentEnv("CartPole-v1", reward_shaping="reward / 2")
        >>> envs = SyncVectorEnv([make] * 3)
        >>> observations, infos = envs.reset()
        >>> envs.step(envs.action_space.sample())[1]
        array([0.5, 0.5, 0.5])
    """

    metadata: dict[str, object] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, environment: object, **kwargs: Any) -> None:
        """Make an environment; the arguments are those of `Environment.create`."""
        self.environment = Environment.create(environment, **kwargs)
        states, actions = self.environment.states(), self.environment.actions()
        self._single_state = is_value(states)
        self.observation_space, self._to_observation, _ = space_of_spec(states)
        self.action_space, _, self._to_actions = space_of_spec(actions)

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[object, Info]:
        """Start an episode.

        Args:
            seed: Seed of the environment and of `np_random`.
            options: None or empty, because an `Environment` has no options.

        Returns:
            The observation, and the masks.

        Raises:
            InvalidArgument: If there are options.
        """
        check_options(options)
        super().reset(seed=seed)
        if seed is not None:
            self.environment.seed(seed)
        return self._split_states(self.environment.reset())

    def step(self, action: object) -> tuple[object, float, bool, bool, Info]:
        """Take one step; terminal 1 means terminated, 2 truncated."""
        states, terminal, reward = self.environment.execute(self._to_actions(action))
        observation, masks = self._split_states(states)
        return observation, float(reward), terminal == 1, terminal == ABORTED, masks

    def _split_states(self, states: object) -> tuple[object, Info]:
        """Split states into the observation and the masks."""
        masks = {}
        if isinstance(states, Mapping):
            spec = self.environment.states()
            masks = {name: mask for name, mask in states.items() if name not in spec}
            if self._single_state:
                masks.pop("state")
                states = states["state"]
        return self._to_observation(states), masks

    def close(self) -> None:
        """Close the environment."""
        self.environment.close()
