"""MiniGrid and BabyAI: grid worlds whose levels, steps and observations are compiled."""

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
    """The actions. Levels with moving obstacles have the first three."""

    left = 0
    right = 1
    forward = 2
    pickup = 3
    drop = 4
    toggle = 5
    done = 6


def _max_steps(least: int) -> Parameter:
    """Return the parameter of a time limit of at least `least` steps; 0 lets the level decide."""

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
    """Return slopes or angles, indexed by the rows and columns from the agent to a goal."""
    down, right = np.mgrid[1 - height : height, 1 - width : width].astype(np.float64)
    if kind == "angle_atan2":
        return np.arctan2(down, right)
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
        **arguments: Any,
    ) -> None:
        """Make a level.

        Args:
            render_mode: None, "human" or "rgb_array".
            max_steps: Time limit in steps; None for the level's own.
            see_through_walls: Whether the agent sees what is behind walls and closed doors; None
                for the level's own setting.
            agent_view_size: Cells that the agent sees ahead and across, odd, at least 3.
            observes: "partial" or "one_hot" for what the agent sees, "full" or "symbolic" for the
                whole grid, "rgb_partial" or "rgb" for pictures of the two.
            layout: "dict"; "image" for the image alone; "flat" for a vector of image and mission.
            goal_direction: "slope", "angle" or "angle_atan2" to observe the direction to the goal,
                too; or None.
            obs_tile_size: Side of a cell in observed pictures, in pixels.
            highlight: Whether pictures of the whole grid highlight what the agent sees.
            tile_size: Side of a cell in frames, in pixels.
            agent_pov: Whether frames show what the agent sees instead of the whole grid.
            screen_size: Side of the window, in pixels.
            **arguments: Arguments of the level, listed in the documentation of the family.

        Raises:
            InvalidArgument: If a value is impossible.
            TypeError: If there is no argument of a name.
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
        # `Dict` sorts the keys of a plain dict; this is the order of `parts`.
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
        """Return a digest of the level's rules and arguments, which states have to share."""
        return digest(repr((self.kind, sorted(self._fixed.items()))).encode())

    # --- an episode ----------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Any, Info]:
        """Generate a level; see `Env.reset`.

        Raises:
            Error: If no level can be generated, for example because objects do not fit into it.
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
        """Return the current observation."""
        observation = self._batch.observe()
        if self._shares_batch:
            row = lambda _, rows: rows[self._lane]  # noqa: E731
            observation = map_layout(row, layout_of(self.spaces_of_lane[0]), observation)
        return self._with_mission(observation)

    # --- the level as programs read and set it --------------------------------------------------

    def _lane_bytes(self) -> npt.NDArray[np.uint8]:
        lane = self._batch.store.view()[self._lane, : self.lane_bytes]
        if self._batch.is_ready:
            self._level.begin(lane)
        return lane

    def _lane_record(self) -> Any:
        """Return the lane as a structured scalar, a view."""
        dtype = self._level.lane_dtype
        return self._lane_bytes()[: dtype.itemsize].view(dtype)[0]

    @property
    def grid(self) -> Grid:
        """The cells of the level, a view."""
        return Grid(self._lane_record())

    @property
    def mission(self) -> str:
        """The mission, a text; empty before the first reset."""
        if self._mission is None and self._batch.is_ready:
            self._mission = self._level.mission(self._lane_bytes())
        return self._mission or ""

    @mission.setter
    def mission(self, value: str) -> None:
        self._mission = value

    @property
    def agent_pos(self) -> npt.NDArray[np.int64]:
        """Column and row of the agent, int64 [2], a copy."""
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
        return object_of(record, int(record["carrying"]))

    @carrying.setter
    def carrying(self, value: WorldObj | None) -> None:
        if value is not None and not value.can_pickup():
            raise error.InvalidArgument(f"carrying: expected a key, ball, box or None, got {value}")
        record = self._lane_record()
        record["carrying"] = cell_of(record, value)

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
        return _DIRECTIONS[self.agent_dir].copy()

    @property
    def right_vec(self) -> npt.NDArray[np.int64]:
        """Step to the cell on the right of the agent, int64 [2]."""
        x, y = self.dir_vec
        return np.array([-y, x])

    @property
    def front_pos(self) -> npt.NDArray[np.int64]:
        """Column and row of the cell ahead of the agent, int64 [2]."""
        return self.agent_pos + self.dir_vec

    # --- state ---------------------------------------------------------------------------------

    @property
    def state(self) -> Any:
        """The lane as a structured scalar, a copy; None before the first reset."""
        return self._lane_record().copy() if self._batch.is_ready else None

    @state.setter
    def state(self, value: Any) -> None:
        raise error.ArgumentTypeError("state: set grid, agent_pos etc., or call set_state()")

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
            highlight: Whether to highlight what the agent sees.
            tile_size: Side of a cell in pixels.
            agent_pov: Whether to show only what the agent sees.
        """
        tiles = tiles_of(int(tile_size))
        return self._level.frame(self._lane_bytes(), *tiles, bool(agent_pov), bool(highlight))

    def _render_frame(self, render_mode: str, state: Any) -> npt.NDArray[np.uint8] | None:
        frame = self.get_frame(self.highlight, self.tile_size, self.agent_pov)
        if render_mode == "rgb_array":
            return frame
        return self._drawn(draw_with_mission, render_mode, frame, self.mission)


def draw_with_mission(surface: pygame.Surface, frame: npt.NDArray[np.uint8], mission: str) -> None:
    """Draw a frame, and the mission below it."""
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
    """A level of BabyAI, whose mission is a sentence of a small language; see `MiniGridEnv`."""

    levels = babyai_levels.LEVELS
    rules = BABYAI_RULES
    max_steps = _max_steps(0)


class MiniGridVectorEnv(NativeVectorEnv):
    """A batch of levels; see `NativeVectorEnv` and `MiniGridEnv`.

    Observations hold missions as an object array [num_envs], which is replaced when a lane begins
    an episode with another mission. `step_into` and `rollout` write the other arrays only.
    """

    env_class: ClassVar[type[MiniGridEnv]]
    _model: MiniGridEnv
    _missions: Missions
    _not_pickled = (*NativeVectorEnv._not_pickled, "_missions")

    @property
    def lane_records(self) -> np.ndarray:
        """Positions, directions, steps and cells of all lanes, a structured array [num_envs].

        The array is a view that cannot be written to.
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
    """Define the class of a kind of levels, and the class of its batches."""
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
