"""The tables of docs/environments/minigrid.md describe the levels of this build."""

from __future__ import annotations

import re
from typing import Any

import pytest

import gymcore as gym
from gymcore.envs.minigrid import babyai_levels, levels
from gymcore.envs.minigrid.env import Actions, MiniGridEnv
from gymcore.envs.minigrid.levels import COLORS
from gymcore.envs.minigrid.world import TYPES
from tests.docs.test_environment_pages import FOLDER, in_words, rows, section

pytestmark = pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")

PAGE = (FOLDER / "minigrid.md").read_text()
GRID = rows(section(PAGE, "MiniGrid's levels"), "kind")
BABYAI = rows(section(PAGE, "BabyAI's levels"), "kind")
IDS = {f"MiniGrid-{name}": declared for name, declared in levels.IDS.items()}


def defaults(kind: str, babyai: bool) -> dict[str, Any]:
    """Return the arguments of a kind of levels."""
    return (babyai_levels if babyai else levels).LEVELS[kind].arguments


def test_every_kind_has_a_row() -> None:
    assert [row[0] for row in GRID] == list(levels.LEVELS)
    assert [row[0] for row in BABYAI] == list(babyai_levels.LEVELS)


@pytest.mark.parametrize("row", [*GRID, *BABYAI], ids=lambda row: row[0])
def test_ids_arguments_limits_and_missions(row: list[str]) -> None:
    babyai = row in BABYAI
    kind, names, arguments, limit, mission = row
    prefix, known = ("BabyAI-", babyai_levels.IDS) if babyai else ("MiniGrid-", IDS)
    ids = [prefix + name for name in re.findall(r"`(\S+)`", names)]
    assert sorted(ids) == sorted([env_id for env_id, (each, _) in known.items() if each == kind])
    declared = defaults(kind, babyai)
    assert eval(f"dict({arguments.replace('`', '')})") == declared
    for env_id in ids:
        env: Any = gym.make(env_id).unwrapped
        told = env.reset(seed=0)[0]["mission"]
        if env_id == ids[0]:
            assert told == mission
        values = {**declared, **known[env_id][1]}
        if limit:
            expected = eval(limit.strip("`"), values)
        else:
            rooms = env._shape.rooms
            tasks = len(re.findall("go to|pick up|open|put", told)) + told.count("put")
            expected = tasks * rooms[0] ** 2 * rooms[1] * rooms[2]
        assert env.steps_remaining == expected, env_id


def test_the_numbers_of_ids() -> None:
    numbers = f"MiniGrid's {len(IDS)} ids, BabyAI's {len(babyai_levels.IDS)}"
    assert numbers in (FOLDER.parents[1] / "README.md").read_text()


def test_common_arguments() -> None:
    written = {
        row[0].strip("`"): (eval(row[1]), row[2])
        for row in rows(section(PAGE, "Arguments"), "argument", "default", "per lane")
    }
    expected = dict(MiniGridEnv.__init__.__kwdefaults__ or {})
    lanes = MiniGridEnv.parameters
    assert written == {name: (expected[name], "x" * (name in lanes)) for name in expected}


def test_actions_and_numbers_of_cells() -> None:
    assert [(int(row[0]), row[1]) for row in rows(section(PAGE, "Action"), "action", "name")] == [
        (action.value, action.name) for action in Actions
    ]
    numbers = {row[0]: row[1] for row in rows(section(PAGE, "Observation"), "", "numbers")}
    assert numbers["type"] == ", ".join(f"{i} {name}" for i, name in enumerate(TYPES))
    assert numbers["color"] == ", ".join(f"{i} {name}" for i, name in enumerate(COLORS))


@pytest.mark.parametrize("row", rows(section(PAGE, "Observation"), "argument", "observation"))
def test_observations(row: list[str]) -> None:
    """The first argument in a row makes the observation that begins the row."""
    written = re.match(r"(?:`image` )?(u?int\d+ \[.*?\])", row[1])
    if written is None:
        return
    argument = row[0].split("`")[1]
    env: Any = gym.make("MiniGrid-RedBlueDoors-6x6-v0", **eval(f"dict({argument})"))
    space = env.observation_space
    shape = written[1]
    for name in ("width", "height"):
        shape = shape.replace(name, str(getattr(env.unwrapped, name)))
    shape = re.sub(r"8 \* (\d+)", lambda product: str(8 * int(product[1])), shape)
    assert in_words(space["image"] if isinstance(space, gym.spaces.Dict) else space) == shape
