"""Registering, namespaces and the listing."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import gymnasium.envs.registration
import pytest

import gymcore
from gymcore.envs import registration
from tests.envs.registered import fill, make_env_class
from tests.parity import compare

pytestmark = pytest.mark.usefixtures("registries")


@pytest.mark.parametrize(
    "name", [*gymnasium.envs.registration.__all__, "find_highest_version", "get_env_id",
             "load_env_creator", "namespace", "parse_env_id", "EnvCreator", "VectorEnvCreator"]
)  # fmt: skip
def test_every_gymnasium_name_is_there(name: str) -> None:
    ours = getattr(registration, name)
    theirs = getattr(gymnasium.envs.registration, name)
    assert name in registration.__all__
    if inspect.isfunction(theirs):
        for key, parameter in inspect.signature(theirs).parameters.items():
            mine = inspect.signature(ours).parameters[key]
            assert mine.kind is parameter.kind
            # A spec may give a number, so 1 and "not given" differ in ours.
            if (name, key) not in {("pprint_registry", "print_registry"), ("make_vec", "num_envs")}:
                assert mine.default == parameter.default


@pytest.mark.parametrize(
    "name", ["make", "make_vec", "register", "registry", "spec", "pprint_registry"]
)
def test_top_level_names_are_the_same_objects(name: str) -> None:
    assert getattr(gymcore, name) is getattr(registration, name)


# register

REGISTER = [
    {"id": "Maze-v0"},
    {"id": "Maze-v0", "entry_point": "a:B", "vector_entry_point": "a:C"},
    {"id": "Maze-v0", "vector_entry_point": "a:C"},
    {
        "id": "games/Maze",
        "entry_point": "a:B",
        "reward_threshold": 1.5,
        "nondeterministic": True,
        "max_episode_steps": 10,
        "order_enforce": False,
        "disable_env_checker": True,
        "kwargs": {"size": [1, 2]},
    },
    {"id": "Maze v0", "entry_point": "a:B"},
    {"id": "", "entry_point": "a:B"},
]


@pytest.mark.parametrize("arguments", REGISTER)
def test_register_like_gymnasium(arguments: dict[str, Any]) -> None:
    def scenario(gym: ModuleType) -> Any:
        fill(gym)
        gym.register(**arguments)
        return gym.registry

    compare(scenario)


@pytest.mark.parametrize(
    "ids",
    [
        ("Maze-v0", "Maze-v0"),
        ("Maze", "Maze"),
        ("Maze-v0", "Maze"),
        ("Maze-v0", "Maze-v2", "Maze-v1", "Maze"),
        ("Maze", "Maze-v0"),
        ("games/Maze", "Maze-v0", "other/Maze-v1"),
        ("games/Maze-v1", "games/Maze"),
    ],
)
def test_conflicts_like_gymnasium(ids: tuple[str, ...]) -> None:
    compare(lambda gym: [fill(gym, *ids), list(gym.registry)][1])


def test_a_failed_registration_changes_nothing() -> None:
    fill(gymcore, "Maze-v0")
    with pytest.raises(gymcore.error.RegistrationError):
        gymcore.register("Maze", entry_point="a:B")
    assert list(gymcore.registry) == ["Maze-v0"]


def test_the_registry_does_not_share_the_callers_dict() -> None:
    kwargs = {"size": 1}
    fill(gymcore)
    gymcore.register("Maze-v0", entry_point="a:B", kwargs=kwargs)
    kwargs["size"] = 2
    assert gymcore.spec("Maze-v0").kwargs == {"size": 1}


def test_register_envs_does_nothing() -> None:
    before = dict(gymcore.registry)
    assert gymcore.register_envs(gymcore.envs) is None
    assert gymcore.registry == before


# namespaces


def test_namespace_like_gymnasium() -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        fill(gym)
        registry = gym.envs.registration
        seen = [registry.current_namespace]
        with registry.namespace("games"):
            seen.append(registry.current_namespace)
            gym.register("Maze-v0", entry_point="a:B")
            gym.register("other/Chess-v0", entry_point="a:B")
            with registry.namespace("inner"):
                seen.append(registry.current_namespace)
                gym.register("Go", entry_point="a:B")
            seen.append(registry.current_namespace)
        return [*seen, registry.current_namespace, list(gym.registry)]

    value = compare(scenario).value
    assert value[-1] == ["games/Maze-v0", "games/Chess-v0", "inner/Go"]


def test_namespace_ends_with_an_exception_too() -> None:
    with pytest.raises(KeyError), registration.namespace("games"):
        raise KeyError
    assert registration.current_namespace is None


# pprint_registry

LISTED = {
    "A-v0": "pkg.mod:E",
    "B-v0": "pkg.envs.sub.mod:E",
    "n/C-v0": "x.y:Z",
    "n/C-v1": "q.r.s.t:Z",
    "QuiteALongName-v0": int,
    "D": "gym.envs.classic_control.z:E",
    "E-v0": "gym:E",
    "F-v0": "pkg.mod:E",
    "A-v10": "pkg.mod:E",
    "A-v9": "pkg.mod:E",
    "G-v0": "pkg.mod:E",
    "H-v0": None,
}


def listed(gym: ModuleType) -> dict[str, Any]:
    spec = gym.envs.registration.EnvSpec
    return {env_id: spec(env_id, entry_point=place) for env_id, place in LISTED.items()}


@pytest.mark.parametrize("num_cols", [1, 2, 3, 7])
@pytest.mark.parametrize("exclude", [None, ["n"], ["mod", None, "nothing"]])
def test_pprint_registry_like_gymnasium(num_cols: int, exclude: list[Any] | None) -> None:
    compare(
        lambda gym: gym.pprint_registry(
            listed(gym), num_cols=num_cols, exclude_namespaces=exclude, disable_print=True
        )
    )


def test_pprint_registry_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert gymcore.pprint_registry(listed(gymcore)) is None
    printed = capsys.readouterr().out
    assert printed == str(gymcore.pprint_registry(listed(gymcore), disable_print=True)) + "\n"
    assert "===== mod =====\nA-v0           A-v10          A-v9\n" in printed


def test_pprint_registry_lists_the_registry() -> None:
    fill(gymcore, "Maze-v0")
    assert "Maze-v0" in str(gymcore.pprint_registry(disable_print=True))
    assert gymcore.pprint_registry({}, disable_print=True) == ""


def test_pprint_registry_without_columns() -> None:
    with pytest.raises(ValueError, match="num_cols: expected at least 1, got 0"):
        gymcore.pprint_registry(num_cols=0)


def test_make_env_class_is_registered_by_class() -> None:
    env_class = fill(gymcore, "Maze-v0")
    assert type(gymcore.make("Maze-v0").unwrapped) is env_class
    assert env_class is not make_env_class(gymcore)
