"""What Python sees of a lane: its grid, and objects in cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gymcore.envs.minigrid.tiles import COLORS
from gymcore.error import InvalidArgument

# MiniGrid's names of what a cell holds, by number.
TYPES = ("unseen", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava", "agent")
# Doors: open, closed, locked.
_OPEN, _CLOSED, _LOCKED = range(3)
_EMPTY = 1
# Bits of a cell before the identity of its object.
_LOOK_BITS = 9


class Lane(Protocol):
    """A single environment, or a lane of a vector environment."""

    def _cells(self) -> npt.NDArray[np.uint16]: ...
    def _lane_record(self) -> Any: ...


@dataclass
class WorldObj:
    """An object in a cell: a copy, which changes the level when it is put into a grid.

    Attributes:
        type: "wall", "floor", "door", "key", "ball", "box", "goal" or "lava".
        color: "red", "green", "blue", "purple", "yellow" or "grey".
        is_open: Whether a door is open.
        is_locked: Whether a door is locked.
        contains: The object in a box, or None.

    Example:
        >>> key = WorldObj("key", "red")
        >>> key.can_pickup(), key.can_overlap(), key.encode()
        (True, False, (5, 0, 0))
    """

    type: str
    color: str
    is_open: bool = False
    is_locked: bool = False
    contains: WorldObj | None = None
    # Compiled code follows some objects through steps.
    _identity: int = field(default=0, repr=False, compare=False)

    def can_overlap(self) -> bool:
        """Return whether the agent can be in the same cell."""
        return self.type in ("floor", "goal", "lava") or self.is_open

    def can_pickup(self) -> bool:
        """Return whether the agent can carry it."""
        return self.type in ("key", "ball", "box")

    def see_behind(self) -> bool:
        """Return whether it casts no shadow."""
        return self.type != "wall" and (self.type != "door" or self.is_open)

    def encode(self) -> tuple[int, int, int]:
        """Return MiniGrid's numbers of type, color and state."""
        state = (_OPEN if self.is_open else _LOCKED if self.is_locked else _CLOSED) * (
            self.type == "door"
        )
        try:
            return TYPES.index(self.type), COLORS.index(self.color), state
        except ValueError:
            raise InvalidArgument(
                f"object: expected a type of {TYPES[2:10]} and a color of {COLORS}, got {self}"
            ) from None


class Grid:
    """The cells of a lane: a view, which reads and writes the level itself.

    Attributes:
        width: Cells across.
        height: Cells down.
    """

    def __init__(self, env: Lane) -> None:
        """Look at the level of an environment."""
        self._env = env
        self.height, self.width = env._cells().shape

    def get(self, i: int, j: int) -> WorldObj | None:
        """Return the object in column `i` and row `j`, or None.

        Raises:
            InvalidArgument: There is no such cell.
        """
        return object_of(self._env, int(self._env._cells()[self._checked(i, j)]))

    def set(self, i: int, j: int, v: WorldObj | None) -> None:
        """Put an object into column `i` and row `j`; None to empty the cell.

        Raises:
            InvalidArgument: There is no such cell, or no such object.
        """
        place = self._checked(i, j)
        self._env._cells()[place] = cell_of(self._env, v)
        if v is not None and v._identity:
            objects = self._env._lane_record()["objects"]
            objects["x"][v._identity], objects["y"][v._identity] = i, j

    def _checked(self, i: int, j: int) -> tuple[int, int]:
        if not (0 <= i < self.width and 0 <= j < self.height):
            raise InvalidArgument(
                f"expected a cell of a grid of {self.width} x {self.height}, got ({i}, {j})"
            )
        return j, i

    def encode(self, vis_mask: npt.NDArray[np.bool_] | None = None) -> npt.NDArray[np.uint8]:
        """Return types, colors and states of all cells, uint8 [width, height, 3]: a copy.

        Args:
            vis_mask: Bool [width, height]; other cells are zeros. None for all.
        """
        cells = self._env._cells().T
        encoded = np.stack([cells & 15, cells >> 4 & 7, cells >> 7 & 3], axis=-1).astype(np.uint8)
        return encoded if vis_mask is None else encoded * np.asarray(vis_mask)[..., None]


def object_of(env: Lane, cell: int) -> WorldObj | None:
    """Return what a cell holds."""
    kind, color, state, identity = cell & 15, cell >> 4 & 7, cell >> 7 & 3, cell >> _LOOK_BITS
    if kind == _EMPTY:
        return None
    contents = int(env._lane_record()["objects"]["contents"][identity]) if identity else _EMPTY
    inner = object_of(env, contents) if kind == TYPES.index("box") and contents else None
    is_door = TYPES[kind] == "door"
    return WorldObj(
        TYPES[kind],
        COLORS[color],
        is_door and state == _OPEN,
        is_door and state == _LOCKED,
        inner,
        identity,
    )


def cell_of(env: Lane, item: WorldObj | None) -> int:
    """Return the cell that holds an object; a box with contents gets an identity in the level."""
    if item is None:
        return _EMPTY
    if not isinstance(item, WorldObj):
        raise InvalidArgument(f"expected a WorldObj or None, got {item!r}")
    kind, color, state = item.encode()
    identity = item._identity
    if item.contains is not None and kind == TYPES.index("box"):
        record: Any = env._lane_record()
        if not identity:
            identity = int(record["object_count"]) + 1
            if identity >= len(record["objects"]):
                raise InvalidArgument(f"expected at most {len(record['objects']) - 1} objects")
            record["object_count"] = identity
        record["objects"]["contents"][identity] = cell_of(env, item.contains)
    return kind | color << 4 | state << 7 | identity << _LOOK_BITS
