"""Classes over kernels: spaces and parameters missing in a kernel are errors at the first reset."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error, spaces
from gymcore.native.env import NativeContinuousEnv, NativeDiscreteEnv, NativeEnv
from gymcore.native.parameters import Parameter
from gymcore.vector import NativeVectorEnv
from tests.jit.classes import Arm
from tests.vector.contract import IDS, TOY_IDS

PUSHES = spaces.Discrete(2)
SEEN = spaces.Box(-np.inf, np.inf, (4,), np.float32)


class Poles(NativeDiscreteEnv):
    """A class over CartPole's kernel, as another package would write it."""

    metadata = {"render_modes": []}  # noqa: RUF012
    kernel_module = "gymcore_ext.physics.cartpole"
    length = Parameter()

    def __init__(self, seen: Any = SEEN, pushes: Any = PUSHES, **parameters: Any) -> None:
        super().__init__(None, **parameters)
        self.observation_space, self.action_space = seen, pushes


class Swings(NativeContinuousEnv):
    """A class over Pendulum's kernel."""

    metadata = {"render_modes": []}  # noqa: RUF012
    kernel_module = "gymcore_ext.physics.pendulum"
    observation_space = spaces.Box(-8.0, 8.0, (3,), np.float32)

    def __init__(self, torques: Any) -> None:
        super().__init__()
        self.action_space = torques


@pytest.mark.parametrize("id", [*IDS, *TOY_IDS, "HalfCheetah-v5", "LunarLander-v3", "CarRacing-v3"])
def test_built_in_classes_have_the_spaces_of_their_kernels(id: str) -> None:
    env: Any = gym.make(id).unwrapped
    assert isinstance(env, NativeEnv)
    env.check_kernel()


def test_a_class_with_the_spaces_of_its_kernel_is_made() -> None:
    assert Poles(length=0.7).reset(seed=1)[0].shape == (4,)
    Swings(spaces.Box(-2.0, 2.0, (1,), np.float32))


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (spaces.Box(-1, 1, (5,), np.float32), r"got Box\(-1.0, 1.0, \(5,\), float32\)"),
        (spaces.Box(-1, 1, (4,), np.float64), r"got Box\(-1.0, 1.0, \(4,\), float64\)"),
        (spaces.Discrete(4), r"got Discrete\(4\)"),
        (spaces.Text(4), "got Text"),
    ],
)
def test_an_observation_space_that_is_not_the_kernels(seen: Any, words: str) -> None:
    expected = r"Poles.observation_space: expected float32 \[4\], as kernel 'cartpole' observes, "
    with pytest.raises(error.InvalidArgument, match=expected + words):
        Poles(seen).reset()


@pytest.mark.parametrize(
    "pushes", [spaces.Discrete(3), spaces.Discrete(2, start=1), spaces.MultiDiscrete([2])]
)
def test_an_action_space_that_is_not_the_kernels(pushes: Any) -> None:
    expected = r"Poles.action_space: expected int64 \[\], 0 to 1, as kernel 'cartpole' takes, got "
    with pytest.raises(error.InvalidArgument, match=expected):
        Poles(pushes=pushes).reset()
    expected = r"Swings.action_space: expected float32 \[1\], as kernel 'pendulum' takes, got "
    with pytest.raises(error.InvalidArgument, match=expected):
        Swings(pushes).reset()


def test_a_parameter_that_the_kernel_lacks() -> None:
    class Fuelled(Poles):
        fuel = Parameter()

    class Fleet(NativeVectorEnv):
        env_class = Fuelled

    expected = r"fuel: expected parameters of kernel 'cartpole', which has \['gravity', .*\], got "
    for make in (
        lambda: Fuelled().reset(),
        lambda: Fuelled(fuel=1.0),
        lambda: Fleet(3),
        lambda: Fleet(3, fuel=1.0),
    ):
        with pytest.raises(error.InvalidArgument, match=expected):
            make()


def test_a_subclass_is_checked_when_it_is_complete() -> None:
    class Wider(Poles):
        def __init__(self) -> None:
            super().__init__(spaces.Box(-1, 1, (5,), np.float32))
            self.observation_space = SEEN

    Wider().reset()

    class Wrong(Arm):
        def __init__(self) -> None:
            super().__init__(debug=True)
            self.action_space = spaces.Discrete(2)

    with pytest.raises(error.InvalidArgument, match=r"Wrong.action_space: expected float32 \[2, 2"):
        Wrong().reset()


def test_a_step_in_python_may_have_spaces_of_its_own() -> None:
    class Words(Poles):
        def __init__(self) -> None:
            super().__init__(pushes=spaces.Text(1))

        def step(self, action: Any) -> Any:
            return self._batch.step_single(int(action == "r"))

    env: Any = Words()
    env.reset(seed=1)
    env.step("r")


HAS_MUJOCO = importlib.util.find_spec("mujoco") is not None


@pytest.mark.parametrize("id", ["CartPole-v1", "Pendulum-v1", *(["HalfCheetah-v5"] * HAS_MUJOCO)])
def test_a_lane_of_a_batch_is_not_an_environment_to_step(id: str) -> None:
    envs: Any = gym.make_vec(id, 3)
    envs.reset(seed=1)
    before = envs.get_state()
    lane = next(envs.lane_envs())
    for call in (lane.reset, lambda: lane.step(envs.single_action_space.sample())):
        with pytest.raises(error.Error, match="reset and step the vector environment instead"):
            call()
    lane.close()
    assert envs.get_state().tobytes() == before.tobytes()
    envs.close()
