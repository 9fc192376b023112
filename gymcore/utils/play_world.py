"""A world of several agents as one environment, which two players share a keyboard to play."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymcore.core import Env, Info, Options
from gymcore.error import UnsupportedMode
from gymcore.spaces.batching import iterate

if TYPE_CHECKING:
    from gymcore.vector.vector_env import VectorEnv

__all__ = ["PlayedWorld"]


class PlayedWorld(Env[Any, Any]):
    """A world of several agents, for `play`: actions and observations are those of all agents.

    The reward is the sum of the agents' rewards. The keys in `gymcore.utils.play_keys` control the
    first two agents that move; the others have actions of zeros.

    Attributes:
        envs: The batch of one world.
        agents: The agents of the world.

    Examples:
        >>> import gymcore as gym
        >>> options = {"render_mode": "rgb_array", "vector_kwargs": {"autoreset_mode": "Disabled"}}
        >>> env = PlayedWorld(gym.make_vec("Foraging-5x5-2p-1f-v3", 1, **options))
        >>> observation, info = env.reset(seed=1)
        >>> observation, reward, terminated, truncated, info = env.step([1, 2])
        >>> reward, terminated, env.render().shape
        (0.0, False, (256, 256, 3))
        >>> gym.utils.play.play(env)  # doctest: +SKIP
    """

    def __init__(self, envs: VectorEnv) -> None:
        """Take a batch of one world, whose autoreset is disabled.

        Raises:
            UnsupportedMode: If it has a single agent, or several environments.
        """
        if envs.agents is None or envs.num_envs != 1:
            raise UnsupportedMode(f"envs: expected one world of several agents, got {envs}")
        self.envs, self.agents = envs, envs.agents
        self.observation_space = envs.single_observation_space
        self.action_space = envs.single_action_space
        self.metadata, self.render_mode, self.spec = envs.metadata, envs.render_mode, envs.spec

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Any, Info]:
        """Begin an episode."""
        observations, _ = self.envs.reset(seed=seed, options=options)
        return self._first(observations), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """Step with the actions of all agents; the episode ends with the last agent."""
        batch = {k: v[None] for k, v in action.items()} if isinstance(action, dict) else [action]
        observations, rewards, terminated, truncated, infos = self.envs.step(batch)
        over = not (infos["active"] & ~(terminated | truncated)).any()
        ends = (bool(over and flags.any()) for flags in (terminated, truncated))
        return self._first(observations), float(rewards.sum()), *ends, {}

    def _first(self, observations: object) -> Any:
        return next(iterate(self.envs.observation_space, observations))

    def render(self) -> Any:
        """Return the frame of the world."""
        frames: Any = self.envs.render()
        return frames[0]

    def close(self) -> None:
        """Close the world."""
        self.envs.close()
