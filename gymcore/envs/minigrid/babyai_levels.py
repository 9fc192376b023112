"""BabyAI's levels: grids of rooms with an instruction, by the classes of minigrid 3.2."""

from __future__ import annotations

from gymcore.envs.minigrid.levels import CORRIDORS, FORMS, VERBS, Ids, Level, ids, of_rooms

_ROOM = {"num_rows": 1, "num_cols": 1}
_TWO_ROOMS = {"num_rows": 1, "num_cols": 2}
_BEHIND_A_DOOR = {**_TWO_ROOMS, "room_size": 6}
_ONE_TASK = {"instr_kinds": ("action",)}
_SYNTH = {"locations": False, "unblocking": True, "implicit_unlock": False}
_LANGUAGE: dict[str, object] = {
    "num_dists": 18,
    "locked_room_prob": 0.5,
    "locations": True,
    "unblocking": True,
    "implicit_unlock": True,
    "action_kinds": VERBS,
    "instr_kinds": FORMS,
}


def of_language(**fixed: object) -> Level:
    """Return a level whose instructions are drawn from the language, restricted by `fixed`."""
    free = {name: value for name, value in _LANGUAGE.items() if name not in fixed}
    return of_rooms("LevelGen", fixed, 0, **free)


_GO = {"locked_room_prob": 0, "locations": False, "unblocking": False}
_PICK_UP_LOCATED = {**_ROOM, **_ONE_TASK, **_GO, "locations": True, "num_dists": 8}
_COLORS = {"first_color": None, "second_color": None}
_MINI_BOSS = {"num_cols": 2, "num_rows": 2, "room_size": 5, "num_dists": 7}
LEVELS = {
    "GoToRedBallGrey": of_rooms("GoToRedBall", {**_ROOM, "grey": True}, num_dists=7),
    "GoToRedBall": of_rooms("GoToRedBall", {**_ROOM, "grey": False}, num_dists=7),
    "GoToRedBallNoDists": of_rooms(
        "GoToRedBall", {**_ROOM, "room_size": 8, "num_dists": 0, "grey": False}
    ),
    "GoToObj": of_rooms("GoTo", {**_ROOM, "num_dists": 1, "doors_open": False}),
    "GoToLocal": of_rooms("GoTo", {**_ROOM, "doors_open": False}, num_dists=8),
    "GoTo": of_rooms("GoTo", num_dists=18, doors_open=False),
    "GoToImpUnlock": of_rooms("GoToImpUnlock"),
    "GoToSeq": of_language(**_GO, action_kinds=("goto",)),
    "GoToRedBlueBall": of_rooms("GoToRedBlueBall", _ROOM, num_dists=7),
    "GoToDoor": of_rooms("GoToDoor", {"room_size": 7}),
    "GoToObjDoor": of_rooms("GoToObjDoor", {"room_size": 8}),
    "Open": of_rooms("Open"),
    "OpenRedDoor": of_rooms("OpenRedDoor", {**_TWO_ROOMS, "room_size": 5}),
    "OpenDoor": of_rooms("OpenDoor", debug=False, select_by=None),
    "OpenTwoDoors": of_rooms("OpenTwoDoors", {"room_size": 6}, 20, **_COLORS, strict=False),
    "OpenDoorsOrder": of_rooms("OpenDoorsOrder", {"room_size": 6}, 20, num_doors=2, debug=False),
    "Pickup": of_rooms("Pickup"),
    "UnblockPickup": of_rooms("UnblockPickup"),
    "PickupLoc": of_language(**_PICK_UP_LOCATED, action_kinds=("pickup",)),
    "PickupDist": of_rooms("PickupDist", {**_ROOM, "room_size": 7}, debug=False),
    "PickupAbove": of_rooms("PickupAbove", {"room_size": 6}, 8),
    "PutNextLocal": of_rooms("PutNextLocal", _ROOM, num_objs=8),
    "PutNext": of_rooms("PutNext", _TWO_ROOMS, 8, objs_per_room=1, start_carrying=False),
    "Unlock": of_rooms("Unlock"),
    "UnlockLocal": of_rooms("UnlockLocal", distractors=False),
    "KeyInBox": of_rooms("KeyInBox"),
    "UnlockPickup": of_rooms(
        "UnlockPickup", {**_BEHIND_A_DOOR, "blocked": False}, distractors=False
    ),
    "BlockedUnlockPickup": of_rooms(
        "UnlockPickup", {**_BEHIND_A_DOOR, "blocked": True, "distractors": False}, 16
    ),
    "UnlockToUnlock": of_rooms("UnlockToUnlock", {**_BEHIND_A_DOOR, "num_cols": 3}, 30),
    "ActionObjDoor": of_rooms("ActionObjDoor", {"room_size": 7}),
    "FindObjS5": of_rooms("FindObj", steps=20, room_size=5),
    "KeyCorridor": of_rooms("KeyCorridor", steps=30, room_size=6, obj_type="ball"),
    "OneRoomS8": of_rooms("OneRoom", _ROOM),
    "MoveTwoAcross": of_rooms("MoveTwoAcross", _TWO_ROOMS, 16, objs_per_room=2),
    "Synth": of_language(**_ONE_TASK, **_SYNTH),
    "SynthLoc": of_language(**_ONE_TASK, **_SYNTH | {"locations": True}),
    "SynthSeq": of_language(**_SYNTH | {"locations": True}),
    "MiniBossLevel": of_language(**_MINI_BOSS, locked_room_prob=0.25),
    "BossLevel": of_language(),
    "BossLevelNoUnlock": of_language(locked_room_prob=0, implicit_unlock=False),
}

# Classes without an id of their own name, as minigrid's need arguments.
_PARAMETRIC = {"OpenDoorsOrder", "PutNext", "MoveTwoAcross", "FindObjS5", "OneRoomS8"}
_LOCAL = ((5, 2), (6, 2), (6, 3), (6, 4), (7, 4), (7, 5), *((8, n) for n in range(2, 8)))
_SMALL = {"room_size": 5, "num_rows": 2, "num_cols": 2}
_RED_BLUE = {"first_color": "red", "second_color": "blue"}
_PUT_NEXT = "PutNextS{room_size}N{objs_per_room}"
_VARIANTS: Ids = {
    **ids("GoToObjS4-v0", "GoToObj", room_size=4),
    **ids("GoToObjS6-v1", "GoToObj", room_size=6),
    **ids("GoToLocalS{room_size}N{num_dists}-v0", "GoToLocal", *_LOCAL),
    **ids("GoToOpen-v0", "GoTo", doors_open=True),
    **ids("GoToObjMaze-v0", "GoTo", num_dists=1),
    **ids("GoToObjMazeOpen-v0", "GoTo", num_dists=1, doors_open=True),
    **ids("GoToObjMazeS4R2-v0", "GoTo", **_SMALL | {"room_size": 4, "num_dists": 1}),
    **ids("GoToObjMazeS{room_size}-v0", "GoTo", 4, 5, 6, 7, num_dists=1),
    **ids("GoToSeqS5R2-v0", "GoToSeq", **_SMALL, num_dists=4),
    **ids("OpenDoorDebug-v0", "OpenDoor", debug=True),
    **ids("OpenDoorColor-v0", "OpenDoor", select_by="color"),
    **ids("OpenDoorLoc-v0", "OpenDoor", select_by="loc"),
    **ids("OpenRedBlueDoors-v0", "OpenTwoDoors", **_RED_BLUE),
    **ids("OpenRedBlueDoorsDebug-v0", "OpenTwoDoors", **_RED_BLUE, strict=True),
    **ids("OpenDoorsOrderN{num_doors}-v0", "OpenDoorsOrder", 2, 4, debug=False),
    **ids("OpenDoorsOrderN{num_doors}Debug-v0", "OpenDoorsOrder", 2, 4, debug=True),
    **ids("PickupDistDebug-v0", "PickupDist", debug=True),
    **ids("PutNextLocalS{room_size}N{num_objs}-v0", "PutNextLocal", (5, 3), (6, 4)),
    **ids(f"{_PUT_NEXT}-v0", "PutNext", (4, 1), (5, 1), (5, 2), (6, 3), (7, 4)),
    **ids(f"{_PUT_NEXT}Carrying-v0", "PutNext", (5, 2), (6, 3), (7, 4), start_carrying=True),
    **ids("UnlockLocalDist-v0", "UnlockLocal", distractors=True),
    **ids("UnlockPickupDist-v0", "UnlockPickup", distractors=True),
    **ids("FindObjS{room_size}-v0", "FindObjS5", 5, 6, 7),
    **ids("KeyCorridorS{room_size}R{num_rows}-v0", "KeyCorridor", *CORRIDORS),
    **ids("OneRoomS{room_size}-v0", "OneRoomS8", 8, 12, 16, 20),
    **ids("MoveTwoAcrossS{room_size}N{objs_per_room}-v0", "MoveTwoAcross", (5, 2), (8, 9)),
    **ids("SynthS5R2-v0", "Synth", room_size=5, num_rows=2),
}
IDS: Ids = {
    **{f"BabyAI-{name}-v0": (name, {}) for name in LEVELS if name not in _PARAMETRIC},
    **{f"BabyAI-{name}": variant for name, variant in _VARIANTS.items()},
}
