"""BabyAI's levels: grids of rooms with an instruction, by the classes of minigrid 3.2."""

from __future__ import annotations

from typing import Any

from gymcore.envs.minigrid.levels import CORRIDORS, FORMS, VERBS, Ids, Level, ids, of_rooms

ONE_ROOM = {"num_rows": 1, "num_cols": 1}
TWO_ROOMS = {"num_rows": 1, "num_cols": 2}
ONE_TASK = {"instr_kinds": ("action",)}
LANGUAGE: dict[str, Any] = {
    "num_dists": 18,
    "locked_room_prob": 0.5,
    "locations": True,
    "unblocking": True,
    "implicit_unlock": True,
    "action_kinds": VERBS,
    "instr_kinds": FORMS,
}


def of_language(**fixed: Any) -> Level:
    """Return a level whose instruction is any of a part of the language."""
    free = {name: value for name, value in LANGUAGE.items() if name not in fixed}
    return of_rooms("LevelGen", fixed, **free)


LEVELS = {
    "GoToRedBallGrey": of_rooms("GoToRedBall", {**ONE_ROOM, "grey": True}, num_dists=7),
    "GoToRedBall": of_rooms("GoToRedBall", {**ONE_ROOM, "grey": False}, num_dists=7),
    "GoToRedBallNoDists": of_rooms(
        "GoToRedBall", {**ONE_ROOM, "room_size": 8, "num_dists": 0, "grey": False}
    ),
    "GoToObj": of_rooms("GoTo", {**ONE_ROOM, "num_dists": 1, "doors_open": False}),
    "GoToLocal": of_rooms("GoTo", {**ONE_ROOM, "doors_open": False}, num_dists=8),
    "GoTo": of_rooms("GoTo", num_dists=18, doors_open=False),
    "GoToImpUnlock": of_rooms("GoToImpUnlock"),
    "GoToSeq": of_language(
        action_kinds=("goto",), locked_room_prob=0, locations=False, unblocking=False
    ),
    "GoToRedBlueBall": of_rooms("GoToRedBlueBall", ONE_ROOM, num_dists=7),
    "GoToDoor": of_rooms("GoToDoor", {"room_size": 7}),
    "GoToObjDoor": of_rooms("GoToObjDoor", {"room_size": 8}),
    "Open": of_rooms("Open"),
    "OpenRedDoor": of_rooms("OpenRedDoor", {**TWO_ROOMS, "room_size": 5}),
    "OpenDoor": of_rooms("OpenDoor", debug=False, select_by=None),
    "OpenTwoDoors": of_rooms(
        "OpenTwoDoors",
        {"room_size": 6},
        steps=20,
        first_color=None,
        second_color=None,
        strict=False,
    ),
    "OpenDoorsOrder": of_rooms(
        "OpenDoorsOrder", {"room_size": 6}, steps=20, num_doors=2, debug=False
    ),
    "Pickup": of_rooms("Pickup"),
    "UnblockPickup": of_rooms("UnblockPickup"),
    "PickupLoc": of_language(
        **ONE_ROOM,
        **ONE_TASK,
        action_kinds=("pickup",),
        num_dists=8,
        locked_room_prob=0,
        locations=True,
        unblocking=False,
    ),
    "PickupDist": of_rooms("PickupDist", {**ONE_ROOM, "room_size": 7}, debug=False),
    "PickupAbove": of_rooms("PickupAbove", {"room_size": 6}, steps=8),
    "PutNextLocal": of_rooms("PutNextLocal", ONE_ROOM, num_objs=8),
    "PutNext": of_rooms("PutNext", TWO_ROOMS, steps=8, objs_per_room=1, start_carrying=False),
    "Unlock": of_rooms("Unlock"),
    "UnlockLocal": of_rooms("UnlockLocal", extra=3, distractors=False),
    "KeyInBox": of_rooms("KeyInBox"),
    "UnlockPickup": of_rooms(
        "UnlockPickup", {**TWO_ROOMS, "room_size": 6, "blocked": False}, extra=4, distractors=False
    ),
    "BlockedUnlockPickup": of_rooms(
        "UnlockPickup", {**TWO_ROOMS, "room_size": 6, "blocked": True, "num_dists": 0}, steps=16
    ),
    "UnlockToUnlock": of_rooms(
        "UnlockToUnlock", {"num_rows": 1, "num_cols": 3, "room_size": 6}, steps=30
    ),
    "ActionObjDoor": of_rooms("ActionObjDoor", {"room_size": 7}),
    "FindObjS5": of_rooms("FindObj", steps=20, room_size=5),
    "KeyCorridor": of_rooms("KeyCorridor", steps=30, room_size=6, obj_type="ball"),
    "OneRoomS8": of_rooms("OneRoom", ONE_ROOM),
    "MoveTwoAcross": of_rooms("MoveTwoAcross", TWO_ROOMS, steps=16, objs_per_room=2),
    "Synth": of_language(**ONE_TASK, locations=False, unblocking=True, implicit_unlock=False),
    "SynthLoc": of_language(**ONE_TASK, locations=True, unblocking=True, implicit_unlock=False),
    "SynthSeq": of_language(locations=True, unblocking=True, implicit_unlock=False),
    "MiniBossLevel": of_language(
        num_cols=2, num_rows=2, room_size=5, num_dists=7, locked_room_prob=0.25
    ),
    "BossLevel": of_language(),
    "BossLevelNoUnlock": of_language(locked_room_prob=0, implicit_unlock=False),
}

# Classes that need arguments, so that no id has their name alone.
_PARAMETRIC = {"OpenDoorsOrder", "PutNext", "MoveTwoAcross", "FindObjS5", "OneRoomS8"}
_LOCAL = ((5, 2), (6, 2), (6, 3), (6, 4), (7, 4), (7, 5), *((8, n) for n in range(2, 8)))
_SMALL = {"room_size": 5, "num_rows": 2, "num_cols": 2}
_NEXT, _SIZED = ("PutNext", "room_size objs_per_room"), "room_size num_dists"
_ORDER = ("OpenDoorsOrder", "num_doors")
_VARIANTS: Ids = {
    "GoToObjS4-v0": ("GoToObj", {"room_size": 4}),
    "GoToObjS6-v1": ("GoToObj", {"room_size": 6}),
    **ids("GoToLocalS{0}N{1}-v0", "GoToLocal", _SIZED, *_LOCAL),
    "GoToOpen-v0": ("GoTo", {"doors_open": True}),
    "GoToObjMaze-v0": ("GoTo", {"num_dists": 1}),
    "GoToObjMazeOpen-v0": ("GoTo", {"num_dists": 1, "doors_open": True}),
    "GoToObjMazeS4R2-v0": ("GoTo", {**_SMALL, "room_size": 4, "num_dists": 1}),
    **ids("GoToObjMazeS{0}-v0", "GoTo", _SIZED, (4, 1), (5, 1), (6, 1), (7, 1)),
    "GoToSeqS5R2-v0": ("GoToSeq", {**_SMALL, "num_dists": 4}),
    "OpenDoorDebug-v0": ("OpenDoor", {"debug": True}),
    "OpenDoorColor-v0": ("OpenDoor", {"select_by": "color"}),
    "OpenDoorLoc-v0": ("OpenDoor", {"select_by": "loc"}),
    **ids("OpenRedBlueDoors-v0", "OpenTwoDoors", "first_color second_color", ("red", "blue")),
    **ids(
        "OpenRedBlueDoorsDebug-v0",
        "OpenTwoDoors",
        "first_color second_color",
        ("red", "blue"),
        strict=True,
    ),
    **ids("OpenDoorsOrderN{0}-v0", *_ORDER, (2,), (4,), debug=False),
    **ids("OpenDoorsOrderN{0}Debug-v0", *_ORDER, (2,), (4,), debug=True),
    "PickupDistDebug-v0": ("PickupDist", {"debug": True}),
    **ids("PutNextLocalS{0}N{1}-v0", "PutNextLocal", "room_size num_objs", (5, 3), (6, 4)),
    **ids("PutNextS{0}N{1}-v0", *_NEXT, (4, 1), (5, 1), (5, 2), (6, 3), (7, 4)),
    **ids("PutNextS{0}N{1}Carrying-v0", *_NEXT, (5, 2), (6, 3), (7, 4), start_carrying=True),
    "UnlockLocalDist-v0": ("UnlockLocal", {"distractors": True}),
    "UnlockPickupDist-v0": ("UnlockPickup", {"distractors": True}),
    **ids("FindObjS{0}-v0", "FindObjS5", "room_size", (5,), (6,), (7,)),
    **ids("KeyCorridorS{0}R{1}-v0", "KeyCorridor", "room_size num_rows", *CORRIDORS),
    **ids("OneRoomS{0}-v0", "OneRoomS8", "room_size", (8,), (12,), (16,), (20,)),
    **ids("MoveTwoAcrossS{0}N{1}-v0", "MoveTwoAcross", _NEXT[1], (5, 2), (8, 9)),
    "SynthS5R2-v0": ("Synth", {"room_size": 5, "num_rows": 2}),
}
IDS: Ids = {
    **{f"BabyAI-{name}-v0": (name, {}) for name in LEVELS if name not in _PARAMETRIC},
    **{f"BabyAI-{name}": variant for name, variant in _VARIANTS.items()},
}
