"""Random programs over vector environments, and their results in a form that compares."""

from __future__ import annotations

from typing import Any

import numpy as np

import gymcore as gym
from gymcore import error
from gymcore.envs.atari.vector_env import AtariVectorEnv, PreprocessedAtariEnv
from gymcore.specs import EnvSpec
from tests.jit.classes import Arm, CartPole, Everything
from tests.vector.array_envs import ArrayCartPole

FAMILIES = ("classic_control", "toy_text", "box2d", "mujoco")

# Cases that no id of the package covers: preprocessed games, physics in Python by lane and batch.
OTHERS = {
    "Pong": EnvSpec(
        "hostile/Pong-v0",
        PreprocessedAtariEnv,
        vector_entry_point=AtariVectorEnv,
        kwargs={"game": "pong", "max_num_frames_per_episode": 200},
    ),
    **{
        cls.__name__: EnvSpec(
            f"hostile/{cls.__name__}-v0", cls, vector_entry_point=cls.vector_class
        )
        for cls in (CartPole, Everything, Arm)
    },
    "ArrayCartPole": EnvSpec("hostile/Array-v0", vector_entry_point=ArrayCartPole),
}


def spec_of(name: str) -> str | EnvSpec:
    """Return what `make` and `make_vec` take for an id or a name in `OTHERS`."""
    return OTHERS.get(name, name)


def ids_of(*families: str) -> list[str]:
    """Return every registered id of these families that can be made."""
    folders = tuple(f"gymcore.envs.{family}" for family in families)
    return [
        id
        for id, spec in gym.registry.items()
        if str(spec.entry_point).startswith(folders) and "retired" not in str(spec.entry_point)
    ]


def plain(value: Any) -> Any:
    """Return the value in a form that is equal if the bytes are equal, nan included."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [plain(each) for each in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return str(value.dtype), value.shape, value.tobytes()
    return repr(value)


def action_of(rng: np.random.Generator, space: Any) -> Any:
    """Return a valid action; in a box it is sometimes far outside the bounds."""
    if isinstance(space, gym.spaces.Discrete):
        return int(rng.integers(space.start, space.start + space.n))
    if isinstance(space, gym.spaces.MultiDiscrete):
        return rng.integers(space.start, space.start + space.nvec)
    scale = rng.choice([0.0, 1.0, 1.0, 50.0])
    return (rng.uniform(-1, 1, space.shape) * scale).astype(space.dtype)


def program(rng: np.random.Generator, envs: Any, length: int, *, states: bool = True) -> list[Any]:
    """Return calls of a vector environment, as names and arguments; the first one is a reset."""
    n = envs.num_envs
    calls: list[Any] = [("reset", {"seed": int(rng.integers(2**32))})]
    names = ["step", "reset", "mask", "lanes", "end", *(["save", "load"] if states else [])]
    weights = np.array([20, 1, 2, 3, 1, 2, 2][: len(names)], float)
    for name in rng.choice(names, length, p=weights / weights.sum()).tolist():
        lanes = rng.permutation(n)[: rng.integers(1, n + 1)]
        mask = np.isin(np.arange(n), lanes)
        seed = None if rng.random() < 0.5 else int(rng.integers(2**32))
        argument: Any = None
        if name in ("step", "lanes"):
            rows = [action_of(rng, envs.single_action_space) for _ in range(n)]
            argument = (np.array(rows), lanes)
        elif name == "reset":
            argument = {"seed": seed}
        elif name == "mask":
            argument = {"seed": seed, "options": {"reset_mask": mask}}
        elif name in ("save", "load"):
            argument = lanes
        elif name == "end":
            argument = mask
        calls.append((name, argument))
    return calls


def run(envs: Any, calls: list[Any]) -> list[Any]:
    """Return the result of each call, or the class of its exception from gymcore."""
    results: list[Any] = []
    saved: Any = None
    for name, argument in calls:
        try:
            if name in ("reset", "mask"):
                result = envs.reset(**argument)[0]
            elif name == "step":
                result = envs.step(argument[0])[:4]
            elif name == "lanes":
                result = envs.step(argument[0][argument[1]], env_ids=argument[1])[:4]
            elif name == "end":
                result = envs.end_episodes(argument)
            elif name == "save":
                saved, result = envs.get_state(argument), None
            elif saved is not None and len(saved) == len(argument):
                result = envs.set_state(saved, argument)
        except error.Error as problem:
            result = [each.__name__ for each in type(problem).__mro__ if each is not type(problem)]
            result = [name for name in result if name != "EnvironmentFailed"]
        else:
            result = plain(result)
        results.append((name, result))
    return results
