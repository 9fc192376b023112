"""Agents of worlds as lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.compat.gym21.done_envs import DoneVectorEnv
from gymcore.learn import PPO, RolloutCollector
from gymcore.vector.rollouts import Rollout
from gymcore.wrappers import TransformReward as SingleTransformReward
from gymcore.wrappers import vector
from gymcore.wrappers.vector import (
    AgentsAsLanes,
    ClipReward,
    FrameStackObservation,
    NormalizeReward,
    RecordEpisodeStatistics,
    RenderCollection,
    StickyAction,
    TimeLimit,
    TransformObservation,
    TransformReward,
    VectorizeTransformReward,
)
from tests.vector.agents_model import Model, world_class


def worlds(num_envs: int, name: str = "herd", mode: str = "SameStep") -> Any:
    cls: Any = world_class(name)
    return cls.vector_class(num_envs, 6, autoreset_mode=mode, episode_statistics=True)


def test_lanes_are_the_agents_of_the_model() -> None:
    n = 5
    envs = AgentsAsLanes(worlds(n))
    model = Model("herd", list(range(n)), "SameStep", 6)
    observations, infos = envs.reset(seed=0)
    assert observations in envs.observation_space
    assert infos["active"].all() and infos["steps"].tolist() == [0] * 3 * n
    random = np.random.default_rng(1)
    last: list[Any] = [None] * 3 * n
    flags = [(False, False)] * 3 * n
    for _ in range(40):
        actions = random.integers(0, 3, 3 * n)
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        for world in range(n):
            expected = model.step(world, actions[3 * world : 3 * world + 3].tolist())
            for k in range(3):
                lane = 3 * world + k
                assert observations[lane].tolist() == expected["observations"][k]
                assert rewards[lane] == expected["rewards"][k]
                assert infos["active"][lane] == expected["active"][k]
                if expected["active"][k]:
                    last[lane] = expected.get("final", expected["observations"])[k]
                    flags[lane] = expected["terminated"][k], expected["truncated"][k]
                ended = "episode" in expected
                shown = flags[lane] if ended else (False, False)
                assert (terminated[lane], truncated[lane]) == shown
                if ended:
                    assert infos["_final_obs"][lane]
                    assert infos["final_obs"][lane].tolist() == last[lane]
                    assert infos["episode"]["r"][lane] == expected["episode"][0][k]
                    assert infos["episode"]["l"][lane] == expected["episode"][1][k]
                elif "final_obs" in infos:
                    assert not infos["_final_obs"][lane]
                    assert not infos["final_obs"][lane].any()


def test_masks_and_seeds_are_those_of_worlds() -> None:
    envs, single = AgentsAsLanes(worlds(3)), worlds(3)
    expected = single.reset(seed=[4, 7, 9])[0].reshape(9, 2)
    assert np.array_equal(envs.reset(seed=np.repeat([4, 7, 9], 3))[0], expected)
    assert np.array_equal(envs.reset(seed=[4, 7, 9])[0], expected)
    mask = np.repeat([False, True, False], 3)
    observations, infos = envs.reset(seed=5, options={"reset_mask": mask})
    assert (observations == expected).all(axis=1).tolist() == (~mask).tolist()
    assert infos["_steps"].tolist() == mask.tolist()
    mask[0] = True
    with pytest.raises(error.InvalidArgument, match="all agents of a world"):
        envs.reset(options={"reset_mask": mask})
    with pytest.raises(error.InvalidAction, match="9 lanes"):
        envs.step(np.zeros(3, np.int64))


@pytest.mark.parametrize(
    ("envs", "text"),
    [
        (lambda: gym.make_vec("CartPole-v1", 2), "got"),
        (lambda: worlds(2, "chase"), "share spaces"),
        (lambda: worlds(2, mode="NextStep"), "SAME_STEP"),
    ],
    ids=["single agents", "groups", "next step"],
)
def test_other_batches_are_refused(envs: Any, text: str) -> None:
    with pytest.raises(error.UnsupportedMode, match=text):
        AgentsAsLanes(envs())


@pytest.mark.parametrize(
    "make",
    [
        RecordEpisodeStatistics,
        NormalizeReward,
        lambda envs: TimeLimit(envs, 5),
        lambda envs: FrameStackObservation(envs, 2),
        DoneVectorEnv,
        Rollout,
    ],
    ids=[
        *("statistics", "normalized rewards", "time limit", "frame stack"),
        *("done", "rollout"),
    ],
)
def test_what_needs_single_agents_refuses_worlds(make: Any) -> None:
    with pytest.raises(error.UnsupportedMode, match="AgentsAsLanes"):
        make(worlds(2))
    make(AgentsAsLanes(worlds(2)))


def test_lanes_draw_from_the_generators_of_their_worlds() -> None:
    envs, plain = StickyAction(AgentsAsLanes(worlds(2)), 0.5, 2), worlds(2)
    envs.reset(seed=4), plain.reset(seed=4)
    ended = envs.step(np.zeros(6, np.int64))[2]
    plain.step(np.zeros((2, 3), np.int64))
    assert not ended.any()
    envs.step(np.ones(6, np.int64))
    sticks = [plain.np_random[lane // 3].random() < 0.5 for lane in range(6)]
    assert 0 < sum(sticks) < 6
    assert envs.is_sticky_actions.tolist() == sticks
    generators = AgentsAsLanes(plain).lane_generators([0, 2, 3, 5])
    assert [generators[0] is other for other in generators] == [True, True, False, False]


def test_wrappers_that_work_by_row_take_worlds() -> None:
    class Doubled(gym.vector.VectorRewardWrapper):
        def rewards(self, rewards: Any) -> Any:
            return 2 * rewards

    envs = TransformObservation(Doubled(worlds(2)), np.negative)
    plain = worlds(2)
    envs.reset(seed=1), plain.reset(seed=1)
    actions = np.ones((2, 3), np.int64)
    observations, rewards, *_ = plain.step(actions)
    changed = envs.step(actions)
    assert np.array_equal(changed[0], -observations)
    assert np.array_equal(changed[1], 2 * rewards)
    assert envs.agents == plain.agents


class Halved(gym.wrappers.TransformObservation):
    """A wrapper that is called for each row."""

    def __init__(self, env: Any) -> None:
        super().__init__(env, lambda row: (row / 2)[:3], gym.spaces.Box(-200, 200, (3,)))


BY_ROW: dict[str, tuple[bool, Any]] = {
    "flattened": (False, vector.FlattenObservation),
    "reshaped": (False, lambda envs: vector.ReshapeObservation(envs, (5, 3))),
    "rescaled": (False, lambda envs: vector.RescaleObservation(envs, 0, 1)),
    "converted": (False, lambda envs: vector.DtypeObservation(envs, np.float64)),
    "one by one": (False, lambda envs: vector.VectorizeTransformObservation(envs, Halved)),
    "rewards": (
        False,
        lambda envs: VectorizeTransformReward(envs, SingleTransformReward, func=lambda r: 1 - r),
    ),
    "rescaled actions": (True, lambda envs: vector.RescaleAction(envs, -1, 1)),
    "clipped actions": (True, vector.ClipAction),
    "discrete actions": (True, lambda envs: vector.DiscretizeAction(envs, bins=3)),
    "actions one by one": (
        True,
        lambda envs: vector.VectorizeTransformAction(
            envs, gym.wrappers.TransformAction, func=lambda a: 1 - a, action_space=None
        ),
    ),
}


@pytest.mark.parametrize("name", BY_ROW)
def test_wrappers_change_agents_as_they_change_lanes(name: str) -> None:
    """Wrapping worlds and making lanes of their agents can be exchanged."""
    continuous, wrap = BY_ROW[name]

    def make() -> Any:
        env_id = "mpe/simple_spread_v3" if continuous else "Foraging-8x8-2p-3f-v3"
        arguments: Any = {"continuous_actions": True, "max_cycles": 4} if continuous else {}
        options = {"autoreset_mode": "SameStep"}
        limit = None if continuous else 4
        return gym.make_vec(env_id, 3, max_episode_steps=limit, vector_kwargs=options, **arguments)

    worlds, lanes = wrap(make()), wrap(AgentsAsLanes(make()))
    envs = AgentsAsLanes(worlds)
    assert envs.single_observation_space == lanes.single_observation_space
    assert envs.single_action_space == lanes.single_action_space
    assert worlds.observation_space.contains(worlds.reset(seed=1)[0])
    assert np.array_equal(envs.reset(seed=1)[0], lanes.reset(seed=1)[0])
    envs.action_space.seed(1)
    for _ in range(10):
        actions = envs.action_space.sample()
        results, expected = envs.step(actions), lanes.step(actions)
        assert all(map(np.array_equal, results[:4], expected[:4]))
        assert ("final_obs" in results[4]) == ("final_obs" in expected[4])
        if "final_obs" in results[4]:
            assert np.array_equal(results[4]["final_obs"], expected[4]["final_obs"])
    if name == "discrete actions":
        given = worlds.actions(worlds.action_space.sample())
        assert np.array_equal(worlds.actions(worlds.revert_actions(given)), given)
    with pytest.raises(error.InvalidAction):
        worlds.step(np.zeros((2, 3)))


def test_wrappers_refuse_agents_that_differ() -> None:
    with pytest.raises(error.UnsupportedMode, match="agents that have the same spaces"):
        vector.FlattenObservation(worlds(2, "chase"))


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_rewards_of_agents_are_changed(mode: str) -> None:
    plain, inner = (worlds(3, mode=mode) for _ in range(2))
    envs = ClipReward(TransformReward(inner, lambda rewards: 1 - 2 * rewards), -3, 3)
    ended = np.zeros(3, bool)
    for env in (plain, envs):
        env.reset(seed=1)
    for t in range(40):
        actions = np.full((3, 3), t % 3)
        _, rewards, terminated, truncated, infos = plain.step(actions)
        expected = np.clip(1 - 2 * rewards, -3, 3)
        if mode == "NextStep":
            expected[ended] = 0
        assert np.array_equal(envs.step(actions)[1], expected)
        if t == 20 and mode != "Disabled":
            for env in (plain, envs):
                env.copy_lanes([0], [2])
        ended = ~(infos["active"] & ~(terminated | truncated)).any(axis=1)
        if t == 20:
            ended[2] = ended[0] if mode != "Disabled" else ended[2]
        if mode == "Disabled" and ended.any():
            for env in (plain, envs):
                env.reset(options={"reset_mask": ended})


def test_frames_of_worlds_are_collected_by_episode() -> None:
    pytest.importorskip("pygame")
    envs = RenderCollection(
        gym.make_vec("mpe/simple_spread_v3", 2, max_cycles=3, render_mode="rgb_array"),
        pop_frames=False,
    )
    envs.reset(seed=1)
    counts = []
    for _ in range(6):
        envs.step(envs.action_space.sample())
        counts.append([len(frames) for frames in envs.render()])
    assert counts == [[n, n] for n in (2, 3, 4, 1, 2, 3)]


@pytest.mark.usefixtures("numba_if_installed")
def test_agents_are_collected_and_trained() -> None:
    envs = AgentsAsLanes(worlds(4))

    def policy(observations: Any) -> tuple[Any, Any, Any]:
        n = len(observations)
        return np.zeros(n, np.int64), np.zeros(n), np.zeros(n)

    rollout = RolloutCollector(envs, policy, 8, seed=1).collect()
    assert rollout.rewards.shape == (8, 12)
    gym.register("test/Trained-v0", world_class("jit-herd"), max_episode_steps=6)
    try:
        ppo = PPO("test/Trained-v0", seed=1, num_envs=4, num_steps=8)
        ppo.update()
        assert ppo.envs.num_envs == 12
        assert ppo.act(np.zeros((5, 2))).shape == (5,)
        ppo.close()
    finally:
        gym.registry.pop("test/Trained-v0")


def test_the_state_for_critics_is_that_of_the_world():
    envs = AgentsAsLanes(worlds(2))
    observations, _ = envs.reset(seed=1)
    states = envs.central_state()
    assert states.shape == (6, 6)
    assert np.array_equal(states.reshape(2, 3, 6)[:, 1], np.float32(observations).reshape(2, 6))
