"""Infos as a list of dicts, compared with Gymnasium's."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.vector import AutoresetMode, SyncVectorEnv
from gymcore.wrappers.vector import DictInfoToList
from tests.testing_env import assert_same, make_random_env
from tests.wrappers.lane_by_lane import MODES
from tests.wrappers.side_by_side import check_vectors_side_by_side
from tests.wrappers.walk_env import make_walk_env

MASK = np.array([True, False, True])
NESTED = {"b": np.array([1, 2, 3]), "_b": np.array([True, False, False])}


def wrap(package: Any, envs: Any) -> Any:
    return package.wrappers.vector.DictInfoToList(envs)


def make_batch(package: Any = gymcore) -> Any:
    return wrap(package, package.vector.SyncVectorEnv([make_walk_env(package)] * 3))


@pytest.mark.parametrize("mode", ["NextStep", "Disabled", "SameStep"])
@pytest.mark.parametrize("kind", ["box", "dict", "text"])
def test_rollouts_equal_gymnasiums(kind: str, mode: str) -> None:
    check_vectors_side_by_side(wrap, mode=mode, steps=24, kind=kind)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_every_kind_of_info(mode: str) -> None:
    made = []
    for package in (gymcore, gymnasium):
        mode_member = package.vector.AutoresetMode(mode)
        lanes = [make_random_env(package)] * 3
        made.append(wrap(package, package.vector.SyncVectorEnv(lanes, autoreset_mode=mode_member)))
    ours, theirs = made
    assert_same(ours.reset(seed=1), theirs.reset(seed=1))
    theirs.action_space.seed(1)
    for step in range(60):
        actions = theirs.action_space.sample()
        assert_same(ours.step(actions), theirs.step(actions), f"step {step}")


def test_statistics_of_episodes_in_a_list() -> None:
    def wrap_twice(package: Any, envs: Any) -> Any:
        return wrap(package, package.wrappers.vector.RecordEpisodeStatistics(envs))

    envs = wrap_twice(gymcore, gymcore.make_vec("CartPole-v1", num_envs=3))
    envs.reset(seed=1)
    seen = 0
    for _ in range(60):
        _, _, terminated, _, infos = envs.step(np.ones(3, np.int64))
        for ended, info in zip(terminated, infos, strict=True):
            assert list(info) == (["episode"] if ended else [])
            if ended:
                assert sorted(info["episode"]) == ["l", "r", "t"]
                assert info["episode"]["r"] == info["episode"]["l"]
                seen += 1
    assert seen > 3


@pytest.mark.parametrize("mode", MODES)
def test_lane_by_lane_under_masked_resets(mode: AutoresetMode) -> None:
    """The list contains the infos of the environments themselves."""
    envs = DictInfoToList(SyncVectorEnv([make_walk_env()] * 3, autoreset_mode=mode))
    lanes = [make_walk_env()() for _ in range(3)]
    rng = np.random.default_rng(0)
    assert_infos(envs.reset(seed=5)[1], [lane.reset(seed=5 + i)[1] for i, lane in enumerate(lanes)])
    ended = np.zeros(3, np.bool_)
    for _ in range(40):
        mask = (rng.random(3) < 0.1) | (ended & (mode is AutoresetMode.DISABLED))
        if mask.any():
            want = [lane.reset()[1] if m else {} for lane, m in zip(lanes, mask, strict=True)]
            assert_infos(envs.reset(options={"reset_mask": mask})[1], want)
            ended &= ~mask
        actions = rng.integers(0, 40, 3)
        want = []
        for lane, was, action in zip(lanes, ended, actions, strict=True):
            if was:
                want.append(lane.reset()[1])
                continue
            last, _, terminated, truncated, info = lane.step(action)
            if mode is AutoresetMode.SAME_STEP and (terminated or truncated):
                info = {**lane.reset()[1], "final_obs": last, "final_info": info}
            want.append(info)
        _, _, terminated, truncated, infos = envs.step(actions)
        assert_infos(infos, want)
        ended = (terminated | truncated) & (mode is not AutoresetMode.SAME_STEP)


def assert_infos(infos: Any, want: Any) -> None:
    assert type(infos) is list
    np.testing.assert_equal(infos, want)


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1"])
def test_compiled_batches_have_last_observations_in_one_array(name: str) -> None:
    plain, listed = (
        gymcore.make_vec(
            name, num_envs=4, max_episode_steps=9, vector_kwargs={"autoreset_mode": "SameStep"}
        )
        for _ in range(2)
    )
    listed = DictInfoToList(listed)
    plain.reset(seed=2), listed.reset(seed=2)
    plain.action_space.seed(0)
    kept: list[Any] = []
    for _ in range(30):
        actions = plain.action_space.sample()
        infos, of_lanes = plain.step(actions)[-1], listed.step(actions)[-1]
        for i, info in enumerate(of_lanes):
            ended = "final_obs" in infos and bool(infos["_final_obs"][i])
            assert ("final_obs" in info) == ended
            if ended:
                assert_same(info["final_obs"], infos["final_obs"][i])
                kept.append((info["final_obs"], info["final_obs"].copy()))
    assert len(kept) >= 12
    for was, copy in kept:
        assert_same(was, copy)


@pytest.mark.parametrize(
    "infos",
    [
        {},
        {"a": np.array([1, 2, 3]), "_a": MASK},
        {"a": np.array([1, 2.5, 3], np.float32), "_a": MASK},
        {"a": np.array([1, 2, 3])},
        {"a": np.array(["x", "", "z"]), "_a": MASK},
        {"a": np.array(["x", None, {"q": 1}], object), "_a": MASK},
        {"a": np.arange(6).reshape(3, 2), "_a": MASK},
        {"a": np.array([1, 2, 3]), "_a": np.array([1, 0, 1])},
        {"a": NESTED},
        {"a": NESTED, "_a": MASK},
        {"a": {"b": np.array([1, 2, 3]), "c": {"d": np.array([1.0, 2, 3])}}, "_a": MASK},
        {"a": {}, "_a": MASK},
        {"_x": np.array([1, 2, 3]), "__x": MASK},
        {
            "final_obs": np.array([np.ones(2), None, np.zeros(2)], object),
            "_final_obs": MASK,
            "final_info": {"x": np.array([1, 0, 3]), "_x": MASK},
            "_final_info": MASK,
        },
    ],
)
def test_layouts(infos: dict[str, Any]) -> None:
    ours, theirs = (package_batch._convert_info_to_list for package_batch in BATCHES)
    assert_same(ours(infos), theirs(infos))


BATCHES = (make_batch(gymcore), make_batch(gymnasium))


@pytest.mark.parametrize(
    ("infos", "words"),
    [
        ({"a": 3}, "Expected infos['a'] to be an array or a dict, got <class 'int'>"),
        ({"a": [1, 2, 3], "_a": MASK}, "Expected infos['a'] to be an array or a dict, got"),
        ({"a": np.array(3)}, "Expected infos['a'] to have one entry for each"),
        ({"a": np.array([1, 2])}, "to have length equal to the num-envs (3), actual length is 2"),
    ],
)
def test_mistakes_raise_assertion_errors_as_in_gymnasium(infos: Any, words: str) -> None:
    with pytest.raises(AssertionError) as raised:
        BATCHES[0]._convert_info_to_list(infos)
    assert words in str(raised.value)
    assert isinstance(raised.value, error.Error)


def test_not_a_vector_environment() -> None:
    with pytest.raises(error.ArgumentTypeError, match="VectorEnv"):
        DictInfoToList(make_walk_env()())
