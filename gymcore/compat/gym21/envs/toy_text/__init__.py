"""`gym.envs.toy_text` of Gym 0.21."""

from __future__ import annotations

from typing import Any

from gymcore.compat.gym21.done_envs import DoneEnv
from gymcore.compat.gym21.envs.done_classes import done_namespace
from gymcore.envs.toy_text.frozen_lake import MAPS as MAPS
from gymcore.envs.toy_text.frozen_lake import generate_random_map as generate_random_map


class _Table(DoneEnv):
    """An environment with a table `P` and Gym 0.21's names, which prints itself."""

    nS = property(lambda self: self.observation_space.n)
    nA = property(lambda self: self.action_space.n)
    isd: object = property(lambda self: self.initial_state_distrib)

    def render(self, mode: str = "human", **kwargs: object) -> Any:
        """Print the environment as text, or return it in another mode."""
        if mode != "human" or "ansi" not in self.metadata["render_modes"]:
            return super().render(mode, **kwargs)
        print(super().render("ansi"), end="")


__getattr__ = done_namespace(
    __name__,
    {"gymcore.envs.toy_text": ("BlackjackEnv", "CliffWalkingEnv", "FrozenLakeEnv", "TaxiEnv")},
    _Table,
)
