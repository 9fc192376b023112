"""The general environment interface and remote environments.

Only loaded by `worker.py`, after `contenders`.
"""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from contenders import RING, Contender, Session, random_batches


class Executing:
    """A parallel `Environment` whose step takes a whole batch of actions.

    Environments whose episodes have ended are skipped; when all have ended, new episodes start.
    """

    def __init__(self, env_id: str, num_envs: int) -> None:
        """Make the environment and start its first episodes."""
        from gymcore.environment import Environment

        self._num_envs = num_envs
        self._environment = Environment.create(env_id, seed=0)
        self._rows = num_envs
        self._environment.reset(num_parallel=num_envs)
        self.close = self._environment.close

    def step(self, actions: Any) -> None:
        """Execute the first actions of the batch, one for each unfinished episode."""
        parallel = self._environment.execute(actions[: self._rows])[0]
        self._rows = len(parallel)
        if not self._rows:
            self._rows = self._num_envs
            self._environment.reset(num_parallel=self._num_envs)


class FirstSteps(Executing):
    """`Executing` with new episodes after every eighth step, before any CartPole can fall."""

    def __init__(self, env_id: str, num_envs: int) -> None:
        """Start the first episodes."""
        super().__init__(env_id, num_envs)
        self._steps_left = 8

    def step(self, actions: Any) -> None:
        """Execute a batch of actions."""
        self._environment.execute(actions)
        self._steps_left -= 1
        if not self._steps_left:
            self._steps_left = 8
            self._environment.reset(num_parallel=self._num_envs)


def _execute(kind: type[Executing]) -> Any:
    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        import gymcore

        executing = kind(env_id, num_envs)
        space = gymcore.make(env_id).action_space
        actions = random_batches(space, (num_envs,), RING)
        return Session(executing.step, actions, num_envs, executing.close)

    return build


def _native_first_steps(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Return a session of the vector environment alone, also with a reset after eight steps."""
    import gymcore

    options = {"autoreset_mode": "Disabled", "num_threads": 1}
    envs = gymcore.make_vec(env_id, num_envs, vector_kwargs=options)
    envs.reset(seed=0)
    left = 8

    def step(actions: Any) -> None:
        nonlocal left
        envs.step(actions)
        left -= 1
        if not left:
            left = 8
            envs.reset()

    actions = random_batches(envs.single_action_space, (num_envs,), RING)
    return Session(step, actions, num_envs, envs.close)


def _remote(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Return a session with a server in a separate process, over loopback with keys."""
    import gymcore
    from gymcore.remote import make_keys

    folder = tempfile.TemporaryDirectory()
    keys = Path(folder.name) / "keys"
    make_keys(keys)
    words = ["serve", env_id, "--num-envs", str(num_envs), "--keys", str(keys)]
    server = subprocess.Popen(
        [sys.executable, "-m", "gymcore", *words], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    address = server.stdout.readline().split(" at ")[1].split(",")[0]
    mode = {"vectorization_mode": "remote", "address": address, "keys": keys}
    envs = gymcore.make_vec(env_id, num_envs, **mode)
    envs.reset(seed=0)

    def close() -> None:
        envs.close()
        server.terminate()
        server.communicate()
        folder.cleanup()

    actions = random_batches(envs.single_action_space, (num_envs,), RING)
    return Session(envs.step, actions, num_envs, close)


def echo(keys: tuple[bytes, bytes], connection: Any) -> None:
    """Answer each message with as many bytes as a step of CartPole with 64 lanes."""
    import zmq

    context = zmq.Context()
    socket = context.socket(zmq.ROUTER)
    socket.curve_server, (socket.curve_publickey, socket.curve_secretkey) = True, keys
    connection.send(socket.bind_to_random_port("tcp://127.0.0.1"))
    reply = bytes(1717)
    while len(frames := socket.recv_multipart()) == 2:
        socket.send_multipart([frames[0], reply])
    context.destroy(0)


def _ping_pong(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Return a session of messages as large as a remote environment's, with pyzmq and CURVE."""
    import zmq

    keys = zmq.curve_keypair()
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=echo, args=(keys, theirs), daemon=True)
    process.start()
    zmq_context = zmq.Context()
    socket = zmq_context.socket(zmq.DEALER)
    socket.curve_publickey, socket.curve_secretkey = zmq.curve_keypair()
    socket.curve_serverkey = keys[0]
    socket.connect(f"tcp://127.0.0.1:{ours.recv()}")

    def ping(message: bytes) -> Any:
        socket.send(message)
        return socket.recv()

    def close() -> None:
        socket.send_multipart([b"", b""])
        process.join()
        zmq_context.destroy(0)

    return Session(ping, [bytes(568)] * RING, num_envs, close)


CONTENDERS = {
    each.key: each
    for each in (
        Contender("gymcore-execute", "Environment.execute", "gymcore", _execute(Executing)),
        Contender(
            "gymcore-execute-first",
            "Environment.execute, all live",
            "gymcore",
            _execute(FirstSteps),
        ),
        Contender("gymcore-native-first", "native, the same", "gymcore", _native_first_steps),
        Contender("gymcore-remote", "gymcore remote", "gymcore", _remote),
        Contender("pyzmq", "pyzmq ping-pong, CURVE", "zmq", _ping_pong),
    )
}
