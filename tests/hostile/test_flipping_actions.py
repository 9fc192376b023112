"""Actions, lanes and states that another thread overwrites during a call."""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import gymcore as gym
from tests.hostile.programs import spec_of

pytestmark = [pytest.mark.hostile, pytest.mark.filterwarnings("ignore")]

Actions = npt.NDArray[Any]

KERNELS = (
    "CartPole-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Pendulum-v1",
    "Acrobot-v1",
    "Blackjack-v1",
    "FrozenLake-v1",
    "CliffWalking-v1",
    "Taxi-v4",
    "HalfCheetah-v5",
    "LunarLander-v3",
    "LunarLanderContinuous-v3",
    "BipedalWalker-v3",
    "CarRacing-v3",
    "Pong",
    "Everything",
)
STEPS = 6
BOX2D = ("LunarLander-v3", "LunarLanderContinuous-v3", "BipedalWalker-v3", "CarRacing-v3")
GRAINY = ("HalfCheetah-v5", *BOX2D)
FEW_LANES = (*GRAINY, "Pong", "Everything")


def lanes_of(env_id: str) -> int:
    """Return enough lanes for the GIL to be released during a step."""
    return 4 if env_id in FEW_LANES else 2048


def wild_values(rng: np.random.Generator, like: Actions) -> Actions:
    """Return values of any size in this dtype and shape."""
    shape = like.shape
    if like.dtype.kind == "f":
        values = rng.normal(size=shape) * 10.0 ** rng.integers(-300, 300, shape)
        values[rng.random(shape) < 0.1] = np.nan
        return values.astype(like.dtype)
    bits = rng.integers(1, 63, shape)
    return rng.integers(-(2**63), 2**63 - 1, shape) >> bits


@contextlib.contextmanager
def flipping(rng: np.random.Generator, array: Actions) -> Iterator[None]:
    """Alternate the array between wild values and its own, in another thread."""
    good, wild = array.copy(), [wild_values(rng, array) for _ in range(8)]
    done = threading.Event()

    def write() -> None:
        k = 0
        while not done.is_set():
            np.copyto(array, wild[k % 8])  # without the GIL
            for _ in range(20):  # valid most of the time: checks have to pass
                np.copyto(array, good)
            k += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        done.set()
        writer.join()
        sys.setswitchinterval(interval)
        np.copyto(array, good)


def outputs_of(envs: Any, *lead: int) -> dict[str, Any]:
    return {
        "observations": envs._batch.empty_observations(lead),
        "rewards": np.empty(lead),
        "terminated": np.empty(lead, bool),
        "truncated": np.empty(lead, bool),
    }


def step_into(envs: Any, actions: Actions) -> Callable[[], object]:
    outputs = outputs_of(envs, envs.num_envs)
    return lambda: envs.step_into(actions[0], **outputs)


def send(envs: Any, actions: Actions) -> Callable[[], object]:
    def call() -> None:
        envs.send(actions[0])
        envs.recv()

    return call


CALLS: dict[str, Callable[[Any, Actions], Callable[[], object]]] = {
    "step": lambda envs, actions: lambda: envs.step(actions[0]),
    "step_some": lambda envs, actions: lambda: envs.step(actions[0], range(envs.num_envs)),
    "step_into": step_into,
    "rollout": lambda envs, actions: lambda: envs.rollout(actions),
    "send": send,
}


@pytest.mark.parametrize(
    ("env_id", "call"), [*itertools.product(KERNELS, CALLS), ("ArrayCartPole", "step")]
)
def test_actions_that_change_during_a_call(
    env_id: str, call: str, rng: np.random.Generator, rounds: Iterator[int]
) -> None:
    """Whatever reaches the physics, observations are those of lanes, and the batch stays usable."""
    n = lanes_of(env_id)
    envs: Any = gym.make_vec(spec_of(env_id), num_envs=n)
    envs.action_space.seed(1)
    envs.reset(seed=1)
    actions = np.stack([envs.action_space.sample() for _ in range(STEPS)])
    attack = CALLS[call](envs, actions)
    with flipping(rng, actions):
        for _ in rounds:
            with contextlib.suppress(gym.error.InvalidAction, gym.error.ResetNeeded):
                attack()
    envs.reset(seed=1)
    observations, *_ = envs.step(actions[0])
    if isinstance(envs.single_observation_space, gym.spaces.Discrete):
        assert observations in envs.observation_space
    envs.close()


@pytest.mark.parametrize("env_id", KERNELS)
def test_lanes_that_change_during_a_call(
    env_id: str, rng: np.random.Generator, rounds: Iterator[int]
) -> None:
    n = lanes_of(env_id)
    envs: Any = gym.make_vec(spec_of(env_id), num_envs=n)
    envs.reset(seed=1)
    actions, lanes = envs.action_space.sample(), np.arange(n)
    errors = (gym.error.InvalidArgument, gym.error.AlreadyPendingCallError)
    with flipping(rng, lanes):
        for _ in rounds:
            with contextlib.suppress(*errors):
                envs.step(actions, lanes)
            with contextlib.suppress(*errors):
                envs.send(actions, lanes)
                envs.recv()
            with contextlib.suppress(*errors):
                envs.get_state(lanes)
    envs.reset(seed=1)
    envs.close()


@pytest.mark.parametrize("env_id", KERNELS)
def test_states_that_change_during_a_call(
    env_id: str, rng: np.random.Generator, rounds: Iterator[int]
) -> None:
    """Whatever the states become, stepping them stays within the tables and ends."""
    n = lanes_of(env_id)
    envs: Any = gym.make_vec(spec_of(env_id), num_envs=n)
    envs.reset(seed=1)
    actions, states = envs.action_space.sample(), envs.get_state()
    with flipping(
        rng,
        states.view(np.uint8).view(np.int8).reshape(-1)[: states.nbytes // 8 * 8].view(np.int64),
    ):
        for _ in rounds:
            with contextlib.suppress(gym.error.Error, ValueError):
                envs.set_state(states)
            with contextlib.suppress(gym.error.Error, ValueError):
                envs.step(actions)
    envs.reset(seed=1)
    envs.close()


@pytest.mark.parametrize("env_id", KERNELS)
def test_an_action_of_one_environment_that_changes(
    env_id: str, rng: np.random.Generator, rounds: Iterator[int]
) -> None:
    env = gym.make(spec_of(env_id))
    env.reset(seed=1)
    action = np.array(env.action_space.sample())
    with flipping(rng, action):
        for _ in rounds:
            with contextlib.suppress(gym.error.InvalidAction):
                _, _, terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    env.reset()
    env.reset(seed=1)
    env.close()
