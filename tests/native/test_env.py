"""Single compiled environments: arguments, errors, and ownership."""

import gc
import threading
import weakref

import gymnasium
import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from tests.vector.contract import IDS, PARAMETERS, same_bytes

CONTINUOUS = ["MountainCarContinuous-v0", "Pendulum-v1"]
DISCRETE = ["CartPole-v1", "MountainCar-v0", "Acrobot-v1"]


def make(env_id, seed=1):
    env = gym.make(env_id).unwrapped
    env.reset(seed=seed)
    return env


@pytest.mark.parametrize("env_id", CONTINUOUS)
@pytest.mark.parametrize(
    "action",
    [
        0.0,
        np.float32(0),
        np.zeros((), np.float32),
        np.zeros(2, np.float32),
        np.zeros((1, 1), np.float32),
        [],
        [float("nan")],
        np.array([np.nan], np.float32),
        None,
        "1",
        ["a"],
        [[0.0], [1.0, 2.0]],
    ],
)
def test_what_is_no_continuous_action(env_id, action):
    env = make(env_id)
    before = env.get_state().tobytes()
    with pytest.raises(error.InvalidAction, match=r"action: .* invalid, expected an element of"):
        env.step(action)
    assert env.get_state().tobytes() == before


@pytest.mark.parametrize("env_id", CONTINUOUS)
def test_numbers_that_are_continuous_actions(env_id):
    steps = []
    for action in ([1], [1.0], np.array([1]), np.ones(1), np.ones(2, np.float32)[::2], (True,)):
        steps.append(make(env_id).step(action))
    assert all(same_bytes(step, steps[0]) for step in steps)


@pytest.mark.parametrize("env_id", DISCRETE)
@pytest.mark.parametrize("action", [-1, 3, 1.0, None, "1", [0], np.array([0]), 2**70])
def test_what_is_no_discrete_action(env_id, action):
    env, theirs = make(env_id), gymnasium.make(env_id, disable_env_checker=True).unwrapped
    theirs.reset(seed=1)
    before = env.get_state().tobytes()
    with pytest.raises(error.InvalidAction, match="invalid") as caught:
        env.step(action)
    assert env.get_state().tobytes() == before
    if env_id != "Acrobot-v1":  # it asserts nothing there
        with pytest.raises(AssertionError):
            theirs.step(action)
    assert isinstance(caught.value, AssertionError)


@pytest.mark.parametrize("env_id", IDS)
def test_the_wrong_time(env_id):
    env = gym.make(env_id).unwrapped
    action = env.action_space.sample()
    with pytest.raises(error.ResetNeeded):
        env.step(action)


@pytest.mark.parametrize("env_id", IDS)
def test_a_closed_environment_can_be_reset(env_id):
    """As in Gymnasium, where `close` only closes the window."""
    env = make(env_id)
    action = env.action_space.sample()
    expected = env.reset(seed=1)[0], env.step(action)[0]
    assert env.isopen
    env.close()
    env.close()
    assert not env.isopen
    assert same_bytes([env.reset(seed=1)[0], env.step(action)[0]], expected)


@pytest.mark.parametrize("env_id", IDS)
def test_observations_are_the_callers(env_id):
    env = make(env_id)
    env.action_space.seed(1)
    actions = [env.action_space.sample() for _ in range(6)]
    kept, copies = [], []
    for action in actions:
        kept.append(env.step(action)[0])
        copies.append(kept[-1].copy())
    assert same_bytes(kept, copies)
    env.reset(seed=1)
    addresses = {env.step(action)[0].ctypes.data for action in actions}
    assert len(addresses) == 1


@pytest.mark.parametrize("env_id", IDS)
def test_states_that_are_put_in(env_id):
    env = make(env_id)
    state = env.state
    assert state.dtype == np.float64
    state[:] = 99  # a copy
    assert not (env.state == 99).any()
    env.state = tuple(float(i) / 10 for i in range(len(state)))
    assert env.state.tolist() == [float(i) / 10 for i in range(len(state))]
    for bad in ([0.0], "state", 1.0, [[0.0] * len(state)], ["a"] * len(state)):
        with pytest.raises(error.InvalidArgument, match="state: expected"):
            env.state = bad
    assert env.state.tolist() == [float(i) / 10 for i in range(len(state))]


def test_a_state_instead_of_a_reset():
    env = gym.make("CartPole-v1").unwrapped
    assert env.state is None
    env.state = None  # as constructors of environments written for Gym do
    assert env.state is None
    env.state = [0.1, 0.0, 0.0, 0.0]
    assert env.step(0)[1:4] == (1.0, False, False)
    assert env.np_random_seed >= 0
    assert same_bytes(env.reset(seed=3), gym.make("CartPole-v1").reset(seed=3))


@pytest.mark.parametrize("env_id", IDS)
def test_parameters_are_attributes(env_id):
    env, other = make(env_id), make(env_id)
    name, value = PARAMETERS[env_id]
    default = getattr(type(env), name)
    assert getattr(env, name) == default
    setattr(env, name, value)
    assert getattr(env, name) == value
    assert getattr(other, name) == getattr(type(env), name) == default
    for bad, exception in (("abc", TypeError), (np.nan, ValueError), (None, TypeError)):
        with pytest.raises(exception, match=f"{name}: expected"):
            setattr(env, name, bad)
    assert getattr(env, name) == value


def test_generators():
    env = make("CartPole-v1")
    expected = gymnasium.make("CartPole-v1").unwrapped
    expected.reset(seed=1)
    assert env.np_random.random(5).tolist() == expected.np_random.random(5).tolist()
    assert env.np_random_seed == 1
    generator = np.random.default_rng(5)
    env.np_random = generator
    assert env.np_random_seed == -1
    drawn = env.np_random.random()
    assert drawn == generator.random() == np.random.default_rng(5).random()
    for bad in (3, np.random.PCG64(3)):
        with pytest.raises(error.ArgumentTypeError, match="np_random: expected"):
            env.np_random = bad
    assert env.np_random.bit_generator.state == generator.bit_generator.state
    env.np_random = None
    assert env.np_random.bit_generator.state != generator.bit_generator.state


@pytest.mark.parametrize("attribute", ["np_random", "_np_random"])
@pytest.mark.parametrize(
    "make_generator",
    [
        lambda: np.random.Generator(np.random.MT19937(9)),
        lambda: np.random.Generator(np.random.Philox(9)),
        lambda: np.random.RandomState(9),
    ],
    ids=["MT19937", "Philox", "RandomState"],
)
def test_other_generators_seed_the_stream(make_generator, attribute):
    first = []
    for _ in range(2):
        env = make("CartPole-v1")
        with pytest.warns(UserWarning, match="draw from PCG64"):
            setattr(env, attribute, make_generator())
        first.append(env.reset()[0].tolist())
    assert first[0] == first[1] != make("CartPole-v1").reset(seed=9)[0].tolist()


def test_the_private_generator_is_used():
    env, expected = make("CartPole-v1"), gymnasium.make("CartPole-v1").unwrapped
    env.reset(seed=1)
    expected.reset(seed=1)
    for one in (env, expected):
        one._np_random = np.random.default_rng(4)
    assert env.reset()[0].tolist() == expected.reset()[0].tolist()
    assert env._np_random.bit_generator.state == expected._np_random.bit_generator.state
    assert env.np_random_seed == expected.np_random_seed == 1


def test_a_generator_outlives_its_environment():
    env = make("CartPole-v1")
    generator = env.np_random
    gone = weakref.ref(env)
    del env
    gc.collect()
    assert gone() is None
    assert 0 <= generator.random() < 1


def test_one_thread_at_a_time():
    env = make("Pendulum-v1")
    caught = []

    class Action:
        """An action that the environment converts to a number within `step`."""

        def __array__(self, dtype=None, copy=None):
            return np.zeros(1, np.float32)

    def other_thread():
        try:
            env.reset(seed=2)
        except error.ConcurrentUseError as problem:
            caught.append(problem)

    def meanwhile():
        thread = threading.Thread(target=other_thread)
        thread.start()
        thread.join()

    env._batch.exclusively(meanwhile)  # as if this thread were stepping
    assert len(caught) == 1
    assert env.np_random_seed == 1
    env.step(Action())


@pytest.mark.slow
@pytest.mark.parametrize("env_id", IDS)
def test_collected_environments_end_quietly(env_id, capfd):
    env = make(env_id)
    env.step(env.action_space.sample())
    del env
    gc.collect()
    assert capfd.readouterr() == ("", "")
