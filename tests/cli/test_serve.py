"""`gymcore serve` and `gymcore keys`, in processes of their own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.environment import Environment

# A shell that runs the tests in the background makes them ignore SIGINT.
PROGRAM = """
import signal, sys
from gymcore.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(sys.argv[1:]))
"""


@contextlib.contextmanager
def serving(*words):
    """Run `gymcore serve`; yield the process and the first line that it printed."""
    command = [sys.executable, "-c", PROGRAM, "serve", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, process.stdout.readline()
        finally:
            process.kill()


def address_in(line):
    return line.split(" at ")[1].split(",")[0]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_a_vector_environment_with_keys(run, tmp_path, number, code):
    folder = tmp_path / "keys"
    ran = run("keys", folder)
    assert ran.code == 0 and "the server needs server.key" in ran.out
    assert run("keys", folder).code == 2
    with serving("CartPole-v1", "--num-envs", 5, "--keys", folder) as (process, line):
        assert line.startswith("serving CartPole-v1 with 5 lanes at tcp://127.0.0.1:")
        assert line.rstrip().rpartition("key ")[2] in ran.out
        address = address_in(line)
        arguments = {"vectorization_mode": "remote", "address": address}
        with gym.make_vec("CartPole-v1", 5, **arguments, keys=folder) as remote:
            local = gym.make_vec("CartPole-v1", 5)
            assert np.array_equal(remote.reset(seed=1)[0], local.reset(seed=1)[0])
            actions = np.ones(5, int)
            for _ in range(30):
                assert np.array_equal(remote.step(actions)[0], local.step(actions)[0])
        with pytest.raises(error.RemoteError):
            gym.make_vec("CartPole-v1", 5, **arguments, connect_timeout=0.5)
        process.send_signal(number)
        assert process.wait(60) == code
        lines = process.stdout.read()
        assert "session" in lines and "connected" in lines


@pytest.mark.parametrize(
    ("served", "made"), [("CartPole", "CartPole-v1"), ("registers_own:Own-v0", "Own-v0")]
)
def test_a_client_names_the_registered_id(tmp_path, monkeypatch, served, made):
    """The server may be given an id without a version, or with the module that registers it."""
    text = "import gymcore\ngymcore.register('Own-v0', gymcore.spec('CartPole-v1').entry_point)\n"
    (tmp_path / "registers_own.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    spec = gym.spec("CartPole-v1").copy(id="Own-v0", name="Own", version=0)
    monkeypatch.setitem(gym.registry, "Own-v0", spec)
    with serving(served, "--num-envs", 2) as (_, line):
        arguments = {"vectorization_mode": "remote", "address": address_in(line)}
        with gym.make_vec(made, **arguments) as remote:
            assert remote.reset(seed=1)[0].shape == gym.make_vec(made, 2).reset(seed=1)[0].shape


def test_an_environment(run):
    with serving("CartPole-v1", "--interface", "environment") as (_, line):
        assert line.rstrip().endswith("without keys")
        host, port = address_in(line).removeprefix("tcp://").split(":")
        remote = Environment.create(remote="socket-client", host=host, port=int(port))
        parallel, states = remote.reset(num_parallel=7)
        assert parallel.tolist() == list(range(7)) and states.shape == (7, 4)
        with pytest.raises(gym.error.InvalidArgument, match="num_parallel: expected at most 64"):
            remote.reset(num_parallel=65)
        remote.close()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["Nope-v1"], "Nope"),
        (["CartPole-v1", "--host", "0.0.0.0"], "keys: expected a folder of keys"),
        (["CartPole-v1", "--keys", "no_such_folder"], "keys: expected a private key"),
        (["CartPole-v1", "--port", "70000"], "port: expected at most 65535"),
    ],
)
def test_errors_are_one_line(run, words, message):
    ran = run("serve", *words)
    assert ran.code == 2 and message in ran.err and ran.err.count("\n") == 1
