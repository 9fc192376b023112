"""Taxi: pick up a passenger and drive them to their destination."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gymcore.base.colorize import colorize
from gymcore.core import Info, Options
from gymcore.envs.toy_text.figures import DARK, Pen, draw_flag, draw_head, draw_walker, facing_after
from gymcore.envs.toy_text.tabular import GridEnv, Outcome, Place, Transitions, moved, probability
from gymcore.envs.toy_text.utils import categorical_sample as categorical_sample
from gymcore.error import FailedCheck, InvalidArgument
from gymcore.native.parameters import Number, Parameter, as_number, batch_of, flag
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.rendering.shapes import WHITE, Color, Point, blank

if TYPE_CHECKING:
    import pygame

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
# The directions to the left and right of each direction of travel.
SIDES = ((EAST, WEST), (WEST, EAST), (NORTH, SOUTH), (SOUTH, NORTH))
IN_TAXI = 4


def encode(taxi_row: int, taxi_col: int, pass_loc: int, dest_idx: int) -> int:
    """Encode the state as one number."""
    return ((taxi_row * 5 + taxi_col) * 5 + pass_loc) * 4 + dest_idx


def decode(state: int) -> tuple[int, int, int, int]:
    """Return taxi row and column, the passenger's location (4 is the taxi), and the destination."""
    rest, dest_idx = divmod(state, 4)
    rest, pass_loc = divmod(rest, 5)
    return (*divmod(rest, 5), pass_loc, dest_idx)


def _as_probability(value: Number) -> tuple[float, ...]:
    (number,) = as_number(value)
    if not 0.0 <= number <= 1.0:
        raise InvalidArgument(f"expected a probability from 0 to 1, got {value!r}")
    return (number,)


class TaxiEnv(GridEnv):
    """A taxi in a small town with walls, and a passenger who travels from one stop to another.

    T. G. Dietterich, "Hierarchical Reinforcement Learning with the MAXQ Value Function
    Decomposition" (2000).

    - Observation: `encode(taxi_row, taxi_col, pass_loc, dest_idx)`, an int below 500; stops are 0
      red, 1 green, 2 yellow, 3 blue, and `pass_loc` 4 is the taxi.
    - Actions: 0 south, 1 north, 2 east, 3 west, 4 pick up, 5 drop off.
    - Reward: 20 for delivering the passenger, -10 for an illegal pickup or dropoff, -1 for anything
      else.
    - Terminates when the passenger is dropped off at the destination.
    - In rain (`is_rainy`) a drive goes straight with `rainy_probability`, otherwise to a side.
    - A fickle passenger (`fickle_passenger`) changes the destination once, after the first drive
      with them, with `fickle_probability`.
    - Info: `prob`, the probability of the transition, and `action_mask` int8 [6], 1 for actions
      that change something.

    Attributes: `desc`, `locs`, `rainy_probability`, `fickle_passenger`, `fickle_probability` (the
    last two can be set at any time), `fickle_step` (whether the passenger will still change the
    destination), and those of `TabularEnv`: `P`, `s`, `lastaction`, `initial_state_distrib`.

    Examples:
        >>> import gymcore as gym
        >>> env = gym.make("Taxi-v4")
        >>> env.reset(seed=3)
        (42, {'prob': 1.0, 'action_mask': array([1, 0, 1, 0, 0, 0], dtype=int8)})
        >>> env.unwrapped.decode(42)
        (0, 2, 0, 2)
    """

    metadata = {"render_modes": ["human", "ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012
    first_prob = 1.0
    compiled_methods = frozenset({"action_mask", "decode", "encode"})
    table_methods = frozenset(
        {
            "_build_dry_transitions",
            "_build_rainy_transitions",
            "_calc_new_position",
            "_dropoff",
            "_pickup",
            "encode",
        }
    )
    kernel_module = "gymcore_ext.physics.taxi"
    arguments = ("is_rainy", "rainy_probability")
    settable = ("s", "lastaction", "fickle_step")
    shape = SHAPE
    tile = 96
    max_row, max_col = 4, 4
    desc = np.array([list(row) for row in MAP], "S1")
    desc.flags.writeable = False
    locs: Sequence[tuple[int, int]] = LOCS
    locs_colors = ((255, 0, 0), (0, 255, 0), (255, 255, 0), (0, 0, 255))

    cell_size = (88, 56)
    taxi_imgs = taxi_full_imgs = passenger_img = destination_img = house_img = None
    background_img = None
    is_rainy = False

    fickle_passenger = flag()
    fickle_probability = Parameter(encode=_as_probability)

    def __init__(
        self,
        render_mode: str | None = None,
        is_rainy: bool = False,
        fickle_passenger: bool = False,
        rainy_probability: float = 0.8,
        fickle_probability: float = 0.3,
    ) -> None:
        """Create the environment.

        Args:
            render_mode: Render mode: None, "human", "rgb_array" or "ansi".
            is_rainy: Whether drives may go to a side.
            fickle_passenger: Whether the passenger may change the destination.
            rainy_probability: Probability of the intended drive in rain.
            fickle_probability: Probability that an episode's passenger changes the destination.

        Raises:
            InvalidProbability: If a probability is outside [0, 1].
        """
        self.is_rainy = is_rainy
        self.rainy_probability = rainy_probability
        probability("rainy_probability", rainy_probability)
        probability("fickle_probability", fickle_probability)
        self._rainy_lateral_probability = (1.0 - rainy_probability) / 2.0
        self.locs = list(LOCS)
        self.taxi_orientation = 0
        self._make(
            self._table(),
            render_mode,
            fickle_passenger=fickle_passenger,
            fickle_probability=fickle_probability,
        )

    # --- the table -----------------------------------------------------------------------------

    def _build_table(self) -> Transitions:
        table: dict[int, dict[int, list[Outcome]]] = {
            s: {a: [] for a in range(NUM_ACTIONS)} for s in range(NUM_STATES)
        }
        self.P = table
        starts = np.zeros(NUM_STATES)
        build = self._build_rainy_transitions if self.is_rainy else self._build_dry_transitions
        for row, col, passenger, goal in product(range(5), range(5), range(5), range(4)):
            starts[self.encode(row, col, passenger, goal)] += passenger not in (IN_TAXI, goal)
            for action in range(NUM_ACTIONS):
                build(row, col, passenger, goal, action)
        del self._parts
        return Transitions(table, starts / starts.sum(), self._masks())

    def _after_drive(self, place: Place, direction: int) -> Place:
        """Return the cell after a drive; walls and the edge of the map block it."""
        row, col = place
        border = self.desc[1 + row, 2 * col + 2 * (direction == EAST)]
        if direction in (EAST, WEST) and border != b":":
            return place
        return moved(place, STEPS[direction], (self.max_row + 1, self.max_col + 1))

    def _mask(self, row: int, col: int, passenger: int) -> list[bool]:
        """Return whether each action changes something."""
        cell, is_riding = (row, col), passenger == IN_TAXI
        return [
            *(self._after_drive(cell, direction) != cell for direction in range(4)),
            not is_riding and cell == self.locs[passenger],
            is_riding and cell in self.locs,
        ]

    def _masks(self) -> npt.NDArray[np.int8]:
        return np.array([self._mask(*decode(state)[:3]) for state in range(NUM_STATES)], np.int8)

    def _build_dry_transitions(self, *situation: int) -> None:
        """Add an outcome to `P`, given row, column, passenger, destination and action."""
        self._add_outcomes(situation, None)

    def _build_rainy_transitions(self, *situation: int) -> None:
        """Add outcomes to `P`; a drive that is not blocked may go to a side."""
        self._add_outcomes(situation, float(self.rainy_probability))

    def _add_outcomes(self, situation: Sequence[int], straight: float | None) -> None:
        row, col, passenger, goal, action = situation
        state, cell = self.encode(row, col, passenger, goal), (row, col)
        places, reward, terminated = [(1.0, cell)], -1, False
        if action == PICKUP:
            passenger, reward = self._pickup(cell, passenger, reward)
        elif action == DROPOFF:
            passenger, reward, terminated = self._dropoff(cell, passenger, goal, reward)
        else:
            ahead = self._after_drive(cell, action)
            places = [(1.0 if straight is None else straight, ahead)]
            for side in SIDES[action] if straight is not None else ():
                moves = ahead != cell
                slip = self._calc_new_position(row, col, STEPS[side]) if moves else cell
                places.append(((1.0 - places[0][0]) / 2.0, slip))
        for chance, (row, col) in places:
            after = self.encode(row, col, passenger, goal)
            self.P[state][action].append((chance, after, reward, terminated))

    def _calc_new_position(self, row: int, col: int, movement: tuple[int, int]) -> tuple[int, int]:
        """Return the cell after a movement (rows, columns) to a side; walls block it."""
        return self._after_drive((row, col), STEPS.index(movement))

    def _pickup(self, taxi_loc: tuple[int, int], pass_idx: int, reward: int) -> tuple[int, int]:
        """Return the passenger's location and the reward of a pickup."""
        if pass_idx != IN_TAXI and taxi_loc == self.locs[pass_idx]:
            return IN_TAXI, reward
        return pass_idx, -10

    def _dropoff(
        self, taxi_loc: tuple[int, int], pass_idx: int, dest_idx: int, default_reward: int
    ) -> tuple[int, int, bool]:
        """Return the passenger's location, the reward, and whether a dropoff ends the episode."""
        if pass_idx != IN_TAXI or taxi_loc not in self.locs:
            return pass_idx, -10, False
        stop = self.locs.index(taxi_loc)
        return stop, 20 if stop == dest_idx else default_reward, stop == dest_idx

    # --- steps ---------------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[int, Info]:
        """Start an episode; see `NativeEnv.reset`."""
        self.taxi_orientation = 0
        state, infos = super().reset(seed=seed, options=options)
        if self.in_python:
            infos["action_mask"] = self.action_mask(state)
        return state, infos

    def step_in_python(self, action: int) -> tuple[float, bool, Info]:
        """Step through `decode`, `encode` and `action_mask`."""
        outcomes = self.P[self.s][action]
        index = categorical_sample([outcome[0] for outcome in outcomes], self.np_random)
        chance, state, reward, terminated = outcomes[index]
        self.lastaction = int(action)
        before, after = self.decode(self.s), self.decode(state)
        has_moved = after[:2] != before[:2] and before[2] == IN_TAXI
        if self.fickle_passenger and self.fickle_step and has_moved:
            self.fickle_step = False
            others = [goal for goal in range(len(LOCS)) if goal != before[3]]
            state = self.encode(*after[:3], int(self.np_random.choice(others)))
        self.s = int(state)
        return reward, terminated, {"prob": chance, "action_mask": self.action_mask(state)}

    def state_bounds(self) -> dict[str, tuple[float, float]]:
        """Return the bounds of the table, and of whether the destination will still change."""
        return {**super().state_bounds(), "fickle_step": (0, 1)}

    def encode(self, taxi_row: int, taxi_col: int, pass_loc: int, dest_idx: int) -> int:
        """Encode the state as one number.

        Raises:
            InvalidArgument: If a value is out of range.
        """
        limits = {"taxi_row": 5, "taxi_col": 5, "pass_loc": 5, "dest_idx": 4}
        values = (taxi_row, taxi_col, pass_loc, dest_idx)
        for (name, limit), value in zip(limits.items(), values, strict=True):
            if not 0 <= value < limit:
                raise InvalidArgument(f"{name}: expected 0 to {limit - 1}, got {value!r}")
        return encode(*values)

    def decode(self, i: int) -> tuple[int, int, int, int]:
        """Return taxi row and column, the passenger's location (4: the taxi), and the destination.

        Raises:
            FailedCheck: If `i` is not a state.
        """
        if not 0 <= i < NUM_STATES:
            raise FailedCheck(f"i: expected a state from 0 to {NUM_STATES - 1}, got {i!r}")
        return decode(int(i))

    def action_mask(self, state: int) -> npt.NDArray[np.int8]:
        """Return whether each action changes something in a state, int8 [6], a new array."""
        return np.array(self._mask(*self.decode(state)[:3]), np.int8)

    @property
    def fickle_step(self) -> bool:
        """Whether the passenger will still change the destination in this episode."""
        return batch_of(self).is_ready and bool(self._column("fickle_step"))

    @fickle_step.setter
    def fickle_step(self, value: bool) -> None:
        self._write_column("fickle_step", float(bool(value)))

    def _render_text(self) -> str:
        """Return the map as text, above the last action.

        The passenger's stop is blue and the destination magenta. The taxi is yellow, or green if
        the passenger is in it.
        """
        letters = self.desc.astype(str).tolist()
        row, col, passenger, goal = self.decode(self.s)

        def paint(place: tuple[int, int], color: str, **style: bool) -> None:
            y, x = 1 + place[0], 2 * place[1] + 1
            letters[y][x] = colorize(letters[y][x], color, **style)

        if passenger == IN_TAXI:
            y, x = 1 + row, 2 * col + 1
            letters[y][x] = letters[y][x].replace(" ", "_")
            paint((row, col), "green", highlight=True)
        else:
            paint((row, col), "yellow", highlight=True)
            paint(self.locs[passenger], "blue", bold=True)
        paint(self.locs[goal], "magenta")
        action = self.lastaction
        foot = "" if action is None else f"  ({NAMES[action]})"
        return "\n".join([*map("".join, letters), foot, ""])

    def get_surf_loc(self, map_loc: tuple[int, int]) -> tuple[int, int]:
        """Return the position in the image of a cell of the town.

        Args:
            map_loc: Row and column of the cell.

        Returns:
            x and y of the cell's upper left corner, in pixels of this library's image.
        """
        width, height = self.frame_size
        return int(map_loc[1] * width / SHAPE[1]), int(map_loc[0] * height / SHAPE[0])

    @staticmethod
    def draw(
        surface: pygame.Surface,
        state: Sequence[float],
        *,
        orientation: int,
        is_rainy: bool,
        desc: npt.NDArray[np.bytes_],
        locs: Sequence[Place],
    ) -> None:
        """Draw one town.

        Args:
            surface: Surface to draw on, a square; every pixel is overwritten.
            state: `(s, ...)`.
            orientation: Direction in which the taxi faces: 0 south, 1 north, 2 east, 3 west.
            is_rainy: Whether it rains.
            desc: The map, bytes [7, 11].
            locs: The cells of the stops.
        """
        size = surface.get_size()
        surface.blit(_background(size, is_rainy, desc.tobytes().decode(), tuple(locs)), (0, 0))
        tile = size[0] / SIDE
        row, col, passenger, goal = decode(int(state[0]))

        def pen(place: tuple[int, int]) -> Pen:
            return Pen(surface, (place[1] * tile, place[0] * tile), tile)

        draw_flag(pen(locs[goal]), WHITE)
        _draw_taxi(pen((row, col)), orientation, passenger == IN_TAXI)
        if passenger != IN_TAXI:  # drawn over the taxi, in the destination's color
            stop = locs[passenger]
            corner = Pen(surface, ((stop[1] + 0.27) * tile, (stop[0] + 0.22) * tile), tile * 0.76)
            corner.box(STREET, (0.30, 0.10), (0.70, 0.96), 0.16)
            draw_walker(corner, coat=COATS[goal])

    def draw_arguments(self) -> Info:
        """Return the taxi's direction, and whether it rains, for drawing."""
        action = self.lastaction
        if action is not None and action < PICKUP:
            self.taxi_orientation = action
        return {
            "orientation": self.taxi_orientation,
            "is_rainy": bool(self.is_rainy),
            "desc": self.desc,
            "locs": self.locs,
        }


TaxiVectorEnv = NativeVectorEnv.of(TaxiEnv)


# --- rendering -----------------------------------------------------------------------------------

STREET: Color = (221, 224, 229)
STREET_LINE: Color = (207, 211, 217)
WALL: Color = (98, 106, 122)
CAR: Color = (242, 190, 66)
ROOF: Color = (250, 212, 112)
GLASS: Color = (96, 124, 150)
TIRE: Color = (58, 62, 72)
LIGHT: Color = (255, 244, 196)
RAIN: Color = (158, 184, 208)
# Red, green, yellow, blue: colors of the stops, and of the coats of passengers bound for them.
STOPS: tuple[Color, ...] = ((232, 134, 120), (128, 196, 142), (246, 214, 104), (128, 168, 222))
COATS: tuple[Color, ...] = ((202, 84, 72), (70, 146, 92), (206, 160, 40), (66, 112, 186))
SIDE = 5


@lru_cache(maxsize=8)
def _background(
    size: tuple[int, int], is_rainy: bool, letters: str, locs: tuple[Place, ...]
) -> pygame.Surface:
    """Return the empty town; cached, so callers must not draw on it."""
    surface = blank(size)
    tile = size[0] / SIDE
    for row in range(SIDE):
        for col in range(SIDE):
            pen = Pen(surface, (col * tile, row * tile), tile)
            pen.fill(STREET)
            for start, end in (((0.0, 0.0), (1.0, 0.0)), ((0.0, 0.0), (0.0, 1.0))):
                pen.line(STREET_LINE, start, end, 0.02)
    for color, (row, col) in zip(STOPS, locs, strict=False):
        pen = Pen(surface, (col * tile, row * tile), tile)
        pen.box(color, (0.05, 0.05), (0.95, 0.95), 0.12)
        pen.letter(DARK, letters[11 * (1 + row) + 1 + 2 * col], (0.11, 0.12), 0.26)
    for row, col in product(range(SIDE), range(SIDE - 1)):
        pen = Pen(surface, (col * tile, row * tile), tile)
        if letters[11 * (1 + row) + 2 + 2 * col] == "|":
            pen.line(WALL, (1.0, 0.03), (1.0, 0.97), 0.08)
    frame = Pen(surface, (0.0, 0.0), size[0])
    corners = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    for start, end in zip(corners, (*corners[1:], corners[0]), strict=True):
        frame.line(WALL, start, end, 0.016)
    if is_rainy:
        for drop in range(60):
            x, y = (drop * 0.618034) % 1.0, (drop * 0.381966 * 1.7) % 1.0
            frame.line(RAIN, (x, y), (x - 0.008, y + 0.026), 0.004)
    return surface


def _draw_taxi(pen: Pen, orientation: int, has_passenger: bool) -> None:
    """Draw a car from above, whose front points in the direction of travel."""
    ahead = facing_after(orientation % 4, STEPS)
    sideways = (-ahead[1], ahead[0])

    def at(along: float, across: float) -> Point:
        return (
            0.5 + along * ahead[0] + across * sideways[0],
            0.5 + along * ahead[1] + across * sideways[1],
        )

    for along in (-0.19, 0.19):
        for across in (-0.19, 0.19):
            pen.slab(TIRE, at(along - 0.07, across), at(along + 0.07, across), 0.10, 0.03)
    pen.slab(DARK, at(-0.345, 0.0), at(0.345, 0.0), 0.43, 0.12)
    pen.slab(CAR, at(-0.32, 0.0), at(0.32, 0.0), 0.38, 0.10)
    pen.slab(GLASS, at(0.09, 0.0), at(0.19, 0.0), 0.30, 0.03)
    pen.slab(GLASS, at(-0.24, 0.0), at(-0.17, 0.0), 0.28, 0.03)
    pen.slab(ROOF, at(-0.17, 0.0), at(0.09, 0.0), 0.30, 0.04)
    for across in (-0.13, 0.13):
        pen.dot(LIGHT, at(0.30, across), 0.028)
    if has_passenger:
        draw_head(pen, at(-0.04, 0.0), (0.0, 1.0))
    else:
        pen.slab(DARK, at(-0.06, 0.0), at(-0.02, 0.0), 0.16, 0.01)
