"""Wrapped environments compared by the bars, each with the same environment without wrappers.

Only loaded by `worker.py`, after `contenders` and `python_envs`.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import RING, Contender, Session, random_batches
from python_envs import factories

# Number of frame arrays used in turn, as in an engine that recycles unreferenced arrays.
# RING arrays, 29 MB, would be read from main memory, unlike those of engines and of memcpy.
RECYCLED = 3
#: Shape of the stacked frames, and their number.
FRAME, STACK = (84, 84), 4

Build = Callable[[str, int, int], Session]


def _session(envs: Any, num_envs: int) -> Session:
    """Return a session for a vector environment."""
    envs.reset(seed=0)
    batches = random_batches(envs.single_action_space, (num_envs,), RING)
    return Session(envs.step, batches, num_envs, envs.close)


def _cartpoles(library: str, wrapped: bool) -> Build:
    """Return a builder of a library's fastest CartPoles, with or without statistics wrappers."""

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        gym = importlib.import_module(library)
        envs = gym.make_vec(env_id, num_envs, vectorization_mode="vector_entry_point")
        if wrapped:
            wrappers = importlib.import_module(f"{library}.wrappers.vector")
            envs = wrappers.RecordEpisodeStatistics(envs)
            envs = wrappers.NormalizeObservation(wrappers.NormalizeReward(envs))
        return _session(envs, num_envs)

    return build


def _bridged(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Return a session of gymcore's CartPoles as Gymnasium's vector environment."""
    bridge = importlib.import_module("gymcore.interop.gymnasium")
    gym = importlib.import_module("gymcore")
    return _session(bridge.to_gymnasium(gym.make_vec(env_id, num_envs)), num_envs)


def _counting(copy: bool) -> Build:
    """Return a builder of CartPoles that report ended episodes."""

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        gym = importlib.import_module("gymcore")
        options = {"episode_statistics": True, "copy": copy}
        return _session(gym.make_vec(env_id, num_envs, vector_kwargs=options), num_envs)

    return build


def _frame_batches(num_envs: int) -> Any:
    """Return a vector environment of gymcore that returns a few frames in turn."""
    gym = importlib.import_module("gymcore")

    class Frames(gym.vector.VectorEnv):  # type: ignore[name-defined]
        metadata = {"autoreset_mode": gym.vector.AutoresetMode.NEXT_STEP}  # noqa: RUF012

        def __init__(self) -> None:
            self.num_envs = num_envs
            self.single_observation_space = gym.spaces.Box(0, 255, FRAME, np.uint8)
            self.single_action_space = gym.spaces.Discrete(2)
            batch_space = gym.vector.utils.batch_space
            self.observation_space = batch_space(self.single_observation_space, num_envs)
            self.action_space = batch_space(self.single_action_space, num_envs)
            self._frames = [np.full((num_envs, *FRAME), k, np.uint8) for k in range(RECYCLED)]
            self._rewards, self._flags = np.zeros(num_envs), np.zeros(num_envs, np.bool_)
            self._steps = 0

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            return self._frames[0], {}

        def step(self, actions: Any) -> Any:
            self._steps += 1
            frames = self._frames[self._steps % RECYCLED]
            return frames, self._rewards, self._flags, self._flags, {}

    return Frames()


def _frames(stacked: bool) -> Build:
    """Return a builder of batches of frames, stacked or not."""

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        wrappers = importlib.import_module("gymcore.wrappers.vector")
        envs = _frame_batches(num_envs)
        return _session(wrappers.FrameStackObservation(envs, STACK) if stacked else envs, num_envs)

    return build


def _single_frames(stacked: bool) -> Build:
    """Return a builder of Gymnasium's SyncVectorEnv of single environments, stacked or not."""

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        gym = importlib.import_module("gymnasium")
        wrappers = importlib.import_module("gymnasium.wrappers")

        class Frame(gym.Env):  # type: ignore[name-defined]
            observation_space = gym.spaces.Box(0, 255, FRAME, np.uint8)
            action_space = gym.spaces.Discrete(2)
            frame = np.zeros(FRAME, np.uint8)

            def reset(self, *, seed: Any = None, options: Any = None) -> Any:
                return self.frame, {}

            def step(self, action: Any) -> Any:
                return self.frame, 0.0, False, False, {}

        def make() -> Any:
            return wrappers.FrameStackObservation(Frame(), STACK) if stacked else Frame()

        return _session(gym.vector.SyncVectorEnv([make] * num_envs), num_envs)

    return build


def _memcpy(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Return a session that copies as many bytes as a batch of stacks has."""
    source, target = (np.ones((num_envs, STACK, *FRAME), np.uint8) for _ in range(2))

    def call(_: Any) -> None:
        np.copyto(target, source)

    return Session(call, list(range(RING)), num_envs, lambda: None)


def _step(library: str, checked: bool) -> Build:
    """Return a builder of one environment that does nothing, with or without `make`'s wrappers."""

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        env = factories(library, env_id, 1)[0]()
        if checked:
            wrappers = importlib.import_module(f"{library}.wrappers")
            env = wrappers.OrderEnforcing(wrappers.PassiveEnvChecker(env))
            env = wrappers.TimeLimit(env, 1_000_000_000)
        # The checks in the first episode warn that all observations are the same object.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(2):
                env.reset(seed=0)
                for _ in range(3):
                    env.step(0)
            env.reset()
        return Session(env.step, [0, 1] * (RING // 2), 1, env.close)

    return build


CONTENDERS = {
    contender.key: contender
    for contender in (
        Contender("gymcore-plain", "bare CartPole", "gymcore", _cartpoles("gymcore", False)),
        Contender(
            "gymcore-statistics-wrappers", "gymcore, statistics wrappers", "gymcore",
            _cartpoles("gymcore", True),
        ),
        Contender(
            "gymnasium-plain", "bare CartPoleVectorEnv", "gymnasium",
            _cartpoles("gymnasium", False),
        ),
        Contender(
            "gymnasium-statistics-wrappers", "Gymnasium, statistics wrappers", "gymnasium",
            _cartpoles("gymnasium", True),
        ),
        Contender("gymcore-bridged", "to_gymnasium", "gymcore", _bridged),
        Contender("gymcore-counting", "episode_statistics", "gymcore", _counting(True)),
        Contender(
            "gymcore-counting-view", "episode_statistics, copy=False", "gymcore", _counting(False)
        ),
        Contender("gymcore-frames-plain", "bare frames", "gymcore", _frames(False)),
        Contender("gymcore-frames-stacked", "gymcore FrameStack", "gymcore", _frames(True)),
        Contender("frames-memcpy", "memcpy", "gymcore", _memcpy),
        Contender(
            "gymnasium-frames-plain", "bare frames under sync", "gymnasium",
            _single_frames(False),
        ),
        Contender(
            "gymnasium-frames-stacked", "Gymnasium FrameStack under sync", "gymnasium",
            _single_frames(True),
        ),
        Contender("gymcore-step-plain", "bare step", "gymcore", _step("gymcore", False)),
        Contender("gymcore-step-checked", "gymcore make's three", "gymcore",
                  _step("gymcore", True)),
        Contender("gymnasium-step-plain", "bare step", "gymnasium", _step("gymnasium", False)),
        Contender("gymnasium-step-checked", "Gymnasium make's three", "gymnasium",
                  _step("gymnasium", True)),
    )
}  # fmt: skip
