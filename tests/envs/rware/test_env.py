"""RWARE: ids, arguments, parameters by world, states and frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.envs.rware.ids import warehouse_spec
from gymcore.specs.lookup import registered_id

ID = "rware-tiny-2ag-v2"
UP, DOWN, LEFT, RIGHT = range(4)
FORWARD, TURN_LEFT, TURN_RIGHT, LOAD = range(1, 5)

ROOM = """
    ......
    .xx...
    ....g.
"""


def world_of(envs: Any, lane: int = 0) -> Any:
    """Return a view of the state of a world."""
    dtype = envs._model._lane_dtype()
    return envs._batch.store.view()[lane, : dtype.itemsize].view(dtype)[0]


def place(envs: Any, robots: list[tuple[int, int, int]], lane: int = 0) -> None:
    """Place robots, each with a row, a column and a direction."""
    world = world_of(envs, lane)
    world["robot_in"] = 0
    for k, (row, column, direction) in enumerate(robots):
        world["robots"][k] = (row * world["robot_in"].shape[1] + column, direction, 0, 0, 0)
        world["robot_in"][row, column] = k + 1


def places(envs: Any, lane: int = 0) -> list[tuple[int, int]]:
    """Return the row and the column of each robot."""
    world = world_of(envs, lane)
    columns = world["robot_in"].shape[1]
    return [divmod(int(cell), columns) for cell in world["robots"]["cell"]]


@pytest.mark.parametrize(
    ("env_id", "expected"),
    [
        ("rware-tiny-2ag-v2", (1, 3, 8, 2, 1, 2, "individual", "flattened", True)),
        ("rware-large-19ag-hard-v2", (3, 5, 8, 19, 1, 9, "individual", "flattened", True)),
        ("rware-img-Nd-2s-small-3h-4ag-easy-v2", (2, 3, 3, 4, 2, 8, "individual", "image", False)),
        ("rware-imgdict-medium-1ag-v2", (2, 5, 8, 1, 1, 1, "individual", "image_dict", True)),
        (
            "rware-5s-4x9-15h-7ag-3req-twostage-v2",
            (4, 9, 15, 7, 5, 3, "two_stage", "flattened", True),
        ),
    ],
)
def test_ids_have_arguments_in_them(env_id: str, expected: tuple[Any, ...]) -> None:
    """Those of rware's registrations."""
    spec = gymcore.spec(env_id)
    assert gymcore.spec(env_id) is spec is gymcore.registry[env_id]
    assert registered_id(env_id) == env_id
    names = ("shelf_rows", "shelf_columns", "column_height", "n_agents", "sensor_range")
    others = ("request_queue_size", "reward_type", "observation_type")
    values = [spec.kwargs[name] for name in (*names, *others, "image_observation_directional")]
    assert tuple(values) == expected
    gymcore.make_vec(env_id, 2).close()


@pytest.mark.parametrize(
    "env_id",
    [
        *("rware-tiny-2ag-v3", "rware-huge-2ag-v2", "rware-tiny-0ag-v2", "rware-tiny-02ag-v2"),
        *("rware-Nd-tiny-2ag-v2", "rware-tiny-2ag-easy-hard-v2", "rware-tiny-2ag-3req-easy-v2"),
        *("rware-tiny-v2", "rware-tiny-2ag-v2\n"),
    ],
)
def test_other_ids_are_unknown(env_id: str) -> None:
    assert warehouse_spec(env_id) is None
    with pytest.raises(error.Error):
        gymcore.make_vec(env_id, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_agents": 0}, "n_agents: expected at least 1"),
        ({"n_agents": 111}, "n_agents: expected at most 110, got 111"),
        ({"shelf_columns": 4}, "shelf_columns: expected an odd number, got 4"),
        ({"shelf_columns": 35}, "columns of the layout: expected at most 100, got 106"),
        ({"column_height": 0}, "column_height: expected at least 1"),
        ({"request_queue_size": 33}, "request_queue_size: expected at most 32, got 33"),
        ({"msg_bits": 65}, "msg_bits: expected at most 64"),
        ({"sensor_range": 0}, "sensor_range: expected at least 1"),
        ({"reward_type": "team"}, "reward_type: expected one of .* got 'team'"),
        ({"observation_type": 1}, "observation_type: expected one of"),
        ({"image_observation_layers": ["walls"]}, "image_observation_layers: expected one of"),
        ({"image_observation_layers": []}, r"len\(image_observation_layers\): expected at least 1"),
        ({"layout": "xx\nx"}, "layout: expected lines"),
        ({"layout": "xx\n.."}, "layout: expected lines"),
        ({"layout": "xg\n.?"}, "layout: expected lines"),
        ({"layout": "xg"}, "rows of the layout: expected at least 2"),
        ({"max_steps": -1}, "max_steps: expected an integer in"),
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


@pytest.mark.parametrize(
    ("reward_type", "expected"),
    [
        ("individual", [[0.0, 1.0], [0.0, 0.0]]),
        ("global", [[1.0, 1.0], [0.0, 0.0]]),
        ("two_stage", [[0.0, 0.5], [0.0, 0.5]]),
    ],
)
def test_a_robot_brings_a_shelf_to_a_goal_and_back(
    reward_type: str, expected: list[list[float]]
) -> None:
    """The other shelf is requested then."""
    envs = gymcore.make_vec(
        ID, 1, layout=ROOM, request_queue_size=1, reward_type=reward_type, max_steps=0
    )
    envs.reset(seed=0)
    place(envs, [(0, 0, UP), (1, 2, RIGHT)])
    world_of(envs)["requested"][:] = [0, 1]
    turns = [TURN_RIGHT, FORWARD, TURN_RIGHT, TURN_RIGHT, FORWARD, TURN_LEFT, FORWARD, FORWARD]
    rewards = []
    for action in [LOAD, FORWARD, FORWARD, *turns, LOAD]:
        *_, reward, terminated, truncated, _ = envs.step([[0, action]])
        assert not terminated.any()
        assert not truncated.any()
        if action == TURN_RIGHT and len(rewards) == 2:
            assert world_of(envs)["shelf_in"][1].tolist() == [0, 1, 0, 0, 2, 0]
        rewards.append(reward[0].tolist())
    assert [pair for pair in rewards if any(pair)] == [pair for pair in expected if any(pair)]
    assert world_of(envs)["requested"].tolist() == [1, 0]


def test_robots_queue_for_a_cell() -> None:
    """The longer queue moves; robots in a circle move, two that face each other stay."""
    envs = gymcore.make_vec(ID, 3, layout=ROOM, n_agents=4)
    envs.reset(seed=0)
    place(envs, [(0, 0, RIGHT), (0, 1, RIGHT), (0, 3, LEFT), (2, 0, UP)], 0)
    place(envs, [(0, 0, RIGHT), (0, 1, DOWN), (1, 1, LEFT), (1, 0, UP)], 1)
    place(envs, [(0, 0, RIGHT), (0, 1, LEFT), (0, 2, LEFT), (2, 0, LEFT)], 2)
    envs.step(np.full((3, 4), FORWARD))
    assert places(envs, 0) == [(0, 1), (0, 2), (0, 3), (1, 0)]
    assert places(envs, 1) == [(0, 1), (1, 1), (1, 0), (0, 0)]
    assert places(envs, 2) == [(0, 0), (0, 1), (0, 2), (2, 0)]


def test_robots_with_shelves_cannot_pass_below_others() -> None:
    envs = gymcore.make_vec(ID, 1, layout=ROOM, n_agents=2)
    envs.reset(seed=0)
    place(envs, [(1, 1, RIGHT), (1, 3, LEFT)])
    envs.step([[LOAD, FORWARD]])
    envs.step([[FORWARD, 0]])
    assert places(envs) == [(1, 1), (1, 2)]
    envs.step([[LOAD, FORWARD]])
    envs.step([[FORWARD, TURN_RIGHT]])
    assert places(envs) == [(1, 1), (1, 2)]
    envs.step([[0, FORWARD]])
    envs.step([[FORWARD, 0]])
    assert places(envs) == [(1, 2), (0, 2)]


def test_limits_of_steps_by_world() -> None:
    """A limit of steps, of steps without a delivery, and none."""
    envs = gymcore.make_vec(ID, 3, max_steps=[4, 0, 0], max_inactivity_steps=[0, 6, 0])
    envs.reset(seed=0)
    lengths = np.zeros(3, int)
    for step in range(1, 9):
        *_, terminated, truncated, _ = envs.step(np.zeros((3, 2), int))
        lengths = np.where(terminated.all(axis=1) & (lengths == 0), step, lengths)
        assert not truncated.any()
    assert lengths.tolist() == [4, 6, 0]


def test_messages_are_observed() -> None:
    """An agent that sees another one sees the bits of its last action."""
    envs = gymcore.make_vec(ID, 1, layout=ROOM, msg_bits=2, observation_type="dict")
    observations, _ = envs.reset(seed=0)
    place(envs, [(2, 0, UP), (2, 1, DOWN)])
    observations, *_ = envs.step([[[0, 1, 0], [0, 1, 1]]])
    messages = observations["sensors"]["local_message"]
    assert messages.shape == (1, 2, 9, 2)
    assert messages[0, 0].sum(axis=1).tolist() == [0, 0, 0, 0, 1, 2, 0, 0, 0]
    assert observations["sensors"]["direction"][0, 0].tolist() == [0, 0, 0, 0, UP, DOWN, 0, 0, 0]
    assert observations["self"]["location"][0].tolist() == [[0, 2], [1, 2]]


def test_all_shelves_may_be_requested() -> None:
    """A delivered shelf is then requested again."""
    envs = gymcore.make_vec(ID, 1, layout=ROOM, n_agents=1, request_queue_size=2)
    envs.reset(seed=0)
    place(envs, [(1, 2, RIGHT)])
    for action in (LOAD, FORWARD, FORWARD, TURN_RIGHT):
        envs.step([[action]])
    assert envs.step([[FORWARD]])[1].tolist() == [[1.0]]
    assert world_of(envs)["requested"].tolist() == [1, 1]


@pytest.mark.parametrize("env_id", [ID, "rware-imgdict-small-6ag-v2"])
def test_states_continue_episodes(env_id: str) -> None:
    """Over the beginning of the next one; a state of another warehouse is refused."""
    first, second = (gymcore.make_vec(env_id, 5, max_steps=8) for _ in range(2))
    first.reset(seed=3)
    second.reset(seed=4)
    first.action_space.seed(0)
    first.step(first.action_space.sample())
    second.set_state(first.get_state())
    for _ in range(20):
        actions = first.action_space.sample()
        for ours, theirs in zip(first.step(actions), second.step(actions), strict=True):
            np.testing.assert_equal(ours, theirs)
    with pytest.raises(error.Error):
        gymcore.make_vec(env_id, 5, reward_type="global").set_state(first.get_state())


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [
        ("robot_in", (0, 0), 9),
        ("shelf_in", (1, 0), 1),
        ("shelf_in", (1, 1), 2),
        ("requested", 0, 2),
        ("requested", slice(None), 0),
        ("messages", (0, 0), 2),
        ("steps", (), -1),
        ("robots", 0, (10**6, 0, 0, 0, 0)),
        ("robots", 0, (1, 0, 0, 0, 0)),
        ("robots", 0, (0, 4, 0, 0, 0)),
        ("robots", 0, (0, 0, 1, 0, 0)),
        ("robots", 0, (0, 0, 0, 2, 0)),
    ],
)
def test_impossible_states_are_refused(name: str, index: Any, value: Any) -> None:
    """Robots and shelves are in the warehouse, each once, and shelves in their places."""
    envs = gymcore.make_vec(ID, 1, layout=ROOM, msg_bits=1, n_agents=2)
    envs.reset(seed=0)
    place(envs, [(0, 0, UP), (2, 2, UP)])
    saved = envs.get_state()
    envs.set_state(saved)
    if index == ():
        world_of(envs)[name] = value
    else:
        world_of(envs)[name][index] = value
    broken = envs.get_state()
    envs.set_state(saved)
    with pytest.raises(error.Error):
        envs.set_state(broken)


def test_threads_do_not_change_results() -> None:
    """Every world has its own memory."""
    first, second = (gymcore.make_vec("rware-tiny-6ag-v2", 300, num_threads=k) for k in (1, 2))
    first.reset(seed=0), second.reset(seed=0)
    first.action_space.seed(0)
    for _ in range(30):
        actions = first.action_space.sample()
        for ours, theirs in zip(first.step(actions), second.step(actions), strict=True):
            np.testing.assert_equal(ours, theirs)


def test_crowded_warehouses_keep_robots_apart() -> None:
    """As many robots as there can be."""
    envs = gymcore.make_vec("rware-3x5-8h-255ag-60req-global-v2", 2)
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        envs.step(rng.choice(5, (2, 255), p=[0.1, 0.6, 0.1, 0.1, 0.1]))
        assert len({*places(envs)}) == 255
        assert (
            np.sort(world_of(envs)["shelf_in"], axis=None)[
                -len(world_of(envs)["requested"]) :
            ].min()
            == 1
        )


@pytest.mark.parametrize("form", ["flattened", "dict", "image", "image_dict"])
def test_observations_are_in_their_space(form: str) -> None:
    envs = gymcore.make_vec("rware-tiny-9ag-v2", 4, observation_type=form, sensor_range=2)
    observations, _ = envs.reset(seed=1)
    for _ in range(30):
        assert observations in envs.observation_space
        observations, *_ = envs.step(envs.action_space.sample())


def test_frames_show_shelves_robots_and_goals() -> None:
    """A cell has 30 pixels and a line."""
    pytest.importorskip("pygame")
    envs = gymcore.make_vec(ID, 1, render_mode="rgb_array", layout=ROOM, request_queue_size=1)
    envs.reset(seed=0)
    place(envs, [(0, 0, UP), (1, 2, LEFT)])
    world_of(envs)["requested"][:] = [1, 0]
    envs.step([[0, LOAD]])
    (frame,) = envs.render()
    assert frame.shape == (94, 187, 3)
    assert frame[0].max() == frame[31].max() == frame[:, 186].max() == 0
    cells = frame[:93, :186].reshape(3, 31, 6, 31, 3).swapaxes(1, 2)[:, :, 1:, 1:].astype(int)

    def cells_with(color: tuple[int, int, int], pixels: int) -> list[list[int]]:
        return np.argwhere((cells == color).all(axis=4).sum(axis=(2, 3)) > pixels).tolist()

    assert cells_with((0, 128, 128), 400) == [[1, 1]]
    assert cells_with((72, 61, 139), 300) == [[1, 2]]
    assert cells_with((255, 140, 0), 200) == [[0, 0]]
    assert cells_with((255, 0, 0), 200) == [[1, 2]]
    assert cells_with((60, 60, 60), 500) == [[2, 4]]
    assert (cells[0, 1] == 255).all()
    up, left = (cells[0, 0] == 0).all(axis=2), (cells[1, 2] == 0).all(axis=2)
    assert np.ptp(np.argwhere(up), axis=0).argmax() == 0
    assert np.ptp(np.argwhere(left), axis=0).argmax() == 1
