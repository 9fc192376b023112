"""Replaced attributes of compiled MuJoCo environments, callbacks, and impossible numbers."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.envs.mujoco import utils
from gymcore.envs.mujoco.mujoco_env import BrokenModel, MujocoEnv
from tests.vector.contract import same_bytes

mujoco = pytest.importorskip("mujoco")

ID = "HalfCheetah-v5"
MODEL = """
<mujoco><option timestep="{}"/><worldbody><body><joint name="x" type="slide" axis="1 0 0"/>
<geom size="0.1"/></body></worldbody>
<actuator><motor joint="x" ctrlrange="-1 1"/></actuator></mujoco>"""


class Plain(MujocoEnv):
    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, model: str, frame_skip: int = 5) -> None:
        super().__init__(model, frame_skip, None)

    def step(self, action: Any) -> Any:
        self.do_simulation(action, self.frame_skip)
        return self.state_vector(), 0.0, False, False, {}

    def reset_model(self) -> Any:
        self.set_state(self.init_qpos, self.init_qvel)
        return self.state_vector()


def pair(env_id: str = ID) -> tuple[Any, Any]:
    """Return our environment and Gymnasium's, reset and stepped."""
    envs = gym.make(env_id).unwrapped, gymnasium.make(env_id).unwrapped
    action = np.full(envs[0].action_space.shape, 0.3, np.float32)
    for env in envs:
        env.reset(seed=3)
        env.step(action)
    return envs


def lighter(env: Any) -> Any:
    model = copy.copy(env.model)
    model.body_mass[:] *= 0.5
    return model


def replace_data(env: Any) -> None:
    env.data = mujoco.MjData(env.model)
    env.data.qpos[:] = 0.1


REPLACED = {
    "model": lambda env: setattr(env, "model", lighter(env)),
    "data": replace_data,
    "frame_skip": lambda env: setattr(env, "frame_skip", 3),
    "init_qpos": lambda env: setattr(env, "init_qpos", env.init_qpos + 0.25),
    "init_qvel": lambda env: setattr(env, "init_qvel", env.init_qvel + 0.5),
    "init_qpos in place": lambda env: env.init_qpos.__iadd__(0.25),
    "exclusion": lambda env: setattr(env, "_exclude_current_positions_from_observation", False),
}


@pytest.mark.parametrize("name", REPLACED)
def test_replaced_attributes_work_as_in_gymnasium(name: str) -> None:
    ours, theirs = pair()
    for env in (ours, theirs):
        REPLACED[name](env)
    action = np.full(6, -0.4, np.float32)
    for _ in range(2):
        for _ in range(3):
            one, other = ours.step(action), theirs.step(action)
            assert same_bytes(one[0], other[0])
            assert one[1] == pytest.approx(other[1], abs=1e-12)
        assert same_bytes(ours.reset()[0], theirs.reset()[0])
    assert ours.np_random.random() == theirs.np_random.random()
    again = pickle.loads(pickle.dumps(ours))
    assert same_bytes(again.step(action), ours.step(action))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model", lambda: mujoco.MjModel.from_xml_string(MODEL.format(0.01))),
        ("data", lambda: mujoco.MjData(mujoco.MjModel.from_xml_string(MODEL.format(0.01)))),
        ("model", lambda: None),
        ("frame_skip", lambda: 0),
        ("frame_skip", lambda: 2**40),
        ("frame_skip", lambda: 1.5),
    ],
)
def test_what_does_not_fit_changes_nothing(name: str, value: Any) -> None:
    env, other = gym.make(ID).unwrapped, gym.make(ID).unwrapped
    env.reset(seed=1), other.reset(seed=1)
    with pytest.raises((error.InvalidArgument, error.FailedTypeCheck)):
        setattr(env, name, value())
    for _ in range(3):
        assert same_bytes(env.step(np.ones(6, np.float32)), other.step(np.ones(6, np.float32)))


def test_lanes_of_a_batch_have_them_in_common() -> None:
    envs = gym.make_vec(ID, num_envs=2)
    envs.reset(seed=1)
    with pytest.raises(AttributeError, match="shared by all lanes of a vector environment"):
        envs.call("unwrapped")[0].frame_skip = 2


class OwnError(Exception):
    """Exception that a callback raises."""


def fail(model: Any, data: Any) -> None:
    raise OwnError("from the callback")


def make_plain() -> Any:
    return Plain(MODEL.format(0.01))


@pytest.mark.parametrize(
    "make",
    [
        make_plain,
        lambda: gym.make(ID),
        lambda: gym.make_vec(ID, num_envs=3, vector_kwargs={"num_threads": 1}),
        lambda: gym.make_vec(ID, num_envs=40, vector_kwargs={"num_threads": 2}),
    ],
    ids=["plain", "single", "batch", "threads"],
)
def test_exceptions_of_callbacks_reach_the_caller(make: Any) -> None:
    env = make()
    env.reset(seed=1)
    action = np.zeros(env.action_space.shape, np.float32)
    try:
        mujoco.set_mjcb_control(fail)
        with pytest.raises(OwnError, match="from the callback") as caught:
            env.step(action)
        assert caught.traceback[-1].name == "fail"
        with pytest.raises(OwnError):
            env.reset()
    finally:
        mujoco.set_mjcb_control(None)
    env.reset(seed=1)
    env.step(action)
    env.close()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_states_that_are_not_finite(value: float, tmp_path: Path) -> None:
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        for env in (make_plain(), gym.make(ID).unwrapped):
            env.reset(seed=1)
            before = env.state_vector()
            qpos, qvel = env.init_qpos.copy(), env.init_qvel.copy()
            qvel[0] = value
            with pytest.raises(error.InvalidArgument, match="qvel: expected finite"):
                env.set_state(qpos, qvel)
            assert same_bytes(env.state_vector(), before)
        saved = utils.get_state(env)
        with pytest.raises(error.InvalidArgument, match="state: expected finite"):
            utils.set_state(env, np.full(len(saved), value))
        assert same_bytes(utils.get_state(env), saved)
        envs = gym.make_vec(ID, num_envs=2)
        envs.reset(seed=1)
        with pytest.raises(error.InvalidArgument, match="finite"):
            envs.set_attr("state", np.full(18, value))
        with pytest.raises(error.InvalidArgument, match="qpos: expected finite"):
            gym.make(ID).unwrapped.state = np.full(18, value)
    finally:
        os.chdir(here)
    assert list(tmp_path.iterdir()) == []


def test_warnings_of_states_are_not_written_to_a_log(tmp_path: Path) -> None:
    body = '<body pos="{0} 0 0"><freejoint/><geom size="1"/></body>'
    model = f"""<mujoco><size memory="40K"/><worldbody>
        {"".join(body.format(k / 100) for k in range(12))}</worldbody></mujoco>"""
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        with pytest.warns(UserWarning, match="MuJoCo"):
            env = Plain(model)
            env.set_state(env.init_qpos, env.init_qvel)
    finally:
        os.chdir(here)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["0", "-0.01", "1e-320"])
def test_time_steps_are_above_zero(step: str) -> None:
    with pytest.raises(BrokenModel, match="a time step above 0, got"):
        Plain(MODEL.format(step))


@pytest.mark.parametrize("frame_skip", [2**31, 2**70])
def test_frame_skips_are_possible(frame_skip: int) -> None:
    with pytest.raises(error.FailedCheck, match="frame_skip: expected at most 1000000"):
        Plain(MODEL.format(0.01), frame_skip)
    with pytest.raises(error.FailedCheck, match="frame_skip: expected at most 1000000"):
        gym.make(ID, frame_skip=frame_skip)
    env = make_plain()
    env.reset()
    with pytest.raises(error.FailedCheck, match="n_frames: expected at most 1000000"):
        env.do_simulation(np.zeros(1), frame_skip)


def test_models_without_actuators() -> None:
    model = MODEL.format(0.01).partition("<actuator>")[0] + "</mujoco>"
    with pytest.raises(error.InvalidArgument, match="a model without actuators"):
        gym.make("InvertedPendulum-v5", xml_file=model)
    with pytest.raises(error.InvalidArgument, match="a model without actuators"):
        gym.make("HalfCheetah-v5", xml_file=model)
    env = Plain(model)
    env.reset()
    assert env.step(np.zeros(0))[0].tolist() == [0.0, 0.0]
