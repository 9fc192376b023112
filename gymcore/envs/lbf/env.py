"""Level-based foraging: agents that load food together, several in one world."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gymcore import error, spaces
from gymcore.base.arguments import count, flag
from gymcore.core import Metadata
from gymcore.envs.lbf.drawing import CELL, draw_field
from gymcore.native.parameters import Parameter, whole
from gymcore.native.state import digest
from gymcore.native.struct_env import StructEnv
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.vector.agents import Agents
from gymcore_ext.engine.batch import Batch
from gymcore_ext.lbf.foraging import FIELD, LANE_FUNCTIONS, field_capsule

_MAX_SIDE = 100
_MAX__ITEMS = 256
_MAX_LEVEL = 1000
# The highest level of a food is the sum of the levels of so many players.
_TEAM = 3

# As `item_t` in foraging.pyx.
_ITEM = np.dtype([("row", np.int32), ("column", np.int32), ("level", np.int32)])

Levels = int | Sequence[int]


class ForagingEnv(StructEnv):
    """Players with levels walk on a field of cells and load food, which also has levels.

    A food is loaded when the levels of the players that load it in the same step, from the cells
    next to it, sum up to at least its level. `make_vec` makes batches of worlds. Their results
    equal those of lbforaging 2.0 for the same seed, to the bit.

    - Observation of an agent: float32. Row, column and level of each food that it sees, (-1, -1, 0)
      for others; then row, column and level of itself and of the other players. Places are
      relative to the upper left corner of what it sees. With `grid_observation`, three layers of
      the cells around it: levels of players, levels of foods, and whether a cell is free.
    - Action of an agent: `Discrete(6)`, 0 nothing, 1 up, 2 down, 3 left, 4 right, 5 load. A player
      cannot go to a cell with food, and stays if another one also goes to its cell or stays there.
    - Reward of an agent for a food: its level times the food's, divided by the sum of the levels of
      the players that load it and of all foods of the episode.
    - End: all agents terminate when all food is loaded, or after `max_steps` steps.

    Attributes:
        max_steps: Number of steps of an episode; lbforaging's `max_episode_steps`.
        penalty: What players pay who load a food together whose level they do not reach.

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("Foraging-8x8-2p-3f-v3", num_envs=64)
        >>> observations, infos = envs.reset(seed=1)
        >>> actions = envs.action_space.sample()
        >>> observations, rewards, terminated, truncated, infos = envs.step(actions)
        >>> observations.shape, actions.shape, rewards.shape
        ((64, 2, 15), (64, 2), (64, 2))
    """

    metadata: Metadata = {  # noqa: RUF012
        "render_modes": ["human", "rgb_array"],
        "render_fps": 5,
    }
    functions = LANE_FUNCTIONS
    arguments = (
        *("players", "field_size", "max_num_food", "sight", "force_coop", "grid_observation"),
        *("min_player_level", "max_player_level", "min_food_level", "max_food_level"),
        *("normalize_reward", "observe_agent_levels"),
    )
    defaults = {"max_steps": 50.0, "penalty": 0.0}  # noqa: RUF012
    max_steps = whole(1, 2**30)
    penalty = Parameter()
    agents: Agents
    _not_pickled = (*StructEnv._not_pickled, "shared")

    def __init__(
        self,
        render_mode: str | None = None,
        *,
        players: int = 2,
        field_size: int | tuple[int, int] = 8,
        max_num_food: int = 3,
        sight: int | None = None,
        force_coop: bool = False,
        grid_observation: bool = False,
        min_player_level: Levels = 1,
        max_player_level: Levels = 2,
        min_food_level: Levels = 1,
        max_food_level: Levels | None = None,
        normalize_reward: bool = True,
        observe_agent_levels: bool = True,
        **parameters: object,
    ) -> None:
        """Make a world.

        Args:
            render_mode: None, "human" or "rgb_array".
            players: Number of players.
            field_size: Number of rows and columns.
            max_num_food: Number of foods; there are fewer if there is no room for them.
            sight: How many cells an agent sees in each direction; None for all.
            force_coop: Whether foods have their highest level, so that none can be loaded alone.
            grid_observation: Whether agents observe cells.
            min_player_level: The lowest level of players, or one for each, in any order.
            max_player_level: The highest level of players, or one for each.
            min_food_level: The lowest level of foods, or one for each, in any order.
            max_food_level: The highest level of foods, or one for each; None for the sum of the
                levels of the three players with the lowest ones.
            normalize_reward: Whether to divide rewards; otherwise they are products of levels.
            observe_agent_levels: Whether agents observe the levels of players.
            **parameters: `max_steps` and `penalty`.

        Raises:
            InvalidArgument: If a value is impossible.
        """
        sides = tuple(field_size) if isinstance(field_size, Sequence) else (field_size,) * 2
        if len(sides) != 2:
            raise error.InvalidArgument(
                f"field_size: expected a number, or numbers of rows and columns, got {field_size}"
            )
        self.rows, self.columns = (count("field_size", side, 3, _MAX_SIDE) for side in sides)
        farthest = max(self.rows, self.columns)
        self.sight = farthest if sight is None else count("sight", sight, 1, _MAX_SIDE)
        players = count("players", players, 1, min(_MAX__ITEMS, self.rows * self.columns))
        foods = count("max_num_food", max_num_food, 1, _MAX__ITEMS)
        self.player_levels = _ranges("player", players, min_player_level, max_player_level)
        lowest_sum, self._team_level = np.sort(self.player_levels, axis=0)[:_TEAM].sum(axis=0)
        limit = _MAX_LEVEL if flag("force_coop", force_coop) else int(lowest_sum)
        highest = limit if max_food_level is None else max_food_level
        self.food_levels = _ranges("food", foods, min_food_level, highest)
        if max_food_level is None:
            self.food_levels[:, 1] = 0
        self._flags = {
            "coop": flag("force_coop", force_coop),
            "grid": flag("grid_observation", grid_observation),
            "shows_levels": flag("observe_agent_levels", observe_agent_levels),
            "normalizes": flag("normalize_reward", normalize_reward),
        }
        self.frame_size = (self.columns * CELL + 1, self.rows * CELL + 1)
        super().__init__(render_mode, **parameters)

    def make_batch(self, num_envs: int, **options: object) -> Batch:
        """Return a batch of worlds."""
        players = len(self.player_levels)
        self.agents = Agents(players, self._observation_space(), spaces.Discrete(6))
        self.lane_bytes = -(-self._lane_dtype().itemsize // 8) * 8
        self.shared = field_capsule(self._description())
        self.spaces_of_lane = self.agents.world_spaces
        return super().make_batch(num_envs, **options)

    def _description(self) -> npt.NDArray[np.void]:
        """Return what the worlds have in common."""
        description = np.zeros(1, FIELD)
        field, players, foods = description[0], len(self.player_levels), len(self.food_levels)
        field["rows"], field["columns"], field["sight"] = self.rows, self.columns, self.sight
        field["players"], field["foods"] = players, foods
        field["size"] = math.prod(self._observation_space().shape)
        field["player_levels"][:players] = self.player_levels
        field["food_levels"][:foods] = self.food_levels
        for name, value in self._flags.items():
            field[name] = value
        return description

    def _lane_dtype(self) -> np.dtype[np.void]:
        """Return the dtype of the state of a world."""
        items = [
            ("players", _ITEM, len(self.player_levels)),
            ("foods", _ITEM, len(self.food_levels)),
        ]
        fields = [("stream", np.uint64, 5), ("steps", np.int32), ("total", np.int32), *items]
        return np.dtype(fields)

    def _observation_space(self) -> spaces.Box:
        grid, shows_levels = self._flags["grid"], self._flags["shows_levels"]
        levels = int(self.player_levels[:, 1].max()) if shows_levels else 1
        food_levels = int(self.food_levels[:, 1].max()) or int(self._team_level)
        if grid:
            side = 2 * self.sight + 1
            highs = np.array([levels, food_levels, 1], np.float32)
            return spaces.Box(0.0, np.broadcast_to(highs[:, None, None], (3, side, side)))
        foods, players, size = len(self.food_levels), len(self.player_levels), 2 + shows_levels
        last = [self.rows - 1, self.columns - 1]
        low = [-1, -1, 0] * foods + [-1, -1, 0][:size] * players
        high = [*last, food_levels] * foods + [*last, levels][:size] * players
        return spaces.Box(np.array(low, np.float32), np.array(high, np.float32))

    def fixed_digest(self) -> int:
        """Return a digest of the arguments, which states have to share."""
        return digest(self._description().tobytes())

    def _render_frame(self, render_mode: str, state: object) -> npt.NDArray[np.uint8] | None:
        dtype = self._lane_dtype()
        memory = self._batch.store.view()[self._lane, : dtype.itemsize]
        lane = memory.copy().view(dtype)[0]
        return self._render_with(draw_field, render_mode, self.rows, self.columns, lane)


def _ranges(kind: str, number: int, lowest: Levels, highest: Levels) -> npt.NDArray[np.int32]:
    """Return the lowest and the highest levels of players or foods, [number, 2]."""
    columns = []
    for name, levels in ((f"min_{kind}_level", lowest), (f"max_{kind}_level", highest)):
        column = levels if isinstance(levels, (Sequence, np.ndarray)) else [levels] * number
        if len(column) != number:
            raise error.InvalidArgument(
                f"{name}: expected a level or {number} levels, got {len(column)}"
            )
        columns.append([count(name, level, 1, _MAX_LEVEL) for level in column])
    for low, high in zip(*columns, strict=True):
        if low > high:
            raise error.InvalidArgument(
                f"min_{kind}_level: expected at most the highest level {high}, got {low}"
            )
    return np.array(columns, np.int32).T.copy()


ForagingVectorEnv = NativeVectorEnv.of(ForagingEnv)
