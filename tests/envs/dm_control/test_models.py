"""The models of the control suite compile to the numbers of dm_control's: all that physics uses."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from gymcore.envs.dm_control.models import DOMAINS, model_xml
from gymcore.error import InvalidArgument
from tools import dm_control_goldens as goldens

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

GOLDEN = np.load(goldens.MODELS)
# The settotalmass of the cheetah, which MuJoCo warns about, has no equal in densities.
pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")
each_variant = pytest.mark.parametrize("variant", goldens.VARIANTS)


@pytest.fixture
def in_a_folder_of_its_own(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a temporary folder: MuJoCo writes warnings to MUJOCO_LOG.TXT."""
    monkeypatch.chdir(tmp_path)


@cache
def compiled(variant: str) -> Any:
    """Return the compiled model of gymcore."""
    arguments = dict(goldens.VARIANTS[variant])
    if variant.startswith("lqr"):
        arguments["stiffness"] = goldens.split(GOLDEN, variant)["jnt_stiffness"].tolist()
    return mujoco.MjModel.from_xml_string(model_xml(variant.split("-")[0], **arguments))


def test_there_are_nineteen_domains():
    assert len(DOMAINS) == 19
    assert {variant.split("-")[0] for variant in goldens.VARIANTS} == set(DOMAINS)


@each_variant
def test_figures_and_names_are_dm_controls(variant):
    """Names are equal. Figures are, up to rounding in other releases of MuJoCo."""
    model, expected = compiled(variant), goldens.split(GOLDEN, variant)
    assert goldens.names(model) == GOLDEN[f"{variant}/elements"].tolist()
    actual = goldens.figures(model)
    common = actual.keys() & expected.keys()
    assert len(common) > 200
    for name in sorted(common):
        if actual[name].size == expected[name].size:
            # Effective masses are computed with a solver, the rest from a few products.
            tolerance = 1e-7 if name.endswith(("weight0", "acc0", "M0")) else 1e-12
            np.testing.assert_allclose(
                actual[name], expected[name], rtol=tolerance, atol=tolerance, err_msg=name
            )
    sizes = {name for name in common if actual[name].size != expected[name].size}
    assert sizes <= {"actuator_dynprm", "actuator_gainprm", "actuator_biasprm"}


@each_variant
def test_figures_and_steps_are_equal_to_the_bit(variant):
    pytest.importorskip("dm_control", reason="dm_control is not installed")
    ours, theirs = compiled(variant), goldens.load(variant)
    actual, expected = goldens.figures(ours), goldens.figures(theirs)
    assert goldens.names(ours) == goldens.names(theirs)
    assert actual.keys() == expected.keys()
    assert [name for name in actual if not np.array_equal(actual[name], expected[name])] == []
    pair = [(ours, mujoco.MjData(ours)), (theirs, mujoco.MjData(theirs))]
    random = np.random.default_rng(0)
    for step in range(150):
        control = random.uniform(-1, 1, ours.nu)
        for model, data in pair:
            data.ctrl[:] = control
            mujoco.mj_step(model, data)
        for part in ("qpos", "qvel", "qacc", "xpos", "sensordata", "qfrc_constraint"):
            arrays = [getattr(data, part) for _, data in pair]
            assert arrays[0].tobytes() == arrays[1].tobytes(), (step, part)


@each_variant
def test_models_run(variant):
    model = compiled(variant)
    data = mujoco.MjData(model)
    data.ctrl[:] = np.linspace(-1, 1, model.nu)
    mujoco.mj_step(model, data, nstep=20)
    assert np.isfinite(data.qpos).all()
    assert not any(warning.number for warning in data.warning)
    assert (data.qvel != 0).any()


@pytest.mark.parametrize("part", ["body_mass", "geom_size", "opt.timestep"])
def test_the_comparison_sees_a_last_bit(part):
    before = goldens.figures(compiled("hopper-stand"))
    model = mujoco.MjModel.from_xml_string(model_xml("hopper"))
    array = model.opt.timestep if part.startswith("opt") else getattr(model, part)
    if part.startswith("opt"):
        model.opt.timestep = np.nextafter(array, 1)
    else:
        array.flat[-3] = np.nextafter(array.flat[-3], 1)
    after = goldens.figures(model)
    assert [name for name in after if not np.array_equal(before[name], after[name])] == [part]


@pytest.mark.parametrize(
    ("arguments", "counts"),
    [
        ({"domain": "cartpole", "poles": 5}, {"nq": 6, "nu": 1}),
        ({"domain": "swimmer", "links": 3}, {"nq": 5, "nu": 2, "nsensordata": 30}),
        ({"domain": "lqr", "stiffness": [15, 20.5, 25], "actuators": 3}, {"nq": 3, "nu": 3}),
        ({"domain": "stacker", "boxes": 3}, {"nq": 8 + 9}),
        ({"domain": "manipulator", "props": ()}, {"nq": 8}),
        ({"domain": "quadruped", "rangefinders": True}, {"nsensor": 32}),
    ],
    ids=lambda value: value.get("domain") if isinstance(value, dict) else None,
)
def test_models_are_generated_in_any_size(arguments, counts):
    model = mujoco.MjModel.from_xml_string(model_xml(**arguments))
    assert {name: getattr(model, name) for name in counts} == counts


def test_a_swimmer_of_any_length_bends_by_a_circle():
    model = mujoco.MjModel.from_xml_string(model_xml("swimmer", links=9))
    np.testing.assert_allclose(np.degrees(model.jnt_range[3:]), [[-40, 40]] * 8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"domain": "snake"}, "domain: expected one of acrobot, .*, got 'snake'"),
        ({"domain": "walker", "legs": 3}, "legs: expected an argument of walker, .*none"),
        ({"domain": "swimmer", "poles": 3}, "poles: expected an argument of swimmer, .*links"),
        ({"domain": "lqr"}, "stiffness: expected .* of lqr"),
        ({"domain": "cartpole", "poles": 0}, "poles: expected at least 1, got 0"),
        ({"domain": "swimmer", "links": 2}, "links: expected at least 3, got 2"),
        ({"domain": "stacker", "boxes": 0}, "boxes: expected at least 1, got 0"),
        ({"domain": "manipulator", "props": ["bell"]}, "props: expected names out of .*'bell'"),
        ({"domain": "lqr", "stiffness": []}, "stiffness: expected at least 1, got 0"),
        ({"domain": "lqr", "stiffness": [9], "actuators": 2}, "actuators: expected 1 to 1, got 2"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(InvalidArgument, match=message):
        model_xml(**arguments)
