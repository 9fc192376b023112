"""The tasks of the control suite: spaces, starts, batches, states and time limits."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.wrappers import AddRenderObservation
from gymcore.wrappers.vector import AddRenderObservation as VectorAddRenderObservation

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

IDS = sorted(env_id for env_id in gym.registry if env_id.startswith("dm_control/"))
# Tasks whose lanes write to models, draw until nothing penetrates, or have parts of their own.
VARIED = [
    *("ball_in_cup-catch", "cartpole-three_poles", "cheetah-run", "finger-turn_hard"),
    *("lqr-lqr_6_2", "manipulator-insert_peg", "point_mass-hard", "quadruped-fetch"),
    "reacher-easy",
]


def same(first: Any, second: Any) -> None:
    """Assert that two observations, or dicts of them, are equal."""
    if isinstance(first, dict):
        assert list(first) == list(second)
        for name in first:
            np.testing.assert_array_equal(first[name], second[name], name)
    else:
        np.testing.assert_array_equal(first, second)


def lane_of(observations: Any, lane: int) -> dict[str, Any]:
    return {name: rows[lane] for name, rows in observations.items()}


@pytest.mark.parametrize("env_id", IDS)
def test_observations_rewards_and_limits(env_id: str) -> None:
    env = gym.make(env_id)
    observation, info = env.reset(seed=1)
    assert info == {}
    assert env.observation_space.contains(observation)
    actions = np.random.RandomState(1).uniform(-1.0, 1.0, (3, *env.action_space.shape))
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        assert env.observation_space.contains(observation)
        assert info == {"discount": 1.0}
        assert not terminated and not truncated
        assert np.isfinite(reward)
    is_lqr = env_id.startswith("dm_control/lqr")
    assert is_lqr or 0.0 <= reward <= 1.0
    limit = None if is_lqr else 1000
    assert env.spec.max_episode_steps == env.unwrapped.default_max_episode_steps == limit
    assert env.action_space.dtype == np.float64


@pytest.mark.slow
@pytest.mark.parametrize("task", VARIED)
def test_batches_equal_single_environments_and_states_continue(task: str) -> None:
    env_id = f"dm_control/{task}-v0"
    envs = gym.make_vec(env_id, 3, num_threads=2)
    singles = [gym.make(env_id) for _ in range(3)]
    observations, _ = envs.reset(seed=5)
    for lane, env in enumerate(singles):
        same(env.reset(seed=5 + lane)[0], lane_of(observations, lane))
    shape = envs.action_space.shape
    actions = np.random.RandomState(1).uniform(-1.0, 1.0, (12, *shape))
    results, state = [], None
    for step, action in enumerate(actions):
        observations, rewards, *_ = envs.step(action)
        for lane, env in enumerate(singles):
            observation, reward, *_ = env.step(action[lane])
            same(observation, lane_of(observations, lane))
            assert reward == rewards[lane]
        if step == 5:
            state = envs.get_state()
        elif state is not None:
            results.append(rewards)
    results.append(envs.reset()[0])
    for other in (envs, gym.make_vec(env_id, 3), pickle.loads(pickle.dumps(envs))):
        other.reset(seed=99)
        other.set_state(state)
        for action, expected in zip(actions[6:], results[:-1], strict=True):
            np.testing.assert_array_equal(other.step(action)[1], expected)
        same(other.reset()[0], results[-1])


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_episodes_follow_each_other_in_one_stream(mode: str) -> None:
    env_id, limit = "dm_control/reacher-hard-v0", {"time_limit": 0.1}
    options = {"vector_kwargs": {"autoreset_mode": mode}, "task_kwargs": limit}
    envs = gym.make_vec(env_id, 2, flat_observation=True, **options)
    env = gym.make(env_id, flat_observation=True, task_kwargs=limit)
    observation, _ = env.reset(seed=4)
    observations, _ = envs.reset(seed=4)
    for _ in range(3):
        np.testing.assert_array_equal(observations[0], observation)
        truncated = False
        while not truncated:
            action = np.ones(2)
            observation, _, _, truncated, _ = env.step(action)
            observations, _, _, truncations, _ = envs.step(np.ones((2, 2)))
            assert truncated == truncations[0]
        observation, _ = env.reset()
        if mode == "NextStep":
            observations, *_ = envs.step(np.ones((2, 2)))


def test_arguments_of_the_original() -> None:
    env = gym.make(
        "dm_control/cartpole-three_poles-v0",
        task_kwargs={"num_poles": 2, "sparse": True, "time_limit": 0.5, "random": 3},
        environment_kwargs={"flat_observation": True, "n_sub_steps": 5, "legacy_step": False},
    )
    assert env.observation_space == gym.spaces.Box(-np.inf, np.inf, (8,), np.float64)
    first, _ = env.reset()
    np.testing.assert_array_equal(first, env.reset(seed=3)[0])
    steps = 0
    while not env.step(np.zeros(1))[3]:
        steps += 1
    assert steps + 1 == env.unwrapped.default_max_episode_steps == 10
    envs = gym.make_vec("dm_control/cartpole-three_poles-v0", 2, **env.spec.kwargs)
    np.testing.assert_array_equal(envs.reset()[0][0], first)
    assert envs.max_episode_steps == 10
    longer = gym.make(
        "dm_control/cartpole-balance-v0", environment_kwargs={"control_timestep": 0.02}
    )
    assert longer.unwrapped.dt == 0.02
    assert longer.spec.max_episode_steps == 500


def test_an_explicit_limit_is_used() -> None:
    arguments: dict[str, Any] = {"max_episode_steps": 3, "task_kwargs": {"time_limit": 5.0}}
    env = gym.make("dm_control/pendulum-swingup-v0", **arguments)
    env.reset(seed=1)
    assert [env.step(np.zeros(1))[3] for _ in range(3)] == [False, False, True]
    envs = gym.make_vec("dm_control/pendulum-swingup-v0", 2, **arguments)
    assert envs.max_episode_steps == 3
    for given, expected in ((None, 500), (1000, 1000), (-1, None)):
        arguments = {"max_episode_steps": given, "environment_kwargs": {"control_timestep": 0.04}}
        envs = gym.make_vec("dm_control/pendulum-swingup-v0", 2, **arguments)
        env = gym.make("dm_control/pendulum-swingup-v0", **arguments)
        limits = {each.spec.max_episode_steps for each in (env, envs, gym.make_vec(envs.spec))}
        assert limits == {envs.max_episode_steps} == {expected}


def test_discount_of_an_end() -> None:
    env = gym.make("dm_control/lqr-lqr_2_1-v0")
    env.reset(seed=1)
    env.unwrapped.state = np.full(4, 1e-9)
    *_, terminated, truncated, info = env.step(np.zeros(1))
    assert (terminated, truncated, info) == (True, False, {"discount": 0.0})


def test_springs_are_drawn_once_a_seed() -> None:
    env = gym.make("dm_control/lqr-lqr_2_1-v0")
    env.reset(seed=1)
    springs = env.unwrapped.model.jnt_stiffness.copy()
    assert springs[0] == np.random.RandomState(1).uniform(15.0, 25.0)
    env.reset()
    np.testing.assert_array_equal(env.unwrapped.model.jnt_stiffness, springs)
    env.reset(seed=2)
    assert (env.unwrapped.model.jnt_stiffness != springs).all()


def test_terrain_belongs_to_lanes_their_states_and_copies() -> None:
    env, action = gym.make("dm_control/quadruped-escape-v0").unwrapped, np.ones(12)
    envs = gym.make_vec("dm_control/quadruped-escape-v0", 2)
    first, _ = env.reset(seed=2)
    observations, _ = envs.reset(seed=1)
    same(first, lane_of(observations, 1))
    terrains = envs.get_attr("hfield_data")
    np.testing.assert_array_equal(terrains[1], env.model.hfield_data)
    assert terrains[0].dtype == np.float32 and not np.array_equal(*terrains)
    state, expected = envs.get_state(), envs.step(np.stack([action, action]))[0]
    assert (expected["rangefinder"] < 1.0).any()
    copied = pickle.loads(pickle.dumps(env))
    for other in (env, envs):
        other.reset()
    assert not np.array_equal(env.model.hfield_data, terrains[1])
    envs.set_state(state)
    np.testing.assert_array_equal(envs.get_attr("hfield_data"), terrains)
    same(envs.step(np.stack([action, action]))[0], expected)
    same(copied.step(action)[0], lane_of(expected, 1))
    np.testing.assert_array_equal(copied.model.hfield_data, terrains[1])
    numbers = state["state"]["numbers"]
    numbers[0, numbers[0] == terrains[0].max()] = 1e300
    with pytest.raises(error.InvalidArgument):
        envs.set_state(state)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode",
    [
        "SameStep",
        *(pytest.param(mode, marks=pytest.mark.soak) for mode in ("NextStep", "Disabled")),
    ],
)
def test_terrain_belongs_to_lanes_in_all_modes(mode: str) -> None:
    def make(threads: int) -> Any:
        return gym.make_vec(
            "dm_control/quadruped-escape-v0",
            3,
            max_episode_steps=3,
            vector_kwargs={"autoreset_mode": mode, "num_threads": threads},
        )

    def step(envs: Any, actions: Any) -> Any:
        observations, rewards, _, truncated, infos = envs.step(actions)
        if mode == "Disabled" and truncated.any():
            observations, _ = envs.reset(options={"reset_mask": truncated})
        last = infos["final_obs"].tolist() if "final_obs" in infos else []
        return observations, rewards, truncated, last, envs.get_attr("hfield_data")

    def compare(first: Any, second: Any) -> None:
        for one, other in zip(first, second, strict=True):
            if isinstance(one, (list, tuple)):
                compare(one, other)
            else:
                same(one, other)

    envs, threaded = make(1), make(2)
    same(envs.reset(seed=1)[0], threaded.reset(seed=1)[0])
    envs.action_space.seed(1)
    actions = envs.action_space.sample()
    compare(step(envs, actions), step(threaded, actions))
    for batch in (envs, threaded):
        batch.step_lanes(actions[:1], [0])  # which then ends before the others
    others = [threaded, copy.deepcopy(envs), make(2)]
    others[-1].reset(seed=99)
    others[-1].set_state(envs.get_state())
    for _ in range(4):
        actions = envs.action_space.sample()
        expected = step(envs, actions)
        for other in others:
            compare(expected, step(other, actions))
    envs.copy_lanes([0], [2])
    terrains = envs.get_attr("hfield_data")
    np.testing.assert_array_equal(terrains[0], terrains[2])
    assert not np.array_equal(terrains[0], terrains[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "size"), [("cartpole-balance", (84, 84)), ("reacher-easy", (40, 30))]
)
def test_pixels_of_all_cameras(
    task: str, size: tuple[int, int], drawing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUJOCO_GL", drawing)
    width, height = size
    frames = []
    model = gym.make(f"dm_control/{task}-v0").unwrapped.model
    for number in range(model.ncam):
        camera: dict[str, Any] = {"camera_id": number}
        if number == model.ncam - 1:
            camera = {"camera_name": model.camera(number).name}
        env: Any = gym.make(
            f"dm_control/{task}-v0", render_mode="rgb_array", width=width, height=height, **camera
        )
        env = AddRenderObservation(env, render_only=True)
        assert env.observation_space == gym.spaces.Box(0, 255, (height, width, 3), np.uint8)
        frames.append(env.reset(seed=1)[0])
        assert env.observation_space.contains(frames[-1])
        assert not np.array_equal(env.step(env.action_space.high)[0], frames[-1])
        env.close()
    assert len({frame.tobytes() for frame in frames}) == model.ncam > 1


@pytest.mark.slow
def test_frames_of_the_free_camera_depend_on_the_state(
    drawing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUJOCO_GL", drawing)
    arguments: dict[str, Any] = {"render_mode": "rgb_array", "width": 64, "height": 48}
    env_id = "dm_control/reacher-easy-v0"
    early, late = gym.make(env_id, **arguments), gym.make(env_id, **arguments)
    batch = gym.make_vec(env_id, 2, **arguments)
    early.reset(seed=1)
    early.render()
    batch.reset(seed=8)
    batch.render()
    for env in (early, late):
        env.reset(seed=2)
    batch.reset(seed=2)
    np.testing.assert_array_equal(early.render(), late.render())
    np.testing.assert_array_equal(batch.render()[0], late.render())
    camera, model = mujoco.MjvCamera(), late.unwrapped.model
    mujoco.mjv_defaultFreeCamera(model, camera)
    assert str(late.unwrapped.mujoco_renderer.viewer.cam) == str(camera)
    near = gym.make(env_id, **arguments, default_camera_config={"distance": 0.5})
    near.reset(seed=2)
    near.render()
    camera.distance = 0.5
    assert str(near.unwrapped.mujoco_renderer.viewer.cam) == str(camera)
    for each in (early, late, batch, near):
        each.close()


@pytest.mark.slow
def test_pixels_of_batches(drawing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", drawing)
    arguments: dict[str, Any] = {"render_mode": "rgb_array", "width": 32, "height": 24}
    arguments.update(camera_id=0, task_kwargs={"time_limit": 0.04})
    env_id = "dm_control/reacher-easy-v0"
    envs = gym.make_vec(env_id, 2, vector_kwargs={"autoreset_mode": "SameStep"}, **arguments)
    both = VectorAddRenderObservation(envs, render_only=False)
    env: Any = AddRenderObservation(gym.make(env_id, **arguments), render_only=False)
    first, _ = both.reset(seed=3)
    assert both.single_observation_space == env.observation_space
    assert set(first) == {"pixels", "position", "to_target", "velocity"}
    action = np.ones((2, 2))
    both.step(action)
    *_, truncated, infos = both.step(action)
    assert truncated.all()
    for lane in range(2):
        same(env.reset(seed=3 + lane)[0], lane_of(first, lane))
        env.step(action[lane])
        same(env.step(action[lane])[0], infos["final_obs"][lane])
    both.close()
    env.close()


def test_parameters_by_lane() -> None:
    envs = gym.make_vec("dm_control/cheetah-run-v0", 2)
    mass = envs.get_attr("body_mass")[0]
    envs.set_attr("body_mass", np.stack([mass, 2.0 * mass]))
    envs.reset(seed=[1, 1])
    observations, *_ = envs.step(np.ones((2, 6)))
    assert not np.array_equal(observations["velocity"][0], observations["velocity"][1])


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"task_kwargs": {"speed": 1}}, error.ArgumentTypeError, "task_kwargs: expected"),
        ({"task_kwargs": {"time_limit": 0}}, error.InvalidArgument, "time_limit: expected more"),
        ({"environment_kwargs": {"steps": 1}}, error.ArgumentTypeError, "environment_kwargs: exp"),
        (
            {"environment_kwargs": {"n_sub_steps": 1, "control_timestep": 0.01}},
            error.InvalidArgument,
            "expected n_sub_steps or control_timestep, got both",
        ),
        (
            {"environment_kwargs": {"control_timestep": 0.015}},
            error.InvalidArgument,
            "control_timestep: expected a multiple of",
        ),
        ({"task": "fly"}, error.InvalidArgument, "task: expected one of"),
        ({"task_kwargs": {"random": "x"}}, error.ArgumentTypeError, "Seed must be"),
        ({"task_kwargs": {"random": -1}}, error.InvalidArgument, "Seed must be"),
    ],
)
def test_errors(arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        gym.make("dm_control/cartpole-balance-v0", **arguments)


@pytest.mark.parametrize(
    ("field", "value"),
    [("words", 0), ("used", 625), ("has_gauss", 2), ("gauss", np.nan), ("gauss", -np.inf)],
)
def test_states_with_impossible_streams_are_refused(field: str, value: float) -> None:
    """From words that are all zero, normal numbers would be drawn forever."""
    stream = np.dtype(
        [("words", "u4", 624), ("used", "u4"), ("has_gauss", "u4"), ("gauss", "f8")], align=True
    )
    envs: Any = gym.make_vec("dm_control/ball_in_cup-catch-v0", 2)
    envs.reset(seed=1)
    state = envs.get_state()
    before = state.copy()
    state["state"]["random_state"].view(stream)[field][1] = value
    with pytest.raises(error.InvalidArgument):
        envs.set_state(state)
    assert envs.get_state().tobytes() == before.tobytes()
    fresh = copy.deepcopy(gym.make_vec("dm_control/ball_in_cup-catch-v0", 2))
    fresh.reset(seed=1)
    assert fresh.get_state().tobytes() == before.tobytes()
