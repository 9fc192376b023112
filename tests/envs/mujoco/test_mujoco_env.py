"""`MujocoEnv`, and a user's environment on it compared with the same one on Gymnasium's."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import subprocess
import sys
import warnings
import weakref
from pathlib import Path

import gymnasium
import gymnasium.envs.mujoco.mujoco_env
import numpy as np
import pytest

import gymcore
import gymcore.envs.mujoco.mujoco_env as module
from gymcore import error
from gymcore.envs.mujoco import MujocoEnv, MujocoRenderer, library
from gymcore.spaces import Box
from tests.envs.mujoco.walkers import (
    METADATA,
    MODEL,
    NUM_ACTUATORS,
    NUM_POSITIONS,
    NUM_VELOCITIES,
    walker,
    write_model,
)
from tests.parity import compare

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

THEIRS = gymnasium.envs.mujoco.mujoco_env

SMALL = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>
  {}
</mujoco>
"""


class Walker(walker(gymcore)):
    """A class that pickle can find."""


@pytest.fixture
def path(tmp_path):
    return write_model(tmp_path)


@pytest.fixture
def env(path):
    env = Walker(path)
    env.reset(seed=0)
    yield env
    env.close()


def small(folder: Path, actuators: str = "") -> str:
    file = folder / "small.xml"
    file.write_text(SMALL.format(actuators))
    return str(file)


@pytest.mark.parametrize(
    ("version", "options", "warns"),
    [
        ("4.0.0", 'jacobian="sparse"', True),
        ("4.0.0", 'jacobian="sparse" solver="CG"', False),
        ("4.0.0", 'jacobian="auto"', False),
        ("4.0.1", 'jacobian="sparse"', False),
    ],
)
def test_sparse_models_and_the_solver_of_mujoco_4_0_0(
    tmp_path, monkeypatch, recwarn, version, options, warns
):
    monkeypatch.setattr(mujoco, "__version__", version)
    file = tmp_path / "model.xml"
    file.write_text(SMALL.format(f"<option {options}/>"))
    warnings.simplefilter("always")
    MujocoEnv(str(file), 1, None)
    assert ["wrong accelerations" in str(warning.message) for warning in recwarn] == [True] * warns


# Comparison with Gymnasium


@pytest.mark.parametrize(
    "name", ["__init__", "reset", "set_state", "do_simulation", "_step_mujoco_simulation", "step"]
)
def test_same_parameters(name):
    ours = inspect.signature(getattr(MujocoEnv, name)).parameters
    theirs = inspect.signature(getattr(THEIRS.MujocoEnv, name)).parameters
    assert [(p.name, p.kind, p.default) for p in ours.values()] == [
        (p.name, p.kind, p.default) for p in theirs.values()
    ]


def test_everything_public_is_there():
    for name in vars(THEIRS.MujocoEnv):
        if not name.startswith("__"):
            assert hasattr(MujocoEnv, name), name
    assert module.DEFAULT_SIZE == THEIRS.DEFAULT_SIZE
    assert set(dir(gymnasium.envs.mujoco)) & {"MujocoEnv", "MujocoRenderer"} <= set(
        dir(gymcore.envs.mujoco)
    )


def test_same_attributes(path):
    ours, theirs = Walker(path), walker(gymnasium)(path)
    assert {name for name in vars(theirs) if not name.startswith("_")} <= set(vars(ours))
    assert repr(ours.action_space) == repr(theirs.action_space)
    assert ours.action_space.low.tolist() == theirs.action_space.low.tolist()
    for name in ("init_qpos", "init_qvel"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name))
    for name in ("frame_skip", "dt", "width", "height", "camera_id", "camera_name", "render_mode"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.mujoco_renderer.model is ours.model
    assert ours.mujoco_renderer.data is ours.data
    ours.close()
    theirs.close()


def test_same_trajectories(path):
    ours, theirs = Walker(path), walker(gymnasium)(path)
    actions = np.random.default_rng(5).uniform(-2, 2, size=(150, NUM_ACTUATORS))
    for episode in range(2):
        (ours_first, ours_info), (theirs_first, theirs_info) = (
            env.reset(seed=3 if episode == 0 else None) for env in (ours, theirs)
        )
        assert np.array_equal(ours_first, theirs_first)
        assert ours_info == theirs_info
        for action in actions.astype(np.float32):
            mine, other = ours.step(action), theirs.step(action)
            assert np.array_equal(mine[0], other[0])
            assert mine[1:] == other[1:]
    assert np.any(ours.data.cfrc_ext), "the comparison has seen no contact"
    ours.close()
    theirs.close()


@pytest.mark.parametrize(
    "ctrl", [np.zeros(3), np.zeros((1, 2)), np.zeros((2, 1)), 0.5, None, "x", np.zeros(0)]
)
def test_wrong_controls_as_gymnasium(path, ctrl):
    outcome = compare(lambda package: walker(package)(path).do_simulation(ctrl, 5))
    assert isinstance(outcome.error, error.InvalidAction)
    assert isinstance(outcome.error, ValueError)


@pytest.mark.parametrize("ctrl", [[0.5, 0.5], (0, 1), np.array([1, 0]), np.ones(2, np.float16)])
def test_controls_of_other_types_as_gymnasium(path, ctrl):
    def scenario(package):
        env = walker(package)(path)
        env.do_simulation(ctrl, 5)
        return env.state_vector().tolist()

    compare(scenario)


@pytest.mark.parametrize("frames", [0, 1, np.int64(3)])
def test_numbers_of_frames_as_gymnasium(path, frames):
    def scenario(package):
        env = walker(package)(path)
        env.do_simulation(np.ones(NUM_ACTUATORS), frames)
        return env.data.time, env.data.cacc.tolist()

    compare(scenario)


@pytest.mark.parametrize("file", ["/none.xml", "./none.xml", "~/none.xml"])
def test_missing_file_as_gymnasium(file):
    outcome = compare(lambda package: walker(package)(file))
    assert isinstance(outcome.error, module.ModelNotFound)


@pytest.mark.parametrize("fps", [19, 20.5, "20"])
def test_wrong_frames_per_second_as_gymnasium(path, fps, monkeypatch):
    def scenario(package):
        monkeypatch.setattr(walker(package), "metadata", {**METADATA, "render_fps": fps})
        walker(package)(path)

    outcome = compare(scenario, message=False)
    assert f"Actual value: {fps}" in str(outcome.error)
    assert "Expected value: 20" in str(outcome.error)


@pytest.mark.parametrize(
    "metadata", [{}, {"render_modes": ["human"]}, {"render_modes": [], "render_fps": 20.0}]
)
def test_metadata_that_gymnasium_accepts(path, metadata, monkeypatch):
    def scenario(package):
        monkeypatch.setattr(walker(package), "metadata", metadata)
        return walker(package)(path).metadata

    compare(scenario)


@pytest.mark.parametrize(
    ("actuators", "repeated"),
    [
        ("", "Box([], [], (0,), float32)"),
        ('<actuator><motor joint="j"/></actuator>', "Box(0.0, 0.0, (1,), float32)"),
    ],
)
def test_action_space_without_ranges_as_gymnasium(tmp_path, actuators, repeated):
    file = small(tmp_path, actuators)
    outcome = compare(lambda package: walker(package)(file).action_space)
    assert repr(outcome.value) == repeated


def test_activations_stay_as_in_gymnasium(tmp_path):
    file = small(
        tmp_path,
        '<actuator><general joint="j" dyntype="integrator" ctrlrange="-1 1"/></actuator>',
    )

    def scenario(package):
        env = walker(package)(file)
        env.do_simulation([1.0], 5)
        env.set_state(env.init_qpos, env.init_qvel)
        return env.data.act.tolist(), env.data.time

    compare(scenario)


# Construction


def test_a_file_in_the_working_directory_is_hinted_at(path, monkeypatch):
    monkeypatch.chdir(Path(path).parent)
    with pytest.raises(module.ModelNotFound, match=r"write '\.[/\\]walker\.xml'"):
        Walker("walker.xml")
    Walker("./walker.xml").close()


def test_a_path_object(path):
    env = Walker(Path(path))
    assert env.fullpath == path
    env.close()


def test_a_name_is_a_model_of_gymcores_own():
    full = Path(module.expand_model_path("half_cheetah.xml"))
    assert full.is_file()
    assert full.parent.name == "assets"


@pytest.mark.parametrize("wrong", [None, 3, b"x.xml"])
def test_no_path(wrong):
    with pytest.raises(error.ArgumentTypeError, match="model_path: expected a path, got"):
        Walker(wrong)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("<mujoco><worldbody><body></mujoco>", "XML"),
        ("<mujoco><worldbody><geom type='nope'/></worldbody></mujoco>", "nope"),
        ("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>", "mass"),
        ("", "empty"),
    ],
)
def test_broken_model(tmp_path, text, wrong):
    file = tmp_path / "broken.xml"
    file.write_text(text)
    with pytest.raises(module.BrokenModel, match=wrong) as caught:
        Walker(str(file))
    assert str(file) in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_a_folder_is_no_model(tmp_path):
    with pytest.raises(module.BrokenModel, match="expected a file, got the folder"):
        Walker(str(tmp_path))


def test_a_binary_model(path, tmp_path):
    file = tmp_path / "walker.mjb"
    mujoco.mj_saveModel(mujoco.MjModel.from_xml_path(path), str(file))
    env, other = Walker(str(file)), Walker(path)
    assert np.array_equal(env.reset(seed=1)[0], other.reset(seed=1)[0])


@pytest.mark.parametrize(
    ("name", "value"), [("frame_skip", 0), ("frame_skip", -3), ("width", 0), ("height", -1)]
)
def test_not_positive(path, name, value):
    with pytest.raises(error.FailedCheck, match=f"{name}: expected at least 1, got {value}"):
        MujocoEnv(path, **{"frame_skip": 1, "observation_space": None, name: value})


@pytest.mark.parametrize("name", ["frame_skip", "width"])
def test_no_integer(path, name):
    with pytest.raises(error.FailedTypeCheck, match=f"{name}: expected an integer, got 2.5"):
        MujocoEnv(path, **{"frame_skip": 1, "observation_space": None, name: 2.5})


def test_the_space_of_observations_is_kept(path):
    space = Box(-1, 1, (3,))
    assert MujocoEnv(path, 5, space).observation_space is space
    assert not hasattr(MujocoEnv(path, 5, None), "observation_space")


def test_the_offscreen_buffer_holds_a_frame(path):
    env = Walker(path, width=1300, height=200)
    assert env.model.vis.global_.offwidth == 1300
    assert env.model.vis.global_.offheight == 200
    assert isinstance(env.mujoco_renderer, MujocoRenderer)


def test_a_subclass_makes_the_model_itself():
    class FromText(MujocoEnv):
        def _load_model(self):
            return mujoco.MjModel.from_xml_string(MODEL)

        def _make_data(self, model):
            data = mujoco.MjData(model)
            data.qpos[2] = 3.0
            return data

    env = FromText("half_cheetah.xml", 2, None, width=900)
    assert env.model.nq == NUM_POSITIONS
    assert env.init_qpos[2] == 3.0
    assert env.model.vis.global_.offwidth == 900


def test_a_failed_construction_leaves_nothing_to_close():
    env = Walker.__new__(Walker)
    env.close()


# Resetting and stepping


def test_reset_resets_the_simulation_first(env):
    env.do_simulation(np.ones(NUM_ACTUATORS), 10)
    seen = []
    env.reset_model = lambda: seen.append((env.data.time, env.data.qpos.tolist())) or 7
    observation, info = env.reset(seed=1, options={"ignored": 1})
    assert observation == 7
    assert seen == [(0.0, env.init_qpos.tolist())]
    assert list(info) == ["height"]


def test_human_mode_renders_a_reset(env):
    calls = []
    env.render_mode = "human"
    env.render = lambda: calls.append(1)
    env.reset()
    assert calls == [1]


def test_what_a_subclass_has_to_write(path):
    env = MujocoEnv(path, 5, None)
    with pytest.raises(NotImplementedError, match=r"MujocoEnv has no reset_model\(\)"):
        env.reset()
    with pytest.raises(NotImplementedError, match=r"MujocoEnv has no step\(action\)"):
        env.step(np.zeros(NUM_ACTUATORS))


@pytest.mark.parametrize(("qpos", "qvel", "name"), [(3, 7, "qpos"), (8, 8, "qvel"), (8, 1, "qvel")])
def test_set_state_of_another_shape(env, qpos, qvel, name):
    before = env.state_vector()
    with pytest.raises(error.FailedCheck, match=rf"{name}: expected an array of shape \(\d,\)"):
        env.set_state(np.ones(qpos), np.ones(qvel))
    assert np.array_equal(env.state_vector(), before)


@pytest.mark.parametrize(
    "number", [np.nan, "x", None, 10**400], ids=["nan", "text", "none", "huge"]
)
def test_set_state_takes_finite_numbers(env, number):
    before = env.state_vector()
    qpos, qvel = env.init_qpos.tolist(), env.init_qvel.tolist()
    for name, positions, velocities in (
        ("qpos", [number, *qpos[1:]], qvel),
        ("qvel", qpos, [number, *qvel[1:]]),
    ):
        with pytest.raises(error.InvalidArgument, match=f"{name}: expected finite numbers"):
            env.set_state(positions, velocities)
    assert np.array_equal(env.state_vector(), before)


def test_set_state_computes_what_follows(env):
    positions = env.init_qpos.copy()
    positions[0] = 4.0
    env.set_state(list(positions), [0.0] * NUM_VELOCITIES)
    assert env.get_body_com("torso")[0] == 4.0


def test_get_body_com_is_a_view_and_knows_its_bodies(env):
    assert np.shares_memory(env.get_body_com("leg"), env.data.xpos)
    with pytest.raises(KeyError):
        env.get_body_com("nobody")


def test_state_vector_is_new(env):
    state = env.state_vector()
    assert state.shape == (NUM_POSITIONS + NUM_VELOCITIES,)
    assert state.dtype == np.float64
    assert not np.shares_memory(state, env.data.qpos)


def test_frames_must_be_a_number(env):
    with pytest.raises(error.FailedTypeCheck, match=r"n_frames: expected an integer, got 1\.5"):
        env.do_simulation(np.zeros(NUM_ACTUATORS), 1.5)


def test_controls_must_be_numbers(env):
    with pytest.raises(error.InvalidAction, match="ctrl: expected 2 numbers"):
        env.do_simulation(np.array(["a", "b"]), 5)


# Copies, registration, batches


def same_future(env, other) -> bool:
    first, second = env.reset(seed=9)[0], other.reset(seed=9)[0]
    steps = [one.step(np.ones(NUM_ACTUATORS))[0] for one in (env, other)]
    return np.array_equal(first, second) and np.array_equal(*steps)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies(env, copied):
    other = copied(env)
    assert other.data is not env.data
    assert other.mujoco_renderer.data is other.data
    assert same_future(env, other)
    other.close()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_without_ezpickle_go_on_from_the_same_state(path, copied):
    env = MujocoEnv(path, 5, None)
    env.do_simulation(np.ones(NUM_ACTUATORS), 7)
    other = copied(env)
    assert np.array_equal(env.state_vector(), other.state_vector())
    for one in (env, other):
        one.do_simulation(np.ones(NUM_ACTUATORS), 7)
    assert np.array_equal(env.state_vector(), other.state_vector())


def test_make(path, registries):
    gymcore.register("Walker-v0", Walker, max_episode_steps=3, kwargs={"path": path})
    env = gymcore.make("Walker-v0")
    env.reset(seed=1)
    ends = [env.step(env.action_space.sample())[3] for _ in range(3)]
    assert ends == [False, False, True]
    assert env.unwrapped.spec.id == "Walker-v0"
    env.close()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_batches(path, registries, mode):
    gymcore.register("Walker-v0", Walker, kwargs={"path": path})
    envs = gymcore.make_vec("Walker-v0", num_envs=2, vectorization_mode=mode)
    single = Walker(path)
    observations, infos = envs.reset(seed=4)
    observation, info = single.reset(seed=5)
    assert np.array_equal(observations[1], observation)
    assert infos["height"][1] == info["height"]
    actions = np.ones((2, NUM_ACTUATORS), np.float32)
    for _ in range(5):
        observations, rewards, *_ = envs.step(actions)
        observation, reward, *_ = single.step(actions[1])
        assert np.array_equal(observations[1], observation)
        assert rewards[1] == reward
    envs.close()
    single.close()


def test_collected(path):
    env = Walker(path)
    data = weakref.ref(env.mujoco_renderer)
    env.reset(seed=1)
    del env
    gc.collect()
    assert data() is None


# The package mujoco


def test_mujoco_comes_late():
    code = (
        "import sys, gymcore, gymcore.envs.mujoco; assert 'mujoco' not in sys.modules; "
        "from gymcore.envs.mujoco.library import mujoco_module; mujoco_module(); "
        "assert 'mujoco' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_mujoco_is_missing(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(error.DependencyNotInstalled, match="run `pip install mujoco`"):
        Walker(path)


def test_mujoco_is_too_old(path, monkeypatch):
    class Old:
        __version__ = "2.3.7"

    monkeypatch.setattr(library.process_wide, "load_module", lambda name: Old)
    with pytest.raises(error.DependencyNotInstalled, match=r"MuJoCo 2\.3\.7 is too old"):
        library.mujoco_module()
