"""Level-based foraging: ids, arguments, parameters by world, states and frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.envs.lbf.ids import foraging_spec
from gymcore.specs.lookup import registered_id

ID = "Foraging-8x8-2p-3f-v3"


def world_of(envs: Any, lane: int = 0) -> Any:
    """Return a view of the state of a world."""
    dtype = envs._model._lane_dtype()
    return envs._batch.store.view()[lane, : dtype.itemsize].view(dtype)[0]


def place(envs: Any, players: list[Any], foods: list[Any], lane: int = 0) -> None:
    """Give a world players and foods, each a row, a column and a level."""
    world = world_of(envs, lane)
    world["players"][:] = players
    world["foods"][:] = [*foods, *[(0, 0, 0)] * (len(world["foods"]) - len(foods))]
    world["total"] = sum(level for *_, level in foods)


@pytest.mark.parametrize(
    ("env_id", "expected"),
    [
        ("Foraging-8x8-2p-3f-v3", (2, (8, 8), 3, 8, False, False, None, 0.0)),
        ("Foraging-2s-10x10-3p-4f-coop-v3", (3, (10, 10), 4, 2, True, False, None, 0.0)),
        ("Foraging-10x10-3p-4f-coop-2s-v3", (3, (10, 10), 4, 2, True, False, None, 0.0)),
        ("Foraging-grid-1s-5x5-2p-1f-ind-pen-v3", (2, (5, 5), 1, 1, False, True, 1, 0.1)),
        ("Foraging-5x5-2p-1f-pen-1s-grid-v3", (2, (5, 5), 1, 1, False, True, None, 0.1)),
    ],
)
def test_ids_have_arguments_in_them(env_id: str, expected: tuple[Any, ...]) -> None:
    """Options come first, as in lbforaging, or last."""
    spec = gymcore.spec(env_id)
    assert gymcore.spec(env_id) is spec is gymcore.registry[env_id]
    assert registered_id(env_id) == env_id
    names = ("players", "field_size", "max_num_food", "sight", "force_coop", "grid_observation")
    assert tuple(spec.kwargs[k] for k in (*names, "max_food_level", "penalty")) == expected
    gymcore.make_vec(env_id, 2).close()


@pytest.mark.parametrize(
    "env_id",
    [
        *("Foraging-9x9-2p-7f-v2", "Foraging-8x9-2p-3f-v3", "Foraging-8x8-0p-3f-v3"),
        *("Foraging-2s-8x8-2p-3f-2s-v3", "Foraging-grid-8x8-2p-3f-grid-v3"),
        *("Foraging-08x08-2p-3f-v3", "Foraging-8x8-2p-3f-pen-coop-v3", "Foraging-8x8-2p-3f-v3\n"),
    ],
)
def test_other_ids_are_unknown(env_id: str) -> None:
    assert foraging_spec(env_id) is None
    with pytest.raises(error.Error):
        gymcore.make_vec(env_id, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"players": 0}, "players: expected at least 1"),
        ({"players": 65}, "players: expected at most 64, got 65"),
        ({"field_size": 2}, "field_size: expected at least 3"),
        ({"field_size": (8, 101)}, "field_size: expected at most 100"),
        ({"field_size": (8, 8, 8)}, "field_size: expected a number, or"),
        ({"sight": 0}, "sight: expected at least 1"),
        ({"max_num_food": 257}, "max_num_food: expected at most 256"),
        ({"min_player_level": 0}, "min_player_level: expected at least 1"),
        ({"max_player_level": [1, 2, 3]}, "max_player_level: expected a level or 2 levels, got 3"),
        ({"min_player_level": 3}, "min_player_level: expected at most the highest level 2, got 3"),
        ({"min_food_level": 3}, "min_food_level: expected at most the highest level 2, got 3"),
        ({"max_food_level": 0}, "max_food_level: expected at least 1"),
        ({"max_steps": 0}, "max_steps: expected an integer in"),
        ({"penalty": float("nan")}, "penalty: expected a finite number"),
        ({"speed": 2}, "speed"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    """The error names the argument."""
    with pytest.raises((error.Error, TypeError), match=message):
        gymcore.make_vec(ID, 2, **arguments)


def test_a_single_environment_is_refused() -> None:
    """An `Env` has one reward."""
    with pytest.raises(error.Error, match="make_vec"):
        gymcore.make(ID)


def test_players_load_together() -> None:
    """The levels of two players suffice together; each is paid for its own."""
    envs = gymcore.make_vec(ID, 3, penalty=[0.0, 0.5, 0.5], max_steps=[50, 50, 1])
    envs.reset(seed=0)
    for lane in range(3):
        place(envs, [(3, 2, 1), (2, 3, 2)], [(3, 3, 3), (6, 6, 1)], lane)
    _, rewards, terminated, *_ = envs.step([[5, 5], [5, 0], [5, 1]])
    assert rewards.tolist() == [[3 / 12, 6 / 12], [-0.5, 0.0], [-0.5, 0.0]]
    assert terminated[:, 0].tolist() == [False, False, True]
    assert world_of(envs, 0)["foods"]["level"].tolist() == [0, 1, 0]


def test_players_that_want_the_same_cell_stay() -> None:
    """They may change places, and follow a player that moves."""
    envs = gymcore.make_vec("Foraging-8x8-3p-1f-v3", 3)
    envs.reset(seed=0)
    for lane in range(3):
        place(envs, [(0, 0, 1), (0, 2, 1), (0, 3, 1)], [(5, 5, 1)], lane)
    place(envs, [(0, 0, 1), (0, 1, 1), (0, 2, 1)], [(5, 5, 1)], 2)
    envs.step([[4, 3, 0], [1, 4, 3], [4, 4, 2]])
    places = [world_of(envs, lane)["players"][["row", "column"]].tolist() for lane in range(3)]
    assert places[0] == [(0, 0), (0, 2), (0, 3)]
    assert places[1] == [(0, 0), (0, 3), (0, 2)]
    assert places[2] == [(0, 1), (0, 2), (1, 2)]


def test_the_same_seed_begins_the_same_episode() -> None:
    """Although places of an earlier episode matter for one that begins without a seed."""
    envs = gymcore.make_vec("Foraging-5x5-9p-1f-v3", 4)
    first, _ = envs.reset(seed=5)
    for _ in range(7):
        envs.step(envs.action_space.sample())
    second, _ = envs.reset()
    assert not np.array_equal(first, second)
    assert np.array_equal(envs.reset(seed=5)[0], first)


@pytest.mark.parametrize("env_id", [ID, "Foraging-grid-2s-6x6-4p-3f-pen-v3"])
def test_states_continue_episodes(env_id: str) -> None:
    """Over the beginning of the next one; a state of another field is refused."""
    one, two = (gymcore.make_vec(env_id, 5, max_steps=8) for _ in range(2))
    one.reset(seed=3)
    two.reset(seed=4)
    one.action_space.seed(0)
    one.step(one.action_space.sample())
    two.set_state(one.get_state())
    for _ in range(20):
        actions = one.action_space.sample()
        for ours, theirs in zip(one.step(actions), two.step(actions), strict=True):
            np.testing.assert_equal(ours, theirs)
    with pytest.raises(error.Error):
        gymcore.make_vec(env_id, 5, max_player_level=3).set_state(one.get_state())


def test_states_with_impossible_places_are_refused() -> None:
    """Every item of a state is checked."""
    envs = gymcore.make_vec(ID, 1)
    envs.reset(seed=0)
    for kind, name, value in (
        ("players", "row", 8),
        ("players", "column", -1),
        ("foods", "row", 2**30),
        ("foods", "level", -1),
        ("players", "level", 10**6),
    ):
        saved = envs.get_state()
        world = world_of(envs)
        world[kind][name][0] = value
        broken = envs.get_state()
        envs.set_state(saved)
        with pytest.raises(error.Error):
            envs.set_state(broken)


def test_threads_do_not_change_results() -> None:
    """Every world has its own memory."""
    one, two = (gymcore.make_vec(ID, 300, num_threads=k) for k in (1, 2))
    one.reset(seed=0), two.reset(seed=0)
    one.action_space.seed(0)
    for _ in range(60):
        actions = one.action_space.sample()
        for ours, theirs in zip(one.step(actions), two.step(actions), strict=True):
            np.testing.assert_equal(ours, theirs)


def test_crowded_fields_and_many_foods_begin() -> None:
    """Where there is no room, foods are left out, and players take the first free cell."""
    envs = gymcore.make_vec("Foraging-16x16-256p-200f-v3", 2)
    for seed in (0, None):
        envs.reset(seed=seed)
        players = world_of(envs, 1)["players"]
        assert len({*players[["row", "column"]].tolist()}) == 256
        assert (players["level"] > 0).all()
        assert not world_of(envs, 1)["foods"]["level"].any()
    many = gymcore.make_vec("Foraging-16x16-2p-200f-v3", 2)
    many.reset(seed=0)
    assert 20 < (world_of(many)["foods"]["level"] > 0).sum() < 100


def test_observations_are_in_their_space() -> None:
    for env_id in (ID, "Foraging-1s-5x5-4p-2f-v3", "Foraging-grid-2s-5x5-4p-2f-coop-v3"):
        envs = gymcore.make_vec(env_id, 16)
        observations, _ = envs.reset(seed=1)
        for _ in range(60):
            assert observations in envs.observation_space
            observations, *_ = envs.step(envs.action_space.sample())


def test_frames_show_players_and_food() -> None:
    """A cell has 50 pixels and a line; a blue player, a red apple, white badges."""
    pytest.importorskip("pygame")
    envs = gymcore.make_vec(ID, 1, render_mode="rgb_array", field_size=(4, 6))
    envs.reset(seed=0)
    place(envs, [(0, 0, 1), (3, 5, 2)], [(1, 2, 2)])
    (frame,) = envs.render()
    assert frame.shape == (205, 307, 3)
    assert frame[0].max() == frame[51].max() == frame[:, 306].max() == 0
    cells = frame[:204, :306].reshape(4, 51, 6, 51, 3).swapaxes(1, 2)
    colors = cells.astype(int)
    blue = ((colors[..., 2] - colors[..., 0]) > 80).sum(axis=(2, 3))
    red = ((colors[..., 0] - colors[..., 2]) > 80).sum(axis=(2, 3))
    assert np.argwhere(blue > 200).tolist() == [[0, 0], [3, 5]]
    assert np.argwhere(red > 200).tolist() == [[1, 2]]
    assert (cells[0, 1, 1:, 1:] == 255).all()
    one, two = cells[0, 0], cells[3, 5]
    assert (one != two).any()
