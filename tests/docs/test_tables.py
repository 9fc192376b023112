"""Tables of README.md and docs/ about engines, options and dtypes agree with the code."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import gymcore as gym
from gymcore.envs.atari.games import GAMES
from gymcore.native.vector_env import NativeVectorEnv
from tests.docs.test_environment_pages import rows
from tests.test_same_api import ABSENT, NO_MODULES

ROOT = Path(__file__).parents[2]
VECTOR = (ROOT / "docs" / "vector.md").read_text()
ENGINES = {
    "native": NativeVectorEnv,
    "sync": gym.vector.SyncVectorEnv,
    "async": gym.vector.AsyncVectorEnv,
}
# Every engine accepts these, and ignores any that do not apply.
SHARED = {"num_threads", "num_workers", "on_worker_death"}
NOT_OPTIONS = {"self", "env_fns", "num_envs", "max_episode_steps", "render_mode", "parameters"}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_options_of_an_engine(engine):
    column = [*ENGINES].index(engine) + 2
    table = rows(VECTOR, "option", "default", "native", "sync", "async")
    taken = {
        name
        for row in table
        for name in re.findall(r"`(\w+)`", row[0].split(":")[0])
        if row[column] == "x"
    }
    signature = inspect.signature(ENGINES[engine].__init__).parameters
    assert taken | SHARED == signature.keys() - NOT_OPTIONS
    for row in table:
        name = re.findall(r"`(\w+)`", row[0])[0]
        if name in taken and row[1] in ("`True`", "`False`", '`"same"`', '`"raise"`'):
            assert signature[name].default == eval(row[1].strip("`")), name


@pytest.mark.parametrize(
    ("env_id", "text"),
    [
        ("CartPole-v1", "float32 [N, 4] for CartPole"),
        ("Taxi-v4", "int64 [N] for Taxi"),
        ("HalfCheetah-v5", "float64 [N, 17] for HalfCheetah"),
    ],
)
def test_the_dtypes_of_results(env_id, text):
    if env_id.startswith("HalfCheetah"):
        pytest.importorskip("mujoco", reason="mujoco is not installed")
    with gym.make_vec(env_id, num_envs=3) as envs:
        observations, _ = envs.reset(seed=1)
        results = envs.step(envs.action_space.sample())
    shape = ", ".join(["N", *map(str, observations.shape[1:])])
    assert f"{observations.dtype} [{shape}] for {env_id.partition('-')[0]}" == text
    assert text in VECTOR
    assert [each.dtype.name for each in results[1:4]] == ["float64", "bool", "bool"]


def specs_of(family: str) -> list[Any]:
    module = f"gymcore.envs.{family}."
    return [
        spec
        for spec in gym.registry.values()
        if spec.namespace is None  # other tests may have registered ids
        and isinstance(spec.entry_point, str)
        and spec.entry_point.startswith(module)
        and "retired" not in spec.entry_point
    ]


@pytest.mark.parametrize("family", ["classic_control", "toy_text", "box2d", "mujoco"])
def test_the_families_of_the_readme(family):
    """All names are registered, and families said to run in the engine are compiled."""
    text = (ROOT / "README.md").read_text()
    table = [row for row in rows(text, "family", "environments") if f"/{family}.md" in row[0]]
    compiled = ", ".join(row[1] for row in table if row[3].startswith("the engine"))
    others = ", ".join(row[1] for row in table if not row[3].startswith("the engine"))
    for spec in specs_of(family):
        name = re.sub(r"(Continuous|8x8|Slippery)?-v\d$", "", spec.id).removeprefix("BipedalWalker")
        name = {"InvertedPendulum": "both", "InvertedDoublePendulum": "both"}.get(name, name)
        assert name in (others if spec.vector_entry_point is None else compiled), spec.id


def test_the_numbers_of_atari_games():
    ids = [each for each in gym.registry if "atari" in str(gym.registry[each].entry_point)]
    assert f"{len(GAMES)} games under {len(ids)} ids" in (ROOT / "README.md").read_text()


def test_the_api_page_names_what_is_missing():
    page = (ROOT / "docs" / "api.md").read_text()
    modules = {name for name in ABSENT if "." not in name.split()[1]} | NO_MODULES
    for name in modules:
        assert f"`{name.replace(' ', '.').strip('.')}`" in page
