"""`Games`, the kernel of Atari: what it says and refuses, and the seeds of its draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gymcore.envs.atari.pipelines import PRESETS
from gymcore_ext.atari.frames import Resizer
from gymcore_ext.atari.games import FUNCTIONS, INFOS, STAGES, Games
from gymcore_ext.engine.batch import Threads
from gymcore_ext.engine.lane_memory import kernel_spec


def make_games(**changes: Any) -> Games:
    """Return games without emulators; nothing of ALE is called."""
    arguments: dict[str, Any] = {
        "functions": dict.fromkeys(FUNCTIONS, 1),
        "num_lanes": 2,
        "stages": PRESETS["ale_vector"].numbers(True, False),
        "resizer": Resizer((210, 160), (84, 84)),
        "palette": np.zeros((1, 256), np.uint8),
        "actions": [0, 1, 3],
        "threshold": 0.5,
        "observation_shape": (4, 84, 84),
        "infos": len(INFOS),
        "state_bytes": 100,
    }
    return Games(**{**arguments, **changes})


def test_what_a_kernel_says():
    games = make_games()
    spec = kernel_spec(games.kernel)
    assert len(games) == 2
    assert spec["observation_dtype"] is np.uint8
    assert spec["observation_shape"] == (4, 84, 84)
    assert spec["discrete_actions"] == 3
    assert list(spec["parameters"]) == ["repeat_action_probability"]
    assert set(STAGES) == PRESETS["envpool"].numbers(False, False).keys()
    continuous = PRESETS["ale_vector"].numbers(True, True)
    spec = kernel_spec(make_games(stages=continuous, actions=range(18)).kernel)
    assert (spec["action_size"], spec["discrete_actions"]) == (3, 0)


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
    for changes in ({"functions": {}}, {"stages": {}}):
        with pytest.raises(KeyError):
            make_games(**changes)
    with pytest.raises(TypeError, match="Resizer"):
        make_games(resizer=None)


def save_lanes(games: Games, lanes: list[int], saved: Any, states: list[bytes]) -> None:
    """Save lanes with these bytes for the states of their emulators, which they do not have."""
    games.copy_lanes(Threads(1, -1), lanes, saved, [0] * len(lanes), False)
    for row, state in enumerate(states):
        games.write_state(saved, row, state)


def test_saved_lanes_are_checked():
    games = make_games()
    saved = np.zeros(2, games.saved_dtype)
    games.seed_draws(1, 5, 7)
    save_lanes(games, [1], saved[1:], [b"state"])
    assert games.is_intact(saved, 1)
    assert not games.is_intact(saved, 0)
    assert games.read_state(saved, 1) == b"state"
    games.copy_lanes(Threads(1, -1), [0], saved[1:], [0], True)
    save_lanes(games, [0], saved[:1], [b"state"])
    assert saved[0] == saved[1]
    with pytest.raises(ValueError, match="at most 104"):
        games.write_state(saved, 0, bytes(105))
    threads = Threads(1, -1)
    for lane in (-1, 2):
        with pytest.raises(IndexError, match=r"not in \[0, 2\)"):
            games.copy_lanes(threads, [lane], saved[:1], [0], False)
        with pytest.raises(IndexError, match=r"not in \[0, 2\)"):
            games.set_ale(lane, None, 0)
    with pytest.raises(ValueError, match="lane 1 has no emulator"):
        games.copy_lanes(threads, [0, 1], saved, [0, 8], True)
    with pytest.raises(ValueError, match="expected 2, got 1"):
        games.copy_lanes(threads, [0, 1], saved, [0], True)
    for row in (-1, 2):
        with pytest.raises(ValueError, match="saved: expected"):
            games.read_state(saved, row)
    for array in (np.zeros(3), saved[None], saved[["ale", "size"]]):
        with pytest.raises(ValueError, match="saved: expected"):
            games.is_intact(array, 0)
    with pytest.raises(ValueError, match="incorrect name"):
        threads.share(games.kernel, 1)


def test_the_seeds_of_draws_are_those_of_mt19937():
    games = make_games()
    saved = np.zeros(1, games.saved_dtype)
    games.seed_draws(0, 5, 2**32 - 1)
    save_lanes(games, [0], saved, [b""])
    words = np.frombuffer(saved["progress"][0].tobytes()[: 2 * 625 * 4], np.uint32)
    for seed, drawn in ((5, words[:625]), (2**32 - 1, words[625:])):
        expected = np.random.RandomState(seed).get_state(legacy=False)["state"]
        np.testing.assert_array_equal(drawn[:624], expected["key"])
        assert drawn[624] == expected["pos"]
