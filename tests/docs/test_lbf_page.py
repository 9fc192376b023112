"""The tables of docs/environments/lbf.md describe the worlds of this build."""

from __future__ import annotations

import inspect
import re

import gymcore as gym
from gymcore.envs.lbf.env import ForagingEnv
from gymcore.envs.lbf.ids import foraging_spec
from tests.docs.test_environment_pages import FOLDER, rows, section

PAGE = (FOLDER / "lbf.md").read_text()


def test_ids_may_have_all_parts() -> None:
    parts = [part.strip("`") for part, _ in rows(section(PAGE, "Ids"), "part", "meaning")]
    (form,) = re.findall(r"`(Foraging\[.*)`\.", PAGE)
    assert form.replace("[", "").replace("]", "") == "Foraging" + "".join(parts) + "-v3"
    for env_id in (form.replace("[", "").replace("]", ""), re.sub(r"\[.*?\]", "", form)):
        assert foraging_spec(env_id) is not None
    for env_id in re.findall(r"`(Foraging-[\w-]+-v3)`", PAGE):
        gym.make_vec(env_id, 1).close()


def test_arguments_are_those_of_the_class() -> None:
    signature = inspect.signature(ForagingEnv).parameters
    written = []
    for names, defaults, per_lane, _ in rows(PAGE, "argument", "default", "per lane"):
        for name, default in zip(re.findall(r"`(\w+)`", names), defaults.split(", "), strict=True):
            written.append(name)
            assert (per_lane == "x") == (name in ForagingEnv.parameters), name
            if name in signature:
                assert default == str(signature[name].default), name
            else:
                assert float(default) == ForagingEnv.defaults[name], name
    assert sorted(written) == sorted([*ForagingEnv.arguments, *ForagingEnv.parameters])
