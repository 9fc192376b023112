"""Measurements for the MuJoCo bars: batches that never end an episode, and the raw loop in C.

Only loaded by `worker.py`, after `contenders`.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import itertools
import math
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from contenders import Contender, Session, random_batches
from measures import resident_bytes
from mujoco_ids import CLOCK_RUNNING, CLOCK_STOPPED, SHORT

SOURCE = Path(__file__).with_name("raw_mujoco.c")
#: Number of steps of the raw loop per call, and of different blocks.
STEPS, BLOCKS = 16, 16


def _endless(env_id: str) -> Any:
    """Return a function that makes batches whose episodes never end, as in the raw loop."""
    import gymcore
    from gymcore.envs.registration import load_env_creator

    spec = gymcore.spec(env_id)
    vector_class = load_env_creator(spec.vector_entry_point)

    class Endless(vector_class.env_class):  # type: ignore[misc,name-defined]
        def describe(self, simulation: Any) -> Any:
            described = super().describe(simulation)
            described.terminated = None
            return described

    class EndlessVectorEnv(vector_class):  # type: ignore[misc,valid-type]
        env_class = Endless

    kwargs = dict(spec.kwargs)
    if env_id.startswith("dm_control/"):  # whose tasks have time limits of their own
        kwargs["task_kwargs"] = {"time_limit": math.inf}
    return functools.partial(EndlessVectorEnv, **kwargs)


class Batch:
    """A complete step of a batch: controls, physics, observations, rewards, flags and infos."""

    def __init__(self, env_id: str, num_envs: int, num_threads: int) -> None:
        """Make the batch, and reset it with seed 0."""
        self.envs = _endless(env_id)(num_envs, num_threads=num_threads)
        self.envs.reset(seed=0)

    def run(self, block: Any) -> None:
        """Take the steps of a block of actions [STEPS, num_envs, nu]."""
        step = self.envs.step
        for actions in block:
            step(actions)


@functools.cache
def _raw_loop() -> Any:
    """Return the compiled raw loop."""
    folder = tempfile.mkdtemp()
    library = os.path.join(folder, "raw_mujoco.so")
    command = [os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-pthread"]
    subprocess.run([*command, "-o", library, str(SOURCE)], check=True)
    return ctypes.CDLL(library).raw_mujoco


class RawLoop:
    """Physics only, from the same initial state and with as many threads."""

    def __init__(self, env_id: str, num_envs: int, num_threads: int) -> None:
        """Take the initial state from a batch."""
        import mujoco

        from gymcore.envs.mujoco.library import load_functions

        envs = _endless(env_id)(num_envs, num_threads=1)
        envs.reset(seed=0)
        model, models = envs._model.model, envs.get_attr("model")
        self.datas: list[Any] = [mujoco.MjData(model) for _ in range(num_envs)]
        for data, lane_data in zip(self.datas, envs.get_attr("data"), strict=True):
            mujoco.mj_copyData(data, model, lane_data)
        blocks = random_batches(envs.single_action_space, (STEPS, num_envs), BLOCKS)
        self.blocks = [np.ascontiguousarray(block, np.float64) for block in blocks]
        functions, pointer = load_functions(), ctypes.c_void_p
        is_synchronized = getattr(envs._model, "synchronized", False)  # those of the control suite
        self._arguments = (
            pointer(functions["mj_step"]),
            pointer(None if is_synchronized else functions["mj_rnePostConstraint"]),
            (pointer * num_envs)(*[model._address for model in models]),
            (pointer * num_envs)(*[data._address for data in self.datas]),
            (pointer * num_envs)(*[data.ctrl.ctypes.data for data in self.datas]),
        )
        sizes = (num_envs, model.nu, envs._model.frame_skip, STEPS, num_threads)
        self._sizes = tuple(map(ctypes.c_long, sizes))
        self._envs = envs  # owns the model
        self._loop = _raw_loop()

    def run(self, block: Any) -> None:
        """Take the steps of a block of actions float64 [STEPS, num_envs, nu]."""
        wrong = self._loop(*self._arguments, ctypes.c_void_p(block.ctypes.data), *self._sizes)
        if wrong:
            raise RuntimeError(f"raw_mujoco: {wrong}")


class MujocoBatch(RawLoop):
    """MuJoCo's own batch (3.17 and newer), which only steps: neither observations nor rewards."""

    def __init__(self, env_id: str, num_envs: int, num_threads: int) -> None:
        """Make the batch, in the initial state of the raw loop."""
        try:
            batch = importlib.import_module("mujoco.batch")
        except ImportError:
            raise LookupError("mujoco.batch needs MuJoCo 3.17 or newer") from None
        super().__init__(env_id, num_envs, 1)
        model = self._envs._model
        self._batch = batch.Batch(model.model, num_envs, nthread=num_threads)
        self._frame_skip, self._ctrl = model.frame_skip, self._batch.bind("ctrl")
        positions, velocities = self._batch.bind("qpos"), self._batch.bind("qvel")
        for lane, data in enumerate(self.datas):
            positions[lane], velocities[lane] = data.qpos, data.qvel
        self._batch.forward()
        self.datas = [SimpleNamespace(qpos=qpos) for qpos in positions]

    def run(self, block: Any) -> None:
        """Take the steps of a block of actions float64 [STEPS, num_envs, nu]."""
        for actions in block:
            self._ctrl[:] = actions
            self._batch.step(nstep=self._frame_skip)


def against_mujoco_batch(env_id: str, num_envs: int, num_threads: int, seconds: float) -> float:
    """Return the ratio of a batch's rate to that of `mujoco.batch`; see `against_raw`."""
    return against_raw(env_id, num_envs, num_threads, seconds, MujocoBatch)


def against_raw(
    env_id: str,
    num_envs: int,
    num_threads: int,
    seconds: float,
    other: type[RawLoop] = RawLoop,
) -> float:
    """Return the ratio of a batch's rate to that of the raw loop, both on one trajectory.

    Batch and raw loop take the same steps from the same initial state, alternating every `STEPS`
    steps, so that contacts cost both the same; the median over turns is used. At the end, both
    must be in the same states.
    """
    batch = Batch(env_id, num_envs, num_threads)
    raw = other(env_id, num_envs, num_threads)
    ratios: list[float] = []
    start_of_all = time.perf_counter()
    for turn in itertools.count():
        block = raw.blocks[turn % len(raw.blocks)]
        # The raw loop goes first in every other turn.
        times: dict[Any, float] = {}
        for loop in (batch, raw) if turn % 2 else (raw, batch):
            start = time.perf_counter()
            loop.run(block)
            times[loop] = time.perf_counter() - start
        ratios.append(times[raw] / times[batch])
        if turn > 8 and time.perf_counter() - start_of_all > seconds:
            break
    for lane_data, data in zip(batch.envs.get_attr("data"), raw.datas, strict=True):
        if not np.array_equal(lane_data.qpos, data.qpos):
            raise RuntimeError(f"{env_id}: batch and raw loop came to different states")
    batch.envs.close()
    return statistics.median(ratios[2:])


def step_over_raw(env_id: str, seconds: float) -> float:
    """Return the extra time of a step of `make(env_id)` over a step of the raw loop [s].

    Both take the same steps from the same initial state, in turns; the median is used.
    """
    import gymcore

    raw = RawLoop(env_id, 1, 1)
    env = gymcore.make(env_id, max_episode_steps=-1)
    env.reset(seed=0)
    more: list[float] = []
    began = time.perf_counter()
    for turn in itertools.count():
        block = raw.blocks[turn % len(raw.blocks)]
        actions = list(block[:, 0].astype(np.float32))
        start = time.perf_counter()
        for action in actions:
            env.step(action)
        middle = time.perf_counter()
        raw.run(block)
        more.append((2 * middle - start - time.perf_counter()) / STEPS)
        if turn > 8 and time.perf_counter() - began > seconds:
            break
    if not np.array_equal(env.unwrapped.data.qpos, raw.datas[0].qpos):
        raise RuntimeError(f"{env_id}: environment and raw loop came to different states")
    env.close()
    return statistics.median(more)


class SameSteps(Session):
    """A fixed number of calls per measurement, so that two processes have the same contacts."""

    def __init__(self, envs: Any, calls: int) -> None:
        """Store the batch, with a ring of actions for it."""
        actions = random_batches(envs.single_action_space, (envs.num_envs,), 64)
        super().__init__(envs.step, actions, envs.num_envs, envs.close)
        self._calls = calls

    def measure(self, seconds: float) -> float:
        """Return seconds per call; the time limit is ignored in favor of the number of calls."""
        return self._time(self._calls) / self._calls


def _with_clock(timers: str) -> Any:
    """Return a function that makes batches with MuJoCo's profiler ("1") or without it ("").

    The clock is global and read once, so each needs a separate process.
    """

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        os.environ["GYMCORE_MUJOCO_TIMERS"] = timers
        import gymcore

        options = {"num_threads": num_threads}
        envs = gymcore.make_vec(env_id, num_envs=num_envs, vector_kwargs=options)
        envs.reset(seed=0)
        session = SameSteps(envs, 128 if env_id in SHORT else 16)
        envs.step(session._actions[0])
        if (envs.get_attr("data")[0].timer[0].duration > 0) != bool(timers):
            envs.close()
            problem = "starts no clock" if timers else "has a clock that runs still"
            raise LookupError(f"the installed MuJoCo {problem}")
        return session

    return build


CONTENDERS = {
    key: Contender(key, f"gymcore, MuJoCo's clock {key.split('-')[-1]}", "gymcore", build)
    for key, build in ((CLOCK_RUNNING, _with_clock("1")), (CLOCK_STOPPED, _with_clock("")))
}


def mujoco_bytes_per_lane(env_id: str, num_envs: int) -> float:
    """Return the memory of a stepped lane, including its share of the model [bytes]."""
    import gymcore

    with_few = gymcore.make_vec(env_id, num_envs=2)
    with_few.reset(seed=0)
    actions = random_batches(with_few.single_action_space, (num_envs,), 4)
    with_few.step(actions[0][:2])
    with_few.close()
    before = resident_bytes()
    envs = gymcore.make_vec(env_id, num_envs=num_envs)
    envs.reset(seed=0)
    for _ in range(25):
        for batch in actions:
            envs.step(batch)
    grown = resident_bytes() - before
    envs.close()
    return grown / num_envs
