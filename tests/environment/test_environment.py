"""The life cycle of environments, their time limits, shaped rewards, and parallel execution."""

from __future__ import annotations

import numpy as np
import pytest

from gymcore.environment import Environment
from gymcore.error import InvalidArgument, ResetNeeded
from tests.environment.environments import Actors, Counter, Counters


def play(environment, *actions):
    environment.reset()
    return [environment.execute(action) for action in actions]


def test_terminal_codes():
    assert play(Environment.create(Counter), 0, 0, 1) == [(1, 0, 1.0), (2, 0, 2.0), (3, 1, 3.0)]
    limited = Environment.create(Counter, max_episode_timesteps=2)
    assert [terminal for _, terminal, _ in play(limited, 0, 0)] == [0, 2]
    assert [terminal for _, terminal, _ in play(limited, 0, 1)] == [0, 1]


def test_execute_before_reset_and_after_the_end():
    environment = Environment.create(Counter)
    with pytest.raises(ResetNeeded, match=r"expected reset\(\) before the first step"):
        environment.execute(0)
    play(environment, 1)
    with pytest.raises(ResetNeeded):
        environment.execute(0)
    assert environment.reset() == 0
    assert environment.execute(0) == (1, 0, 1.0)
    environment.close()
    with pytest.raises(ResetNeeded):
        environment.execute(0)


def test_limits():
    assert Environment.create(Counter).max_episode_timesteps() is None
    assert Environment.create(Counter, max_episode_timesteps=7).max_episode_timesteps() == 7
    assert Environment.create(Counter, limit=5).max_episode_timesteps() == 5
    assert Environment.create(Counter, 3, limit=5).max_episode_timesteps() == 3
    with pytest.raises(InvalidArgument, match="max_episode_timesteps: expected at most 5, got 6"):
        Environment.create(Counter, max_episode_timesteps=6, limit=5)
    with pytest.raises(InvalidArgument, match="at least 1, got 0"):
        Environment.create(Counter, max_episode_timesteps=0)


def test_specifications_are_in_full_form():
    environment = Environment.create(Counter)
    assert environment.states() == {"type": "int", "shape": ()}
    assert environment.actions() == {
        "type": "int",
        "shape": (),
        "num_actions": 2,
        "num_values": 2,
    }
    assert str(environment) == "Counter"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("reset", lambda self: 0.5, "states: expected values of type 'int', got float64"),
        ("reset", lambda self: [1, 2], r"states: expected shape \(\), got \(2,\)"),
        ("execute", lambda self, actions: (0.5, 0, 0.0), "states: expected values of type 'int'"),
        ("execute", lambda self, actions: (0, 3, 0.0), "terminal: expected 0, 1 or 2, got 3"),
        ("states", lambda self: {"type": "text"}, "type: expected 'bool', 'int' or 'float'"),
    ],
)
def test_wrong_results_of_an_environment(name, value, message):
    wrong = type("Wrong", (Counter,), {name: value})
    with pytest.raises(InvalidArgument, match=message):
        play(Environment.create(wrong), 0)


def test_start_and_receive():
    environment = Environment.create(Counter)
    with pytest.raises(ResetNeeded, match="expected start_reset or start_execute first"):
        environment.receive_execute()
    environment.start_reset()
    with pytest.raises(InvalidArgument, match="expected receive_execute between"):
        environment.start_execute(0)
    assert environment.receive_execute() == (0, -1, None)
    environment.start_execute(0)
    assert environment.receive_execute() == (1, 0, 1.0)
    environment.start_execute(1)
    assert environment.receive_execute() == (2, 1, 2.0)
    environment.start_execute(1)
    with pytest.raises(ResetNeeded):
        environment.receive_execute()
    environment.start_reset()
    assert environment.receive_execute() == (0, -1, None)


def test_start_and_receive_in_parallel():
    environment = Environment.create(Counters)
    environment.start_reset(num_parallel=2)
    parallel, states, terminal, reward = environment.receive_execute()
    assert parallel.tolist() == [0, 1] and states["step"].tolist() == [0, 0]
    assert (terminal, reward) == (-1, None)
    environment.start_execute({"x": np.zeros(2)})
    parallel, states, terminal, reward = environment.receive_execute()
    assert parallel.tolist() == [1] and terminal.tolist() == [1, 0]


def test_parallel_environments_leave_when_they_end():
    environment = Environment.create(Counters)
    parallel, states = environment.reset(num_parallel=3)
    assert parallel.tolist() == [0, 1, 2] and states["env"]["index"].shape == (3, 2)
    assert environment.final_states() is None
    for live in (3, 2, 1):
        parallel, states, terminal, reward = environment.execute({"x": np.zeros(live)})
        assert parallel.tolist() == list(range(4 - live, 3))
        assert terminal.tolist() == [1] + [0] * (live - 1) and terminal.dtype == np.int64
        assert reward.tolist() == [k + 0.5 for k in range(3 - live, 3)]
        assert states["step"].tolist() == [4 - live] * (live - 1)
        assert environment.final_states()["env"]["index"].tolist() == [[3.0 - live] * 2]
    with pytest.raises(ResetNeeded):
        environment.execute({"x": np.zeros(0)})
    states = environment.reset()
    assert states["step"] == 0
    assert environment.execute({"x": 0.0})[1:] == (1, 1.0)


def test_the_time_limit_in_parallel_keeps_final_states():
    environment = Environment.create(Counters, max_episode_timesteps=2)
    environment.reset(num_parallel=4)
    environment.execute({"x": np.zeros(4)})
    parallel, states, terminal, reward = environment.execute({"x": np.zeros(3)})
    assert parallel.tolist() == [] and states["env"]["index"].shape == (0, 2)
    assert terminal.tolist() == [1, 2, 2] and reward.tolist() == [1.5, 2.5, 3.5]
    assert environment.final_states()["env"]["index"][:, 0].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ResetNeeded):
        environment.execute({"x": np.zeros(0)})


def test_num_parallel():
    with pytest.raises(InvalidArgument, match="num_parallel: expected None, as Counter does not"):
        Environment.create(Counter).reset(num_parallel=2)
    with pytest.raises(InvalidArgument, match="num_parallel: expected at least 1, got 0"):
        Environment.create(Counters).reset(num_parallel=0)


def test_actors():
    environment = Environment.create(Actors)
    assert environment.reset()[0].tolist() == [0, 1]
    parallel, _, terminal, _ = environment.execute(np.array([True, False]))
    assert parallel.tolist() == [1] and terminal.tolist() == [1, 0]
    parallel, _, terminal, _ = environment.execute(np.array([True]))
    assert parallel.tolist() == [] and terminal.tolist() == [1]
    environment.start_reset()
    assert environment.receive_execute()[2] == -1
    both = type("Both", (Actors,), {"is_vectorizable": lambda self: True})
    with pytest.raises(InvalidArgument, match="several actors or environments in parallel"):
        Environment.create(both)


class TestRewardShaping:
    def test_a_function(self):
        seen = []

        def shaped(states, actions, terminal, reward, next_states):
            seen.append((states, actions, terminal, reward, next_states))
            return np.float32(reward / 2)

        environment = Environment.create(Counter, reward_shaping=shaped)
        assert play(environment, 0, 1) == [(1, 0, 0.5), (2, 1, 1.0)]
        assert seen == [(0, 0, 0, 1.0, 1), (1, 1, 1, 2.0, 2)]

    def test_an_expression_with_a_terminal(self):
        environment = Environment.create(
            Counter, reward_shaping="(-reward, 1 if reward == 2 else terminal)"
        )
        assert play(environment, 0, 0) == [(1, 0, -1.0), (2, 1, -2.0)]
        with pytest.raises(ResetNeeded):
            environment.execute(0)

    @pytest.mark.parametrize("terminal", [0.5, 3, -1])
    def test_a_terminal_is_not_rounded(self, terminal):
        for shaping in (f"(reward, {terminal})", lambda *values: (values[3], terminal)):
            environment = Environment.create(Counter, reward_shaping=shaping)
            environment.reset()
            with pytest.raises(InvalidArgument, match=f"expected 0, 1 or 2, got {terminal}"):
                environment.execute(actions=1)

    def test_the_limit_comes_after_the_shaping(self):
        environment = Environment.create(Counter, 2, "reward + 100 * terminal")
        assert play(environment, 0, 0) == [(1, 0, 1.0), (2, 2, 2.0)]

    def test_an_ended_episode_cannot_go_on(self):
        environment = Environment.create(Counter, reward_shaping="(reward, 0)")
        with pytest.raises(InvalidArgument, match="expected no terminal 0 where an episode has"):
            play(environment, 1)

    def test_expressions_are_computed_for_each_of_the_rows(self):
        environment = Environment.create(
            Counters,
            reward_shaping="next_states['env']['index'][0] * 10 + states['step'] + actions['x']",
        )
        environment.reset(num_parallel=3)
        rewards = environment.execute({"x": np.array([0.1, 0.2, 0.3])})[3]
        assert rewards.tolist() == [0.1, 10.2, 20.3]
        rewards = environment.execute({"x": np.array([0.5, 0.25])})[3]
        assert rewards.tolist() == [11.5, 21.25]

    def test_a_function_gets_rows_of_the_environments_that_were_stepped(self):
        def shaped(states, actions, terminal, reward, next_states):
            assert len(states["step"]) == len(next_states["step"]) == len(terminal) == len(reward)
            return next_states["env"]["index"][:, 0]

        environment = Environment.create(Counters, reward_shaping=shaped)
        environment.reset(num_parallel=3)
        assert environment.execute({"x": np.zeros(3)})[3].tolist() == [0.0, 1.0, 2.0]
        assert environment.execute({"x": np.zeros(2)})[3].tolist() == [1.0, 2.0]

    def test_shaping_can_end_episodes_in_parallel(self):
        shaping = (
            "(reward, 2 if terminal == 0 and next_states['env']['index'][0] == 2 else terminal)"
        )
        environment = Environment.create(Counters, reward_shaping=shaping)
        environment.reset(num_parallel=4)
        parallel, states, terminal, _ = environment.execute({"x": np.zeros(4)})
        assert parallel.tolist() == [1, 3] and terminal.tolist() == [1, 0, 2, 0]
        assert states["env"]["index"][:, 0].tolist() == [1.0, 3.0]
        assert environment.final_states()["env"]["index"][:, 0].tolist() == [0.0, 2.0]
        parallel, _, terminal, _ = environment.execute({"x": np.zeros(2)})
        assert parallel.tolist() == [3] and terminal.tolist() == [1, 0]

    def test_rows_of_ended_episodes_are_needed(self):
        blind = type("Blind", (Counters,), {"knows_final_states": False})
        environment = Environment.create(blind, reward_shaping="reward")
        environment.reset(num_parallel=2)
        with pytest.raises(InvalidArgument, match=r"expected Blind to return final_states\(\)"):
            environment.execute({"x": np.zeros(2)})

    def test_the_shape_of_results(self):
        environment = Environment.create(Counters, reward_shaping=lambda *values: np.zeros(1))
        environment.reset(num_parallel=2)
        with pytest.raises(InvalidArgument, match=r"expected results of shape \(2,\)"):
            environment.execute({"x": np.zeros(2)})

    def test_an_expression_that_is_none(self):
        with pytest.raises(InvalidArgument, match="reward_shaping"):
            Environment.create(Counter, reward_shaping="__import__('os')")


def test_a_context_manager_closes():
    with Environment.create(Counter) as environment:
        pass
    assert environment.environment.closed == 1
