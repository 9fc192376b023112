"""Last observations and frames in the infos of a same-step batch, with numbers set by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gymcore.spaces import Box, Dict, Discrete
from gymcore.vector.final_observations import (
    add_final_frames,
    change_final_observations,
    final_batch,
    final_frames,
    put_final_batch,
)
from gymcore.vector.utils import batch_space
from tests.testing_env import assert_same

ENDED = np.array([False, True, False])
NOW = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)
LAST = np.array([7.0, 8.0], np.float32)
SPACE = Box(0, 9, (2,))


def env(space: Any) -> Any:
    """Return the attributes of a batch of three environments that the functions read."""
    return SimpleNamespace(
        observation_space=batch_space(space, 3), single_observation_space=space, num_envs=3
    )


def infos_of(kind: str) -> dict[str, Any]:
    """Return the infos of compiled environments ("array"), or of Python's ("objects")."""
    if kind == "array":
        last = np.zeros_like(NOW)
        last[1] = LAST
    else:
        last = np.array([None, None, None], object)
        last[1] = LAST
    return {"final_obs": last, "_final_obs": ENDED}


@pytest.mark.parametrize("kind", ["array", "objects"])
def test_a_batch_has_the_last_observations_of_ended_lanes(kind: str) -> None:
    before = NOW.copy()
    batch = final_batch(infos_of(kind), NOW, env(SPACE))
    assert_same(batch, np.array([[1, 2], [7, 8], [5, 6]], np.float32))
    assert_same(NOW, before)
    assert final_batch({}, NOW, env(SPACE)) is None


@pytest.mark.parametrize("kind", ["array", "objects"])
@pytest.mark.parametrize("names", [("final_obs",), ("final_obs", "final_observation")])
def test_only_the_rows_of_ended_lanes_are_put_back(kind: str, names: tuple[str, ...]) -> None:
    infos = infos_of(kind) | dict.fromkeys(names[1:])
    batch = 10 * NOW
    put_final_batch(infos, batch, env(SPACE).observation_space)
    batch[:] = -1
    row = np.array([30.0, 40.0], np.float32)
    zero = np.zeros(2, np.float32) if kind == "array" else None
    assert_same(list(infos["final_obs"]), [zero, row, zero])
    if "final_observation" in names:
        assert_same(list(infos["final_observation"]), [None, row, None])


def test_dicts_of_last_observations() -> None:
    space = Dict(at=Box(0, 9, (1,)), count=Discrete(5))
    now = {"at": np.float32([[1], [2], [3]]), "count": np.array([0, 1, 2])}
    last = np.array([None, {"at": np.float32([4]), "count": np.int64(3)}, None], object)
    infos = {"final_obs": last, "_final_obs": ENDED}

    def change(batch: Any) -> Any:
        assert_same(batch, {"at": np.float32([[1], [4], [3]]), "count": np.array([0, 3, 2])})
        return {"at": 2 * batch["at"], "count": batch["count"]}

    change_final_observations(infos, now, env(space), change, batch_space(space, 3))
    assert_same(
        list(infos["final_obs"]), [None, {"at": np.float32([8]), "count": np.int64(3)}, None]
    )
    change_final_observations({}, now, env(space), pytest.fail, space)  # no episode has ended


def test_frames_of_ended_lanes_are_the_last_ones() -> None:
    frames = np.arange(12, dtype=np.uint8).reshape(3, 2, 2)
    info = {"x": np.zeros(3)}
    infos = {"final_info": info, "_final_info": ENDED, "_final_obs": np.array([True, True, False])}
    add_final_frames(infos, {1: np.full((2, 2), 9, np.uint8)})
    assert list(info) == ["x"] and list(infos["final_info"]) == ["x", "final_frame", "_final_frame"]
    shown = final_frames(infos, frames)
    # A worker of lane 0 has died: it has no last frame.
    assert_same(shown, np.stack([0 * frames[0], 0 * frames[1] + 9, frames[2]]))
    assert frames[1, 0, 0] == 4
    assert final_frames({}, frames) is frames
