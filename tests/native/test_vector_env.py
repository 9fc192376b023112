"""Making compiled vector environments in every way, and wrapping them."""

import inspect

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.vector import AutoresetMode, NativeVectorEnv, SyncVectorEnv, VectorWrapper
from gymcore.vector.gym26_infos import Gym26VectorEnv
from tests.vector.contract import DISABLED, NEXT_STEP, draw_actions, make_envs, same_bytes


@pytest.mark.parametrize(
    "env_id",
    [
        "CartPole-v1",
        "MountainCar-v0",
        "MountainCarContinuous-v0",
        "Pendulum-v1",
        "Acrobot-v1",
    ],
)
def test_make_vec_takes_the_compiled_engine(env_id):
    envs = gym.make_vec(env_id, num_envs=2)
    assert isinstance(envs, NativeVectorEnv)
    assert envs.spec.id == env_id
    assert envs.max_episode_steps == gym.spec(env_id).max_episode_steps
    assert envs.metadata["autoreset_mode"] is NEXT_STEP
    assert envs.render_mode is None
    assert envs.num_threads <= 2  # the number of lanes
    assert envs.copy is True
    assert envs.closed is False
    assert envs.unwrapped is envs
    assert repr(envs) == f"{type(envs).__name__}({env_id}, num_envs=2)"


def test_an_older_version_has_the_engine_too():
    with pytest.warns(DeprecationWarning, match="out of date"):
        envs = gym.make_vec("CartPole-v0", num_envs=2)
    assert isinstance(envs, NativeVectorEnv)
    assert envs.max_episode_steps == 200


def test_options_come_from_vector_kwargs_and_arguments_from_the_call():
    envs = gym.make_vec(
        "CartPole-v1",
        num_envs=2,
        vectorization_mode="native",
        vector_kwargs={
            "autoreset_mode": "Disabled",
            "num_threads": 2,
            "copy": False,
            "episode_statistics": True,
        },
        max_episode_steps=9,
        sutton_barto_reward=True,
        render_mode="rgb_array",
    )
    assert envs.autoreset_mode is DISABLED
    assert (envs.num_threads, envs.copy, envs.episode_statistics) == (2, False, True)
    assert envs.max_episode_steps == 9
    assert envs.get_attr("sutton_barto_reward") == (True, True)
    assert envs.render_mode == "rgb_array"


@pytest.mark.parametrize("backend", ["native", "sync"])
def test_one_word_changes_the_engine(backend, env_id, mode):
    """The same options have the same meaning, and the results have the same bytes."""
    options = {
        "autoreset_mode": mode,
        "num_threads": 2,
        "copy": True,
        "episode_statistics": True,
    }
    kwargs = {"num_envs": 3, "vector_kwargs": options, "max_episode_steps": 5}
    envs = gym.make_vec(env_id, vectorization_mode=backend, **kwargs)
    assert isinstance(envs, NativeVectorEnv if backend == "native" else SyncVectorEnv)
    native = gym.make_vec(env_id, **kwargs)
    assert same_bytes(envs.reset(seed=2), native.reset(seed=2))
    for actions in draw_actions(envs, 12):
        step, expected = envs.step(actions), native.step(actions)
        assert same_bytes(step[:4], expected[:4])
        assert list(step[4]) == list(expected[4])
        ended = step[2] | step[3]
        if ended.any():
            for infos in (step[4], expected[4]):
                infos["episode"].pop("t")
                if "final_obs" in infos:  # an object array in Python, dense in the engine
                    rows = [infos["final_obs"][i] for i in np.flatnonzero(ended)]
                    infos["final_obs"] = np.array(rows)
            assert same_bytes(step[4], expected[4])
            if mode is DISABLED:
                options = {"reset_mask": ended}
                assert same_bytes(envs.reset(options=options), native.reset(options=options))


@pytest.mark.parametrize("engine", [NativeVectorEnv, SyncVectorEnv])
def test_engine_options_are_keywords_of_every_engine(engine):
    parameters = inspect.signature(engine.__init__).parameters
    for name in ("autoreset_mode", "copy", "num_threads", "episode_statistics"):
        assert name in parameters
    for name in ("num_threads", "episode_statistics"):
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("num_threads", [0, -1])
@pytest.mark.parametrize("backend", ["native", "sync"])
def test_sync_refuses_the_threads_that_native_refuses(backend, num_threads):
    with pytest.raises(ValueError, match="num_threads: expected at least 1"):
        make_envs("CartPole-v1", backend, vector_kwargs={"num_threads": num_threads})


def test_the_spec_makes_it_again_with_all_its_arguments():
    lengths = [0.4, 0.5, 0.6]
    envs = make_envs("CartPole-v1", num_envs=3, max_episode_steps=6, length=lengths)
    again = gym.make_vec(envs.spec)
    assert again.spec == envs.spec
    assert again.get_attr("length") == tuple(lengths)
    assert same_bytes(envs.reset(seed=1), again.reset(seed=1))
    for actions in draw_actions(envs, 8):
        assert same_bytes(envs.step(actions), again.step(actions))
    assert gym.make_vec(envs.spec, vector_kwargs={}).autoreset_mode is NEXT_STEP
    assert gym.make_vec(envs.spec, vectorization_mode="native").num_envs == 3


def test_classes_can_be_made_directly():
    from gymcore.envs.classic_control.cartpole import CartPoleVectorEnv

    envs = CartPoleVectorEnv(num_envs=2, max_episode_steps=3, autoreset_mode="SameStep")
    assert envs.spec is None
    assert repr(envs) == "CartPoleVectorEnv(num_envs=2)"
    made = make_envs("CartPole-v1", mode="SameStep", num_envs=2, max_episode_steps=3)
    assert same_bytes(envs.reset(seed=1), made.reset(seed=1))
    for actions in draw_actions(made, 5):
        assert same_bytes(envs.step(actions), made.step(actions))
    assert CartPoleVectorEnv().num_envs == 1
    assert CartPoleVectorEnv().max_episode_steps == 500
    assert CartPoleVectorEnv(max_episode_steps=None).max_episode_steps is None


def test_numpy_integers_are_counts():
    envs = make_envs("CartPole-v1", num_envs=np.int64(2), max_episode_steps=np.int32(4))
    assert envs.num_envs == 2
    assert type(envs.num_envs) is int
    assert envs.max_episode_steps == 4


# Gym's function, as its documentation shows it


def test_gym_vector_make():
    envs = gym.vector.make("CartPole-v1", num_envs=3)
    assert isinstance(envs, Gym26VectorEnv)
    assert isinstance(envs.unwrapped, NativeVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert envs.observation_space.shape == (3, 4)
    assert envs.observation_space.dtype == np.float32
    assert repr(envs.observation_space).startswith("Box([[-4.8")
    assert repr(envs.observation_space).endswith("(3, 4), float32)")
    assert repr(envs.action_space) == "MultiDiscrete([2 2 2])"
    assert repr(envs.single_action_space) == "Discrete(2)"
    observations, infos = envs.reset(seed=42)
    assert observations.shape == (3, 4)
    assert infos == {}
    actions = np.array([1, 0, 1])
    observations, rewards, terminateds, truncateds, infos = envs.step(actions)
    assert rewards.tolist() == [1.0, 1.0, 1.0]
    assert terminateds.tolist() == truncateds.tolist() == [False] * 3
    assert infos == {}
    for _ in range(60):
        step = envs.step(actions)
        if step[2].any():
            break
    i = int(np.flatnonzero(step[2])[0])
    assert abs(step[0][i]).max() <= 0.05
    assert abs(step[4]["final_observation"][i]).max() > 0.05
    assert step[4]["final_info"][i] == {}
    assert envs.num_threads <= 3  # attributes of the engine
    assert envs.call("length") == (0.5,) * 3
    envs.close()
    with pytest.raises(error.ClosedEnvironmentError):
        envs.step(actions)


def test_gym_vector_make_with_arguments():
    envs = gym.vector.make("Pendulum-v1", num_envs=2, g=5.0, render_mode="rgb_array")
    assert envs.get_attr("g") == (5.0, 5.0)
    envs.reset()
    assert len(envs.render()) == 2
    again = gym.make_vec(envs.spec)
    assert again.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert again.get_attr("g") == (5.0, 5.0)


# Wrappers


class Clipped(gym.vector.VectorRewardWrapper):
    def rewards(self, rewards):
        return np.clip(rewards, -1, 1)


class Shifted(gym.vector.VectorObservationWrapper):
    def observations(self, observations):
        return observations + 1


class Flipped(gym.vector.VectorActionWrapper):
    def actions(self, actions):
        return 1 - actions


def test_wrappers_around_the_engine():
    inner = make_envs("CartPole-v1", sutton_barto_reward=True)
    envs = Clipped(Shifted(Flipped(inner)))
    plain = make_envs("CartPole-v1", sutton_barto_reward=True)
    observations, _ = envs.reset(seed=1)
    assert same_bytes(observations, plain.reset(seed=1)[0] + 1)
    step, expected = envs.step(np.array([0, 1, 1])), plain.step(np.array([1, 0, 0]))
    assert same_bytes(step[0], expected[0] + 1)
    assert envs.unwrapped is inner
    assert envs.spec == inner.spec
    assert envs.num_envs == 3
    assert envs.np_random_seed == (1, 2, 3)
    envs.close()
    assert inner.closed
    assert envs.closed


def test_wrappers_reach_the_lanes():
    inner = make_envs("CartPole-v1")
    envs = VectorWrapper(VectorWrapper(inner))
    envs.set_attr("length", [0.1, 0.2, 0.3])
    assert envs.get_attr("length") == envs.call("length") == (0.1, 0.2, 0.3)
    assert envs.call("has_wrapper_attr", "length") == (True, True, True)
    with pytest.raises(AttributeError, match="no_such_thing"):
        envs.get_attr("no_such_thing")
    with pytest.raises(error.InvalidArgument):
        envs.set_attr("length", [1.0])


# Sizes


def test_a_hundred_thousand_lanes(mode):
    n = 100_000
    envs = make_envs("CartPole-v1", mode=mode, num_envs=n, max_episode_steps=3)
    observations, _ = envs.reset(seed=0)
    assert observations.shape == (n, 4)
    for lane in (0, 1, 255, 256, 4096, 50_000, n - 1):
        single = gym.make("CartPole-v1").reset(seed=lane)[0]
        assert same_bytes(observations[lane], single)
    for actions in draw_actions(envs, 3):
        step = envs.step(actions)
    assert step[3].all()
    assert step[0] in envs.observation_space
    assert len(envs.np_random_seed) == n
    envs.close()


def test_a_long_run_of_64_lanes_stays_in_its_spaces(env_id):
    envs = make_envs(env_id, num_envs=64, mode="SameStep")
    envs.reset(seed=0)
    low, high = envs.single_observation_space.low, envs.single_observation_space.high
    ends = 0
    for seed in range(10):
        rolled = envs.rollout(draw_actions(envs, 120, seed=seed), final_observations=True)
        for array in (rolled.observations, rolled.final_observations):
            assert (array >= low).all()
            assert (array <= high).all()
        ends += int((rolled.terminated | rolled.truncated).sum())
    assert ends >= 64


def test_specs_make_single_environments_without_options_of_the_engine():
    with gym.make_vec("CartPole-v1", 2, num_threads=1, gravity=5.0) as envs:
        assert gym.make(envs.spec).unwrapped.gravity == 5
