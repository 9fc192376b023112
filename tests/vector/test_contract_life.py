"""docs/contract.md, sections 9 to 11: attributes, life, and extras of the compiled engine."""

import copy
import gc
import pickle
import weakref
from multiprocessing import active_children

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.envs.mujoco import MujocoEnv
from tests.vector.contract import (
    LARGEST,
    PARAMETERS,
    SAME_STEP,
    USUAL_INFOS,
    ActionsThatTakeTime,
    arrays_of,
    batched,
    calm_seed,
    draw_actions,
    final_rows,
    infos_at,
    make_envs,
    new_threads_settle_at,
    outputs,
    own_threads,
    rows,
    same_bytes,
    single_env,
    single_envs,
    stagger,
    written,
)
from tests.vector.contract_exclusions import is_excluded

# 9 Attributes of lanes


def test_9_1_attributes_and_calls(make, backend):
    envs = make(backend)
    name, _ = PARAMETERS[envs.spec.id]
    default = getattr(single_env(envs).unwrapped, name)
    assert envs.get_attr(name) == envs.call(name) == (default,) * 3
    assert envs.get_attr("render_mode") == (None,) * 3
    assert envs.call("has_wrapper_attr", name) == (True,) * 3
    assert envs.call("set_wrapper_attr", "no_such_thing", 3, force=False) == (False,) * 3


def test_9_2_set_one_or_all(make, backend):
    envs = make(backend)
    name, value = PARAMETERS[envs.spec.id]
    other, third = (not value, value) if isinstance(value, bool) else (2 * value, 3 * value)
    for values in ([value, other, third], (third, value, value)):
        envs.set_attr(name, values)
        assert envs.get_attr(name) == tuple(values)
    envs.set_attr(name, other)
    assert envs.get_attr(name) == (other,) * 3


def test_9_3_parameters_act(make, backend, mode):
    envs = make(backend, mode)
    name, value = PARAMETERS[envs.spec.id]
    values = [value, 1.5 * value, 2 * value]
    envs.set_attr(name, values)
    singles = single_envs(envs)
    envs.reset(seed=4)
    for i, (env, one) in enumerate(zip(singles, values, strict=True)):
        setattr(env.unwrapped, name, one)
        env.reset(seed=4 + i)
    for actions in draw_actions(envs, 5):
        step = envs.step(actions)
        expected = [env.step(action) for env, action in zip(singles, actions, strict=True)]
        assert same_bytes(step[0], batched(envs, [one[0] for one in expected]))
        assert step[1].tolist() == [one[1] for one in expected]
    default = make(backend, mode)
    default.reset(seed=4)
    for actions in draw_actions(envs, 5):
        other = default.step(actions)
    assert not same_bytes(step[0], other[0])


def test_9_4_states_are_read_and_set(make, backend, mode):
    envs, other = make(backend, mode), make(backend, mode)
    # The same streams, for lanes with random steps, and other states.
    envs.reset(seed=1), other.reset(seed=1)
    states = envs.get_attr("state")
    other.set_attr("state", [states[2], states[0], states[1]])
    assert not same_bytes(other.get_attr("state"), states)
    assert len(states) == 3
    assert all(state.dtype == np.float64 and state.ndim == 1 for state in states)
    other.set_attr("state", list(states))
    assert same_bytes(other.get_attr("state"), states)
    actions = draw_actions(envs)
    assert same_bytes(envs.step(actions)[:4], other.step(actions)[:4])
    other.set_attr("state", states[1])  # an array is one state, for all lanes
    assert same_bytes(other.get_attr("state"), (states[1],) * 3)


def test_9_5_bad_attributes(make, backend):
    envs = make(backend)
    name, value = PARAMETERS[envs.spec.id]
    for values in ([value], [value] * 4, ()):
        with pytest.raises(ValueError, match="3 environments"):
            envs.set_attr(name, values)
    with pytest.raises(AttributeError, match="no_such_thing"):
        envs.get_attr("no_such_thing")
    with pytest.raises(AttributeError, match="no_such_thing"):
        envs.call("no_such_thing", 3)
    for call in (envs.get_attr, envs.call, lambda name: envs.set_attr(name, value)):
        for other in (None, 1.5, b"length", ["length"]):
            with pytest.raises(error.ArgumentTypeError, match="name: expected a text"):
                call(other)


# 10 Life


def test_10_1_close(make, backend, mode):
    envs = make(backend, mode)
    envs.reset(seed=1)
    assert envs.closed is False
    for _ in range(3):
        envs.close()
        assert envs.closed is True


def test_10_2_use_after_close(make, backend, mode):
    envs, never_reset = make(backend, mode), make(backend, mode)
    envs.reset(seed=1)
    envs.close(), never_reset.close()
    for closed in (envs, never_reset):
        with pytest.raises(error.ClosedEnvironmentError, match="close"):
            closed.step(draw_actions(envs))
        with pytest.raises(error.ClosedEnvironmentError, match="close"):
            closed.reset(seed=1)


def test_10_3_with_block(make, backend):
    with make(backend) as envs:
        assert type(envs).__name__ in repr(envs)
        assert "num_envs=3" in repr(envs)
        envs.reset(seed=1)
    assert envs.closed
    with pytest.raises(KeyError), make(backend) as envs:
        raise KeyError("passes through")
    assert envs.closed


def test_10_4_collected_without_close(env_id, backend, mode):
    threads, processes = own_threads(), set(active_children())
    envs = make_envs(env_id, backend, mode, vector_kwargs={"num_threads": 2})
    envs.reset(seed=1)
    kept = envs.step(draw_actions(envs))
    observations = copy.deepcopy(kept[0])
    gone = weakref.ref(envs)
    del envs
    gc.collect()
    assert gone() is None
    assert set(active_children()) <= processes
    assert new_threads_settle_at(0, threads)
    assert same_bytes(kept[0], observations)


def test_10_5_the_spec_makes_it_again(make, backend, mode):
    options = {"episode_statistics": True, "num_threads": 1, "copy": False}
    envs = make(backend, mode, num_envs=2, max_episode_steps=3, vector_kwargs=options)
    again = gym.make_vec(envs.spec)
    assert type(again) is type(envs)
    assert again.num_envs == 2
    assert again.metadata == envs.metadata
    assert again.spec == envs.spec
    seed = calm_seed(envs, 1)
    assert same_bytes(envs.reset(seed=seed), again.reset(seed=seed))
    for actions in draw_actions(envs, 3):
        step, other = envs.step(actions), again.step(actions)
        for infos in (step[4], other[4]):
            infos.get("episode", {}).pop("t", None)
        assert same_bytes(step, other)
    assert step[3].all()
    again.close()
    more = gym.make_vec(envs.spec, num_envs=5)
    assert more.num_envs == 5
    more.close()


def test_10_6_rendering(request, make, backend, mode):
    envs = make(backend, mode, num_envs=2, render_mode="rgb_array")
    single = single_env(envs, render_mode="rgb_array")
    if isinstance(single.unwrapped, MujocoEnv):
        request.getfixturevalue("drawing")  # OpenGL, which this machine may lack
    envs.reset(seed=1), single.reset(seed=2)
    actions = draw_actions(envs)
    envs.step(actions), single.step(actions[1])
    frames = envs.render()
    assert type(frames) is tuple
    assert len(frames) == 2
    assert same_bytes(frames[1], single.render())
    assert frames[0].dtype == np.uint8
    assert frames[0].shape == frames[1].shape
    assert not same_bytes(frames[0], frames[1])


# 11 Only the compiled engine


def test_11_1_step_into(make, mode):
    envs, other = (make("native", mode, max_episode_steps=3) for _ in range(2))
    stagger(envs), stagger(other)
    arrays = outputs(envs)
    for actions in draw_actions(envs, 2):
        infos = envs.step_into(actions, **arrays)
        *expected, expected_infos = other.step(actions)
        expected[0] = written(expected[0])
        assert same_bytes(list(arrays.values()), expected)
        assert same_bytes(infos, expected_infos)
    assert expected[3].tolist() == [True, False, True]


def test_11_2_rollout(make, mode):
    envs, other = (make("native", mode, max_episode_steps=3) for _ in range(2))
    stagger(envs), stagger(other)
    actions = draw_actions(envs, 10)
    if mode.value == "Disabled":
        with pytest.raises(error.InvalidArgument, match="DISABLED"):
            envs.rollout(actions)
        return
    saved = envs.get_state()
    assert envs.rollout(actions, **outputs(envs, 10), infos=False).infos == {}
    envs.set_state(saved)
    arrays = outputs(envs, 10)
    final = outputs(envs, 10)["observations"] if mode is SAME_STEP else None
    rolled = envs.rollout(actions, **arrays, final_observations=final)
    assert all(one is array for one, array in zip(rolled, arrays.values(), strict=False))
    assert rolled.infos or envs.spec.id not in USUAL_INFOS
    for t in range(10):
        step = other.step(actions[t])
        expected = {key: one for key, one in step[4].items() if "final_obs" not in key}
        assert not rolled.infos or same_bytes(infos_at(rolled.infos, t), expected)
        assert same_bytes([rows(one, t) for one in rolled[:4]], [written(step[0]), *step[1:4]])
        if mode is SAME_STEP:
            ended = step[2] | step[3]
            final = rows(rolled.final_observations, t)
            expected = final_rows(step[4], np.flatnonzero(ended)) if ended.any() else []
            assert same_bytes([rows(final, i) for i in np.flatnonzero(ended)], expected)
            assert not any(rows(one, ~ended).any() for one in arrays_of(final))
    assert (rolled.terminated | rolled.truncated).sum() > 5
    assert same_bytes(envs.get_state().tobytes(), other.get_state().tobytes())


def test_11_3_saved_states(make, mode):
    envs = make("native", mode, max_episode_steps=4)
    stagger(envs)
    saved = envs.get_state()
    actions = draw_actions(envs, 2)
    steps = [envs.step(batch) for batch in actions]
    envs.set_state(saved)
    assert same_bytes([envs.step(batch) for batch in actions], steps)
    # Into other lanes of another batch.
    other = make("native", mode, num_envs=5, max_episode_steps=4)
    other.reset(seed=77)
    other.set_state(saved, lanes=[4, 0, 2])
    for batch, step in zip(actions, steps, strict=True):
        wide = np.zeros((5, *batch.shape[1:]), batch.dtype)
        wide[[4, 0, 2]] = batch
        for array, expected in zip(other.step(wide)[:4], step[:4], strict=True):
            assert same_bytes(rows(array, [4, 0, 2]), expected)


@pytest.mark.parametrize(("num_envs", "num_threads"), [(1, 1), (64, 1), (300, 2), (5000, 3)])
def test_11_4_sizes_and_threads(make, env_id, mode, num_envs, num_threads):
    num_envs = min(num_envs, LARGEST.get(env_id, num_envs))
    envs = make("native", mode, num_envs, vector_kwargs={"num_threads": num_threads})
    lane = num_envs // 2
    small = make("native", mode, 1)
    first, alone = envs.reset(seed=6), small.reset(seed=6 + lane)
    assert same_bytes(rows(first[0], lane), rows(alone[0], 0))
    for actions in draw_actions(envs, 12):
        step, expected = envs.step(actions), small.step(actions[lane : lane + 1])
        for array, one in zip(step[:4], expected[:4], strict=True):
            assert same_bytes(rows(array, lane), rows(one, 0))
        ended = step[2] | step[3]
        if mode.value == "Disabled" and ended.any():
            envs.reset(options={"reset_mask": ended})
            if ended[lane]:
                small.reset()


def test_11_5_errors_change_nothing(make, env_id, mode):
    envs = make("native", mode)
    envs.reset(seed=1)
    before = envs.get_state().tobytes()
    actions = draw_actions(envs)
    wrong = actions.copy()
    wrong[2] = 99 if wrong.dtype == np.int64 else np.nan
    read_only = outputs(envs)
    read_only["rewards"].flags.writeable = False
    calls = [
        lambda: envs.step(wrong),
        lambda: envs.step(actions[:2]),
        lambda: envs.step(None),
        lambda: envs.step_into(actions, **read_only),
        lambda: envs.rollout(np.stack([actions, wrong])),
        lambda: envs.reset(seed=-1),
        lambda: envs.reset(seed=3, options={"reset_mask": np.zeros(3, bool)}),
        lambda: envs.set_attr("state", [[0.0] * 99] * 3),
        lambda: envs.set_state(envs.get_state()[:2]),
    ]
    if not is_excluded("test_9_2_", env_id):
        calls.append(lambda: envs.set_attr(PARAMETERS[env_id][0], [1.0, 1.0, "abc"]))
    for call in calls:
        with pytest.raises(error.Error):
            call()
        assert envs.get_state().tobytes() == before
        assert envs.np_random_seed == (1, 2, 3)


def test_11_6_a_second_thread_is_refused(make, env_id, mode):
    envs, other = make("native", mode), make("native", mode)
    envs.reset(seed=1), other.reset(seed=1)
    actions = draw_actions(envs)
    calls = [
        lambda: envs.step(actions),
        lambda: envs.step_into(actions, **outputs(envs)),
        lambda: envs.reset(seed=5),
        lambda: envs.set_state(other.get_state()),
        lambda: envs.get_state(),
        lambda: envs.close(),
    ]
    if not is_excluded("test_9_4_", env_id):
        calls.append(lambda: envs.set_attr("state", [envs.get_attr("state")[0]] * 3))
    if not is_excluded("test_9_2_", env_id):
        calls.append(lambda: envs.set_attr(*PARAMETERS[env_id]))
    refused = []

    def meanwhile():
        for call in calls:
            with pytest.raises(error.ConcurrentUseError, match="thread") as caught:
                call()
            refused.append(caught.value)

    step = envs.step(ActionsThatTakeTime(actions, meanwhile))
    assert len(refused) == len(calls)
    assert isinstance(refused[0], RuntimeError)
    assert same_bytes(step, other.step(actions))
    assert not envs.closed


def test_11_7_arrays_are_used_again(make, mode):
    envs = make("native", mode)
    envs.reset(seed=calm_seed(envs, 2))
    addresses = set()
    for actions in draw_actions(envs, 4):
        addresses.add(arrays_of(envs.step(actions)[0])[0].ctypes.data)
    assert len(addresses) == 1
    kept = []
    envs.reset(seed=calm_seed(envs, 3))
    for actions in draw_actions(envs, 3):
        kept.append(envs.step(actions)[0])
    assert len({arrays_of(batch)[0].ctypes.data for batch in kept}) == 3


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, copy.copy, lambda envs: pickle.loads(pickle.dumps(envs))]
)
def test_11_8_copies_continue(make, mode, duplicate):
    envs = make("native", mode, max_episode_steps=4)
    stagger(envs)
    other = duplicate(envs)
    assert other.np_random_seed == envs.np_random_seed
    assert other.spec == envs.spec
    actions = draw_actions(envs, 2)
    steps = [envs.step(batch) for batch in actions]
    assert same_bytes([other.step(batch) for batch in actions], steps)
    other.close()
    assert not envs.closed
    envs.reset()
