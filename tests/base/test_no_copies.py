"""Objects that own processes, connections, files or views refuse to be copied."""

from __future__ import annotations

import contextlib
import copy
import pickle

import numpy as np
import pytest

import gymcore as gym
from gymcore.environment import Environment
from gymcore.error import CopyNotSupported
from gymcore.learn import PPO, DatasetWriter, ReplayBuffer, RolloutCollector
from gymcore.remote import HostedVectorEnv, RemoteVectorEnv, Server
from gymcore.vector.workers.default_loop import _async_worker
from tests.remote.servers import running

COPIES = (copy.copy, copy.deepcopy, pickle.dumps)


def make():
    return gym.make("CartPole-v1")


def policy(observations):
    zeros = np.zeros(len(observations), np.float32)
    return np.zeros(len(observations), np.int64), zeros, zeros


def hosted():
    return HostedVectorEnv(gym.make_vec("CartPole-v1", num_envs=2), "CartPole-v1")


@contextlib.contextmanager
def remote():
    with running(hosted()) as server, RemoteVectorEnv("CartPole-v1", server.address) as envs:
        yield envs


def collector(double_buffered):
    envs = gym.make_vec("CartPole-v1", num_envs=2)
    return RolloutCollector(envs, policy, 4, double_buffered=double_buffered)


def log(folder):
    pytest.importorskip("tensorboardX")
    from gymcore.learn.tensorboard import TensorBoardLog

    return contextlib.closing(TensorBoardLog(folder))


def dataset(folder):
    pytest.importorskip("h5py")
    return DatasetWriter(folder / "walks-v0", gym.make_vec("CartPole-v1", num_envs=2))


OWNERS = {
    "async": lambda _: gym.vector.AsyncVectorEnv([make]),
    "custom_worker": lambda _: gym.vector.AsyncVectorEnv([make], worker=_async_worker),
    "process": lambda _: contextlib.closing(
        Environment.create(environment="gym", level="CartPole-v1", remote="multiprocessing")
    ),
    "server": lambda _: Server(hosted()),
    "remote": lambda _: remote(),
    "collector": lambda _: contextlib.nullcontext(collector(False)),
    "collector_of_halves": lambda _: contextlib.nullcontext(collector(True)),
    "tensorboard": log,
    "ppo": lambda _: contextlib.closing(PPO("CartPole-v1", num_envs=2, num_steps=8)),
    "replay_buffer": lambda _: contextlib.nullcontext(
        ReplayBuffer(gym.make_vec("CartPole-v1", num_envs=2), 8)
    ),
    "dataset": dataset,
}


@pytest.mark.parametrize("owner", OWNERS)
def test_copies_and_pickles_are_refused(owner, tmp_path):
    with OWNERS[owner](tmp_path) as original:
        for take in COPIES:
            with pytest.raises(CopyNotSupported, match=type(original).__name__) as caught:
                take(original)
            assert isinstance(caught.value, TypeError)


def test_what_to_send_instead_of_an_agent():
    message = r"PPO: .*`save\(path\)`, then `PPO\.load"
    with (
        contextlib.closing(PPO("CartPole-v1", num_envs=2, num_steps=8)) as ppo,
        pytest.raises(CopyNotSupported, match=message),
    ):
        pickle.dumps(ppo)


def test_copies_in_wrappers_and_after_close():
    envs = gym.wrappers.vector.RecordEpisodeStatistics(gym.vector.AsyncVectorEnv([make]))
    for _ in range(2):
        for take in COPIES[1:]:
            with pytest.raises(CopyNotSupported, match="AsyncVectorEnv"):
                take(envs)
        envs.close()
