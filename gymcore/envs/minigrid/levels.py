"""MiniGrid's levels: their rules, arguments and defaults, and the ids.

Names and defaults are those of the classes and ids of minigrid 3.2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

from gymcore.base.arguments import count
from gymcore.error import ArgumentTypeError, InvalidArgument

COLORS = ("red", "green", "blue", "purple", "yellow", "grey")
VERBS = ("goto", "pickup", "open", "putnext")
FORMS = ("action", "and", "seq")
SIZES = {"room_size": 8, "num_rows": 3, "num_cols": 3}

# Arguments whose values compiled code knows by index, lists of such values, and positions.
_CHOICES: dict[str, tuple[str | None, ...]] = {
    "obstacle_type": ("lava", "wall"),
    "first_color": (None, *COLORS),
    "second_color": (None, *COLORS),
    "obj_type": (None, "key", "ball", "box"),
    "select_by": (None, "color", "loc"),
}
_LISTS = {"action_kinds": VERBS, "instr_kinds": FORMS}
_CELLS = {"agent_start_pos", "agent_pos", "goal_pos", "agent_room"}
# The minimum of an integer, if it is not 0, and the maximum, if there is one.
_BOUNDS = {
    "agent_start_dir": (0, 3),
    "num_objs": (2,),
    "objs_per_room": (1, 9),
    "num_doors": (2, 4),
}
# Lanes hold numbers up to this one.
_MAX_COUNT = 999_999
# Arguments that determine the size or the time limit of a level.
_EXTENTS = {*SIZES, "size", "width", "height", "breadth", "num_rooms_visited"}


class Shape(NamedTuple):
    """The size, the time limit and the numbers that follow from the arguments of a level.

    Attributes:
        width: Columns of the grid.
        height: Rows of the grid.
        max_steps: Default time limit in steps; 0 lets the level decide.
        numbers: Numbers that compiled code gets for each argument.
        rooms: Size of a room in cells, columns and rows; zeros if it is not a grid of rooms.
    """

    width: int
    height: int
    max_steps: int
    numbers: dict[str, tuple[float, ...]]
    rooms: tuple[int, int, int]


@dataclass(frozen=True)
class Level:
    """A class of levels.

    Attributes:
        rules: Name of its rules in compiled code.
        arguments: Arguments of the class with their defaults.
        fixed: Values of the rules that are not arguments.
        steps: Returns the time limit for a namespace of values; 0 lets the level decide.
        see_through_walls: Default of the argument of this name.
    """

    rules: str
    arguments: Mapping[str, object]
    fixed: Mapping[str, object]
    steps: Callable[[SimpleNamespace], int]
    see_through_walls: bool = False

    def shape(self, name: str, arguments: Mapping[str, object]) -> Shape:
        """Return the shape of a level with the given arguments.

        Args:
            name: Name of the class, for errors.
            arguments: Arguments that replace defaults.

        Raises:
            ArgumentTypeError: If there is no argument of a name, or a value has another type.
            InvalidArgument: If a value is out of range.

        Examples:
            >>> LEVELS["Empty"].shape("Empty", {"size": 6})[:3]
            (6, 6, 144)
        """
        if unknown := sorted(arguments.keys() - self.arguments.keys()):
            raise ArgumentTypeError(
                f"{name} has no argument {unknown[0]!r}; it has {sorted(self.arguments)}"
            )
        defaults = {**self.arguments, **self.fixed}
        values: dict[str, Any] = {**defaults, **arguments}
        rooms = (0, 0, 0)
        if "room_size" in values:
            smallest = 4 if self.rules == "PutNext" else 3
            lowest = {"room_size": smallest, "num_cols": 1, "num_rows": 1}
            size, columns, rows = (count(n, values[n], lowest[n]) for n in lowest)
            rooms = size, columns, rows
            width, height = columns * (size - 1) + 1, rows * (size - 1) + 1
        else:
            sides = ("size", "size") if "size" in values else ("width", "height")
            width, height = (count(side, values[side]) for side in sides)
            width *= values.get("breadth", 1)
        numbers = {
            key: tuple(map(float, _numbers(key, value, defaults[key])))
            for key, value in values.items()
            if key not in _EXTENTS
        }
        return Shape(width, height, int(self.steps(SimpleNamespace(**values))), numbers, rooms)


def _numbers(name: str, value: Any, default: object) -> tuple[float, ...]:
    """Return the numbers that compiled code gets for an argument."""
    if name in _CHOICES:
        if name == "obstacle_type":  # minigrid has classes of these names
            value = str(getattr(value, "__name__", value)).lower()
        return (_position(name, value, _CHOICES[name]),)
    if name in _LISTS:  # octal digits, the first value is the lowest one
        if not 0 < len(value) <= 6:
            raise InvalidArgument(f"{name}: expected one to six values, got {value!r}")
        digits = [1 + _position(name, each, _LISTS[name]) for each in value]
        return (sum(8**k * digit for k, digit in enumerate(digits)),)
    if name in _CELLS:  # None is (0, 0), where a wall is
        try:
            column, row = (0, 0) if value is None else value
        except (TypeError, ValueError):
            raise ArgumentTypeError(f"{name}: expected column and row, got {value!r}") from None
        return count(name, column, 0, _MAX_COUNT), count(name, row, 0, _MAX_COUNT)
    if name == "locked_room_prob":
        if not isinstance(value, (int, float)) or not 0 <= value <= 1:
            raise InvalidArgument(f"{name}: expected a number from 0 to 1, got {value!r}")
        return (value,)
    if isinstance(default, bool):
        return (bool(value),)
    low, high = (*_BOUNDS.get(name, (0,)), _MAX_COUNT)[:2]
    return (count(name, value, low, high),)


def _position(name: str, value: str | None, choices: tuple[str | None, ...]) -> int:
    if value not in choices:
        raise InvalidArgument(f"{name}: expected one of {list(choices)}, got {value!r}")
    return choices.index(value)


def _square_level(
    rules: str, size: int, factor: int, see: bool = False, **arguments: object
) -> Level:
    """Return a square level with a time limit of `factor` times its cells."""
    return Level(rules, {"size": size, **arguments}, {}, lambda a: factor * a.size**2, see)


def of_rooms(
    rules: str, fixed: Mapping[str, object] | None = None, steps: int = 0, **arguments: object
) -> Level:
    """Return a grid of rooms.

    Args:
        rules: Name of the rules.
        fixed: Values of the rules that are not arguments.
        steps: Time limit as a multiple of the cells of a room; 0 lets the level decide.
        **arguments: Arguments with their defaults, besides the sizes that are not fixed.
    """
    fixed = fixed or {}
    sizes = {name: value for name, value in SIZES.items() if name not in fixed}
    return Level(rules, sizes | arguments, fixed, lambda a: steps * a.room_size**2)


def _maze(keys_last: bool) -> Level:
    arguments = {"agent_room": (1, 1), "key_in_box": True, "blocked": True, "num_quarters": 4}
    fixed = {"room_size": 6, "num_rows": 3, "num_cols": 3, "keys_last": keys_last}
    limit = lambda a: 4 * a.num_rooms_visited * 36  # noqa: E731
    return Level("ObstructedMaze", {**arguments, "num_rooms_visited": 25}, fixed, limit)


_START = {"agent_start_pos": (1, 1), "agent_start_dir": 0}
_SHIFT = {"width": 9, "height": 7, **_START, "strip2_row": 2}
_CHAIN = {"minNumRooms": 6, "maxNumRooms": 6, "maxRoomSize": 10, "width": 25, "height": 25}
_TWO_ROOMS = {"room_size": 6, "num_rows": 1, "num_cols": 2}

LEVELS: dict[str, Level] = {
    "Empty": _square_level("Empty", 8, 4, True, **_START),
    "FourRooms": Level(
        "FourRooms", {"agent_pos": None, "goal_pos": None}, {"size": 19}, lambda a: 100
    ),
    "DoorKey": _square_level("DoorKey", 8, 10),
    "LavaGap": _square_level("LavaGap", 7, 4, obstacle_type="lava"),
    "Crossing": _square_level("Crossing", 9, 4, num_crossings=1, obstacle_type="lava"),
    "DistShift": Level("DistShift", _SHIFT, {}, lambda a: 4 * a.width * a.height, True),
    "MultiRoom": Level("MultiRoom", _CHAIN, {}, lambda a: 20 * a.maxNumRooms),
    "LockedRoom": Level("LockedRoom", {"size": 19}, {}, lambda a: 10 * a.size),
    "Fetch": _square_level("Fetch", 8, 5, True, numObjs=3),
    "GoToObject": _square_level("GoToObject", 6, 5, True, numObjs=2),
    "PutNear": Level("PutNear", {"size": 6, "numObjs": 2}, {}, lambda a: 5 * a.size, True),
    "GoToDoor": _square_level("GoToDoor", 5, 4, True),
    "Playground": Level("Playground", {}, {"size": 19}, lambda a: 100),
    "DynamicObstacles": _square_level("DynamicObstacles", 8, 4, True, **_START, n_obstacles=4),
    "Memory": _square_level("Memory", 8, 5, random_length=False),
    "RedBlueDoor": Level("RedBlueDoors", {"size": 8}, {"breadth": 2}, lambda a: 20 * a.size**2),
    "Unlock": of_rooms("Unlock", _TWO_ROOMS, 8),
    "UnlockPickup": of_rooms("UnlockPickup", {**_TWO_ROOMS, "blocked": False}, 8),
    "BlockedUnlockPickup": of_rooms("UnlockPickup", {**_TWO_ROOMS, "blocked": True}, 16),
    "KeyCorridor": of_rooms("KeyCorridor", {"num_cols": 3}, 30, obj_type="ball", room_size=6),
    "ObstructedMaze_1Dlhb": of_rooms(
        "ObstructedMaze1D", _TWO_ROOMS, 8, key_in_box=True, blocked=True
    ),
    "ObstructedMaze_Full": _maze(False),
    "ObstructedMaze_Full_V1": _maze(True),
}


Ids = dict[str, tuple[str, dict[str, object]]]


def ids(pattern: str, kind: str, *rows: object, **same: object) -> Ids:
    """Return ids of one class that differ in the values of some arguments.

    Args:
        pattern: Pattern of the ids, with the names of these arguments in braces.
        kind: The class.
        *rows: A tuple of values for each id, or the value of the only argument.
        **same: Arguments that all of the ids share.

    Examples:
        >>> ids("S{room_size}R{num_rows}-v0", "KeyCorridor", (3, 1), (3, 2))["S3R2-v0"]
        ('KeyCorridor', {'room_size': 3, 'num_rows': 2})
    """
    names = dict.fromkeys(re.findall(r"{(\w+)}", pattern))
    result: Ids = {}
    for row in rows or ((),):
        values = dict(zip(names, row if isinstance(row, tuple) else (row,), strict=True))
        result[pattern.format(**values)] = kind, values | same
    return result


def _multi_room_ids(name: str, *values: int) -> Ids:
    return ids(f"MultiRoom-{name}", "MultiRoom", **dict(zip(_CHAIN, values, strict=False)))


def _obstacles(name: str, *sizes: int, **same: object) -> Ids:
    return {
        f"Dynamic-Obstacles-{name}{n}x{n}-v0": (
            "DynamicObstacles",
            {"size": n, "n_obstacles": n // 2, **same},
        )
        for n in sizes
    }


_MAZE, _MAZE_1D = "ObstructedMaze_Full", "ObstructedMaze_1Dlhb"
_RANDOM: dict[str, object] = {"agent_start_pos": None}
_HIDDEN = {"key_in_box": True, "blocked": True}
CORRIDORS = ((3, 1), (3, 2), (3, 3), (4, 3), (5, 3), (6, 3))
_CROSSINGS = ((9, 1), (9, 2), (9, 3), (11, 5))
_TWO_DOORS = {"agent_room": (2, 1), "num_quarters": 1, "num_rooms_visited": 4}
_MAZES = {
    "2Dlhb": _TWO_DOORS,
    "1Q": {"agent_room": (1, 1), "num_quarters": 1, "num_rooms_visited": 5},
    "2Q": {"agent_room": (2, 1), "num_quarters": 2, "num_rooms_visited": 11},
    "Full": {"agent_room": (1, 1), "num_quarters": 4, "num_rooms_visited": 25},
}

# Class and arguments of each id, without the prefix "MiniGrid-".
IDS: Ids = {
    **ids("Empty-{size}x{size}-v0", "Empty", 5, 6, 8, 16),
    **ids("Empty-Random-{size}x{size}-v0", "Empty", 5, 6, **_RANDOM),
    "FourRooms-v0": ("FourRooms", {}),
    **ids("DoorKey-{size}x{size}-v0", "DoorKey", 5, 6, 8, 16),
    **ids("LavaGapS{size}-v0", "LavaGap", 5, 6, 7),
    **ids("LavaCrossingS{size}N{num_crossings}-v0", "Crossing", *_CROSSINGS),
    **ids(
        "SimpleCrossingS{size}N{num_crossings}-v0", "Crossing", *_CROSSINGS, obstacle_type="wall"
    ),
    **ids("DistShift1-v0", "DistShift", strip2_row=2),
    **ids("DistShift2-v0", "DistShift", strip2_row=5),
    **_multi_room_ids("N2-S4-v0", 2, 2, 4),
    **_multi_room_ids("N4-S5-v0", 6, 6, 5),  # six rooms, unlike version 1
    **_multi_room_ids("N4-S5-v1", 4, 4, 5),
    **_multi_room_ids("N6-v0", 6, 6, 10),
    "LockedRoom-v0": ("LockedRoom", {}),
    **ids("Fetch-{size}x{size}-N{numObjs}-v0", "Fetch", (5, 2), (6, 2), (8, 3)),
    **ids("GoToObject-{size}x{size}-N{numObjs}-v0", "GoToObject", (6, 2), (8, 2)),
    **ids("PutNear-{size}x{size}-N{numObjs}-v0", "PutNear", (6, 2), (8, 3)),
    **ids("GoToDoor-{size}x{size}-v0", "GoToDoor", 5, 6, 8),
    "Playground-v0": ("Playground", {}),
    **_obstacles("", 5, 6, 8, 16),
    **_obstacles("Random-", 5, 6, **_RANDOM),
    **ids("MemoryS{size}-v0", "Memory", 7, 9, 11, 13),
    **ids("MemoryS{size}Random-v0", "Memory", 13, 17, random_length=True),
    **ids("RedBlueDoors-{size}x{size}-v0", "RedBlueDoor", 6, 8),
    "Unlock-v0": ("Unlock", {}),
    "UnlockPickup-v0": ("UnlockPickup", {}),
    "BlockedUnlockPickup-v0": ("BlockedUnlockPickup", {}),
    **ids("KeyCorridorS{room_size}R{num_rows}-v0", "KeyCorridor", *CORRIDORS),
    **ids("ObstructedMaze-1Dl-v0", _MAZE_1D, key_in_box=False, blocked=False),
    **ids("ObstructedMaze-1Dlh-v0", _MAZE_1D, blocked=False),
    "ObstructedMaze-1Dlhb-v0": (_MAZE_1D, {}),
    **ids("ObstructedMaze-2Dl-v0", _MAZE, **_TWO_DOORS, key_in_box=False, blocked=False),
    **ids("ObstructedMaze-2Dlh-v0", _MAZE, **_TWO_DOORS, key_in_box=True, blocked=False),
}
for _version, _kind in enumerate((_MAZE, f"{_MAZE}_V1")):
    for _name, _values in _MAZES.items():
        IDS[f"ObstructedMaze-{_name}-v{_version}"] = _kind, _values | _HIDDEN
