"""MiniGrid and BabyAI: grid worlds that compiled code generates, steps and observes."""

from __future__ import annotations

import math
from collections import OrderedDict
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gymcore import error, spaces
from gymcore.base.arguments import check_options
from gymcore.core import Info, Options
from gymcore.envs.minigrid import babyai_levels
from gymcore.envs.minigrid.levels import LEVELS, shape_of
from gymcore.envs.minigrid.tiles import tiles_of
from gymcore.envs.minigrid.world import Grid, WorldObj, cell_of, object_of
from gymcore.native.env import NativeEnv
from gymcore.native.parameters import Parameter
from gymcore.native.state import digest
from gymcore.native.struct_env import struct_batch
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.vector.engine import Lanes, StepResult
from gymcore_ext.engine.batch import Batch
from gymcore_ext.lanes.struct_lanes import StructLanes
from gymcore_ext.minigrid.babyai import RULES as BABYAI_RULES
from gymcore_ext.minigrid.level import FAULT_TEXTS, FUNCTIONS, Level, Missions
from gymcore_ext.minigrid.levels import RULES

if TYPE_CHECKING:
    import pygame

# What an image shows, by the argument `observes`, and compiled code's name of it.
_OBSERVES = {
    "partial": "partial",
    "one_hot": "partial",
    "full": "full",
    "symbolic": "symbolic",
    "rgb_partial": "pixels",
    "rgb": "full_pixels",
}
_LAYOUTS = ("dict", "image", "flat")
_LETTERS = "abcdefghijklmnopqrstuvwxyz ,"
_MAX_MISSION, _FLAT_MISSION = 512, 96
_DIRECTIONS = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)])


class Actions(IntEnum):
    """The actions of all levels but those with moving obstacles, which have the first three."""

    left = 0
    right = 1
    forward = 2
    pickup = 3
    drop = 4
    toggle = 5
    done = 6


def _steps(value: Any) -> tuple[float, ...]:
    """Return a time limit as a column; 0 where the level decides."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 0:
        raise error.InvalidArgument(f"expected a positive integer, got {value!r}")
    return (float(value),)


def _goal_directions(width: int, height: int, kind: str) -> npt.NDArray[np.float64]:
    """Return slopes or angles to a goal, by the cells down and to the right of the agent."""
    down, right = np.mgrid[1 - height : height, 1 - width : width].astype(np.float64)
    if kind == "angle_atan2":
        return np.arctan2(down, right)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(right == 0, np.copysign(math.inf, down), down / right)
    slopes[height - 1, width - 1] = 0.0
    return np.arctan(slopes) if kind == "angle" else slopes


def _raise_faults(faults: list[tuple[int, int]]) -> None:
    lanes = [lane for lane, _ in faults]
    raise error.Error(f"lanes {lanes}: the level {FAULT_TEXTS[faults[0][1]]}")


class MiniGridEnv(NativeEnv[int]):
    """A grid world: an agent turns, moves, carries objects, and opens doors and boxes.

    - Observation: a dict of `image` uint8 [7, 7, 3] (types, colors and states of the cells that the
      agent sees; it stands in the middle of the last row), `direction` (0 right, 1 down, 2 left, 3
      up) and `mission`, a text. `observes`, `layout` and `goal_direction` select others.
    - Actions: `Actions`.
    - Reward: 1 - 0.9 * steps / max_steps for success, otherwise 0.

    Levels, missions, observations, rewards and ends are those of minigrid 3.2 for the same seed.

    Attributes:
        max_steps: Steps after which the next episodes are truncated; 0 where the level decides.
        grid: The cells, as a view that can be written to between steps.
        agent_pos, agent_dir, carrying, mission: Of the current episode; they can be set.
        step_count: Steps of the episode.

    Example:
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

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "rgb_array"],
        "render_fps": 10,
    }
    kind: ClassVar[str]
    levels: ClassVar[dict[str, Any]] = LEVELS
    rules: ClassVar[dict[str, object]] = RULES
    num_actions: ClassVar[int] = len(Actions)
    kernel_module = ""
    arguments: ClassVar[tuple[str, ...]] = ()
    max_steps = Parameter(encode=_steps, decode=lambda columns: int(columns[0]))
    actions = Actions
    _mission: str | None = None  # once it was read or set

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
        **arguments: Any,
    ) -> None:
        """Make a level.

        Args:
            render_mode: None, "human" or "rgb_array".
            max_steps: Steps after which an episode is truncated; None for the level's own limit.
            see_through_walls: Whether nothing casts shadows; None as the level says.
            agent_view_size: Cells that the agent sees ahead and across, odd, at least 3.
            observes: "partial" or "one_hot", what the agent sees; "full" or "symbolic", the whole
                grid; "rgb_partial" or "rgb", pixels of these.
            layout: "dict"; "image", the image alone; or "flat", a vector of image and mission.
            goal_direction: None, or "slope", "angle" or "angle_atan2": observe that to a goal, too.
            obs_tile_size: Pixels of the side of a cell in observations.
            highlight: Whether frames show what the agent sees.
            tile_size: Pixels of the side of a cell in frames.
            agent_pov: Whether frames show what the agent sees instead of the whole grid.
            screen_size: Pixels of the side of a window.
            **arguments: Of the level; the page of the family lists them.

        Raises:
            InvalidArgument: An impossible value.
            TypeError: An unknown argument.
        """
        self.level_arguments = arguments
        level = self.levels[self.kind]
        self._shape = shape = shape_of(self.kind, level, arguments)
        for name, value, allowed in (
            ("observes", observes, tuple(_OBSERVES)),
            ("layout", layout, _LAYOUTS),
            ("goal_direction", goal_direction, (None, "slope", "angle", "angle_atan2")),
        ):
            if value not in allowed:
                raise error.InvalidArgument(f"{name}: expected one of {allowed}, got {value!r}")
        through = level.see_through_walls if see_through_walls is None else see_through_walls
        self._look: dict[str, Any] = {
            "see_through_walls": bool(through),
            "view_size": agent_view_size,
        }
        self._observed = {
            **self._look,
            "mode": _OBSERVES[observes],
            "one_hot": observes == "one_hot",
            "layout": layout,
            "text_size": _FLAT_MISSION if layout == "flat" else 0,
            "goal": goal_direction,
            "tile": obs_tile_size,
        }
        limit = shape.max_steps if max_steps is None else max_steps
        (self._limit,) = type(self).parameters["max_steps"].encoded(limit)
        self.width, self.height = shape.width, shape.height
        self.see_through_walls, self.agent_view_size = bool(through), agent_view_size
        self.highlight, self.tile_size, self.agent_pov = highlight, tile_size, agent_pov
        self.screen_size = screen_size
        self.picture_size = (screen_size, screen_size)  # type: ignore[misc]
        self._painters: dict[tuple[bool, int, bool], Level] = {}
        self.action_space = spaces.Discrete(self.num_actions)
        super().__init__(render_mode)
        self.observation_space = self._observation_space()

    # --- compiled lanes ------------------------------------------------------------------------

    def _make_level(self, *, goal: str | None = None, tile: int = 8, **options: Any) -> Level:
        options |= zip(("room_size", "columns", "rows"), self._shape.rooms, strict=True)
        if options["mode"].endswith("pixels"):
            if not 1 <= tile <= 256:
                raise error.InvalidArgument(f"obs_tile_size: expected 1 to 256 pixels, got {tile}")
            options["tiles"], options["tile_of"] = tiles_of(tile)
        try:
            if goal is not None:
                options["goal_directions"] = _goal_directions(self.width, self.height, goal)
            rules = self.rules[self.levels[self.kind].rules]
            return Level(rules, self.width, self.height, **options)
        except (TypeError, ValueError, OverflowError) as problem:
            raise error.InvalidArgument(f"{type(self).__name__}: {problem}") from problem

    def make_batch(self, num_envs: int, **options: Any) -> Batch:
        """Return a batch of levels."""
        self._level = level = self._make_level(**self._observed)
        numbers = (number for some in self._shape.numbers.values() for number in some)
        return struct_batch(
            type(self).__name__,
            num_envs,
            (self._arrays_space(), self.action_space),
            functions=FUNCTIONS,
            lane_bytes=level.lane_bytes,
            parameters=dict(zip(level.parameter_names, (self._limit, *numbers), strict=True)),
            shared=level.capsule,
            on_fault=_raise_faults,
            **options,
        )

    @classmethod
    def kernel_spec(cls) -> dict[str, Any]:
        """Return the names of what all levels have."""
        return {"name": cls.__name__, "parameters": {"max_steps": 0.0}, "reset_options": {}}

    @classmethod
    def reset_bounds(cls, options: dict[str, Any] | None) -> None:
        """Raise for any option: levels have none."""
        check_options(options or {}, ())

    def fixed_digest(self) -> int:
        """Return a digest of the level's rules and arguments, and of what the agent sees."""
        fixed = sorted({**self.level_arguments, **self._look}.items())
        return digest(repr((self.kind, fixed)).encode())

    def _arrays_space(self) -> spaces.Space:
        """Return the space of what is observed besides the mission."""
        (dtype, shape), *others = self._level.parts
        low = -1 if self._observed["mode"] == "symbolic" else 0  # an empty cell
        image = spaces.Box(low, 255, shape, dtype.type)
        if not others:
            return image
        directions = [spaces.Discrete(4), spaces.Box(-np.inf, np.inf, (), np.float64)]
        named = zip(("image", "direction", "goal_direction"), [image, *directions], strict=True)
        # An OrderedDict, since `Dict` sorts the keys of others: this is the order of `parts`.
        return spaces.Dict(OrderedDict(list(named)[: 1 + len(others)]))

    def _observation_space(self) -> spaces.Space:
        """Return the space of what is observed."""
        arrays = self._arrays_space()
        if not isinstance(arrays, spaces.Dict):
            return arrays
        mission = spaces.Text(_MAX_MISSION, min_length=0, charset=_LETTERS)
        return spaces.Dict({**arrays.spaces, "mission": mission})

    # --- an episode ----------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Any, Info]:
        """Generate a level; see `Env.reset`.

        Raises:
            Error: No level came out, as where objects have no place.
        """
        self._mission = None
        observation, infos = super().reset(seed=seed, options=options)
        return self._with_mission(observation), infos

    def step(self, action: int) -> tuple[Any, float, bool, bool, Info]:
        """Step by one action of `action_space`; see `Env.step`.

        Raises:
            InvalidAction: Not an element of `action_space`.
            ResetNeeded: Before the first reset.
        """
        if not self.action_space.contains(action):
            raise self._invalid(action)
        observation, reward, terminated = self._batch.step_single(int(action))
        if self.render_mode == "human":
            self.render()
        return self._with_mission(observation), reward, terminated, self._batch.truncated, {}

    def _with_mission(self, observation: Any) -> Any:
        if isinstance(observation, dict):
            observation["mission"] = self.mission
        return observation

    def gen_obs(self) -> Any:
        """Return the observation of the lane as it is."""
        observation = self._batch.observe()
        if self._shares_batch:
            observation = {name: value[self._lane] for name, value in observation.items()}
        return self._with_mission(observation)

    # --- what programs read and set ------------------------------------------------------------

    def _lane_bytes(self) -> npt.NDArray[np.uint8]:
        store: StructLanes = self._batch.store
        lane = store.view()[self._lane, : self._level.lane_bytes]
        if self._batch.is_ready:
            self._level.begin(lane)
        return lane

    def _lane_record(self) -> np.ndarray:
        """The lane as a structured array without axes: a view."""
        dtype = self._level.lane_dtype
        return self._lane_bytes()[: dtype.itemsize].view(dtype)[0]

    def _cells(self) -> npt.NDArray[np.uint16]:
        """The cells of the lane, [height, width]: a view."""
        return self._lane_record()["cells"]

    @property
    def grid(self) -> Grid:
        """The cells of the level: a view."""
        return Grid(self)

    @property
    def mission(self) -> str:
        """What the agent is to do."""
        if self._mission is None and self._batch.is_ready:
            self._mission = self._level.mission(self._lane_bytes())
        return self._mission or ""

    @mission.setter
    def mission(self, value: str) -> None:
        self._mission = value

    @property
    def agent_pos(self) -> npt.NDArray[np.int64]:
        """Column and row of the agent, int64 [2]: a copy."""
        record = self._lane_record()
        return np.array([record["agent_x"], record["agent_y"]], np.int64)

    @agent_pos.setter
    def agent_pos(self, value: tuple[int, int]) -> None:
        x, y = value
        if not (0 <= x < self.width and 0 <= y < self.height):
            raise error.InvalidArgument(f"agent_pos: expected a cell of the grid, got {value}")
        record: Any = self._lane_record()
        record["agent_x"], record["agent_y"] = x, y

    @property
    def agent_dir(self) -> int:
        """Where the agent looks: 0 right, 1 down, 2 left, 3 up."""
        return int(self._lane_record()["agent_dir"])

    @agent_dir.setter
    def agent_dir(self, value: int) -> None:
        if not 0 <= value < 4:
            raise error.InvalidArgument(f"agent_dir: expected 0 to 3, got {value}")
        record: Any = self._lane_record()
        record["agent_dir"] = value

    @property
    def carrying(self) -> WorldObj | None:
        """The object that the agent carries, or None."""
        cell = int(self._lane_record()["carrying"])
        return object_of(self, cell) if cell else None

    @carrying.setter
    def carrying(self, value: WorldObj | None) -> None:
        if value is not None and not value.can_pickup():
            raise error.InvalidArgument(f"carrying: expected a key, ball, box or None, got {value}")
        record: Any = self._lane_record()
        record["carrying"] = cell_of(self, value)

    @property
    def step_count(self) -> int:
        """Steps of the episode."""
        return int(self._lane_record()["step_count"])

    @property
    def steps_remaining(self) -> int:
        """Steps until the episode is truncated."""
        return int(self._lane_record()["max_steps"]) - self.step_count

    @property
    def dir_vec(self) -> npt.NDArray[np.int64]:
        """One cell ahead of the agent, int64 [2]."""
        return _DIRECTIONS[self.agent_dir].copy()

    @property
    def right_vec(self) -> npt.NDArray[np.int64]:
        """One cell to the right of the agent, int64 [2]."""
        x, y = self.dir_vec
        return np.array([-y, x])

    @property
    def front_pos(self) -> npt.NDArray[np.int64]:
        """Column and row of the cell ahead of the agent, int64 [2]."""
        return self.agent_pos + self.dir_vec

    # --- state ---------------------------------------------------------------------------------

    @property
    def state(self) -> Any:
        """The bytes of the lane as a record, a copy; None before the first reset."""
        return self._lane_record().copy() if self._batch.is_ready else None

    @state.setter
    def state(self, value: Any) -> None:
        raise error.ArgumentTypeError("state: set grid, agent_pos and others, or use set_state")

    def set_state(self, state: np.ndarray) -> None:
        """Continue from a state; see `NativeEnv.set_state`."""
        super().set_state(state)
        self._mission = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made again."""
        state = super().__getstate__()
        return {name: state[name] for name in state if name not in ("_level", "_painters")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make the level again."""
        self._painters = {}
        super().__setstate__(state)

    # --- frames --------------------------------------------------------------------------------

    def get_frame(
        self, highlight: bool = True, tile_size: int = 32, agent_pov: bool = False
    ) -> npt.NDArray[np.uint8]:
        """Return a picture of the level, uint8 [height, width, 3].

        Args:
            highlight: Whether it shows which cells the agent sees.
            tile_size: Pixels of the side of a cell.
            agent_pov: Whether it shows only what the agent sees.
        """
        key = bool(highlight), int(tile_size), bool(agent_pov)
        if key not in self._painters:
            mode = "pixels" if agent_pov else "full_pixels"
            self._painters[key] = self._make_level(
                **self._look, mode=mode, layout="image", tile=tile_size, highlight=bool(highlight)
            )
        (frame,) = self._painters[key].observe(self._lane_bytes())
        return frame

    def _render_frame(self, render_mode: str, state: Any) -> npt.NDArray[np.uint8] | None:
        frame = self.get_frame(self.highlight, self.tile_size, self.agent_pov)
        if render_mode == "rgb_array":
            return frame
        return self._drawn(draw_with_mission, render_mode, frame, self.mission)


def draw_with_mission(surface: pygame.Surface, frame: npt.NDArray[np.uint8], mission: str) -> None:
    """Draw a frame with the mission below it."""
    import pygame
    import pygame.freetype

    surface.fill((255, 255, 255))
    width, height = surface.get_size()
    scale = min(0.9 * width / frame.shape[1], 0.9 * height / frame.shape[0])
    size = int(frame.shape[1] * scale), int(frame.shape[0] * scale)
    picture = pygame.image.frombuffer(frame.tobytes(), frame.shape[1::-1], "RGB")
    surface.blit(pygame.transform.smoothscale(picture, size), ((width - size[0]) // 2, 0))
    pygame.freetype.init()
    font = pygame.freetype.SysFont(pygame.font.get_default_font(), 22)
    place = font.get_rect(mission, size=22)
    place.center = (width // 2, height - 30)
    font.render_to(surface, place, mission, size=22)


class BabyAIEnv(MiniGridEnv):
    """A level of BabyAI, whose mission is one of a language; see `MiniGridEnv`."""

    levels = babyai_levels.LEVELS
    rules = BABYAI_RULES


class MiniGridVectorEnv(NativeVectorEnv):
    """A batch of levels; see `NativeVectorEnv` and `MiniGridEnv`.

    `mission` in observations is an object array [num_envs] of texts, which is the same array until
    a lane begins an episode. `step_into` and `rollout` write the arrays without missions.
    """

    env_class: ClassVar[type[MiniGridEnv]]
    _model: MiniGridEnv
    _missions: Missions

    @property
    def lane_records(self) -> np.ndarray:
        """What the levels of all lanes have in common, a structured array [num_envs]: a view.

        It cannot be written to.
        """
        dtype = self._model._level.lane_dtype
        records = self._batch.store.view()[:, : dtype.itemsize].view(dtype)[:, 0]
        records.flags.writeable = False
        return records

    def _make_batch(self) -> None:
        super()._make_batch()
        memory, elapsed = self._batch.store.view(), self._batch.view_lifecycle()[1]
        self._missions = Missions(self._model._level, memory, elapsed)

    def _with_missions(self, results: StepResult, lanes: Lanes | None) -> StepResult:
        observations, *_, infos = results
        if isinstance(observations, dict):
            if "final_obs" in infos:
                before = self._missions.texts if lanes is None else self._missions.texts[lanes]
                for row in np.flatnonzero(infos["_final_obs"]):
                    infos["final_obs"][row]["mission"] = before[row]
            missions = self._missions.read()
            observations["mission"] = missions if lanes is None else missions[lanes]
        return results

    def _reset_lanes(self, seed: Any, options: Options, mask: Any) -> tuple[Any, Info]:
        observations, infos = super()._reset_lanes(seed, options, mask)
        if isinstance(observations, dict):
            observations["mission"] = self._missions.read()
        return observations, infos

    def step(self, actions: np.ndarray, env_ids: Any = None) -> StepResult:
        """Step every lane, or some of them; see `NativeVectorEnv.step`."""
        results = super().step(actions, env_ids)
        return results if env_ids is not None else self._with_missions(results, None)

    def _step_engine(self, actions: Any, lanes: Lanes | None) -> StepResult:
        return self._with_missions(super()._step_engine(actions, lanes), lanes)

    def _load_lanes(self, states: Any, lanes: Lanes) -> None:
        super()._load_lanes(states, lanes)
        self._missions.read(again=True)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out missions, which are read again."""
        state = super().__getstate__()
        del state["_missions"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make the batch again."""
        super().__setstate__(state)
        self._missions.read(again=True)


def _declare(base: type[MiniGridEnv], kind: str, name: str) -> None:
    """Make the class of a kind of levels, and that of its batches."""
    common = (name for name in MiniGridEnv.__init__.__kwdefaults__ or () if name != "max_steps")
    attributes: dict[str, Any] = {
        "__doc__": f"Levels of the kind {kind}; see `{base.__name__}`.",
        "__module__": __name__,
        "kind": kind,
        "arguments": (*common, *base.levels[kind].arguments),
    }
    if kind == "DynamicObstacles":
        attributes["num_actions"] = Actions.forward + 1
    env_class = type(f"{name}Env", (base,), attributes)
    globals()[f"{name}Env"] = env_class
    globals()[f"{name}VectorEnv"] = MiniGridVectorEnv.of(env_class)


for _kind in LEVELS:
    _declare(MiniGridEnv, _kind, _kind)
for _kind in babyai_levels.LEVELS:
    _declare(BabyAIEnv, _kind, f"BabyAI{_kind}")
