"""The same bytes on every instruction set, for any batch size, thread count and method."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import gymcore
from tests.ext.instruction_sets import available
from tests.ext.lanes import KERNELS, TOY_TEXT, facts, random_actions, step_states
from tests.ext.recording import (
    NEXT_STEP,
    SAME_STEP,
    Recording,
    assert_same_bytes,
    lanes_of,
    record,
)

LANES, STEPS, LIMIT = 130, 70, 29
MODES = {"next step": NEXT_STEP, "same step": SAME_STEP}
IDS = {
    "CartPole-v0": "cartpole",
    "CartPole-v1": "cartpole",
    "MountainCar-v0": "mountain_car",
    "MountainCarContinuous-v0": "mountain_car_continuous",
    "Pendulum-v1": "pendulum",
    "Acrobot-v1": "acrobot",
}


@cache
def actions_of(name: str, lanes: int = LANES, steps: int = STEPS) -> npt.NDArray[Any]:
    return random_actions(name, np.random.default_rng(1), steps, lanes)


@cache
def reference(name: str, mode: int) -> Recording:
    """Record 130 lanes in the plainest way: baseline instructions, one thread, step by step."""
    recording = record(
        name, actions_of(name), seed=50, mode=mode, limit=LIMIT, isa="baseline", method="step"
    )
    # Without episodes of every kind the comparison would prove little.
    ends = recording["terminated"] | recording["truncated"]
    assert ends.sum() >= 2 * LANES
    if name == "cartpole":
        assert recording["terminated"].sum() > LANES
    return recording


@pytest.mark.parametrize("isa", available())
def test_a_large_angle_beside_them_changes_no_other_lane(isa: str) -> None:
    """CartPole's loop skips work while no lane has a large angle; results must not differ."""
    random = np.random.default_rng(3)
    states = random.uniform(-2, 2, (4000, 4))
    states[:, 2] = random.uniform(-0.75, 0.75, 4000)
    edges = [0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e-9, 0.75, -0.75]
    states[: len(edges), 2] = edges
    actions = random.integers(0, 2, 4000)
    small = step_states("cartpole", states, actions, isa=isa)
    places = np.arange(50, 4000, 100)  # one in every block that the engine steps at once
    for large in (np.nextafter(0.75, 1), -3.0, 1e6, np.nan, np.inf, -np.inf):
        beside = np.insert(states, places, [0.0, 0.0, large, 0.0], axis=0)
        full = step_states("cartpole", beside, np.insert(actions, places, 0), isa=isa)
        others = np.insert(np.ones(4000, np.bool_), places, False)
        for one, other in zip(small, full, strict=True):
            assert one.tobytes() == other[others].tobytes()


@pytest.mark.parametrize("isa", available())
@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("name", [*KERNELS, *TOY_TEXT])
@pytest.mark.parametrize("method", ["step", "step_into", "rollout"])
def test_instruction_sets(method: str, name: str, mode: int, isa: str) -> None:
    recording = record(
        name, actions_of(name), seed=50, mode=mode, limit=LIMIT, isa=isa, method=method
    )
    assert_same_bytes(recording, reference(name, mode))


@pytest.mark.parametrize("name", [*KERNELS, *TOY_TEXT])
def test_batch_sizes(name: str) -> None:
    for lanes in range(1, LANES + 1):
        actions = np.ascontiguousarray(actions_of(name)[:, :lanes])
        recording = record(name, actions, seed=50, limit=LIMIT)
        assert_same_bytes(recording, lanes_of(reference(name, NEXT_STEP), 0, lanes))


@pytest.mark.parametrize("name", [*KERNELS, *TOY_TEXT])
def test_places_of_a_lane_in_its_batch(name: str) -> None:
    for lo in range(1, LANES, 3):
        hi = min(lo + 1 + lo % 37, LANES)
        actions = np.ascontiguousarray(actions_of(name)[:, lo:hi])
        recording = record(name, actions, seed=50 + lo, limit=LIMIT, mode=SAME_STEP)
        assert_same_bytes(recording, lanes_of(reference(name, SAME_STEP), lo, hi))


@pytest.mark.parametrize("threads", [2, 3, 4])
@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("name", [*KERNELS, *TOY_TEXT])
@pytest.mark.parametrize("method", ["step", "rollout"])
def test_threads(method: str, name: str, mode: int, threads: int) -> None:
    recording = record(
        name,
        actions_of(name),
        seed=50,
        mode=mode,
        limit=LIMIT,
        num_threads=threads,
        method=method,
    )
    assert_same_bytes(recording, reference(name, mode))


@pytest.mark.parametrize("name", [*KERNELS, *TOY_TEXT])
def test_threads_with_more_lanes_than_a_chunk(name: str) -> None:
    actions = actions_of(name, 9001, 12)
    alone = record(name, actions, limit=5)
    for threads, method in ((2, "rollout"), (3, "step"), (4, "step_into")):
        shared = record(name, actions, limit=5, num_threads=threads, method=method)
        assert_same_bytes(shared, alone)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*KERNELS, *TOY_TEXT])
def test_batches_and_results_too_large_for_the_caches(name: str) -> None:
    lanes, steps, part = 16501, 70, 16350
    actions = actions_of(name, lanes, steps)
    whole = record(name, actions, seed=9, limit=LIMIT, mode=SAME_STEP)
    assert whole["observations"].nbytes > 8 << 20
    small = record(
        name, np.ascontiguousarray(actions[:, part:]), seed=9 + part, limit=LIMIT, mode=SAME_STEP
    )
    assert small["observations"].nbytes < 1 << 20
    assert_same_bytes(lanes_of(whole, part, lanes), small)
    assert_same_bytes(
        record(name, actions, seed=9, limit=LIMIT, mode=SAME_STEP, num_threads=2), whole
    )


def changed_parameters(name: str, lanes: int) -> npt.NDArray[np.float64]:
    """Return parameters [count, lanes]: slightly changed defaults, and unchanged switches."""
    defaults = np.array(list(facts(name)["parameters"].values()))[:, None]
    return defaults * np.random.default_rng(5).uniform(0.9, 1.1, (len(defaults), lanes))


@pytest.mark.parametrize("isa", available())
@pytest.mark.parametrize("name", [*KERNELS, *TOY_TEXT])
def test_parameters_shared_or_the_same_for_every_lane(name: str, isa: str) -> None:
    defaults = np.array(list(facts(name)["parameters"].values()))[:, None]
    for table in (defaults, changed_parameters(name, 1)):
        shared = record(name, actions_of(name), limit=LIMIT, parameters=table, isa=isa)
        varied = record(
            name, actions_of(name), limit=LIMIT, parameters=np.repeat(table, LANES, axis=1), isa=isa
        )
        assert_same_bytes(varied, shared)


@pytest.mark.parametrize("name", [*KERNELS, *TOY_TEXT])
def test_lanes_with_parameters_of_their_own(name: str) -> None:
    table = changed_parameters(name, LANES)
    batch = record(name, actions_of(name), seed=3, limit=LIMIT, parameters=table, mode=SAME_STEP)
    for isa in available():
        same = record(
            name, actions_of(name), seed=3, limit=LIMIT, parameters=table, mode=SAME_STEP, isa=isa
        )
        assert_same_bytes(same, batch)
    for lane in range(0, LANES, 7):
        alone = record(
            name,
            np.ascontiguousarray(actions_of(name)[:, lane : lane + 1]),
            seed=3 + lane,
            limit=LIMIT,
            parameters=table[:, lane : lane + 1],
            mode=SAME_STEP,
        )
        assert_same_bytes(alone, lanes_of(batch, lane, lane + 1))


@pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")
@pytest.mark.parametrize("env_id", IDS)
def test_single_environments(env_id: str) -> None:
    """`make` in a loop with next-step autoreset gives the bytes of `make_vec`."""
    actions = random_actions(IDS[env_id], np.random.default_rng(2), 450, 3)
    envs = gymcore.make_vec(env_id, num_envs=3, vector_kwargs={"num_threads": 2})
    envs.reset(seed=20)
    batch = envs.rollout(actions)  # type: ignore[attr-defined]
    envs.close()
    for lane in range(3):
        env = gymcore.make(env_id)
        env.reset(seed=20 + lane)
        over = False
        for t in range(len(actions)):
            if over:
                observation, reward, terminated, truncated = env.reset()[0], 0.0, False, False
            else:
                observation, reward, terminated, truncated, _ = env.step(actions[t, lane])
            over = terminated or truncated
            assert observation.tobytes() == batch.observations[t, lane].tobytes()
            assert reward == batch.rewards[t, lane]
            assert (terminated, truncated) == (batch.terminated[t, lane], batch.truncated[t, lane])


def test_the_environment_variable_chooses_the_instruction_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GYMCORE_ISA", "baseline")
    recording = record("pendulum", actions_of("pendulum"), seed=50, limit=LIMIT)
    assert_same_bytes(recording, reference("pendulum", NEXT_STEP))
    monkeypatch.setenv("GYMCORE_ISA", "vax")
    with pytest.raises(ValueError, match="GYMCORE_ISA: expected one of baseline"):
        record("pendulum", actions_of("pendulum"))
