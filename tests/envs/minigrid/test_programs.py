"""minigrid's wrappers and methods around environments of gymcore, under the alias.

One program steps environments of both side by side, and prints what differs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.alias.running import lines

pytestmark = pytest.mark.slow

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
    "goal": lambda e: list(e.goal_position) if type(e).__name__ == "CrossingEnv" else [],
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


ROOMS_AND_BOT = """
import warnings

warnings.simplefilter("ignore")
import gymnasium as gym
import minigrid
import numpy as np
from minigrid import envs
from minigrid.envs import babyai
from minigrid.utils.baby_ai_bot import BabyAIBot


def rooms(env, x=None, y=None):
    chosen = sum(env.room_grid, []) if x is None else [env.room_from_pos(x, y)]
    return [
        (
            room.top,
            room.size,
            [d if d in (None, True) else (*d.encode(), *d.cur_pos) for d in room.doors],
            [neighbor and neighbor.top for neighbor in room.neighbors],
            sorted((item.encode(), tuple(map(int, item.cur_pos))) for item in room.objs),
        )
        for room in chosen
    ]


def check(name, *values):
    if values[0] != values[1]:
        print(name, *values)


def task_of(instr):
    parts = vars(instr)
    return type(instr).__name__, [
        task_of(parts[name]) if name.startswith("instr") else
        (str(parts[name]), [tuple(map(int, place)) for place in parts[name].obj_poss])
        for name in ("instr_a", "instr_b", "desc", "desc_move", "desc_fixed") if name in parts
    ]


ROOMS = {
    "MiniGrid-KeyCorridorS4R3-v0": envs.KeyCorridorEnv(room_size=4, num_rows=3),
    "MiniGrid-UnlockPickup-v0": envs.UnlockPickupEnv(),
    "BabyAI-GoTo-v0": babyai.GoTo(),
}
for env_id, theirs in ROOMS.items():
    ours = gym.make(env_id).unwrapped
    assert ours.agent_pos is None and theirs.agent_pos is None
    for seed in range(3):
        ours.reset(seed=seed), theirs.reset(seed=seed)
        check(env_id, rooms(ours), rooms(theirs))
        check(env_id, rooms(ours, 1, 2), rooms(theirs, 1, 2))
        check(env_id, rooms(ours, *ours.agent_pos), rooms(theirs, *theirs.agent_pos))
        for place in ((), (0, 0), (1, None), (None, 0, False)):
            ours.place_agent(*place), theirs.place_agent(*place)
            check(place, (*ours.agent_pos, ours.agent_dir), (*theirs.agent_pos, theirs.agent_dir))
    for place in ((9, 0), (0, -1)):
        try:
            ours.place_agent(*place)
            print("no error", place)
        except ValueError:
            pass

LEVELS = {
    "BabyAI-BossLevel-v0": (babyai.BossLevel, 6),
    "BabyAI-PutNextLocal-v0": (babyai.PutNextLocal, 6),
    "BabyAI-OpenTwoDoors-v0": (babyai.OpenTwoDoors, 3),
    "BabyAI-UnblockPickup-v0": (babyai.UnblockPickup, 3),
    "BabyAI-BlockedUnlockPickup-v0": (babyai.BlockedUnlockPickup, 3),
    "BabyAI-MoveTwoAcrossS5N2-v0": (lambda: babyai.MoveTwoAcross(room_size=5, objs_per_room=2), 3),
}
for env_id, (level, seeds) in LEVELS.items():
    both = [gym.make(env_id), level()]
    try:
        both[0].unwrapped.instrs
        print("no error", env_id)
    except gym.error.ResetNeeded:
        pass
    for seed in range(seeds):
        for env in both:
            env.reset(seed=seed)
        check((env_id, seed), *(task_of(env.unwrapped.instrs) for env in both))
        check((env_id, seed), *(env.unwrapped.instrs.surface(env) for env in both))
        bots, actions, steps = [BabyAIBot(env) for env in both], [None] * 2, []
        for t in range(240):
            actions = [bot.replan(action) for bot, action in zip(bots, actions)]
            check((env_id, seed, t), *actions)
            ours, theirs = (env.step(action)[1:4] for env, action in zip(both, actions))
            check((env_id, seed, t), ours, theirs)
            if ours[1] or ours[2]:
                break
        if not ours[0] > 0:
            print("not solved", env_id, seed)
print("done")
"""


def test_rooms_instructions_and_the_bot(tmp_path: Path) -> None:
    printed = [line for line in lines(tmp_path, ROOMS_AND_BOT) if not line.startswith("pygame")]
    assert [line for line in printed if not line.startswith(("Sampling", "Timeout"))] == ["done"]
