"""The MuJoCo environments equal Gymnasium's to the bit, alone and in batches."""

from __future__ import annotations

import inspect
import itertools
import warnings
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error

pytest.importorskip("mujoco", reason="mujoco is not installed")

from tests.envs.mujoco.pairs import IDS, assert_same_steps, pair, theirs
from tests.equal import assert_equal_arrays

FIELDS = (
    "id",
    "namespace",
    "name",
    "version",
    "reward_threshold",
    "nondeterministic",
    "max_episode_steps",
    "order_enforce",
    "disable_env_checker",
    "kwargs",
    "additional_wrappers",
)
MODES = ("NextStep", "SameStep", "Disabled")
# Every id in one autoreset mode; every mode with seven or eight ids of both versions.
BY_TURNS = list(zip(IDS, itertools.cycle(MODES), strict=False))

each_id = pytest.mark.parametrize("env_id", IDS)


@pytest.fixture(autouse=True)
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Suppress version 4's warnings, and let MuJoCo write its log in a temporary folder."""
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*out of date")
        yield


# --- declarations --------------------------------------------------------------------------------


@pytest.mark.parametrize("env_id", IDS)
def test_the_specification_is_the_same(env_id):
    ours, other = gymcore.spec(env_id), gymnasium.spec(env_id)
    for field in FIELDS:
        assert getattr(ours, field) == getattr(other, field), field


@pytest.mark.parametrize("env_id", IDS)
def test_the_module_and_the_constructor_are_the_same(env_id):
    module, name = gymcore.spec(env_id).entry_point.split(":")
    other = import_module(module.replace("gymcore", "gymnasium"))
    arguments = [
        [
            (one.name, str(one.default), one.kind)
            for one in inspect.signature(cls).parameters.values()
        ]
        for cls in (getattr(import_module(module), name), getattr(other, name))
    ]
    assert arguments[0] == arguments[1]
    camera = getattr(import_module(module), "DEFAULT_CAMERA_CONFIG", None)
    assert str(camera) == str(getattr(other, "DEFAULT_CAMERA_CONFIG", None))


@pytest.mark.parametrize("env_id", IDS)
def test_the_environment_declares_the_same(env_id):
    ours, other = (env.unwrapped for env in pair(env_id))
    for space in ("observation_space", "action_space"):
        mine, its = getattr(ours, space), getattr(other, space)
        assert (str(mine), mine.shape, mine.dtype) == (str(its), its.shape, its.dtype)
        np.testing.assert_array_equal(mine.low, its.low)
    assert ours.metadata == other.metadata
    assert type(ours).metadata == type(other).metadata
    assert ours.dt == other.dt
    assert ours.frame_skip == other.frame_skip
    np.testing.assert_array_equal(ours.init_qpos, other.init_qpos)
    np.testing.assert_array_equal(ours.init_qvel, other.init_qvel)
    structure = getattr(other, "observation_structure", None)
    assert getattr(ours, "observation_structure", None) == structure
    cameras = (env.mujoco_renderer.default_cam_config for env in (ours, other))
    assert str(next(cameras)) == str(next(cameras))


@pytest.mark.parametrize("env_id", ["Ant-v2", "Ant-v3", "Pusher-v2"])
@pytest.mark.parametrize("make", [gymcore.make, gymcore.make_vec])
def test_versions_that_are_gone_name_their_successor(env_id, make):
    assert env_id in gymnasium.registry
    with pytest.raises(ImportError, match=rf"use {env_id[:-1]}5") as caught:
        make(env_id)
    assert isinstance(caught.value, error.DeprecatedEnv)


def test_the_same_ids_are_registered():
    name = {env_id.split("-")[0] for env_id in IDS}
    ours, other = (
        {one for one in package.registry if one.split("-")[0] in name}
        for package in (gymcore, gymnasium)
    )
    assert ours == other


# --- steps ---------------------------------------------------------------------------------------


@each_id
def test_steps_are_the_same(env_id):
    """Past the end of an episode, for actions of both dtypes; the soak tests take more steps."""
    assert assert_same_steps(*pair(env_id, max_episode_steps=90), steps=100) > 0


@pytest.mark.soak
@each_id
def test_a_thousand_steps_are_the_same(env_id):
    """Whole episodes with the limits of their ids, with float64 actions from `np.random`."""
    assert assert_same_steps(*pair(env_id), steps=1000, seed=7, dtypes=(np.float64,)) > 0


@pytest.mark.soak
@each_id
def test_many_steps_are_the_same(env_id):
    assert assert_same_steps(*pair(env_id), steps=20000, seed=6) > 0


@pytest.mark.parametrize("env_id", IDS)
def test_costs_have_the_dtype_of_the_action(env_id):
    """Single environments and all ways to step a batch give Gymnasium's bits for both dtypes."""
    ours, other = pair(env_id)
    low, high = other.action_space.low, other.action_space.high
    actions = np.random.default_rng(2).uniform(low, high, (4, 1, *low.shape))
    for dtype in (np.float32, np.float64):
        given = actions.astype(dtype)
        other.reset(seed=1)
        rewards = [other.step(action)[1] for action in given[:, 0]]
        ours.reset(seed=1)
        assert [ours.step(action)[1] for action in given[:, 0]] == rewards
        envs = gymcore.make_vec(env_id, num_envs=1)
        envs.reset(seed=1)
        assert [envs.step(action)[1][0] for action in given] == rewards
        envs.reset(seed=1)
        assert envs.rollout(given).rewards[:, 0].tolist() == rewards
        envs.reset(seed=1)
        for action, reward in zip(given, rewards, strict=True):
            envs.send(action, np.arange(1))
            assert envs.recv()[1][0] == reward
        envs.close()


@pytest.mark.parametrize(("env_id", "mode"), BY_TURNS)
def test_lanes_of_a_batch_are_environments(env_id, mode):
    """In every autoreset mode (in turn), for any number of threads, with infos."""
    single = partial(gymcore.make, env_id, max_episode_steps=5)
    others = gymcore.vector.SyncVectorEnv([single] * 3, autoreset_mode=mode)
    wanted = list(rollout(others, mode))
    for threads in (1, 2):
        envs = gymcore.make_vec(
            env_id,
            num_envs=3,
            max_episode_steps=5,
            vector_kwargs={"autoreset_mode": mode, "num_threads": threads},
        )
        for expected, got in zip(wanted, rollout(envs, mode), strict=True):
            assert_equal(got, expected)
        envs.close()
    others.close()


@pytest.mark.parametrize(
    ("env_id", "mode"), [(env_id, mode) for env_id, mode in BY_TURNS if mode != "Disabled"]
)
def test_infos_of_a_batch_are_laid_out_as_gymnasium_does(env_id, mode):
    envs = gymcore.make_vec(
        env_id, num_envs=2, max_episode_steps=5, vector_kwargs={"autoreset_mode": mode}
    )
    others = gymnasium.vector.SyncVectorEnv(
        [partial(theirs, env_id, max_episode_steps=5)] * 2,
        autoreset_mode=gymnasium.vector.AutoresetMode(mode),
    )
    assert {**envs.metadata, "autoreset_mode": 0} == {**others.metadata, "autoreset_mode": 0}
    assert str(envs.observation_space) == str(others.observation_space)
    for wanted, got in zip(rollout(others, mode, 12), rollout(envs, mode, 12), strict=True):
        np.testing.assert_array_equal(got[0], wanted[0])
        assert_same_layout(got[-1], wanted[-1])
        for mine, its in zip(got[1:-1], wanted[1:-1], strict=True):
            assert mine.dtype == its.dtype
            np.testing.assert_array_equal(mine, its)
    envs.close()
    others.close()


def rollout(envs: Any, mode: str, steps: int = 14) -> Iterator[tuple[Any, ...]]:
    """Yield the results of resets and steps; reset ended lanes if there is no autoreset."""
    generator = np.random.default_rng(3)
    low, high = envs.single_action_space.low, envs.single_action_space.high
    yield envs.reset(seed=7)
    for _ in range(steps):
        actions = generator.uniform(low, high, (envs.num_envs, *low.shape)).astype(np.float32)
        result = envs.step(actions)
        yield result
        ended = result[2] | result[3]
        if mode == "Disabled" and ended.any():
            yield envs.reset(options={"reset_mask": ended})


def assert_equal(got: Any, wanted: Any) -> None:
    """Check for the same numbers, also in final observations, in either layout."""
    assert type(got) is type(wanted)
    if isinstance(wanted, dict):
        assert set(got) == set(wanted)
        for key, value in wanted.items():
            if key == "final_obs":
                lanes = np.flatnonzero(wanted["_final_obs"])
                assert_equal([got[key][i] for i in lanes], [value[i] for i in lanes])
            else:
                assert_equal(got[key], value)
    elif isinstance(wanted, (tuple, list)):
        for mine, its in zip(got, wanted, strict=True):
            assert_equal(mine, its)
    else:
        assert got.dtype == wanted.dtype
        assert_equal_arrays(got, wanted)


def assert_same_layout(got: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Check for the same keys, masks, dtypes, shapes and numbers."""
    assert set(got) == set(wanted)
    for key, value in wanted.items():
        if key == "final_obs":
            for lane in np.flatnonzero(wanted["_final_obs"]):
                np.testing.assert_array_equal(got[key][lane], value[lane])
        elif isinstance(value, dict):
            assert_same_layout(got[key], value)
        else:
            assert got[key].shape == value.shape, key
            assert got[key].dtype == value.dtype, key
            np.testing.assert_array_equal(got[key], value, err_msg=key)
