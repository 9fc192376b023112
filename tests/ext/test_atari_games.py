"""`Games`, the Atari kernel: its results, its errors, and the seeds of its draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gymcore.envs.atari.pipelines import PRESETS
from gymcore.rendering.area_resizer import area_resizer
from gymcore_ext.atari.games import SYMBOLS, Games
from gymcore_ext.engine.kernels import kernel_spec


def make_games(**changes: Any) -> Games:
    """Return games without emulators; no function of ALE is called."""
    arguments: dict[str, Any] = {
        "functions": dict.fromkeys(SYMBOLS, 1),
        "num_lanes": 2,
        "stages": PRESETS["ale_vector"].numbers(True, False),
        "resizer": area_resizer((210, 160), (84, 84)),
        "palette": np.zeros((1, 256), np.uint8),
        "actions": [0, 1, 3],
        "threshold": 0.5,
        "observation_shape": (4, 84, 84),
        "state_size": 7000,
        "resets_draw": False,
        "reports_lanes": False,
    }
    return Games(**{**arguments, **changes})


def test_what_a_kernel_says():
    games = make_games()
    spec = kernel_spec(games.kernel)
    assert len(games) == 2
    assert spec["observation_parts"] == ((np.uint8, (4, 84, 84)),)
    assert spec["discrete_actions"] == 3
    assert list(spec["parameters"]) == ["repeat_action_probability"]
    continuous = PRESETS["ale_vector"].numbers(True, True)
    spec = kernel_spec(make_games(stages=continuous, actions=range(18)).kernel)
    assert (spec["action_size"], spec["discrete_actions"]) == (3, 0)
    with_lanes = kernel_spec(make_games(reports_lanes=True).kernel)
    added = {*with_lanes["infos"]} - {*spec["infos"]}
    assert [name for name, *_ in added] == ["env_id"]


def test_what_it_refuses():
    wrong: tuple[dict[str, Any], ...] = (
        {"observation_shape": (4, 84, 85)},
        {"palette": np.zeros((3, 256), np.uint8)},
        {"palette": np.zeros((1, 255), np.uint8)},
        {"actions": []},
        {"stages": PRESETS["ale_vector"].numbers(True, True)},
    )
    for changes in wrong:
        with pytest.raises(ValueError, match="expected"):
            make_games(**changes)
    with pytest.raises(ValueError):
        make_games(stages={})
    with pytest.raises(KeyError):
        make_games(functions={})
    with pytest.raises(TypeError, match="resizer"):
        make_games(resizer=None)


def test_saved_lanes_are_checked():
    games = make_games()
    saved = np.zeros(2, games.saved_dtype)
    games.seed_generators(1, 5, 7)
    games.save(np.array([1]), saved[1:])
    saved["size"][0] = -1
    assert games.valid(saved).tolist() == [False, True]
    games.load(np.array([0]), saved[1:])
    games.save(np.array([0]), saved[:1])
    assert saved[0] == saved[1]
    for lane in (-1, 2):
        with pytest.raises(IndexError, match=r"not in \[0, 2\)"):
            games.save(np.array([lane]), saved[:1])
        with pytest.raises(IndexError, match=r"not in \[0, 2\)"):
            games.set_ale(lane, None, 0)
    for lanes, rows in (([0, 1], 1), ([0], 2)):
        with pytest.raises(ValueError, match="saved: expected"):
            games.load(np.array(lanes), saved[:rows])
    for array in (np.zeros(3), saved[None], saved[["memory", "size"]]):
        with pytest.raises(ValueError, match="saved: expected"):
            games.valid(array)
    saved.flags.writeable = False
    assert games.valid(saved).all()
    games.load(np.array([0, 1]), saved)
    with pytest.raises(ValueError, match="writable"):
        games.save(np.array([0, 1]), saved)


def test_saved_lanes_do_not_depend_on_the_memory_that_they_are_written_to():
    games = make_games()  # without emulators, whose states `save` leaves out
    zeroed, used = np.zeros(1, games.saved_dtype), np.zeros(1, games.saved_dtype)
    used.view(np.uint8)[:] = 0xFF
    for saved in (zeroed, used):
        games.save(np.array([0]), saved)
    assert zeroed.tobytes() == used.tobytes()


def test_the_seeds_of_draws_are_those_of_mt19937():
    games = make_games()
    saved = np.zeros(1, games.saved_dtype)
    games.seed_generators(0, 5, 2**32 - 1)
    games.save(np.array([0]), saved)
    words = np.frombuffer(saved["episode"][0].tobytes()[: 2 * 625 * 4], np.uint32)
    for seed, drawn in ((5, words[:625]), (2**32 - 1, words[625:])):
        expected = np.random.RandomState(seed).get_state(legacy=False)["state"]
        np.testing.assert_array_equal(drawn[:624], expected["key"])
        assert drawn[624] == expected["pos"]


@pytest.mark.parametrize(("first", "last", "value"), [(0, 624, 0), (624, 625, 625)])
def test_streams_that_never_end_are_refused(first, last, value):
    """From words that are all zero, every draw is zero, which some counts of no-ops reject."""
    games = make_games()
    saved = np.zeros(1, games.saved_dtype)
    games.save(np.array([0]), saved)
    assert games.valid(saved).all()  # before lanes are seeded, too
    for stream in (0, 625):
        changed = saved.copy()
        words = changed["episode"][0][: 2 * 625 * 4].view(np.uint32)
        words[stream + first : stream + last] = value
        assert not games.valid(changed).any()
