"""RLlib: a world of several agents as a `MultiAgentEnv`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymcore.base.arguments import keywords
from gymcore.base.optional_packages import needs
from gymcore.error import InvalidArgument
from gymcore.interop.pettingzoo.worlds import parallel_env

with needs("ray", "ray[rllib]"):
    from ray.rllib.env.multi_agent_env import MultiAgentEnv

if TYPE_CHECKING:
    from gymcore.core import Info, Options

__all__ = ["RLlibWorld"]


class RLlibWorld(MultiAgentEnv):
    """One world of several agents as an environment of RLlib.

    Attributes:
        world: The world with PettingZoo's parallel interface.

    Examples:
        >>> env = RLlibWorld({"id": "mpe/simple_spread_v3"})
        >>> observations, infos = env.reset(seed=1)
        >>> results = env.step(dict.fromkeys(env.agents, 0))
        >>> results[2]
        {'agent_0': False, 'agent_1': False, 'agent_2': False, '__all__': False}
    """

    def __init__(self, config: dict[str, Any]) -> None:
        """Make a world from `id` and other arguments of `make_vec`, RLlib's `env_config`.

        Raises:
            ArgumentTypeError: If `config` is not a dict.
            InvalidArgument: If it has no `id`.
        """
        super().__init__()
        arguments = keywords("config", config)
        if "id" not in arguments:
            raise InvalidArgument(f"config: expected the id of a world in 'id', got {arguments}")
        self.world = parallel_env(**arguments)
        self.possible_agents = self.world.possible_agents
        self.agents = list(self.possible_agents)
        self.observation_spaces, self.action_spaces = (
            {agent: space(agent) for agent in self.possible_agents}
            for space in (self.world.observation_space, self.world.action_space)
        )

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[dict[str, object], dict[str, Info]]:
        """Begin an episode."""
        results: tuple[dict[str, object], dict[str, Info]] = self.world.reset(
            seed=seed, options=options
        )
        self.agents = list(self.world.agents)
        return results

    def step(self, action_dict: dict[str, object]) -> tuple[dict[str, Any], ...]:
        """Step with the actions of the agents that are left; `__all__` marks the world's end."""
        observations, rewards, terminated, truncated, infos = self.world.step(action_dict)
        self.agents = list(self.world.agents)
        is_cut = any(truncated.values())
        terminated["__all__"] = not self.agents and not is_cut
        truncated["__all__"] = not self.agents and is_cut
        return observations, rewards, terminated, truncated, infos

    def render(self) -> object:
        """Return the frame of the world."""
        return self.world.render()

    def close(self) -> None:
        """Close the world."""
        self.world.close()
