"""`gym.envs.toy_text.discrete` of Gym 0.21: environments with a table, in pure Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.compat.gym21.core import Env
from gymcore.compat.gym21.utils import seeding
from gymcore.envs.toy_text.utils import categorical_sample
from gymcore.spaces import Discrete

__all__ = ["DiscreteEnv", "categorical_sample"]

Outcomes = Sequence[tuple[float, int, float, bool]]


class DiscreteEnv(Env):
    """Base class of environments with a table of transitions.

    Attributes:
        nS: Number of states.
        nA: Number of actions.
        P: The table: `P[state][action]` is a list of (probability, state, reward, done).
        isd: Probabilities of the initial states.
        s: The current state.
        lastaction: The last action, or None.
    """

    def __init__(
        self,
        nS: int,
        nA: int,
        P: Mapping[int, Mapping[int, Outcomes]],
        isd: npt.NDArray[np.float64],
    ) -> None:
        self.nS, self.nA, self.P, self.isd = nS, nA, P, isd
        self.observation_space, self.action_space = Discrete(nS), Discrete(nA)
        self.seed()
        self.reset()

    def seed(self, seed: int | None = None) -> list[int]:
        """Seed `np_random`; return the seed in a list."""
        self.np_random, seed = seeding.np_random(seed)
        return [seed]

    def reset(self) -> Any:  # type: ignore[override]
        """Draw an initial state and return it."""
        self.s = int(categorical_sample(self.isd, self.np_random))
        self.lastaction: int | None = None
        return self.s

    def step(self, action: int) -> Any:
        """Draw one of the outcomes of an action; its probability is `info["prob"]`."""
        outcomes = self.P[self.s][action]
        chosen = categorical_sample([outcome[0] for outcome in outcomes], self.np_random)
        probability, self.s, reward, done = outcomes[chosen]
        self.lastaction = action
        return self.s, reward, done, {"prob": probability}
