"""MiniGrid and BabyAI: grid worlds that compiled code generates, steps and observes."""

from __future__ import annotations

import math
from collections import OrderedDict
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gymcore import error, spaces
from gymcore.core import Info, Options
from gymcore.envs.minigrid import babyai_levels, levels
from gymcore.envs.minigrid.tiles import tiles_of
from gymcore.envs.minigrid.world import Grid, WorldObj, cell_of, object_of
from gymcore.native.parameters import Parameter
from gymcore.native.state import digest
from gymcore.native.struct_env import StructEnv
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.spaces.layouts import layout_of, map_layout
from gymcore.vector.engine import Lanes, StepResult
from gymcore_ext.engine.batch import Batch
from gymcore_ext.minigrid.babyai import RULES as BABYAI_RULES
from gymcore_ext.minigrid.level import FAULT_TEXTS, FUNCTIONS, LAYOUTS, OBSERVES, Level, Missions
from gymcore_ext.minigrid.levels import RULES

if TYPE_CHECKING:
    import pygame

_GOAL_DIRECTIONS = (None, "slope", "angle", "angle_atan2")
_LETTERS = "abcdefghijklmnopqrstuvwxyz ,"
_MAX_MISSION = 512
_MANY_STEPS = 2**30
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


def _max_steps(least: int) -> Parameter:
    """Return the parameter of a time limit of at least so many steps; 0 where the level decides."""

    def encode(value: Any) -> tuple[float, ...]:
        is_flag = isinstance(value, (bool, np.bool_))
        is_integer = isinstance(value, (int, np.integer)) and not is_flag
        if not is_integer or not least <= value <= _MANY_STEPS:
            raise error.InvalidArgument(
                f"expected a positive integer up to {_MANY_STEPS}, got {value!r}"
            )
        return (float(value),)

    return Parameter(encode=encode, decode=lambda columns: int(columns[0]))


def _goal_directions(width: int, height: int, kind: str) -> npt.NDArray[np.float64]:
    """Return slopes or angles to a goal, by the cells down and to the right of the agent."""
    down, right = np.mgrid[1 - height : height, 1 - width : width].astype(np.float64)
    if kind == "angle_atan2":
        return np.arctan2(down, right)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(right == 0, np.copysign(math.inf, down), down / right)
    slopes[height - 1, width - 1] = 0.0
    return np.arctan(slopes) if kind == "angle" else slopes


class MiniGridEnv(StructEnv):
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
    levels: ClassVar[dict[str, levels.Level]] = levels.LEVELS
    rules: ClassVar[dict[str, object]] = RULES
    functions = FUNCTIONS
    fault_texts = FAULT_TEXTS
    defaults = {"max_steps": 0.0}  # noqa: RUF012
    max_steps = _max_steps(1)
    actions = Actions
    _not_pickled = (*StructEnv._not_pickled, "_level", "shared")
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
        for name, value, known in (
            ("observes", observes, OBSERVES),
            ("layout", layout, LAYOUTS),
            ("goal_direction", goal_direction, _GOAL_DIRECTIONS),
        ):
            if value not in known:
                raise error.InvalidArgument(f"{name}: expected one of {known}, got {value!r}")
        level = self.levels[self.kind]
        self._shape = shape = level.shape(self.kind, arguments)
        limit = shape.max_steps if max_steps is None else max_steps
        (self._limit,) = type(self).parameters["max_steps"].encoded(limit)
        through = level.see_through_walls if see_through_walls is None else see_through_walls
        self.width, self.height = shape.width, shape.height
        self.see_through_walls, self.agent_view_size = bool(through), agent_view_size
        self._fixed = {**arguments, "see": self.see_through_walls, "view": agent_view_size}
        self._observed: dict[str, Any] = {
            "observes": observes,
            "layout": layout,
            "highlight": bool(highlight),
        }
        self._goal_direction, self._obs_tile_size = goal_direction, obs_tile_size
        self.highlight, self.tile_size, self.agent_pov = highlight, tile_size, agent_pov
        self.screen_size = screen_size
        self.picture_size = (screen_size, screen_size)  # type: ignore[misc]
        super().__init__(render_mode)
        arrays = self.observation_space
        if isinstance(arrays, spaces.Dict):
            mission = spaces.Text(_MAX_MISSION, min_length=0, charset=_LETTERS)
            self.observation_space = spaces.Dict({**arrays.spaces, "mission": mission})

    # --- compiled lanes ------------------------------------------------------------------------

    def make_batch(self, num_envs: int, **options: Any) -> Batch:
        """Return a batch of levels."""
        shape, arrays = self._shape, dict[str, Any]()
        if self._observed["observes"] in ("rgb", "rgb_partial"):
            arrays["tiles"], arrays["tile_of"] = tiles_of(self._obs_tile_size)
        try:
            if self._goal_direction is not None:
                directions = _goal_directions(self.width, self.height, self._goal_direction)
                arrays["goal_directions"] = directions
            self._level = level = Level(
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
        self.lane_bytes, self.shared = level.lane_bytes, level.capsule
        (dtype, image_shape), *others = level.parts
        low = -1 if self._observed["observes"] == "symbolic" else 0  # an empty cell
        image = spaces.Box(low, 255, image_shape, dtype.type)
        # An OrderedDict, since `Dict` sorts the keys of others: this is the order of `parts`.
        parts = OrderedDict[str, spaces.Space](image=image, direction=spaces.Discrete(4))
        if len(others) > 1:
            parts["goal_direction"] = spaces.Box(-np.inf, np.inf, (), np.float64)
        observed = spaces.Dict(parts) if others else image
        self.spaces_of_lane = observed, spaces.Discrete(level.num_actions)
        numbers = [number for name in level.arguments for number in shape.numbers[name]]
        self.defaults = {f"number_{k}": number for k, number in enumerate(numbers)}
        self.defaults = {"max_steps": self._limit, **self.defaults}
        return super().make_batch(num_envs, **options)

    def fixed_digest(self) -> int:
        """Return a digest of the level's rules and arguments, and of what the agent sees."""
        return digest(repr((self.kind, sorted(self._fixed.items()))).encode())

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
        """Step by one action of `action_space`; see `StructEnv.step`."""
        results = super().step(action)
        self._with_mission(results[0])
        return results

    def _with_mission(self, observation: Any) -> Any:
        if isinstance(observation, dict):
            observation["mission"] = self.mission
        return observation

    def gen_obs(self) -> Any:
        """Return the observation of the lane as it is."""
        observation = self._batch.observe()
        if self._shares_batch:
            row = lambda _, rows: rows[self._lane]  # noqa: E731
            observation = map_layout(row, layout_of(self.spaces_of_lane[0]), observation)
        return self._with_mission(observation)

    # --- what programs read and set ------------------------------------------------------------

    def _lane_bytes(self) -> npt.NDArray[np.uint8]:
        lane = self._batch.store.view()[self._lane, : self.lane_bytes]
        if self._batch.is_ready:
            self._level.begin(lane)
        return lane

    def _lane_record(self) -> Any:
        """The lane as a structured array without axes: a view."""
        dtype = self._level.lane_dtype
        return self._lane_bytes()[: dtype.itemsize].view(dtype)[0]

    @property
    def grid(self) -> Grid:
        """The cells of the level: a view."""
        return Grid(self._lane_record())

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
        record = self._lane_record()
        record["agent_x"], record["agent_y"] = x, y

    @property
    def agent_dir(self) -> int:
        """Where the agent looks: 0 right, 1 down, 2 left, 3 up."""
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
        return object_of(record, int(record["carrying"]))

    @carrying.setter
    def carrying(self, value: WorldObj | None) -> None:
        if value is not None and not value.can_pickup():
            raise error.InvalidArgument(f"carrying: expected a key, ball, box or None, got {value}")
        record = self._lane_record()
        record["carrying"] = cell_of(record, value)

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
        tiles = tiles_of(int(tile_size))
        return self._level.frame(self._lane_bytes(), *tiles, bool(agent_pov), bool(highlight))

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
    max_steps = _max_steps(0)


class MiniGridVectorEnv(NativeVectorEnv):
    """A batch of levels; see `NativeVectorEnv` and `MiniGridEnv`.

    `mission` in observations is an object array [num_envs] of texts, which is the same array until
    a lane begins an episode. `step_into` and `rollout` write the arrays without missions.
    """

    env_class: ClassVar[type[MiniGridEnv]]
    _model: MiniGridEnv
    _missions: Missions
    _not_pickled = (*NativeVectorEnv._not_pickled, "_missions")

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
            rows = slice(None) if lanes is None else lanes
            if "final_obs" in infos:
                before = self._missions.texts[rows]
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

    def _write_lanes(self, saved: Any, lanes: Lanes) -> None:
        super()._write_lanes(saved, lanes)
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
    env_class = type(f"{name}Env", (base,), attributes)
    globals()[f"{name}Env"] = env_class
    globals()[f"{name}VectorEnv"] = MiniGridVectorEnv.of(env_class)


for _kind in MiniGridEnv.levels:
    _declare(MiniGridEnv, _kind, _kind)
for _kind in BabyAIEnv.levels:
    _declare(BabyAIEnv, _kind, f"BabyAI{_kind}")
