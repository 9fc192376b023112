"""Grid worlds: observations equal those of minigrid's wrappers; faults; saved lanes; bad levels."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore_ext.minigrid.grid_lane import GridSpec
from gymcore_ext.minigrid.rules import RULES
from tests.ext.minigrid_lanes import Faulted, Lanes

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    minigrid = pytest.importorskip("minigrid")
    from minigrid import wrappers
    from minigrid.envs import DoorKeyEnv, LavaGapEnv, MultiRoomEnv, ObstructedMaze_1Dlhb

KEY, BALL, DOOR = 5, 6, 4


def slopes(width: int, height: int) -> np.ndarray:
    """Return the direction of a goal by its distance."""
    y, x = np.mgrid[1 - height : height, 1 - width : width].astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((x == 0) & (y == 0), 0.0, y / np.abs(x) * np.where(x < 0, -1, 1))


WORLDS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "DoorKey": (lambda: DoorKeyEnv(6), {"rules": "DoorKey", "size": (6, 6)}),
    "LavaGap": (lambda: LavaGapEnv(7), {"rules": "LavaGap", "size": (7, 7), "numbers": (0,)}),
    "MultiRoom": (
        lambda: MultiRoomEnv(2, 4, 6),
        {"rules": "MultiRoom", "size": (25, 25), "numbers": (2, 4, 6)},
    ),
    "ObstructedMaze": (
        ObstructedMaze_1Dlhb,
        {"rules": "ObstructedMaze1D", "size": (11, 6), "numbers": (1, 1)} | {"rooms": (6, 2, 1)},
    ),
}
MODES: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
    "partial": (lambda env: env, {}),
    "full": (wrappers.FullyObsWrapper, {"observes": "full"}),
    "symbolic": (wrappers.SymbolicObsWrapper, {"observes": "symbolic"}),
    "one-hot": (wrappers.OneHotPartialObsWrapper, {"observes": "one_hot"}),
    "image": (wrappers.ImgObsWrapper, {"layout": "image"}),
    "flat": (wrappers.FlatObsWrapper, {"layout": "flat"}),
    "pixels": (
        lambda env: wrappers.RGBImgPartialObsWrapper(env, 5),
        {"observes": "rgb_partial", "tile_size": 5},
    ),
    "full pixels": (wrappers.RGBImgObsWrapper, {"observes": "rgb", "tile_size": 8}),
    "small": (lambda env: wrappers.ViewSizeWrapper(env, 3), {"view_size": 3}),
    "large": (lambda env: wrappers.ViewSizeWrapper(env, 25), {"view_size": 25}),
    "direction": (wrappers.DirectionObsWrapper, {"goal_directions": slopes}),
}


@pytest.mark.slow
@pytest.mark.parametrize("world, mode", [(world, mode) for world in WORLDS for mode in MODES])
def test_observations(world: str, mode: str) -> None:
    make, arguments = WORLDS[world]
    wrap, options = MODES[mode]
    arguments = {**arguments, **options}
    if "goal_directions" in arguments:
        if world == "ObstructedMaze":
            return
        arguments["goal_directions"] = slopes(*arguments["size"])
    theirs = wrap(make())
    ours = Lanes(max_steps=theirs.unwrapped.max_steps, **arguments)
    rng = np.random.default_rng(3)
    for episode in range(2):
        ours.batch.seed(episode, 0, 1)
        rows, _ = ours.batch.reset()
        expected, _ = theirs.reset(seed=episode)
        for step in range(40):
            if not isinstance(expected, dict):
                rows, expected = (rows,), {"image": expected}
            assert ours.mission() == theirs.unwrapped.mission
            names = [name for name in ("image", "direction", "goal_direction") if name in expected]
            assert len(rows) == len(names)
            for name, row in zip(names, rows, strict=True):
                assert row.dtype == np.asarray(expected[name]).dtype, name
                assert np.array_equal(row[0], expected[name]), (episode, step, name)
            action = rng.choice(7, p=(0.15, 0.15, 0.35, 0.1, 0.1, 0.1, 0.05))
            rows, *ends, _ = ours.batch.step([action])
            expected, *their_ends, _ = theirs.step(action)
            assert [end[0] for end in ends] == their_ends
            if ends[1] or ends[2]:
                break


@pytest.mark.parametrize(
    "rules, size, numbers, text",
    [
        ("Fetch", (5, 5), (10,), "found no place"),
        ("Fetch", (20, 20), (128,), "more than 127 objects"),
        ("Fetch", (5, 5), (0,), "among nothing"),
        ("GoToObject", (20, 20), (19,), "did not end"),
        ("DistShift", (9, 7), (1, 1, 0, 7), "outside of the grid"),
        ("Empty", (5, 5), (4, 4, 0), "agent into an object"),
        ("Empty", (5, 5), (5, 1, 0), "outside of the grid"),
        ("MultiRoom", (10, 10), (6, 6, 10), "did not end"),
    ],
)
def test_faults(rules: str, size: tuple[int, int], numbers: tuple[int, ...], text: str) -> None:
    lanes = Lanes(rules, size, 3, numbers=numbers)
    lanes.batch.seed(1, 0, 3)
    with pytest.raises(Faulted) as raised:
        lanes.batch.reset()
    (faults,) = raised.value.args
    assert [lane for lane, _ in faults] == [0, 1, 2]
    assert all(text in fault for _, fault in faults), faults


def test_a_mission_that_is_too_long() -> None:
    env = gymcore.make("BabyAI-BossLevel-v0", layout="flat")
    with pytest.raises(error.Error, match="longer than the observation"):
        env.reset(seed=0)


def test_the_direction_of_no_goal() -> None:
    lanes = Lanes("GoToDoor", (6, 6), goal_directions=slopes(6, 6))
    lanes.batch.seed(1, 0, 1)
    with pytest.raises(Faulted, match="has no goal"):
        lanes.batch.reset()


def test_rooms_need_a_grid_of_rooms() -> None:
    lanes = Lanes("KeyCorridor", (6, 6), numbers=(2,))
    lanes.batch.seed(1, 0, 1)
    with pytest.raises(Faulted, match="among nothing"):
        lanes.batch.reset()


def cell(kind: int, color: int = 0, state: int = 0, identity: int = 0) -> int:
    return kind | color << 4 | state << 7 | identity << 9


def in_cells(value: int) -> Callable[[Any], None]:
    def change(lane: Any) -> None:
        lane["cells"][2, 3] = value

    return change


def with_field(name: str, value: int) -> Callable[[Any], None]:
    def change(lane: Any) -> None:
        lane[name] = value

    return change


def in_objects(name: str, value: int) -> Callable[[Any], None]:
    def change(lane: Any) -> None:
        lane["objects"][2][name] = value

    return change


IMPOSSIBLE = [
    ("a cell that is nothing", in_cells(0)),
    ("a cell with an agent", in_cells(cell(10))),
    ("an empty cell with a color", in_cells(cell(1, 1))),
    ("a seventh color", in_cells(cell(BALL, 6))),
    ("a fourth state", in_cells(cell(DOOR, 1, 3))),
    ("a ball with a state", in_cells(cell(BALL, 1, 1))),
    ("an object that there is not", in_cells(cell(BALL, 1, 0, 4))),
    ("an agent to the right", with_field("agent_x", 8)),
    ("an agent below", with_field("agent_y", 8)),
    ("a fifth direction", with_field("agent_dir", 4)),
    ("a level that could not be generated", with_field("fault", 1)),
    ("too many objects", with_field("object_count", 128)),
    ("steps before the first", with_field("step_count", -1)),
    ("no steps", with_field("max_steps", 0)),
    ("more steps than can be counted", with_field("step_count", 2**31 - 1)),
    ("a goal to the right", with_field("goal_x", 8)),
    ("carrying a door", with_field("carrying", cell(DOOR))),
    ("carrying what there is not", with_field("carrying", cell(KEY, 0, 0, 9))),
    ("an object to the right", in_objects("x", 8)),
    ("contents that are nothing", in_objects("contents", 0)),
    ("a sixth template", with_field("words", 5)),
]


@pytest.mark.parametrize("name, change", IMPOSSIBLE)
def test_impossible_lanes(name: str, change: Callable[[Any], None]) -> None:
    lanes = Lanes("Fetch", (8, 8), 2, numbers=(3,))
    lanes.batch.seed(1, 0, 2)
    lanes.batch.reset()
    saved = np.zeros(1, lanes.store.saved_dtype)
    lanes.store.save(np.array([1]), saved)
    assert lanes.store.valid(saved)[0]
    change(lanes.lanes[1])
    lanes.store.save(np.array([1]), saved)
    assert not lanes.store.valid(saved)[0], name


def test_lanes_before_their_first_reset_can_be_saved() -> None:
    lanes = Lanes("Empty", (5, 5), 2, numbers=(1, 1, 0))
    saved = np.zeros(2, lanes.store.saved_dtype)
    lanes.store.save(np.arange(2), saved)
    assert lanes.store.valid(saved).all()


def test_a_saved_lane_goes_on_alike() -> None:
    lanes = Lanes("ObstructedMaze1D", (11, 6), 2, numbers=(1, 1), rooms=(6, 2, 1))
    lanes.batch.seed(5, 0, 2)
    lanes.batch.reset()
    rng = np.random.default_rng(5)
    for _ in range(30):
        lanes.batch.step(rng.integers(0, 7, 2))
    saved = np.zeros(1, lanes.store.saved_dtype)
    lanes.store.save(np.array([0]), saved)
    lanes.store.load(np.array([1]), saved)
    for _ in range(60):
        (images, directions), *_ = lanes.batch.step(np.full(2, rng.integers(0, 7)))
        assert np.array_equal(images[0], images[1]) and directions[0] == directions[1]
    assert lanes.mission(0) == lanes.mission(1) == "pick up the blue ball"


@pytest.mark.parametrize(
    "size, options, text",
    [
        ((2, 5), {}, "3 to 250"),
        ((5, 251), {}, "3 to 250"),
        ((11, 6), {"rooms": (6, 3, 1)}, "grid of at most 256 rooms"),
        ((5, 5), {"view_size": 4}, "odd number"),
        ((5, 5), {"view_size": 65}, "odd number"),
        ((5, 5), {"observes": "symbolic", "layout": "flat"}, "layout"),
        ((5, 5), {"goal_directions": np.zeros((9, 8))}, "goal_directions"),
    ],
)
def test_bad_levels(size: tuple[int, int], options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        GridSpec(RULES["Empty"], *size, **options)


@pytest.mark.parametrize("tile_size", [-1, 0, 257])
def test_bad_tile_sizes(tile_size: int) -> None:
    with pytest.raises(ValueError, match="tile_size: expected 1 to 256"):
        GridSpec(RULES["Empty"], 5, 5, observes="rgb_partial", tile_size=tile_size)
    lanes = Lanes("Empty", (5, 5), numbers=(1, 1, 0))
    lanes.batch.seed(1, 0, 1)
    lanes.batch.reset()
    with pytest.raises(ValueError, match="tile_size: expected 1 to 256"):
        lanes.level.frame(lanes.store.view()[0, : lanes.level.lane_bytes], tile_size, False, True)


def test_missions_of_foreign_bytes() -> None:
    level = GridSpec(RULES["Fetch"], 5, 5)
    for lane in (np.zeros(10, np.uint8), np.full(level.lane_bytes, 255, np.uint8)):
        with pytest.raises(ValueError, match="lane"):
            level.mission(lane)
