"""The tables of docs/environments/mpe.md describe the worlds of this build."""

from __future__ import annotations

import inspect
import re
from typing import Any

import gymcore as gym
from gymcore.envs.mpe import env as mpe
from tests.docs.test_environment_pages import FOLDER, rows, section

PAGE = (FOLDER / "mpe.md").read_text()
WORLDS = rows(section(PAGE, "Scenarios"), "id", "agents", "observations")
ARGUMENTS = rows(section(PAGE, "Arguments"), "argument", "default", "per lane", "", "scenarios")
CLASSES = {
    env_class.scenario: env_class
    for env_class in vars(mpe).values()
    if inspect.isclass(env_class) and "scenario" in vars(env_class)
}


def names_in(text: str) -> list[str]:
    """Return the names of agents, of which a row names the first and the last."""
    names = re.findall(r"`(\w+)`", text.replace("` to `", "`-`"))
    for first, last in re.findall(r"`(\w+)`-`(\w+)`", text.replace("` to `", "`-`")):
        group, _, end = last.rpartition("_")
        place = names.index(first)
        names[place : place + 2] = [f"{group}_{k}" for k in range(int(end) + 1)]
    return names


def test_every_id_has_a_row() -> None:
    ids = [row[0].strip("`") for row in WORLDS]
    assert sorted(ids) == sorted(env_id for env_id in gym.registry if env_id.startswith("mpe/"))


def test_agents_and_observations() -> None:
    for env_id, agents, observations, *_ in WORLDS:
        envs = gym.make_vec(env_id.strip("`"), 1)
        assert names_in(agents) == list(envs.agents.names), env_id
        sizes = dict(re.findall(r"(\w+) (\d+)", observations)) or {"": observations}
        for name in envs.agents.names:
            size = sizes.get(name.rpartition("_")[0], sizes.get(""))
            assert envs.agents.observation_space(name).shape == (int(str(size)),), env_id
        envs.close()


def test_arguments_and_their_scenarios() -> None:
    signature = inspect.signature(mpe.ParticleEnv).parameters
    written: dict[str, set[str]] = {}
    for arguments, default, per_lane, _, scenarios in ARGUMENTS:
        known: Any = set(scenarios.split(", ")) if scenarios else set(CLASSES)
        for name in re.findall(r"`(\w+)`", arguments):
            written[name] = known
            if name in signature:
                assert default == str(signature[name].default), name
            elif name in mpe.ParticleEnv.defaults and default:
                assert float(default) == mpe.ParticleEnv.defaults[name], name
            assert all((name in CLASSES[each].parameters) == (per_lane == "x") for each in known)
    accepted: dict[str, set[str]] = {}
    for scenario, env_class in CLASSES.items():
        for name in {*env_class.arguments, *env_class.parameters}:
            accepted.setdefault(name, set()).add(scenario)
    assert written == accepted
