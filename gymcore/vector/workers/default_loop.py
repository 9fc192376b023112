"""An implementation of the loop for `AsyncVectorEnv(worker=...)`, which custom workers can wrap."""

from __future__ import annotations

import contextlib
import sys
import traceback
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, SupportsFloat

from gymcore.spaces.utils import is_space_dtype_shape_equiv
from gymcore.vector.utils.shared_memory import write_to_shared_memory
from gymcore.vector.vector_env import AutoresetMode
from gymcore_ext.python_envs.infos import copied

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from gymcore.core import Env, Info
    from gymcore.spaces import Space
    from gymcore.vector.protocols import EnvFn
    from gymcore.vector.utils.shared_memory import SharedMemory


class ErrorQueue(Protocol):
    """Where a loop reports an exception to the parent."""

    def put(self, item: tuple[object, ...]) -> None:
        """Send `(index, exception class, exception, traceback text)`."""


def _async_worker(
    index: int,
    env_fn: EnvFn,
    pipe: Connection,
    parent_pipe: Connection,
    shared_memory: SharedMemory | None,
    error_queue: ErrorQueue,
    autoreset_mode: AutoresetMode,
    semaphore: AbstractContextManager[object] | None = None,
) -> None:
    """Answer the requests of `gymcore.vector.workers.custom` for one environment.

    Your own worker can call this function and do other work before and after it. Without `worker`,
    `AsyncVectorEnv` runs several environments in a process, and a step pickles nothing.
    """
    parent_pipe.close()
    env = None
    try:
        env = env_fn()
        lane = _Lane(env, autoreset_mode)
        while True:
            command, data = pipe.recv()
            if command == "close":
                pipe.send((None, True))
                return
            with semaphore or contextlib.nullcontext():
                result = getattr(lane, command.replace("-", "_").lstrip("_"))(data)
            if shared_memory is not None and command in ("reset", "reset-noop", "step"):
                write_to_shared_memory(env.observation_space, index, result[0], shared_memory)
                result = (None, *result[1:])
            pipe.send((result, True))
    except (Exception, KeyboardInterrupt):
        error_queue.put((index, *sys.exc_info()[:2], traceback.format_exc()))
        pipe.send((None, False))
    finally:
        if env is not None:
            env.close()


class _Lane:
    """One environment, with a method for each command."""

    def __init__(self, env: Env, autoreset_mode: AutoresetMode) -> None:
        self.env = env
        self.mode = autoreset_mode
        self.observation: object = None
        self.ended = False

    def check_spaces(self, data: tuple[object, Space, Space]) -> tuple[bool, bool]:
        mode, observation_space, action_space = data
        own_space = self.env.observation_space
        if mode == "same":
            fits = own_space == observation_space
        else:
            fits = is_space_dtype_shape_equiv(own_space, observation_space)
        return fits, self.env.action_space == action_space

    def reset(self, data: Info) -> tuple[object, Info]:
        self.ended = False
        self.observation, info = self.env.reset(**data)
        return self.observation, info

    def reset_noop(self, data: None) -> tuple[object, Info]:
        return self.observation, {}

    def step(self, action: object) -> tuple[object, SupportsFloat, bool, bool, Info]:
        if self.ended and self.mode is AutoresetMode.NEXT_STEP:
            observation, info = self.reset({})
            return observation, 0, False, False, info
        self.observation, reward, terminated, truncated, info = self.env.step(action)
        self.ended = terminated or truncated
        if self.ended and self.mode is AutoresetMode.SAME_STEP:
            # Copies: the environment may use the same objects again in reset.
            final = {"final_info": copied(info or {}), "final_obs": copied(self.observation)}
            reward = copied(reward)
            info = {**final, **(self.reset({})[1] or {})}
        return self.observation, reward, terminated, truncated, info

    def call(self, data: tuple[str, tuple[object, ...], dict[str, object]]) -> object:
        name, args, kwargs = data
        value = self.env.get_wrapper_attr(name)
        return value(*args, **kwargs) if callable(value) else value

    def setattr(self, data: tuple[str, object]) -> None:
        self.env.set_wrapper_attr(*data)
