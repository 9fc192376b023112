"""Ownership and size of the memory of the compiled engine's arrays."""

import copy
import gc
import tracemalloc

import numpy as np
import pytest

from tests.pairwise import pairwise
from tests.vector.contract import (
    DISABLED,
    IDS,
    MODES,
    SAME_STEP,
    draw_actions,
    make_envs,
    outputs,
    same_bytes,
)

# Holders that may keep an array's memory, besides the array.
HOLDERS = {
    "array": lambda array: array,
    "view": lambda array: array.view(),
    "slice": lambda array: array[1:],
    "row": lambda array: array[0],
    "reversed": lambda array: array[::-1],
    "reshaped": lambda array: array.reshape(-1),
    "view of a view": lambda array: array[:2].T,
    "bytes": lambda array: array.view(np.uint8),
    "memoryview": memoryview,
    "dlpack": np.from_dlpack,
    "in a dict": lambda array: {"kept": [array]},
}


def content(kept):
    """Return a copy of the bytes that a holder keeps."""
    if isinstance(kept, dict):
        kept = kept["kept"][0]
    return np.array(kept).tobytes()


def statistics(mode, **kwargs):
    return make_envs(
        "CartPole-v1",
        mode=mode,
        max_episode_steps=3,
        vector_kwargs={"episode_statistics": True},
        **kwargs,
    )


def all_arrays(step):
    """Return the arrays of a step, infos included, by name."""
    names = ("observations", "rewards", "terminated", "truncated")
    arrays = dict(zip(names, step[:4], strict=True))
    for key, value in step[4].items():
        if isinstance(value, np.ndarray):
            arrays[key] = value
        elif key == "episode":
            arrays.update(value)
    return arrays


@pytest.mark.parametrize("holder", HOLDERS)
def test_held_arrays_never_change(holder):
    envs = statistics(SAME_STEP)
    kept, expected = [], []
    envs.reset(seed=1)
    for actions in draw_actions(envs, 30):
        for array in all_arrays(envs.step(actions)).values():
            if holder == "dlpack" and array.dtype == bool:
                continue
            kept.append(HOLDERS[holder](array))
            expected.append(content(kept[-1]))
    assert len(kept) > 30 * 2
    assert [content(one) for one in kept] == expected


def test_arrays_kept_now_and_then():
    """A replay buffer keeps some steps and drops others, in any order."""
    envs = statistics(SAME_STEP)
    rng = np.random.default_rng(0)
    kept = []
    envs.reset(seed=1)
    for actions in draw_actions(envs, 300):
        step = envs.step(actions)
        if rng.random() < 0.3:
            kept.append((step, copy.deepcopy(step)))
        if kept and rng.random() < 0.2:
            kept.pop(rng.integers(len(kept)))
        assert all(same_bytes(*pair) for pair in kept)
    assert len(kept) > 3


def test_dropped_arrays_are_used_again(mode):
    envs = statistics(mode)
    addresses = {}
    envs.reset(seed=1)
    for actions in draw_actions(envs, 60):
        step = envs.step(actions)
        for name, array in all_arrays(step).items():
            addresses.setdefault(name, []).append(array.ctypes.data)
        if mode is DISABLED and step[3].any():
            envs.reset()
    # The arrays of the step before are still held while the next one is made.
    assert all(len(set(used)) <= 3 for used in addresses.values()), addresses
    assert len(addresses) == (4 + 1 + 3 if mode is not SAME_STEP else 4 + 3 + 4)


@pytest.mark.slow
def test_steady_stepping_does_not_grow(mode):
    envs = statistics(mode, num_envs=1000)
    envs.reset(seed=1)
    actions = draw_actions(envs)

    def some_steps():
        for _ in range(20):
            step = envs.step(actions)
            if mode is DISABLED and step[3].any():
                envs.reset()

    some_steps()
    gc.collect()
    tracemalloc.start()
    try:
        some_steps()
        growth = []
        for _ in range(5):
            before = tracemalloc.get_traced_memory()[0]
            some_steps()
            growth.append(tracemalloc.get_traced_memory()[0] - before)
        # Bytes: less than an object per step. Memory that leaks grows in every round, while the
        # other threads of the test runner allocate only now and then.
        assert min(growth) < 400, growth
    finally:
        tracemalloc.stop()


def reshaped(array):
    array.shape = (2, 6) if array.size == 12 else (3, 1)


IN_PLACE = {
    "frozen": lambda array: array.setflags(write=False),
    "reshaped": reshaped,
    "resized": lambda array: array.resize((7,), refcheck=False),
}


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
@pytest.mark.parametrize("change", IN_PLACE)
@pytest.mark.parametrize("copy_arrays", [True, False])
def test_arrays_that_the_caller_changed_in_place_do_not_come_back(change, copy_arrays):
    envs = make_envs("CartPole-v1", vector_kwargs={"copy": copy_arrays})
    other = make_envs("CartPole-v1")
    envs.reset(seed=1), other.reset(seed=1)
    for actions in draw_actions(envs, 12):
        step, expected = envs.step(actions), other.step(actions)
        assert same_bytes(step, expected)
        for array in step[:4]:
            assert array.flags.c_contiguous
            assert array.flags.writeable
            IN_PLACE[change](array)
        del step, array


def test_without_copies_every_array_is_the_same():
    envs = make_envs(
        "CartPole-v1",
        mode=SAME_STEP,
        max_episode_steps=2,
        vector_kwargs={"copy": False, "episode_statistics": True},
    )
    envs.reset(seed=1)
    first = None
    for actions in draw_actions(envs, 12):
        step = envs.step(actions)
        if step[3].any():
            arrays = all_arrays(step)
            first = first or arrays
            assert all(arrays[name] is first[name] for name in first)
    assert len(first) == 11


def test_step_into_writes_nothing_else(env_id):
    envs = make_envs(env_id)
    envs.reset(seed=1)
    guarded = {}
    for name, array in outputs(envs).items():
        wide = np.full((5, *array.shape[1:]), True if array.dtype == bool else 77, array.dtype)
        guarded[name] = wide
    envs.step_into(draw_actions(envs), **{name: wide[1:4] for name, wide in guarded.items()})
    for name, wide in guarded.items():
        before = np.ones_like(wide[:1]) if wide.dtype == bool else np.full_like(wide[:1], 77)
        assert same_bytes(wide[:1], before), name
        assert same_bytes(wide[4:], before), name


@pytest.mark.slow
def test_arrays_outlive_the_environment(mode):
    envs = statistics(mode)
    envs.reset(seed=1)
    steps = [envs.step(actions) for actions in draw_actions(envs, 3)]
    views = envs.get_attr("np_random")
    expected = copy.deepcopy(steps)
    envs.close()
    del envs
    gc.collect()
    assert same_bytes(steps, expected)
    assert 0 <= views[2].random() < 1


@pytest.mark.slow
@pytest.mark.parametrize("env_id,mode,statistics", pairwise(IDS, MODES, [False, True]))
def test_memory_of_a_lane(env_id, mode, statistics):
    """At most 160 bytes per lane besides observations; spaces are made on first use."""
    n = 20_000
    make_envs(env_id).close()  # loads what is loaded once
    actions = draw_actions(make_envs(env_id, num_envs=n))
    gc.collect()
    tracemalloc.start()
    try:
        options = {"episode_statistics": statistics, "num_threads": 1}
        envs = make_envs(env_id, mode=mode, num_envs=n, vector_kwargs=options)
        envs.reset(seed=0)
        for _ in range(5):
            step = envs.step(actions)
        traced = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    batch = envs._batch
    lanes = [batch.view_state(), batch.view_random(), *batch.view_lifecycle()]
    computed = sum(array.nbytes for array in lanes) + 8 * statistics * n  # the episode's start
    assert computed <= traced
    # Two batches of observations, and those of ended episodes.
    observations = (3 if mode is SAME_STEP else 2) * step[0].nbytes
    beside = (traced - observations) / n
    assert beside <= 160, f"{beside:.1f} bytes"
    # Lane memory, and two of each other array of a step.
    assert (computed + 2 * sum(array.nbytes for array in step[1:4])) / n <= 160


def test_spaces_of_a_batch_are_made_when_used():
    envs = make_envs("CartPole-v1", num_envs=1000)
    assert "observation_space" not in vars(envs)
    assert envs.observation_space is envs.observation_space
    assert envs.action_space is envs.action_space
    assert envs.observation_space.shape == (1000, 4)
