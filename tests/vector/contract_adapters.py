"""Engines around others, and how the tests make them: all are compared with `SyncVectorEnv`."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

import gymcore as gym
from gymcore.compat import gym21, gym26, gymnasium029
from gymcore.interop.pettingzoo import ParallelVectorEnv
from gymcore.remote import HostedVectorEnv, RemoteVectorEnv
from gymcore.vector import AutoresetMode
from tests.remote.servers import running
from tests.vector.contract import ARGUMENTS, BACKENDS, SAME_STEP, make_envs
from tests.vector.custom_loops import simple_loop

LIMIT = 3  # steps of every episode


def make_one(env_id: str, namespace: Any = gym) -> Any:
    """Make a single environment whose episodes end at the limit."""
    return namespace.make(env_id, max_episode_steps=LIMIT, **ARGUMENTS.get(env_id, {}))


class OneAgent:
    """A game of PettingZoo's parallel interface, with one agent in an environment."""

    possible_agents = ("agent",)
    metadata: dict[str, Any] = {"name": "one_agent"}  # noqa: RUF012

    def __init__(self, env: Any) -> None:
        self.env = env
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Any:
        return self.env.observation_space

    def action_space(self, agent: str) -> Any:
        return self.env.action_space

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents = ["agent"]
        observation, info = self.env.reset(seed=seed, options=options)
        return {"agent": observation}, {"agent": info}

    def step(self, actions: dict[str, Any]) -> Any:
        results = self.env.step(actions["agent"])
        if results[2] or results[3]:
            self.agents = []
        return tuple({"agent": one} for one in results)

    def close(self) -> None:
        self.env.close()


class OneAgentWorlds:
    """Worlds of one agent, without the axis of agents."""

    def __init__(self, envs: Any) -> None:
        self.envs = envs

    def reset(self, **kwargs: Any) -> Any:
        return self.without_agents(self.envs.reset(**kwargs))

    def step(self, actions: Any) -> Any:
        with contextlib.suppress(ValueError, IndexError):  # others are refused by the worlds
            actions = np.asarray(actions)[:, None]
        return self.without_agents(self.envs.step(actions))

    def without_agents(self, results: Any) -> Any:
        *parts, infos = results
        infos.pop("active")
        return *map(first_of_each, parts), first_of_each(infos)

    def close(self) -> None:
        self.envs.close()


def first_of_each(batch: Any) -> Any:
    """Return the row of the first agent of each world, in arrays and tuples of any structure."""
    if isinstance(batch, dict):
        marks = {key: value for key, value in batch.items() if str(key).startswith("_")}
        return {**{key: first_of_each(value) for key, value in batch.items()}, **marks}
    if isinstance(batch, tuple):
        return batch[0]  # texts: a batch of tuples is a tuple of batches
    if batch.dtype == object:
        for lane, world in enumerate(batch):
            if isinstance(world, dict):
                batch[lane] = {key: value[0] for key, value in world.items()}
        return batch
    return batch[:, 0].copy() if batch.ndim > 1 else batch


class Era:
    """An engine of an older namespace, with the results of today's."""

    def __init__(self, envs: Any, done_api: bool = False) -> None:
        self.envs = envs
        self.done_api = done_api

    def reset(self, seed: int) -> Any:
        if self.done_api:
            self.envs.seed(seed)
            return self.envs.reset(), {}
        return self.envs.reset(seed=seed)

    def step(self, actions: Any) -> Any:
        results = self.envs.step(actions)
        return modern_step(*results) if self.done_api else results

    def close(self) -> None:
        self.envs.close()


def modern_step(observations: Any, rewards: Any, dones: Any, infos: list[dict[str, Any]]) -> Any:
    """Return a step of the four-value interface in today's layout, without other infos."""
    limits = np.array([info.get("TimeLimit.truncated", False) for info in infos])
    last = [info.get("terminal_observation") for info in infos]
    finals = {"final_obs": last, "_final_obs": dones} if dones.any() else {}
    return observations, rewards, dones & ~limits, dones & limits, finals


def eras(env_fns: Any, namespace: Any, engine: str) -> Era:
    """Return an engine of an older namespace."""
    return Era(getattr(namespace.vector, engine)(env_fns), namespace is gym21)


@contextlib.contextmanager
def adapter(name: str, env_id: str, mode: AutoresetMode, num_envs: int = 3) -> Iterator[Any]:
    """Yield an engine of the adapter."""
    fns = [functools.partial(make_one, env_id)] * num_envs
    with contextlib.ExitStack() as stack:
        if name == "remote":
            hosted = gym.vector.SyncVectorEnv(fns, autoreset_mode=mode)
            stack.callback(hosted.close)
            server = stack.enter_context(running(HostedVectorEnv(hosted, env_id)))
            envs: Any = RemoteVectorEnv(env_id, server.address)
        elif name == "custom":
            envs = gym.vector.AsyncVectorEnv(fns, worker=simple_loop, autoreset_mode=mode)
        elif name == "parallel":
            games = [lambda fn=fn: OneAgent(fn()) for fn in fns]
            envs = OneAgentWorlds(ParallelVectorEnv(games, autoreset_mode=mode))
        elif name in ("async", "pipes"):
            shared = name == "async"
            envs = gym.vector.AsyncVectorEnv(fns, shared, autoreset_mode=mode, num_workers=2)
        elif name == "ray":
            envs = make_envs(env_id, "ray", mode, num_envs, max_episode_steps=LIMIT)
        elif name in ERAS:
            namespace, engine = ERAS[name]
            fns = [functools.partial(make_one, env_id, namespace)] * num_envs
            envs = eras(fns, namespace, engine)
        else:
            assert name == "sync"
            envs = gym.vector.SyncVectorEnv(fns, autoreset_mode=mode)
        stack.callback(envs.close)
        yield envs


ERAS = {
    f"{name}-{engine}": (namespace, f"{engine}VectorEnv")
    for name, namespace in (
        ("gym21", gym21),
        ("gym26", gym26),
        ("gymnasium029", gymnasium029),
    )
    for engine in ("Sync", "Async")
}
ADAPTERS = ("sync", "async", "pipes", "custom", "remote", "parallel", *ERAS)
ADAPTERS += ("ray",) if "ray" in BACKENDS else ()
# Adapters that know one mode, and those that step with `send` and `recv`.
ONE_MODE = dict.fromkeys(ERAS, SAME_STEP)
SENDING = ("sync", "async", "pipes", "remote")
