"""Taxi: fetch a passenger and bring them where they want to go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.native.parameters import Parameter, as_number
from gymcore.envs.toy_text.grid import GridEnv, moved, probability
from gymcore.envs.toy_text.transitions import Transitions
from gymcore.envs.toy_text.utils import categorical_sample as categorical_sample
from gymcore.error import FailedCheck, InvalidArgument
from gymcore.utils import colorize
from gymcore.native.vector_env import NativeVectorEnv

MAP = [
    "+---------+",
    "|R: | : :G|",
    "| : | : : |",
    "| : : : : |",
    "| | : | : |",
    "|Y| : |B: |",
    "+---------+",
]
LOCS = ((0, 0), (0, 4), (4, 0), (4, 3))
SHAPE = (5, 5)
NUM_STATES, NUM_ACTIONS = 500, 6
SOUTH, NORTH, EAST, WEST, PICKUP, DROPOFF = range(6)
NAMES = ("South", "North", "East", "West", "Pickup", "Dropoff")
STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1))
# What is to the left and to the right of a direction of travel.
SIDES = ((EAST, WEST), (WEST, EAST), (NORTH, SOUTH), (SOUTH, NORTH))
IN_TAXI = 4


def encode(taxi_row: int, taxi_col: int, pass_loc: int, dest_idx: int) -> int:
    """The state as one number."""
    return ((taxi_row * 5 + taxi_col) * 5 + pass_loc) * 4 + dest_idx


def decode(state: int) -> tuple[int, int, int, int]:
    """Row and column of the taxi, where the passenger is (4: in the taxi), and the destination."""
    rest, dest_idx = divmod(state, 4)
    rest, pass_loc = divmod(rest, 5)
    return (*divmod(rest, 5), pass_loc, dest_idx)


def _driven(place: tuple[int, int], direction: int) -> tuple[int, int]:
    """Where a drive leads: walls, and the edge of the map, stop it."""
    row, col = place
    if direction in (EAST, WEST):
        border = MAP[1 + row][2 * col + (2 if direction == EAST else 0)]
        if border == "|":
            return place
    return moved(place, STEPS[direction], SHAPE)


@lru_cache(maxsize=16)
def _transitions(straight: float | None) -> Transitions:
    """The table; `straight` is the probability of going where one wants in rain, None if dry."""

    def drives(place: tuple[int, int], action: int) -> Iterator[tuple[float, tuple[int, int]]]:
        there = _driven(place, action)
        if straight is None:
            yield 1.0, there
            return
        yield straight, there
        for side in SIDES[action]:
            # A taxi that stands before a wall does not slip.
            yield (1 - straight) / 2, _driven(place, side) if there != place else place

    def outcomes(state: int, action: int) -> list[tuple[float, int, int, bool]]:
        row, col, passenger, goal = decode(state)
        if action < PICKUP:
            return [
                (chance, encode(*place, passenger, goal), -1, False)
                for chance, place in drives((row, col), action)
            ]
        stop = LOCS.index((row, col)) if (row, col) in LOCS else None
        if action == PICKUP and stop is not None and stop == passenger:
            return [(1.0, encode(row, col, IN_TAXI, goal), -1, False)]
        if action == DROPOFF and stop is not None and passenger == IN_TAXI:
            arrived = stop == goal
            return [(1.0, encode(row, col, stop, goal), 20 if arrived else -1, arrived)]
        return [(1.0, state, -10, False)]

    states = range(NUM_STATES)
    table = {s: {a: outcomes(s, a) for a in range(NUM_ACTIONS)} for s in states}
    starts = np.array([decode(s)[2] != IN_TAXI and decode(s)[2] != decode(s)[3] for s in states])
    return Transitions(table, starts / starts.sum(), _masks())


def _masks() -> npt.NDArray[np.int8]:
    """Which actions change something in each state, int8 [500, 6]."""
    masks = np.zeros((NUM_STATES, NUM_ACTIONS), np.int8)
    for state in range(NUM_STATES):
        row, col, passenger, _ = decode(state)
        for direction in range(4):
            masks[state, direction] = _driven((row, col), direction) != (row, col)
        masks[state, PICKUP] = passenger != IN_TAXI and (row, col) == LOCS[passenger]
        masks[state, DROPOFF] = passenger == IN_TAXI and (row, col) in LOCS
    return masks


def _as_probability(value: Any) -> tuple[float, ...]:
    (number,) = as_number(value)
    if not 0.0 <= number <= 1.0:
        raise InvalidArgument(f"expected a probability from 0 to 1, got {value!r}")
    return (number,)


class TaxiEnv(GridEnv):
    """A taxi in a small town with walls, a passenger at one of four stops, who wants to another.

    T. G. Dietterich, "Hierarchical Reinforcement Learning with the MAXQ Value Function
    Decomposition" (2000).

    - Observation: `encode(taxi_row, taxi_col, pass_loc, dest_idx)`, an int below 500; stops are 0
      red, 1 green, 2 yellow, 3 blue, and `pass_loc` 4 is the taxi.
    - Actions: 0 south, 1 north, 2 east, 3 west, 4 pick up, 5 drop off.
    - Reward: 20 for the passenger at the destination, -10 for a pickup or dropoff that is none, -1
      for all else.
    - Terminates when the passenger is dropped off at the destination.
    - In rain (`is_rainy`) a drive goes where it should with `rainy_probability`, else to a side.
    - A fickle passenger (`fickle_passenger`) changes destination once after the first drive with
      them, in an episode in `fickle_probability` of all.
    - Info: `prob`, the probability of the drive that was made, and `action_mask` int8 [6], 1 for
      actions that change something.

    Attributes: `desc`, `locs`, `rainy_probability`, `fickle_passenger`, `fickle_probability` (the
    latter two may be set at any time), `fickle_step` (whether the passenger will still change
    destination), and those of `TabularEnv`: `P`, `s`, `lastaction`, `initial_state_distrib`.

    Example:
        >>> import gymcore as gym
        >>> env = gym.make("Taxi-v4")
        >>> env.reset(seed=3)
        (42, {'prob': 1.0, 'action_mask': array([1, 0, 1, 0, 0, 0], dtype=int8)})
        >>> env.unwrapped.decode(42)
        (0, 2, 0, 2)
    """

    metadata = {"render_modes": ["human", "ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012
    kernel_module = "gymcore_ext.physics.taxi"
    arguments = ("is_rainy", "rainy_probability")
    settable = ("s", "lastaction", "fickle_step")
    shape = SHAPE
    tile = 96
    max_row, max_col = 4, 4
    locs_colors = ((255, 0, 0), (0, 255, 0), (255, 255, 0), (0, 0, 255))

    fickle_passenger = Parameter(
        encode=lambda value: (float(bool(value)),), decode=lambda columns: bool(columns[0])
    )
    fickle_probability = Parameter(encode=_as_probability)

    def __init__(
        self,
        render_mode: str | None = None,
        is_rainy: bool = False,
        fickle_passenger: bool = False,
        rainy_probability: float = 0.8,
        fickle_probability: float = 0.3,
    ) -> None:
        """Make a town.

        Args:
            render_mode: None, "human", "rgb_array" or "ansi".
            is_rainy: whether drives may go wrong.
            fickle_passenger: whether the passenger may change destination.
            rainy_probability: of going where one wants in rain.
            fickle_probability: of an episode in which the passenger changes destination.

        Raises:
            InvalidProbability: a probability outside [0, 1].
        """
        self.is_rainy = is_rainy
        self.rainy_probability = rainy_probability
        straight = probability("rainy_probability", rainy_probability)
        probability("fickle_probability", fickle_probability)
        self.desc = np.array([list(row) for row in MAP], "S1")
        self.locs = list(LOCS)
        self.taxi_orientation = 0
        self._make(
            _transitions(straight if is_rainy else None),
            render_mode,
            fickle_passenger=fickle_passenger,
            fickle_probability=fickle_probability,
        )

    def encode(self, taxi_row: int, taxi_col: int, pass_loc: int, dest_idx: int) -> int:
        """The state as one number.

        Raises:
            InvalidArgument: a place that there is not.
        """
        limits = {"taxi_row": 5, "taxi_col": 5, "pass_loc": 5, "dest_idx": 4}
        values = (taxi_row, taxi_col, pass_loc, dest_idx)
        for (name, limit), value in zip(limits.items(), values, strict=True):
            if not 0 <= value < limit:
                raise InvalidArgument(f"{name}: expected 0 to {limit - 1}, got {value!r}")
        return encode(*values)

    def decode(self, i: int) -> tuple[int, int, int, int]:
        """Taxi row and column, where the passenger is (4: in the taxi), and the destination.

        Raises:
            FailedCheck: a number that is no state.
        """
        if not 0 <= i < NUM_STATES:
            raise FailedCheck(f"i: expected a state from 0 to {NUM_STATES - 1}, got {i!r}")
        return decode(int(i))

    def action_mask(self, state: int) -> npt.NDArray[np.int8]:
        """Which actions change something in a state, int8 [6], a new array."""
        self.decode(state)
        mask: npt.NDArray[np.int8] = self._transitions.masks[int(state)].copy()  # type: ignore[index]
        return mask

    @property
    def fickle_step(self) -> bool:
        """Whether the passenger will change destination in this episode, and has not yet."""
        return self._batch.is_ready and bool(self._column("fickle_step"))

    @fickle_step.setter
    def fickle_step(self, value: bool) -> None:
        self._column("fickle_step")
        self._write_column("fickle_step", float(bool(value)))

    def text(self) -> str:
        """The map; the passenger's stop is blue, the destination magenta, the taxi yellow or, with
        the passenger in it, green. Below it the last action.
        """  # noqa: D205
        letters = [list(row) for row in MAP]
        row, col, passenger, goal = decode(self.s)

        def paint(place: tuple[int, int], color: str, **how: bool) -> None:
            y, x = 1 + place[0], 2 * place[1] + 1
            letters[y][x] = colorize(letters[y][x], color, **how)

        if passenger == IN_TAXI:
            y, x = 1 + row, 2 * col + 1
            letters[y][x] = letters[y][x].replace(" ", "_")
            paint((row, col), "green", highlight=True)
        else:
            paint((row, col), "yellow", highlight=True)
            paint(LOCS[passenger], "blue", bold=True)
        paint(LOCS[goal], "magenta")
        action = self.lastaction
        foot = "" if action is None else f"  ({NAMES[action]})"
        return "\n".join([*map("".join, letters), foot, ""])

    def get_surf_loc(self, map_loc: tuple[int, int]) -> tuple[int, int]:
        """Where a place of the town is in the picture.

        Args:
            map_loc: Row and column.

        Returns:
            x and y of its upper left corner, pixels of this library's picture.
        """
        width, height = self.picture_size
        return int(map_loc[1] * width / SHAPE[1]), int(map_loc[0] * height / SHAPE[0])

    @classmethod
    def draw(cls) -> Callable[..., None]:
        """The function that draws a town."""
        from gymcore.envs.toy_text.drawing import draw_taxi

        return draw_taxi

    def scene(self) -> dict[str, Any]:
        """Where the taxi looks, and whether it rains."""
        action = self.lastaction
        if action is not None and action < PICKUP:
            self.taxi_orientation = action
        return {"orientation": self.taxi_orientation, "is_rainy": bool(self.is_rainy)}


class TaxiVectorEnv(NativeVectorEnv):
    """Many taxis in one batch; see `NativeVectorEnv`."""

    env_class = TaxiEnv

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = 200,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Make the batch; `options` are arguments of `TaxiEnv` and of `NativeVectorEnv`."""
        super().__init__(num_envs, max_episode_steps, render_mode, **options)
