"""gymcore's MuJoCo models compile to the numbers of Gymnasium's: every one, to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gymcore

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

OURS = Path(gymcore.__file__).parent / "envs" / "mujoco" / "assets"
THEIRS = Path(find_spec("gymnasium").origin).parent / "envs" / "mujoco" / "assets"

# Timestep, nq, nv, nu, bodies, kilograms.
SIZES = {
    "ant.xml": (0.01, 15, 14, 8, 14, 0.910880),
    "half_cheetah.xml": (0.01, 9, 9, 6, 8, 14.0),
    "hopper.xml": (0.002, 6, 6, 3, 5, 15.820013),
    "humanoid.xml": (0.003, 24, 23, 17, 14, 42.116030),
    "humanoidstandup.xml": (0.003, 24, 23, 17, 14, 42.116030),
    "inverted_double_pendulum.xml": (0.01, 3, 3, 1, 4, 18.869453),
    "inverted_pendulum.xml": (0.02, 2, 2, 1, 3, 15.490567),
    "point.xml": (0.02, 3, 3, 2, 2, 56.359878),
    "pusher.xml": (0.01, 11, 11, 7, 13, 13.672996),
    "pusher_v5.xml": (0.01, 11, 11, 7, 13, 13.673004),
    "reacher.xml": (0.01, 4, 4, 2, 5, 0.078452),
    "swimmer.xml": (0.01, 5, 5, 2, 4, 106.814150),
    "walker2d.xml": (0.002, 9, 9, 6, 8, 23.677137),
    "walker2d_v5.xml": (0.002, 9, 9, 6, 8, 23.677137),
}
# A hash of the compiled text, not of the result.
NOT_FIGURES = {"signature"}

each_file = pytest.mark.parametrize("file", SIZES)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a temporary folder: MuJoCo warns about `settotalmass` in MUJOCO_LOG.TXT."""
    monkeypatch.chdir(tmp_path)


def load(folder: Path, file: str) -> Any:
    """Return the compiled model."""
    return mujoco.MjModel.from_xml_path(str(folder / file))


def figures(thing: Any, prefix: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Yield everything in a compiled model by name: numbers, arrays and bytes, nested ones too."""
    for name in dir(thing):
        if name.startswith("_") or name in NOT_FIGURES:
            continue
        value = getattr(thing, name)
        if isinstance(value, bytes):
            yield prefix + name, np.frombuffer(value, np.uint8)
        elif isinstance(value, (bool, int, float, np.ndarray, np.generic)):
            yield prefix + name, np.asarray(value)
        elif name in ("opt", "stat", "vis") or prefix.startswith("vis."):
            yield from figures(value, f"{prefix}{name}.")


def differing(ours: Any, theirs: Any) -> dict[str, tuple[Any, Any]]:
    """Return values that are not equal to the bit: zeros differ by sign, NaNs by payload."""
    expected, actual = dict(figures(theirs)), dict(figures(ours))
    assert actual.keys() == expected.keys()
    return {
        name: (actual[name], figure)
        for name, figure in expected.items()
        if actual[name].shape != figure.shape or actual[name].tobytes() != figure.tobytes()
    }


def test_every_file_is_compared():
    assert {path.name for path in OURS.iterdir()} == set(SIZES)


@each_file
def test_every_figure_and_name_is_gymnasiums(file):
    theirs = load(THEIRS, file)
    assert len(dict(figures(theirs))) > 500  # the list covers everything
    assert differing(load(OURS, file), theirs) == {}


@pytest.mark.parametrize("part", ["body_mass", "geom_size", "opt.timestep", "names"])
def test_the_comparison_sees_a_last_bit(part):
    ours, theirs = load(OURS, "hopper.xml"), load(OURS, "hopper.xml")
    assert differing(ours, theirs) == {}
    if part == "names":
        ours = load(OURS, "walker2d.xml")
    elif part == "opt.timestep":
        ours.opt.timestep = np.nextafter(ours.opt.timestep, 1)
    else:
        getattr(ours, part).flat[-1] = np.nextafter(getattr(ours, part).flat[-1], 1)
    assert part in differing(ours, theirs)


@each_file
def test_many_steps_are_equal_to_the_bit(file):
    models = load(OURS, file), load(THEIRS, file)
    pair = [mujoco.MjData(model) for model in models]
    random = np.random.default_rng(len(file))
    low, high = models[0].actuator_ctrlrange.T * 1.2  # slightly beyond: the engine clamps
    moving = random.normal(0, 0.1, models[0].nv)
    for data in pair:
        data.qvel[:] = moving
    for step in range(250):
        action = random.uniform(low, high)
        for model, data in zip(models, pair, strict=True):
            data.ctrl[:] = action
            mujoco.mj_step(model, data)
        ours, theirs = pair
        for part in ("qpos", "qvel", "qacc", "xpos", "qfrc_constraint"):
            assert getattr(ours, part).tobytes() == getattr(theirs, part).tobytes(), (step, part)
    assert not any(warning.number for warning in pair[0].warning)  # no bad numbers or overflows
    for model, data in zip(models, pair, strict=True):
        mujoco.mj_rnePostConstraint(model, data)
    for part in ("cfrc_ext", "cinert", "cvel", "qfrc_actuator", "ten_length", "sensordata"):
        assert getattr(pair[0], part).tobytes() == getattr(pair[1], part).tobytes(), part


@each_file
def test_sizes(file):
    model = load(OURS, file)
    timestep, nq, nv, nu, bodies, mass = SIZES[file]
    assert (model.opt.timestep, model.nq, model.nv, model.nu) == (timestep, nq, nv, nu)
    assert model.nbody == bodies
    assert mujoco.mj_getTotalmass(model) == pytest.approx(mass, abs=1e-6)


def test_bodies_that_environments_look_up_by_name():
    for file, names in {
        "ant.xml": ["torso"],
        "pusher.xml": ["tips_arm", "object", "goal"],
        "pusher_v5.xml": ["tips_arm", "object", "goal"],
        "reacher.xml": ["fingertip", "target"],
    }.items():
        model = load(OURS, file)
        assert all(model.body(name).id > 0 for name in names)


def test_ants_actions_begin_with_the_fourth_leg():
    model = load(OURS, "ant.xml")
    joints = [model.joint(joint).name for joint in model.actuator_trnid[:, 0]]
    assert joints == [f"{part}_{leg}" for leg in (4, 1, 2, 3) for part in ("hip", "ankle")]


def test_version_five_gives_the_walker_equal_feet():
    four, five = load(OURS, "walker2d.xml"), load(OURS, "walker2d_v5.xml")
    feet = ["foot_geom", "foot_left_geom"]
    assert [four.geom(foot).friction[0] for foot in feet] == [0.9, 1.9]
    assert [five.geom(foot).friction[0] for foot in feet] == [1.9, 1.9]
