"""Contenders for the MuJoCo bars: batches that never end an episode, and the raw loop in C.

Loaded by `worker.py` only, after `contenders`.
"""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from contenders import RING, Contender, Session, random_batches
from measures import resident_bytes

SOURCE = Path(__file__).with_name("raw_mujoco.c")
#: Steps of the raw loop in one call.
STEPS = 16


def _endless(env_id: str) -> Any:
    """The vector class of an environment whose episodes never end, as those of the raw loop."""
    import gymcore
    from gymcore.envs.registration import load_env_creator

    vector_class = load_env_creator(gymcore.spec(env_id).vector_entry_point)

    class Endless(vector_class.env_class):  # type: ignore[misc,name-defined]
        def describe(self, simulation: Any) -> Any:
            described = super().describe(simulation)
            described.terminated = None
            return described

    class EndlessVectorEnv(vector_class):  # type: ignore[misc,valid-type]
        env_class = Endless

    return EndlessVectorEnv


def _endless_session(env_id: str, num_envs: int, num_threads: int) -> Session:
    """A whole step of the batch: controls, physics, observations, rewards, flags and infos."""
    envs = _endless(env_id)(num_envs, num_threads=num_threads)
    envs.reset(seed=0)
    actions = random_batches(envs.single_action_space, (num_envs,), RING)
    return Session(envs.step, actions, num_envs, envs.close)


@functools.cache
def _raw_loop() -> Any:
    """The compiled raw loop."""
    folder = tempfile.mkdtemp()
    library = os.path.join(folder, "raw_mujoco.so")
    command = [os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-pthread"]
    subprocess.run([*command, "-o", library, str(SOURCE)], check=True)
    return ctypes.CDLL(library).raw_mujoco


def _raw_session(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Physics alone, from the same starts, by as many threads."""
    import mujoco

    from gymcore.envs.mujoco.calls import library_functions

    envs = _endless(env_id)(num_envs, num_threads=1)
    envs.reset(seed=0)
    model, frame_skip = envs._model.model, envs._model.frame_skip
    datas = [mujoco.MjData(model) for _ in range(num_envs)]
    for data, (qpos, qvel) in zip(
        datas, [(one.qpos, one.qvel) for one in envs.get_attr("data")], strict=True
    ):
        data.qpos[:], data.qvel[:] = qpos, qvel
        mujoco.mj_forward(model, data)
    functions = library_functions()
    addresses = (ctypes.c_void_p * num_envs)(*[one._address for one in datas])
    controls = (ctypes.c_void_p * num_envs)(*[one.ctrl.ctypes.data for one in datas])
    blocks = random_batches(envs.single_action_space, (STEPS, num_envs), 16)
    actions = [np.ascontiguousarray(block, np.float64) for block in blocks]
    loop = _raw_loop()

    def call(block: Any) -> None:
        wrong = loop(
            ctypes.c_void_p(functions["mj_step"]),
            ctypes.c_void_p(functions["mj_rnePostConstraint"]),
            ctypes.c_void_p(model._address),
            addresses,
            controls,
            ctypes.c_void_p(block.ctypes.data),
            *map(ctypes.c_long, (num_envs, model.nu, frame_skip, STEPS, num_threads)),
        )
        if wrong or len(datas) != num_envs:  # which are kept alive by being here
            raise RuntimeError(f"raw_mujoco: {wrong}")

    return Session(call, actions, STEPS * num_envs, envs.close)


def mujoco_bytes_per_lane(env_id: str, num_envs: int) -> float:
    """Return the memory of a stepped lane, with its share of the model [bytes]."""
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


CONTENDERS = {
    contender.key: contender
    for contender in (
        Contender("gymcore-endless", "gymcore, no episode ends", "gymcore", _endless_session),
        Contender("raw-mujoco", "raw mj_step loop in C", "gymcore", _raw_session),
    )
}

if sys.platform == "win32":
    CONTENDERS.pop("raw-mujoco")
