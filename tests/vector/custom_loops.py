"""Worker loops as users write them (`AsyncVectorEnv(worker=...)`), good ones and bad ones."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import sys
import time
import traceback
from typing import Any

import numpy as np

import gymcore
from gymcore import spaces


class PlainEnv(gymcore.Env):
    """Environment with spaces only; `misbehaving_loop` does the rest."""

    def __init__(self):
        self.observation_space = spaces.Box(-1e6, 1e6, (2,), np.float32)
        self.action_space = spaces.Discrete(1000)


def simple_loop(
    index, env_fn, pipe, parent_pipe, shared_memory, error_queue, autoreset_mode, semaphore
):
    """Implement the whole protocol in the plainest way, for gymcore and for Gymnasium."""
    parent_pipe.close()
    env = env_fn()
    space = env.observation_space
    package = type(space).__module__.partition(".")[0]
    is_space_dtype_shape_equiv = _function(package, "spaces.utils", "is_space_dtype_shape_equiv")
    write_to_shared_memory = _function(package, "vector.utils", "write_to_shared_memory")
    observation, ended = None, False

    def answered(observation, *rest):
        if shared_memory is None:
            return (observation, *rest)
        if observation is not None:
            write_to_shared_memory(space, index, observation, shared_memory)
        return (None, *rest)

    try:
        while True:
            command, data = pipe.recv()
            if command == "_check_spaces":
                mode, single_observation_space, single_action_space = data
                fits = space == single_observation_space
                if mode != "same":
                    fits = is_space_dtype_shape_equiv(space, single_observation_space)
                result = (fits, env.action_space == single_action_space)
            elif command == "reset":
                observation, info = _held(semaphore, env.reset, **data)
                ended = False
                result = answered(observation, info)
            elif command == "reset-noop":
                result = answered(observation, {})
            elif command == "step":
                if ended and autoreset_mode.name == "NEXT_STEP":
                    observation, info = env.reset()
                    rest = (0.0, False, False, info)
                    ended = False
                else:
                    observation, *rest = _held(semaphore, env.step, data)
                    ended = rest[1] or rest[2]
                    if ended and autoreset_mode.name == "SAME_STEP":
                        final = {"final_info": rest[3], "final_obs": observation}
                        observation, info = env.reset()
                        rest[3] = {**final, **info}
                result = answered(observation, *rest)
            elif command == "_call":
                name, args, kwargs = data
                found = env.get_wrapper_attr(name)
                result = found(*args, **kwargs) if callable(found) else found
            elif command == "_setattr":
                result = env.set_wrapper_attr(*data)
            elif command == "close":
                pipe.send((None, True))
                return
            else:
                raise RuntimeError(f"no such command: {command}")
            pipe.send((result, True))
    except Exception:
        kind, value = sys.exc_info()[:2]
        error_queue.put((index, kind, value, traceback.format_exc()))
        pipe.send((None, False))
    finally:
        env.close()


def _function(package, module, name):
    return getattr(importlib.import_module(f"{package}.{module}"), name)


def _held(semaphore, method, *args, **kwargs):
    if semaphore is None:
        return method(*args, **kwargs)
    with semaphore:
        return method(*args, **kwargs)


def misbehaving_loop(
    index, env_fn, pipe, parent_pipe, shared_memory, error_queue, autoreset_mode, semaphore
):
    """Misbehave as the seed of a reset or the action of a step requests, if it is a string."""
    while True:
        command, data = pipe.recv()
        wish = data if command == "step" else (data or {}).get("seed") if command == "reset" else ""
        if command == "_check_spaces":
            pipe.send(((True, True), True))
        elif command == "close":
            pipe.send((None, True))
            if wish != "linger":
                return
        elif isinstance(wish, str) and wish:
            if misbehave(wish, index, pipe, error_queue):
                return
        elif command == "reset":
            pipe.send(((np.full(2, index, np.float32), {"index": index}), True))
        elif command == "step":
            pipe.send(((np.full(2, index, np.float32), data, False, False, {"action": data}), True))
        elif command == "_call":
            pipe.send(([arg() if callable(arg) else arg for arg in data[1]], True))
        else:
            pipe.send((None, True))


def misbehave(wish: str, index: int, pipe: Any, error_queue: Any) -> bool:
    """Do something that a loop should not do; return whether to end."""
    wish, _, detail = wish.partition(" ")
    if wish == "exit":
        os._exit(int(detail))
    elif wish == "kill":
        os.kill(os.getpid(), getattr(signal, detail))
    elif wish == "wait":  # until a file exists
        while not os.path.exists(detail):
            time.sleep(0.001)
        pipe.send(((np.full(2, -1, np.float32), -1.0, False, False, {"late": True}), True))
    elif wish == "hang":
        time.sleep(600)
    elif wish == "ignore_signals":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    elif wish == "half":
        pipe._send(b"\x00\x00\xff\xff only a part")
        time.sleep(600)
    elif wish == "flood":
        while True:
            os.write(pipe.fileno(), b"\x00\x00\x00\x02N." * 10000)  # messages of None
    elif wish == "twice":
        answer = pickle.dumps(((np.zeros(2, np.float32), 1.0, False, False, {}), True))
        os.write(pipe.fileno(), (len(answer).to_bytes(4, "big") + answer) * 2)
    elif wish == "hang_up":
        pipe.close()
        time.sleep(600)
    elif wish == "garbage":
        pipe.send_bytes(b"no pickle")
    elif wish == "none":
        pipe.send(None)
    elif wish == "short":
        pipe.send(((1, 2), True))
    elif wish == "raise":
        raise KeyError(detail)
    elif wish == "return":
        return True
    elif wish == "silent_failure":
        pipe.send((None, False))
    elif wish == "unpicklable":
        error_queue.put((index, TwoArguments, TwoArguments(1, lambda: 2), "where it was"))
        pipe.send((None, False))
    elif wish == "bulky_report":
        error_queue.put((index, ValueError, ValueError("much"), "line\n" * 200_000))
        pipe.send((None, False))
    elif wish == "bulky":
        pipe.send(((np.zeros(2, np.float32), 1.0, False, False, {"x": np.ones(10**6)}), True))
    return False


class TwoArguments(Exception):
    """Exception that can be unpickled only with both of its arguments."""

    def __init__(self, first: Any, second: Any):
        super().__init__(first)
        self.second = second
