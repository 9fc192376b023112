"""CliffWalking: walk along a cliff to the other end without stepping over the edge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gymcore.core import Info
from gymcore.envs.toy_text.figures import DARK, Pen, draw_flag, draw_walker, facing_after
from gymcore.envs.toy_text.tabular import GridEnv, Outcome, Transitions
from gymcore.envs.toy_text.utils import categorical_sample as categorical_sample
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.rendering.shapes import Color, blank

if TYPE_CHECKING:
    import pygame

UP = 0
RIGHT = 1
DOWN = 2
LEFT = 3
STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))
POSITION_MAPPING = {action: list(step) for action, step in enumerate(STEPS)}

SHAPE = ROWS, COLUMNS = (4, 12)
START = 36
GOAL = 47
Rows = tuple[str, ...]
# S the start, C the cliff, T the goal, o any other cell.
MAP: Rows = ("o" * COLUMNS,) * 3 + ("S" + "C" * (COLUMNS - 2) + "T",)
CLIFF = np.array([list(row) for row in MAP]) == "C"
CLIFF.flags.writeable = False


class CliffWalkingEnv(GridEnv):
    """A walk from the lower left to the lower right corner, with a cliff between them.

    Example 6.6 of R. S. Sutton and A. G. Barto, "Reinforcement Learning" (2018).

    - Observation: `row * 12 + column`, an int.
    - Actions: 0 up, 1 right, 2 down, 3 left. With `is_slippery` the move is the intended one or one
      of the two perpendicular ones, each with the same probability.
    - Reward: -1 per step; -100 for a fall, which leads to the start and does not end the episode.
    - Terminates at the goal.
    - Info: `prob`, the probability of the transition.

    Attributes: `shape`, `nS`, `nA`, `is_slippery`, `start_state_index`, and those of `TabularEnv`:
    `P`, `s`, `lastaction`, `initial_state_distrib`.

    Examples:
        >>> import gymcore as gym
        >>> env = gym.make("CliffWalking-v1")
        >>> env.reset(seed=1)
        (36, {'prob': 1})
        >>> env.step(1)
        (36, -100, False, False, {'prob': 1.0})
    """

    metadata = {"render_modes": ["human", "rgb_array", "ansi"], "render_fps": 4}  # noqa: RUF012
    table_methods = frozenset({"_calculate_transition_prob", "_limit_coordinates"})
    arguments = ("is_slippery",)
    shape = SHAPE
    start_state_index = START
    nS, nA = ROWS * COLUMNS, 4
    _cliff = CLIFF
    cell_size, window_size = (64, 64), (64 * COLUMNS, 64 * ROWS)
    agent_img = start_img = goal_img = goal_flag_img = cliff_imgs = ground_img = None

    def __init__(self, render_mode: str | None = None, is_slippery: bool = False) -> None:
        """Create the environment.

        Args:
            render_mode: Render mode: None, "human", "rgb_array" or "ansi".
            is_slippery: Whether moves may go in a perpendicular direction.
        """
        self.is_slippery = is_slippery
        self._make(self._table(), render_mode)

    def _build_table(self) -> Transitions:
        cells = [divmod(s, COLUMNS) for s in range(self.nS)]
        outcomes = self._calculate_transition_prob
        table = {s: {a: outcomes(cell, a) for a in range(4)} for s, cell in enumerate(cells)}
        return Transitions(table, np.eye(self.nS)[START])

    def _calculate_transition_prob(self, current: Sequence[object], move: int) -> list[Outcome]:
        """Return the outcomes of a move from a cell (row, column), for the table."""
        turns = (-1, 0, 1) if self.is_slippery else (0,)
        outcomes: list[Outcome] = []
        for turn in turns:
            arrival = np.array(current) + STEPS[(move + turn) % 4]
            place = tuple(self._limit_coordinates(arrival).astype(int).tolist())
            state = int(np.ravel_multi_index(place, self.shape))
            ends = state == math.prod(self.shape) - 1
            falls = self._cliff[place]
            end = (self.start_state_index, -100, False) if falls else (state, -1, ends)
            outcomes.append((1 / len(turns), *end))
        return outcomes

    def _limit_coordinates(self, coord: np.ndarray) -> np.ndarray:
        """Return a cell (row, column) clipped to the grid."""
        limited: np.ndarray = np.clip(coord, 0, np.subtract(self.shape, 1))
        return limited

    def _letters(self) -> npt.NDArray[np.str_]:
        letters = np.where(self._cliff, "C", "o")
        letters[-1, -1] = "T"
        return letters

    def _render_text(self) -> str:
        """Return the grid as text: x is the walker, C the cliff, T the goal, o any other cell."""
        letters = self._letters()
        letters.flat[self.s] = "x"
        return "\n".join([*map("  ".join, letters.tolist()), "", ""])

    @staticmethod
    def draw(surface: pygame.Surface, state: Sequence[float], *, rows: Rows = MAP) -> None:
        """Draw one grid on a surface with its aspect ratio; every pixel is overwritten.

        `state` is `(s, lastaction, ...)`; an action of -1 means none yet. `rows` is like `MAP`.
        """
        size = surface.get_size()
        surface.blit(_background(size, rows), (0, 0))
        row, col = divmod(int(state[0]), len(rows[0]))
        tile = size[0] / len(rows[0])
        draw_walker(Pen(surface, (col * tile, row * tile), tile), facing_after(state[1], STEPS))

    def draw_arguments(self) -> Info:
        """Return the grid for drawing."""
        letters = self._letters()
        letters.flat[self.start_state_index] = "S"
        return {"rows": tuple(map("".join, letters.tolist()))}


CliffWalkingVectorEnv = NativeVectorEnv.of(CliffWalkingEnv)


# --- rendering -----------------------------------------------------------------------------------

GRASS: Color = (196, 217, 163)
GRASS_LINE: Color = (180, 203, 146)
BLADE: Color = (158, 186, 122)
SAND: Color = (230, 214, 176)
SAND_LINE: Color = (214, 195, 153)
ROCK: Color = (134, 116, 104)
STRATA: Color = (114, 97, 87)
ABYSS: Color = (82, 70, 66)
EDGE: Color = (160, 184, 122)


def _draw_tile(pen: Pen, state: int, letter: str) -> None:
    if letter == "C":
        pen.fill(ROCK)
        pen.box(EDGE, (0.0, -0.02), (1.0, 0.10))
        shift = 0.12 * (state % 3)
        pen.line(STRATA, (0.08 + shift, 0.30), (0.52 + shift, 0.30), 0.05)
        pen.line(STRATA, (0.30 - shift / 2, 0.48), (0.86 - shift, 0.48), 0.05)
        pen.box(ABYSS, (0.0, 0.72), (1.0, 1.0))
        pen.line(ABYSS, (0.12 + shift, 0.66), (0.44 + shift, 0.66), 0.07)
        return
    on_path = letter in "ST"
    pen.fill(SAND if on_path else GRASS)
    if not on_path:
        x = 0.24 + 0.17 * (state * 7 % 4)
        y = 0.34 + 0.13 * (state * 5 % 4)
        for tip in (-0.05, 0.0, 0.05):
            pen.line(BLADE, (x + tip / 2, y), (x + tip, y - 0.10), 0.022)
    if on_path:
        pen.letter(DARK, "G" if letter == "T" else "S", (0.06, 0.07), 0.24)
    if letter == "T":
        draw_flag(pen)
    elif letter == "S":
        pen.box(SAND_LINE, (0.20, 0.42), (0.80, 0.84), 0.06)
    line = SAND_LINE if on_path else GRASS_LINE
    for start, end in (((0.0, 0.0), (1.0, 0.0)), ((0.0, 0.0), (0.0, 1.0))):
        pen.line(line, start, end, 0.02)


@lru_cache(maxsize=4)
def _background(size: tuple[int, int], rows: Rows) -> pygame.Surface:
    """Return the grid without a walker; cached, so callers must not draw on it."""
    surface = blank(size)
    tile = size[0] / len(rows[0])
    for state, letter in enumerate("".join(rows)):
        row, col = divmod(state, len(rows[0]))
        _draw_tile(Pen(surface, (col * tile, row * tile), tile), state, letter)
    return surface
