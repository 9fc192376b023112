"""BabyAI's levels: the rules, sizes and numbers of each, by the arguments of minigrid's classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gymcore.base.arguments import count
from gymcore.error import ArgumentTypeError, InvalidArgument

__all__ = ["IDS", "LEVELS", "Settings", "settings_of"]

COLORS = ("red", "green", "blue", "purple", "yellow", "grey")
VERBS = ("goto", "pickup", "open", "putnext")
FORMS = ("action", "and", "seq")
KINDS = {None: -1, "key": 5, "ball": 6, "box": 7}


@dataclass(frozen=True)
class Level:
    """A class of levels.

    Attributes:
        rules: The name of its rules in `gymcore_ext.minigrid.babyai.RULES`.
        fixed: Sizes of the grid, and numbers of the rules, that are not arguments.
        arguments: Arguments of the class, besides sizes that are not fixed, and their defaults.
        steps: The time limit as a multiple of a room's squared size; 0: the instruction decides.
        extra: How many objects `distractors=True` adds.
    """

    rules: str
    fixed: dict[str, Any] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)
    steps: int = 0
    extra: int = 0


SIZES = {"room_size": 8, "num_rows": 3, "num_cols": 3}
ONE_ROOM = {"num_rows": 1, "num_cols": 1}
TWO_ROOMS = {"num_rows": 1, "num_cols": 2}
ONE_TASK = {"instr_kinds": ("action",)}
LANGUAGE = {
    "num_dists": 18,
    "locked_room_prob": 0.5,
    "locations": True,
    "unblocking": True,
    "implicit_unlock": True,
    "action_kinds": VERBS,
    "instr_kinds": FORMS,
}


def of_language(fixed: dict[str, Any], **defaults: Any) -> Level:
    """Return a level whose instruction is any of a part of the language."""
    free = {name: value for name, value in LANGUAGE.items() if name not in fixed}
    return Level("LevelGen", fixed, free | defaults)


LEVELS = {
    "GoToRedBallGrey": Level("GoToRedBall", {**ONE_ROOM, "grey": True}, {"num_dists": 7}),
    "GoToRedBall": Level("GoToRedBall", {**ONE_ROOM, "grey": False}, {"num_dists": 7}),
    "GoToRedBallNoDists": Level(
        "GoToRedBall", {**ONE_ROOM, "room_size": 8, "num_dists": 0, "grey": False}
    ),
    "GoToObj": Level("GoTo", {**ONE_ROOM, "num_dists": 1, "doors_open": False}),
    "GoToLocal": Level("GoTo", {**ONE_ROOM, "doors_open": False}, {"num_dists": 8}),
    "GoTo": Level("GoTo", {}, {"num_dists": 18, "doors_open": False}),
    "GoToImpUnlock": Level("GoToImpUnlock"),
    "GoToSeq": of_language(
        {"action_kinds": ("goto",), "locked_room_prob": 0, "locations": False, "unblocking": False}
    ),
    "GoToRedBlueBall": Level("GoToRedBlueBall", ONE_ROOM, {"num_dists": 7}),
    "GoToDoor": Level("GoToDoor", {"room_size": 7}),
    "GoToObjDoor": Level("GoToObjDoor", {"room_size": 8}),
    "Open": Level("Open"),
    "OpenRedDoor": Level("OpenRedDoor", {**TWO_ROOMS, "room_size": 5}),
    "OpenDoor": Level("OpenDoor", {}, {"debug": False, "select_by": None}),
    "OpenTwoDoors": Level(
        "OpenTwoDoors",
        {"room_size": 6},
        {"first_color": None, "second_color": None, "strict": False},
        steps=20,
    ),
    "OpenDoorsOrder": Level(
        "OpenDoorsOrder", {"room_size": 6}, {"num_doors": 2, "debug": False}, steps=20
    ),
    "Pickup": Level("Pickup"),
    "UnblockPickup": Level("UnblockPickup"),
    "PickupLoc": of_language(
        {
            **ONE_ROOM,
            **ONE_TASK,
            "action_kinds": ("pickup",),
            "num_dists": 8,
            "locked_room_prob": 0,
            "locations": True,
            "unblocking": False,
        }
    ),
    "PickupDist": Level("PickupDist", {**ONE_ROOM, "room_size": 7}, {"debug": False}),
    "PickupAbove": Level("PickupAbove", {"room_size": 6}, steps=8),
    "PutNextLocal": Level("PutNextLocal", ONE_ROOM, {"num_objs": 8}),
    "PutNext": Level("PutNext", TWO_ROOMS, {"objs_per_room": 1, "start_carrying": False}, steps=8),
    "Unlock": Level("Unlock"),
    "UnlockLocal": Level("UnlockLocal", {}, {"distractors": False}, extra=3),
    "KeyInBox": Level("KeyInBox"),
    "UnlockPickup": Level(
        "UnlockPickup",
        {**TWO_ROOMS, "room_size": 6, "blocked": False},
        {"distractors": False},
        extra=4,
    ),
    "BlockedUnlockPickup": Level(
        "UnlockPickup", {**TWO_ROOMS, "room_size": 6, "blocked": True, "num_dists": 0}, steps=16
    ),
    "UnlockToUnlock": Level(
        "UnlockToUnlock", {"num_rows": 1, "num_cols": 3, "room_size": 6}, steps=30
    ),
    "ActionObjDoor": Level("ActionObjDoor", {"room_size": 7}),
    "FindObjS5": Level("FindObj", {}, {"room_size": 5}, steps=20),
    "KeyCorridor": Level("KeyCorridor", {}, {"room_size": 6, "obj_type": "ball"}, steps=30),
    "OneRoomS8": Level("OneRoom", ONE_ROOM),
    "MoveTwoAcross": Level("MoveTwoAcross", TWO_ROOMS, {"objs_per_room": 2}, steps=16),
    "Synth": of_language(
        {**ONE_TASK, "locations": False, "unblocking": True, "implicit_unlock": False}
    ),
    "SynthLoc": of_language(
        {**ONE_TASK, "locations": True, "unblocking": True, "implicit_unlock": False}
    ),
    "SynthSeq": of_language({"locations": True, "unblocking": True, "implicit_unlock": False}),
    "MiniBossLevel": of_language(
        {"num_cols": 2, "num_rows": 2, "room_size": 5, "num_dists": 7, "locked_room_prob": 0.25}
    ),
    "BossLevel": of_language({}),
    "BossLevelNoUnlock": of_language({"locked_room_prob": 0, "implicit_unlock": False}),
}

# Ids whose names are not those of their classes: class and arguments.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "GoToObjS4-v0": ("GoToObj", {"room_size": 4}),
    "GoToObjS6-v1": ("GoToObj", {"room_size": 6}),
    **{
        f"GoToLocalS{size}N{count}-v0": ("GoToLocal", {"room_size": size, "num_dists": count})
        for size, counts in ((5, "2"), (6, "234"), (7, "45"), (8, "234567"))
        for count in map(int, counts)
    },
    "GoToOpen-v0": ("GoTo", {"doors_open": True}),
    "GoToObjMaze-v0": ("GoTo", {"num_dists": 1}),
    "GoToObjMazeOpen-v0": ("GoTo", {"num_dists": 1, "doors_open": True}),
    "GoToObjMazeS4R2-v0": (
        "GoTo",
        {"num_dists": 1, "room_size": 4, "num_rows": 2, "num_cols": 2},
    ),
    **{
        f"GoToObjMazeS{size}-v0": ("GoTo", {"num_dists": 1, "room_size": size})
        for size in (4, 5, 6, 7)
    },
    "GoToSeqS5R2-v0": (
        "GoToSeq",
        {"room_size": 5, "num_rows": 2, "num_cols": 2, "num_dists": 4},
    ),
    "OpenDoorDebug-v0": ("OpenDoor", {"debug": True}),
    "OpenDoorColor-v0": ("OpenDoor", {"select_by": "color"}),
    "OpenDoorLoc-v0": ("OpenDoor", {"select_by": "loc"}),
    "OpenRedBlueDoors-v0": ("OpenTwoDoors", {"first_color": "red", "second_color": "blue"}),
    "OpenRedBlueDoorsDebug-v0": (
        "OpenTwoDoors",
        {"first_color": "red", "second_color": "blue", "strict": True},
    ),
    **{
        f"OpenDoorsOrderN{doors}{'Debug' * debug}-v0": (
            "OpenDoorsOrder",
            {"num_doors": doors, "debug": debug},
        )
        for doors in (2, 4)
        for debug in (False, True)
    },
    "PickupDistDebug-v0": ("PickupDist", {"debug": True}),
    **{
        f"PutNextLocalS{size}N{count}-v0": ("PutNextLocal", {"room_size": size, "num_objs": count})
        for size, count in ((5, 3), (6, 4))
    },
    **{
        f"PutNextS{size}N{count}{'Carrying' * carries}-v0": (
            "PutNext",
            {"room_size": size, "objs_per_room": count, "start_carrying": carries},
        )
        for size, count in ((4, 1), (5, 1), (5, 2), (6, 3), (7, 4))
        for carries in ((False, True) if count > 1 else (False,))
    },
    "UnlockLocalDist-v0": ("UnlockLocal", {"distractors": True}),
    "UnlockPickupDist-v0": ("UnlockPickup", {"distractors": True}),
    "FindObjS5-v0": ("FindObjS5", {}),
    "FindObjS6-v0": ("FindObjS5", {"room_size": 6}),
    "FindObjS7-v0": ("FindObjS5", {"room_size": 7}),
    **{
        f"KeyCorridorS{size}R{rows}-v0": ("KeyCorridor", {"room_size": size, "num_rows": rows})
        for size, rows in ((3, 1), (3, 2), (3, 3), (4, 3), (5, 3), (6, 3))
    },
    **{f"OneRoomS{size}-v0": ("OneRoomS8", {"room_size": size}) for size in (8, 12, 16, 20)},
    "MoveTwoAcrossS5N2-v0": ("MoveTwoAcross", {"room_size": 5, "objs_per_room": 2}),
    "MoveTwoAcrossS8N9-v0": ("MoveTwoAcross", {"room_size": 8, "objs_per_room": 9}),
    "SynthS5R2-v0": ("Synth", {"room_size": 5, "num_rows": 2}),
}
# Classes that need arguments, so that no id has their name alone.
PARAMETRIC = {"OpenDoorsOrder", "PutNext", "MoveTwoAcross", "FindObjS5", "OneRoomS8"}
IDS = {
    **{f"BabyAI-{name}-v0": (name, {}) for name in LEVELS if name not in PARAMETRIC},
    **{f"BabyAI-{name}": variant for name, variant in VARIANTS.items()},
}


class Settings(NamedTuple):
    """What makes the levels of a batch.

    Attributes:
        rules: The name of their rules.
        room_size: Cells of a room with both of its walls.
        num_rows: Rows of rooms.
        num_cols: Columns of rooms.
        max_steps: The time limit; 0: the instruction of each level decides.
        numbers: The numbers of the rules, by name, in the order that compiled code wants.
    """

    rules: str
    room_size: int
    num_rows: int
    num_cols: int
    max_steps: int
    numbers: dict[str, float]


def _position(name: str, value: Any, known: Sequence[Any]) -> int:
    if value not in known:
        raise InvalidArgument(f"{name}: expected one of {list(known)}, got {value!r}")
    return list(known).index(value)


def _digits(name: str, values: Sequence[str], known: tuple[str, ...]) -> int:
    """Return positions + 1 in `known` as digits to the base 8, that of the first value last."""
    if not 0 < len(values) <= 6:
        raise InvalidArgument(f"{name}: expected one to six values, got {values!r}")
    return sum(8**k * (1 + _position(name, value, known)) for k, value in enumerate(values))


def _probability(name: str, value: Any) -> float:
    if not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InvalidArgument(f"{name}: expected a number from 0 to 1, got {value!r}")
    return float(value)


# How the values of arguments become numbers, in the order that compiled code wants.
_ENCODERS: dict[str, Callable[[Any], float]] = {
    "num_dists": lambda value: count("num_dists", value),
    "num_objs": lambda value: count("num_objs", value, 2),
    "objs_per_room": lambda value: count("objs_per_room", value, 1, 9),
    "num_doors": lambda value: count("num_doors", value, 2, 4),
    "first_color": lambda value: _position("first_color", value, (None, *COLORS)) - 1,
    "second_color": lambda value: _position("second_color", value, (None, *COLORS)) - 1,
    "obj_type": lambda value: list(KINDS.values())[_position("obj_type", value, list(KINDS))],
    "debug": bool,
    "strict": bool,
    "grey": bool,
    "blocked": bool,
    "doors_open": bool,
    "start_carrying": bool,
    "select_by": lambda value: _position("select_by", value, (None, "color", "loc")),
    "locked_room_prob": lambda value: _probability("locked_room_prob", value),
    "locations": bool,
    "unblocking": bool,
    "implicit_unlock": bool,
    "action_kinds": lambda value: _digits("action_kinds", value, VERBS),
    "instr_kinds": lambda value: _digits("instr_kinds", value, FORMS),
}


def settings_of(name: str, arguments: Mapping[str, Any]) -> Settings:
    """Return what makes the levels of a class.

    Args:
        name: The name of the class in minigrid.
        arguments: Arguments of its constructor that are about levels.

    Raises:
        ArgumentTypeError: If the class has no such argument, or it has another type.
        InvalidArgument: If a value is out of range.

    Example:
        >>> settings_of("GoToLocal", {"room_size": 6})[:5]
        ('GoTo', 6, 1, 1, 0)
    """
    level = LEVELS[name]
    values = SIZES | {"max_steps": None} | level.arguments
    for argument in arguments:
        if argument not in values or argument in level.fixed:
            raise ArgumentTypeError(f"{name} has no argument {argument!r}")
    values = values | level.fixed | dict(arguments)
    room_size = count("room_size", values.pop("room_size"), 4 if level.rules == "PutNext" else 3)
    rows, columns = (count(size, values.pop(size), 1) for size in ("num_rows", "num_cols"))
    max_steps = values.pop("max_steps")
    max_steps = (
        level.steps * room_size**2 if max_steps is None else count("max_steps", max_steps, 1)
    )
    if "distractors" in values:
        values["num_dists"] = level.extra if values.pop("distractors") else 0
    numbers = {
        key: float(encode(values[key])) for key, encode in _ENCODERS.items() if key in values
    }
    return Settings(level.rules, room_size, rows, columns, max_steps, numbers)
