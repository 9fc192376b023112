from __future__ import annotations

import importlib.util
import json
import sys

import pytest

import gymcore
from gymcore.cli import list as list_command


@pytest.fixture
def registry():
    before = dict(gymcore.registry)
    yield gymcore.registry
    gymcore.registry.clear()
    gymcore.registry.update(before)


@pytest.fixture
def absent(monkeypatch):
    """Return a function that makes modules impossible to find."""
    hidden = set()
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in hidden else real(name)
    )
    return hidden.update


def test_every_registered_id_is_listed_once(run):
    families = json.loads(run("list", "--json").out)
    ids = [each["id"] for family in families.values() for each in family["environments"]]
    assert sorted(ids) == sorted(gymcore.registry)
    text = run("list", "--all").out
    for name, family in families.items():
        listed = text
        if len(family["environments"]) > 100:
            assert f"  {len(family['environments'])} ids: gymcore list --family {name}\n" in text
            listed = run("list", "--family", name, "--all").out
        for each in family["environments"]:
            assert f"  {each['id']} " in listed or f"  {each['id']}\n" in listed
    assert f"{len(ids)} ids" in text


def test_one_family(run):
    text = run("list", "--family", "toy_text", "--all").out
    assert "  Taxi-v4 " in text and "CartPole" not in text and " ids;" in text
    assert "Taxi-v3" in text and "Taxi-v3" not in run("list", "--family", "toy_text").out
    assert list(json.loads(run("list", "--json", "--family", "atari").out)) == ["atari"]
    ran = run("list", "--family", "atary")
    assert ran.code == 2 and "--family: expected one of atari, box2d, classic_control" in ran.err


def test_versions_of_atari_are_settings_and_replace_none(run):
    text = run("list", "--family", "atari").out
    assert "  Pong-v0\n" in text and "  ALE/Pong-v5 " in text and "\n952 ids;" in text


def test_retired_ids_are_of_the_family_of_their_successors(run):
    assert "  Ant-v2\n" in run("list", "--family", "mujoco", "--all").out
    # Ids that other tests of this process may have registered.
    of_tests = {"compat", "contract", "jit_navigation", "jit_pursuit", "jit_snake"}
    assert set(json.loads(run("list", "--json").out)) <= list_command.FAMILIES.keys() | of_tests
    with (
        pytest.warns(DeprecationWarning, match="Ant-v2 is out of date"),
        pytest.raises(
            gymcore.error.DeprecatedEnv, match="mujoco-py, which is discontinued: use Ant-v5"
        ),
    ):
        gymcore.make("Ant-v2")


def test_patterns_and_spaces(run):
    text = run("list", "pole", "--spaces").out
    assert "CartPole-v1" in text and "CartPole-v0" not in text and "Taxi" not in text
    assert "      actions      Discrete(2)\n" in text
    assert "CartPole-v0" in run("list", "cartpole-v*").out
    ran = run("list", "nope")
    assert ran.code == 2 and "no id matches 'nope'" in ran.err


def test_classic_control_is_native_and_installed(run):
    family = json.loads(run("list", "--json").out)["classic_control"]
    assert family["installed"] is True
    found = {each["id"]: each for each in family["environments"]}
    assert found["CartPole-v1"] == {"id": "CartPole-v1", "native": True, "max_episode_steps": 500}
    assert found["MountainCarContinuous-v0"]["max_episode_steps"] == 999


def test_a_family_without_its_package_shows_the_line_that_installs_it(run, registry, absent):
    gymcore.register("TestLander-v0", entry_point="gymcore.envs.box2d.lander:Lander")
    absent(["Box2D"])
    box2d = "box2d" if sys.version_info < (3, 14) else "box2d-py"
    family = json.loads(run("list", "--json").out)["box2d"]
    assert (family["installed"], family["missing"]) == (False, ["Box2D"])
    assert f"box2d  (needs Box2D: pip install {box2d})" in run("list").out


def test_a_family_that_only_lacks_its_renderer_counts_as_installed(run, absent):
    absent(["pygame"])
    family = json.loads(run("list", "--json").out)["classic_control"]
    assert (family["installed"], family["missing_rendering"]) == (True, ["pygame"])
    line = "rendering needs pygame: pip install pygame-ce)"
    assert f"classic_control  (installed; {line}" in run("list").out


@pytest.mark.parametrize(
    ("env_id", "entry_point", "family"),
    [
        ("TestOne-v0", "gymcore.envs.toy_text.one:One", "toy_text"),
        ("TestTwo-v0", "some_package.deep.inside:Two", "some_package"),
        ("house/TestThree-v0", "some_package:Three", "house"),
        ("TestFour-v0", lambda: None, "tests"),
    ],
)
def test_families_of_other_ids(registry, env_id, entry_point, family):
    gymcore.register(env_id, entry_point=entry_point)
    assert list_command.family_of(gymcore.registry[env_id]) == family


def test_nothing_is_imported_to_find_out(registry):
    gymcore.register("TestAbsent-v0", entry_point="no_such_package_anywhere:Env")
    families = list_command.by_family()
    assert families["no_such_package_anywhere"]["environments"][0]["id"] == "TestAbsent-v0"


def test_what_jax_runs_is_not_native():
    assert list_command.is_native(gymcore.spec("CartPole-v1"))
    assert not list_command.is_native(gymcore.spec("phys2d/CartPole-v1"))
    assert not list_command.is_native(gymcore.spec("tabular/Blackjack-v0"))
