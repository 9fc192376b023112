"""BabyAI's levels have the arguments, sizes and numbers of minigrid's classes."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import pytest

import gymcore
from gymcore.envs.minigrid.babyai_levels import IDS, LEVELS
from gymcore.envs.minigrid.levels import COLORS, SIZES, VERBS, Shape
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore_ext.minigrid.babyai import RULES
from gymcore_ext.minigrid.grid_lane import GridSpec

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("minigrid")
    from minigrid.envs import babyai

# Arguments that a few classes require.
NEEDED: dict[str, dict[str, Any]] = {
    "OpenDoorsOrder": {"num_doors": 2},
    "PutNext": {"room_size": 5, "objs_per_room": 1},
    "MoveTwoAcross": {"room_size": 5, "objs_per_room": 2},
}
EXAMPLES: dict[str, Any] = {
    "num_dists": 3,
    "num_objs": 3,
    "doors_open": True,
    "debug": True,
    "strict": True,
    "select_by": "loc",
    "first_color": "grey",
    "second_color": "red",
    "distractors": True,
    "start_carrying": True,
    "obj_type": "box",
    "locked_room_prob": 0.3,
    "locations": False,
    "unblocking": False,
    "implicit_unlock": False,
    "action_kinds": ("open", "goto"),
    "instr_kinds": ("seq",),
    "room_size": 6,
    "num_rows": 2,
    "num_cols": 3,
}


def same_number(name: str, number: float, value: Any) -> bool:
    """Return whether a number represents the value of minigrid's attribute."""
    if name in ("first_color", "second_color"):
        return number == (None, *COLORS).index(value)
    if name == "select_by":
        return number == (None, "color", "loc").index(value)
    if name == "obj_type":
        return number == ("key", "ball", "box").index(value) + 1
    if name in ("action_kinds", "instr_kinds"):
        known = VERBS if name == "action_kinds" else ("action", "and", "seq")
        digits = oct(int(number))[:1:-1]
        return [known[int(digit) - 1] for digit in digits] == list(value)
    return number == value


def described(name: str, arguments: dict[str, Any]) -> Shape:
    return LEVELS[name].shape(name, arguments)


def compare(name: str, arguments: dict[str, Any], theirs: Any) -> None:
    shape = described(name, arguments)
    assert shape[:2] == (theirs.width, theirs.height)
    assert shape.rooms == (theirs.room_size, theirs.num_cols, theirs.num_rows)
    level = GridSpec(RULES[LEVELS[name].rules], theirs.width, theirs.height, shape.rooms)
    assert set(level.arguments) == set(shape.numbers)
    assert shape.max_steps == (theirs.max_steps if theirs.fixed_max_steps else 0)
    for key, (number,) in shape.numbers.items():
        if hasattr(theirs, key):
            assert same_number(key, number, getattr(theirs, key)), key


def test_ids() -> None:
    theirs = {id for id in gymnasium.registry if id.startswith("BabyAI-")}
    assert len(theirs) == 96
    assert set(IDS) == theirs


@pytest.mark.parametrize("id", IDS)
def test_levels_of_ids(id: str) -> None:
    name, arguments = IDS[id]
    theirs = gymnasium.make(id, disable_env_checker=True).unwrapped
    assert type(theirs) is getattr(babyai, name)
    compare(name, arguments, theirs)


@pytest.mark.parametrize(
    "name, argument", [(name, argument) for name in LEVELS for argument in EXAMPLES]
)
def test_arguments_of_classes(name: str, argument: str) -> None:
    arguments = NEEDED.get(name, {}) | {argument: EXAMPLES[argument]}
    try:
        theirs = getattr(babyai, name)(**arguments)
    except TypeError:
        with pytest.raises(ArgumentTypeError, match=argument):
            described(name, arguments)
    else:
        compare(name, arguments, theirs)


def test_sizes_are_arguments_of_most() -> None:
    assert described("Open", {"room_size": 5, "num_rows": 1, "num_cols": 2}).rooms == (5, 2, 1)
    assert described("Open", {}).rooms == tuple(SIZES.values())


def test_numbers() -> None:
    assert described("BossLevel", {"action_kinds": ["open", "goto"]}).numbers == {
        "num_dists": (18.0,),
        "locked_room_prob": (0.5,),
        "locations": (1.0,),
        "unblocking": (1.0,),
        "implicit_unlock": (1.0,),
        "action_kinds": (3.0 + 8 * 1,),
        "instr_kinds": (1.0 + 8 * 2 + 64 * 3,),
    }
    assert described("UnlockLocal", {"distractors": True}).numbers == {"distractors": (1.0,)}
    assert described("UnlockPickup", {"distractors": True}).numbers == {
        "distractors": (1.0,),
        "blocked": (0.0,),
    }
    assert described("KeyCorridor", {"obj_type": None}).numbers == {"obj_type": (0.0,)}


@pytest.mark.parametrize(
    "name, arguments, error, message",
    [
        ("GoToLocal", {"num_dists": -1}, InvalidArgument, "num_dists: expected at least 0, got -1"),
        ("GoToLocal", {"num_dists": 2.5}, ArgumentTypeError, "num_dists: expected an integer"),
        ("PutNext", {"room_size": 3}, InvalidArgument, "room_size: expected at least 4, got 3"),
        ("PutNext", {"objs_per_room": 10}, InvalidArgument, "expected at most 9, got 10"),
        ("OpenDoorsOrder", {"num_doors": 5}, InvalidArgument, "expected at most 4, got 5"),
        ("OpenTwoDoors", {"first_color": "pink"}, InvalidArgument, "first_color: expected one of"),
        ("BossLevel", {"action_kinds": ["jump"]}, InvalidArgument, "action_kinds: expected one of"),
        ("BossLevel", {"action_kinds": []}, InvalidArgument, "expected one to six values"),
        ("BossLevel", {"locked_room_prob": 1.5}, InvalidArgument, "expected a number from 0 to 1"),
    ],
)
def test_bad_arguments(
    name: str, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        described(name, arguments)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1741, 3586, 8335])
def test_a_level_without_room_for_the_agent_is_drawn_again(seed: int) -> None:
    """Where minigrid tries forever."""
    env, envs = gymcore.make("BabyAI-SynthS5R2-v0"), gymcore.make_vec("BabyAI-SynthS5R2-v0", 2)
    ours, lanes = env.reset(seed=seed)[0], envs.reset(seed=[0, seed])[0]
    assert ours["mission"] == lanes["mission"][1] != ""
    assert (ours["image"] == lanes["image"][1]).all() and ours["image"].any()
