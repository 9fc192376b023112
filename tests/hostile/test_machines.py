"""Hypothesis state machines over the API of vector environments: two engines, one behavior."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import gymcore as gym
from gymcore import error
from gymcore.vector import AutoresetMode
from tests.hostile.programs import plain

pytestmark = [pytest.mark.hostile, pytest.mark.filterwarnings("ignore")]

N = 3
LANES = st.lists(st.integers(0, N - 1), min_size=1, max_size=N, unique=True)
SEEDS = (
    st.none()
    | st.integers(0, 2**64)
    | st.lists(st.none() | st.integers(0, 9), min_size=N, max_size=N)
)
# Arguments that no call accepts: of another shape, type or range.
BAD_ACTIONS = st.sampled_from([None, "a", [0] * (N + 1)])
BAD_LANES = st.sampled_from([[N], [-1], [0, 0], [0.5], "0", [True, False], [[0]]])
BAD_SEEDS = st.sampled_from([-1, 1.5, "1", [1], [1, 2, -3]])
BAD_STATES = st.sampled_from([None, [], [None] * N, np.zeros(N), b"", [(1, 2)] * N])

KINDS = (ValueError, TypeError)
UNTIMELY = (error.ResetNeeded, error.ClosedEnvironmentError)


class TwoEngines(RuleBasedStateMachine):
    """Make every call in both engines: the same results, or errors of the same kind."""

    engines: tuple[str, str]
    env_id: str

    @initialize(mode=st.sampled_from(AutoresetMode), limit=st.integers(1, 9))
    def make(self, mode: AutoresetMode, limit: int) -> None:
        self.envs = [
            gym.make_vec(
                self.env_id,
                N,
                vectorization_mode=engine,
                vector_kwargs={
                    "autoreset_mode": mode,
                    **({"num_workers": 2} if engine == "async" else {}),
                },
                max_episode_steps=limit,
            )
            for engine in self.engines
        ]
        self.saved: list[Any] | None = None
        self.started = self.closed = False

    def both(self, call: Any, *, refused: bool = False) -> list[Any]:
        """Make a call in both engines; compare the results, and return them."""
        results, shown = [], []
        for envs in self.envs:
            try:
                result = call(envs)
            except error.Error as problem:
                result = problem
                shown.append(("error", *(isinstance(problem, kind) for kind in KINDS)))
            else:
                shown.append(plain(result))
            results.append(result)
        # If the arguments are wrong and the call is untimely too, either may be reported.
        if refused or any(isinstance(result, UNTIMELY) for result in results):
            shown = [each[0] == "error" for each in shown]
        assert shown[0] == shown[1], results
        assert not refused or isinstance(results[0], error.Error), results
        return results

    @rule(seed=SEEDS)
    def reset(self, seed: Any) -> None:
        self.begin({"seed": seed})

    def begin(self, arguments: dict[str, Any]) -> None:
        if not self.started:
            arguments["seed"] = 5  # without one, the streams would differ
        results = self.both(lambda envs: envs.reset(**arguments)[0])
        self.started |= not isinstance(results[0], error.Error)

    @rule(lanes=LANES, seed=SEEDS)
    def reset_some(self, lanes: list[int], seed: Any) -> None:
        mask = np.isin(np.arange(N), lanes)
        self.begin({"seed": seed, "options": {"reset_mask": mask}})

    @rule(actions=st.lists(st.integers(0, 1), min_size=N, max_size=N))
    def step(self, actions: list[int]) -> None:
        self.both(lambda envs: envs.step(np.array(actions))[:4])

    @rule(actions=st.lists(st.integers(0, 1), min_size=N, max_size=N), lanes=LANES)
    def step_some(self, actions: list[int], lanes: list[int]) -> None:
        self.both(lambda envs: envs.step(np.array(actions)[lanes], env_ids=lanes)[:4])

    @rule(actions=st.lists(st.integers(0, 1), min_size=N, max_size=N))
    def send_and_receive(self, actions: list[int]) -> None:
        # Without `env_ids` actions are for the lanes of the last `recv`, in their order of arrival.
        self.both(lambda envs: envs.send(np.array(actions), range(N)))
        self.both(lambda envs: in_order(envs.recv()))

    @rule(lanes=LANES)
    def end(self, lanes: list[int]) -> None:
        self.both(lambda envs: envs.end_episodes(np.isin(np.arange(N), lanes)))

    @precondition(
        lambda self: self.started and not self.closed
    )  # a compiled engine has a state before the first reset too
    @rule()
    def save(self) -> None:
        states: list[Any] = []
        self.both(lambda envs: states.append(envs.get_state()))
        self.saved = states if len(states) == 2 else self.saved

    @precondition(lambda self: self.saved is not None)
    @rule(lanes=LANES)
    def restore(self, lanes: list[int]) -> None:
        saved = iter(self.saved or ())
        results = self.both(lambda envs: envs.set_state(next(saved)[: len(lanes)], lanes))
        self.started |= results[0] is None

    @rule(actions=BAD_ACTIONS)
    def bad_step(self, actions: Any) -> None:
        self.unchanged(lambda envs: envs.step(actions))

    @rule(lanes=BAD_LANES)
    def bad_lanes(self, lanes: Any) -> None:
        self.unchanged(lambda envs: envs.step(np.zeros(len(lanes), np.int64), env_ids=lanes))

    @rule(seed=BAD_SEEDS)
    def bad_seed(self, seed: Any) -> None:
        self.unchanged(lambda envs: envs.reset(seed=seed))

    @rule(state=BAD_STATES)
    def bad_state(self, state: Any) -> None:
        self.unchanged(lambda envs: envs.set_state(state))

    def unchanged(self, call: Any) -> None:
        """Make a call that fails in both engines and leaves their states unchanged."""
        before = self.states()
        self.both(call, refused=True)
        assert self.states() == before

    def states(self) -> Any:
        if not self.started or self.closed:
            return None
        return [plain(envs.get_state()) for envs in self.envs]

    @rule()
    def close(self) -> None:
        self.both(lambda envs: envs.close())
        self.closed = True

    @invariant()
    def still_one_size(self) -> None:
        assert all(envs.num_envs == N for envs in getattr(self, "envs", ()))

    def teardown(self) -> None:
        for envs in getattr(self, "envs", ()):
            envs.close()


def in_order(results: Any) -> Any:
    """Return results of `recv` in the order of lanes."""
    order = np.argsort(results[4]["env_id"])
    return [np.asarray(each)[order] for each in results[:4]]


@pytest.mark.parametrize(
    ("engines", "env_id", "examples"),
    [
        (("vector_entry_point", "sync"), "CartPole-v1", 60),
        (("vector_entry_point", "sync"), "FrozenLake-v1", 60),
        (("sync", "async"), "CartPole-v1", 6),
    ],
)
def test_two_engines(
    engines: tuple[str, str], env_id: str, examples: int, hostile_seconds: float, hostile_seed: int
) -> None:
    machine: Any = type("Machine", (TwoEngines,), {"engines": engines, "env_id": env_id})
    run_state_machine_as_test(
        seed(hostile_seed)(machine),
        settings=settings(
            max_examples=max(5, round(examples * hostile_seconds)),
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
