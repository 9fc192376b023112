"""The tables of docs/environments/rware.md describe the worlds of this build."""

from __future__ import annotations

import inspect
import re

import gymcore as gym
from gymcore.envs.rware.env import WarehouseEnv
from gymcore.envs.rware.ids import warehouse_spec
from tests.docs.test_environment_pages import FOLDER, rows, section

PAGE = (FOLDER / "rware.md").read_text()


def test_ids_may_have_all_parts() -> None:
    parts = [part.strip("`") for part, _ in rows(section(PAGE, "Ids"), "part", "meaning")]
    (form,) = re.findall(r"`(rware\[.*)`\.", PAGE)
    assert form.replace("[", "").replace("]", "") == "rware" + "".join(parts) + "-v2"
    for env_id in (form.replace("[", "").replace("]", ""), re.sub(r"\[.*?\]", "", form)):
        assert warehouse_spec(env_id) is not None
    for env_id in re.findall(r"`(rware-[\w-]+-v2)`", PAGE):
        gym.make_vec(env_id, 1).close()


def test_layers_are_those_of_the_class() -> None:
    layers = [name.strip("`") for name, _ in rows(section(PAGE, "Observation"), "layer", "")]
    arguments = {"observation_type": "image", "image_observation_layers": layers}
    envs = gym.make_vec("rware-tiny-2ag-v2", 1, **arguments)
    assert envs.single_observation_space.high.max(axis=(2, 3))[0].tolist() == [1, 1, 1, 4, 1, 1, 1]


def test_arguments_are_those_of_the_class() -> None:
    signature = inspect.signature(WarehouseEnv).parameters
    written = []
    for name, default, per_lane, _ in rows(PAGE, "argument", "default", "per lane"):
        argument = name.strip("`")
        written.append(argument)
        assert (per_lane == "x") == (argument in WarehouseEnv.parameters), argument
        if argument in signature:
            assert default == str(signature[argument].default), argument
        else:
            assert float(default) == WarehouseEnv.defaults[argument], argument
    assert sorted(written) == sorted([*WarehouseEnv.arguments, *WarehouseEnv.parameters])
