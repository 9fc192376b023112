"""CliffWalking: walk along a cliff to the other end without stepping over the edge."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gymcore.envs.toy_text.grid import GridEnv, moved
from gymcore.envs.toy_text.transitions import Transitions
from gymcore.envs.toy_text.utils import categorical_sample as categorical_sample
from gymcore.native.vector_env import NativeVectorEnv

UP = 0
RIGHT = 1
DOWN = 2
LEFT = 3
STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))
POSITION_MAPPING = {action: list(step) for action, step in enumerate(STEPS)}

SHAPE = (4, 12)
START = 36
GOAL = 47


def is_cliff(state: int) -> bool:
    """Whether a step there is a fall."""
    return START < state < GOAL


@lru_cache(maxsize=2)
def _transitions(is_slippery: bool) -> Transitions:
    """The table."""
    turns = (-1, 0, 1) if is_slippery else (0,)

    def outcome(state: int, direction: int) -> tuple[float, int, int, bool]:
        row, col = moved((state // SHAPE[1], state % SHAPE[1]), STEPS[direction], SHAPE)
        arrival = row * SHAPE[1] + col
        if is_cliff(arrival):
            return 1.0 / len(turns), START, -100, False
        return 1.0 / len(turns), arrival, -1, arrival == GOAL

    states = range(SHAPE[0] * SHAPE[1])
    table = {
        s: {a: [outcome(s, (a + turn) % 4) for turn in turns] for a in range(4)} for s in states
    }
    starts = np.zeros(len(states))
    starts[START] = 1.0
    return Transitions(table, starts)


class CliffWalkingEnv(GridEnv):
    """A walk from the lower left to the lower right corner, with a cliff between them.

    Example 6.6 of R. S. Sutton and A. G. Barto, "Reinforcement Learning" (2018).

    - Observation: `row * 12 + column`, an int.
    - Actions: 0 up, 1 right, 2 down, 3 left. With `is_slippery` the move is the wanted one, or one
      of the two at right angles to it, with the same probability.
    - Reward: -1 a step; -100 for a fall, which leads back to the start and ends nothing.
    - Terminates at the goal.
    - Info: `prob`, the probability of the move that was made.

    Attributes: `shape`, `nS`, `nA`, `is_slippery`, `start_state_index`, and those of `TabularEnv`:
    `P`, `s`, `lastaction`, `initial_state_distrib`.

    Example:
        >>> import gymcore as gym
        >>> env = gym.make("CliffWalking-v1")
        >>> env.reset(seed=1)
        (36, {'prob': 1.0})
        >>> env.step(1)
        (36, -100, False, False, {'prob': 1.0})
    """

    metadata = {"render_modes": ["human", "rgb_array", "ansi"], "render_fps": 4}  # noqa: RUF012
    arguments = ("is_slippery",)
    shape = SHAPE

    def __init__(self, render_mode: str | None = None, is_slippery: bool = False) -> None:
        """Make a cliff.

        Args:
            render_mode: None, "human", "rgb_array" or "ansi".
            is_slippery: whether moves may go wrong.
        """
        self.is_slippery = is_slippery
        self.start_state_index = START
        self.nS, self.nA = SHAPE[0] * SHAPE[1], 4
        self._make(_transitions(bool(is_slippery)), render_mode)

    def text(self) -> str:
        """The grid: x the walker, C cliff, T the goal, o other places."""
        here = self.s

        def letter(state: int) -> str:
            if state == here:
                return "x"
            return "T" if state == GOAL else "C" if is_cliff(state) else "o"

        rows, columns = SHAPE
        lines = (
            "  ".join(letter(row * columns + col) for col in range(columns)) for row in range(rows)
        )
        return "\n".join([*lines, "", ""])

    @classmethod
    def draw(cls) -> Callable[..., None]:
        """The function that draws a cliff."""
        from gymcore.envs.toy_text.drawing import draw_cliff_walking

        return draw_cliff_walking


class CliffWalkingVectorEnv(NativeVectorEnv):
    """Many walks along the cliff in one batch; see `NativeVectorEnv`."""

    env_class = CliffWalkingEnv

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Make the batch; `options` are `is_slippery` and those of `NativeVectorEnv`."""
        super().__init__(num_envs, max_episode_steps, render_mode, **options)
