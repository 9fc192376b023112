"""Ids of environments over JAX functions: registered without JAX, and refused without it."""

from __future__ import annotations

import dataclasses
import importlib
import subprocess
import sys
from typing import Any

import gymnasium
import pytest

import gymcore
from gymcore import error
from gymcore.cli import list as list_command
from tests.envs.functional import IDS

WITHOUT_JAX = """
import sys
sys.modules["jax"] = None  # an import of it fails
import gymcore
for env_id in {ids}:
    for make in (gymcore.make, gymcore.make_vec):
        try:
            make(env_id)
        except gymcore.error.DependencyNotInstalled as problem:
            assert "pip install jax" in str(problem), problem
        else:
            raise AssertionError(env_id)
"""


def program(text: str) -> None:
    """Run a program in an interpreter of its own: JAX may be imported here."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("env_id", IDS)
def test_specs_are_gymnasiums(env_id: str) -> None:
    ours, theirs = gymcore.spec(env_id), gymnasium.spec(env_id)
    for field in dataclasses.fields(theirs):
        expected: Any = getattr(theirs, field.name)
        if isinstance(expected, str):
            expected = expected.replace("gymnasium", "gymcore")
        assert getattr(ours, field.name) == expected, field.name


def test_all_ids_of_gymnasium_are_registered() -> None:
    def of_its_own(gym: Any) -> set[str]:
        places = ((env_id, spec.entry_point) for env_id, spec in gym.registry.items())
        prefix = f"{gym.__name__}.envs."
        return {one for one, place in places if isinstance(place, str) and place.startswith(prefix)}

    assert of_its_own(gymnasium) - set(gymcore.registry) == set()
    others = ("ALE/", "contract/", "dm_control/", "mamujoco/", "mpe/")
    named = {one for one in of_its_own(gymcore) if "/" in one and not one.startswith(others)}
    assert named == set(IDS)


def test_listing_does_not_import_jax() -> None:
    program(
        "import sys, gymcore, gymcore.envs\n"
        "from gymcore.cli.list import by_family\n"
        "assert {'phys2d', 'tabular'} <= set(by_family())\n"
        "gymcore.pprint_registry()\n"
        "assert not any(name.partition('.')[0] == 'jax' for name in sys.modules)\n"
    )


def test_without_jax_the_message_says_how_to_install_it() -> None:
    program(WITHOUT_JAX.format(ids=IDS))


def test_a_missing_jax_is_named_here_too() -> None:
    try:
        importlib.import_module("jax")
    except ImportError:
        with pytest.raises(error.DependencyNotInstalled, match="pip install jax"):
            gymcore.make("phys2d/CartPole-v1")


def test_families_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    families = list_command.by_family()
    for name, count in (("phys2d", 3), ("tabular", 2)):
        family = families[name]
        assert not family["installed"]
        assert (family["missing"], family["missing_rendering"]) == (["jax"], ["pygame"])
        assert len(family["environments"]) == count
        assert not any(environment["native"] for environment in family["environments"])
