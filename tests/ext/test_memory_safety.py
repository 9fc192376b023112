"""Arguments that once led to reads or writes out of bounds."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.envs.mujoco.library import step_simulation
from gymcore.native.lane_generator import lane_generator
from gymcore_ext.engine.batch import Batch
from gymcore_ext.wrappers.frame_stack import FrameMemory
from tests.envs.mujoco.hanging import hanging
from tests.ext.lanes import make_batch, tables

FAR = 2**40
TABLES = ["tabular:lake", "tabular:cliff", "tabular:any", "taxi", "taxi:fickle"]


def kernel_of(name: str) -> Any:
    from gymcore_ext.physics import tabular, taxi

    return taxi.kernel if name.startswith("taxi") else tabular.kernel


@pytest.mark.parametrize("name", TABLES)
def test_no_action_leads_out_of_a_table(name: str) -> None:
    """The kernel itself checks: this test tells the engine that there are more actions."""
    batch = Batch(kernel_of(name), 600, errors=error, shared=tables(name)["shared"], choices=FAR)
    batch.seed(1, 0, 600)
    batch.reset()
    for action in (6, 1000, 10**6, FAR - 1):
        observations, _, _, _, _ = batch.step(np.full(600, action))
        assert (observations >= 0).all()
        assert (observations < 500).all()


@pytest.mark.parametrize("env_id", ["Taxi-v4", "FrozenLake-v1", "CliffWalking-v1"])
def test_a_replaced_action_space_lets_no_action_through(env_id: str) -> None:
    env: Any = gym.make(env_id).unwrapped
    env.action_space = gym.spaces.Discrete(FAR)
    env.reset(seed=1)
    before = env.get_state()
    for action in (6, FAR - 1):
        with pytest.raises(error.InvalidAction, match=rf"action = {action} is outside Discrete\("):
            env.step(action)
    assert env.get_state() == before


def test_actions_must_not_share_memory_with_outputs() -> None:
    envs: Any = gym.make_vec("FrozenLake-v1", num_envs=4)
    envs.reset(seed=1)
    before = envs.get_state()
    actions = np.zeros((2, 4), np.int64)
    outputs: dict[str, Any] = {
        "rewards": np.empty((2, 4)),
        "terminated": np.empty((2, 4), bool),
        "truncated": np.empty((2, 4), bool),
    }
    match = "actions: expected memory of its own, got that of observations"
    with pytest.raises(error.InvalidArgument, match=match):
        envs.rollout(actions, observations=actions, **outputs)
    first = {name: array[0] for name, array in outputs.items()}
    with pytest.raises(error.InvalidArgument, match=match):
        envs.step_into(actions[0], observations=actions[0], **first)
    assert envs.get_state().tobytes() == before.tobytes()
    # Actions are converted into a copy.
    small = np.zeros(4, np.int32)
    envs.step_into(small, observations=np.zeros(4, np.int64), **first)


@pytest.mark.parametrize("name", ["taxi", "mountain_car_continuous"])
def test_misaligned_actions_are_copied(name: str) -> None:
    batch = make_batch(name, 3)
    dtype = np.dtype(np.int64 if name == "taxi" else np.float32)
    shape = (3,) if name == "taxi" else (3, 1)
    memory = np.zeros(3 * dtype.itemsize + 1, np.uint8)[1:]
    actions = memory.view(dtype).reshape(shape)
    assert not actions.flags.aligned
    actions[:] = 1
    checked = batch.checked_actions(actions, 3)
    assert checked.flags.aligned
    assert (checked == 1).all()


@pytest.mark.parametrize("values", [np.zeros(()), np.zeros(3), np.zeros((1, 1, 1)), None])
def test_parameters_of_another_rank(values: Any) -> None:
    batch = make_batch("cartpole", 3)
    with pytest.raises((error.InvalidArgument, TypeError), match=r"parameters|values"):
        batch.set_parameters(values)


def test_a_stream_whose_draws_never_end_is_refused() -> None:
    generator = lane_generator(make_batch("blackjack", 1), 0).bit_generator
    state = generator.state
    state["state"] = {"state": 0, "inc": 0}
    with pytest.raises(ValueError, match="odd increment"):
        generator.state = state


def test_lanes_of_stacked_frames_are_copied() -> None:
    """Only the error is observable: indices are checked in the copy."""
    memory = FrameMemory(2, 2, (1,), np.float32, errors=error)
    with pytest.raises(error.InvalidArgument, match="lanes: expected indices below 2"):
        memory.update(np.zeros((1, 1), np.float32), np.ones(1, np.uint8), np.array([2]))


class TestStoresOfSimulations:
    def test_another_number_of_lanes(self) -> None:
        simulations = hanging(2)._batch.store
        with pytest.raises(error.InvalidArgument, match="store: expected 3 lanes, got 2"):
            Batch(simulations.kernel, 3, errors=error, store=simulations)

    def test_another_kernel(self) -> None:
        one, other = hanging(2)._batch.store, hanging(2)._batch.store
        with pytest.raises(error.ArgumentTypeError, match="store: expected lanes of this kernel"):
            Batch(one.kernel, 2, errors=error, store=other)

    @pytest.mark.parametrize("store", [None, object()])
    def test_no_store(self, store: object) -> None:
        kernel = hanging(2)._batch.store.kernel
        with pytest.raises(error.ArgumentTypeError, match="store: expected the owner of lanes"):
            Batch(kernel, 2, errors=error, store=store)

    def test_a_batch_keeps_its_simulations(self) -> None:
        envs = hanging(2)
        simulations = envs._batch.store
        del envs
        gc.collect()
        batch = Batch(simulations.kernel, 2, errors=error, store=simulations)
        del simulations
        gc.collect()
        batch.seed(1, 0, 2)
        batch.reset()
        observations, *_ = batch.step(np.zeros((2, 1)))
        assert np.isfinite(observations).all()

    def test_starts_of_another_shape(self) -> None:
        simulations = hanging(2)._batch.store
        for wrong in (np.zeros((3, 1)), np.zeros((2, 1, 1)), np.zeros((2, 100))):
            with pytest.raises(ValueError):
                simulations.set_initial_state(wrong, np.nan)

    @pytest.mark.parametrize("lane", [-1, 2])
    def test_models_of_other_lanes(self, lane: int) -> None:
        simulations = hanging(2)._batch.store
        with pytest.raises(IndexError, match=f"lane {lane} is not in"):
            simulations.set_model(lane, simulations.models[0])

    def test_a_simulation_with_a_thread_pool(self) -> None:
        """The addresses are invalid, so the simulation must not be read."""
        model = SimpleNamespace(_address=0)
        with pytest.raises(ValueError, match="data: expected a simulation without a thread pool"):
            step_simulation(model, SimpleNamespace(_address=0, threadpool=1), 1)


@pytest.mark.slow
@pytest.mark.parametrize("env_id", ["LunarLander-v3", "BipedalWalker-v3", "CarRacing-v3"])
def test_a_collected_batch_leaves_freed_worlds_alone(env_id: str) -> None:
    """The collector clears lists and objects of Python before the lanes that point into them."""
    envs: Any = gym.make_vec(env_id, num_envs=2)
    envs.reset(seed=1)
    envs._batch.store.worlds.append(envs)  # the list is a part of the garbage, then
    del envs
    gc.collect()
