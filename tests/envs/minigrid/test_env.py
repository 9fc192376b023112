"""Environments of MiniGrid: observation modes, frames, grids, batches, states, errors."""

from __future__ import annotations

import copy
import itertools
import pickle
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.envs.minigrid.babyai_levels import IDS as BABYAI_IDS
from gymcore.envs.minigrid.levels import IDS
from gymcore.envs.minigrid.world import WorldObj

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("minigrid")
    from minigrid import wrappers
    from minigrid.core import world_object as objects

ALL = [*(f"MiniGrid-{name}" for name in IDS), *BABYAI_IDS]
# Ids of both libraries warn about newer versions.
OLD = {"MiniGrid-MultiRoom-N4-S5-v0"} | {
    f"MiniGrid-ObstructedMaze-{name}-v0" for name in ("2Dlhb", "1Q", "2Q", "Full")
}


def original(env_id: str, **kwargs: Any) -> Any:
    return gymnasium.make(env_id, disable_env_checker=True, **kwargs)


def test_all_ids_but_those_of_wave_functions() -> None:
    theirs = {
        env_id
        for env_id, spec in gymnasium.registry.items()
        if str(spec.entry_point).startswith("minigrid.envs") and "WFC" not in env_id
    }
    assert len(ALL) == 172
    assert set(ALL) == theirs


@pytest.mark.parametrize("env_id", [env_id for env_id in ALL if env_id not in OLD])
def test_episodes_and_frames_of_every_id(env_id: str) -> None:
    ours = gym.make(env_id, render_mode="rgb_array", tile_size=8, disable_env_checker=True)
    theirs = original(env_id, render_mode="rgb_array", tile_size=8)
    rng = np.random.default_rng(3)
    observations = ours.reset(seed=5)[0], theirs.reset(seed=5)[0]
    for step in range(12):
        for name in ("image", "direction", "mission"):
            assert np.array_equal(observations[0][name], observations[1][name])
        if step == 6:
            assert np.array_equal(ours.render(), theirs.render())
            grids = ours.unwrapped.grid.encode(), theirs.unwrapped.grid.encode()
            assert np.array_equal(*grids)
        action = int(rng.integers(ours.action_space.n))
        results = ours.step(action), theirs.step(action)
        assert results[0][1:4] == results[1][1:4]
        observations = results[0][0], results[1][0]
        if results[0][2] or results[0][3]:
            break


MODES: dict[str, tuple[Any, dict[str, Any]]] = {
    "full": (wrappers.FullyObsWrapper, {"observes": "full"}),
    "symbolic": (wrappers.SymbolicObsWrapper, {"observes": "symbolic"}),
    "one-hot": (wrappers.OneHotPartialObsWrapper, {"observes": "one_hot"}),
    "image": (wrappers.ImgObsWrapper, {"layout": "image"}),
    "flat": (wrappers.FlatObsWrapper, {"layout": "flat"}),
    "pixels": (wrappers.RGBImgPartialObsWrapper, {"observes": "rgb_partial"}),
    "pixels of 5": (
        lambda env: wrappers.RGBImgObsWrapper(env, 5),
        {"observes": "rgb", "obs_tile_size": 5},
    ),
    "angle": (
        lambda env: wrappers.DirectionObsWrapper(env, "angle"),
        {"goal_direction": "angle"},
    ),
    "slope": (wrappers.DirectionObsWrapper, {"goal_direction": "slope"}),
    "view": (lambda env: wrappers.ViewSizeWrapper(env, 5), {"agent_view_size": 5}),
}


@pytest.mark.parametrize("mode", MODES)
def test_observation_modes_equal_wrappers(mode: str) -> None:
    wrap, arguments = MODES[mode]
    env_id = "MiniGrid-DoorKey-6x6-v0"
    ours, theirs = gym.make(env_id, **arguments), wrap(original(env_id))
    observation, expected = ours.reset(seed=2)[0], theirs.reset(seed=2)[0]
    assert ours.observation_space.contains(observation)
    rng = np.random.default_rng(1)
    for _ in range(40):
        if not isinstance(observation, dict):
            observation, expected = {"image": observation}, {"image": expected}
        for name in observation.keys() & expected.keys():
            assert np.array_equal(observation[name], expected[name]), name
        action = int(rng.integers(6))
        observation, expected = ours.step(action)[0], theirs.step(action)[0]


def test_pixels_without_highlights() -> None:
    env_id = "MiniGrid-DoorKey-6x6-v0"
    ours = gym.make(env_id, observes="rgb", highlight=False)
    theirs = wrappers.RGBImgObsWrapper(original(env_id, highlight=False))
    images = [env.reset(seed=2)[0]["image"] for env in (ours, theirs)]
    assert np.array_equal(*images)


@pytest.mark.parametrize("layout", ["dict", "image"])
def test_observations_of_lanes(layout: str) -> None:
    envs = gym.make_vec("MiniGrid-DoorKey-6x6-v0", num_envs=2, layout=layout)
    images, _ = envs.reset(seed=3)
    lanes = envs.call("gen_obs")
    if layout == "dict":
        images, lanes = images["image"], [lane["image"] for lane in lanes]
    assert np.array_equal(images, lanes)


@pytest.mark.parametrize("mode", list(gym.vector.AutoresetMode))
def test_lanes_equal_single_environments(mode: gym.vector.AutoresetMode) -> None:
    env_id = "BabyAI-GoToLocal-v0"
    options = {"autoreset_mode": mode}
    envs = gym.make_vec(env_id, num_envs=5, max_steps=9, vector_kwargs=options)
    singles = [gym.make(env_id, max_steps=9) for _ in range(5)]
    observations, _ = envs.reset(seed=4)
    expected = [single.reset(seed=4 + i)[0] for i, single in enumerate(singles)]
    ended = np.zeros(5, np.bool_)
    rng = np.random.default_rng(2)
    for _ in range(40):
        assert isinstance(observations["mission"], np.ndarray)
        for i, single in enumerate(expected):
            for name, value in single.items():
                assert np.array_equal(observations[name][i], value), name
        if mode is gym.vector.AutoresetMode.DISABLED and ended.any():
            observations, _ = envs.reset(options={"reset_mask": ended})
            expected = [
                s.reset()[0] if e else o for s, o, e in zip(singles, expected, ended, strict=True)
            ]
            ended = np.zeros(5, np.bool_)
            continue
        actions = rng.integers(0, 7, 5)
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        for i, single in enumerate(singles):
            if mode is gym.vector.AutoresetMode.NEXT_STEP and ended[i]:
                expected[i] = single.reset()[0]
                assert (rewards[i], terminated[i], truncated[i]) == (0.0, False, False)
                continue
            expected[i], reward, *ends = single.step(int(actions[i]))[:4]
            assert (rewards[i], terminated[i], truncated[i]) == (reward, *ends)
            if mode is gym.vector.AutoresetMode.SAME_STEP and any(ends):
                last = infos["final_obs"][i]
                assert all(np.array_equal(last[name], expected[i][name]) for name in expected[i])
                expected[i] = single.reset()[0]
        ended = terminated | truncated


def test_missions_change_only_where_a_lane_begins() -> None:
    envs = gym.make_vec("BabyAI-GoToLocal-v0", num_envs=3, max_steps=4)
    first = envs.reset(seed=1)[0]["mission"]
    kept = first.tolist()
    seen = [envs.step(np.full(3, 6))[0]["mission"] for _ in range(5)]
    assert all(missions is first for missions in seen[:4])
    assert seen[4] is not first
    assert first.tolist() == kept
    assert all(isinstance(text, str) for text in seen[4])


def test_grids_can_be_read_and_set() -> None:
    env = gym.make("MiniGrid-Empty-6x6-v0").unwrapped
    env.reset(seed=0)
    assert (env.grid.width, env.grid.height) == (6, 6)
    assert env.grid.get(0, 0) == WorldObj("wall", "grey")
    assert env.grid.get(1, 1) is None
    assert env.grid.get(4, 4).type == "goal"
    assert env.agent_pos.tolist() == [1, 1]
    assert env.front_pos.tolist() == [2, 1]
    env.grid.set(2, 1, WorldObj("box", "red", contains=WorldObj("key", "blue")))
    box = env.gen_obs()["image"][3, 5]
    assert box.tolist() == [7, 0, 0]
    env.step(env.actions.toggle)
    assert env.grid.get(2, 1) == WorldObj("key", "blue")
    env.step(env.actions.pickup)
    assert env.carrying == WorldObj("key", "blue")
    env.carrying = None
    env.agent_pos, env.agent_dir = (3, 4), 0
    assert env.step(env.actions.forward)[2] is True
    assert env.step_count == 3
    env.mission = "do what you want"
    assert env.gen_obs()["mission"] == "do what you want"
    assert env.reset()[0]["mission"] == "get to the green goal square"


def box(*contents: WorldObj, color: str = "red") -> WorldObj:
    return WorldObj("box", color, contains=contents[0] if contents else None)


def nested(depth: int) -> WorldObj:
    return box(*([nested(depth - 1)] if depth else []))


def in_itself(grid: Any) -> WorldObj:
    item = box()
    item.contains = box(item)
    return item


def in_its_copy(grid: Any) -> WorldObj:
    grid.set(1, 1, box(WorldObj("key", "blue")))
    item, other = grid.get(1, 1), grid.get(1, 1)
    other.contains = None
    item.contains = box(other)
    return item


REFUSED: dict[str, Any] = {
    "in itself": in_itself,
    "in its copy": in_its_copy,
    "too many": lambda grid: nested(128),
    "contents of a key": lambda grid: WorldObj("key", "red", contains=WorldObj("key", "red")),
    "no color": lambda grid: WorldObj("key", "pink"),
    "number": lambda grid: 5,
    "in a box": lambda grid: box(5),
    **{
        kind: lambda grid, kind=kind: WorldObj(kind, "red") for kind in ("agent", "unseen", "empty")
    },
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_objects_change_nothing(case: str) -> None:
    env = gym.make("MiniGrid-Empty-8x8-v0", render_mode="rgb_array").unwrapped
    env.reset(seed=1)
    item, before = REFUSED[case](env.grid), env.state
    with pytest.raises(error.InvalidArgument):
        env.grid.set(3, 3, item)
    with pytest.raises(error.InvalidArgument):
        env.carrying = item
    assert env.state == before
    env.render()
    env.set_state(env.get_state())


def test_contents_of_boxes() -> None:
    env = gym.make("MiniGrid-Empty-8x8-v0").unwrapped
    env.reset(seed=1)
    grid, item = env.grid, nested(127)
    for _ in range(3):  # takes no more identities than the first time
        grid.set(3, 3, item)
    assert grid.get(3, 3) == item
    opened = grid.get(3, 3)
    opened.contains = None
    grid.set(3, 3, opened)
    assert grid.get(3, 3) == box()
    env.set_state(env.get_state())


def test_saved_boxes_in_themselves_are_refused() -> None:
    env = gym.make("MiniGrid-Empty-8x8-v0").unwrapped
    env.reset(seed=1)
    env.grid.set(3, 3, box(box(WorldObj("key", "red"))))
    lane = env._lane_record()
    lane["objects"]["contents"][2] = lane["cells"][3, 3]
    with pytest.raises(error.InvalidArgument, match="state"):
        env.set_state(env.get_state())


def last_object(env: Any) -> WorldObj:
    return max((item for item in env.grid.grid if item), key=lambda item: item._identity)


FOREIGN: dict[str, Any] = {
    "level": lambda env: gym.make("MiniGrid-ObstructedMaze-Full-v1").unwrapped,
    "episode": lambda env: env,
    "copy of the environment": copy.deepcopy,
}


@pytest.mark.parametrize("case", FOREIGN)
def test_objects_of_another(case: str) -> None:
    env = gym.make("MiniGrid-Fetch-8x8-N3-v0").unwrapped
    env.reset(seed=3)
    other = FOREIGN[case](env)
    if case == "level":
        other.reset(seed=3)
    item = last_object(other)
    assert item._identity
    if case == "episode":
        env.reset()
    env.grid.set(1, 1, item)
    assert env.grid.get(1, 1) == item
    assert env.grid.get(1, 1)._identity == 0 or item.type == "box"
    env.get_frame()
    env.step(0)
    env.set_state(env.get_state())


def test_objects_keep_their_identity_where_they_are_put() -> None:
    envs = gym.make_vec("MiniGrid-Fetch-8x8-N3-v0", num_envs=2)
    envs.reset(seed=3)
    lanes = list(envs.lane_envs())
    item = last_object(lanes[0])
    lanes[0].grid.set(1, 1, item)
    assert lanes[0].grid.get(1, 1)._identity == item._identity > 0
    lanes[1].grid.set(1, 1, item)
    assert lanes[1].grid.get(1, 1)._identity == 0


def test_obstacles_do_not_include_boxes_of_the_caller() -> None:
    env = gym.make("MiniGrid-Dynamic-Obstacles-8x8-v0").unwrapped
    env.reset(seed=1)
    env.grid.set(3, 3, box(WorldObj("key", "blue")))
    for _ in range(20):
        env.step(0)
    assert env.grid.get(3, 3) == box(WorldObj("key", "blue"))


@pytest.mark.slow
def test_frames_of_many_tile_sizes() -> None:
    ours, theirs = (make("MiniGrid-LavaCrossingS9N2-v0") for make in (gym.make, original))
    ours.reset(seed=3), theirs.reset(seed=3)
    for tile_size in (1, 2, 3, 5, 9, 31, 3, 64, 1):
        frames = [env.unwrapped.get_frame(tile_size=tile_size) for env in (ours, theirs)]
        assert np.array_equal(*frames)


def test_every_tile_equals_minigrids() -> None:
    env = gym.make("MiniGrid-Empty-16x16-v0", size=20).unwrapped
    env.reset(seed=0)
    other = original("MiniGrid-Empty-16x16-v0", size=20).unwrapped
    other.reset(seed=0)
    kinds = [(kind, 0) for kind in (2, 3, 5, 6, 7, 8, 9)] + [(4, state) for state in range(3)]
    for direction in range(4):
        for place, ((kind, state), color) in enumerate(itertools.product(kinds, range(6))):
            i, j = place // 12 + 3, place % 12 + 3
            item = objects.WorldObj.decode(kind, color, state)
            other.grid.set(i, j, item)
            env.grid.set(i, j, item)
        for each in (env, other):
            each.agent_pos, each.agent_dir = (5, 9), direction
        frames = [each.get_frame(tile_size=7) for each in (env, other)]
        assert np.array_equal(*frames)


def test_an_agent_that_begins_with_an_object_has_it_after_the_first_observation() -> None:
    env_id = "BabyAI-PutNextS5N2Carrying-v0"
    ours, theirs = gym.make(env_id), original(env_id)
    for seed in range(5):
        first = [env.reset(seed=seed)[0] for env in (ours, theirs)]
        assert np.array_equal(first[0]["image"], first[1]["image"])
        lanes = ours.unwrapped, theirs.unwrapped
        assert lanes[0].carrying.encode() == lanes[1].carrying.encode()
        assert np.array_equal(*(env.grid.encode() for env in lanes))
        for action in (2, 4, 3, 2):
            results = [env.step(action) for env in (ours, theirs)]
            assert np.array_equal(*(result[0]["image"] for result in results))
            assert results[0][1:4] == results[1][1:4]
            if results[0][2]:
                break


def test_frames_from_the_agents_point_of_view() -> None:
    arguments = {"render_mode": "rgb_array", "agent_pov": True, "tile_size": 11}
    ours = gym.make("MiniGrid-FourRooms-v0", **arguments)
    theirs = original("MiniGrid-FourRooms-v0", **arguments)
    ours.reset(seed=3), theirs.reset(seed=3)
    assert np.array_equal(ours.render(), theirs.render())
    frames = [env.unwrapped.get_frame(highlight=False, tile_size=32) for env in (ours, theirs)]
    assert np.array_equal(*frames)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("env_id", ["MiniGrid-KeyCorridorS3R2-v0", "BabyAI-BossLevel-v0"])
def test_copies_and_states_continue(env_id: str, copied: Any) -> None:
    env = gym.make(env_id)
    env.reset(seed=7)
    rng = np.random.default_rng(0)
    for _ in range(20):
        env.step(int(rng.integers(7)))
    others = [copied(env), gym.make(env_id)]
    others[1].reset(seed=0)
    others[1].unwrapped.set_state(env.unwrapped.get_state())
    for _ in range(20):
        action = int(rng.integers(7))
        observation, *results = env.step(action)
        for other in others:
            same, *others_results = other.step(action)
            assert others_results == results
            assert all(np.array_equal(same[name], observation[name]) for name in observation)


@pytest.mark.parametrize("mode", list(gym.vector.AutoresetMode))
def test_saved_lanes_have_their_missions(mode: gym.vector.AutoresetMode) -> None:
    options = {"autoreset_mode": mode}
    envs, other = (
        gym.make_vec("BabyAI-GoToLocal-v0", num_envs=3, max_steps=3, vector_kwargs=options)
        for _ in range(2)
    )
    envs.reset(seed=1), other.reset(seed=50)
    envs.step(np.full(3, 6)), other.step(np.full(3, 6))
    other.set_state(envs.get_state())
    for _ in range(2):
        steps = [each.step(np.full(3, 6)) for each in (envs, other)]
        assert steps[0][0]["mission"].tolist() == steps[1][0]["mission"].tolist()
    if mode is gym.vector.AutoresetMode.SAME_STEP:
        last = [[one["mission"] for one in step[4]["final_obs"]] for step in steps]
        assert last[0] == last[1] != steps[0][0]["mission"].tolist()


def test_impossible_states_are_refused() -> None:
    env = gym.make("MiniGrid-DoorKey-5x5-v0").unwrapped
    env.reset(seed=1)
    saved = env.get_state()
    saved["state"]["lane"][0] = 255
    with pytest.raises(error.InvalidArgument, match="expected a state that lanes"):
        env.set_state(saved)
    assert env.gen_obs()["mission"].startswith("use the key")


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"size": 250, "observes": "rgb", "obs_tile_size": 108}, error.InvalidArgument, "2..31"),
        ({"size": 2}, error.InvalidArgument, "expected 3 to 250 cells"),
        ({"size": "x"}, error.ArgumentTypeError, "size: expected an integer, got 'x'"),
        ({"rooms": 2}, error.ArgumentTypeError, "DoorKey has no argument 'rooms'; it has"),
        ({"max_steps": 0}, error.InvalidArgument, "max_steps: expected a positive integer"),
        ({"max_steps": 2**30 + 1}, error.InvalidArgument, "max_steps: expected a positive integer"),
        ({"agent_view_size": 4}, error.InvalidArgument, "view_size: expected an odd number"),
        ({"observes": "all"}, error.InvalidArgument, "observes: expected one of"),
        ({"layout": "list"}, error.InvalidArgument, "layout: expected one of"),
        ({"observes": "rgb", "obs_tile_size": 0}, error.InvalidArgument, "obs_tile_size: .* 1"),
    ],
)
def test_impossible_arguments(arguments: dict[str, Any], kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        gym.make("MiniGrid-DoorKey-5x5-v0", **arguments)


def test_levels_that_do_not_come_out() -> None:
    env = gym.make("MiniGrid-Fetch-5x5-N2-v0", numObjs=60)
    with pytest.raises(error.Error, match=r"lanes \[0\]: the level "):
        env.reset(seed=0)


@pytest.mark.parametrize("value", [10**6, 10**400], ids=["million", "huge"])
def test_counts_that_lanes_cannot_hold(value: int) -> None:
    with pytest.raises(error.InvalidArgument, match="n_obstacles: expected at most 999999"):
        gym.make("MiniGrid-Dynamic-Obstacles-5x5-v0", n_obstacles=value)


@pytest.mark.parametrize("action", [3, 6, 7, 2**31 - 1])
def test_other_actions_of_dynamic_obstacles_turn_left(action: int) -> None:
    env_id = "MiniGrid-Dynamic-Obstacles-5x5-v0"
    ours, theirs, envs = gym.make(env_id), original(env_id), gym.make_vec(env_id, num_envs=2)
    assert ours.action_space == envs.single_action_space == gym.spaces.Discrete(3)
    [env.reset(seed=1) for env in (ours, theirs, envs)]
    results = [env.step(action) for env in (ours, theirs)]
    assert results[0][0]["direction"] == results[1][0]["direction"] == 3
    assert np.array_equal(results[0][0]["image"], results[1][0]["image"])
    assert envs.step([action, 0])[0]["direction"].tolist() == [3, 3]
    for env, wrong in ((ours, -1), (envs, [-1, 0])):
        with pytest.raises(error.InvalidAction):
            env.step(wrong)


def test_parameters_by_lane() -> None:
    envs = gym.make_vec("MiniGrid-Empty-5x5-v0", num_envs=3)
    envs.set_attr("max_steps", [2, 3, 4])
    envs.reset(seed=0)
    truncated = [envs.step(np.full(3, 6))[3].tolist() for _ in range(2)]
    assert truncated == [[False] * 3, [True, False, False]]
    assert envs.get_attr("max_steps") == (2, 3, 4)


@pytest.mark.parametrize("observes", ["partial", "rgb"])
def test_threads_change_nothing(observes: str) -> None:
    results = []
    for threads in (1, 3):
        options = {"num_threads": threads}
        envs = gym.make_vec(
            "BabyAI-BossLevel-v0", num_envs=40, observes=observes, vector_kwargs=options
        )
        envs.reset(seed=9)
        rng = np.random.default_rng(4)
        for _ in range(30):
            observations, rewards, *_ = envs.step(rng.integers(0, 7, 40))
        results.append((observations["image"], rewards, observations["mission"].tolist()))
    assert all(np.array_equal(one, other) for one, other in zip(*results, strict=True))
