"""Text equals Gymnasium's; frames show the right contents."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error

GRIDS = ["FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "Taxi-v4"]
IDS = [*GRIDS, "Blackjack-v1"]


@pytest.mark.parametrize("id", GRIDS)
def test_texts(id: str) -> None:
    """Render every state, after every action."""
    ours = gymcore.make(id, render_mode="ansi").unwrapped
    theirs = gymnasium.make(id, render_mode="ansi").unwrapped
    ours.reset(seed=1)
    theirs.reset(seed=1)
    for state in range(int(ours.observation_space.n)):
        action = state % (ours.action_space.n + 1) - 1
        ours.s = theirs.s = state
        ours.lastaction = theirs.lastaction = None if action < 0 else action
        assert ours.render() == theirs.render(), state


@pytest.mark.parametrize("id", GRIDS)
def test_texts_of_lanes(id: str) -> None:
    envs = gymcore.make_vec(id, 3, render_mode="ansi")
    with pytest.raises(error.ResetNeeded):
        envs.render()
    envs.reset(seed=4)
    envs.step([0, 1, 2])
    one = gymcore.make(id, render_mode="ansi")
    one.reset(seed=6)
    one.step(2)
    assert envs.render()[2] == one.render()


def frames(id: str, **kwargs: Any) -> Any:
    pytest.importorskip("pygame")
    env = gymcore.make(id, render_mode="rgb_array", **kwargs)
    env.reset(seed=2)
    return env


@pytest.mark.parametrize("id", IDS)
def test_pictures_repeat_and_are_the_callers(id: str) -> None:
    env = frames(id)
    first = env.render()
    assert first.dtype == np.uint8
    assert first.shape[2] == 3
    kept = first.copy()
    first[:] = 0
    assert np.array_equal(env.render(), kept)
    batch = gymcore.make_vec(id, 2, render_mode="rgb_array")
    batch.reset(seed=1)
    assert np.array_equal(batch.render()[1], kept)


@pytest.mark.parametrize("id", GRIDS)
def test_every_state_has_a_picture_of_its_own(id: str) -> None:
    env = frames(id)
    seen = set()
    states = range(0, int(env.observation_space.n), 7 if id == "Taxi-v4" else 1)
    for state in states:
        env.unwrapped.s = state
        seen.add(env.render().tobytes())
    assert len(seen) == len(states)


def test_only_the_walkers_tile_changes() -> None:
    env = frames("CliffWalking-v1")
    before = env.render()
    env.unwrapped.s = 14
    changed = np.argwhere((env.render() != before).any(2)) // 64
    assert {tuple(place) for place in changed.tolist()} == {(3, 0), (1, 2)}


def test_what_pictures_of_taxis_tell() -> None:
    env, rain = frames("Taxi-v4"), frames("Taxi-v4", is_rainy=True)
    env.unwrapped.s = rain.unwrapped.s = 42
    assert not np.array_equal(env.render(), rain.render())
    env.step(0)
    env.unwrapped.s = 42
    south = env.render()
    env.step(1)
    env.unwrapped.s = 42
    assert not np.array_equal(env.render(), south)
    # A pickup does not turn the taxi.
    north = env.render()
    env.step(4)
    assert np.array_equal(env.render(), north)


@pytest.mark.parametrize("desc", [["SG"], ["S"] * 40, ["SF" * 30, "HG" * 30]])
def test_maps_of_other_shapes(desc: list[str]) -> None:
    frame = frames("FrozenLake-v1", desc=desc).render()
    rows, columns = len(desc), len(desc[0])
    assert frame.shape[0] * columns == frame.shape[1] * rows
    assert max(frame.shape) <= 1024


def test_the_dealers_second_card_is_seen_when_the_dealer_has_drawn() -> None:
    env = frames("Blackjack-v1")
    for seed in range(30):
        env.reset(seed=seed)
        env.step(0)
        if len(env.unwrapped.dealer) > 4:
            break
    assert env.render().shape == (500, 600, 3)


@pytest.mark.parametrize("id", IDS)
def test_unknown_modes(id: str) -> None:
    entry = gymcore.envs.load_env_creator(gymcore.spec(id).entry_point)
    with pytest.raises(error.UnsupportedMode, match=r"render_mode: .* 'film'"):
        entry(render_mode="film")
