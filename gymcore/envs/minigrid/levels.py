"""MiniGrid's levels: what distinguishes them, their arguments and defaults, and ids.

Names and defaults are those of the classes of minigrid 3.2, and of its ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

from gymcore.base.arguments import count
from gymcore.error import ArgumentTypeError, InvalidArgument

COLORS = ("red", "green", "blue", "purple", "yellow", "grey")
VERBS = ("goto", "pickup", "open", "putnext")
FORMS = ("action", "and", "seq")
SIZES = {"room_size": 8, "num_rows": 3, "num_cols": 3}
_OBJECTS = {None: -1, "key": 5, "ball": 6, "box": 7}


@dataclass(frozen=True)
class Level:
    """A class of levels.

    Attributes:
        rules: Name of its rules in compiled code.
        arguments: Arguments of the class, and their defaults; None where there is none.
        fixed: Values that are not arguments.
        steps: Returns the time limit for values, which are its attributes; 0: the level decides.
        see_through_walls: Whether nothing casts shadows, if the argument does not say so.
        extra: How many objects `distractors=True` adds.
    """

    rules: str
    arguments: dict[str, Any] = field(default_factory=dict)
    fixed: dict[str, Any] = field(default_factory=dict)
    steps: Callable[[Any], int] = lambda a: 0
    see_through_walls: bool = False
    extra: int = 0


class Shape(NamedTuple):
    """What the arguments of a level come to.

    Attributes:
        width: Cells across.
        height: Cells down.
        max_steps: Default of the argument `max_steps`; 0: the level decides.
        numbers: Of its rules by argument, in the order that compiled code wants.
        rooms: Size, columns and rows of a grid of rooms; zeros for other levels.
    """

    width: int
    height: int
    max_steps: int
    numbers: dict[str, tuple[float, ...]]
    rooms: tuple[int, int, int]


def _position(name: str, value: Any, known: Any) -> int:
    if value not in known:
        raise InvalidArgument(f"{name}: expected one of {list(known)}, got {value!r}")
    return list(known).index(value)


def _digits(name: str, values: Any, known: tuple[str, ...]) -> int:
    """Return positions + 1 in `known` as digits to the base 8, that of the first value last."""
    if not 0 < len(values) <= 6:
        raise InvalidArgument(f"{name}: expected one to six values, got {values!r}")
    return sum(8**k * (1 + _position(name, value, known)) for k, value in enumerate(values))


def _probability(name: str, value: Any) -> float:
    if not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InvalidArgument(f"{name}: expected a number from 0 to 1, got {value!r}")
    return float(value)


def _cell(name: str, value: Any) -> tuple[int, ...]:
    """Return column and row; zeros, which is a wall, for None."""
    try:
        column, row = (0, 0) if value is None else value
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{name}: expected column and row, got {value!r}") from None
    return count(name, column), count(name, row)


def _obstacle(name: str, value: Any) -> int:
    """Return the number of what obstacles are; minigrid has classes of these names."""
    word = str(getattr(value, "__name__", value)).lower()
    return (9, 2)[_position(name, word, ("lava", "wall"))]


def _number(low: int = 0, high: int | None = None) -> Callable[[str, Any], int]:
    return lambda name, value: count(name, value, low, high)


def _flag(name: str, value: Any) -> bool:
    return bool(value)


# How values of arguments become numbers, in the order that compiled code wants.
_ENCODERS: dict[str, Callable[[str, Any], Any]] = {
    "agent_start_pos": _cell,
    "agent_start_dir": _number(0, 3),
    "agent_pos": _cell,
    "goal_pos": _cell,
    "agent_room": _cell,
    "num_crossings": _number(),
    "obstacle_type": _obstacle,
    "strip2_row": _number(),
    "minNumRooms": _number(),
    "maxNumRooms": _number(),
    "maxRoomSize": _number(),
    "numObjs": _number(),
    "n_obstacles": _number(),
    "random_length": _flag,
    "num_dists": _number(),
    "num_objs": _number(2),
    "objs_per_room": _number(1, 9),
    "num_doors": _number(2, 4),
    "first_color": lambda name, value: _position(name, value, (None, *COLORS)) - 1,
    "second_color": lambda name, value: _position(name, value, (None, *COLORS)) - 1,
    "obj_type": lambda name, value: list(_OBJECTS.values())[_position(name, value, _OBJECTS)],
    "debug": _flag,
    "strict": _flag,
    "grey": _flag,
    "key_in_box": _flag,
    "blocked": _flag,
    "num_quarters": _number(),
    "keys_last": _flag,
    "doors_open": _flag,
    "start_carrying": _flag,
    "select_by": lambda name, value: _position(name, value, (None, "color", "loc")),
    "locked_room_prob": _probability,
    "locations": _flag,
    "unblocking": _flag,
    "implicit_unlock": _flag,
    "action_kinds": lambda name, value: _digits(name, value, VERBS),
    "instr_kinds": lambda name, value: _digits(name, value, FORMS),
}


def shape_of(name: str, level: Level, arguments: Mapping[str, Any]) -> Shape:
    """Return what arguments of a level come to.

    Args:
        name: Of the class, for errors.
        level: The class.
        arguments: Those that are given.

    Raises:
        ArgumentTypeError: The class has no such argument, or it has another type.
        InvalidArgument: A value is out of range.

    Example:
        >>> shape_of("Empty", LEVELS["Empty"], {"size": 6})[:3]
        (6, 6, 144)
    """
    if unknown := sorted(arguments.keys() - level.arguments.keys()):
        raise ArgumentTypeError(
            f"{name} has no argument {unknown[0]!r}; it has {sorted(level.arguments)}"
        )
    values = {**level.arguments, **level.fixed, **arguments}
    rooms = (0, 0, 0)
    if "room_size" in values:
        lowest = {"room_size": 4 if level.rules == "PutNext" else 3, "num_cols": 1, "num_rows": 1}
        size, columns, rows = rooms = tuple(count(n, values[n], lowest[n]) for n in lowest)  # type: ignore[assignment]
        width, height = columns * (size - 1) + 1, rows * (size - 1) + 1
    else:
        sides = ("size", "size") if "size" in values else ("width", "height")
        width, height = (count(n, values[n]) for n in sides)
        width *= values.get("breadth", 1)
    if "distractors" in values:
        values["num_dists"] = level.extra if values["distractors"] else 0
    numbers = {
        key: tuple(map(float, encoded if isinstance(encoded, tuple) else (encoded,)))
        for key, encode in _ENCODERS.items()
        if key in values
        for encoded in (encode(key, values[key]),)
    }
    return Shape(width, height, int(level.steps(SimpleNamespace(**values))), numbers, rooms)


_FROM_CORNER = {"agent_start_pos": (1, 1), "agent_start_dir": 0}
_TWO_ROOMS = {"room_size": 6, "num_rows": 1, "num_cols": 2}
_MAZE = {
    "agent_room": (1, 1),
    "key_in_box": True,
    "blocked": True,
    "num_quarters": 4,
    "num_rooms_visited": 25,
}


def _of_size(rules: str, size: int, factor: int, see: bool = False, **arguments: Any) -> Level:
    """Return a level of size x size cells, with a time limit of so many times that."""
    return Level(rules, {"size": size, **arguments}, {}, lambda a: factor * a.size**2, see)


def of_rooms(
    rules: str, fixed: dict[str, Any] | None = None, steps: int = 0, extra: int = 0, **free: Any
) -> Level:
    """Return a grid of rooms.

    Args:
        rules: Name of the rules.
        fixed: Values that are not arguments.
        steps: The time limit is so many times the cells of a room; 0: the level decides.
        extra: How many objects `distractors=True` adds.
        **free: Arguments besides the sizes that are not fixed, and their defaults.
    """
    fixed = fixed or {}
    sizes = {name: value for name, value in SIZES.items() if name not in fixed}
    limit = Level.steps if not steps else lambda a: steps * a.room_size**2
    return Level(rules, sizes | free, fixed, limit, extra=extra)


def _maze(keys_last: bool) -> Level:
    fixed = {"room_size": 6, "num_rows": 3, "num_cols": 3, "keys_last": keys_last}
    return Level("ObstructedMaze", _MAZE, fixed, lambda a: 4 * a.num_rooms_visited * 36)


LEVELS: dict[str, Level] = {
    "Empty": _of_size("Empty", 8, 4, True, **_FROM_CORNER),
    "FourRooms": Level(
        "FourRooms", {"agent_pos": None, "goal_pos": None}, {"size": 19}, lambda a: 100
    ),
    "DoorKey": _of_size("DoorKey", 8, 10),
    "LavaGap": _of_size("LavaGap", 7, 4, obstacle_type="lava"),
    "Crossing": _of_size("Crossing", 9, 4, num_crossings=1, obstacle_type="lava"),
    "DistShift": Level(
        "DistShift",
        {"width": 9, "height": 7, **_FROM_CORNER, "strip2_row": 2},
        steps=lambda a: 4 * a.width * a.height,
        see_through_walls=True,
    ),
    "MultiRoom": Level(
        "MultiRoom",
        {"minNumRooms": 6, "maxNumRooms": 6, "maxRoomSize": 10, "width": 25, "height": 25},
        steps=lambda a: 20 * a.maxNumRooms,
    ),
    "LockedRoom": Level("LockedRoom", {"size": 19}, steps=lambda a: 10 * a.size),
    "Fetch": _of_size("Fetch", 8, 5, True, numObjs=3),
    "GoToObject": _of_size("GoToObject", 6, 5, True, numObjs=2),
    "PutNear": Level(
        "PutNear", {"size": 6, "numObjs": 2}, {}, lambda a: 5 * a.size, see_through_walls=True
    ),
    "GoToDoor": _of_size("GoToDoor", 5, 4, True),
    "Playground": Level("Playground", {}, {"size": 19}, lambda a: 100),
    "DynamicObstacles": _of_size("DynamicObstacles", 8, 4, True, **_FROM_CORNER, n_obstacles=4),
    "Memory": _of_size("Memory", 8, 5, random_length=False),
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


Ids = dict[str, tuple[str, dict[str, Any]]]


def ids(pattern: str, kind: str, names: str, *rows: tuple[Any, ...], **same: Any) -> Ids:
    """Return ids that differ in the values of some arguments.

    Args:
        pattern: Of the ids, with the number of each value in braces.
        kind: The class of all.
        names: Of these arguments.
        *rows: Their values.
        **same: Other arguments.

    Example:
        >>> ids("S{0}R{1}-v0", "KeyCorridor", "room_size num_rows", (3, 1), (3, 2))["S3R2-v0"]
        ('KeyCorridor', {'room_size': 3, 'num_rows': 2})
    """
    return {
        pattern.format(*row): (kind, {**dict(zip(names.split(), row, strict=True)), **same})
        for row in rows
    }


_RANDOM: dict[str, Any] = {"agent_start_pos": None}
_ROOMS = ("MultiRoom", "minNumRooms maxNumRooms maxRoomSize")
CORRIDORS = ((3, 1), (3, 2), (3, 3), (4, 3), (5, 3), (6, 3))
_CROSSING = ((9, 1), (9, 2), (9, 3), (11, 5))
_FULL = ("ObstructedMaze_Full", "agent_room num_quarters num_rooms_visited key_in_box blocked")
_MAZES = {
    "2Dlhb": ((2, 1), 1, 4, True, True),
    "1Q": ((1, 1), 1, 5, True, True),
    "2Q": ((2, 1), 2, 11, True, True),
    "Full": ((1, 1), 4, 25, True, True),
}

# Without "MiniGrid-": kind and arguments.
IDS: Ids = {
    **ids("Empty-{0}x{0}-v0", "Empty", "size", (5,), (6,), (8,), (16,)),
    **ids("Empty-Random-{0}x{0}-v0", "Empty", "size", (5,), (6,), **_RANDOM),
    "FourRooms-v0": ("FourRooms", {}),
    **ids("DoorKey-{0}x{0}-v0", "DoorKey", "size", (5,), (6,), (8,), (16,)),
    **ids("LavaGapS{0}-v0", "LavaGap", "size", (5,), (6,), (7,)),
    **ids("LavaCrossingS{0}N{1}-v0", "Crossing", "size num_crossings", *_CROSSING),
    **ids(
        *("SimpleCrossingS{0}N{1}-v0", "Crossing", "size num_crossings", *_CROSSING),
        obstacle_type="wall",
    ),
    "DistShift1-v0": ("DistShift", {"strip2_row": 2}),
    "DistShift2-v0": ("DistShift", {"strip2_row": 5}),
    **ids("MultiRoom-N2-S4-v0", *_ROOMS, (2, 2, 4)),
    **ids("MultiRoom-N4-S5-v0", *_ROOMS, (6, 6, 5)),  # six rooms, unlike version 1
    **ids("MultiRoom-N4-S5-v1", *_ROOMS, (4, 4, 5)),
    **ids("MultiRoom-N6-v0", *_ROOMS, (6, 6, 10)),
    "LockedRoom-v0": ("LockedRoom", {}),
    **ids("Fetch-{0}x{0}-N{1}-v0", "Fetch", "size numObjs", (5, 2), (6, 2), (8, 3)),
    **ids("GoToObject-{0}x{0}-N2-v0", "GoToObject", "size numObjs", (6, 2), (8, 2)),
    **ids("PutNear-{0}x{0}-N{1}-v0", "PutNear", "size numObjs", (6, 2), (8, 3)),
    **ids("GoToDoor-{0}x{0}-v0", "GoToDoor", "size", (5,), (6,), (8,)),
    "Playground-v0": ("Playground", {}),
    **ids(
        *("Dynamic-Obstacles-{0}x{0}-v0", "DynamicObstacles", "size n_obstacles"),
        *((5, 2), (6, 3), (8, 4), (16, 8)),
    ),
    **ids(
        *("Dynamic-Obstacles-Random-{0}x{0}-v0", "DynamicObstacles", "size n_obstacles"),
        *((5, 2), (6, 3)),
        **_RANDOM,
    ),
    **ids("MemoryS{0}-v0", "Memory", "size", (7,), (9,), (11,), (13,)),
    **ids("MemoryS{0}Random-v0", "Memory", "size", (13,), (17,), random_length=True),
    **ids("RedBlueDoors-{0}x{0}-v0", "RedBlueDoor", "size", (6,), (8,)),
    "Unlock-v0": ("Unlock", {}),
    "UnlockPickup-v0": ("UnlockPickup", {}),
    "BlockedUnlockPickup-v0": ("BlockedUnlockPickup", {}),
    **ids("KeyCorridorS{0}R{1}-v0", "KeyCorridor", "room_size num_rows", *CORRIDORS),
    "ObstructedMaze-1Dl-v0": ("ObstructedMaze_1Dlhb", {"key_in_box": False, "blocked": False}),
    "ObstructedMaze-1Dlh-v0": ("ObstructedMaze_1Dlhb", {"blocked": False}),
    "ObstructedMaze-1Dlhb-v0": ("ObstructedMaze_1Dlhb", {}),
    **ids("ObstructedMaze-2Dl-v0", *_FULL, ((2, 1), 1, 4, False, False)),
    **ids("ObstructedMaze-2Dlh-v0", *_FULL, ((2, 1), 1, 4, True, False)),
}
for _version, (_kind, _names) in enumerate((_FULL, (f"{_FULL[0]}_V1", _FULL[1]))):
    for _name, _row in _MAZES.items():
        IDS |= ids(f"ObstructedMaze-{_name}-v{_version}", _kind, _names, _row)
