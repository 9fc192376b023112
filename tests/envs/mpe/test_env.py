"""Worlds of particles: spaces, arguments, parameters by world, states and frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error, spaces
from gymcore.interop.pettingzoo import parallel_env

IDS = [id for id in gymcore.registry if id.startswith("mpe/")]


def make(name: str, num_envs: int = 2, **arguments: Any) -> Any:
    """Return a batch of worlds."""
    return gymcore.make_vec(f"mpe/{name}", num_envs, **arguments)


def test_agents_that_differ_have_dicts_by_group() -> None:
    """The leader of the adversaries speaks; agents that share spaces need no dict."""
    envs = make("simple_world_comm_v3")
    assert envs.agents.groups == {
        "leadadversary": ("leadadversary_0",),
        "adversary": ("adversary_0", "adversary_1", "adversary_2"),
        "agent": ("agent_0", "agent_1"),
    }
    assert envs.agents.action_space("leadadversary_0") == spaces.Discrete(20)
    assert envs.agents.observation_space("agent_1").shape == (28,)
    observations, _ = envs.reset(seed=0)
    assert {group: rows.shape for group, rows in observations.items()} == {
        "adversary": (2, 3, 34),
        "agent": (2, 2, 28),
        "leadadversary": (2, 1, 34),
    }
    assert make("simple_spread_v3").reset(seed=0)[0].shape == (2, 3, 18)


def test_arrays_are_no_actions_of_groups() -> None:
    """Also one whose shape is that of the numbers of all agents."""
    envs = make("simple_adversary_v3")
    envs.reset(seed=0)
    actions, env_ids = np.zeros((2, 3), np.int64), np.array([0, 1])
    results = {"observations": {}, "rewards": None, "terminated": None, "truncated": None}
    for call in (
        lambda: envs.step(actions),
        lambda: envs.step(actions, env_ids),
        lambda: envs.send(actions),
        lambda: envs.rollout(actions[None]),
        lambda: envs.step_into(actions, **results),
        lambda: envs.bind_step(actions, **results),
    ):
        with pytest.raises(error.InvalidAction, match=r"a dict with the groups \['adversary"):
            call()


def test_neighbors_give_all_agents_the_same_space() -> None:
    """Agents of simple_tag observe as many numbers if they observe as many neighbors."""
    envs = make("simple_tag_v3", num_agent_neighbors=2, num_landmark_neighbors=1)
    assert envs.agents.groups is None
    assert envs.reset(seed=0)[0].shape == (2, 4, 14)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("simple_spread_v3", {"N": 0}, "N: expected at least 1, got 0"),
        (
            "simple_spread_v3",
            {"N": 65},
            "expected 1 to 64 agents and at most 64 landmarks, got 65 and 65",
        ),
        ("simple_spread_v3", {"local_ratio": 1.5}, r"expected a number in \[0, 1\]"),
        ("simple_spread_v3", {"max_cycles": 0}, "expected an integer in"),
        ("simple_spread_v3", {"curriculum_stage": 2}, r"expected an integer in \[0, 1\], got 2"),
        ("simple_spread_v3", {"num_agent_neighbors": 0}, "num_agent_neighbors: expected at least"),
        ("simple_world_comm_v3", {"num_food": 0}, "num_food: expected at least 1, got 0"),
        ("collect_treasure_v1", {"num_deposits": 7}, "num_deposits: expected at most 6, got 7"),
        ("simple_v3", {"N": 3}, "unexpected"),
        ("simple_tag_v3", {"local_ratio": 0.5}, "unexpected"),
        ("simple_line_v1", {"curriculum": True}, "unexpected"),
    ],
)
def test_bad_arguments_are_refused(name: str, arguments: dict[str, Any], message: str) -> None:
    """The error names the argument."""
    with pytest.raises((error.Error, TypeError), match=message):
        make(name, **arguments)


def test_a_single_environment_is_refused() -> None:
    """An `Env` has one reward."""
    with pytest.raises(error.Error, match="make_vec"):
        gymcore.make("mpe/simple_spread_v3")


def test_success_is_hidden_by_the_last_cycle() -> None:
    """As in mpe2: an episode that ends after `max_cycles` steps is truncated only."""
    envs = make("simple_line_v1", 1, N=1, terminate_on_success=True, max_cycles=1)
    near = make("simple_line_v1", 1, N=1, terminate_on_success=True)
    for batch in (envs, near):
        batch.reset(seed=0)
        positions = world_of(batch)["positions"]
        positions[0] = positions[1]
    *_, terminated, truncated, _ = envs.step(np.zeros((1, 1), np.int64))
    assert (terminated.item(), truncated.item()) == (False, True)
    *_, terminated, truncated, _ = near.step(np.zeros((1, 1), np.int64))
    assert (terminated.item(), truncated.item()) == (True, False)


def world_of(envs: Any, lane: int = 0) -> Any:
    """Return a view of the state of a world."""
    world = envs._model._world
    return envs._batch.store.view()[lane, : world.lane_bytes].view(world.lane_dtype)[0]


def test_parameters_differ_from_world_to_world() -> None:
    """Each world has its own number of cycles, weight of rewards, and stage of the curriculum."""
    envs = make("simple_spread_v3", 3, max_cycles=[1, 2, 3], local_ratio=[0.0, 0.5, 1.0])
    envs.reset(seed=[1, 1, 1])
    for lane in range(3):
        positions = world_of(envs, lane)["positions"]
        positions[1] = positions[0] + 0.01
    actions = np.zeros((3, 3), np.int64)
    _, rewards, _, truncated, _ = envs.step(actions)
    assert truncated[:, 0].tolist() == [True, False, False]
    shared, own = rewards[0, 0], rewards[2, 0]
    assert own < 0.0
    assert own == int(own)
    np.testing.assert_allclose(rewards[1, 0], (shared + own) / 2)
    envs.reset(seed=1)
    envs.set_attr("curriculum_stage", [0, 0, 1])
    for lane in range(3):
        positions = world_of(envs, lane)["positions"]
        positions[1] = positions[0] + 0.01
    assert envs.step(actions)[1][2, 0] < 0.0


def test_curriculum_slows_agents_down() -> None:
    """The stage of simple_tag takes effect at the next reset."""
    envs = make("simple_tag_v3", 3, curriculum=True)
    assert envs.get_attr("curriculum_stage") == (0, 0, 0)
    envs.set_attr("curriculum_stage", [0, 1, 2])
    envs.reset(seed=[5, 5, 5])
    assert [float(world_of(envs, lane)["prey_speed"]) for lane in range(3)] == [0.5, 0.75, 1.0]


@pytest.mark.parametrize("id", IDS)
def test_states_continue_an_episode(id: str) -> None:
    """A saved state gives the same results, also in another batch."""
    envs, other = (gymcore.make_vec(id, 3) for _ in range(2))
    envs.reset(seed=4)
    actions = [envs.action_space.sample() for _ in range(40)]
    for step in range(10):
        envs.step(actions[step])
    state = envs.get_state()
    expected = [envs.step(action) for action in actions[10:]]
    other.set_state(state)
    for action, results in zip(actions[10:], expected, strict=True):
        np.testing.assert_equal(other.step(action), results)


def test_states_with_impossible_goals_are_refused() -> None:
    """A goal is the index of a landmark."""
    envs = make("simple_push_v3", 1)
    envs.reset(seed=0)
    world_of(envs)["goals"][0] = 2
    state = envs.get_state()
    with pytest.raises(error.Error):
        envs.set_state(state)


@pytest.mark.parametrize("id", IDS)
def test_states_of_random_bytes_are_refused_or_can_be_stepped(id: str) -> None:
    """A state may come from any source."""
    envs = gymcore.make_vec(id, 1)
    envs.reset(seed=0)
    state, rng = envs.get_state(), np.random.default_rng(0)
    loaded = 0
    for size in (1, 8, 100) * 20:
        changed = state.copy()
        lane = changed["state"]["lane"][0]
        lane[rng.integers(len(lane), size=size)] = rng.integers(256, size=size)
        try:
            envs.set_state(changed)
        except error.Error:
            continue
        loaded += 1
        for _ in range(3):
            envs.step(envs.action_space.sample())
    assert loaded


def test_states_of_other_worlds_are_refused() -> None:
    """The numbers of entities have to be the same, and the actions, too."""
    envs = make("simple_spread_v3")
    envs.reset(seed=0)
    with pytest.raises(error.Error):
        make("simple_spread_v3", continuous_actions=True).set_state(envs.get_state())


def stacked(steps: list[Any]) -> Any:
    """Return the arrays of steps with a leading axis."""
    if isinstance(steps[0], dict):
        return {key: stacked([step[key] for step in steps]) for key in steps[0]}
    return np.stack(steps)


@pytest.mark.parametrize("mode", ["next_step", "same_step"])
@pytest.mark.parametrize("continuous", [False, True], ids=["discrete", "continuous"])
@pytest.mark.parametrize("id", IDS)
def test_rollouts_and_partial_batches_equal_steps(id: str, continuous: bool, mode: str) -> None:
    """Over the end of an episode, when worlds begin new ones."""
    one, two, three = (
        gymcore.make_vec(id, 4, continuous_actions=continuous, autoreset_mode=mode, max_cycles=5)
        for _ in range(3)
    )
    for envs in (one, two, three):
        envs.reset(seed=2)
    one.action_space.seed(0)
    actions = [one.action_space.sample() for _ in range(12)]
    expected = [one.step(action) for action in actions]
    rollout = two.rollout(stacked(actions))
    for actual, role in zip(rollout, range(4), strict=False):
        np.testing.assert_equal(actual, stacked([results[role] for results in expected]))
    for action, results in zip(actions, expected, strict=True):
        for lanes in ([2, 0], [1, 3]):
            chosen = (
                {k: v[lanes] for k, v in action.items()}
                if isinstance(action, dict)
                else action[lanes]
            )
            partial = three.step_lanes(chosen, np.array(lanes))
            for actual, role in zip(partial, range(4), strict=False):
                of_all = results[role]
                part = (
                    {k: v[lanes] for k, v in of_all.items()}
                    if isinstance(of_all, dict)
                    else of_all[lanes]
                )
                np.testing.assert_equal(actual, part)


@pytest.mark.parametrize("id", IDS)
def test_threads_do_not_change_results(id: str) -> None:
    """Every world has its own memory."""
    one, two = (gymcore.make_vec(id, 600, num_threads=threads) for threads in (1, 2))
    np.testing.assert_equal(one.reset(seed=0), two.reset(seed=0))
    for _ in range(30):
        actions = one.action_space.sample()
        np.testing.assert_equal(one.step(actions), two.step(actions))


@pytest.mark.parametrize("name", ["simple_formation_v1", "simple_line_v1", "simple_spread_v3"])
def test_particles_at_infinity_are_no_obstacle(name: str) -> None:
    """Numbers that a state may contain do not stop the assignment of targets."""
    envs = make(name, 1)
    envs.reset(seed=0)
    for value in (np.nan, np.inf, 1e300):
        world_of(envs)["positions"][:2] = value
        envs.step(np.ones(envs.action_space.shape, np.int64))


@pytest.mark.parametrize("rescale", [False, True], ids=["fixed", "rescaled"])
def test_frames_show_circles(rescale: bool) -> None:
    """The farthest circle is near the border; circles shrink with `dynamic_rescaling`."""
    pytest.importorskip("pygame")
    envs = make("simple_v3", 1, render_mode="rgb_array", dynamic_rescaling=rescale)
    envs.reset(seed=0)
    world = world_of(envs)
    assert world["extent"] == abs(world["positions"]).max()
    world["positions"][:] = [(2.0, 0.0), (0.0, 1.0)]
    world["extent"] = 1.0
    (frame,) = envs.render()
    assert frame.shape == (700, 700, 3)
    rows, columns = np.nonzero((frame[:, 500:] != 255).any(axis=2))
    assert abs(rows.mean() - 350) < 1
    assert abs(columns.mean() - 165) < 1
    assert abs(len(rows) / (np.pi * (7 if rescale else 17) ** 2) - 1) < 0.1
    assert frame[350 - 157, 350].tolist() == [150, 50, 50]


def test_frames_show_goals_and_messages() -> None:
    """The listener has the color of its goal, and the speaker's word is written."""
    pytest.importorskip("pygame")
    envs = make("simple_speaker_listener_v4", 1, render_mode="rgb_array")
    envs.reset(seed=0)
    silent = envs.render()[0]
    goal = int(world_of(envs)["goals"][0])
    color = [int(200 * (0.6 + 0.5 * (k == goal))) for k in range(3)]
    assert (silent == [min(channel, 255) for channel in color]).all(axis=2).sum() > 500
    envs.step({"speaker": np.array([[1]]), "listener": np.array([[0]])})
    assert (envs.render()[0] != silent).any()


def test_picked_up_treasures_are_not_drawn() -> None:
    """A collector takes the color of its treasure, which leaves the picture."""
    pytest.importorskip("pygame")
    envs = make("collect_treasure_v1", 1, render_mode="rgb_array", num_treasures=1)
    envs.reset(seed=0)
    world = world_of(envs)
    world["positions"][0] = world["positions"][8]
    actions = {"collector": np.zeros((1, 6), int), "deposit": np.zeros((1, 2), int)}
    envs.step(actions)
    assert world["kinds"][8] == -1
    kind = int(world["kinds"][0])
    color = [
        int(200 * 0.85 * channel) for channel in ((0.212, 0.408, 0.776), (0.945, 0.553, 0.0))[kind]
    ]
    (frame,) = envs.render()
    assert (frame == color).all(axis=2).sum() > 500


@pytest.mark.parametrize("id", IDS)
def test_frames_of_one_world(id: str) -> None:
    world = parallel_env(id, render_mode="rgb_array")
    world.reset(seed=0)
    assert world.render().shape == (700, 700, 3)
