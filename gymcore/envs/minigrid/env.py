"""MiniGrid and BabyAI: grid worlds whose levels, steps and observations are compiled."""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict
from enum import IntEnum
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from gymcore import error, spaces
from gymcore.base.arguments import count
from gymcore.core import Info, Metadata, Options
from gymcore.envs.minigrid import babyai_levels, levels
from gymcore.envs.minigrid.instructions import instruction_of
from gymcore.envs.minigrid.world import (
    TYPES,
    Grid,
    WorldObj,
    cell_of,
    minigrid_method,
    object_of,
)
from gymcore.native.parameters import Parameter
from gymcore.native.state import digest
from gymcore.native.struct_env import StructEnv
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.spaces.layouts import layout_of, map_layout
from gymcore.vector.engine import Lanes, Mask, StepResult
from gymcore.vector.vector_env import EnvIds
from gymcore_ext.engine.batch import Batch
from gymcore_ext.minigrid import grid_lane
from gymcore_ext.minigrid.babyai import RULES as BABYAI_RULES
from gymcore_ext.minigrid.rules import RULES

if TYPE_CHECKING:
    import pygame

_Observation = TypeVar("_Observation")
_Results = TypeVar("_Results", bound=tuple[Any, ...])

_GOAL_DIRECTIONS = (None, "slope", "angle", "angle_atan2")
_LETTERS = "abcdefghijklmnopqrstuvwxyz ,"
_MAX_MISSION = 512
_MANY_STEPS = 2**30
_MAX_TILE = 256
_DIRECTIONS = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)])


class Actions(IntEnum):
    """The actions. Levels with moving obstacles have the first three."""

    left = 0
    right = 1
    forward = 2
    pickup = 3
    drop = 4
    toggle = 5
    done = 6


def _max_steps(minimum: int) -> Parameter:
    """Return the parameter of a time limit of at least `minimum` steps; 0 lets the level decide."""

    def encode(value: Any) -> tuple[float, ...]:
        is_flag = isinstance(value, (bool, np.bool_))
        is_integer = isinstance(value, (int, np.integer)) and not is_flag
        if not is_integer or not minimum <= value <= _MANY_STEPS:
            raise error.InvalidArgument(
                f"expected a positive integer up to {_MANY_STEPS}, got {value!r}"
            )
        return (float(value),)

    return Parameter(encode=encode, decode=lambda columns: int(columns[0]))


def _goal_directions(width: int, height: int, kind: str) -> npt.NDArray[np.float64]:
    """Return slopes or angles, indexed by the rows and columns from the agent to a goal."""
    down, right = np.mgrid[1 - height : height, 1 - width : width].astype(np.float64)
    slopes: npt.NDArray[np.float64]
    if kind == "angle_atan2":
        slopes = np.arctan2(down, right)
        return slopes
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(right == 0, np.copysign(math.inf, down), down / right)
    slopes[height - 1, width - 1] = 0.0
    return np.arctan(slopes) if kind == "angle" else slopes


class MiniGridEnv(StructEnv):
    """A grid world in which an agent turns, moves, carries objects, and opens doors and boxes.

    - Observation: a dict of `image` uint8 [7, 7, 3] (types, colors and states of the cells that the
      agent sees; it stands in the middle of the last row), `direction` (0 right, 1 down, 2 left, 3
      up) and `mission`, a text. `observes`, `layout` and `goal_direction` select others.
    - Actions: `Actions`.
    - Reward: 1 - 0.9 * steps / max_steps for success, otherwise 0.

    Episodes equal those of minigrid 3.2 for the same seed, to the bit.

    Attributes:
        max_steps: Time limit of the next episodes in steps; 0 lets the level decide.
        grid: The cells, a view that can be written to between steps.
        agent_pos, agent_dir, carrying, mission: State of the current episode, which can be set.
        step_count: Number of steps of the current episode.

    Examples:
        >>> import gymcore as gym
        >>> env = gym.make("MiniGrid-Empty-5x5-v0")
        >>> observation, info = env.reset(seed=1)
        >>> observation["mission"], observation["image"].shape
        ('get to the green goal square', (7, 7, 3))
        >>> for action in (2, 2, 1, 2, 2):
        ...     observation, reward, terminated, truncated, info = env.step(action)
        >>> round(reward, 3), terminated
        (0.955, True)
    """

    metadata: Metadata = {  # noqa: RUF012
        "render_modes": ["human", "rgb_array"],
        "render_fps": 10,
    }
    kind: ClassVar[str]
    levels: ClassVar[dict[str, levels.Level]] = levels.LEVELS
    rules: ClassVar[dict[str, object]] = RULES
    functions = grid_lane.LANE_FUNCTIONS
    fault_texts = grid_lane.FAULT_TEXTS
    defaults = {"max_steps": 0.0}  # noqa: RUF012
    max_steps = _max_steps(1)
    actions = Actions
    _not_pickled = (*StructEnv._not_pickled, "_grid_spec", "shared")
    _mission: str | None = None  # None until it is read or set

    def __init__(
        self,
        render_mode: str | None = None,
        *,
        max_steps: int | None = None,
        see_through_walls: bool | None = None,
        agent_view_size: int = 7,
        observes: str = "partial",
        layout: str = "dict",
        goal_direction: str | None = None,
        obs_tile_size: int = 8,
        highlight: bool = True,
        tile_size: int = 32,
        agent_pov: bool = False,
        screen_size: int = 640,
        **arguments: object,
    ) -> None:
        """Make a level.

        Args:
            render_mode: None, "human" or "rgb_array".
            max_steps: Time limit in steps; None for the level's own.
            see_through_walls: Whether the agent sees what is behind walls and closed doors; None
                for the level's own setting.
            agent_view_size: Cells that the agent sees ahead and across, odd, at least 3.
            observes: "partial" or "one_hot" for what the agent sees, "full" or "symbolic" for the
                whole grid, "rgb_partial" or "rgb" for images of the two.
            layout: "dict"; "image" for the image alone; "flat" for a vector of image and mission.
            goal_direction: "slope", "angle" or "angle_atan2" to observe the direction to the goal,
                too; or None.
            obs_tile_size: Side of a cell in observed images, in pixels.
            highlight: Whether images of the whole grid highlight what the agent sees.
            tile_size: Side of a cell in frames, in pixels.
            agent_pov: Whether frames show what the agent sees instead of the whole grid.
            screen_size: Side of the window, in pixels.
            **arguments: Arguments of the level, listed in the documentation of the family.

        Raises:
            InvalidArgument: If a value is impossible.
            TypeError: If there is no argument of a name.
        """
        for name, value, choices in (
            ("observes", observes, grid_lane.OBSERVES),
            ("layout", layout, grid_lane.LAYOUTS),
            ("goal_direction", goal_direction, _GOAL_DIRECTIONS),
        ):
            if value not in choices:
                raise error.InvalidArgument(f"{name}: expected one of {choices}, got {value!r}")
        level = self.levels[self.kind]
        self._shape = shape = level.shape(self.kind, arguments)
        limit = shape.max_steps if max_steps is None else max_steps
        (self._limit,) = type(self).parameters["max_steps"].encoded(limit)
        through = level.see_through_walls if see_through_walls is None else see_through_walls
        self.width, self.height = shape.width, shape.height
        self.room_size, self.num_cols, self.num_rows = shape.rooms
        self.see_through_walls, self.agent_view_size = bool(through), agent_view_size
        self._fixed = {**arguments, "see": self.see_through_walls, "view": agent_view_size}
        self._observed: dict[str, Any] = {
            "observes": observes,
            "layout": layout,
            "highlight": bool(highlight),
            "tile_size": count("obs_tile_size", obs_tile_size, 1, _MAX_TILE),
        }
        self._goal_direction = goal_direction
        self.highlight, self.tile_size, self.agent_pov = highlight, tile_size, agent_pov
        self.screen_size = screen_size
        self.frame_size = (screen_size, screen_size)
        super().__init__(render_mode)
        self.action_space = spaces.Discrete(self._grid_spec.num_actions)
        arrays = self.observation_space
        if isinstance(arrays, spaces.Dict):
            mission = spaces.Text(_MAX_MISSION, min_length=0, charset=_LETTERS)
            self.observation_space = spaces.Dict({**arrays.spaces, "mission": mission})

    # --- compiled lanes ------------------------------------------------------------------------

    def make_batch(self, num_envs: int, **options: object) -> Batch:
        """Return a batch of levels."""
        shape, arrays = self._shape, dict[str, Any]()
        try:
            if self._goal_direction is not None:
                directions = _goal_directions(self.width, self.height, self._goal_direction)
                arrays["goal_directions"] = directions
            self._grid_spec = grid_spec = grid_lane.GridSpec(
                self.rules[self.levels[self.kind].rules],
                self.width,
                self.height,
                shape.rooms,
                view_size=self.agent_view_size,
                see_through_walls=self.see_through_walls,
                **self._observed,
                **arrays,
            )
        except (TypeError, ValueError, OverflowError) as problem:
            raise error.InvalidArgument(f"{type(self).__name__}: {problem}") from problem
        self.lane_bytes, self.shared = grid_spec.lane_bytes, grid_spec.capsule
        # Lanes also accept the actions that a level with fewer than seven treats as `left`.
        actions = len(Actions) if grid_spec.num_actions == len(Actions) else 2**31
        (dtype, image_shape), *others = grid_spec.parts
        low = -1 if self._observed["observes"] == "symbolic" else 0  # an empty cell
        image = spaces.Box(low, 255, image_shape, dtype.type)
        # `Dict` sorts the keys of a plain dict; this is the order of `parts`.
        parts = OrderedDict[str, spaces.Space](image=image, direction=spaces.Discrete(4))
        if len(others) > 1:
            parts["goal_direction"] = spaces.Box(-np.inf, np.inf, (), np.float64)
        observed = spaces.Dict(parts) if others else image
        self.spaces_of_lane = observed, spaces.Discrete(actions)
        numbers = [number for name in grid_spec.arguments for number in shape.numbers[name]]
        self.defaults = {f"number_{k}": number for k, number in enumerate(numbers)}
        self.defaults = {"max_steps": self._limit, **self.defaults}
        return super().make_batch(num_envs, **options)

    def fixed_digest(self) -> int:
        """Return a digest of the level's rules and arguments, which states have to share."""
        return digest(repr((self.kind, sorted(self._fixed.items()))).encode())

    # --- an episode ----------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Any, Info]:
        """Generate a level; see `Env.reset`.

        Raises:
            Error: If no level can be generated, for example because objects do not fit into it.
        """
        observation, infos = super().reset(seed=seed, options=options)
        self._mission = None
        return self._with_mission(observation), infos

    def step(self, action: int) -> tuple[Any, float, bool, bool, Info]:
        """Take one action of `action_space`; see `StructEnv.step`."""
        results = super().step(action)
        self._with_mission(results[0])
        return results

    def _with_mission(self, observation: _Observation) -> _Observation:
        if isinstance(observation, dict):
            observation["mission"] = self._mission or self.mission
        return observation

    def gen_obs(self) -> Any:
        """Return the current observation."""
        observation = self._batch.observe()
        if self._shares_batch:
            row = lambda _, rows: rows[self._lane]  # noqa: E731
            observation = map_layout(row, layout_of(self.spaces_of_lane[0]), observation)
        return self._with_mission(observation)

    # --- the level as programs read and set it --------------------------------------------------

    def _lane_bytes(self) -> npt.NDArray[np.uint8]:
        lane: npt.NDArray[np.uint8] = self._batch.store.view()[self._lane, : self.lane_bytes]
        if self._batch.is_ready:
            self._grid_spec.finish_reset(lane)
        return lane

    def _lane_record(self) -> np.void:
        """Return the lane as a structured scalar, a view."""
        dtype = self._grid_spec.lane_dtype
        record: np.void = self._lane_bytes()[: dtype.itemsize].view(dtype)[0]
        return record

    @property
    def grid(self) -> Grid:
        """The cells of the level, a view."""
        return Grid(self._lane_record(), self._episode)

    @property
    def _episode(self) -> tuple[grid_lane.GridSpec, int, int]:
        return self._grid_spec, self._grid_spec.episode, self._lane

    @property
    def mission(self) -> str:
        """The mission, a text; empty before the first reset."""
        if self._mission is not None or not self._batch.is_ready:
            return self._mission or ""
        mission = self._grid_spec.mission(self._lane_bytes())
        if not self._shares_batch:
            self._mission = mission
        return mission

    @mission.setter
    def mission(self, value: str) -> None:
        if self._shares_batch:
            raise error.Error("mission: cannot be set for a lane of a vector environment")
        self._mission = value

    @property
    def agent_pos(self) -> Any:
        """Column and row of the agent, int64 [2], a copy; None before the first reset."""
        if not self._batch.is_ready:
            return None
        record = self._lane_record()
        return np.array([record["agent_x"], record["agent_y"]], np.int64)

    @agent_pos.setter
    def agent_pos(self, value: tuple[int, int]) -> None:
        x, y = value
        if not (0 <= x < self.width and 0 <= y < self.height):
            raise error.InvalidArgument(f"agent_pos: expected a cell of the grid, got {value}")
        record = self._lane_record()
        record["agent_x"], record["agent_y"] = x, y

    @property
    def agent_dir(self) -> int:
        """Direction that the agent faces: 0 right, 1 down, 2 left, 3 up."""
        return int(self._lane_record()["agent_dir"])

    @agent_dir.setter
    def agent_dir(self, value: int) -> None:
        if not 0 <= value < 4:
            raise error.InvalidArgument(f"agent_dir: expected 0 to 3, got {value}")
        self._lane_record()["agent_dir"] = value

    @property
    def carrying(self) -> WorldObj | None:
        """The object that the agent carries, or None."""
        record = self._lane_record()
        return object_of(record, int(record["carrying"]), self._episode, (-1, -1))

    @carrying.setter
    def carrying(self, value: WorldObj | None) -> None:
        if getattr(value, "type", None) not in (None, "key", "ball", "box"):
            raise error.InvalidArgument(f"carrying: expected a key, ball, box or None, got {value}")
        record = self._lane_record()
        record["carrying"] = cell_of(record, value, self._episode)

    @property
    def step_count(self) -> int:
        """Number of steps of the current episode."""
        return int(self._lane_record()["step_count"])

    @property
    def steps_remaining(self) -> int:
        """Number of steps until the episode is truncated."""
        return int(self._lane_record()["max_steps"]) - self.step_count

    @property
    def dir_vec(self) -> npt.NDArray[np.int64]:
        """Step to the cell ahead of the agent, int64 [2]."""
        direction: npt.NDArray[np.int64] = _DIRECTIONS[self.agent_dir]
        return direction.copy()

    @property
    def right_vec(self) -> npt.NDArray[np.int64]:
        """Step to the cell on the right of the agent, int64 [2]."""
        x, y = self.dir_vec
        return np.array([-y, x])

    @property
    def front_pos(self) -> npt.NDArray[np.int64]:
        """Column and row of the cell ahead of the agent, int64 [2]."""
        place: npt.NDArray[np.int64] = self.agent_pos + self.dir_vec
        return place

    @property
    def goal_pos(self) -> npt.NDArray[np.int64] | None:
        """Column and row of the first goal in row order, int64 [2], a copy; None without a goal."""
        goals = np.argwhere((self._lane_record()["cells"] & 15) == TYPES.index("goal"))
        return goals[0][::-1].copy() if len(goals) else None

    goal_position = goal_pos  # minigrid's name in levels of the kind Crossing

    def place_agent(
        self,
        top: object = None,
        size: object = None,
        rand_dir: bool = True,
        max_tries: int = 100_000,
    ) -> tuple[int, int]:
        """Put the agent into a random empty cell, and return its place, as minigrid's method."""
        draw = self.np_random.integers
        nowhere = SimpleNamespace(grid=self.grid, agent_pos=None, _rand_int=draw)
        place: tuple[int, int] = _PLACE_OBJ(nowhere, None, top, size, max_tries=max_tries)
        self.agent_pos = place
        if rand_dir:
            self.agent_dir = int(draw(0, 4))
        return place

    # --- state ---------------------------------------------------------------------------------

    @property
    def state(self) -> np.void | None:
        """The lane as a structured scalar, a copy; None before the first reset."""
        return self._lane_record().copy() if self._batch.is_ready else None

    @state.setter
    def state(self, value: object) -> None:
        raise error.ArgumentTypeError("state: set grid, agent_pos etc., or call set_state()")

    def set_state(self, state: np.ndarray) -> None:
        """Continue from a state; see `NativeEnv.set_state`."""
        super().set_state(state)
        self._grid_spec.renew_episode()
        self._mission = None

    # --- frames --------------------------------------------------------------------------------

    def get_frame(
        self, highlight: bool = True, tile_size: int = 32, agent_pov: bool = False
    ) -> npt.NDArray[np.uint8]:
        """Return an image of the level, uint8 [height, width, 3].

        Args:
            highlight: Whether to highlight what the agent sees.
            tile_size: Side of a cell in pixels.
            agent_pov: Whether to show only what the agent sees.
        """
        size = count("tile_size", tile_size, 1, _MAX_TILE)
        return self._grid_spec.frame(self._lane_bytes(), size, bool(agent_pov), bool(highlight))

    def _render_frame(self, render_mode: str, state: object) -> npt.NDArray[np.uint8] | None:
        frame = self.get_frame(self.highlight, self.tile_size, self.agent_pov)
        if render_mode == "rgb_array":
            return frame
        return self._render_with(draw_with_mission, render_mode, frame, self.mission)


def draw_with_mission(surface: pygame.Surface, frame: npt.NDArray[np.uint8], mission: str) -> None:
    """Draw a frame, and the mission below it."""
    import pygame
    import pygame.freetype

    surface.fill((255, 255, 255))
    width, height = surface.get_size()
    scale = min(0.9 * width / frame.shape[1], 0.9 * height / frame.shape[0])
    size = int(frame.shape[1] * scale), int(frame.shape[0] * scale)
    image = pygame.image.frombuffer(frame.tobytes(), frame.shape[1::-1], "RGB")
    surface.blit(pygame.transform.smoothscale(image, size), ((width - size[0]) // 2, 0))
    pygame.freetype.init()
    font = pygame.freetype.SysFont(pygame.font.get_default_font(), 22)
    place = font.get_rect(mission, size=22)
    place.center = (width // 2, height - 30)
    font.render_to(surface, place, mission, size=22)


_MINIGRID = "minigrid.minigrid_env:MiniGridEnv"
_PLACE_OBJ = minigrid_method(_MINIGRID, "place_obj")
for _name in (
    *("hash", "pprint_grid", "gen_obs_grid", "get_view_coords", "get_view_exts", "relative_coords"),
    *("in_view", "agent_sees", "place_obj", "put_obj", "get_pov_render", "get_full_render"),
    "_rand_int",
):
    setattr(MiniGridEnv, _name, minigrid_method(_MINIGRID, _name))


class RoomsEnv(MiniGridEnv):
    """A level that is a grid of rooms; see `MiniGridEnv`."""

    get_room, room_from_pos, _gen_rooms = (
        minigrid_method("minigrid.core.roomgrid:RoomGrid", name)
        for name in ("get_room", "room_from_pos", "_gen_grid")
    )

    @property
    def room_grid(self) -> Any:
        """The rooms, row by row: new objects of minigrid's class `Room`, with what is there now.

        A room is `locked` if one of its doors is. `door_pos` is None where there is no door.
        """
        sizes = {name: getattr(self, name) for name in ("room_size", "num_cols", "num_rows")}
        empty, grid = SimpleNamespace(**sizes, _rand_int=min), self.grid
        RoomsEnv._gen_rooms(empty, self.width, self.height)
        for room, side in itertools.product(itertools.chain(*empty.room_grid), (0, 1)):
            if (neighbor := room.neighbors[side]) is None:  # on the right, or below
                continue
            x, y = room.door_pos[side]
            wall = [grid.get(x + k * side, y + k * (1 - side)) for k in range(self.room_size - 2)]
            door = next((item for item in wall if item and item.type == "door"), None)
            is_open = any(item is None or item.type != "wall" for item in wall) or None
            for each, k in ((room, side), (neighbor, side + 2)):
                each.doors[k], each.door_pos[k] = door or is_open, door and door.cur_pos
                each.locked |= door is not None and door.is_locked
        for item in grid.grid:
            if item and item.can_pickup() and item.cur_pos:
                column, row = (k // (self.room_size - 1) for k in item.cur_pos)
                empty.room_grid[row][column].objs.append(item)
        return empty.room_grid

    def place_agent(  # type: ignore[override]
        self, i: int | None = None, j: int | None = None, rand_dir: bool = True
    ) -> object:
        """Put the agent where it faces no object, in room (i, j); None is drawn."""
        draw, columns, rows = self.np_random.integers, self.num_cols, self.num_rows
        column = int(draw(0, columns)) if i is None else count("i", i, 0, columns - 1)
        row = int(draw(0, rows)) if j is None else count("j", j, 0, rows - 1)
        corner = column * (self.room_size - 1), row * (self.room_size - 1)
        for _ in range(10_000):
            super().place_agent(corner, (self.room_size, self.room_size), rand_dir, 1000)
            if (ahead := self.grid.get(*self.front_pos)) is None or ahead.type == "wall":
                return self.agent_pos
        raise error.Error("place_agent: found no cell from which the agent faces no object")


class BabyAIEnv(RoomsEnv):
    """A level of BabyAI, whose mission is a sentence of a small language; see `MiniGridEnv`."""

    levels = babyai_levels.LEVELS
    rules = BABYAI_RULES
    max_steps = _max_steps(0)

    @property
    def instrs(self) -> Any:
        """The instruction, a new object of minigrid's classes; see `instruction_of`."""
        lane, begin = self._lane_bytes(), -(-self._grid_spec.lane_dtype.itemsize // 8) * 8
        return instruction_of(self, self._grid_spec.mission(lane), lane[begin:])


class _ObstaclesEnv(MiniGridEnv):
    """A level that takes other actions than its three as `left`, as minigrid does."""

    def step(self, action: int) -> tuple[Any, float, bool, bool, Info]:
        """Take any non-negative action; see `MiniGridEnv.step`."""
        is_other = spaces.Discrete(2**31, start=3).contains(action)
        return super().step(Actions.left if is_other else action)


class MiniGridVectorEnv(NativeVectorEnv):
    """A batch of levels; see `NativeVectorEnv` and `MiniGridEnv`.

    Observations hold missions as an object array [num_envs] that cannot be written to. It is
    replaced when a lane begins an episode with another mission. `step_into`, `bind_step` and
    `rollout` write the other arrays only, so `rollout` makes no arrays for such observations.
    """

    env_class: ClassVar[type[MiniGridEnv]]
    _model: MiniGridEnv
    _missions: grid_lane.Missions
    _not_pickled = (*NativeVectorEnv._not_pickled, "_missions")

    @property
    def lane_records(self) -> np.ndarray:
        """Positions, directions, steps and cells of all lanes, a structured array [num_envs].

        The array is a view that cannot be written to.
        """
        dtype = self._model._grid_spec.lane_dtype
        lanes = self._batch.store.view()[:, : dtype.itemsize]
        records: np.ndarray = lanes.view(dtype)[:, 0]
        records.flags.writeable = False
        return records

    def _make_batch(self) -> None:
        super()._make_batch()
        memory, elapsed = self._batch.store.view(), self._batch.view_lifecycle()[1]
        self._missions = grid_lane.Missions(self._model._grid_spec, memory, elapsed)

    # Missions are current before a step or reset; afterwards, those of reset lanes are read again.

    def _read_all_missions(self) -> None:
        if not self._missions.are_current:
            self._batch.exclusively(lambda: self._missions.read(True))

    def _with_missions(self, results: _Results, lanes: Lanes | None) -> _Results:
        observations, infos, missions = results[0], results[-1], self._missions
        if isinstance(observations, dict):
            if "final_obs" in infos:
                before = missions.texts if lanes is None else missions.texts[lanes]
                for row in np.flatnonzero(infos["_final_obs"]):
                    infos["final_obs"][row]["mission"] = before[row]
            if not missions.are_current:
                self._batch.exclusively(lambda: missions.read(False))
            observations["mission"] = missions.texts if lanes is None else missions.texts[lanes]
        return results

    def _reset_lanes(
        self, seed: int | list[int | None] | None, options: Options, mask: Mask | None
    ) -> tuple[object, Info]:
        self._read_all_missions()
        return self._with_missions(super()._reset_lanes(seed, options, mask), None)

    def step(self, actions: np.ndarray, env_ids: EnvIds | None = None) -> StepResult:
        """Step every lane, or some of them; see `NativeVectorEnv.step`."""
        if env_ids is not None:
            return super().step(actions, env_ids)
        if not self._missions.are_current:
            self._read_all_missions()
        return self._with_missions(super().step(actions), None)

    def _step_engine(self, actions: np.ndarray, lanes: Lanes | None) -> StepResult:
        self._read_all_missions()
        return self._with_missions(super()._step_engine(actions, lanes), lanes)

    def _write_lanes(self, saved: object, lanes: Lanes) -> None:
        super()._write_lanes(saved, lanes)
        self._model._grid_spec.renew_episode()

    def _empty_observations(self, shape: tuple[int, ...]) -> object:
        if isinstance(self.single_observation_space, spaces.Dict):
            raise error.InvalidArgument(
                "observations: expected arrays to write to, because rollouts write no missions; "
                'layout="image" or "flat" has observations without them or with encoded ones'
            )
        return super()._empty_observations(shape)


def _declare(base: type[MiniGridEnv], kind: str, name: str) -> None:
    """Define the class of a kind of levels, and the class of its batches."""
    common = (name for name in MiniGridEnv.__init__.__kwdefaults__ or () if name != "max_steps")
    attributes: dict[str, object] = {
        "__doc__": f"Levels of the kind {kind}; see `{base.__name__}`.",
        "__module__": __name__,
        "kind": kind,
        "arguments": (*common, *base.levels[kind].arguments),
    }
    env_class = type(f"{name}Env", (base,), attributes)
    globals()[f"{name}Env"] = env_class
    globals()[f"{name}VectorEnv"] = MiniGridVectorEnv.of(env_class)


for _kind, _level in MiniGridEnv.levels.items():
    _has_rooms = "room_size" in {**_level.arguments, **_level.fixed}
    _base = _ObstaclesEnv if _kind == "DynamicObstacles" else MiniGridEnv
    _declare(RoomsEnv if _has_rooms else _base, _kind, _kind)
for _kind in BabyAIEnv.levels:
    _declare(BabyAIEnv, _kind, f"BabyAI{_kind}")
