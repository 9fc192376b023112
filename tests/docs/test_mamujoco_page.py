"""The tables of docs/environments/mamujoco.md describe the worlds of this build."""

from __future__ import annotations

import inspect

import pytest

pytest.importorskip("mujoco")

from gymcore.envs.mamujoco.env import MamujocoVectorEnv, World
from gymcore.envs.mamujoco.graphs import graph_of
from gymcore.envs.mamujoco.ids import mamujoco_spec
from tests.docs.test_environment_pages import FOLDER, rows, section

PAGE = (FOLDER / "mamujoco.md").read_text()


def test_scenarios_have_their_configurations() -> None:
    table = rows(section(PAGE, "Ids"), "scenario", "configurations", "agents")
    assert len(table) == 11
    for names, configurations, _ in table:
        for scenario in names.split(", "):
            for conf in configurations.removeprefix("such as ").split(", "):
                spec = mamujoco_spec(f"mamujoco/{scenario}-{conf}-v1")
                assert spec is not None and graph_of(scenario, spec.kwargs["agent_conf"]).partition


def test_arguments_and_methods_are_those_of_the_classes() -> None:
    signature = inspect.signature(World.__init__).parameters
    table = rows(PAGE, "argument", "default", "")
    written = {name.strip("`"): default.strip("`") for name, default, _ in table}
    assert written == {
        name: str(parameter.default).replace("'", '"')
        for name, parameter in signature.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    methods = [name.strip("`") for name, _ in rows(PAGE, "method", "")]
    assert len(methods) == 4 and all(hasattr(MamujocoVectorEnv, name) for name in methods)
