"""The tables of docs/environments describe the environments of this build.

Every page of an environment has a picture, a table of its ids, and tables of its observations,
actions and arguments. Each row is compared with the registry, the spaces and the constructor.
"""

from __future__ import annotations

import importlib.util
import inspect
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gymcore as gym

FOLDER = Path(__file__).parents[2] / "docs" / "environments"
PAGES = sorted(FOLDER.glob("*/*.md"))
FAMILIES = sorted({FOLDER / f"{page.parent.name}.md" for page in PAGES})
FAMILY = r"gymcore\.envs\.(classic_control|toy_text|box2d|mujoco\.\w+_v5)\b"
NEEDS = {"box2d": "Box2D", "mujoco": "mujoco"}
# Arguments of every environment, and one of MuJoCo's, described on other pages.
COMMON = {"self", "render_mode", "default_camera_config", "kwargs"}

pytestmark = pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")


def name(page: Path) -> str:
    return page.relative_to(FOLDER).as_posix()


def tables(text: str) -> list[list[list[str]]]:
    """Return the cells of every table of a page, with the head as the first row."""
    found = re.findall(r"^\|.*\n\|[-:| ]+\n(?:\|.*\n)*", text, flags=re.M)
    return [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
        for table in found
    ]


def rows(text: str, *head: str) -> list[list[str]]:
    """Return the rows of all tables whose heads begin with these words."""
    return [
        row for table in tables(text) if table[0][: len(head)] == list(head) for row in table[2:]
    ]


def section(text: str, title: str) -> str:
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0] if f"\n## {title}\n" in text else ""


def number(value: float) -> str:
    return f"{value + 0.0:.5g}"  # 0 for -0.0


def in_words(space: gym.Space[Any], *, bounds: bool = False) -> str:
    if not isinstance(space, gym.spaces.Box):
        return str(space)
    text = f"{space.dtype} {list(space.shape)}"
    low, high = set(space.low.flat), set(space.high.flat)
    if bounds and len(low) == len(high) == 1:
        text += f" in [{number(low.pop())}, {number(high.pop())}]"
    return text


def value(text: str) -> Any:
    return eval(text, {"inf": math.inf})


def installed(page: Path) -> bool:
    """Return whether the requirements of a page's family are installed."""
    family = page.parent.name if page.parent != FOLDER else page.stem
    return importlib.util.find_spec(NEEDS.get(family, "numpy")) is not None


def ids(text: str) -> list[str]:
    return [re.sub(r"\[(.*)\]\(.*\)", r"\1", row[0]) for row in rows(text, "id", "observation")]


@pytest.mark.parametrize("page", [*PAGES, *FAMILIES], ids=name)
def test_ids(page):
    """Spaces, time limits and thresholds are those of the registered environments."""
    if not installed(page):
        return
    text = page.read_text()
    found = rows(text, "id", "observation", "action", "max steps", "solved at")
    assert found
    for env_id, (_, observation, action, steps, solved) in zip(ids(text), found, strict=True):
        with gym.make(env_id) as env:
            assert observation == in_words(env.observation_space), env_id
            assert action == in_words(env.action_space, bounds=True), env_id
            assert steps == str(env.spec.max_episode_steps or ""), env_id
            threshold = env.spec.reward_threshold
            assert solved == ("" if threshold is None else number(threshold)), env_id


def indices(found: list[list[str]]) -> list[int]:
    """Return the indices in the first column: `3` is one number, `27 to 104` is a range."""
    counted: list[int] = []
    for row in found:
        lo, _, hi = row[0].partition(" to ")
        counted += range(int(lo), int(hi or lo) + 1)
    return counted


def check_bounds(space: gym.spaces.Box, found: list[list[str]]) -> None:
    for row, low, high in zip(found, space.low, space.high, strict=True):
        assert (row[2], row[3]) == (number(low), number(high)), row


def check_space(text: str, title: str, spaces: list[gym.Space[Any]]) -> None:
    part = section(text, title)
    assert part
    for space in spaces:
        if isinstance(space, gym.spaces.Discrete) and title == "Action":
            assert [row[0] for row in rows(part, "action")] == list(map(str, range(space.n)))
        elif isinstance(space, gym.spaces.Tuple):
            assert len(rows(part, "index")) == len(space.spaces)
        elif isinstance(space, gym.spaces.Box) and len(space.shape) == 1:
            found = rows(part, "index")
            assert indices(found) == list(range(space.shape[0])), title
            if rows(part, "index", "what", "lowest") or rows(part, "index", "motor of"):
                check_bounds(space, found)
            else:
                assert np.isinf(space.low).all() and np.isinf(space.high).all(), title


def defaults(env: gym.Env[Any, Any]) -> dict[str, Any]:
    """Return the arguments of an environment, and their defaults under its id."""
    signature = inspect.signature(type(env.unwrapped).__init__).parameters.values()
    registered = gym.spec(env.spec.id).kwargs
    return {
        each.name: registered.get(each.name, each.default)
        for each in signature
        if each.name not in COMMON
    }


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_observations_actions_and_arguments(page):
    """Tables have exactly one row per number, with the actual bounds and defaults."""
    if not installed(page):
        return
    text = page.read_text()
    assert (page.parent / re.findall(r"!\[.+\]\((.+)\)", text)[0]).exists()
    assert all(section(text, title) for title in ("Reward", "End", "Start", "Versions"))
    envs = [gym.make(env_id) for env_id in ids(text)]
    env = envs[0].unwrapped
    check_space(text, "Observation", [env.observation_space])
    check_space(text, "Action", [each.action_space for each in envs])

    expected = defaults(envs[0])
    arguments = rows(section(text, "Arguments"), "argument", "default", "per lane")
    assert {row[0].strip("`"): value(row[1]) for row in arguments} == expected
    parameters = getattr(type(env), "parameters", {}).keys()
    assert [row[2] == "x" for row in arguments] == [each in parameters for each in expected]

    others = rows(section(text, "Parameters"), "parameter", "default")
    written = {row[0].strip("`"): value(row[1]) for row in others}
    assert written.keys() == parameters - expected.keys()
    for parameter, default in written.items():
        assert np.all(getattr(env, parameter) == np.array(default)), parameter
    for each in envs:
        each.close()


def test_every_environment_has_a_page():
    registered = {
        spec.id
        for spec in gym.registry.values()
        if spec.namespace is None  # other tests may have registered ids
        and isinstance(spec.entry_point, str)
        and re.match(FAMILY, spec.entry_point)
    }
    texts = "".join(page.read_text() for page in PAGES)
    assert {env_id for env_id in registered if not re.search(rf"\b{env_id}\b", texts)} == set()
    written = {env_id for page in PAGES for env_id in ids(page.read_text())}
    assert written == {env_id for page in FAMILIES for env_id in ids(page.read_text())}
