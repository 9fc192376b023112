"""Merging rows into merged infos."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymcore.vector.gym26_infos import FinalInfos, add_gym26_names, remove_gym26_names
from gymcore.vector.utils.infos import merge_info
from gymcore.wrappers.vector.lanes import join_infos, without
from tests.testing_env import assert_same


def merged(*lanes: dict[str, Any]) -> dict[str, Any]:
    infos: dict[str, Any] = {}
    for lane, info in enumerate(lanes):
        merge_info(infos, info, lane, len(lanes))
    return infos


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def test_equals_merging_lane_by_lane() -> None:
    one = {"speed": 1.5, "count": 3, "pose": {"x": 1, "name": "a"}, "text": "one"}
    two = {"speed": 2.5, "pose": {"x": 7, "y": np.arange(2)}, "extra": None}
    three = {"count": 2**40, "text": "three", "place": np.ones(3, np.float32)}
    first, again = merged(one, two, {}, three), merged(three, one)
    joined = join_infos([(first, rows(0, 1), rows(0, 3)), (again, rows(1, 0), rows(1, 2))], 4)
    assert_same(joined, merged(one, one, three, two))


def test_entries_that_no_row_has_are_left_out() -> None:
    infos = merged({"a": 1}, {"b": {"c": 2}})
    assert_same(join_infos([(infos, rows(0), rows(0))], 1), merged({"a": 1}))
    assert_same(join_infos([(infos, rows(1), rows(0))], 1), merged({"b": {"c": 2}}))


def test_columns_get_wider() -> None:
    parts = [
        (merged({"a": 1, "b": 1, "c": np.zeros(2)}), rows(0), rows(0)),
        (merged({"a": 1.5, "b": "x", "c": np.zeros(3)}), rows(0), rows(1)),
    ]
    joined = join_infos(parts, 2)
    assert joined["a"].tolist() == [1.0, 1.5] and joined["a"].dtype == np.float64
    assert joined["b"].tolist() == [1, "x"] and joined["b"].dtype == object
    assert [len(array) for array in joined["c"]] == [2, 3]


def test_gyms_names_come_back() -> None:
    mask = np.array([True, False])
    source = {
        "final_obs": np.ones((2, 3)),
        "_final_obs": mask,
        "final_info": {"a": np.array([4, 0]), "_a": mask},
        "_final_info": mask,
    }
    infos = add_gym26_names(source)
    assert_same(remove_gym26_names(infos), source)
    assert remove_gym26_names(source) is source
    joined = join_infos([(infos, rows(0), rows(2))], 3)
    assert isinstance(joined["final_info"], FinalInfos)
    assert joined["final_info"][2] == {"a": 4}
    assert joined["_final_observation"].tolist() == [False, False, True]
    assert without(source, "final_obs", "final_info") == {}
