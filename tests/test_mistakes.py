"""The most common mistakes of newcomers, and the errors that they get."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error, learn, spaces, wrappers
from gymcore.vector import AutoresetMode, SyncVectorEnv


class Plain(gym.Env[Any, Any]):
    observation_space = spaces.Box(-1, 1, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), 0.0, False, False, {}


class FourResults(Plain):
    def step(self, action):
        return np.zeros(2, np.float32), 0.0, False, {}


class OneResult(Plain):
    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32)


class NoSpaces(gym.Env[Any, Any]):
    pass


class ForgetfulWrapper(gym.Wrapper[Any, Any, Any, Any]):
    def __init__(self, env: Any) -> None:
        self.count = 0


class Tensor:
    """The parts of a one-element tensor that matter here."""

    def item(self) -> int:
        return 1


def one() -> Any:
    env = gym.make("CartPole-v1")
    env.reset(seed=1)
    return env


def three() -> Any:
    envs = gym.make_vec("CartPole-v1", num_envs=3)
    envs.reset(seed=1)
    return envs


def sync(env_fn: Any) -> SyncVectorEnv:
    envs = SyncVectorEnv([env_fn] * 2)
    envs.reset()
    return envs


SEED = r"has no attribute 'seed': environments are seeded by `reset\(seed=\.\.\.\)`"
MODE = r"render\(\) takes no arguments, got \['\w+'\]: .* make\(id, render_mode=\"rgb_array\"\)"
NUMBER = r"expected int64 array of shape \(3,\), got"
# Mistake -> the code, the exception, and a part of its message.
MISTAKES: dict[str, tuple[Any, type[Exception], str]] = {
    "env.seed": (lambda: one().seed(1), AttributeError, SEED),
    "env.unwrapped.seed": (lambda: one().unwrapped.seed(1), AttributeError, SEED),
    "seed of a plain Env": (lambda: Plain().seed(1), AttributeError, SEED),
    "envs.seed": (lambda: three().seed(1), AttributeError, SEED),
    "render(mode=...)": (lambda: one().render(mode="human"), TypeError, MODE),
    "render(...) of a batch": (lambda: three().render("human"), TypeError, MODE),
    "render(mode=...) of Python environments": (
        lambda: sync(Plain).render(mode="human"),
        TypeError,
        MODE,
    ),
    "render(mode=...) of a wrapped batch": (
        lambda: gym.wrappers.vector.RecordEpisodeStatistics(three()).render(mode="human"),
        TypeError,
        MODE,
    ),
    "four results of step, wrapped": (
        lambda: sync(lambda: gym.wrappers.OrderEnforcing(FourResults())).step([0, 0]),
        ValueError,
        r"step\(\) of <OrderEnforcing<FourResults instance>>: expected 5 values",
    ),
    "four results of step": (
        lambda: sync(FourResults).step([0, 0]),
        ValueError,
        r"step\(\) of <FourResults instance>: expected 5 values \(observation, reward, terminated, "
        r"truncated, info\), got 4 \(the API before Gym 0.26; see gymcore.compat\)",
    ),
    "one result of reset": (
        lambda: sync(OneResult),
        TypeError,
        r"reset\(\) of <OneResult instance>: expected a tuple of 2 \(observation, info\), "
        r"got ndarray \(the API before Gym 0.26; see gymcore.compat\)",
    ),
    "a function without return": (
        lambda: sync(lambda: None),
        AttributeError,
        "environment 0 .* the function returned None, expected an environment",
    ),
    "a class of another library": (
        lambda: gym.make(gym.envs.registration.EnvSpec("Old-v0", type("Old", (), {"step": None}))),
        TypeError,
        r"class: <class '.*\.Old'>. To use an environment of Gym 0.21, pass it to `gymcore.compat",
    ),
    "an entry point without return": (
        lambda: gym.make(gym.envs.registration.EnvSpec("Nothing-v0", lambda: None)),
        TypeError,
        "class: <class 'NoneType'>. Does the entry point of Nothing-v0 end with `return env`",
    ),
    "an entry point without return, of a batch": (
        lambda: gym.make_vec(gym.envs.registration.EnvSpec("Nothing-v0", lambda: None), 2),
        TypeError,
        "environment 0 .* Does the entry point of Nothing-v0 end with `return env`",
    ),
    "not an environment": (
        lambda: sync(lambda: 3),
        AttributeError,
        "'int' object has no attribute 'observation_space': expected an environment",
    ),
    "no spaces": (
        lambda: sync(NoSpaces),
        AttributeError,
        "'NoSpaces' object has no attribute 'observation_space': .* whose class or __init__ sets",
    ),
    "environments for functions": (
        lambda: SyncVectorEnv([Plain(), Plain()]),  # type: ignore[list-item]
        TypeError,
        r"env_fns\[0\]: expected a function, got .*Plain'>; .* the function that makes it: lambda:",
    ),
    "ids for functions": (
        lambda: SyncVectorEnv(["CartPole-v1"]),  # type: ignore[list-item]
        TypeError,
        r"env_fns\[0\]: expected a function, got <class 'str'>; .* lambda: make",
    ),
    "one function": (
        lambda: SyncVectorEnv(Plain),  # type: ignore[arg-type]
        TypeError,
        r"env_fns: expected a sequence of functions, .* \[env_fn\] \* num_envs",
    ),
    "no functions": (lambda: SyncVectorEnv([]), ValueError, "at least one function, got none"),
    "an unknown id": (
        lambda: gym.make("highway-fast-v0"),
        gym.error.NameNotFound,
        "`highway-fast` doesn't exist. `gymcore list` .* importing another package registers",
    ),
    "a typing error": (
        lambda: gym.make_vec("CartPol-v1", num_envs=2),
        gym.error.NameNotFound,
        "Did you mean: `CartPole`. `gymcore list`",
    ),
    "nothing like any id": (  # similar to neither Hopper nor anything else
        lambda: gym.make("Nope-v1"),
        gym.error.NameNotFound,
        "`Nope` doesn't exist. `gymcore list` prints all ids",
    ),
    "a version that is not there": (
        lambda: gym.make("CartPole-v9"),
        gym.error.VersionNotFound,
        r"provides versioned environments: \[ `v0`, `v1` \]",
    ),
    "an id of another namespace": (
        lambda: gym.make("Pong-v5"),
        gym.error.VersionNotFound,
        "Did you mean: `ALE/Pong-v5`",
    ),
    "another package's id": (
        lambda: gym.make("minigrid/Empty-v0"),
        gym.error.NamespaceNotFound,
        "Have you installed the proper package for minigrid",
    ),
    "an unknown autoreset mode": (
        lambda: gym.make_vec("CartPole-v1", num_envs=2, autoreset_mode="sometimes"),
        ValueError,
        "'sometimes' is not a valid AutoresetMode: expected one of 'NextStep', 'SameStep'",
    ),
    "an unknown engine": (
        lambda: gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="threads"),
        ValueError,
        r"'threads', valid modes: \['async', 'sync'",
    ),
    "step before reset": (
        lambda: gym.make("CartPole-v1").step(0),
        gym.error.ResetNeeded,
        r"before calling env.reset\(\)",
    ),
    "step of a batch before reset": (
        lambda: gym.make_vec("CartPole-v1", num_envs=2).step([0, 0]),
        gym.error.ResetNeeded,
        r"^step: call reset\(\) of CartPoleVectorEnv\(CartPole-v1, num_envs=2\) first$",
    ),
    "an action out of range": (
        lambda: one().step(5),
        gym.error.InvalidAction,
        r"action: 5 \(<class 'int'>\) invalid, expected an element of Discrete\(2\)",
    ),
    "an array of one action": (
        lambda: one().step(np.array([1])),
        gym.error.InvalidAction,
        r"element of Discrete\(2\); pass `action.item\(\)`",
    ),
    "a tensor of one action": (
        lambda: one().step(Tensor()),
        gym.error.InvalidAction,
        r"element of Discrete\(2\); pass `action.item\(\)`",
    ),
    "one action for a batch": (
        lambda: three().step(1),
        gym.error.InvalidAction,
        NUMBER + r" int64 \(\)",
    ),
    "too few actions": (
        lambda: three().step([0, 1]),
        gym.error.InvalidAction,
        NUMBER + r" int64 \(2,\)",
    ),
    "a column of actions": (
        lambda: three().step(np.ones((3, 1), np.int64)),
        gym.error.InvalidAction,
        NUMBER + r" int64 \(3, 1\)",
    ),
    "probabilities for actions": (
        lambda: three().step([0.1, 0.5, 0.9]),
        gym.error.InvalidAction,
        NUMBER + r" float64 \(3,\)",
    ),
    "one bad action of a batch": (
        lambda: three().step([0, 1, 5]),
        gym.error.InvalidAction,
        r"actions\[2\] = 5 is outside Discrete\(2\)",
    ),
    "an unknown argument": (
        lambda: gym.make_vec("CartPole-v1", num_envs=2, lenght=1),
        TypeError,
        r"got unexpected arguments \['lenght'\]; did you mean length\? Options of the engine: .*"
        r"num_threads.* Arguments of the environment: .*gravity, .*length",
    ),
    "no environments": (
        lambda: gym.make_vec("CartPole-v1", num_envs=0),
        ValueError,
        "num_envs: expected at least 1, got 0",
    ),
    "a wrapper without super().__init__": (
        lambda: ForgetfulWrapper(one()).reset(),
        AttributeError,
        r"does ForgetfulWrapper.__init__ call super\(\).__init__\(env\)",
    ),
    "a wrapper of one for a batch": (
        lambda: gym.wrappers.TimeLimit(three(), 5),
        TypeError,
        "Expected env .* but got .*CartPoleVectorEnv'>; .* are in gymcore.wrappers.vector",
    ),
    "a wrapper around an id": (
        lambda: gym.wrappers.TimeLimit("CartPole-v1", 5),
        TypeError,
        r"Expected env .* but got <class 'str'>; make it first: gymcore.make\('CartPole-v1'\)",
    ),
    "a seed that is not an integer": (
        lambda: one().reset(seed=1.5),
        TypeError,
        "Seed must be a python integer, actual type: <class 'float'>",
    ),
    "bounds in the wrong order": (
        lambda: spaces.Box(1, -1, (2,)),
        ValueError,
        "all low values must be less than or equal to high",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.filterwarnings("ignore")
def test_mistakes(mistake):
    act, kind, message = MISTAKES[mistake]
    with pytest.raises(kind, match=message):
        act()


def cartpole():
    return gym.make("CartPole-v1")


def cartpoles():
    return gym.make_vec("CartPole-v1", 2)


SIZES: dict[str, Any] = {
    "sync": lambda n: gym.make_vec("CartPole-v1", n, vectorization_mode="sync"),
    "async": lambda n: gym.make_vec("CartPole-v1", n, vectorization_mode="async"),
    "native": lambda n: gym.make_vec("CartPole-v1", n),
    "statistics": lambda n: wrappers.RecordEpisodeStatistics(cartpole(), n),
    "statistics of a batch": lambda n: wrappers.vector.RecordEpisodeStatistics(cartpoles(), n),
    "delay": lambda n: wrappers.DelayObservation(cartpole(), n),
    "delay of a batch": lambda n: wrappers.vector.DelayObservation(cartpoles(), n),
    "stack": lambda n: wrappers.FrameStackObservation(cartpole(), n),
    "stack of a batch": lambda n: wrappers.vector.FrameStackObservation(cartpoles(), n),
    "sticky": lambda n: wrappers.StickyAction(cartpole(), 0.5, n),
    "sticky of a batch": lambda n: wrappers.vector.StickyAction(cartpoles(), 0.5, n),
    "bins of actions": lambda n: wrappers.DiscretizeAction(gym.make("Pendulum-v1"), n),
    "bins": lambda n: wrappers.DiscretizeObservation(gym.make("Pendulum-v1"), n),
    "batch_space": lambda n: gym.vector.utils.batch_space(gym.spaces.Discrete(2), n),
    "replay": lambda n: learn.ReplayBuffer(cartpoles(), n),
    "prioritized replay": lambda n: learn.ReplayBuffer(cartpoles(), n, prioritized=True),
    "collector": lambda n: learn.RolloutCollector(cartpoles(), lambda x: x, n),
    "num_steps": lambda n: learn.Settings(num_steps=n),
    "hidden": lambda n: learn.Settings(hidden=(n, n)),
}


@pytest.mark.parametrize("n", [2**62, 2**63 - 1, 2**63, 2**64 + 1, 10**30])
@pytest.mark.parametrize("size", SIZES)
def test_sizes_that_no_machine_has(size, n):
    with pytest.raises(error.Error, match="expected at most"):
        SIZES[size](n)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_spellings_of_autoreset_modes(mode):
    for spelling in (mode.name, mode.value, mode.name.lower(), mode.name.replace("_", "-")):
        assert AutoresetMode(spelling) is mode
        envs = gym.make_vec("CartPole-v1", num_envs=2, autoreset_mode=spelling)
        assert envs.metadata["autoreset_mode"] is mode
        envs.close()


def test_rendering_without_a_mode():
    with pytest.warns(UserWarning, match=r'gym.make\("CartPole-v1", render_mode="rgb_array"\)'):
        one().render()


@pytest.mark.slow
@pytest.mark.parametrize("start_method", ["spawn", "forkserver"])
def test_a_missing_main_guard(tmp_path, start_method):
    program = tmp_path / "program.py"
    program.write_text(
        "import gymcore as gym\n"
        "gym.vector.AsyncVectorEnv("
        f"[lambda: gym.make('CartPole-v1')] * 2, num_workers=1, context='{start_method}')\n"
    )
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1
    assert 'environment under if __name__ == "__main__":' in done.stderr.splitlines()[-1], (
        done.stderr
    )
