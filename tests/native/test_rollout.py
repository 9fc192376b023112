"""step_into and rollout write results directly into the caller's arrays."""

import copy
import re
import threading
import time

import numpy as np
import pytest

from gymcore import error
from gymcore.native.vector_env import Rollout
from tests.vector.contract import (
    ARRAY_ID,
    DISABLED,
    IDS_OF,
    NEXT_STEP,
    SAME_STEP,
    draw_actions,
    infos_at,
    make_envs,
    outputs,
    same_bytes,
    stagger,
)

T = 6


def test_rollout_makes_its_arrays(env_id):
    envs = make_envs(env_id, mode=SAME_STEP)
    envs.reset(seed=1)
    rolled = envs.rollout(draw_actions(envs, T))
    assert type(rolled) is Rollout
    assert rolled.final_observations is None
    size = envs.single_observation_space.shape
    assert (rolled.observations.dtype, rolled.observations.shape) == (np.float32, (T, 3, *size))
    assert (rolled.rewards.dtype, rolled.rewards.shape) == (np.float64, (T, 3))
    assert (rolled.terminated.dtype, rolled.terminated.shape) == (np.bool_, (T, 3))
    assert (rolled.truncated.dtype, rolled.truncated.shape) == (np.bool_, (T, 3))
    rolled = envs.rollout(draw_actions(envs, T), final_observations=True)
    assert (rolled.final_observations.dtype, rolled.final_observations.shape) == (
        np.float32,
        (T, 3, *size),
    )
    assert envs.rollout(draw_actions(envs, T), final_observations=False).final_observations is None


@pytest.mark.parametrize("num_envs", [1, 64, 257, 5000])
@pytest.mark.parametrize("num_threads", [1, 2])
@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP], ids=lambda mode: mode.value)
def test_rollout_is_steps(env_id, mode, num_envs, num_threads):
    """Each block of lanes runs all steps by itself, with the same results."""
    options = {"num_threads": num_threads}
    rolling = make_envs(
        env_id, "native", mode, num_envs, max_episode_steps=4, vector_kwargs=options
    )
    stepping = make_envs(env_id, "native", mode, num_envs, max_episode_steps=4)
    rolling.reset(seed=1), stepping.reset(seed=1)
    if num_envs > 1:
        stagger(rolling, seed=3), stagger(stepping, seed=3)
    for seed in (0, 1):
        actions = draw_actions(rolling, T, seed=seed)
        rolled = rolling.rollout(actions, final_observations=mode is SAME_STEP)
        for t, batch in enumerate(actions):
            step = stepping.step(batch)
            assert same_bytes([array[t] for array in rolled[:4]], list(step[:4]))
            if mode is SAME_STEP:
                expected = step[4].get("final_obs", np.zeros_like(step[0]))
                assert same_bytes(rolled.final_observations[t], expected)
    assert rolling.get_state().tobytes() == stepping.get_state().tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("env_id", [id for id in IDS_OF["native"] if id != ARRAY_ID])
@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP], ids=lambda mode: mode.value)
def test_infos_of_a_rollout_are_those_of_its_steps(env_id, mode):
    """Lanes end in different steps, and some in the last one."""
    options = {"max_episode_steps": 3, "vector_kwargs": {"episode_statistics": True}}
    rolling, stepping = (make_envs(env_id, "native", mode, 3, **options) for _ in range(2))
    stagger(rolling), stagger(stepping)
    for seed in (0, 1):
        actions = draw_actions(rolling, T, seed=seed)
        infos = rolling.rollout(actions, **outputs(rolling, T)).infos
        ended = np.zeros((T, 3), bool)
        for t, batch in enumerate(actions):
            *_, terminated, truncated, expected = stepping.step(batch)
            ended[t] = terminated | truncated
            without = {key: one for key, one in expected.items() if "final_obs" not in key}
            row = infos_at(infos, t)
            for each in (row, without):
                each.get("episode", {}).pop("t", None)
            assert same_bytes(row, without)
        assert infos["_episode"].sum() == ended.sum() >= 3
        assert np.array_equal(infos["_episode"], ended)
    assert rolling.get_state().tobytes() == stepping.get_state().tobytes()


def test_infos_of_rollouts_belong_to_the_caller_or_are_left_out():
    options = {"max_episode_steps": 3, "vector_kwargs": {"episode_statistics": True}}
    envs = make_envs("Hopper-v5", "native", SAME_STEP, **options)
    envs.reset(seed=1)
    actions = draw_actions(envs, T)
    first = envs.rollout(actions).infos
    kept = copy.deepcopy(first)
    assert {"x_position", "episode", "final_info"} <= first.keys()
    for _ in range(4):
        envs.rollout(actions)
    assert same_bytes(first, kept)
    assert envs.rollout(actions, infos=False).infos == {}
    before = envs.get_state().tobytes()
    for wrong in (first, 1, None):
        with pytest.raises(error.ArgumentTypeError, match="infos: expected a bool, got"):
            envs.rollout(actions, infos=wrong)
    envs.keep_final_frames()
    with pytest.raises(error.InvalidArgument, match="infos: expected False after keep_final_fra"):
        envs.rollout(actions)
    assert envs.get_state().tobytes() == before
    assert envs.rollout(actions, infos=False).truncated.any()


@pytest.mark.parametrize("num_envs", [1, 64])
def test_durations_of_episodes_within_a_rollout(num_envs):
    """They follow each other, and each one takes the time of its own steps."""
    envs = make_envs(
        "Acrobot-v1",
        "native",
        SAME_STEP,
        num_envs,
        max_episode_steps=100,
        vector_kwargs={"episode_statistics": True, "num_threads": 1},
    )
    begin = time.perf_counter()
    envs.reset(seed=1)
    infos = envs.rollout(np.zeros((1000, num_envs), np.int64)).infos
    spent = time.perf_counter() - begin
    times = infos["episode"]["t"]
    assert infos["_episode"].sum(axis=0).tolist() == [10] * num_envs
    assert (times[infos["_episode"]] > 0).all()
    assert (times.sum(axis=0) <= spent + 1e-5).all()


def test_the_last_action_of_a_rollout_is_drawn():
    rolling, stepping = (make_envs("Pendulum-v1", render_mode="rgb_array") for _ in range(2))
    rolling.reset(seed=1), stepping.reset(seed=1)
    actions = draw_actions(rolling, T)
    rolling.rollout(actions)
    for batch in actions:
        stepping.step(batch)
    assert same_bytes(rolling.render(), stepping.render())


def test_rollouts_continue_each_other_and_mix_with_steps():
    one, other = (make_envs("CartPole-v1", mode=SAME_STEP) for _ in range(2))
    one.reset(seed=1), other.reset(seed=1)
    actions = draw_actions(one, 60)
    whole = one.rollout(actions)
    first, between = other.rollout(actions[:25]), other.step(actions[25])
    arrays = outputs(other)
    other.step_into(actions[26], **arrays)
    last = other.rollout(actions[27:])
    for k, name in enumerate(arrays):
        parts = [first[k], between[k][None], arrays[name][None], last[k]]
        assert same_bytes(np.concatenate(parts), whole[k])


def test_rollout_takes_lists_and_other_layouts():
    envs = make_envs("Pendulum-v1")
    actions = np.round(draw_actions(envs, T))
    results = []
    for form in (
        actions,
        actions.tolist(),
        list(actions),
        actions.astype(np.int8),
        np.asfortranarray(actions),
        np.repeat(actions, 2, axis=0)[::2],
    ):
        envs.reset(seed=1)
        results.append(envs.rollout(form))
    assert all(same_bytes(tuple(one), tuple(results[0])) for one in results[1:])


def test_parts_of_larger_arrays():
    """A PPO buffer is filled row by row."""
    envs, other = make_envs("CartPole-v1"), make_envs("CartPole-v1")
    envs.reset(seed=1), other.reset(seed=1)
    buffer = outputs(envs, 20)
    actions = draw_actions(envs, 20)
    for t in range(0, 20, 5):
        envs.rollout(actions[t : t + 5], **{k: array[t : t + 5] for k, array in buffer.items()})
    assert same_bytes(list(buffer.values()), list(other.rollout(actions)[:4]))
    envs.reset(seed=1)
    again = outputs(envs, 20)
    for t in range(20):
        envs.step_into(actions[t], **{name: array[t] for name, array in again.items()})
    assert same_bytes(list(again.values()), list(buffer.values()))


def test_steps_into_arrays_report_like_steps():
    envs, other = (
        make_envs(
            "CartPole-v1",
            mode=SAME_STEP,
            max_episode_steps=2,
            vector_kwargs={"episode_statistics": True},
        )
        for _ in range(2)
    )
    envs.reset(seed=1), other.reset(seed=1)
    for actions in draw_actions(envs, 4):
        infos, expected = envs.step_into(actions, **outputs(envs)), other.step(actions)[4]
        assert list(infos) == list(expected)
        if infos:
            for each in (infos, expected):
                each["episode"].pop("t")
            assert same_bytes(infos, expected)


# Bad arguments

WRONG = {
    "list": (lambda a: a.tolist(), TypeError, "NumPy array"),
    "missing lane": (lambda a: a[..., :2, :] if a.ndim == 3 else a[..., :2], ValueError, "shape"),
    "extra axis": (lambda a: a[None].copy(), ValueError, "shape"),
    "dtype": (lambda a: a.astype(np.float16), ValueError, "array of shape"),
    "byte order": (lambda a: a.astype(a.dtype.newbyteorder()), ValueError, "array of shape"),
    "fortran": (lambda a: np.asfortranarray(a), ValueError, "C-contiguous"),
    "strided": (lambda a: np.repeat(a, 2, axis=0)[::2], ValueError, "C-contiguous"),
    "unaligned": (lambda a: unaligned(a), ValueError, "C-contiguous"),
    "read-only": (lambda a: read_only(a), ValueError, "writable"),
}
NAMES = ("observations", "rewards", "terminated", "truncated")


def unaligned(array):
    raw = np.zeros(array.nbytes + 1, np.uint8)
    return raw[1:].view(array.dtype).reshape(array.shape)


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("wrong", WRONG)
def test_bad_arrays(name, wrong):
    change, exception, message = WRONG[wrong]
    if wrong in ("unaligned", "byte order") and name in ("terminated", "truncated"):
        return  # a single byte can have neither
    envs = make_envs("CartPole-v1")
    envs.reset(seed=1)
    before = envs.get_state().tobytes()
    actions = draw_actions(envs, T)
    calls = [(outputs(envs, T), lambda arrays: envs.rollout(actions, **arrays))]
    if wrong != "fortran" or name == "observations":  # with one axis both orders are the same
        calls.append((outputs(envs), lambda arrays: envs.step_into(actions[0], **arrays)))
    for arrays, call in calls:
        arrays[name] = change(arrays[name])
        copies = {key: np.array(array) for key, array in arrays.items()}
        with pytest.raises(exception, match=f"^{name}: expected .*{message}") as caught:
            call(arrays)
        assert isinstance(caught.value, error.Error)
        assert all(same_bytes(np.array(arrays[key]), copies[key]) for key in arrays)
    assert envs.get_state().tobytes() == before


def test_arrays_that_share_memory():
    envs = make_envs("CartPole-v1", mode=SAME_STEP)
    envs.reset(seed=1)
    before = envs.get_state().tobytes()
    actions = draw_actions(envs, T)
    flags = np.zeros(5, bool)
    arrays = {**outputs(envs), "terminated": flags[:3], "truncated": flags[2:]}
    with pytest.raises(error.InvalidArgument, match=r"truncated: .* memory of its own.*terminated"):
        envs.step_into(actions[0], **arrays)
    wide = outputs(envs, T)
    wide["truncated"] = wide["terminated"]
    with pytest.raises(error.InvalidArgument, match="memory of its own"):
        envs.rollout(actions, **wide)
    wide = outputs(envs, T)
    with pytest.raises(error.InvalidArgument, match=r"final_observations: .* memory of its own"):
        envs.rollout(actions, **wide, final_observations=wide["observations"])
    assert envs.get_state().tobytes() == before
    # Adjacent arrays do not overlap.
    flags = np.zeros(6, bool)
    envs.step_into(actions[0], **{**arrays, "terminated": flags[:3], "truncated": flags[3:]})


BAD_ROLLOUTS = {
    "no steps": (np.zeros((0, 3), np.int64), "T >= 1, got shape (0, 3)"),
    "one batch": (np.zeros(3, np.int64), "expected int64 array of shape (3, 3), got int64 (3,)"),
    "scalar": (np.int64(3), "expected [T, num_envs, ...]"),
    "None": (None, "expected [T, num_envs, ...]"),
    "lanes": (np.zeros((4, 2), np.int64), "expected int64 array of shape (4, 3), got int64 (4, 2)"),
    "axis": (np.zeros((4, 3, 1), np.int64), "got int64 (4, 3, 1)"),
    "floats": (np.zeros((4, 3)), "got float64 (4, 3)"),
    "ragged": ([[0, 1, 0], [0, 1]], "actions: expected [T, num_envs, ...]"),
    "range": (np.array([[0, 1, 0], [0, 0, 2]]), "actions[1, 2] = 2 is outside Discrete(2)"),
}


@pytest.mark.parametrize("name", BAD_ROLLOUTS)
def test_bad_batches_of_actions(name):
    actions, message = BAD_ROLLOUTS[name]
    envs = make_envs("CartPole-v1")
    envs.reset(seed=1)
    before = envs.get_state().tobytes()
    with pytest.raises(error.InvalidAction, match=re.escape(message)):
        envs.rollout(actions)
    assert envs.get_state().tobytes() == before


def test_nan_late_in_a_rollout_steps_nothing():
    envs = make_envs("MountainCarContinuous-v0")
    envs.reset(seed=1)
    before = envs.get_state().tobytes()
    actions = draw_actions(envs, T)
    actions[T - 1, 2, 0] = np.nan
    arrays = outputs(envs, T)
    with pytest.raises(error.InvalidAction, match=r"actions\[5, 2, 0\] = nan"):
        envs.rollout(actions, **arrays)
    assert envs.get_state().tobytes() == before
    assert (arrays["rewards"] == -1).all()


def test_final_observations_are_for_same_step_mode():
    envs = make_envs("CartPole-v1", mode=NEXT_STEP)
    envs.reset(seed=1)
    with pytest.raises(error.InvalidArgument, match="final_observations: only same-step"):
        envs.rollout(draw_actions(envs, T), final_observations=True)
    envs = make_envs("CartPole-v1", mode=SAME_STEP)
    envs.reset(seed=1)
    for bad in (np.zeros((T, 3, 4)), np.zeros((T, 3, 5), np.float32), [1], "yes"):
        with pytest.raises(error.Error, match="final_observations: expected"):
            envs.rollout(draw_actions(envs, T), final_observations=bad)


def test_no_rollouts_without_autoreset():
    envs = make_envs("CartPole-v1", mode=DISABLED)
    envs.reset(seed=1)
    with pytest.raises(error.InvalidArgument, match="NEXT_STEP or SAME_STEP, got DISABLED"):
        envs.rollout(draw_actions(envs, T))


def test_other_threads_run_during_a_rollout():
    """The GIL is free: this thread sees half-written arrays."""
    envs = make_envs("Acrobot-v1", num_envs=500)
    envs.reset(seed=1)
    actions = draw_actions(envs, 400)
    rewards = np.empty(actions.shape)
    for _ in range(100):  # another process may occupy this thread's processor for a whole rollout
        rewards.fill(np.nan)
        thread = threading.Thread(target=lambda: envs.rollout(actions, rewards=rewards))
        thread.start()
        half_written = False
        while thread.is_alive() and not half_written:
            left = np.isnan(rewards[:, 0])
            half_written = left.any() and not left.all()
        thread.join()
        if half_written:
            return
    pytest.fail("nothing ran beside the rollout")


def test_step_into_converts_actions_once():
    """Conversion of a list takes longer than the step."""
    reads = []

    class Actions:
        def __array__(self, dtype=None, copy=None):
            reads.append(dtype)
            return np.array([1, 0, 1])

    envs, same = (make_envs("CartPole-v1") for _ in range(2))
    for each in (envs, same):
        each.reset(seed=1)
    arrays = outputs(envs)
    envs.step_into(Actions(), **arrays)
    assert len(reads) == 1
    assert np.array_equal(arrays["observations"], same.step([1, 0, 1])[0])
