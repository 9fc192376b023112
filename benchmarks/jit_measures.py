"""Users' own environments: gymcore.jit and ArrayVectorEnv.

Only loaded by `worker.py`, after `contenders`. The environments are those of the tests and of
examples/.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contenders import RING, Contender, Session, random_batches

ROOT = Path(__file__).resolve().parents[1]


def _from(module: str, name: str) -> Any:
    """Return an object by name from a module of this checkout."""
    for path in (ROOT, ROOT / "examples"):
        if str(path) not in sys.path:
            sys.path.append(str(path))
    return getattr(importlib.import_module(module), name)


def _session(envs: Any, num_envs: int) -> Session:
    envs.reset(seed=0)
    actions = random_batches(envs.single_action_space, (num_envs,), RING)
    return Session(envs.step, actions, num_envs, envs.close)


def _jit(module: str, name: str, limit: int) -> Callable[[str, int, int], Session]:
    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        vector_class = _from(module, name).vector_class
        envs = vector_class(num_envs, max_episode_steps=limit, num_threads=num_threads)
        return _session(envs, num_envs)

    return build


def _plain_snake(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Return a session with the example's functions in plain Python, without debug checks."""
    import numpy as np

    import gymcore
    from gymcore.jit.loops import struct_class

    snake = _from("jit_snake", "Snake")
    functions, program = snake._functions, snake.program()
    state_class, parameters = (
        struct_class("State", program.state),
        program.names()["Parameters"](200),
    )

    class Snake(gymcore.Env[Any, Any]):
        observation_space, action_space = snake.observation_space, snake.action_space

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            zeros = (np.zeros(f.shape, f.dtype) if f.shape else 0 for f in program.state)
            self.state = state_class(*zeros)
            functions["reset"](self.state, parameters, self.np_random)
            return self._observe()

        def step(self, action: Any) -> Any:
            result = functions["step"](self.state, parameters, int(action), self.np_random)
            observation, info = self._observe()
            return observation, *result, False, info

        def _observe(self) -> Any:
            observation = np.empty((3, 16, 16), np.uint8)
            functions["observe"](self.state, parameters, observation)
            return observation, {"length": self.state.length}

    return _session(gymcore.vector.SyncVectorEnv([Snake] * num_envs), num_envs)


def _arrays(env_id: str, num_envs: int, num_threads: int) -> Session:
    envs = _from("tests.vector.array_envs", "ArrayCartPole")(num_envs, max_episode_steps=500)
    return _session(envs, num_envs)


def _gymnasium_arrays(env_id: str, num_envs: int, num_threads: int) -> Session:
    from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

    return _session(CartPoleVectorEnv(num_envs), num_envs)


def _first_use(cached: bool) -> Callable[[str, int, int], Session]:
    """Make an environment in a new process that has imported Numba and reports the time."""
    code = (
        "import sys, time, numba, gymcore\n"
        f"sys.path += [{str(ROOT)!r}, {str(ROOT / 'examples')!r}]\n"
        "from jit_navigation import Navigation\n"
        "start = time.perf_counter()\n"
        "Navigation().reset(seed=1)\n"
        "print(time.perf_counter() - start)\n"
    )

    class FirstUse(Session):
        def measure(self, seconds: float) -> float:
            return float(self._call(None))

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        folder = tempfile.TemporaryDirectory()

        def run(action: Any) -> str:
            place = folder.name if cached else tempfile.mkdtemp(dir=folder.name)
            environment = {**os.environ, "GYMCORE_CACHE_DIR": place, "GYMCORE_JIT": "1"}
            command = [sys.executable, "-c", code]
            return subprocess.run(
                command, env=environment, check=True, stdout=subprocess.PIPE, text=True
            ).stdout

        run(None)
        return FirstUse(run, [None], 1, folder.cleanup)

    return build


CONTENDERS = {
    each.key: each
    for each in (
        Contender("gymcore-jit", "jit.Env", "numba", _jit("tests.jit.classes", "CartPole", 500)),
        Contender("gymcore-jit-snake", "Snake, jit", "numba", _jit("jit_snake", "Snake", 2000)),
        Contender("gymcore-sync-snake", "Snake, sync", "gymcore", _plain_snake),
        Contender("gymcore-arrays", "ArrayVectorEnv", "gymcore", _arrays),
        Contender("gymnasium-arrays", "CartPoleVectorEnv", "gymnasium", _gymnasium_arrays),
        Contender("gymcore-jit-compile", "first use", "numba", _first_use(False)),
        Contender("gymcore-jit-load", "from the cache", "numba", _first_use(True)),
    )
}
