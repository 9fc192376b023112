"""Results of `step` with one flag and with two, compared with Gymnasium's conversions."""

from __future__ import annotations

import itertools
from copy import deepcopy
from typing import Any

import gymnasium.utils.step_api_compatibility as theirs
import numpy as np
import pytest

from gymcore import error
from gymcore.utils import step_api_compatibility as ours
from tests.testing_env import assert_same

KEY = "TimeLimit.truncated"
INFOS = ({}, {KEY: True}, {KEY: False}, {KEY: True, "x": 1})
DONES = np.array([True, True, False, False])
FLAGS = (np.array([True, False, True, False]), np.array([True, True, False, False]))
VECTOR_INFOS = (
    [{}, {KEY: True}, {KEY: False}, {"x": 1}],
    {KEY: np.array([False, True, False, True])},
    {KEY: [False, True, False, True], "x": np.arange(4)},
    {},
)


def same(function: str, step_returns: Any, **kwargs: Any) -> None:
    """Compare one conversion, and its effects on the caller's data."""
    given, given_theirs = deepcopy(step_returns), deepcopy(step_returns)
    result = getattr(ours, function)(given, **kwargs)
    assert_same(result, getattr(theirs, function)(given_theirs, **kwargs), function)
    assert_same(given, given_theirs, "what was given")
    assert all(result[i] is given[i] for i in (0, 1, -1))


@pytest.mark.parametrize("info", INFOS)
def test_single_environments(info):
    for done in (True, False):
        same("convert_to_terminated_truncated_step_api", (0, 1.0, done, info))
        same("convert_to_done_step_api", (0, 1.0, done, info))
    for flags in itertools.product((True, False), (True, False)):
        same("convert_to_done_step_api", (0, 1.0, *flags, info))
        same("convert_to_terminated_truncated_step_api", (0, 1.0, *flags, info))
        for truncation in (True, False):
            same(
                "step_api_compatibility", (0, 1.0, *flags, info), output_truncation_bool=truncation
            )


@pytest.mark.parametrize("infos", VECTOR_INFOS)
def test_vector_environments(infos):
    rows = (np.arange(4), np.ones(4))
    convert = "convert_to_terminated_truncated_step_api"
    same(convert, (*rows, DONES, infos), is_vector_env=True)
    same(convert, (*rows, DONES.tolist(), infos), is_vector_env=True)
    if not isinstance(infos, list):
        same("convert_to_done_step_api", (*rows, *FLAGS, infos), is_vector_env=True)
    same("step_api_compatibility", (*rows, DONES, infos), is_vector_env=True)


def test_list_infos_say_for_each_done_environment_whether_it_was_truncated():
    """Even if there was an older entry: Gymnasium leaves a NumPy bool there."""
    infos = [{}, {}, {KEY: True}, {"x": 1}]
    result = ours.convert_to_done_step_api((0, 0, *FLAGS, infos), is_vector_env=True)
    assert result[2].tolist() == [True, True, True, False]
    assert result[3] == [{KEY: False}, {KEY: True}, {KEY: False}, {"x": 1}]
    assert all(type(info.get(KEY, True)) is bool for info in result[3])
    assert result[3] is infos


def test_the_mask_of_the_key_goes_with_it():
    infos = {KEY: np.array([True, False]), f"_{KEY}": np.array([True, False]), "x": 1}
    result = ours.convert_to_terminated_truncated_step_api(
        (0, 0, np.array([True, True]), infos), is_vector_env=True
    )
    assert result[4] == {"x": 1}


def test_there_and_back():
    rows = (np.arange(4), np.ones(4))
    done = ours.convert_to_done_step_api((*rows, *FLAGS, {}), is_vector_env=True)
    back = ours.convert_to_terminated_truncated_step_api(done, is_vector_env=True)
    np.testing.assert_array_equal(back[2] | back[3], FLAGS[0] | FLAGS[1])
    np.testing.assert_array_equal(back[3], FLAGS[1] & ~FLAGS[0])


@pytest.mark.parametrize("function", ["convert_to_done_step_api", "step_api_compatibility"])
def test_wrong_lengths(function):
    for length in (0, 3, 6):
        with pytest.raises(error.FailedCheck, match=f"four elements .* got {length}"):
            getattr(ours, function)((1,) * length)
        with pytest.raises(AssertionError):
            getattr(theirs, function)((1,) * length)


def test_wrong_infos():
    for module in (ours, theirs):
        with pytest.raises(TypeError, match="expects `info` to be a list or dict, actual type"):
            module.convert_to_done_step_api((0, 0, *FLAGS, ({},)), is_vector_env=True)
        with pytest.raises(TypeError, match="expects `info` to be a list or dict, actual type"):
            module.convert_to_terminated_truncated_step_api((0, 0, DONES, ()), is_vector_env=True)
