"""MiniGrid's levels: arguments and their defaults, sizes, rules and ids.

The names and defaults are those of the classes of minigrid 3.2, and of its ids.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

from gymcore.error import InvalidArgument


class Shape(NamedTuple):
    """What the arguments of a level come to.

    Attributes:
        width: Cells across.
        height: Cells down.
        max_steps: Default of the argument `max_steps`; 0: the level decides.
        numbers: Of its rules, in the order that compiled code wants, or by their names.
        rooms: Size, columns and rows of a grid of rooms.
        see_through_walls: Whether nothing casts shadows, if the argument does not say so.
    """

    width: int
    height: int
    max_steps: int
    numbers: tuple[float, ...] | dict[str, float] = ()
    rooms: tuple[int, int, int] = (0, 0, 0)
    see_through_walls: bool = False


class Kind(NamedTuple):
    """A kind of levels: a class of minigrid's.

    Attributes:
        rules: Name of its rules in compiled code.
        arguments: Arguments of the class, and their defaults; None where there is none.
        shape: Returns the shape for values of the arguments, which are its attributes.
    """

    rules: str
    arguments: dict[str, Any]
    shape: Callable[[Any], Shape]


def _start(a: Any) -> tuple[float, ...]:
    """Return position and direction of the agent at the start; zeros to draw them."""
    return (*(a.agent_start_pos or (0, 0)), a.agent_start_dir)


def _obstacle(a: Any) -> float:
    """Return the number of what obstacles are: lava or walls."""
    kind = getattr(a.obstacle_type, "__name__", a.obstacle_type)
    if str(kind).lower() not in ("lava", "wall"):
        raise InvalidArgument(f"obstacle_type: expected 'lava' or 'wall', got {kind!r}")
    return 9.0 if str(kind).lower() == "lava" else 2.0


def _rooms(a: Any, columns: int, rows: int, steps: int, *numbers: float, size: int = 6) -> Shape:
    """Return the shape of a grid of rooms; `steps` for each cell of a room."""
    width, height = columns * (size - 1) + 1, rows * (size - 1) + 1
    return Shape(width, height, steps * size**2, numbers, (size, columns, rows))


def _obstacles(a: Any) -> int:
    """Return how many balls fit."""
    return int(a.n_obstacles if a.n_obstacles <= a.size / 2 + 1 else a.size / 2)


def _maze(keys_last: int) -> Callable[[Any], Shape]:
    return lambda a: _rooms(
        a,
        *(3, 3, 4 * a.num_rooms_visited),
        *(*a.agent_room, a.key_in_box, a.blocked, a.num_quarters, keys_last),
    )


_FROM_CORNER = {"agent_start_pos": (1, 1), "agent_start_dir": 0}
_MAZE = {
    "agent_room": (1, 1),
    "key_in_box": True,
    "blocked": True,
    "num_quarters": 4,
    "num_rooms_visited": 25,
}
_OBJECT_TYPES = ("key", "ball", "box")

KINDS: dict[str, Kind] = {
    "Empty": Kind(
        "Empty",
        {"size": 8, **_FROM_CORNER},
        lambda a: Shape(a.size, a.size, 4 * a.size**2, _start(a), see_through_walls=True),
    ),
    "FourRooms": Kind(
        "FourRooms",
        {"agent_pos": None, "goal_pos": None},
        lambda a: Shape(19, 19, 100, (*(a.agent_pos or (0, 0)), *(a.goal_pos or (0, 0)))),
    ),
    "DoorKey": Kind("DoorKey", {"size": 8}, lambda a: Shape(a.size, a.size, 10 * a.size**2)),
    "LavaGap": Kind(
        "LavaGap",
        {"size": 7, "obstacle_type": "lava"},
        lambda a: Shape(a.size, a.size, 4 * a.size**2, (_obstacle(a),)),
    ),
    "Crossing": Kind(
        "Crossing",
        {"size": 9, "num_crossings": 1, "obstacle_type": "lava"},
        lambda a: Shape(a.size, a.size, 4 * a.size**2, (a.num_crossings, _obstacle(a))),
    ),
    "DistShift": Kind(
        "DistShift",
        {"width": 9, "height": 7, **_FROM_CORNER, "strip2_row": 2},
        lambda a: Shape(
            *(a.width, a.height, 4 * a.width * a.height, (*_start(a), a.strip2_row)),
            see_through_walls=True,
        ),
    ),
    "MultiRoom": Kind(
        "MultiRoom",
        {"minNumRooms": 6, "maxNumRooms": 6, "maxRoomSize": 10, "width": 25, "height": 25},
        lambda a: Shape(
            a.width, a.height, 20 * a.maxNumRooms, (a.minNumRooms, a.maxNumRooms, a.maxRoomSize)
        ),
    ),
    "LockedRoom": Kind("LockedRoom", {"size": 19}, lambda a: Shape(a.size, a.size, 10 * a.size)),
    "Fetch": Kind(
        "Fetch",
        {"size": 8, "numObjs": 3},
        lambda a: Shape(a.size, a.size, 5 * a.size**2, (a.numObjs,), see_through_walls=True),
    ),
    "GoToObject": Kind(
        "GoToObject",
        {"size": 6, "numObjs": 2},
        lambda a: Shape(a.size, a.size, 5 * a.size**2, (a.numObjs,), see_through_walls=True),
    ),
    "PutNear": Kind(
        "PutNear",
        {"size": 6, "numObjs": 2},
        lambda a: Shape(a.size, a.size, 5 * a.size, (a.numObjs,), see_through_walls=True),
    ),
    "GoToDoor": Kind(
        "GoToDoor",
        {"size": 5},
        lambda a: Shape(a.size, a.size, 4 * a.size**2, see_through_walls=True),
    ),
    "Playground": Kind("Playground", {}, lambda a: Shape(19, 19, 100)),
    "DynamicObstacles": Kind(
        "DynamicObstacles",
        {"size": 8, **_FROM_CORNER, "n_obstacles": 4},
        lambda a: Shape(
            *(a.size, a.size, 4 * a.size**2, (*_start(a), _obstacles(a))), see_through_walls=True
        ),
    ),
    "Memory": Kind(
        "Memory",
        {"size": 8, "random_length": False},
        lambda a: Shape(a.size, a.size, 5 * a.size**2, (a.random_length,)),
    ),
    "RedBlueDoor": Kind(
        "RedBlueDoors", {"size": 8}, lambda a: Shape(2 * a.size, a.size, 20 * a.size**2)
    ),
    "Unlock": Kind("Unlock", {}, lambda a: _rooms(a, 2, 1, 8)),
    "UnlockPickup": Kind("UnlockPickup", {}, lambda a: _rooms(a, 2, 1, 8, 0)),
    "BlockedUnlockPickup": Kind("UnlockPickup", {}, lambda a: _rooms(a, 2, 1, 16, 1)),
    "KeyCorridor": Kind(
        "KeyCorridor",
        {"num_rows": 3, "obj_type": "ball", "room_size": 6},
        lambda a: _rooms(
            a, 3, a.num_rows, 30, 5 + _OBJECT_TYPES.index(a.obj_type), size=a.room_size
        ),
    ),
    "ObstructedMaze_1Dlhb": Kind(
        "ObstructedMaze1D",
        {"key_in_box": True, "blocked": True},
        lambda a: _rooms(a, 2, 1, 8, a.key_in_box, a.blocked),
    ),
    "ObstructedMaze_Full": Kind("ObstructedMaze", _MAZE, _maze(0)),
    "ObstructedMaze_Full_V1": Kind("ObstructedMaze", _MAZE, _maze(1)),
}


def shape_of(kind: str, arguments: dict[str, Any]) -> Shape:
    """Return the shape of a level of a kind, with values of its arguments.

    Raises:
        InvalidArgument: A value has the wrong type.
    """
    try:
        shape = KINDS[kind].shape(SimpleNamespace(**arguments))
        return shape._replace(numbers=tuple(map(float, shape.numbers)))
    except (TypeError, ValueError) as problem:
        raise InvalidArgument(f"{kind}: no level has {arguments} ({problem})") from problem


def _maze_of(room: tuple[int, int], quarters: int, visited: int, **others: bool) -> dict[str, Any]:
    return {"agent_room": room, "num_quarters": quarters, "num_rooms_visited": visited, **others}


_DL = _maze_of((2, 1), 1, 4)
_RANDOM = {"agent_start_pos": None}

# Ids without "MiniGrid-": kind and arguments.
IDS: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"Empty-{n}x{n}-v0": ("Empty", {"size": n}) for n in (5, 6, 8, 16)},
    **{f"Empty-Random-{n}x{n}-v0": ("Empty", {"size": n, **_RANDOM}) for n in (5, 6)},
    "FourRooms-v0": ("FourRooms", {}),
    **{f"DoorKey-{n}x{n}-v0": ("DoorKey", {"size": n}) for n in (5, 6, 8, 16)},
    **{f"LavaGapS{n}-v0": ("LavaGap", {"size": n}) for n in (5, 6, 7)},
    **{
        f"{name}CrossingS{size}N{rivers}-v0": (
            "Crossing",
            {"size": size, "num_crossings": rivers, **kind},
        )
        for name, kind in (("Lava", {}), ("Simple", {"obstacle_type": "wall"}))
        for size, rivers in ((9, 1), (9, 2), (9, 3), (11, 5))
    },
    "DistShift1-v0": ("DistShift", {"strip2_row": 2}),
    "DistShift2-v0": ("DistShift", {"strip2_row": 5}),
    **{
        f"MultiRoom-{name}": (
            "MultiRoom",
            {"minNumRooms": rooms, "maxNumRooms": rooms, "maxRoomSize": size},
        )
        # Version 0 of N4-S5 has six rooms.
        for name, rooms, size in (
            ("N2-S4-v0", 2, 4),
            ("N4-S5-v0", 6, 5),
            ("N4-S5-v1", 4, 5),
            ("N6-v0", 6, 10),
        )
    },
    "LockedRoom-v0": ("LockedRoom", {}),
    **{
        f"Fetch-{n}x{n}-N{k}-v0": ("Fetch", {"size": n, "numObjs": k})
        for n, k in ((5, 2), (6, 2), (8, 3))
    },
    **{f"GoToObject-{n}x{n}-N2-v0": ("GoToObject", {"size": n, "numObjs": 2}) for n in (6, 8)},
    **{
        f"PutNear-{n}x{n}-N{k}-v0": ("PutNear", {"size": n, "numObjs": k})
        for n, k in ((6, 2), (8, 3))
    },
    **{f"GoToDoor-{n}x{n}-v0": ("GoToDoor", {"size": n}) for n in (5, 6, 8)},
    "Playground-v0": ("Playground", {}),
    **{
        f"Dynamic-Obstacles-{name}{n}x{n}-v0": (
            "DynamicObstacles",
            {"size": n, "n_obstacles": balls, **start},
        )
        for name, start, n, balls in (
            *(("", {}, n, balls) for n, balls in ((5, 2), (6, 3), (8, 4), (16, 8))),
            *(("Random-", _RANDOM, n, balls) for n, balls in ((5, 2), (6, 3))),
        )
    },
    **{f"MemoryS{n}-v0": ("Memory", {"size": n}) for n in (7, 9, 11, 13)},
    **{f"MemoryS{n}Random-v0": ("Memory", {"size": n, "random_length": True}) for n in (13, 17)},
    **{f"RedBlueDoors-{n}x{n}-v0": ("RedBlueDoor", {"size": n}) for n in (6, 8)},
    "Unlock-v0": ("Unlock", {}),
    "UnlockPickup-v0": ("UnlockPickup", {}),
    "BlockedUnlockPickup-v0": ("BlockedUnlockPickup", {}),
    **{
        f"KeyCorridorS{size}R{rows}-v0": ("KeyCorridor", {"room_size": size, "num_rows": rows})
        for size, rows in ((3, 1), (3, 2), (3, 3), (4, 3), (5, 3), (6, 3))
    },
    "ObstructedMaze-1Dl-v0": ("ObstructedMaze_1Dlhb", {"key_in_box": False, "blocked": False}),
    "ObstructedMaze-1Dlh-v0": ("ObstructedMaze_1Dlhb", {"key_in_box": True, "blocked": False}),
    "ObstructedMaze-1Dlhb-v0": ("ObstructedMaze_1Dlhb", {}),
    "ObstructedMaze-2Dl-v0": (
        "ObstructedMaze_Full",
        {**_DL, "key_in_box": False, "blocked": False},
    ),
    "ObstructedMaze-2Dlh-v0": ("ObstructedMaze_Full", {**_DL, "blocked": False}),
    **{
        f"ObstructedMaze-{name}-v{version}": (f"ObstructedMaze_Full{'_V1' * version}", arguments)
        for version in (0, 1)
        for name, arguments in (
            ("2Dlhb", _DL),
            ("1Q", _maze_of((1, 1), 1, 5)),
            ("2Q", _maze_of((2, 1), 2, 11)),
            ("Full", {}),
        )
    },
}
