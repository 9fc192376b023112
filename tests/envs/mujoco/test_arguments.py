"""Arguments, attributes and models of the MuJoCo environments, compared with Gymnasium's."""

from __future__ import annotations

import copy
import pickle
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import gymnasium.envs.mujoco.half_cheetah_v5
import gymnasium.envs.mujoco.humanoid_v5
import gymnasium.envs.mujoco.utils as their_utils
import numpy as np
import pytest

import gymcore
from gymcore import error

pytest.importorskip("mujoco", reason="mujoco is not installed")

from gymcore.envs.mujoco import utils
from gymcore.envs.mujoco.ant_v5 import AntEnv
from gymcore.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv
from gymcore.envs.mujoco.hopper_v5 import HopperEnv
from gymcore.envs.mujoco.inverted_pendulum_v5 import InvertedPendulumEnv
from tests.envs.mujoco.pairs import assert_same_steps, pair

ASSETS = Path(gymcore.__file__).parent / "envs" / "mujoco" / "assets"
INF = float("inf")
ALL = "exclude_current_positions_from_observation"

ARGUMENTS: list[tuple[str, dict[str, Any]]] = [
    ("Ant-v4", {"use_contact_forces": True, "contact_cost_weight": 0.01, ALL: False}),
    ("Ant-v4", {"terminate_when_unhealthy": False, "contact_force_range": (-0.1, 0.2)}),
    ("Ant-v4", {"ctrl_cost_weight": 0, "healthy_z_range": (0.5, 0.7), "healthy_reward": 2}),
    ("Ant-v5", {"main_body": "front_left_leg", "forward_reward_weight": 2}),
    ("Ant-v5", {"main_body": 3, ALL: False, "include_cfrc_ext_in_observation": False}),
    ("Ant-v5", {"contact_force_range": (-5, 7), "contact_cost_weight": 0.3, "frame_skip": 3}),
    ("HalfCheetah-v4", {"reset_noise_scale": 0, "ctrl_cost_weight": 1, ALL: False}),
    ("HalfCheetah-v5", {"forward_reward_weight": 0.3, "reset_noise_scale": 0.5, ALL: False}),
    ("HalfCheetah-v5", {"xml_file": str(ASSETS / "walker2d.xml"), "frame_skip": 2}),
    ("Hopper-v4", {"terminate_when_unhealthy": False, ALL: False, "healthy_reward": 3}),
    ("Hopper-v5", {"healthy_state_range": (-1, 1), "healthy_angle_range": (-INF, INF)}),
    ("Hopper-v5", {"terminate_when_unhealthy": False, ALL: False, "ctrl_cost_weight": 0.5}),
    ("Humanoid-v4", {"terminate_when_unhealthy": False, ALL: False, "ctrl_cost_weight": 2}),
    ("Humanoid-v5", {"contact_cost_range": (0.001, 0.002), "contact_cost_weight": 1e-3}),
    (
        "Humanoid-v5",
        {"include_cinert_in_observation": False, "include_cfrc_ext_in_observation": False},
    ),
    (
        "Humanoid-v5",
        {
            "include_cvel_in_observation": False,
            "include_qfrc_actuator_in_observation": False,
            ALL: False,
            "terminate_when_unhealthy": False,
        },
    ),
    ("HumanoidStandup-v5", {"uph_cost_weight": 5, "impact_cost_weight": 0.1, "frame_skip": 2}),
    ("HumanoidStandup-v5", {"include_cvel_in_observation": False, ALL: False}),
    ("InvertedDoublePendulum-v5", {"healthy_reward": 3.0, "reset_noise_scale": 0.01}),
    ("InvertedPendulum-v5", {"reset_noise_scale": 0.3, "frame_skip": 4}),
    ("Pusher-v5", {"reward_near_weight": 2, "reward_dist_weight": 3, "reward_control_weight": 1}),
    ("Reacher-v5", {"reward_dist_weight": 2, "reward_control_weight": 0.1, "frame_skip": 5}),
    ("Swimmer-v4", {"forward_reward_weight": 3, ALL: False}),
    ("Swimmer-v5", {"ctrl_cost_weight": 0.1, ALL: False, "default_camera_config": None}),
    ("Walker2d-v4", {"healthy_z_range": (1.1, 1.3), "reset_noise_scale": 0.05}),
    ("Walker2d-v5", {"healthy_angle_range": (-0.1, 0.1), ALL: False}),
    ("Walker2d-v5", {"xml_file": str(ASSETS / "walker2d.xml"), "healthy_reward": 0.1}),
]


@pytest.fixture(autouse=True)
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Suppress version 4's warnings, and let MuJoCo write its log in a temporary folder."""
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*out of date")
        yield


@pytest.mark.parametrize(("env_id", "kwargs"), ARGUMENTS)
def test_arguments_do_what_they_do_in_gymnasium(env_id, kwargs):
    ours, other = pair(env_id, **kwargs)
    assert str(ours.observation_space) == str(other.observation_space)
    assert ours.dt == other.dt if hasattr(ours, "dt") else True
    structure = getattr(other.unwrapped, "observation_structure", None)
    assert getattr(ours.unwrapped, "observation_structure", None) == structure
    assert_same_steps(ours, other, steps=30)


@pytest.mark.parametrize(
    ("env_id", "names", "methods"),
    [
        ("Ant-v4", ["is_healthy", "healthy_reward", "terminated", "contact_cost"], True),
        ("Ant-v5", ["is_healthy", "healthy_reward", "contact_cost", "contact_forces"], True),
        ("HalfCheetah-v5", ["_forward_reward_weight", "_reset_noise_scale"], True),
        ("Hopper-v4", ["is_healthy", "healthy_reward", "terminated"], True),
        ("Hopper-v5", ["is_healthy", "healthy_reward", "_healthy_state_range"], True),
        ("Humanoid-v4", ["is_healthy", "healthy_reward", "terminated"], True),
        ("Humanoid-v5", ["is_healthy", "healthy_reward", "contact_cost"], True),
        ("HumanoidStandup-v5", ["_impact_cost_range", "_uph_cost_weight"], False),
        ("Swimmer-v5", ["_ctrl_cost_weight"], True),
        ("Walker2d-v5", ["is_healthy", "healthy_reward", "_terminate_when_unhealthy"], True),
    ],
)
def test_attributes_read_as_in_gymnasium(env_id, names, methods):
    ours, other = (env.unwrapped for env in pair(env_id))
    for env in (ours, other):
        env.reset(seed=2)
    action = np.full(other.action_space.shape, 0.3)
    for _ in range(12):
        for env in (ours, other):
            env.step(action)
        for name in names:
            np.testing.assert_allclose(getattr(ours, name), getattr(other, name), rtol=1e-12)
        if methods:
            costs = (env.control_cost(action) for env in (ours, other))
            np.testing.assert_allclose(next(costs), next(costs), rtol=1e-12)
    np.testing.assert_array_equal(ours._get_obs(), other._get_obs())
    np.testing.assert_array_equal(ours.state_vector(), other.state_vector())
    mine, its = ours._get_reset_info(), other._get_reset_info()
    assert list(mine) == list(its)
    for key, value in its.items():
        np.testing.assert_allclose(mine[key], value, rtol=1e-12)


def test_the_center_of_mass_is_gymnasiums():
    from gymcore.envs.mujoco import humanoid_v4, humanoid_v5

    ours, other = (env.unwrapped for env in pair("Humanoid-v5"))
    ours.reset(seed=3)
    there = gymnasium.envs.mujoco.humanoid_v5.mass_center(ours.model, ours.data)
    for module in (humanoid_v4, humanoid_v5):
        np.testing.assert_array_equal(module.mass_center(ours.model, ours.data), there)
    center = ours.value_of(humanoid_v5.center_of_mass)
    np.testing.assert_array_equal(center, there)
    other.close()


# --- weights -------------------------------------------------------------------------------------


def test_weights_can_be_set_by_both_names():
    env = HopperEnv(healthy_reward=2.0)
    env.reset(seed=1)
    assert (env.healthy_reward, env._healthy_reward) == (2.0, 2.0)
    env._healthy_reward = 5
    env.ctrl_cost_weight = 0.0
    env.healthy_z_range = (3.0, 4.0)
    assert env._healthy_z_range == (3.0, 4.0)
    assert not env.is_healthy
    assert (env.healthy_reward, env._healthy_reward) == (0.0, 5.0)
    assert env.step(np.zeros(3))[2]
    env._terminate_when_unhealthy = False
    assert env._terminate_when_unhealthy is False
    assert not env.step(np.zeros(3))[2]
    for one in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):
        assert (one._healthy_reward, one._healthy_z_range) == (5.0, (3.0, 4.0))


@pytest.mark.parametrize(
    "task", ["Ant", "Hopper", "Humanoid", "InvertedDoublePendulum", "Walker2d"]
)
def test_weights_can_be_read_by_the_names_that_set_them(task):
    envs = gymcore.make_vec(f"{task}-v5", 2)
    envs.reset(seed=1)
    for name in envs.env_class.parameters:
        values = envs.get_attr(name)
        envs.set_attr(name, list(values))
        assert envs.get_attr(name) == values
    envs.set_attr("healthy_reward", [3.0, 4.0])
    assert envs.get_attr("_healthy_reward") == envs.get_attr("healthy_reward") == (3.0, 4.0)


def test_weights_of_lanes_may_differ():
    envs = gymcore.make_vec(
        "Hopper-v5",
        num_envs=3,
        healthy_reward=[1.0, 2.0, 3.0],
        terminate_when_unhealthy=[True, True, False],
        healthy_z_range=[(0.7, INF), (2.0, 3.0), (2.0, 3.0)],
        frame_skip=2,
    )
    envs.reset(seed=0)
    *_, terminated, _, infos = envs.step(np.zeros((3, 3), np.float32))
    assert terminated.tolist() == [False, True, False]
    assert infos["reward_survive"].tolist() == [1.0, 0.0, 0.0]
    assert envs.get_attr("is_healthy") == (True, False, False)
    assert envs.get_attr("healthy_reward") == (1.0, 0.0, 0.0)
    assert envs.get_attr("_healthy_reward") == (1.0, 2.0, 3.0)
    assert envs.get_attr("frame_skip") == (2, 2, 2)
    envs.set_attr("_healthy_reward", [4.0, 5.0, 6.0])
    envs.set_attr("healthy_z_range", (0.1, 9.0))
    assert envs.get_attr("healthy_reward") == (4.0, 5.0, 6.0)
    assert envs.call("control_cost", np.ones(3)) == (0.003, 0.003, 0.003)
    envs.close()


def test_a_weight_that_a_class_fixes_is_no_argument():
    env = gymcore.make("Reacher-v4").unwrapped
    assert env.reward_dist_weight == env._reward_dist_weight == 1.0
    with pytest.raises(
        AttributeError, match=r"reward_dist_weight: ReacherEnv fixes its value at 1"
    ):
        env._reward_dist_weight = 2.0
    with pytest.raises(error.ArgumentTypeError, match="'reward_dist_weight'"):
        type(env)(reward_dist_weight=2.0)
    with pytest.raises(error.ArgumentTypeError, match="reward_dist_weight"):
        gymcore.make_vec("Reacher-v4", reward_dist_weight=2.0)


@pytest.mark.parametrize(
    ("kwargs", "kind", "builtin", "words"),
    [
        ({"bad": 1}, error.ArgumentTypeError, TypeError, "unexpected .*'bad'"),
        ({"xml_file": "no.xml"}, error.Error, OSError, "File .*no.xml does not exist"),
        ({"xml_file": "/no.xml"}, error.Error, OSError, "File /no.xml does not exist"),
        ({"reset_noise_scale": -1}, error.InvalidArgument, ValueError, "reset_noise_scale: .*-1"),
        ({"frame_skip": 0}, error.InvalidArgument, ValueError, "frame_skip: .*at least 1, got 0"),
        ({"frame_skip": 2.5}, error.ArgumentTypeError, TypeError, "frame_skip: .*2.5"),
        ({"main_body": "nose"}, error.InvalidArgument, KeyError, "body: .*'nose'. Valid names"),
        ({"main_body": 99}, error.InvalidArgument, ValueError, "one of 14 rows of .*got 99"),
        ({"main_body": 1.5}, error.ArgumentTypeError, TypeError, "body: .* got 1.5"),
        ({"healthy_z_range": 3}, error.ArgumentTypeError, TypeError, "healthy_z_range: .*got 3"),
        ({"ctrl_cost_weight": "a"}, error.ArgumentTypeError, TypeError, "ctrl_cost_weight: .*'a'"),
        ({"ctrl_cost_weight": float("nan")}, error.InvalidArgument, ValueError, "ctrl_cost_weight"),
    ],
)
@pytest.mark.parametrize("make", [AntEnv, lambda **given: gymcore.make_vec("Ant-v5", **given)])
def test_bad_arguments_are_named(make, kwargs, kind, builtin, words):
    with pytest.raises(kind, match=words) as caught:
        make(**kwargs)
    assert isinstance(caught.value, builtin) or "unexpected" in words


# --- models --------------------------------------------------------------------------------------


def test_a_model_of_the_users_own_may_be_anywhere(tmp_path):
    shutil.copy(ASSETS / "half_cheetah.xml", tmp_path / "mine.xml")
    observations = []
    for path in ("./mine.xml", str(tmp_path / "mine.xml"), "half_cheetah.xml"):
        envs = gymcore.make_vec("HalfCheetah-v5", 2, xml_file=path, default_camera_config=None)
        observations.append(envs.reset(seed=1)[0])
        env = gymcore.make("HalfCheetah-v5", xml_file=path)
        np.testing.assert_array_equal(env.reset(seed=2)[0], observations[-1][1])
    np.testing.assert_array_equal(observations[0], observations[2])
    np.testing.assert_array_equal(observations[1], observations[2])
    assert not (tmp_path / "MUJOCO_LOG.TXT").exists()


def test_a_humanoid_without_tendons(tmp_path):
    text = (ASSETS / "humanoid.xml").read_text()
    begin, end = text.index("<tendon>"), text.index("</tendon>") + len("</tendon>")
    (tmp_path / "stiff.xml").write_text(text[:begin] + text[end:])
    ours, other = pair("Humanoid-v5", xml_file=str(tmp_path / "stiff.xml"))
    assert_same_steps(ours, other, steps=40)
    envs = gymcore.make_vec("Humanoid-v5", 2, xml_file="./stiff.xml")
    assert envs.reset(seed=1)[1]["tendon_length"].shape == (2, 0)


# --- subclasses and utilities --------------------------------------------------------------------


def test_a_subclass_may_replace_resets_and_observations():
    def standing(base: type) -> Any:
        class Standing(base):
            def reset_model(self):
                start = self.init_qpos + self.np_random.uniform(-0.3, 0.3, self.model.nq)
                self.set_state(start, self.init_qvel)
                return self._get_obs()

            def _get_obs(self):
                return np.concatenate([super()._get_obs(), [self.data.time]])

        return Standing()

    ours = standing(HalfCheetahEnv)
    other = standing(gymnasium.envs.mujoco.half_cheetah_v5.HalfCheetahEnv)
    assert_same_steps(ours, other, steps=20)


def test_a_subclass_may_replace_steps():
    def backward(base: type) -> Any:
        class Backward(base):
            def step(self, action):
                before = self.data.qpos[0]
                self.do_simulation(action, self.frame_skip)
                reward = (before - self.data.qpos[0]) / self.dt - self.control_cost(action)
                return self._get_obs(), reward, False, False, {}

        return Backward()

    ours = backward(HalfCheetahEnv)
    other = backward(gymnasium.envs.mujoco.half_cheetah_v5.HalfCheetahEnv)
    assert_same_steps(ours, other, steps=20)


@pytest.mark.parametrize(
    "name",
    [
        *("Ant", "HalfCheetah", "Hopper", "Humanoid", "HumanoidStandup", "InvertedDoublePendulum"),
        *("Pusher", "Reacher", "Swimmer", "Walker2d"),
    ],
)
def test_a_subclass_may_replace_rewards(name):
    def shaped(base: type) -> Any:
        class Shaped(base):
            def _get_rew(self, *arguments):
                reward, terms = super()._get_rew(*arguments)
                self.arguments = arguments
                return 2 * reward + float(np.sum(arguments[0])), {**terms, "reward": reward}

        return Shaped()

    ours, other = (shaped(type(gym.make(f"{name}-v5").unwrapped)) for gym in (gymcore, gymnasium))
    assert_same_steps(ours, other, steps=20)
    for one, expected in zip(ours.arguments, other.arguments, strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-6)
    with pytest.raises(error.InvalidArgument, match="_get_rew: expected the arguments of this"):
        ours._get_rew(*(np.add(argument, 1) for argument in ours.arguments))


def test_a_subclass_that_would_not_be_asked_is_refused():
    with pytest.raises(error.Error, match=r"Odd\._get_rew: never called"):

        class Odd(InvertedPendulumEnv):
            def _get_rew(self, action):
                return 0.0, {}


def test_a_state_may_be_set_before_the_first_reset():
    ours, other = (env.unwrapped for env in pair("Hopper-v5"))
    for env in (ours, other):
        env.set_state(qpos=env.init_qpos, qvel=env.init_qvel + 0.1)
    action = np.full(3, 0.2)
    for mine, its in zip(ours.step(action)[:2], other.step(action)[:2], strict=True):
        np.testing.assert_array_equal(mine, its)


def test_utilities_save_and_check_states():
    env = gymcore.make("Humanoid-v5")
    assert utils.check_mujoco_reset_state(env) is None
    env.reset(seed=1)
    state = utils.get_state(env)
    np.testing.assert_array_equal(state, their_utils.get_state(env))
    action = env.action_space.sample()
    first = env.step(action)[0]
    utils.set_state(env, state)
    assert (utils.get_state(env) == state).all()
    second = env.step(action)[0]
    np.testing.assert_allclose(second[:45], first[:45], rtol=1e-9, atol=1e-9)
    with pytest.raises(error.ArgumentTypeError, match=r"state: expected a float64 .*\(3,\)"):
        utils.set_state(env, state[:3])

    class Drifting(HopperEnv):
        resets = 0

        def reset_model(self):
            observation = super().reset_model()
            self.resets += 1
            self.data.time = self.resets
            return observation

    with pytest.raises(AssertionError, match="reset is not deterministic"):
        utils.check_mujoco_reset_state(Drifting())


@pytest.mark.parametrize(
    "action", [0.1, [0.1], np.zeros(()), np.zeros(2), np.zeros((1, 3)), np.zeros((3, 1))]
)
def test_actions_of_another_shape(action):
    messages = []
    for env in pair("Hopper-v5"):
        env.reset()
        with pytest.raises(ValueError, match="Action dimension mismatch") as caught:
            env.step(action)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
