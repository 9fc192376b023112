"""Environments with a class from the main program, under every start method."""

from __future__ import annotations

import itertools
import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

from tests.vector.fault_engines import SOAK

pytestmark = pytest.mark.slow

METHODS = multiprocessing.get_all_start_methods()

CLASSES = """
import functools
import itertools
import multiprocessing
import os
import signal
import sys
import time
import warnings

import numpy as np
import gymcore as gym


def raises():
    raise ValueError("the pole broke")


def dies():
    os.kill(os.getpid(), signal.SIGKILL)


def exits():
    os._exit(7)


def hangs():
    time.sleep(1000)


class Plain(gym.Env):
    def __init__(self, place="", fault=raises):
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.action_space = gym.spaces.Discrete(2)
        self.place, self.fault = place, fault
        self.meet("init")

    def meet(self, place):
        if self.place == place:
            self.fault()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if options:
            self.meet("reset")
        return np.zeros(2, np.float32), {}

    def step(self, action):
        if action:
            self.meet("step")
        return np.full(2, action, np.float32), 1.0, False, False, {}

    def greet(self):
        self.meet("call")


class WithClose(Plain):
    def close(self):
        if multiprocessing.parent_process():
            os.write(1, b"closed\\n")
        self.meet("close")
        super().close()


class OverWrapper(gym.Wrapper):
    def close(self):
        super().close()


def make_wrapped(*args):
    return OverWrapper(WithClose(*args))


KINDS = {
    "plain": Plain,
    "with close": WithClose,
    "wrapped": make_wrapped,
    "local": lambda *args: WithClose(*args),
}
"""

HEALTHY = """
def main():
    for env_fn in KINDS.values():
        env = env_fn()  # one here too, as programs have it
        envs = gym.vector.AsyncVectorEnv([env_fn] * 3, context=sys.argv[1], num_workers=1)
        envs.reset(seed=1)
        print(envs.step([0, 1, 1])[0][:, 0].tolist(), flush=True)
        envs.close()
        env.close()


if __name__ == "__main__":
    main()
"""

FAULTY = """
STARTS = {
    "reset": lambda envs: envs.reset_async(options={"fault": True}),
    "step": lambda envs: envs.step_async([0, 1]),
    "call": lambda envs: envs.call_async("greet"),
}
PLACES, FAULTS = ("init", "reset", "step", "call", "close"), (raises, dies, exits, hangs)


def outcome(place, fault, on_worker_death):
    env_fns = [KINDS[sys.argv[2]], functools.partial(KINDS[sys.argv[2]], place, fault)]
    options = {"start_timeout": 3.0} if place == "init" and fault is hangs else {}
    envs = gym.vector.AsyncVectorEnv(
        env_fns, context=sys.argv[1], num_workers=2, on_worker_death=on_worker_death, **options
    )
    try:
        envs.reset(seed=1)
        if place in STARTS:
            STARTS[place](envs)
            infos = getattr(envs, place + "_wait")(timeout=0.5 if fault is hangs else 60)[-1]
            assert infos["worker_restarted"].tolist() == [False, True], infos
            assert envs.step([0, 0])[0].tolist() == [[0, 0], [0, 0]]
    finally:
        envs.close(timeout=0.2 if fault is hangs else 60)
    return "fine"


def main():
    warnings.simplefilter("ignore")  # of a close that fails
    for place, fault, on_worker_death in (
        *itertools.product(PLACES, FAULTS, ("raise",)),
        *itertools.product(("step",), (dies, exits), ("restart",)),
    ):
        try:
            result = outcome(place, fault, on_worker_death)
        except gym.error.Error as problem:
            # That of an exception has its class too.
            result = "ValueError" if fault is raises else type(problem).__name__
            assert fault is not raises or isinstance(problem, ValueError), problem
        assert not multiprocessing.active_children()
        print(place, fault.__name__, on_worker_death, result, flush=True)


if __name__ == "__main__":
    main()
"""


def run(tmp_path: Path, text: str, *words: str) -> list[str]:
    """Return the lines that the program prints."""
    program = tmp_path / "program.py"
    program.write_text(text)
    done = subprocess.run(
        [sys.executable, str(program), *words], capture_output=True, text=True, timeout=1500
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("method", METHODS)
def test_classes_of_the_main_program(method: str, tmp_path: Path) -> None:
    """With and without a `close` method of their own, which is called once each."""
    lines = run(tmp_path, CLASSES + HEALTHY, method)
    closed = ["closed"] * 3
    first, *others = [["[0.0, 1.0, 1.0]"]] * 4
    assert lines == first + [line for other in others for line in other + closed]


LARGE = """
import multiprocessing
import os
import sys

import numpy as np
import gymcore as gym
from gymcore.environment import Environment
from gymcore.vector.workers.default_loop import _async_worker

if __name__ != "__main__" and sys.argv[2:] == ["dies"]:
    os._exit(3)

TABLE = np.arange(50_000.0)  # more than a pipe holds

def loops(env_fns):
    return gym.vector.AsyncVectorEnv(env_fns, context=sys.argv[1], worker=_async_worker)


def workers(env_fns):
    return gym.vector.AsyncVectorEnv(env_fns, context=sys.argv[1], num_workers=2)


def environment(env_fns):
    multiprocessing.set_start_method(sys.argv[1], force=True)
    return Environment.create(env_fns[0], remote="multiprocessing")


def main():
    table = np.arange(50_001.0)  # more than a pipe holds

    class Local(gym.RewardWrapper):
        def __init__(self):
            super().__init__(gym.make("CartPole-v1"))

        def reward(self, reward):
            return table[-1]

    for start in (workers, loops, environment):
        try:
            envs = start([Local] * 2)
        except gym.error.WorkerDied as problem:
            print(start.__name__, type(problem).__name__)
            continue
        envs.reset()
        reward = envs.execute(0)[2] if start is environment else envs.step([0, 0])[1][0]
        print(start.__name__, reward)
        envs.close()


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("lives", [True, False], ids=["lives", "dies"])
@pytest.mark.parametrize("method", METHODS)
def test_functions_larger_than_a_pipe(method: str, lives: bool, tmp_path: Path) -> None:
    """A worker that dies while it starts does not read them."""
    lines = run(tmp_path, LARGE, method, "lives" if lives else "dies")
    result = "50000.0" if lives or method == "fork" else "WorkerDied"
    assert lines == [f"{start} {result}" for start in ("workers", "loops", "environment")]


def expected(kind: str, place: str, fault: str, on_worker_death: str) -> str:
    if on_worker_death == "restart" or (
        place == "close" and (kind == "plain" or fault != "raises")
    ):
        return "fine"
    if fault == "raises":
        return "ValueError"
    return "WorkerTimeout" if fault == "hangs" else "WorkerDied"


@SOAK
@pytest.mark.timeout(1600)
@pytest.mark.parametrize("kind", ["plain", "with close", "wrapped", "local"])
@pytest.mark.parametrize("method", METHODS)
def test_faults_of_classes_of_the_main_program(method: str, kind: str, tmp_path: Path) -> None:
    """The whole matrix: every fault in every place."""
    cases = [
        *itertools.product(
            ("init", "reset", "step", "call", "close"),
            ("raises", "dies", "exits", "hangs"),
            ("raise",),
        ),
        *itertools.product(("step",), ("dies", "exits"), ("restart",)),
    ]
    lines = run(tmp_path, CLASSES + FAULTY, method, kind)
    assert [line for line in lines if line != "closed"] == [
        " ".join((*case, expected(kind, *case))) for case in cases
    ]
