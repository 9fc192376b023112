"""The grid of a lane and the objects in its cells, for Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.envs.minigrid.levels import COLORS
from gymcore.error import InvalidArgument

# MiniGrid's types of cells and objects, by number.
TYPES = ("unseen", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava", "agent")
# States of a door.
_OPEN, _CLOSED, _LOCKED = range(3)
_EMPTY = 1
# Position of the identity of the object in the bits of a cell.
_IDENTITY_SHIFT = 9


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
    # Number by which compiled code tracks an object; 0 for none.
    _identity: int = field(default=0, repr=False, compare=False)

    def can_overlap(self) -> bool:
        """Return whether the agent can enter its cell."""
        return self.type in ("floor", "goal", "lava") or self.is_open

    def can_pickup(self) -> bool:
        """Return whether the agent can carry it."""
        return self.type in ("key", "ball", "box")

    def see_behind(self) -> bool:
        """Return whether the agent sees what is behind it."""
        return self.type != "wall" and (self.type != "door" or self.is_open)

    def encode(self) -> tuple[int, int, int]:
        """Return MiniGrid's numbers of type, color and state."""
        state = _OPEN if self.is_open else _LOCKED if self.is_locked else _CLOSED
        if self.type not in TYPES or self.color not in COLORS:
            raise InvalidArgument(
                f"object: expected a type of {TYPES[2:10]} and a color of {COLORS}, got {self}"
            )
        return TYPES.index(self.type), COLORS.index(self.color), state * (self.type == "door")


class Grid:
    """The cells of a lane, a view that reads and writes the level.

    Attributes:
        width: Number of columns.
        height: Number of rows.
    """

    def __init__(self, lane: Any) -> None:
        """Make the view of a lane, a structured scalar of `Level.lane_dtype`."""
        self._lane = lane
        self.height, self.width = lane["cells"].shape

    def get(self, i: int, j: int) -> WorldObj | None:
        """Return the object in column `i` and row `j`, or None.

        Raises:
            InvalidArgument: If there is no such cell.
        """
        return object_of(self._lane, int(self._lane["cells"][self._checked(i, j)]))

    def set(self, i: int, j: int, v: WorldObj | None) -> None:
        """Put an object into column `i` and row `j`; None to empty the cell.

        Raises:
            InvalidArgument: If there is no such cell, or no such object.
        """
        place = self._checked(i, j)
        self._lane["cells"][place] = cell_of(self._lane, v)
        if v is not None and v._identity:
            objects = self._lane["objects"]
            objects["x"][v._identity], objects["y"][v._identity] = i, j

    def _checked(self, i: int, j: int) -> tuple[int, int]:
        if not (0 <= i < self.width and 0 <= j < self.height):
            raise InvalidArgument(
                f"expected a cell of a grid of {self.width} x {self.height}, got ({i}, {j})"
            )
        return j, i

    def encode(self, vis_mask: npt.NDArray[np.bool_] | None = None) -> npt.NDArray[np.uint8]:
        """Return types, colors and states of all cells, uint8 [width, height, 3], a copy.

        Args:
            vis_mask: Bool [width, height], the cells to encode; others are zeros. None for all.
        """
        cells = self._lane["cells"].T
        encoded = np.stack([cells & 15, cells >> 4 & 7, cells >> 7 & 3], axis=-1).astype(np.uint8)
        return encoded if vis_mask is None else encoded * np.asarray(vis_mask)[..., None]


def object_of(lane: Any, cell: int) -> WorldObj | None:
    """Return the object in a cell, or None."""
    kind, color, state, identity = cell & 15, cell >> 4 & 7, cell >> 7 & 3, cell >> _IDENTITY_SHIFT
    if kind in (0, _EMPTY):
        return None
    name = TYPES[kind]
    contents = int(lane["objects"]["contents"][identity]) if identity and name == "box" else _EMPTY
    is_open, is_locked = (name == "door" and state == each for each in (_OPEN, _LOCKED))
    inner = object_of(lane, contents)
    return WorldObj(name, COLORS[color], is_open, is_locked, inner, identity)


def cell_of(lane: Any, item: WorldObj | None) -> int:
    """Return a cell with an object. A box with contents gets an identity in the level."""
    if item is None:
        return _EMPTY
    if not isinstance(item, WorldObj):
        raise InvalidArgument(f"expected a WorldObj or None, got {item!r}")
    kind, color, state = item.encode()
    identity = item._identity
    if item.contains is not None and item.type == "box":
        if not identity:
            identity = int(lane["object_count"]) + 1
            if identity >= len(lane["objects"]):
                raise InvalidArgument(f"expected at most {len(lane['objects']) - 1} objects")
            lane["object_count"] = identity
        lane["objects"]["contents"][identity] = cell_of(lane, item.contains)
    return kind | color << 4 | state << 7 | identity << _IDENTITY_SHIFT
