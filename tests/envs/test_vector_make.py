import pickle

import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymcore.vector.gym26_infos import FinalInfos
from tests.testing_env import assert_same, make_counting_env

CountingEnv = make_counting_env(gymcore)


class CountingVectorEnv(VectorEnv):
    """An engine with dense final observations, like compiled engines."""

    def __init__(self, num_envs, autoreset_mode="NextStep", length=2, **kwargs):
        self.num_envs = num_envs
        self.arguments = kwargs
        self.inner = SyncVectorEnv(
            [lambda: CountingEnv(length)] * num_envs, autoreset_mode=autoreset_mode
        )
        self.metadata = self.inner.metadata
        for name in ("observation_space", "action_space"):
            setattr(self, name, getattr(self.inner, name))
            setattr(self, f"single_{name}", getattr(self.inner, f"single_{name}"))

    def reset(self, *, seed=None, options=None):
        return self.inner.reset(seed=seed, options=options)

    def step(self, actions):
        *step, infos = self.inner.step(actions)
        if "final_obs" in infos:
            dense = np.zeros((self.num_envs, 2), dtype=np.int64)
            for i in np.flatnonzero(infos["_final_obs"]):
                dense[i] = infos["final_obs"][i]
            infos["final_obs"] = dense
        return *step, infos


@pytest.fixture(autouse=True)
def ids():
    """Register one environment only in Python, and one with an engine."""
    gymcore.register("Counting-v0", entry_point=CountingEnv)
    gymcore.register(
        "CountingEngine-v0", entry_point=CountingEnv, vector_entry_point=CountingVectorEnv
    )
    yield
    del gymcore.registry["Counting-v0"], gymcore.registry["CountingEngine-v0"]


def test_python_environment_is_stepped_in_this_process():
    envs = gymcore.vector.make("Counting-v0", num_envs=3, length=1)
    assert isinstance(envs.unwrapped, SyncVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert envs.num_envs == 3
    assert envs.get_attr("length") == (1, 1, 1)
    assert_same(envs.reset(seed=5)[0], np.array([[5, 0], [6, 0], [7, 0]]))
    envs.close()
    assert envs.unwrapped.closed


def test_one_environment_by_default():
    envs = gymcore.vector.make("Counting-v0")
    assert envs.num_envs == 1
    assert envs.is_vector_env


@pytest.mark.parametrize("id", ["Counting-v0", "CountingEngine-v0"])
def test_infos_have_both_names(id):
    envs = gymcore.vector.make(id, num_envs=2)
    envs.reset(seed=5)
    _, _, terminations, _, infos = envs.step([0, 0])
    assert not terminations.any()
    assert list(infos) == ["elapsed", "_elapsed"]
    if id == "Counting-v0":
        envs.set_attr("length", [2, 3])
    observations, rewards, terminations, truncations, infos = envs.step([0, 0])
    ended = [0] if id == "Counting-v0" else [0, 1]

    mask = np.isin([0, 1], ended)
    assert_same((terminations, truncations), (mask, np.zeros(2, dtype=bool)))
    assert_same(rewards, np.array([2.0, 2.0]))
    assert observations[0].tolist() == [5, 0]
    for key in ("_final_obs", "_final_observation", "_final_info"):
        assert_same(infos[key], mask)
    assert infos["final_obs"][0].tolist() == [5, 2]
    assert infos["final_observation"].dtype == object
    assert infos["final_observation"][0].tolist() == [5, 2]
    if len(ended) == 1:
        assert infos["final_observation"][1] is None


def test_final_info_reads_as_gym_and_as_gymnasium_give_it():
    envs = gymcore.vector.make("Counting-v0", num_envs=3)
    envs.set_attr("length", [1, 5, 1])
    envs.reset()
    final_info = envs.step([0, 0, 0])[4]["final_info"]

    # Gym 0.26: an array of dicts.
    assert len(final_info) == 3
    assert [info for info in final_info if info is not None] == [{"elapsed": 1}] * 2
    assert final_info[1] is None
    # Gymnasium: a dict of arrays.
    assert_same(final_info["elapsed"], np.array([1, 0, 1]))
    assert_same(final_info["_elapsed"], np.array([True, False, True]))
    assert "elapsed" in final_info
    assert "other" not in final_info
    with pytest.raises(KeyError):
        final_info["other"]


def test_final_info_is_an_array_that_copies_and_pickles():
    merged = {"score": np.array([0, 9]), "_score": np.array([False, True])}
    infos = FinalInfos.from_merged(merged, mask=np.array([False, True]))
    assert infos.tolist() == [None, {"score": 9}]
    assert infos.copy()["score"].tolist() == [0, 9]
    assert pickle.loads(pickle.dumps(infos)).tolist() == [None, {"score": 9}]


def test_an_episode_statistics_loop_written_for_gym():
    class Statistics(gymcore.Wrapper):
        def step(self, action):
            *step, info = self.env.step(action)
            if step[2]:
                info["episode"] = {"r": 3.0, "l": 2}
            return *step, info

    envs = gymcore.vector.make("Counting-v0", num_envs=2, wrappers=Statistics)
    envs.reset()
    returns = []
    for _ in range(4):
        infos = envs.step([0, 0])[4]
        for info in infos.get("final_info", []):
            if info and "episode" in info:
                returns.append(float(info["episode"]["r"]))
    assert returns == [3.0] * 4


# Choice of the engine


def test_an_id_with_an_engine_uses_it():
    envs = gymcore.vector.make("CountingEngine-v0", num_envs=3, length=1)
    assert isinstance(envs.unwrapped, CountingVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    envs.reset()
    assert envs.step([0, 0, 0])[2].all()


def test_asynchronous_false_means_this_process():
    envs = gymcore.vector.make("CountingEngine-v0", num_envs=2, asynchronous=False)
    assert isinstance(envs.unwrapped, SyncVectorEnv)


def test_wrappers_mean_this_process():
    with pytest.warns(UserWarning, match="CountingEngine-v0 is stepped by SyncVectorEnv") as warned:
        envs = gymcore.vector.make("CountingEngine-v0", num_envs=2, wrappers=gymcore.Wrapper)
    assert warned[0].filename == __file__
    assert isinstance(envs.unwrapped, SyncVectorEnv)
    gymcore.vector.make("CountingEngine-v0", 2, asynchronous=False, wrappers=gymcore.Wrapper)


def test_asynchronous_true_takes_worker_processes():
    with gymcore.vector.make("CountingEngine-v0", num_envs=2, asynchronous=True) as envs:
        assert type(envs.unwrapped) is gymcore.vector.AsyncVectorEnv
        assert envs.unwrapped.autoreset_mode is AutoresetMode.SAME_STEP
        observations, _ = envs.reset(seed=1)
        assert observations in envs.observation_space


# The environments


class Tagged(gymcore.Wrapper):
    """A wrapper that tests can recognize."""


class TaggedAgain(gymcore.Wrapper):
    """Another such wrapper."""


@pytest.mark.parametrize(
    ("wrappers", "names"),
    [
        (None, []),
        (Tagged, ["Tagged"]),
        ([Tagged, TaggedAgain], ["TaggedAgain", "Tagged"]),
        ((make for make in (Tagged,)), ["Tagged"]),
        ([], []),
    ],
)
def test_wrappers_are_applied_in_order(wrappers, names):
    envs = gymcore.vector.make("Counting-v0", num_envs=2, wrappers=wrappers)
    for env in envs.envs:
        outer = []
        while isinstance(env, (Tagged, TaggedAgain)):
            outer.append(type(env).__name__)
            env = env.env
        assert outer == names


@pytest.mark.parametrize("wrappers", [3, "Tagged", [Tagged, 3]])
def test_wrappers_that_are_none(wrappers):
    with pytest.raises(TypeError, match="wrappers: expected a function or functions, got"):
        gymcore.vector.make("Counting-v0", wrappers=wrappers)


@pytest.mark.parametrize(
    ("disable_env_checker", "checked"),
    [(None, [True, False, False]), (False, [True, False, False]), (True, [False] * 3)],
)
def test_only_the_first_environment_is_checked(disable_env_checker, checked):
    envs = gymcore.vector.make("Counting-v0", 3, disable_env_checker=disable_env_checker)
    assert ["PassiveEnvChecker" in str(env) for env in envs.envs] == checked


def test_arguments_reach_the_environments():
    envs = gymcore.vector.make(
        "Counting-v0", num_envs=2, asynchronous=False, render_mode="rgb_array", max_episode_steps=1
    )
    assert envs.render_mode == "rgb_array"
    envs.reset()
    assert len(envs.render()) == 2
    assert envs.step([0, 0])[3].tolist() == [True, True]


def test_a_spec_instead_of_an_id():
    envs = gymcore.vector.make(gymcore.spec("Counting-v0"), num_envs=2)
    assert isinstance(envs.unwrapped, SyncVectorEnv)
    envs = gymcore.vector.make(gymcore.spec("CountingEngine-v0"), num_envs=2)
    assert isinstance(envs.unwrapped, CountingVectorEnv)


def test_an_id_without_its_version():
    with pytest.warns(UserWarning):
        envs = gymcore.vector.make("CountingEngine", num_envs=2)
    assert isinstance(envs.unwrapped, CountingVectorEnv)


def test_an_unknown_id():
    with pytest.raises(error.NameNotFound):
        gymcore.vector.make("NoSuchThing-v0")


def test_attributes_of_the_engine_are_reached():
    envs = gymcore.vector.make("Counting-v0", num_envs=2)
    assert envs.envs is envs.env.envs
    for name in ("no_such_thing", "_private"):
        with pytest.raises(AttributeError, match=name):
            getattr(envs, name)
