"""The bridge between Gymnasium and gymcore, in both directions."""

from __future__ import annotations

import copy
import functools
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.foreign import ForeignEnv
from gymcore.utils.env_checker import check_env
from tests.testing_env import OBSERVATION_KINDS, assert_same, make_random_env

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env as their_check_env  # noqa: E402

from gymcore.interop import gymnasium as bridge  # noqa: E402
from gymcore.interop.gymnasium import from_gymnasium, register_all, to_gymnasium  # noqa: E402

IDS = ("CartPole-v1", "Pendulum-v1", "Blackjack-v1", "FrozenLake-v1", "HalfCheetah-v5")


def trajectory(envs: Any, actions: list[Any], seed: int = 5) -> list[Any]:
    """Return copies of the results of a seeded reset and these steps."""
    results = [envs.reset(seed=seed)]
    results += [envs.step(action) for action in actions]
    return copy.deepcopy(results)


# --- from gymcore to Gymnasium -------------------------------------------------------------------


@pytest.mark.parametrize("env_id", IDS)
def test_an_environment_is_one_of_gymnasium(env_id: str) -> None:
    inner = gymcore.make(env_id)
    env = to_gymnasium(inner)
    assert isinstance(env, gymnasium.Env)
    assert isinstance(env.observation_space, gymnasium.Space)
    theirs = gymnasium.make(env_id)
    assert (env.observation_space, env.action_space) == (
        theirs.observation_space,
        theirs.action_space,
    )
    wrapped = gymnasium.wrappers.RecordEpisodeStatistics(env)
    action = theirs.action_space.sample()
    for one in (wrapped, theirs):
        one.reset(seed=3)
    ours, other = wrapped.step(action), theirs.step(action)
    np.testing.assert_allclose(ours[0], other[0], rtol=1e-6)
    assert from_gymnasium(env) is inner
    assert to_gymnasium(env) is env


@pytest.mark.parametrize("env_id", (*IDS, "MountainCarContinuous-v0"))
def test_rewards_and_infos_have_the_types_of_gymnasium(env_id: str) -> None:
    ours, theirs = gymnasium.make(f"gymcore/{env_id}"), gymnasium.make(env_id)
    action = theirs.action_space.sample()
    assert ours.reset(seed=1)[1].keys() == theirs.reset(seed=1)[1].keys()
    (_, one, *_, one_info), (_, other, *_, other_info) = ours.step(action), theirs.step(action)
    assert type(one) is type(other)
    for name, value in other_info.items():
        assert isinstance(one_info[name], np.generic) == isinstance(value, np.generic), name


@pytest.mark.parametrize("env_id", IDS)
def test_their_checker_passes(env_id: str) -> None:
    env = gymnasium.make(f"gymcore/{env_id}").unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about spaces, as for Gymnasium's own environments
        their_check_env(env, skip_render_check=True)


def test_attributes_reach_through_the_bridge() -> None:
    env = gymnasium.make("gymcore/CartPole-v1")
    assert env.get_wrapper_attr("gravity") == env.unwrapped.gravity == 9.8
    env.set_wrapper_attr("gravity", 5.0)
    env.unwrapped.length = 0.25
    inner = env.unwrapped.env.unwrapped
    assert (inner.gravity, inner.length) == (5.0, 0.25)
    assert env.has_wrapper_attr("length")
    assert not env.has_wrapper_attr("colour")
    env.reset(seed=4)
    assert env.np_random is inner.np_random
    assert env.unwrapped._np_random is inner._np_random
    assert env.np_random_seed == 4
    with pytest.raises(AttributeError, match="colour"):
        _ = env.unwrapped.colour
    assert str(env.unwrapped.env) in str(env)


def test_adapters_are_copied_and_pickled() -> None:
    env = to_gymnasium(gymcore.make("CartPole-v1"))
    env.reset(seed=4)
    expected = env.step(1)[0]
    env.reset(seed=4)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert np.array_equal(twin.step(1)[0], expected)


@pytest.mark.parametrize("mode", list(gymnasium.vector.AutoresetMode))
def test_a_vector_environment_is_one_of_gymnasium(mode: gymnasium.vector.AutoresetMode) -> None:
    inner = gymcore.make_vec("CartPole-v1", 3, vector_kwargs={"autoreset_mode": mode.value})
    envs = to_gymnasium(inner)
    assert isinstance(envs, gymnasium.vector.VectorEnv)
    assert envs.metadata["autoreset_mode"] is mode
    theirs = gymnasium.make_vec("CartPole-v1", 3, "sync")
    for name in ("observation_space", "action_space"):
        assert getattr(envs, name) == getattr(theirs, name)
        assert getattr(envs, f"single_{name}") == getattr(theirs, f"single_{name}")
    recorded = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    recorded.reset(seed=1)
    *_, infos = recorded.step(np.array([1, 0, 1]))
    assert infos == {}
    assert envs.get_attr("length") == (0.5,) * 3
    assert envs.np_random_seed == inner.np_random_seed
    assert from_gymnasium(envs) is inner
    envs.close()
    assert inner.closed


def test_what_is_no_environment() -> None:
    for convert in (to_gymnasium, from_gymnasium):
        with pytest.raises(error.ArgumentTypeError, match=rf"env: {convert.__name__} expects a"):
            convert(3)


# --- registered with Gymnasium -------------------------------------------------------------------


def test_gymnasium_makes_the_native_engine_and_one_lane() -> None:
    envs = gymnasium.make_vec("gymcore/CartPole-v1", num_envs=4)
    assert isinstance(envs.env, gymcore.native.vector_env.NativeVectorEnv)
    assert envs.spec.max_episode_steps == 500
    env = gymnasium.make("gymcore/CartPole-v1", max_episode_steps=2)
    observations, _ = envs.reset(seed=7)
    assert np.array_equal(observations[2], env.reset(seed=9)[0])
    env.step(0)
    assert env.step(0)[3]
    assert gymnasium.make(env.spec).spec.id == "gymcore/CartPole-v1"
    same_step = gymnasium.vector.AutoresetMode.SAME_STEP
    envs = gymnasium.make_vec("gymcore/CartPole-v1", 2, autoreset_mode=same_step, num_threads=1)
    assert envs.metadata["autoreset_mode"] is same_step
    for mode in ("sync", "async"):
        envs = gymnasium.make_vec("gymcore/CartPole-v1", 2, mode)
        assert envs.reset(seed=1)[0].shape == (2, 4)
        envs.close()


def test_ids_registered_later_and_ids_of_namespaces() -> None:
    gymcore.register("later/Pole-v3", entry_point="gymcore.envs.classic_control:CartPoleEnv")
    try:
        register_all()
        env = gymnasium.make("gymcore/later-Pole-v3")
        assert env.reset(seed=1)[0].shape == (4,)
    finally:
        del gymcore.registry["later/Pole-v3"], gymnasium.registry["gymcore/later-Pole-v3"]


def test_a_program_needs_no_import() -> None:
    program = (
        "import gymnasium; "
        "envs = gymnasium.make_vec('gymcore.interop.gymnasium:gymcore/CartPole-v1', num_envs=3); "
        "print(envs.reset(seed=1)[0].shape)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "(3, 4)\n"


def test_without_gymnasium() -> None:
    program = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "import gymcore\n"
        "gymcore.make_vec('CartPole-v1', num_envs=2).close()\n"
        "for use in (lambda: gymcore.make('gymnasium:CartPole-v1'),\n"
        "            lambda: __import__('gymcore.interop.gymnasium')):\n"
        "    try: use()\n"
        "    except gymcore.error.DependencyNotInstalled as missing: print(missing)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("run `pip install gymnasium`") == 2


# --- from Gymnasium to gymcore -------------------------------------------------------------------


@pytest.mark.parametrize("env_id", IDS[:4])
def test_any_id_of_gymnasium(env_id: str) -> None:
    env, theirs = gymcore.make(f"gymnasium:{env_id}"), gymnasium.make(env_id)
    assert isinstance(env, gymcore.Env)
    assert env.spec is not None
    assert env.spec.max_episode_steps == theirs.spec.max_episode_steps
    actions = [theirs.action_space.sample() for _ in range(3)]
    assert_same(trajectory(env, actions), trajectory(theirs, actions))
    again = gymcore.make(type(env.spec).from_json(env.spec.to_json(), trusted=True))
    assert_same(trajectory(again, actions), trajectory(theirs, actions))
    assert gymcore.make(env.spec, max_episode_steps=1).step is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(env.unwrapped, skip_render_check=True)


def test_the_time_limit_is_ours() -> None:
    env = gymcore.make("gymnasium:CartPole-v1", max_episode_steps=2)
    env.reset(seed=1)
    assert [env.step(0)[3] for _ in range(2)] == [False, True]
    with gymcore.make_vec("gymnasium:CartPole-v1", num_envs=2, max_episode_steps=2) as envs:
        envs.reset(seed=1)
        assert [envs.step([0, 0])[3].tolist() for _ in range(2)] == [[False] * 2, [True] * 2]


def test_ids_that_gymnasium_does_not_have() -> None:
    with pytest.raises(error.UnregisteredEnv, match="gymnasium:CartPoll-v1: Gymnasium has no such"):
        gymcore.make("gymnasium:CartPoll-v1")
    assert gymcore.spec("gymnasium:gymnasium:CartPole-v1").id == "gymnasium:CartPole-v1"


def test_what_is_registered_with_gymnasium_alone_needs_no_prefix() -> None:
    """As after `import minigrid`."""
    gymnasium.register("Elsewhere-v3", "gymnasium.envs.classic_control:CartPoleEnv")
    try:
        env = gymcore.make("Elsewhere-v3")
        assert isinstance(env, gymcore.Env) and env.spec.id == "gymnasium:Elsewhere-v3"
        assert gymcore.make(env.spec).reset(seed=1)[0].shape == (4,)
        with gymcore.make_vec("Elsewhere-v3", num_envs=2) as envs:
            assert envs.reset(seed=1)[0].shape == (2, 4)
        gymnasium.register("CartPole-v77", "gymnasium.envs.classic_control:CartPoleEnv")
        with pytest.raises(error.VersionNotFound):  # for an environment of ours
            gymcore.make("CartPole-v77")
    finally:
        gymnasium.registry.pop("Elsewhere-v3"), gymnasium.registry.pop("CartPole-v77", None)
    with pytest.raises(error.NameNotFound):
        gymcore.make("Elsewhere-v3")


@pytest.mark.parametrize("env_id", ("CartPole-v1", "Taxi-v4", "Blackjack-v1"))
def test_a_closed_single_environment_goes_on_as_gymnasiums_does(env_id: str) -> None:
    results = []
    for library in (gymcore, gymnasium):
        env = library.make(env_id)
        env.reset(seed=1)
        env.close()
        results.append([env.step(0)[0], env.reset(seed=2)[0], env.step(0)[0]])
        env.close()
    assert_same(*results)


def test_modules_are_imported_first() -> None:
    env = gymcore.make("gymnasium:gymcore.interop.gymnasium:gymcore/CartPole-v1")
    assert type(env.unwrapped).__module__.startswith("gymcore.envs")  # gymcore's own class again


def test_attributes_reach_a_foreign_environment() -> None:
    inner = gymnasium.make("CartPole-v1")
    env = from_gymnasium(inner)
    assert isinstance(env, ForeignEnv)
    assert env.get_wrapper_attr("gravity") == env.unwrapped.gravity == 9.8
    env.set_wrapper_attr("gravity", 5.0)
    env.unwrapped.length = 0.25
    assert (inner.unwrapped.gravity, inner.unwrapped.length) == (5.0, 0.25)
    env.reset(seed=3)
    assert env.np_random is inner.np_random
    assert env.unwrapped._np_random is inner.unwrapped._np_random
    assert env.np_random_seed == 3
    assert from_gymnasium(env) is env
    assert to_gymnasium(env) is inner
    twin = copy.deepcopy(env)
    assert np.array_equal(twin.step(1)[0], env.step(1)[0])


def test_wrappers_are_around_it_and_it_stays_open() -> None:
    class Closable(gymnasium.Env):
        observation_space = action_space = gymnasium.spaces.Discrete(2)
        closed = False

        def close(self) -> None:
            self.closed = True

    inner = Closable()
    env = gymcore.wrappers.TransformReward(from_gymnasium(inner), lambda reward: 2 * reward)
    del env
    assert not inner.closed
    from_gymnasium(inner).close()
    assert inner.closed


def make_random(kind: str) -> gymnasium.Env:
    env: gymnasium.Env = make_random_env(gymnasium)(kind)
    return env


@pytest.mark.parametrize("kind", OBSERVATION_KINDS)
def test_trajectories_are_those_under_gymnasium(kind: str) -> None:
    functions = [functools.partial(make_random, kind)] * 3
    theirs = gymnasium.vector.SyncVectorEnv(functions)
    theirs.action_space.seed(1)
    actions = [theirs.action_space.sample() for _ in range(12)]
    expected = trajectory(theirs, actions)
    with gymcore.vector.SyncVectorEnv(functions) as envs:
        assert_same(trajectory(envs, actions), expected)


@pytest.mark.starts_processes
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_worker_processes_run_them_too() -> None:
    functions: list[Callable[[], Any]] = [functools.partial(make_random, "dict")] * 3
    theirs = gymnasium.vector.SyncVectorEnv(functions)
    theirs.action_space.seed(1)
    actions = [theirs.action_space.sample() for _ in range(12)]
    expected = trajectory(theirs, actions)
    with gymcore.vector.AsyncVectorEnv(functions, num_workers=2) as envs:
        assert_same(trajectory(envs, actions), expected)
        assert isinstance(envs.single_observation_space, gymcore.spaces.Dict)
    with gymcore.make_vec("gymnasium:CartPole-v1", 2, "async") as envs:
        assert np.array_equal(
            envs.reset(seed=3)[0], gymnasium.make_vec("CartPole-v1", 2, "sync").reset(seed=3)[0]
        )


def test_a_vector_environment_of_gymnasium_takes_our_wrappers() -> None:
    inner = gymnasium.make_vec("CartPole-v1", 2, "sync")
    envs = gymcore.wrappers.vector.RecordEpisodeStatistics(from_gymnasium(inner))
    assert envs.metadata["autoreset_mode"] is gymcore.vector.AutoresetMode.NEXT_STEP
    assert isinstance(envs.single_action_space, gymcore.spaces.Discrete)
    envs.reset(seed=2)
    while envs.episode_count < 2:
        *_, infos = envs.step(np.array([0, 0]))
    assert "episode" in infos
    assert to_gymnasium(envs.env) is inner
    assert isinstance(to_gymnasium(envs), bridge.GymnasiumVectorEnv)


def test_an_entry_point_of_ours_may_make_one_of_theirs() -> None:
    gymcore.register("Theirs-v0", entry_point="gymnasium.envs.classic_control:CartPoleEnv")
    try:
        env = gymcore.make("Theirs-v0")
        assert env.reset(seed=1)[0].shape == (4,)
        assert env.unwrapped.env.spec is env.unwrapped.spec
    finally:
        del gymcore.registry["Theirs-v0"]


@pytest.mark.parametrize(
    "refuse",
    [
        lambda: gymcore.Wrapper(gymnasium.make("CartPole-v1")),
        lambda: gymcore.vector.VectorWrapper(gymnasium.make_vec("CartPole-v1", 2, "sync")),
        lambda: check_env(gymnasium.make("CartPole-v1")),
    ],
)
def test_where_an_environment_of_gymnasium_is_refused_the_bridge_is_named(refuse: Any) -> None:
    with pytest.raises(TypeError, match=r"see gymcore\.interop\.gymnasium\.from_gymnasium"):
        refuse()


def test_ids_with_wrappers_are_refused_with_the_way_to_go() -> None:
    spec = gymnasium.wrappers.FlattenObservation(gymnasium.make("Blackjack-v1")).spec
    assert spec is not None
    gymnasium.registry["Flat-v0"] = spec
    try:
        with pytest.raises(error.Error, match=r"convert it with gymcore\.interop\.gymnasium"):
            gymcore.make("gymnasium:Flat-v0")
        assert from_gymnasium(gymnasium.make("Flat-v0")).spec is None
    finally:
        del gymnasium.registry["Flat-v0"]
