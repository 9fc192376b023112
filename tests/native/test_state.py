"""Saving, restoring, copying and pickling compiled environments, random streams included."""

import copy
import io
import pickle
import time

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.native.state import lane_dtype
from tests.vector.contract import (
    IDS,
    NEXT_STEP,
    PARAMETERS,
    SAME_STEP,
    draw_actions,
    make_envs,
    same_bytes,
)


def run(envs, actions):
    return [envs.step(batch) for batch in actions]


def test_records_are_arrays_with_names(env_id):
    envs = make_envs(env_id, num_envs=4)
    envs.reset(seed=3)
    envs.step(draw_actions(envs))
    saved = envs.get_state()
    assert saved.dtype == lane_dtype(envs.env_class.kernel_spec())
    assert saved.shape == (4,)
    states = np.array(envs.get_attr("state"))
    assert same_bytes(saved["state"][:, : states.shape[1]], states.astype(np.float64))
    assert saved["elapsed"].tolist() == [1] * 4
    assert not saved["ended"].any()
    for lane, generator in enumerate(envs.np_random):
        state = generator.bit_generator.state["state"]["state"]
        assert int(saved["random"][lane, 0]) << 64 | int(saved["random"][lane, 1]) == state
    saved["state"][:] = 99  # a copy
    assert not (np.array(envs.get_attr("state")) == 99).any()


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP], ids=lambda mode: mode.value)
def test_the_saved_past_comes_again(env_id, mode):
    envs = make_envs(env_id, mode=mode, max_episode_steps=7)
    envs.reset(seed=1)
    actions = draw_actions(envs, 30)
    run(envs, actions[:4])
    saved = envs.get_state()
    expected = run(envs, actions)
    assert sum(step[3].any() for step in expected) > 2
    for restore in (saved, np.load(io.BytesIO(saved_as_npy(saved)))):
        envs.set_state(restore)
        assert same_bytes(run(envs, actions), expected)
    draws = [generator.random() for generator in envs.np_random]
    envs.set_state(saved)
    run(envs, actions)
    assert [generator.random() for generator in envs.np_random] == draws


def saved_as_npy(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def test_lanes_go_to_other_lanes_of_other_batches(env_id):
    small = make_envs(env_id, num_envs=4, max_episode_steps=6)
    small.reset(seed=5)
    large = make_envs(env_id, num_envs=300, max_episode_steps=6, vector_kwargs={"num_threads": 2})
    large.reset(seed=99)
    actions = draw_actions(small, 20)
    run(small, actions[:3])
    lanes = [299, 0, 17, 256]
    untouched = np.setdiff1d(np.arange(300), lanes)
    before = large.get_state(lanes=untouched).tobytes()
    large.set_state(small.get_state(lanes=[3, 2, 1, 0]), lanes=lanes)
    assert large.get_state(lanes=untouched).tobytes() == before
    for batch in actions:
        wide = np.zeros((300, *batch.shape[1:]), batch.dtype)
        wide[lanes] = batch[::-1]
        expected = small.step(batch)
        for array, other in zip(large.step(wide)[:4], expected[:4], strict=True):
            assert same_bytes(array[lanes], other[::-1])


def test_lanes_may_be_chosen_by_mask():
    envs = make_envs("CartPole-v1", num_envs=4)
    envs.reset(seed=5)
    mask = np.array([True, False, False, True])
    saved = envs.get_state(lanes=mask)
    assert same_bytes(saved.tobytes(), envs.get_state(lanes=[0, 3]).tobytes())
    envs.step([0, 1, 0, 1])
    envs.set_state(saved, lanes=mask)
    assert envs.get_state(lanes=mask).tobytes() == saved.tobytes()
    assert envs.np_random_seed == (-1, 6, 7, -1)


def test_parameters_are_part_of_the_state(env_id):
    name, value = PARAMETERS[env_id]
    envs, other = make_envs(env_id), make_envs(env_id)
    envs.set_attr(name, [value, 2 * value, 3 * value])
    envs.reset(seed=1), other.reset(seed=2)
    other.set_state(envs.get_state())
    assert other.get_attr(name) == (value, 2 * value, 3 * value)
    actions = draw_actions(envs, 5)
    assert same_bytes(run(other, actions), run(envs, actions))
    other.set_state(make_state(env_id))
    assert len(set(other.get_attr(name))) == 1
    assert other._batch.get_parameters().shape[1] == 1  # the fast loops, with one set for all


def make_state(env_id):
    envs = make_envs(env_id)
    envs.reset(seed=1)
    return envs.get_state()


def test_states_from_before_the_first_reset():
    envs, other = make_envs("CartPole-v1"), make_envs("CartPole-v1")
    saved = envs.get_state()
    assert saved["elapsed"].tolist() == [-1, -1, -1]
    other.reset(seed=1)
    other.set_state(saved)
    with pytest.raises(error.ResetNeeded):
        other.step([0, 0, 0])
    assert same_bytes(other.reset()[0], envs.reset()[0])
    mixed = envs.get_state()
    mixed[1] = saved[1]
    before = other.get_state().tobytes()
    with pytest.raises(error.InvalidArgument, match=r"lanes \[1\] were saved before their first"):
        other.set_state(mixed)
    with pytest.raises(error.InvalidArgument, match="before their first reset"):
        other.set_state(saved[:1], lanes=[0])
    assert other.get_state().tobytes() == before


def test_restoring_makes_a_new_batch_ready():
    saved = make_state("Acrobot-v1")
    envs = make_envs("Acrobot-v1")
    with pytest.raises(error.ResetNeeded, match="all lanes, or reset"):
        envs.set_state(saved[:2], lanes=[0, 1])
    envs.set_state(saved)
    assert envs.np_random_seed == (-1, -1, -1)
    envs.step([0, 1, 2])


BAD_STATES = {
    "bytes": (lambda s: s.tobytes(), error.ArgumentTypeError),
    "list": (lambda s: s.tolist(), error.ArgumentTypeError),
    "short": (lambda s: s[:2], error.InvalidArgument),
    "two axes": (lambda s: s.reshape(1, 3), error.InvalidArgument),
    "numbers": (lambda s: s["state"].copy(), error.InvalidArgument),
    "another environment": (lambda s: make_state("Acrobot-v1"), error.InvalidArgument),
}


@pytest.mark.parametrize("name", BAD_STATES)
def test_bad_states(name):
    change, exception = BAD_STATES[name]
    envs = make_envs("CartPole-v1")
    envs.reset(seed=1)
    before = envs.get_state()
    with pytest.raises(exception, match="state: expected"):
        envs.set_state(change(before))
    assert envs.get_state().tobytes() == before.tobytes()
    assert envs.np_random_seed == (1, 2, 3)


@pytest.mark.parametrize(
    ("lanes", "exception"),
    [
        ([0, 3], ValueError),
        ([-1, 0], ValueError),
        ([1, 1], ValueError),
        ([0.0, 1.0], TypeError),
        (1, TypeError),
        ("01", TypeError),
        ([[0], [1]], TypeError),
        (np.array([True, False]), TypeError),
    ],
)
def test_bad_lanes(lanes, exception):
    envs = make_envs("CartPole-v1")
    envs.reset(seed=1)
    before = envs.get_state()
    with pytest.raises(exception, match="lanes: expected"):
        envs.get_state(lanes=lanes)
    with pytest.raises(exception, match="lanes: expected"):
        envs.set_state(before[:2], lanes=lanes)
    assert envs.get_state().tobytes() == before.tobytes()


def test_no_lanes():
    envs = make_envs("CartPole-v1")
    envs.reset(seed=1)
    for lanes in ([], np.zeros(envs.num_envs, np.bool_)):
        with pytest.raises(error.InvalidArgument, match="lanes: expected distinct"):
            envs.get_state(lanes=lanes)


def test_durations_are_counted_from_the_restoring():
    options = {"episode_statistics": True}
    envs, other = (
        make_envs("CartPole-v1", max_episode_steps=3, vector_kwargs=options) for _ in range(2)
    )
    envs.reset(seed=1)
    envs.step([0, 1, 0])
    saved = envs.get_state()
    time.sleep(0.01)
    for restored in (envs, other):
        began = time.perf_counter()
        restored.set_state(saved)
        restored.step([0, 1, 0])
        episode = restored.step([0, 1, 0])[4]["episode"]
        assert episode["l"].tolist() == [3, 3, 3]
        assert episode["r"].tolist() == [3.0, 3.0, 3.0]
        assert (episode["t"] <= time.perf_counter() - began).all()
    new = make_envs("CartPole-v1", max_episode_steps=1, vector_kwargs=options)
    began = time.perf_counter()
    new.set_attr("state", [[0.0] * 4] * 3)
    seconds = new.step([0, 1, 0])[4]["episode"]["t"]
    assert (seconds <= time.perf_counter() - began).all()


# Copies and pickles of vector environments


@pytest.mark.parametrize("how", ["deepcopy", "copy", "pickle"])
def test_copies_of_vector_environments(how, env_id, mode):
    options = {"episode_statistics": True, "num_threads": 2, "copy": False}
    envs = make_envs(env_id, mode=mode, max_episode_steps=40, vector_kwargs=options)
    name, value = PARAMETERS[env_id]
    envs.set_attr(name, [value, value, 2 * value])
    envs.reset(seed=[4, 8, 1])
    envs.action_space.seed(3)
    run(envs, draw_actions(envs, 3))
    other = duplicate(envs, how)
    assert type(other) is type(envs)
    for attribute in ("num_envs", "num_threads", "copy", "episode_statistics", "autoreset_mode"):
        assert getattr(other, attribute) == getattr(envs, attribute)
    assert other.max_episode_steps == 40
    assert other.spec == envs.spec
    assert other.np_random_seed == (4, 8, 1)
    if how != "copy":  # a shallow copy shares its spaces
        assert same_bytes(other.action_space.sample(), envs.action_space.sample())
    actions = draw_actions(envs, 5, seed=1)
    assert same_bytes(run(other, actions), run(envs, actions))
    other.reset(seed=0)
    envs.step(actions[0])
    other.close()
    assert not envs.closed


def duplicate(env, how):
    if how == "pickle":
        return pickle.loads(pickle.dumps(env))
    return copy.deepcopy(env) if how == "deepcopy" else copy.copy(env)


def test_copies_before_the_first_reset_and_after_close():
    envs = make_envs("CartPole-v1")
    other = copy.deepcopy(envs)
    with pytest.raises(error.ResetNeeded):
        other.step([0, 0, 0])
    assert same_bytes(other.reset()[0], envs.reset()[0])
    envs.close()
    closed = copy.deepcopy(envs)
    assert closed.closed
    with pytest.raises(error.ClosedEnvironmentError):
        closed.step([0, 0, 0])
    closed.close()


def test_a_copy_of_the_wrapped_environment():
    envs = gym.vector.make("CartPole-v1", num_envs=3)
    envs.reset(seed=1)
    other = copy.deepcopy(envs)
    actions = draw_actions(envs, 30)
    assert same_bytes(run(other, actions), run(envs, actions))


# Single environments


@pytest.mark.parametrize("how", ["deepcopy", "copy", "pickle"])
@pytest.mark.parametrize("env_id", IDS)
def test_copies_of_single_environments(how, env_id):
    env = gym.make(env_id, max_episode_steps=10).unwrapped
    name, value = PARAMETERS[env_id]
    setattr(env, name, value)
    env.reset(seed=5)
    env.action_space.seed(3)
    env.step(env.action_space.sample())
    other = duplicate(env, how)
    assert type(other) is type(env)
    assert getattr(other, name) == value
    assert other.np_random_seed == 5
    for _ in range(8):
        action = env.action_space.sample()
        if how != "copy":
            assert same_bytes(other.action_space.sample(), action)
        assert same_bytes(env.step(action), other.step(action))
    assert same_bytes(env.reset(), other.reset())
    assert env.np_random.random() == other.np_random.random()
    other.reset(seed=1)
    env.np_random.random()
    assert env.np_random_seed == 5
    assert other.np_random_seed == 1


@pytest.mark.parametrize("how", ["deepcopy", "pickle"])
def test_copies_carry_their_wrappers(how):
    env = gym.make("CartPole-v1", max_episode_steps=5)
    env.reset(seed=1)
    for _ in range(3):
        env.step(0)
    other = duplicate(env, how)
    assert other.spec == env.spec
    steps = [(env.step(1), other.step(1)) for _ in range(2)]
    assert all(same_bytes(*pair) for pair in steps)
    assert steps[-1][0][3] is True


def test_copies_of_single_environments_at_every_stage():
    env = gym.make("Pendulum-v1").unwrapped
    new = copy.deepcopy(env)
    assert new.state is None
    with pytest.raises(error.ResetNeeded):
        new.step(np.zeros(1, np.float32))
    env.np_random  # noqa: B018 (seeds it)
    assert same_bytes(copy.deepcopy(env).reset(), env.reset())
    env.close()
    closed = copy.deepcopy(env)
    assert not closed.isopen
    assert same_bytes(closed.reset(), env.reset())


def test_single_environments_save_and_restore(env_id):
    env = gym.make(env_id).unwrapped
    env.reset(seed=2)
    saved = env.get_state()
    rng = np.random.default_rng(0)
    env.action_space.seed(1)
    actions = [env.action_space.sample() for _ in range(int(rng.integers(5, 9)))]
    expected = [env.step(action) for action in actions] + [env.reset()]
    env.set_state(saved)
    assert same_bytes([env.step(action) for action in actions] + [env.reset()], expected)
    assert env.np_random_seed == -1
    fresh = gym.make(env_id).unwrapped
    fresh.set_state(saved)
    assert same_bytes([fresh.step(action) for action in actions] + [fresh.reset()], expected)


def test_a_lane_becomes_a_single_environment_and_back(env_id):
    envs = make_envs(env_id, num_envs=5, max_episode_steps=-1)
    envs.reset(seed=7)
    actions = draw_actions(envs, 6)
    envs.step(actions[0])
    env = gym.make(env_id).unwrapped
    env.set_state(envs.get_state(lanes=[3]))
    for batch in actions[1:4]:
        step, single = envs.step(batch), env.step(batch[3])
        assert same_bytes(step[0][3], single[0])
        assert step[1][3] == single[1]
    envs.set_state(env.get_state(), lanes=[0])
    for batch in actions[4:]:
        step, single = envs.step(batch), env.step(batch[0])
        assert same_bytes(step[0][0], single[0])


def test_the_copy_of_a_lane_is_on_its_own():
    envs = make_envs("CartPole-v1")
    envs.reset(seed=1)
    lane = envs.get_attr("unwrapped")[2]
    env = copy.deepcopy(lane)
    actions = draw_actions(envs, 3)
    for batch in actions:
        assert same_bytes(envs.step(batch)[0][2], env.step(batch[2])[0])
    env.reset(seed=3)
    env.close()
    envs.step(actions[0])


def test_the_state_of_a_wrapped_environment_is_not_that_of_a_lane():
    env = gym.make("CartPole-v1")
    env.reset(seed=1)
    envs = gym.make_vec("CartPole-v1", 1)
    state = env.get_state()
    with pytest.raises(TypeError, match=r"state: expected a batch of states, .* got EnvState"):
        envs.set_state(state)
    envs.set_state(state.env)
    assert envs.state.ravel().tolist() == list(env.unwrapped.state)
    for number in (np.array(None), np.array(3.0)):
        with pytest.raises(TypeError, match="state: expected a batch of states"):
            envs.set_state(number)
