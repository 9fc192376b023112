"""The grid of a lane and the objects in its cells, for Python."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore.base import process_wide
from gymcore.base.optional_packages import needs
from gymcore.envs.minigrid.levels import COLORS
from gymcore.error import InvalidArgument

# MiniGrid's types of cells and objects, by number.
TYPES = ("unseen", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava", "agent")
# States of a door.
_OPEN, _CLOSED, _LOCKED = range(3)
_EMPTY, _WALL, _BOX, _LAVA = 1, 2, 7, 9
# Position of the identity of the object in the bits of a cell.
_IDENTITY_SHIFT = 9
# Both coordinates of an object that is carried or in a box.
_NOWHERE = 255


def minigrid_method(place: str, name: str) -> Callable[..., Any]:
    """Return a method of one of minigrid's classes, which is imported when the method is called.

    The method gets our object, whose attributes have the same names and values.

    Args:
        place: Module and name of the class, "module:name".
        name: Name of the method.
    """

    def method(self: object, *args: object, **kwargs: object) -> object:
        module, class_name = place.split(":")
        with needs("minigrid"):
            process_wide.load_registering_module("minigrid")
            minigrid_class = getattr(importlib.import_module(module), class_name)
        return getattr(minigrid_class, name)(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, f"Call the method of this name of `{place}`."
    return method


@dataclass(eq=False)
class WorldObj:
    """An object in a cell: a copy, which changes the level when it is put into a grid.

    Once `minigrid` is imported, objects pass its `isinstance` tests: a goal is a `Goal`.

    Attributes:
        type: "wall", "floor", "door", "key", "ball", "box", "goal" or "lava".
        color: "red", "green", "blue", "purple", "yellow" or "grey".
        is_open: Whether a door is open.
        is_locked: Whether a door is locked.
        contains: The object in a box, or None.
        cur_pos: Column and row where it was read, (-1, -1) in the agent's hands; or None.

    Examples:
        >>> key = WorldObj("key", "red")
        >>> key.can_pickup(), key.can_overlap(), key.encode()
        (True, False, (5, 0, 0))
    """

    type: str
    color: str
    is_open: bool = False
    is_locked: bool = False
    contains: WorldObj | None = None
    cur_pos: tuple[int, int] | None = field(default=None, repr=False)
    # Number by which compiled code tracks an object, 0 for none, and the lane and episode where.
    _identity: int = field(default=0, repr=False)
    _episode: object = field(default=None, repr=False)

    if not TYPE_CHECKING:

        @property
        def __class__(self) -> type:
            """The class for `isinstance`: minigrid's one of this type, if minigrid was imported."""
            objects = sys.modules.get("minigrid.core.world_object")
            return getattr(objects, str(self.type).capitalize(), WorldObj)

    def _values(self) -> tuple[object, ...]:
        return self.type, self.color, self.is_open, self.is_locked, self.contains

    def __reduce__(self) -> tuple[object, ...]:
        """Return how to make a copy, which is an object of no level."""
        return WorldObj, self._values()

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same object of the level, with equal state and contents."""
        if not isinstance(other, WorldObj) or self._values() != other._values():
            return False
        identities = {self._identity, other._identity}
        return 0 in identities or len(identities) == 1 or self._episode != other._episode

    def can_overlap(self) -> bool:
        """Return whether the agent can enter its cell."""
        return self.type in ("floor", "goal", "lava") or (self.type == "door" and self.is_open)

    def can_pickup(self) -> bool:
        """Return whether the agent can carry it."""
        return self.type in ("key", "ball", "box")

    def see_behind(self) -> bool:
        """Return whether the agent sees what is behind it."""
        return self.type != "wall" and (self.type != "door" or self.is_open)

    def render(self, img: npt.NDArray[np.uint8]) -> None:
        """Draw the object; see the method of minigrid's class."""
        minigrid_method(f"minigrid.core.world_object:{self.type.capitalize()}", "render")(self, img)

    def encode(self) -> tuple[int, int, int]:
        """Return MiniGrid's numbers of type, color and state."""
        state = _OPEN if self.is_open else _LOCKED if self.is_locked else _CLOSED
        if self.type not in TYPES[2:10] or self.color not in COLORS:
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

    def __init__(self, lane: np.void, episode: object) -> None:
        """Make the view of a lane, a structured scalar of `GridSpec.lane_dtype`, in an episode."""
        self._lane, self._episode = lane, episode
        self.height, self.width = lane["cells"].shape

    def get(self, i: int, j: int) -> WorldObj | None:
        """Return the object in column `i` and row `j`, or None.

        Raises:
            InvalidArgument: If there is no such cell.
        """
        cell = int(self._lane["cells"][self._checked(i, j)])
        return object_of(self._lane, cell, self._episode, (int(i), int(j)))

    def set(self, i: int, j: int, v: WorldObj | None) -> None:
        """Put an object into column `i` and row `j`; None to empty the cell.

        An object of minigrid's, of another level or of another episode becomes a new one.

        Raises:
            InvalidArgument: If there is no such cell or object, or the level has too many objects;
                nothing is changed.
        """
        place = self._checked(i, j)
        self._lane["cells"][place] = cell = cell_of(self._lane, v, self._episode)
        objects, identity = self._lane["objects"], cell >> _IDENTITY_SHIFT
        objects["x"][identity], objects["y"][identity] = i, j

    def _checked(self, i: int, j: int) -> tuple[int, int]:
        if not (0 <= i < self.width and 0 <= j < self.height):
            raise InvalidArgument(
                f"expected a cell of a grid of {self.width} x {self.height}, got ({i}, {j})"
            )
        return j, i

    @property
    def grid(self) -> list[WorldObj | None]:
        """The objects of all cells, row by row; a new list."""
        return [self.get(i, j) for j in range(self.height) for i in range(self.width)]

    def copy(self) -> Grid:
        """Return a grid of its own that has the same objects."""
        return Grid(self._lane.copy(), object())

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, tuple):
            return key is not None and key in self.grid
        return any(key in ((o.color, o.type), (None, o.type)) for o in self.grid if o is not None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grid) and np.array_equal(self.encode(), other.encode())

    def encode(self, vis_mask: npt.NDArray[np.bool_] | None = None) -> npt.NDArray[np.uint8]:
        """Return types, colors and states of all cells, uint8 [width, height, 3], a copy.

        Args:
            vis_mask: Bool [width, height], the cells to encode; others are zeros. None for all.
        """
        cells = self._lane["cells"].T
        encoded = np.stack([cells & 15, cells >> 4 & 7, cells >> 7 & 3], axis=-1).astype(np.uint8)
        return encoded if vis_mask is None else encoded * np.asarray(vis_mask)[..., None]

    slice, rotate_left, process_vis, render, wall_rect, horz_wall, vert_wall = (
        minigrid_method("minigrid.core.grid:Grid", name)
        for name in (
            *("slice", "rotate_left", "process_vis", "render"),
            *("wall_rect", "horz_wall", "vert_wall"),
        )
    )


def object_of(
    lane: np.void, cell: int, episode: object, place: tuple[int, int] | None = None
) -> WorldObj | None:
    """Return the object in a cell, which is at `place`, or None."""
    kind, color, state, identity = cell & 15, cell >> 4 & 7, cell >> 7 & 3, cell >> _IDENTITY_SHIFT
    if kind in (0, _EMPTY):
        return None
    name = TYPES[kind]
    contents = int(lane["objects"]["contents"][identity]) if identity and name == "box" else _EMPTY
    is_open, is_locked = (name == "door" and state == each for each in (_OPEN, _LOCKED))
    inner = object_of(lane, contents, episode)
    return WorldObj(name, COLORS[color], is_open, is_locked, inner, place, identity, episode)


def cell_of(lane: np.void, item: WorldObj | None, episode: object) -> int:
    """Return a cell with an object, in no place yet. A box with contents gets an identity."""
    objects, count = lane["objects"], int(lane["object_count"])
    chain: list[tuple[WorldObj, int, int]] = []  # the object, what it contains, and so on
    while item is not None:
        try:
            (kind, color, state), inner = item.encode(), item.contains
        except AttributeError:
            raise InvalidArgument(f"expected a WorldObj or None, got {item!r}") from None
        if not _WALL <= kind <= _LAVA or (kind != _BOX and inner is not None):
            raise InvalidArgument(f"expected an object, and contents only in a box, got {item}")
        identity = item._identity if getattr(item, "_episode", None) == episode else 0
        if inner is not None and not identity:
            identity = count = count + 1
        if count >= len(objects) or identity in (each[2] for each in chain if identity):
            max_objects = len(objects) - 1
            raise InvalidArgument(f"expected at most {max_objects} objects, and no box in itself")
        chain.append((item, kind | color << 4 | state << 7, identity))
        item = inner
    cell = _EMPTY
    for item, appearance, identity in reversed(chain):
        item._identity, item._episode = identity, episode
        if identity:
            objects[identity] = _NOWHERE, _NOWHERE, cell
        cell = appearance | identity << _IDENTITY_SHIFT
    lane["object_count"] = count
    return cell
