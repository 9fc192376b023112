"""The synchronous and the asynchronous engine agree, over random environments.

Every case has random spaces; the environments' episodes, rewards and infos are random too. The same
actions go to a SyncVectorEnv and to AsyncVectorEnvs, with shared memory and without. The spaces
take turns in the autoreset modes; `pytest -m soak` runs 10,000 steps of each space in each mode.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import sys

import numpy as np
import pytest

from gymcore.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from tests.testing_env import assert_same
from tests.vector.async_envs import (
    BOX_DTYPES,
    DYNAMIC,
    FIXED,
    SHARABLE,
    RandomSpacesEnv,
    random_env_fns,
    wide_space,
)

pytestmark = [pytest.mark.starts_processes, pytest.mark.slow]

MODES = list(AutoresetMode)
# Seeds of the spaces.
ARRAYS, OBJECTS, SIZES = (32, 73, 139, 148, 157), (6, 7, 9), (10, 11, 15)
ANY = SHARABLE + DYNAMIC
BOX_TYPES = [f" {np.dtype(name).name})" for name in BOX_DTYPES]
SHM, PIPES = {"shared_memory": True}, {"shared_memory": False}


def same(ours, theirs):
    """Return whether two structures have the same types and bytes; `assert_same` shows where not.

    An array of shape () counts as its number: batches return it as a number.
    """
    ours, theirs = (one[()] if isinstance(one, np.ndarray) else one for one in (ours, theirs))
    if type(ours) is not type(theirs):
        return False
    if isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(same(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, (tuple, list)):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if not isinstance(theirs, np.ndarray):
        return bool(ours == theirs)
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return False
    if theirs.dtype == object:
        return all(map(same, ours.flat, theirs.flat))
    return bool(ours.tobytes() == theirs.tobytes())


def compare(num_steps, num_envs, mode, variants, *args, seed=7, **kwargs):
    """Step a SyncVectorEnv and AsyncVectorEnvs of `RandomSpacesEnv(*args, **kwargs)`."""
    env_fns = random_env_fns(num_envs, *args, **kwargs)
    rng = np.random.default_rng(seed)
    with contextlib.ExitStack() as stack:
        sync = stack.enter_context(SyncVectorEnv(env_fns, autoreset_mode=mode))
        others = [
            stack.enter_context(AsyncVectorEnv(env_fns, autoreset_mode=mode, **variant))
            for variant in variants
        ]
        for envs in others:
            for name in ("observation_space", "action_space", "metadata", "render_mode"):
                assert getattr(envs, name) == getattr(sync, name)

        def check(where, method, *args, **kwargs):
            expected = getattr(sync, method)(*args, **kwargs)
            for envs, variant in zip(others, variants, strict=True):
                found = getattr(envs, method)(*args, **kwargs)
                if not same(found, expected):
                    assert_same(found, expected, f"{where}, {variant}")
            return expected

        sync.action_space.seed(seed)
        kept = [check("reset", "reset", seed=seed, options={"a": 1})]
        for step in range(num_steps):
            kept.append(check(f"step {step}", "step", sync.action_space.sample()))
            ended = kept[-1][2] | kept[-1][3]
            if mode is AutoresetMode.DISABLED and ended.any():
                options = {"reset_mask": ended, "step": step}
                check(f"masked reset after step {step}", "reset", seed=step, options=options)
            if rng.random() < 0.02:
                check(f"reset after step {step}", "reset")
            if rng.random() < 0.02:
                check(f"call after step {step}", "call", "scaled", step, offset=1)
                check(f"render after step {step}", "render")
        check("the end", "get_attr", "elapsed")
        check("the end", "get_attr", "np_random_seed")


@pytest.mark.parametrize("space_seed,mode", [*zip(ARRAYS, itertools.cycle(MODES))])
def test_spaces_of_arrays(space_seed, mode):
    compare(60, 3, mode, [{"num_workers": 2}, {**PIPES, "num_workers": 2}], space_seed, FIXED)


@pytest.mark.parametrize("space_seed,mode", [*zip(OBJECTS, MODES, strict=True)])
def test_spaces_of_objects(space_seed, mode):
    compare(60, 3, mode, [{"num_workers": 2}, {**PIPES, "num_workers": 2}], space_seed, SHARABLE)


@pytest.mark.parametrize("space_seed,mode", [*zip(SIZES, MODES, strict=True)])
def test_spaces_of_any_size(space_seed, mode):
    compare(60, 2, mode, [PIPES], space_seed, ANY)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_environments_that_use_one_array_for_all_observations(mode):
    variants = [{"num_workers": 1}, {"num_workers": 5}, {**PIPES, "num_workers": 2}]
    compare(20, 5, mode, variants, 10, ("box",), reuse=True)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_actions_that_are_no_arrays(mode):
    compare(40, 3, mode, [SHM, PIPES], 4, FIXED, ("text", "one_of", "graph", "sequence"))


@pytest.mark.parametrize("num_workers,mode", [*zip((1, 3, 17), MODES, strict=True)])
def test_without_infos_in_many_lanes(num_workers, mode):
    variants = [{"num_workers": num_workers}]
    compare(30, 17, mode, variants, 2, ("box", "discrete"), infos=False)


def functions_entered(envs):
    """Return the functions of the library that a step enters in this process."""
    entered = []

    def enter(frame, event, argument):
        if event == "call" and f"{os.sep}gymcore{os.sep}" in frame.f_code.co_filename:
            entered.append(frame.f_code.co_name)

    with envs:
        envs.reset(seed=1)
        actions = envs.action_space.sample()
        envs.step(actions)
        sys.setprofile(enter)
        try:
            envs.step(actions)
        finally:
            sys.setprofile(None)
    return entered


def test_waiting_for_workers_enters_few_functions():
    """A Python function takes as long as copying the observations of 64 lanes."""
    env_fns = random_env_fns(4, 2, ("box", "discrete"), infos=False)
    sync = functions_entered(SyncVectorEnv(env_fns))
    workers = functions_entered(AsyncVectorEnv(env_fns, num_workers=2))
    assert len(workers) <= len(sync) + 8, workers


@pytest.mark.parametrize("context", multiprocessing.get_all_start_methods())
def test_start_methods(context):
    variants = [{**memory, "context": context, "num_workers": 2} for memory in (SHM, PIPES)]
    compare(40, 3, AutoresetMode.SAME_STEP, variants, ARRAYS[-1], FIXED)


@pytest.mark.parametrize("copy", [True, False])
def test_observations_that_were_kept(copy):
    """With `copy` later calls do not change earlier results; without, all results share memory."""
    env_fns = random_env_fns(3, 1, ("box", "discrete"))
    for variant in (SHM, PIPES):
        with (
            SyncVectorEnv(env_fns, copy=copy) as sync,
            AsyncVectorEnv(env_fns, copy=copy, num_workers=2, **variant) as envs,
        ):
            ours, theirs = ([each.reset(seed=3)[0]] for each in (envs, sync))
            sync.action_space.seed(3)
            for _ in range(30):
                actions = sync.action_space.sample()
                ours.append(envs.step(actions)[0])
                theirs.append(sync.step(actions)[0])
            assert_same(ours, theirs)


def test_the_spaces_are_of_every_kind():
    arrays, objects, sizes = (
        " ".join(repr(wide_space(seed, kinds)) for seed in seeds)
        for seeds, kinds in ((ARRAYS, FIXED), (OBJECTS, SHARABLE), (SIZES, ANY))
    )
    names = ("Box", " Discrete", "MultiDiscrete", "MultiBinary", "Dict", "Tuple", "(), ")
    assert [name for name in names if name not in arrays] == []
    assert [name for name in BOX_TYPES if name not in arrays + objects + sizes] == []
    assert [name for name in ("Text", "OneOf") if name not in objects] == []
    assert [name for name in ("Graph", "=False", "=True") if name not in sizes] == []


def test_the_infos_are_of_every_kind():
    env = RandomSpacesEnv(0)
    env.reset(seed=0)
    kinds = {type(value) for _ in range(200) for value in env._info().values()}
    assert len(kinds) >= 13


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("space_seed", range(200, 210))
def test_ten_thousand_steps_each(space_seed, mode):
    variants = [{"num_workers": 3}, {**PIPES, "num_workers": 3}]
    compare(10_000, 4, mode, variants, space_seed, SHARABLE)
