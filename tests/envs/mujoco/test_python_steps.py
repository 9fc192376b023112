"""Subclasses that override a part of a compiled step: they step in Python, as Gymnasium's do."""

from __future__ import annotations

import copy
import inspect
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.native.vector_env import NativeVectorEnv

pytest.importorskip("mujoco")

pytestmark = pytest.mark.filterwarnings("ignore:.*out of date")


def overridden(base: Any, name: str) -> Any:
    """Return a member of a subclass that changes what the base's one does."""
    if name in ("do_simulation", "_step_mujoco_simulation"):
        method = getattr(base, name)
        return lambda self, ctrl, n: method(self, np.asarray(ctrl) * 0.5, n + 1)
    if name == "control_cost":
        return lambda self, action: 2.0 * base.control_cost(self, action) + 1
    if name == "get_body_com":
        return lambda self, body: 1.1 * base.get_body_com(self, body) + 0.01
    if name == "state_vector":
        return lambda self: base.state_vector(self) + np.float64(300.0) * (self.data.qpos[0] > 0.02)
    if name == "healthy_reward":
        return property(lambda self: super(type(self), self).healthy_reward * 2.0 + 0.25)
    read = getattr(base, name).fget
    if name == "contact_forces":
        return property(lambda self: 1.5 * read(self) + 0.01)
    if name == "contact_cost":
        return property(lambda self: read(self) + 0.5)
    if name == "is_healthy":
        return property(lambda self: bool(read(self)) and self.data.qpos[0] < 0.02)
    return property(lambda self: read(self) or self.data.qpos[0] > 0.02)  # terminated


OVERRIDES = {
    "Ant-v5": "is_healthy control_cost contact_cost do_simulation contact_forces healthy_reward "
    "state_vector contact_forces+contact_cost healthy_reward+is_healthy state_vector+is_healthy",
    "Ant-v4": "is_healthy control_cost contact_cost terminated contact_forces get_body_com "
    "healthy_reward+is_healthy terminated+is_healthy state_vector",
    "HalfCheetah-v4": "control_cost do_simulation",
    "Hopper-v5": "is_healthy control_cost _step_mujoco_simulation healthy_reward state_vector",
    "Hopper-v4": "terminated state_vector healthy_reward",
    "Walker2d-v5": "healthy_reward",
    "Humanoid-v5": "is_healthy control_cost contact_cost do_simulation healthy_reward",
    "Humanoid-v4": "healthy_reward",
    "Swimmer-v5": "control_cost",
    "Reacher-v5": "do_simulation get_body_com",
    "Reacher-v4": "get_body_com",
    "Pusher-v5": "get_body_com",
    "InvertedDoublePendulum-v5": "_step_mujoco_simulation",
}


ANT_V4_FORCES = ("Ant-v4", "contact_forces")


@pytest.mark.slow
@pytest.mark.parametrize(
    "env_id, name",
    [(env_id, name) for env_id, names in OVERRIDES.items() for name in names.split()],
)
def test_overrides_are_used_as_in_gymnasium(env_id: str, name: str) -> None:
    names = name.split("+")
    keywords: Any = {"use_contact_forces": True} if (env_id, name) == ANT_V4_FORCES else {}
    bases = [type(gym.make(env_id).unwrapped) for gym in (gymcore, gymnasium)]
    with pytest.warns(UserWarning, match=rf"Mine\.{min(names)}: .*steps in Python"):
        cls: Any = type("Mine", (bases[0],), {n: overridden(bases[0], n) for n in names})
    ours = cls(**keywords)
    cls = type("Mine", (bases[1],), {n: overridden(bases[1], n) for n in names})
    theirs = cls(**keywords)
    for dtype in (np.float32, np.float64):
        np.testing.assert_array_equal(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
        random = np.random.default_rng(1)
        for _ in range(30):
            action = random.uniform(-0.4, 0.4, theirs.action_space.shape).astype(dtype)
            results, expected = ours.step(action), theirs.step(action)
            np.testing.assert_array_equal(results[0], expected[0])
            assert results[1] == pytest.approx(expected[1], abs=1e-12)
            assert results[2:4] == expected[2:4]
            assert results[4].keys() == expected[4].keys()
            for key, value in expected[4].items():
                np.testing.assert_allclose(results[4][key], value, rtol=1e-12, atol=1e-12)
    again = copy.deepcopy(ours)
    np.testing.assert_array_equal(again.step(action)[0], ours.step(action)[0])


@pytest.mark.filterwarnings("ignore:.*steps in Python")
@pytest.mark.parametrize("env_id", ["Ant-v4", "HalfCheetah-v5", "Humanoid-v5"])
@pytest.mark.parametrize("cost_type", [None, np.float32, np.float64])
def test_a_pasted_control_cost_has_its_type(env_id: str, cost_type: Any) -> None:
    def control_cost(self: Any, action: Any) -> Any:
        cost = self._ctrl_cost_weight * np.sum(np.square(action))
        return cost if cost_type is None else cost_type(cost)

    results = []
    for gym in (gymcore, gymnasium):
        base: Any = type(gym.make(env_id).unwrapped)
        env = type("Mine", (base,), {"control_cost": control_cost})()
        env.reset(seed=3)
        space = env.action_space
        actions = np.linspace(space.low, space.high, 4, dtype=np.float32)
        results.append([env.step(a) for a in (*actions, *actions.astype(np.float64))])
        env.close()
    for ours, theirs in zip(*results, strict=True):
        cost, expected = ours[4]["reward_ctrl"], theirs[4]["reward_ctrl"]
        assert (type(cost), cost) == (type(expected), expected)
        assert type(ours[1]) is type(theirs[1])


@pytest.mark.filterwarnings("ignore:.*steps in Python")
def test_what_such_a_class_refuses() -> None:
    base = type(gymcore.make("Ant-v5").unwrapped)
    cls: Any = type("Mine", (base,), {"control_cost": lambda self, action: 0.0})
    env = cls()
    with pytest.raises(error.ResetNeeded):
        env.step(np.zeros(8))
    env.reset(seed=1)
    with pytest.raises(error.InvalidAction, match="Expected \\(8,\\), found \\(3,\\)"):
        env.step(np.zeros(3))
    with pytest.raises(error.InvalidArgument, match="Mine: expected a class that compiled code"):
        NativeVectorEnv.of(cls)(2)


def reacher(gym: Any, model: str, **members: Any) -> Any:
    """Return a Reacher whose constructor loads a model of its own by `MujocoEnv.__init__`."""
    base = type(gym.make("Reacher-v5").unwrapped)
    mujoco_env = next(cls for cls in base.__mro__ if cls.__name__ == "MujocoEnv")

    def make(self: Any, **keywords: Any) -> None:
        space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float64)
        self._reward_dist_weight = 2.0
        mujoco_env.__init__(self, model, 2, observation_space=space, **keywords)

    def reset_model(self: Any) -> Any:
        noise = self.np_random.uniform(-0.1, 0.1, self.model.nq)
        self.set_state(self.init_qpos + noise, self.init_qvel)
        return self._get_obs()

    def step(self: Any, action: Any) -> Any:
        self._step_mujoco_simulation(action, self.frame_skip)
        return self._get_obs(), self._reward_dist_weight, False, False, {}

    def observe(self: Any) -> Any:
        return np.concatenate([self.data.qpos[:2], self.data.qvel[:2]])

    own = {"reset_model": reset_model, "step": step, "_get_obs": observe}
    return type("Mine", (base,), {"__init__": make, **own, **members})


def test_a_model_of_its_own(tmp_path: Path) -> None:
    model = tmp_path / "two_joints.xml"
    links = '<body><joint name="{}" type="hinge" axis="0 0 1"/><geom size="0.1"/></body>'
    motors = '<motor joint="a" ctrlrange="-1 1"/><motor joint="b" ctrlrange="-1 1"/>'
    bodies = "".join(links.format(name) for name in "ab")
    model.write_text(
        f'<mujoco><option timestep="0.01"/><worldbody>{bodies}</worldbody>'
        f"<actuator>{motors}</actuator></mujoco>"
    )
    ours, theirs = (reacher(gym, str(model))() for gym in (gymcore, gymnasium))
    for seed in (1, None):
        for results in zip(ours.reset(seed=seed), theirs.reset(seed=seed), strict=True):
            np.testing.assert_equal(*results)
        for _ in range(5):
            results, expected = (env.step(np.array([0.5, -0.2])) for env in (ours, theirs))
            np.testing.assert_equal(results, expected)
    assert ours.observation_space.shape == (4,)
    again = copy.deepcopy(ours)
    np.testing.assert_equal(again.step(np.ones(2)), ours.step(np.ones(2)))
    base = type(gymcore.make("Reacher-v5").unwrapped)
    calls = reacher(gymcore, str(model), step=lambda self, action: base.step(self, action))()
    calls.reset(seed=1)
    with pytest.raises(error.Error, match=r"Mine\.step: calls the described step"):
        calls.step(np.zeros(2))


@pytest.mark.filterwarnings("ignore:.*steps in Python")
def test_an_override_that_returns_another_count_of_numbers() -> None:
    base = type(gymcore.make("Reacher-v5").unwrapped)
    cls: Any = type("Mine", (base,), {"get_body_com": lambda self, body: np.zeros(2)})
    with pytest.raises(error.InvalidArgument, match=r"get_body_com: expected 3 numbers, got shape"):
        cls().reset(seed=1)


def with_source(package: Any, env_id: str, leave_out: str = "", only: str = "") -> Any:
    """Return a subclass that repeats the source of one or all but one of Gymnasium's methods."""
    theirs = type(gymnasium.make(env_id).unwrapped)
    names = dict(vars(inspect.getmodule(theirs)))
    if package is gymcore:
        names |= {theirs.__name__: type(gymcore.make(env_id).unwrapped), "utils": gymcore.utils}
        names |= {"MujocoEnv": gymcore.envs.mujoco.MujocoEnv, "Box": gymcore.spaces.Box}
    members: list[Any] = [
        getattr(value, "fget", value) for name, value in vars(theirs).items() if name != leave_out
    ]
    sources = [
        inspect.getsource(member)
        for member in members
        if inspect.isfunction(member) and only in ("", member.__name__)
    ]
    exec("\n".join([f"class Mine({theirs.__name__}):\n    pass\n", *sources]), names)
    return names["Mine"]


@pytest.mark.filterwarnings("ignore:.*steps in Python")
@pytest.mark.parametrize("leave_out", ["", "__init__", "step"])
@pytest.mark.parametrize("name", ["Ant", "HalfCheetah", "Hopper", "InvertedPendulum", "Swimmer"])
def test_classes_that_repeat_the_source_of_gymnasium(name: str, leave_out: str) -> None:
    if leave_out == "step" and name == "InvertedPendulum":
        leave_out = "__init__"  # no other method is called
    ours, theirs = (
        with_source(package, f"{name}-v5", leave_out)() for package in (gymcore, gymnasium)
    )
    structure = getattr(theirs, "observation_structure", None)
    assert structure is None or ours.observation_structure == structure
    for seed in (1, 2):
        np.testing.assert_array_equal(ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0])
        theirs.action_space.seed(seed)
        for _ in range(20):
            action = theirs.action_space.sample()
            results = ours.step(action), theirs.step(action)
            np.testing.assert_array_equal(results[0][0], results[1][0])
            assert results[0][1:3] == results[1][1:3]


def test_a_step_that_asks_for_the_reward_of_another() -> None:
    env = with_source(gymcore, "Ant-v5", only="step")()
    env.reset(seed=1)
    with pytest.raises(error.Error, match=r"Mine\._get_rew: knows only the reward of the comp"):
        env.step(env.action_space.sample())


def test_the_structure_follows_a_description_that_is_compiled_again() -> None:
    env: Any = gymcore.make("Ant-v5").unwrapped
    before = env.observation_structure
    env._exclude_current_positions_from_observation = False
    assert env.observation_structure == {**before, "skipped_qpos": 0, "qpos": before["qpos"] + 2}
