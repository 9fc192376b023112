"""Vector environments over actors equal those of one process; effects of faults.

Behavior shared with the other engines is in tests/vector/test_contract*.py, with backend "ray".
"""

from __future__ import annotations

import copy
import os
import signal
import time

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.distributed import RayVectorEnv
from gymcore.distributed.vector_env import joined, joined_infos
from gymcore.spaces import Dict, Discrete, Text, Tuple
from gymcore.spaces.layouts import layout_of
from tests.testing_env import assert_same, make_random_env


def on_ray(env_id, num_envs, **options):
    return gym.make_vec(env_id, num_envs, "ray", options)


def test_batches_are_joined():
    space = Dict(x=Discrete(3), y=Tuple([Text(2), Discrete(2)]))
    parts = [
        {"x": np.array([0, 1]), "y": (("a", "b"), np.array([1, 0]))},
        {"x": np.array([2]), "y": (("c",), np.array([1]))},
    ]
    whole = joined(layout_of(space), parts)
    assert_same(whole, {"x": np.array([0, 1, 2]), "y": (("a", "b", "c"), np.array([1, 0, 1]))})


def test_infos_are_joined():
    bounds = [(0, 2), (2, 3)]
    yes, no = np.array([True, False]), np.array([False])
    text = np.array(["a", None], object)
    infos = joined_infos(
        [
            {"n": np.array([1, 0]), "_n": yes, "t": text, "_t": yes, "d": {"x": np.ones((2, 2))}},
            {"n": np.array([2.5]), "_n": ~no, "d": {"x": np.zeros((1, 3))}},
        ],
        bounds,
    )
    assert_same(infos["n"], np.array([1.0, 0.0, 2.5]))
    assert_same(infos["_n"], np.array([True, False, True]))
    assert_same(infos["t"], np.array(["a", None, None], object))
    assert_same(infos["_t"], np.array([True, False, False]))
    assert [row.tolist() for row in infos["d"]["x"]] == [[1, 1], [1, 1], [0, 0, 0]]
    assert joined_infos([{}, {}], bounds) == {}


@pytest.mark.parametrize(
    ("env_id", "mode"),
    [("CartPole-v1", "SameStep"), ("Pendulum-v1", "NextStep"), ("Blackjack-v1", "SameStep"),
     ("Taxi-v4", "NextStep")],
)  # fmt: skip
def test_it_is_as_a_local_one(ray, env_id, mode):
    options = {"autoreset_mode": mode, "episode_statistics": False}
    with (
        on_ray(env_id, 5, num_actors=3, **options) as envs,
        gym.make_vec(env_id, 5, vector_kwargs=options) as local,
    ):
        assert isinstance(envs, RayVectorEnv)
        assert envs.observation_space == local.observation_space
        assert envs.action_space == local.action_space
        assert envs.metadata == local.metadata
        assert_same(envs.reset(seed=3), local.reset(seed=3))
        local.action_space.seed(1)
        for _ in range(40):
            actions = local.action_space.sample()
            assert_same(envs.step(actions), local.step(actions))
        mask = np.array([True, False, False, False, True])  # no lane of the second actor
        arguments = {"seed": [1, None, 2, 3, 4], "options": {"reset_mask": mask}}
        assert_same(envs.reset(**arguments), local.reset(**arguments))


def test_environments_in_python(ray):
    env_class = make_random_env(gym)
    spec = gym.envs.registration.EnvSpec("RandomOnRay-v0", entry_point=env_class)
    with (
        gym.make_vec(spec, 4, "ray") as envs,
        gym.make_vec(spec, 4, "sync") as local,
    ):
        local.action_space.seed(2)
        assert_same(envs.reset(seed=1), local.reset(seed=1))
        for _ in range(30):
            actions = local.action_space.sample()
            assert_same(envs.step(actions), local.step(actions))


def test_more_actors_than_lanes(ray):
    with on_ray("CartPole-v1", 2, num_actors=8) as envs:
        with pytest.raises(error.CopyNotSupported, match="RayVectorEnv"):
            copy.copy(envs)
        assert envs.reset(seed=1)[0].shape == (2, 4)


class Failing(gym.Env):
    observation_space = gym.spaces.Box(0, 1)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}

    def step(self, action):
        if action:
            raise ZeroDivisionError("one is too many")
        return np.zeros(1, np.float32), 0.0, False, False, {}


def test_exceptions_of_environments(ray):
    spec = gym.envs.registration.EnvSpec("FailingOnRay-v0", entry_point=Failing)
    with gym.make_vec(spec, 4, "ray") as envs:
        envs.reset()
        with pytest.raises(ZeroDivisionError, match="one is too many") as caught:
            envs.step([0, 0, 0, 1])
        assert isinstance(caught.value, error.EnvironmentFailed)
        assert caught.value.lanes == [3]
        assert "counted within environments 2-3" in str(caught.value)
        with pytest.raises(error.ResetNeeded):
            envs.step([0] * 4)
        envs.reset()
        envs.step([0] * 4)


def test_an_actor_that_dies(ray):
    with on_ray("CartPole-v1", 4) as envs:
        envs.reset(seed=1)
        pid = ray.get(envs._actors[1].__ray_call__.remote(lambda actor: os.getpid()))
        os.kill(pid, signal.SIGKILL)
        for _ in range(2):
            with pytest.raises(error.WorkerDied, match="environments 2-3 died in reset") as caught:
                envs.reset(seed=1)
            assert caught.value.lanes == [2, 3]


def test_a_call_that_takes_too_long(ray):
    with on_ray("CartPole-v1", 2, timeout=20.0) as envs:
        envs.reset(seed=1)
        envs._actors[0].__ray_call__.remote(lambda actor: time.sleep(1))
        envs.timeout = 0.1
        with pytest.raises(error.WorkerTimeout) as caught:
            envs.step([0, 0])
        assert caught.value.lanes == [0]
        envs.timeout = 20.0
        with pytest.raises(error.ResetNeeded):
            envs.step([0, 0])
        with gym.make_vec("CartPole-v1", 2) as local:
            assert_same(envs.reset(seed=1), local.reset(seed=1))


def test_no_room_for_the_actors(ray):
    with pytest.raises(error.WorkerTimeout):
        on_ray("CartPole-v1", 2, timeout=0.5, actor_options={"num_cpus": 10_000})


def test_bad_arguments(ray):
    with pytest.raises(error.InvalidArgument, match="num_actors: expected at least 1, got 0"):
        on_ray("CartPole-v1", 2, num_actors=0)
    with pytest.raises(error.ArgumentTypeError, match="nonsense"):
        on_ray("CartPole-v1", 2, nonsense=1)


def test_worlds_end_with_their_last_agent(ray):
    options = {"autoreset_mode": "Disabled"}
    twin = gym.make_vec("mpe/simple_spread_v3", 3, vector_kwargs=options, max_episode_steps=2)
    with gym.make_vec("mpe/simple_spread_v3", 3, "ray", options, max_episode_steps=2) as envs:
        assert envs.agents.names == twin.agents.names
        assert_same(envs.reset(seed=1)[0], twin.reset(seed=1)[0])
        for actions in np.random.default_rng(0).integers(5, size=(2, 3, 3)):
            assert_same(envs.step(actions)[:4], twin.step(actions)[:4])
        with pytest.raises(error.ResetNeeded, match="active"):
            envs.step(actions)
