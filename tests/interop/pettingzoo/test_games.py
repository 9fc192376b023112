"""Games with PettingZoo's parallel interface as worlds of a batch."""

from __future__ import annotations

import copy
import os
import pickle
import signal
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.interop.pettingzoo import ParallelVectorEnv
from gymcore.learn import RolloutCollector
from gymcore.spaces import Box, Dict, Discrete
from gymcore.wrappers.vector import AgentsAsLanes, RecordEpisodeStatistics
from tests.vector.agents_model import MODES, World, check_world, joined, rows_of
from tests.vector.agents_model import Model as WorldModel
from tests.vector.contract import same_bytes

gymnasium = pytest.importorskip("gymnasium")  # the games use its spaces


class Countdown:
    """A game with PettingZoo's interface: agent `k` ends after `ends[k]` steps."""

    metadata = {"name": "countdown_v0"}  # noqa: RUF012
    render_mode = "ansi"

    def __init__(self, ends: tuple[int, ...] = (2, 4)) -> None:
        self.ends = ends
        self.possible_agents = [f"agent_{k}" for k in range(len(ends))]
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Any:
        return gymnasium.spaces.Box(0, 100, (2,), np.float32)

    def action_space(self, agent: str) -> Any:
        return gymnasium.spaces.Discrete(3)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents = list(self.possible_agents)
        self.steps, self.seed = 0, seed
        return self.observations(self.agents), {agent: {"seed": seed} for agent in self.agents}

    def state(self) -> Any:
        return np.array([self.steps, len(self.agents)])

    def observations(self, agents: list[str]) -> Any:
        return {agent: np.float32([self.steps, int(agent[-1])]) for agent in agents}

    def step(self, actions: dict[str, int]) -> Any:
        assert list(actions) == self.agents
        self.steps += 1
        playing = self.agents
        over = {a: self.steps == self.ends[int(a[-1])] for a in playing}
        self.agents = [agent for agent in playing if not over[agent]]
        return (
            self.observations(playing),
            {agent: float(actions[agent]) for agent in playing},
            {agent: over[agent] and agent == "agent_0" for agent in playing},
            {agent: over[agent] and agent != "agent_0" for agent in playing},
            {agent: {"steps": self.steps} for agent in playing},
        )

    def render(self) -> str:
        return str(self.steps)

    def close(self) -> None:
        self.agents = ["closed"]


def lanes_of(*env_fns: Any) -> AgentsAsLanes:
    """Return the agents of games as lanes."""
    return AgentsAsLanes(ParallelVectorEnv(env_fns, autoreset_mode="SameStep"))


# --- the contract of worlds ----------------------------------------------------------------------


class Herd:
    """The world of `agents_model` as a game, with equal spaces (`herd`) or groups (`chase`)."""

    metadata = {"name": "herd"}  # noqa: RUF012

    def __init__(self, name: str = "herd") -> None:
        self.name = name
        self.possible_agents = (
            ["agent_0", "agent_1", "agent_2"] if name == "herd" else ["mouse_0", "mouse_1", "cat_0"]
        )
        self.agents: list[str] = []
        self.world = World(name, 0)

    def observation_space(self, agent: str) -> Any:
        return Box(-np.inf, np.inf, (1 if agent == "cat_0" else 2,), np.float64)

    def action_space(self, agent: str) -> Any:
        kinds = {"mouse": Discrete(3, start=-1), "cat": Discrete(2)}
        return kinds.get(agent[:-2], Discrete(3))

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        if seed is not None:
            self.world = World(self.name, seed)
        self.world.reset()
        self.agents = list(self.possible_agents)
        return self.observe(), {agent: {} for agent in self.agents}

    def observe(self) -> Any:
        rows = self.world.observe()
        return {name: np.array(rows[k]) for k, name in enumerate(self.possible_agents)}

    def step(self, actions: dict[str, Any]) -> Any:
        names, playing = self.possible_agents, self.agents
        assert list(actions) == playing
        lowest = [0, 0, 0] if self.name == "herd" else [-1, -1, 0]
        used = [int(actions.get(a, low)) for a, low in zip(names, lowest, strict=True)]
        rewards, ends, over = self.world.step(used, [name in playing for name in names])
        ends = [end | over for end in ends]
        rows = [dict(zip(names, values, strict=True)) for values in (rewards, ends)]
        self.agents = [name for name in playing if not rows[1][name]]
        terminated = {name: bool(rows[1][name] & 1) for name in playing}
        truncated = {name: bool(rows[1][name] & 2) for name in playing}
        infos = {name: {"number": names.index(name)} for name in playing}
        return self.observe(), rows[0], terminated, truncated, infos

    def get_state(self) -> Any:
        return self.world, self.agents

    def set_state(self, state: Any) -> None:
        self.world, self.agents = state

    def close(self) -> None:
        self.agents = []


class Chase(Herd):
    """The game with groups."""

    def __init__(self) -> None:
        super().__init__("chase")


GAMES = {"herd": Herd, "chase": Chase}


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("engine", ["sync", "async"])
def test_games_keep_the_contract_of_worlds(engine: str, name: str, mode: str) -> None:
    options = {"num_workers": 2} if engine == "async" else {}
    ways = ["step", "send", "step_lanes"]
    with ParallelVectorEnv(
        [GAMES[name]] * 3,
        engine,
        max_episode_steps=4,
        autoreset_mode=mode,
        episode_statistics=True,
        **options,
    ) as envs:
        agents: Any = envs.agents
        assert agents.groups == (
            None if name == "herd" else {"mouse": ("mouse_0", "mouse_1"), "cat": ("cat_0",)}
        )
        model = WorldModel(name, [5, 6, 7], mode, 4)
        observations, infos = envs.reset(seed=5)
        assert observations in envs.observation_space
        assert infos["active"].all()
        assert infos["active"].shape == (3, 3)
        random = np.random.default_rng(0)
        for t in range(40):
            low, high = ([0, 0, 0], 3) if name == "herd" else ([-1, -1, 0], 2)
            actions = random.integers(low, high, (3, 3))
            way, batch, lanes = ways[t % 3], joined(agents, actions), [0, 1, 2]
            if way == "step":
                results = envs.step(batch)
            elif way == "send":
                envs.send(batch, [0, 1, 2])
                results = envs.recv()
                lanes = results[4]["env_id"].tolist()  # in the order in which they were done
            else:
                results = envs.step_lanes(batch, [0, 1, 2])
            expected = [model.step(lane, actions[lane].tolist()) for lane in range(3)]
            for row, lane in enumerate(lanes):
                check_world(agents, row, results, expected[lane])
            if not any("begun" in each for each in expected) and mode != "SameStep":
                numbers = np.where(results[4]["active"], np.arange(3), 0)
                assert results[4]["number"].tolist() == numbers.tolist()
            ended = np.array(["episode" in each for each in expected])
            if mode == "Disabled" and ended.any():
                with pytest.raises(error.ResetNeeded, match="active"):
                    envs.step(batch)
                observations, infos = envs.reset(options={"reset_mask": ended})
                for lane in range(3):
                    if ended[lane]:
                        model.begin(model.worlds[lane])
                    rows = model.worlds[lane].observe()
                    rows = rows if ended[lane] else expected[lane]["observations"]
                    assert rows_of(agents, observations, lane) == rows
                    active = [True] * 3 if ended[lane] else expected[lane]["active"]
                    assert infos["active"][lane].tolist() == active


def play(envs: Any, steps: int, seed: int | None = 3) -> list[Any]:
    """Return the results of some steps, as lists."""
    if seed is not None:
        envs.reset(seed=seed)
    results = []
    for t in range(steps):
        step = envs.step(np.full((envs.num_envs, 3), t % 3))
        results.append([step[0].tolist(), *(part.tolist() for part in step[1:4])])
    return results


@pytest.mark.parametrize("engine", ["sync", "async"])
def test_states_for_critics_are_those_of_the_games(engine) -> None:
    with ParallelVectorEnv([Countdown] * 3, engine) as envs:
        envs.reset(seed=1)
        for _ in range(2):
            envs.step(np.zeros((3, 2), np.int64))
        assert envs.central_state().tolist() == [[2, 1]] * 3


def test_spawned_workers_play_the_same_games() -> None:
    with ParallelVectorEnv([Herd] * 3) as envs:
        expected = play(envs, 12)
    with ParallelVectorEnv([Herd] * 3, "async", context="spawn", num_workers=2) as envs:
        assert play(envs, 12) == expected
        assert envs.get_attr("name") == ("herd",) * 3


def test_results_belong_to_the_caller_without_copies_too() -> None:
    for engine in ("sync", "async"):
        with ParallelVectorEnv([Herd] * 2, engine, copy=False) as envs:
            envs.reset(seed=1)
            first = envs.step(np.zeros((2, 3), np.int64))
            before = [part.tolist() for part in first[1:4]]
            second = envs.step(np.ones((2, 3), np.int64))
            assert [part.tolist() for part in first[1:4]] == before
            assert second[0] is first[0]


@pytest.mark.parametrize("engine", ["sync", "async"])
def test_states_contain_the_agents_that_have_ended(engine: str) -> None:
    with ParallelVectorEnv([Herd] * 3, engine, episode_statistics=True) as envs:
        play(envs, 2)
        state = envs.get_state()
        expected = play(envs, 8, None)
        envs.reset(seed=9)
        envs.set_state(state)
        assert play(envs, 8, None) == expected
        envs.set_state(state)
        envs.copy_lanes([0], [2])
        rewards = np.array([step[1] for step in play(envs, 8, None)])
        assert (rewards[:, 0] == rewards[:, 2]).all()


@pytest.mark.parametrize("playing", [[], [True] * 2, [True] * 4])
@pytest.mark.parametrize("shape", [(6, 3), (3, 3), (6, 2)])
def test_states_of_other_agents_change_nothing(playing: list[bool], shape: tuple[int, ...]) -> None:
    with ParallelVectorEnv([Herd]) as envs:
        envs.reset(seed=1)
        env = envs.unwrapped.envs[0]
        before = repr(env.get_state())
        game, rows, steps = env.get_state()
        assert len(rows[0]) == 3
        for forged in ((playing, rows[1]), (playing, np.zeros(shape)), (rows[0], np.zeros((3, 3)))):
            with pytest.raises(ValueError, match="state: expected the rows of 3 agents"):
                env.set_state((game, forged, steps))
            assert repr(env.get_state()) == before


@pytest.mark.parametrize("name", GAMES)
def test_copies_and_pickles_continue_the_episodes(name: str) -> None:
    envs = ParallelVectorEnv([GAMES[name]] * 3, autoreset_mode="NextStep")
    envs.reset(seed=3)
    random = np.random.default_rng(0)
    for _ in range(5):
        envs.step(joined(envs.agents, random.integers(0, 2, (3, 3))))
    others = [copy.deepcopy(envs), pickle.loads(pickle.dumps(envs))]
    for _ in range(10):
        actions = joined(envs.agents, random.integers(0, 2, (3, 3)))
        expected = envs.step(actions)
        assert all(same_bytes(expected, other.step(actions)) for other in others)


def test_games_without_states_say_so() -> None:
    with ParallelVectorEnv([Countdown]) as envs:
        envs.reset()
        with pytest.raises(AttributeError, match="has no get_state"):
            envs.get_state()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_killed_worker_ends_its_games(mode: str) -> None:
    options: Any = {"on_worker_death": "restart", "num_workers": 2, "autoreset_mode": mode}
    with ParallelVectorEnv([lambda: Countdown((3, 9))] * 2, "async", **options) as envs:
        envs.reset(seed=1)
        for _ in range(4):  # agent_0 has ended
            envs.step(np.ones((2, 2), np.int64))
        process = envs.env.processes[1]
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        observations, rewards, terminated, truncated, infos = envs.step(np.ones((2, 2), np.int64))
        assert infos["_worker_restarted"].tolist() == [False, True]
        assert rewards.tolist() == [[0, 1], [0, 0]]
        assert not terminated.any()
        assert truncated.tolist() == [[False, False], [False, True]]
        assert infos["active"].tolist() == [[False, True], [False, True]]
        last = infos["final_obs"] if mode == "SameStep" else observations
        assert last[1].tolist() == [[0, 0], [4, 1]]
        infos = envs.step(np.ones((2, 2), np.int64))[4]
        assert infos["active"].tolist() == [[False, True], [True, True]]


def test_a_dead_worker_is_an_error() -> None:
    with ParallelVectorEnv([Countdown] * 2, "async", num_workers=2) as envs:
        envs.reset(seed=1)
        process = envs.env.processes[0]
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        with pytest.raises(error.WorkerDied):
            envs.step(np.ones((2, 2), np.int64))


class Scout(Countdown):
    """A game with observations that are dicts."""

    def observation_space(self, agent: str) -> Any:
        return Dict(place=Box(-9, 9, (2,), np.float32), action_mask=Box(0, 1, (3,), np.int8))

    def observations(self, agents: list[str]) -> Any:
        places = super().observations(agents)
        mask = np.ones(3, np.int8)
        return {agent: {"place": places[agent], "action_mask": mask} for agent in agents}


@pytest.mark.parametrize("engine", ["sync", "async"])
def test_observations_of_any_structure(engine: str) -> None:
    with ParallelVectorEnv([Scout] * 2, engine, autoreset_mode="SameStep") as envs:
        observations, _ = envs.reset(seed=1)
        assert observations in envs.observation_space
        assert observations["action_mask"].shape == (2, 2, 3)
        for _ in range(4):
            *_, infos = envs.step(np.ones((2, 2), np.int64))
        assert infos["final_obs"][1]["place"].tolist() == [[0, 0], [4, 1]]


# --- agents as lanes -----------------------------------------------------------------------------


def test_agents_of_two_games():
    envs = lanes_of(Countdown, Countdown)
    assert envs.num_envs == 4
    assert envs.single_action_space == gym.spaces.Discrete(3)
    observations, infos = envs.reset(seed=5)
    assert observations.tolist() == [[0, 0], [0, 1]] * 2
    assert infos["seed"].tolist() == [5, 5, 6, 6]
    actions = np.array([0, 1, 2, 1])
    steps = [envs.step(actions) for _ in range(4)]
    assert [step[0][:2].tolist() for step in steps] == [
        [[1, 0], [1, 1]],
        [[2, 0], [2, 1]],
        [[0, 0], [3, 1]],  # an agent that has ended gets zeros
        [[0, 0], [0, 1]],  # the next game
    ]
    assert [step[1].tolist() for step in steps] == [[0, 1, 2, 1]] * 2 + [[0, 1, 0, 1]] * 2
    assert [step[2].tolist() for step in steps] == [[False] * 4] * 3 + [[True, False] * 2]
    assert [step[3].tolist() for step in steps] == [[False] * 4] * 3 + [[False, True] * 2]
    assert steps[2][4]["active"].tolist() == [False, True] * 2
    infos = steps[3][4]
    assert infos["final_obs"].tolist() == [[2, 0], [4, 1]] * 2
    assert infos["final_info"]["steps"].tolist() == [0, 4, 0, 4]
    assert envs.step(actions)[0].tolist() == [[1, 0], [1, 1]] * 2
    assert envs.render() == ("1", "1")
    games = envs.get_attr("agents")
    envs.close()
    assert [game[:] for game in games] == [["agent_0", "agent_1"]] * 2


def test_wrappers_and_masks():
    envs = RecordEpisodeStatistics(lanes_of(Countdown, Countdown))
    envs.reset(seed=1)
    for _ in range(2):
        envs.step(np.array([1, 1, 1, 1]))
    mask = np.array([True, True, False, False])
    observations, infos = envs.reset(options={"reset_mask": mask})
    assert observations.tolist() == [[0, 0], [0, 1], [2, 0], [2, 1]]
    assert infos["_seed"].tolist() == mask.tolist()
    for _ in range(2):
        infos = envs.step(np.array([1, 1, 1, 1]))[4]
    assert infos["episode"]["r"].tolist() == [0, 0, 2, 4]
    with pytest.raises(ValueError, match="expected all agents of a world or none"):
        envs.reset(options={"reset_mask": np.array([True, False, False, False])})


class Overwriting(Countdown):
    """A game that writes all its observations and infos into one array per agent."""

    def observations(self, agents: list[str]) -> Any:
        self.__dict__.setdefault("arrays", {a: np.zeros(2, np.float32) for a in agents})
        for agent, observation in super().observations(self.possible_agents).items():
            self.arrays[agent][...] = observation
        return {agent: self.arrays[agent] for agent in agents}

    def step(self, actions: dict[str, int]) -> Any:
        *results, infos = super().step(actions)
        return *results, {agent: {"array": self.arrays[agent]} for agent in infos}


def test_final_observations_are_copies():
    envs = lanes_of(Overwriting)
    envs.reset()
    for _ in range(4):
        infos = envs.step(np.zeros(2, np.int64))[4]
    assert [row.tolist() for row in infos["final_obs"]] == [[2, 0], [4, 1]]
    assert infos["final_info"]["array"].tolist() == [[0, 0], [4, 1]]


def test_an_agent_that_does_not_play():
    class Absent(Countdown):
        def reset(self, seed: int | None = None, options: Any = None) -> Any:
            observations, infos = super().reset(seed, options)
            self.agents = ["agent_1"]
            return {"agent_1": observations["agent_1"]}, {"agent_1": infos["agent_1"]}

    envs = lanes_of(lambda: Absent((2, 2)))
    for seed in (1, 2):  # nothing of the first game is left
        envs.reset(seed=seed)
        infos = [envs.step(np.zeros(2, np.int64)) for _ in range(2)][-1][4]
        assert [row.tolist() for row in infos["final_obs"]] == [[0, 0], [2, 1]]
        assert infos["final_info"]["steps"].tolist() == [0, 2]
        assert infos["active"].tolist() == [False, True]


@pytest.mark.parametrize(
    ("seed", "expected"),
    [(3, [3, 3, 4, 4]), ([8, 5], [8, 8, 5, 5]), (np.array([8, 0, 5, 0]), [8, 8, 5, 5])],
    ids=["int", "per game", "per agent"],
)
def test_seeds(seed, expected):
    envs = lanes_of(Countdown, Countdown)
    assert envs.reset(seed=seed)[1]["seed"].tolist() == expected


def test_rollouts_bootstrap_from_the_last_observation_of_an_agent():
    envs = lanes_of(lambda: Countdown((4, 2)))  # agent_1 is truncated after 2 steps

    def policy(observations):
        return np.zeros(2, np.int64), np.zeros(2, np.float32), 10 * observations[:, 0]

    collector = RolloutCollector(envs, policy, 4, seed=1)
    rollout = collector.collect()
    assert rollout.truncated[3].tolist() == [False, True]
    assert rollout.final_observations[3].tolist() == [[4, 0], [2, 1]]
    advantages, _ = collector.advantages(gamma=1.0, gae_lambda=0.0)
    # The values are 0, 10, 20, 0, and 20 of the final observation.
    assert advantages[:, 1].tolist() == [10, 10, -20, 20]


def test_stable_baselines3():
    pytest.importorskip("stable_baselines3")
    from gymcore.interop.sb3 import SB3VecEnv

    envs = SB3VecEnv(lanes_of(Countdown, Countdown))
    envs.seed(5)
    envs.reset()
    assert [info["seed"] for info in envs.reset_infos] == [5, 5, 7, 7]
    for _ in range(4):
        _, _, dones, infos = envs.step(np.zeros(4, np.int64))
    assert dones.all()
    assert [info["terminal_observation"].tolist() for info in infos] == [[2, 0], [4, 1]] * 2
    assert [info["TimeLimit.truncated"] for info in infos] == [False, True] * 2


def test_what_is_refused():
    with pytest.raises(ValueError, match="env_fns: expected at least one"):
        ParallelVectorEnv([])
    with pytest.raises(ValueError, match="env_fns: expected games with agents"):
        ParallelVectorEnv([Countdown, lambda: Countdown(())])
    with pytest.raises(error.SpaceMismatch):
        ParallelVectorEnv([Countdown, lambda: Countdown((1, 2, 3))])
    with pytest.raises(ValueError, match="vectorization_mode: expected one of"):
        ParallelVectorEnv([Countdown], "threads")
    with pytest.raises(ValueError, match="max_episode_steps: expected at least 1"):
        ParallelVectorEnv([Countdown], max_episode_steps=0)
    with pytest.raises(TypeError, match="expected functions that return a pettingzoo"):
        ParallelVectorEnv([lambda: gym.make("CartPole-v1")])
    envs = ParallelVectorEnv([Countdown, Countdown])
    with pytest.raises(ValueError, match="num_envs=2 but got length=3"):
        envs.reset(seed=[1, 2, 3])
    with pytest.raises(error.ResetNeeded):
        envs.step(np.zeros((2, 2), np.int64))
    envs.reset()
    with pytest.raises(error.InvalidAction, match=r"actions: expected .*\(2, 2\), got"):
        envs.step(np.zeros(3, np.int64))


class Renamed(Countdown):
    """The game with other names."""

    def __init__(self) -> None:
        super().__init__()
        self.possible_agents = ["player_0", "player_1"]


def test_games_have_the_same_agents():
    with pytest.raises(ValueError, match="expected games with the agents"):
        ParallelVectorEnv([Countdown, Renamed])


def test_groups_are_named_after_their_agents():
    class Different(Countdown):
        def action_space(self, agent: str) -> Any:
            return gymnasium.spaces.Discrete(int(agent[-1]) + 1)

    envs: Any = ParallelVectorEnv([Different])
    assert envs.agents.groups == {"agent_0": ("agent_0",), "agent_1": ("agent_1",)}
    assert envs.single_action_space["agent_1"].nvec.tolist() == [2]


@pytest.mark.filterwarnings("default")
def test_a_game_of_pettingzoo():
    pytest.importorskip("pettingzoo")
    butterfly = pytest.importorskip("pettingzoo.classic.rps.rps", exc_type=ImportError)
    with ParallelVectorEnv([butterfly.parallel_env] * 3) as envs:
        envs.reset(seed=1)
        for _ in range(50):
            observations, rewards, *_ = envs.step(envs.action_space.sample())
            assert observations in envs.observation_space
            assert rewards.sum(1).tolist() == [0, 0, 0]


def test_an_exception_of_a_game_asks_for_a_reset_of_all():
    class Stuck(Countdown):
        def step(self, actions: dict[str, int]) -> Any:
            raise ValueError("stuck")

    envs = ParallelVectorEnv([Countdown, Stuck])
    envs.reset()
    actions = np.zeros((2, 2), np.int64)
    with pytest.raises(ValueError, match="stuck") as caught:
        envs.step(actions)
    assert isinstance(caught.value, error.EnvironmentFailed)
    with pytest.raises(error.ResetNeeded):
        envs.step(actions)
    with pytest.raises(error.ResetNeeded):
        envs.reset(options={"reset_mask": np.array([True, False])})
    assert envs.reset()[0].tolist() == [[[0, 0], [0, 1]]] * 2
