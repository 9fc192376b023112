"""Specs by id: registered, retired and unknown ids, versions and namespaces."""

from __future__ import annotations

import itertools
import sys
import threading
import warnings
from types import ModuleType
from typing import Any

import pytest

import gymcore
from tests.envs.registered import fill
from tests.parity import compare

IDS = (
    "Maze-v0",
    "Maze-v2",
    "Tower",
    "Hopper-v4",
    "Hopper-v5",
    "MazeRunner-v1",
    "games/Maze-v1",
    "games/Maze-v3",
    "games/Chess",
    "puzzles/Sokoban-v0",
)

pytestmark = pytest.mark.usefixtures("registries")


QUERIES = [
    *IDS,
    "Maze",
    "Maze-v1",
    "Maze-v3",
    "Maze-v00",
    "Hopper-v2",
    "Hopper",
    "Tower-v0",
    "Tower-v3",
    "maze-v0",
    "Mase-v0",
    "hoper",
    "zzzzzz-v0",
    "zzzzzz",
    "games/Maze",
    "games/Maze-v2",
    "games/Maze-v4",
    "games/maze-v1",
    "games/zzzz-v1",
    "games/Chess-v0",
    "game/Maze-v1",
    "zzzz/Maze-v1",
    "puzzles/Maze-v0",
    "Maze v0",
    "a/b/c-v0",
    "",
    "math:Maze-v2",
    "math:games/Maze",
    "no_such_module:Maze-v0",
    "math.no_such_module:Maze-v0",
    "math:zzzz-v0",
]


@pytest.mark.parametrize("env_id", QUERIES)
def test_spec_like_gymnasium(env_id: str) -> None:
    def scenario(gym: ModuleType) -> Any:
        fill(gym, *IDS)
        return gym.spec(env_id)

    # Gymnasium suggests Maze for "math:Maze"; gymcore requires more similarity.
    compare(scenario, message=not env_id.startswith("math:"))


@pytest.mark.parametrize("env_id", QUERIES)
@pytest.mark.parametrize("function", ["make", "make_vec"])
def test_make_like_gymnasium(function: str, env_id: str) -> None:
    def scenario(gym: ModuleType) -> Any:
        fill(gym, *IDS)
        return getattr(gym, function)(env_id).spec

    # A retired id raises only DeprecatedEnv, without a deprecation warning before it.
    gone = env_id in ("Maze-v1", "Hopper-v2", "games/Maze-v2", "Maze-v00")
    compare(scenario, warns=not gone)


@pytest.mark.parametrize("function", ["make", "make_vec"])
def test_gone_versions_name_their_successor(function: str) -> None:
    def scenario(gym: ModuleType) -> Any:
        fill(gym, *IDS)
        return getattr(gym, function)("Hopper-v2")

    compare(scenario)
    fill(gymcore, *IDS)
    with (
        pytest.raises(
            gymcore.error.DeprecatedEnv,
            match=r"^Environment version v2 for `Hopper` is deprecated. Please use `Hopper-v5` ins",
        ),
        pytest.warns(DeprecationWarning, match=r"The environment Hopper-v2 is out of date"),
    ):
        gymcore.make("Hopper-v2")


@pytest.mark.parametrize("ns", ["GAMES", "Games", "gamez"])
def test_namespaces_are_suggested_in_any_case(ns: str) -> None:
    fill(gymcore, *IDS)
    with pytest.raises(gymcore.error.NamespaceNotFound, match="Did you mean: `games`"):
        gymcore.make(f"{ns}/Maze-v1")


@pytest.mark.parametrize("function", ["make", "make_vec"])
def test_a_class_in_place_of_an_id(function: str) -> None:
    given = "tests.learn.test_evaluation:Lengths"
    hint = rf"{given} is a class: give it an id with `gymcore\.register\('Lengths-v0', '{given}'\)`"
    with pytest.raises(gymcore.error.NameNotFound, match=hint):
        getattr(gymcore, function)(given)


def test_two_module_prefixes() -> None:
    compare(lambda gym: gym.make("math:sys:Maze-v0"), message=False)


def test_the_module_of_an_id_may_register_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    fill(gymcore)
    (tmp_path / "newgames.py").write_text(
        "import gymcore\n"
        "from tests.envs.registered import make_env_class\n"
        "gymcore.register('Go-v0', entry_point=make_env_class(gymcore))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert gymcore.make("newgames:Go-v0").spec.id == "Go-v0"
    del sys.modules["newgames"]


def test_error_types() -> None:
    fill(gymcore, *IDS)
    for env_id, kind in {
        "zz/Maze-v0": gymcore.error.NamespaceNotFound,
        "Maize-v0": gymcore.error.NameNotFound,
        "Maze-v9": gymcore.error.VersionNotFound,
        "Maze-v1": gymcore.error.DeprecatedEnv,
        "Tower-v1": gymcore.error.DeprecatedEnv,
        "Maze!": gymcore.error.Error,
    }.items():
        with warnings.catch_warnings(), pytest.raises(gymcore.error.Error) as caught:
            warnings.simplefilter("ignore", DeprecationWarning)
            gymcore.make(env_id)
        assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("ns", "name"), [(None, "Maze"), (None, "Tower"), ("games", "Maze"), ("x", "Maze"), (None, "x")]
)
def test_highest_version(ns: str | None, name: str) -> None:
    def scenario(gym: ModuleType) -> Any:
        fill(gym, *IDS)
        return gym.envs.registration.find_highest_version(ns, name)

    compare(scenario)


# Retired ids


def test_alias_with_the_same_behavior() -> None:
    fill(gymcore, "Maze-v3")
    gymcore.envs.registration.register_alias("Labyrinth-v0", "Maze-v3")
    message = "The environment Labyrinth-v0 is out of date. It is now called `Maze-v3`"
    with pytest.warns(DeprecationWarning, match=message):
        assert gymcore.make("Labyrinth-v0", size=4).spec.id == "Maze-v3"
    with pytest.warns(DeprecationWarning, match=message):
        assert gymcore.spec("Labyrinth-v0") is gymcore.spec("Maze-v3")
    with pytest.warns(DeprecationWarning, match=message):
        assert gymcore.make_vec("math:Labyrinth-v0", num_envs=2).spec.id == "Maze-v3"
    assert list(gymcore.registry) == ["Maze-v3"]


def test_alias_of_an_old_version() -> None:
    fill(gymcore, "Maze-v3")
    gymcore.envs.registration.register_alias("Maze-v2", "Maze-v3")
    with pytest.warns(DeprecationWarning, match="Maze-v2 is out of date"):
        assert gymcore.make("Maze-v2").spec.id == "Maze-v3"
    with (
        pytest.raises(gymcore.error.DeprecatedEnv, match="v1 for `Maze` is deprecated"),
        pytest.warns(DeprecationWarning, match="Maze-v1 is out of date"),
    ):
        gymcore.make("Maze-v1")


def test_alias_whose_successor_behaves_differently() -> None:
    fill(gymcore, "Maze-v3")
    gymcore.envs.registration.register_alias("Maze-v2", "Maze-v3", change="walls are drawn anew")
    for function in (gymcore.make, gymcore.make_vec, gymcore.spec):
        with pytest.raises(
            gymcore.error.DeprecatedEnv,
            match=r"^The environment Maze-v2 is deprecated, and its successor differs: walls are "
            r"drawn anew\. Please use `Maze-v3` instead\.$",
        ):
            function("Maze-v2")


def test_alias_gives_way_to_a_registered_environment() -> None:
    fill(gymcore, "Maze-v2", "Other-v0")
    gymcore.envs.registration.register_alias("Maze-v2", "Other-v0", change="everything")
    assert gymcore.make("Maze-v2").spec.id == "Maze-v2"


def test_alias_without_its_successor_is_unknown() -> None:
    fill(gymcore, "Maze-v2")
    gymcore.envs.registration.register_alias("Labyrinth-v0", "Castle-v0")
    with pytest.raises(gymcore.error.NameNotFound):
        gymcore.make("Labyrinth-v0")


@pytest.mark.parametrize("ids", [("no id", "Maze-v0"), ("Maze-v0", "no id")])
def test_malformed_alias(ids: tuple[str, str]) -> None:
    before = dict(gymcore.envs.registration.aliases)
    with pytest.raises(gymcore.error.Error, match="Malformed environment ID: no id"):
        gymcore.envs.registration.register_alias(*ids)
    assert gymcore.envs.registration.aliases == before


def test_ids_are_looked_up_while_another_thread_registers_some() -> None:
    def register() -> None:
        for number in itertools.count():
            if is_over.is_set():
                return
            gymcore.register(f"threads/Maze{number % 999}-v{number}", "games:Maze")

    fill(gymcore, *IDS)
    is_over, interval = threading.Event(), sys.getswitchinterval()
    thread = threading.Thread(target=register)
    sys.setswitchinterval(1e-6)
    try:
        thread.start()
        for _ in range(15):
            for env_id in ("Maze-v9", "game/Maze-v1", "Mase-v0"):
                with pytest.raises(gymcore.error.UnregisteredEnv):
                    gymcore.make(env_id)
    finally:
        sys.setswitchinterval(interval)
        is_over.set()
        thread.join()
