"""FrozenLake: cross a frozen lake to a goal without falling into a hole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gymcore.base import seeding
from gymcore.base.arguments import count
from gymcore.base.colorize import colorize
from gymcore.core import Info
from gymcore.envs.toy_text.figures import DARK, Pen, draw_flag, draw_head, draw_walker, facing_after
from gymcore.envs.toy_text.tabular import GridEnv, Outcome, Transitions, moved, probability
from gymcore.envs.toy_text.utils import categorical_sample as categorical_sample
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.rendering.shapes import Color, blank

if TYPE_CHECKING:
    import pygame

LEFT = 0
DOWN = 1
RIGHT = 2
UP = 3
STEPS = ((0, -1), (1, 0), (0, 1), (-1, 0))

MAPS = {
    "4x4": ["SFFF", "FHFH", "FFFH", "HFFG"],
    "8x8": [
        "SFFFFFFF",
        "FFFFFFFF",
        "FFFHFFFF",
        "FFFFFHFF",
        "FFFHFFFF",
        "FHHFFFHF",
        "FHFFHFHF",
        "FFFHFFFG",
    ],
}

Board = npt.NDArray[np.bytes_]
Rewards = tuple[float, float, float]  # for the goal, a hole, and frozen ice


def is_valid(board: Sequence[Sequence[str]], max_size: int) -> bool:
    """Return whether a path around the holes H leads from the upper left corner to a goal G.

    Only the first `max_size` rows and columns of the board are used.

    Examples:
        >>> is_valid(["SF", "HG"], 2), is_valid(["SH", "HG"], 2)
        (True, False)
    """
    frontier, visited = [(0, 0)], {(0, 0)}
    while frontier:
        row, col = frontier.pop()
        for down, right in STEPS:
            place = (row + down, col + right)
            if place in visited or not (0 <= place[0] < max_size and 0 <= place[1] < max_size):
                continue
            letter = board[place[0]][place[1]]
            if letter == "G":
                return True
            if letter != "H":
                visited.add(place)
                frontier.append(place)
    return False


_MAX_SIZE = 2**15


def generate_random_map(size: int = 8, p: float = 0.8, seed: int | None = None) -> list[str]:
    """Return a random square map with a path from the upper left start to the lower right goal.

    Args:
        size: Number of rows and of columns, 2 to 32,768.
        p: Probability that a tile is frozen, above 0; values above 1 count as 1.
        seed: Seed of the map; None for entropy from the system.

    Raises:
        InvalidArgument: If `size` or `p` is out of range.

    Examples:
        >>> generate_random_map(4, seed=7)
        ['SHFF', 'FHFH', 'FFFF', 'FFFG']
    """
    size = count("size", size, 2, _MAX_SIZE)
    if not p > 0:
        raise InvalidArgument(f"p: expected a probability above 0, got {p}")
    frozen = min(1, p)
    random, _ = seeding.np_random(seed)
    while True:
        board = random.choice(["F", "H"], (size, size), p=[frozen, 1 - frozen])
        board[0][0] = "S"
        board[-1][-1] = "G"
        if is_valid(board.tolist(), size):
            return ["".join(row) for row in board]


def as_board(desc: object) -> Board:
    """Return a map as an array [rows, columns] of single bytes; errors name the invalid entry."""
    rows = list(desc) if isinstance(desc, (Sequence, np.ndarray)) else []
    if not rows or isinstance(desc, (str, bytes)):
        raise ArgumentTypeError(
            f"desc: expected rows of letters such as ['SF', 'HG'], got {desc!r}"
        )
    board: list[list[str]] = []
    for r, row in enumerate(rows):
        letters = [c.decode() if isinstance(c, bytes) else str(c) for c in _letters(row, r)]
        for c, letter in enumerate(letters):
            if letter not in ("S", "F", "H", "G"):
                raise InvalidArgument(
                    f"desc[{r}][{c}]: expected S (start), F (frozen), H (hole) or G (goal), "
                    f"got {letter!r}"
                )
        if board and len(letters) != len(board[0]):
            raise InvalidArgument(
                f"desc[{r}]: expected {len(board[0])} letters as in desc[0], got {len(letters)}"
            )
        board.append(letters)
    if not any("S" in letters for letters in board):
        raise InvalidArgument(f"desc: expected at least one start S, got {desc!r}")
    return np.array(board, "S1")


def _letters(row: object, index: int) -> Sequence[str | bytes] | np.ndarray:
    if isinstance(row, bytes):
        return row.decode("latin-1")
    if not isinstance(row, (Sequence, np.ndarray)) or len(row) == 0:
        raise ArgumentTypeError(f"desc[{index}]: expected a row of letters, got {row!r}")
    return row


@lru_cache(maxsize=64)
def _transitions(
    rows: tuple[bytes, ...],
    is_slippery: bool,
    success_rate: float,
    rewards: Rewards,
    types: tuple[type, ...],
) -> Transitions:
    """Return the table of transitions; `types` distinguishes 1 from 1.0 in the cache."""
    goal, hole, frozen = rewards
    ncol = len(rows[0])
    shape = (len(rows), ncol)
    reward_at = {"G": goal, "H": hole}
    slips = (1 - success_rate) / 2.0
    chances = (slips, success_rate, slips) if is_slippery else (1.0,)

    def arrival(state: int, direction: int) -> tuple[int, float, bool]:
        row, col = moved(divmod(state, ncol), STEPS[direction], shape)
        letter = chr(rows[row][col])
        return row * ncol + col, reward_at.get(letter, frozen), letter in "GH"

    def outcomes(state: int, action: int) -> list[Outcome]:
        if chr(rows[state // ncol][state % ncol]) in "GH":
            return [(1.0, state, 0, True)]
        turns = (-1, 0, 1) if is_slippery else (0,)
        return [
            (chance, *arrival(state, (action + turn) % 4))
            for chance, turn in zip(chances, turns, strict=True)
        ]

    states = range(shape[0] * ncol)
    starts = np.array([letter == ord("S") for row in rows for letter in row], np.float64)
    table = {s: {a: outcomes(s, a) for a in range(4)} for s in states}
    return Transitions(table, starts / starts.sum())


class FrozenLakeEnv(GridEnv):
    """A walk across a frozen lake with slippery ice.

    - Observation: `row * ncol + column`, an int.
    - Actions: 0 left, 1 down, 2 right, 3 up. On slippery ice the move is the intended one with
      probability `success_rate`, otherwise one of the two perpendicular ones.
    - Reward: `reward_schedule` for reaching the goal, a hole, or any other tile: 1, 0, 0.
    - Terminates at the goal and in a hole.
    - Info: `prob`, the probability of the transition.

    Attributes: `desc` (array [nrow, ncol] of single bytes), `nrow`, `ncol`, `reward_range`, and
    those of `TabularEnv`: `P`, `s`, `lastaction`, `initial_state_distrib`.

    Examples:
        >>> import gymcore as gym
        >>> env = gym.make("FrozenLake-v1", is_slippery=False)
        >>> env.reset(seed=1)
        (0, {'prob': 1})
        >>> env.step(2)
        (1, 0, False, False, {'prob': 1.0})
    """

    metadata = {"render_modes": ["human", "ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012
    arguments = ("desc", "map_name", "is_slippery", "success_rate", "reward_schedule")
    ice_img = ice_crack_imgs = hole_img = agent_img = goal_flag_img = None
    letter_s_img = letter_g_img = None

    def __init__(
        self,
        render_mode: str | None = None,
        desc: list[str] | None = None,
        map_name: str = "4x4",
        is_slippery: bool = True,
        success_rate: float = 1.0 / 3.0,
        reward_schedule: tuple[int, int, int] = (1, 0, 0),
    ) -> None:
        """Create the environment.

        Args:
            render_mode: Render mode: None, "human", "rgb_array" or "ansi".
            desc: Rows of the letters S (start), F (frozen), H (hole) and G (goal); None for the map
                named `map_name`.
            map_name: "4x4" or "8x8"; None for a random map.
            is_slippery: Whether moves may go in a perpendicular direction.
            success_rate: Probability of the intended move on slippery ice.
            reward_schedule: Rewards for reaching the goal, a hole, and a frozen tile.

        Raises:
            InvalidArgument: If the map is invalid, or the name is unknown.
            InvalidProbability: If `success_rate` is outside [0, 1].
        """
        if desc is None:
            desc = generate_random_map() if map_name is None else named_map(map_name)
        self.desc = as_board(desc)
        self.nrow, self.ncol = self.desc.shape
        self.window_size = (min(64 * self.ncol, 512), min(64 * self.nrow, 512))
        self.cell_size = (self.window_size[0] // self.ncol, self.window_size[1] // self.nrow)
        rewards = _rewards(reward_schedule)
        self.reward_range = (min(rewards), max(rewards))
        rows = tuple(row.tobytes() for row in self.desc)
        rate = probability("success_rate", success_rate)
        types = tuple(map(type, rewards))
        self._make(_transitions(rows, bool(is_slippery), rate, rewards, types), render_mode)

    if not TYPE_CHECKING:  # a type checker sees the attribute

        @property
        def shape(self) -> tuple[int, int]:
            """Number of rows and of columns."""
            return self.nrow, self.ncol

    def _render_text(self) -> str:
        """Return the map as text with the walker's cell in red, below the last action."""
        letters = [[chr(letter[0]) for letter in row] for row in self.desc.tolist()]
        row, col = divmod(self.s, self.ncol)
        letters[row][col] = colorize(letters[row][col], "red", highlight=True)
        action = self.lastaction
        head = "" if action is None else f"  ({('Left', 'Down', 'Right', 'Up')[action]})"
        return "\n".join([head, *map("".join, letters), ""])

    @staticmethod
    def draw(surface: pygame.Surface, state: Sequence[float], *, desc: Board) -> None:
        """Draw one lake with the map `desc`, bytes [rows, columns]; every pixel is overwritten.

        `state` is `(s, lastaction, ...)`; an action of -1 means none yet.
        """
        rows = tuple("".join(chr(letter[0]) for letter in row) for row in desc.tolist())
        size = surface.get_size()
        surface.blit(_background(size, rows), (0, 0))
        row, col = divmod(int(state[0]), len(rows[0]))
        tile = size[0] / len(rows[0])
        pen = Pen(surface, (col * tile, row * tile), tile)
        if rows[row][col] == "H":
            pen.dot(WATER, (0.5, 0.58), 0.22)
            draw_head(pen, (0.5, 0.48), (0.0, 1.0))
            pen.box(DEEP, (0.30, 0.60), (0.70, 0.70), 0.05)
        else:
            draw_walker(pen, facing_after(state[1], STEPS))

    def draw_arguments(self) -> Info:
        """Return the map for drawing."""
        return {"desc": self.desc}


def named_map(name: str) -> list[str]:
    """Return a map of MAPS; raise `InvalidArgument` if the name is unknown."""
    if name not in MAPS:
        raise InvalidArgument(f"map_name: expected one of {', '.join(MAPS)} or None, got {name!r}")
    return MAPS[name]


def _rewards(schedule: Iterable[float]) -> Rewards:
    try:
        goal, hole, frozen = schedule
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"reward_schedule: expected three rewards (goal, hole, frozen), got {schedule!r}"
        ) from None
    for reward in (goal, hole, frozen):
        if not isinstance(reward, (int, float, np.number)) or not np.isfinite(reward):
            raise InvalidArgument(f"reward_schedule: expected finite numbers, got {reward!r}")
    return goal, hole, frozen


FrozenLakeVectorEnv = NativeVectorEnv.of(FrozenLakeEnv)


# --- rendering -----------------------------------------------------------------------------------

ICE: Color = (223, 238, 246)
ICE_LINE: Color = (198, 221, 234)
GOAL: Color = (190, 226, 196)
GLINT: Color = (241, 248, 252)
RIM: Color = (178, 208, 225)
WATER: Color = (74, 124, 160)
DEEP: Color = (52, 96, 134)
WOOD: Color = (190, 158, 122)
PLANK: Color = (166, 134, 101)


def _draw_tile(pen: Pen, letter: str, odd: bool) -> None:
    pen.fill(GOAL if letter == "G" else ICE)
    pen.line(GLINT, (0.18, 0.34), (0.34, 0.18), 0.035)
    if odd:
        pen.line(GLINT, (0.66, 0.84), (0.84, 0.66), 0.03)
    else:
        pen.line(GLINT, (0.72, 0.42), (0.82, 0.32), 0.03)
    if letter == "H":
        pen.dot(RIM, (0.5, 0.5), 0.40)
        pen.dot(WATER, (0.5, 0.52), 0.35)
        pen.dot(DEEP, (0.5, 0.56), 0.28)
    elif letter == "S":
        for row in range(3):
            top = 0.26 + 0.17 * row
            pen.box(PLANK if row % 2 else WOOD, (0.16, top), (0.84, top + 0.15), 0.03)
        pen.letter(DARK, "S", (0.06, 0.07), 0.24)
    elif letter == "G":
        draw_flag(pen)
        pen.letter(DARK, "G", (0.06, 0.07), 0.24)
    for start, end in (((0.0, 0.0), (1.0, 0.0)), ((0.0, 0.0), (0.0, 1.0))):
        pen.line(ICE_LINE, start, end, 0.024)


@lru_cache(maxsize=16)
def _background(size: tuple[int, int], rows: tuple[str, ...]) -> pygame.Surface:
    """Return the lake without a walker; cached, so callers must not draw on it."""
    surface = blank(size)
    tile = size[0] / len(rows[0])
    for r, row in enumerate(rows):
        for c, letter in enumerate(row):
            _draw_tile(Pen(surface, (c * tile, r * tile), tile), letter, (r + c) % 2 == 1)
    return surface
