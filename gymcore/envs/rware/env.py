"""RWARE: robots of a warehouse that bring shelves to goals, several in one world."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gymcore import error, spaces
from gymcore.base.arguments import count, flag, texts
from gymcore.core import Metadata
from gymcore.envs.rware.drawing import CELL, draw_warehouse
from gymcore.native.parameters import Number, whole
from gymcore.native.state import digest
from gymcore.native.struct_env import StructEnv
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.vector.agents import Agents
from gymcore_ext.engine.batch import Batch
from gymcore_ext.rware.warehouse import LANE_FUNCTIONS, ROBOT, WAREHOUSE, warehouse_capsule

_MAX_SIDE = 100
_MAX_AGENTS = 255
_MAX_BITS = 64
_MAX_LAYERS = 16

# In the order of warehouse.pyx.
_REWARD_TYPES = ("global", "individual", "two_stage")
_OBSERVATION_TYPES = ("flattened", "dict", "image", "image_dict")
_LAYERS = (
    *("shelves", "requests", "agents", "agent_direction", "agent_load", "goals", "accessible"),
)


# Cells, and their signs in layouts.
_SHELF, _FREE, _GOAL = range(3)
_SIGNS = "x.g"


class WarehouseEnv(StructEnv):
    """Robots drive in a warehouse and bring shelves to goals, and back to where shelves may stand.

    `make_vec` makes batches of worlds. Their results equal those of rware 2.0 for the same seed, to
    the bit. Robots without a shelf drive below shelves.

    - Observation of an agent: float32. Column and row, whether it carries a shelf, its direction
      as four numbers, and whether shelves may not stand there; then for each of the cells around
      it, whether there is a robot, its direction as four numbers and its message, and whether there
      is a shelf and whether it is requested. `observation_type` has other forms.
    - Action of an agent: `Discrete(5)`, 0 nothing, 1 forward, 2 turn left, 3 turn right, 4 take or
      put down a shelf; followed by the bits of its message, if there are any.
    - Reward of an agent: 1 for a requested shelf that it brings to a goal. Another shelf is
      requested then.
    - End: all agents terminate after `max_steps` steps, or `max_inactivity_steps` without delivery.

    Attributes:
        max_steps: Number of steps of an episode; 0 for no limit, which is None in rware.
        max_inactivity_steps: Number of steps without a delivered shelf; 0 for no limit.

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("rware-tiny-2ag-v2", num_envs=64)
        >>> observations, infos = envs.reset(seed=1)
        >>> actions = envs.action_space.sample()
        >>> observations, rewards, terminated, truncated, infos = envs.step(actions)
        >>> observations.shape, actions.shape, rewards.shape
        ((64, 2, 71), (64, 2), (64, 2))
    """

    metadata: Metadata = {  # noqa: RUF012
        "render_modes": ["human", "rgb_array"],
        "render_fps": 10,
    }
    functions = LANE_FUNCTIONS
    arguments = (
        *("shelf_columns", "column_height", "shelf_rows", "n_agents", "msg_bits", "sensor_range"),
        *("request_queue_size", "reward_type", "layout", "observation_type"),
        *("image_observation_layers", "image_observation_directional", "normalised_coordinates"),
    )
    defaults = {"max_steps": 500.0, "max_inactivity_steps": 0.0}  # noqa: RUF012
    max_steps = whole(0, 2**30)
    max_inactivity_steps = whole(0, 2**30)
    agents: Agents
    _not_pickled = (*StructEnv._not_pickled, "shared")

    def __init__(
        self,
        render_mode: str | None = None,
        *,
        shelf_columns: int = 3,
        column_height: int = 8,
        shelf_rows: int = 1,
        n_agents: int = 2,
        msg_bits: int = 0,
        sensor_range: int = 1,
        request_queue_size: int = 2,
        reward_type: str = "individual",
        layout: str | None = None,
        observation_type: str = "flattened",
        image_observation_layers: Sequence[str] = (
            *("shelves", "requests", "agents", "goals", "accessible"),
        ),
        image_observation_directional: bool = True,
        normalised_coordinates: bool = False,
        **parameters: Number,
    ) -> None:
        """Make a world.

        Args:
            render_mode: None, "human" or "rgb_array".
            shelf_columns: Number of groups of shelves side by side, an odd number.
            column_height: Number of rows of shelves in a group, which is two shelves wide.
            shelf_rows: Number of groups one below another.
            n_agents: Number of robots.
            msg_bits: Number of bits of a message that agents send with each action.
            sensor_range: How many cells an agent sees in each direction.
            request_queue_size: Number of shelves that are requested at a time.
            reward_type: "individual", "global" if all agents get the reward of a delivery, or
                "two_stage" if an agent gets a half for it, and a half when it puts down the shelf.
            layout: Rows of cells instead of groups of shelves: "x" for shelves, "." for others and
                "g" for goals.
            observation_type: "flattened", "dict", "image" or "image_dict".
            image_observation_layers: Layers of images: "shelves", "requests", "agents",
                "agent_direction", "agent_load", "goals" and "accessible".
            image_observation_directional: Whether the direction of an agent is up in its image.
            normalised_coordinates: Whether agents observe their places as numbers in [0, 1].
            **parameters: `max_steps` and `max_inactivity_steps`.

        Raises:
            InvalidArgument: If a value is impossible.
        """
        if layout is None:
            layout = _layout_of(shelf_columns, column_height, shelf_rows)
        self._cells = cells = _cells_of(layout)
        self.rows, self.columns = cells.shape
        shelves = int((cells == _SHELF).sum())
        self._sizes = {
            "robots": count("n_agents", n_agents, 1, min(_MAX_AGENTS, cells.size)),
            "requests": count("request_queue_size", request_queue_size, 0, shelves),
            "bits": count("msg_bits", msg_bits, 0, _MAX_BITS),
            "sight": count("sensor_range", sensor_range, 1, _MAX_SIDE),
            "reward_type": _index("reward_type", reward_type, _REWARD_TYPES),
            "observation_type": _index("observation_type", observation_type, _OBSERVATION_TYPES),
            "directional": flag("image_observation_directional", image_observation_directional),
            "normalized": flag("normalised_coordinates", normalised_coordinates),
        }
        name = "image_observation_layers"
        self._layers = [
            _index(name, layer, _LAYERS) for layer in texts(name, image_observation_layers)
        ]
        count(f"len({name})", len(self._layers), 1, _MAX_LAYERS)
        self.frame_size = (self.columns * CELL + 1, self.rows * CELL + 1)
        super().__init__(render_mode, **parameters)

    def make_batch(self, num_envs: int, **options: object) -> Batch:
        """Return a batch of worlds."""
        robots, bits = self._sizes["robots"], self._sizes["bits"]
        action_space = spaces.MultiDiscrete([5] + [2] * bits) if bits else spaces.Discrete(5)
        self.agents = Agents(robots, self._observation_space(), action_space)
        self.spaces_of_lane = self.agents.world_spaces
        self.lane_bytes = -(-self._lane_dtype().itemsize // 8) * 8
        self.shared = warehouse_capsule(self._description())
        return super().make_batch(num_envs, **options)

    def _description(self) -> npt.NDArray[np.void]:
        """Return what the worlds have in common."""
        description = np.zeros(1, WAREHOUSE)
        warehouse, cells, goals = description[0], self._cells.ravel(), self._goals()
        warehouse["rows"], warehouse["columns"] = self.rows, self.columns
        warehouse["cells"], warehouse["shelves"] = cells.size, (cells == _SHELF).sum()
        for name, size in self._sizes.items():
            warehouse[name] = size
        warehouse["seen"] = (2 * self._sizes["sight"] + 1) ** 2
        warehouse["highway"][: cells.size], warehouse["is_goal"][goals] = cells != _SHELF, True
        warehouse["goals"], warehouse["goal_cells"][: len(goals)] = len(goals), goals
        warehouse["layers"] = len(self._layers)
        warehouse["layer_types"][: len(self._layers)] = self._layers
        return description

    def _goals(self) -> npt.NDArray[np.intp]:
        """Return the cells of goals."""
        return np.flatnonzero(self._cells == _GOAL)

    def _lane_dtype(self) -> np.dtype[np.void]:
        """Return the dtype of the state of a world."""
        robots, bits = self._sizes["robots"], self._sizes["bits"]
        fields = [
            *(("steps", np.int32), ("inactive_steps", np.int32), ("robots", ROBOT, robots)),
            ("shelf_in", np.uint16, self._cells.shape),
            ("robot_in", np.uint8, self._cells.shape),
            ("requested", np.uint8, int((self._cells == _SHELF).sum())),
            ("messages", np.uint8, (robots, bits)),
        ]
        return np.dtype(fields)

    def _observation_space(self) -> spaces.Space:
        form, cells = self._sizes["observation_type"], (2 * self._sizes["sight"] + 1) ** 2
        bits, layers = self._sizes["bits"], np.array(self._layers)
        if form == _OBSERVATION_TYPES.index("flattened"):
            return spaces.Box(-np.inf, np.inf, (8 + cells * (7 + bits),), np.float32)
        if form == _OBSERVATION_TYPES.index("dict"):
            return self._dict_space(bits, cells)
        side = 2 * self._sizes["sight"] + 1
        highs = np.where(layers == _LAYERS.index("agent_direction"), 4, 1).astype(np.float32)
        image = spaces.Box(0.0, np.broadcast_to(highs[:, None, None], (len(highs), side, side)))
        if form == _OBSERVATION_TYPES.index("image"):
            return image
        return spaces.Dict(features=spaces.Box(-np.inf, np.inf, (6,), np.float32), image=image)

    def _dict_space(self, bits: int, cells: int) -> spaces.Dict:
        location = spaces.Box(0, max(self.rows, self.columns), (2,), np.int32)
        robot: dict[str, spaces.Space] = {
            "carrying_shelf": spaces.MultiBinary(1),
            "direction": spaces.Discrete(4),
            "location": spaces.Box(0, 1, (2,)) if self._sizes["normalized"] else location,
            "on_highway": spaces.MultiBinary(1),
        }
        sensors: dict[str, spaces.Space] = {
            "direction": spaces.MultiDiscrete([4] * cells),
            **{k: spaces.MultiBinary(cells) for k in ("has_agent", "has_shelf", "shelf_requested")},
            **({"local_message": spaces.MultiBinary((cells, bits))} if bits else {}),
        }
        return spaces.Dict({"self": spaces.Dict(robot), "sensors": spaces.Dict(sensors)})

    def fixed_digest(self) -> int:
        """Return a digest of the arguments, which states have to share."""
        return digest(self._description().tobytes())

    def _render_frame(self, render_mode: str, state: object) -> npt.NDArray[np.uint8] | None:
        dtype = self._lane_dtype()
        memory = self._batch.store.view()[self._lane, : dtype.itemsize]
        lane = memory.copy().view(dtype)[0]
        return self._render_with(draw_warehouse, render_mode, self._goals(), lane)


def _index(name: str, value: object, choices: Sequence[str]) -> int:
    if not isinstance(value, str) or value not in choices:
        raise error.InvalidArgument(f"{name}: expected one of {choices}, got {value!r}")
    return choices.index(value)


def _layout_of(shelf_columns: int, column_height: int, shelf_rows: int) -> str:
    """Return the layout of groups of shelves, with two goals below them in the middle."""
    columns = count("shelf_columns", shelf_columns, 1, _MAX_SIDE)
    height = count("column_height", column_height, 1, _MAX_SIDE) + 1
    rows = count("shelf_rows", shelf_rows, 1, _MAX_SIDE)
    if columns % 2 == 0:
        raise error.InvalidArgument(f"shelf_columns: expected an odd number, got {columns}")
    cells = np.full((height * rows + 2, 3 * columns + 1), "x")
    middle = slice(cells.shape[1] // 2 - 1, cells.shape[1] // 2 + 1)
    cells[:, ::3] = cells[::height] = cells[-1] = "."
    cells[max(0, len(cells) - height - 1) :, middle] = "."
    cells[-1, middle] = "g"
    return "\n".join(map("".join, cells.tolist()))


def _cells_of(layout: str) -> npt.NDArray[np.uint8]:
    """Return what is in the cells of a layout, [rows, columns]."""
    if not isinstance(layout, str):
        raise error.ArgumentTypeError(f"layout: expected a text or None, got {layout!r}")
    lines = layout.strip().lower().replace(" ", "").split("\n")
    if (
        len({*map(len, lines)}) > 1
        or not {*"".join(lines)} <= {*_SIGNS}
        or "g" not in "".join(lines)
    ):
        raise error.InvalidArgument(
            f'layout: expected lines of "x", "." and "g" of the same length, got {layout!r}'
        )
    for name, side in (("rows", len(lines)), ("columns", len(lines[0]))):
        count(f"{name} of the layout", side, 2, _MAX_SIDE)
    return np.array([[_SIGNS.index(sign) for sign in line] for line in lines], np.uint8)


WarehouseVectorEnv = NativeVectorEnv.of(WarehouseEnv)
