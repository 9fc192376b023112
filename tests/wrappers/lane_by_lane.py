"""Checks that a vector wrapper does to a batch what a single wrapper does to each lane."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore.vector import AutoresetMode, SyncVectorEnv
from tests.testing_env import assert_same
from tests.wrappers.walk_env import make_walk_env

MODES = tuple(AutoresetMode)


def in_modes(names: str, cases: Iterable[Any]) -> pytest.MarkDecorator:
    """Parametrize over `mode` and the cases: the first in every mode, the others in same-step mode.

    Same-step mode covers the other modes, and changes final observations too.
    """
    pairs = [
        (case, mode)
        for i, case in enumerate(cases)
        for mode in MODES
        if i == 0 or mode is AutoresetMode.SAME_STEP
    ]
    single = "," not in names
    return pytest.mark.parametrize(
        f"{names}, mode", [(case, mode) if single else (*case, mode) for case, mode in pairs]
    )


def assert_close(ours: Any, theirs: Any, where: str = "data", rtol: float = 1e-6) -> None:
    """Compare like `assert_same`, but allow rounding in floating-point numbers."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs), where
        for key, value in theirs.items():
            assert_close(ours[key], value, f"{where}[{key!r}]", rtol)
    elif isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs), where
        for i, value in enumerate(theirs):
            assert_close(ours[i], value, f"{where}[{i}]", rtol)
    elif isinstance(theirs, np.ndarray) and theirs.dtype == object:
        assert ours.dtype == object and ours.shape == theirs.shape, where
        for i, value in enumerate(theirs):
            assert_close(ours[i], value, f"{where}[{i}]", rtol)
    elif isinstance(theirs, (np.ndarray, np.floating)) and theirs.dtype.kind == "f":
        assert type(ours) is type(theirs), where
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), where
        np.testing.assert_allclose(ours, theirs, rtol, rtol, err_msg=where)
    else:
        assert_same(ours, theirs, where)


def check_lane_by_lane(
    wrap_vector: Callable[[Any], Any],
    wrap_single: Callable[[Any], Any],
    make_env: Callable[[], Any] | None = None,
    *,
    mode: AutoresetMode,
    num_envs: int = 3,
    steps: int = 24,
    seed: int = 0,
    masked: bool = True,
    exact: bool = True,
    spaces: bool = True,
    infos: bool = True,
) -> None:
    """Step `wrap_vector(Sync(lanes))` beside `Sync(wrap_single(lane) for each lane)`.

    Compares all results of resets and steps, and the spaces. Also checks that actions and
    options are unchanged, and that earlier results never change.

    Args:
        wrap_vector: Function that wraps a vector environment.
        wrap_single: Function that wraps a single environment.
        make_env: Function that makes a lane [`WalkEnv()`].
        mode: The autoreset mode.
        num_envs: Number of lanes.
        steps: Number of steps.
        seed: Seed of the environments, the actions and the masks.
        masked: Whether to reset random lanes now and then, in every mode.
        exact: Whether numbers must be equal to the bit.
        spaces: Whether to compare the spaces.
        infos: Whether to compare the infos.
    """
    make_one = make_env or make_walk_env(gym)
    compare = assert_same if exact else assert_close
    ours = wrap_vector(SyncVectorEnv([make_one] * num_envs, autoreset_mode=mode))
    lanes = [functools.partial(lambda: wrap_single(make_one()))] * num_envs
    theirs = SyncVectorEnv(lanes, autoreset_mode=mode)
    if spaces:
        assert ours.single_observation_space == theirs.single_observation_space
        assert ours.single_action_space == theirs.single_action_space
        assert ours.observation_space == theirs.observation_space
        assert ours.action_space == theirs.action_space
    rng = np.random.default_rng(seed)
    theirs.action_space.seed(seed)

    kept: list[tuple[Any, Any]] = []

    def keep(result: Any) -> None:
        kept.append((result, deepcopy(result)))

    def compare_all(one: Any, other: Any, where: str) -> None:
        keep(one)
        final_info = one[-1].get("final_info", {})
        if "final_frame" in final_info:  # the engine took it for the wrapper
            left = {k: v for k, v in final_info.items() if k.removeprefix("_") != "final_frame"}
            one = (*one[:-1], {**one[-1], "final_info": left})
        if not infos:
            one, other = one[:-1], other[:-1]
        compare(one, other, where)

    compare_all(ours.reset(seed=seed), theirs.reset(seed=seed), "reset")
    ended = np.zeros(num_envs, np.bool_)
    for step in range(steps):
        must = ended if mode is AutoresetMode.DISABLED else np.zeros(num_envs, np.bool_)
        mask = must | (rng.random(num_envs) < 0.4) if masked and rng.random() < 0.2 else must
        if mask.any():
            options = {"reset_mask": mask.copy()}
            result = ours.reset(options=options)
            assert list(options) == ["reset_mask"] and (options["reset_mask"] == mask).all()
            again = theirs.reset(options={"reset_mask": mask})
            compare_all(result, again, f"masked reset before step {step}")
        actions = theirs.action_space.sample()
        given = deepcopy(actions)
        result = ours.step(given)
        assert_same(given, actions, f"the actions of step {step}")
        compare_all(result, theirs.step(actions), f"step {step}")
        ended = result[2] | result[3]
    for number, (was, copy) in enumerate(kept):
        assert_same(was, copy, f"result {number}, after the last step")
    ours.close()
    theirs.close()
