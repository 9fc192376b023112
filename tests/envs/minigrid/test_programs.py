"""minigrid's wrappers and methods around environments of gymcore, under the alias.

One program steps environments of both side by side, and prints what differs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.alias.running import lines

pytest.importorskip("minigrid")

PROGRAM = """
import warnings

warnings.simplefilter("ignore")
import gymnasium as gym
import minigrid
import numpy as np
from minigrid import envs, wrappers
from minigrid.core.world_object import Ball, Box, Goal, Key

PAIRS = {
    "MiniGrid-DoorKey-6x6-v0": envs.DoorKeyEnv(size=6),
    "MiniGrid-LavaCrossingS9N2-v0": envs.CrossingEnv(size=9, num_crossings=2),
    "MiniGrid-Dynamic-Obstacles-Random-6x6-v0": envs.DynamicObstaclesEnv(
        size=6, agent_start_pos=None, n_obstacles=3
    ),
}


def same(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if hasattr(one, "encode") and not isinstance(one, str):
        return np.array_equal(one.encode(), other.encode())
    return np.array_equal(one, other)


PLACES = [(i, j) for i in range(6) for j in range(5)]
READ = {
    "pprint_grid": lambda e: e.pprint_grid(),
    "gen_obs_grid": lambda e: e.gen_obs_grid(),
    "gen_obs_grid of 5": lambda e: e.gen_obs_grid(5),
    "get_view_exts": lambda e: e.get_view_exts(),
    "get_view_coords": lambda e: [e.get_view_coords(*place) for place in PLACES],
    "relative_coords": lambda e: [str(e.relative_coords(*place)) for place in PLACES],
    "in_view": lambda e: [e.in_view(*place) for place in PLACES],
    "agent_sees": lambda e: [e.agent_sees(*place) for place in PLACES if e.grid.get(*place)],
    "get_pov_render": lambda e: e.get_pov_render(8),
    "get_full_render": lambda e: e.get_full_render(True, 8),
    "hash": lambda e: len(e.hash(12)),
    "Grid.copy": lambda e: (e.grid.copy(), e.grid.copy() == e.grid),
    "Grid.grid": lambda e: [None if item is None else item.encode() for item in e.grid.grid],
    "isinstance": lambda e: [isinstance(item, Goal) for item in e.grid.grid],
    "in grid": lambda e: [(color, "goal") in e.grid for color in ("green", None, "red")],
    "object in grid": lambda e: (e.grid.get(0, 0) in e.grid, None in e.grid),
    "Grid.slice": lambda e: e.grid.slice(-1, 1, 4, 5).rotate_left(),
    "Grid.process_vis": lambda e: (e.grid.copy().process_vis((2, 3)), e.grid),
    "Grid.render": lambda e: e.grid.render(4, (1, 1), 2),
    "agent": lambda e: (e.agent_pos, e.agent_dir, e.front_pos, e.right_vec, e.steps_remaining),
}
CHANGE = {
    "place_agent": lambda e: e.place_agent(),
    "place_obj": lambda e: e.place_obj(Ball("red"), (1, 1), (9, 9)),
    "put_obj": lambda e: e.put_obj(Box("blue", Key("red")), 1, 2),
    "Grid.set": lambda e: e.grid.set(2, 1, Key("grey")),
    "Grid.wall_rect": lambda e: e.grid.wall_rect(1, 1, 2, 2),
    "carrying": lambda e: setattr(e, "carrying", Key("blue")),
}
for env_id, theirs in PAIRS.items():
    assert gym.spec(env_id).entry_point.startswith("gymnasium.envs.minigrid"), gym.spec(env_id)
    ours = gym.make(env_id).unwrapped
    rng = np.random.default_rng(0)
    results = [env.reset(seed=3) for env in (ours, theirs)]
    for t in range(40):
        calls = READ | (CHANGE if t == 20 and "Obstacles" not in env_id else {})
        for name, call in calls.items():
            if not same(call(ours), call(theirs)):
                print(env_id, name, t)
        action = int(rng.integers(7))
        ours_now, theirs_now = ours.step(action), theirs.step(action)
        if not same(ours_now, theirs_now):
            print(env_id, "step", t)
        if ours_now[2] or ours_now[3]:
            ours.reset(), theirs.reset()
WRAPPERS = {
    name: {}
    for name, wrapper in vars(wrappers).items()
    if isinstance(wrapper, type) and wrapper.__module__ == wrappers.__name__
}
WRAPPERS["NoDeath"] = {"no_death_types": ("lava",)}
for name, arguments in WRAPPERS.items():
    wrap = getattr(wrappers, name)
    both = [
        wrap(env, **arguments)
        for env in (
            gym.make("MiniGrid-LavaCrossingS9N2-v0"),
            envs.CrossingEnv(size=9, num_crossings=2),
        )
    ]
    results = [env.reset(seed=1) for env in both]
    for t in range(60):
        if not same(*results):
            print(name, t)
        ended = len(results[0]) == 5 and (results[0][2] or results[0][3])
        results = [env.reset() if ended else env.step([2, 1, 2, 0][t % 4]) for env in both]
print(len(WRAPPERS), "wrappers")
"""


def test_methods_and_wrappers_of_minigrid(tmp_path: Path) -> None:
    printed = [line for line in lines(tmp_path, PROGRAM) if not line.startswith("pygame")]
    assert printed == ["15 wrappers"]
