"""Actions of many types: the engines and single environments convert or refuse them alike."""

from __future__ import annotations

import array as arrays
import decimal
import fractions
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error, jit, spaces

N = 2
REFUSED = "refused"


class Sums(jit.Env):
    """Adds up its actions."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)
    action_space = spaces.MultiDiscrete([3, 4])

    class State:
        total: float

    def reset(state, parameters, rng):
        state.total = 0.0

    def step(state, parameters, action, rng):
        state.total += action[0] + 10.0 * action[1]
        return state.total, False

    def observe(state, parameters, observation):
        observation[0] = state.total


class Switches(Sums):
    action_space = spaces.MultiBinary(2)


def maker(name: str) -> Callable[[], gym.Env]:
    cls = {"MultiDiscrete": Sums, "MultiBinary": Switches}.get(name)
    return lambda: gym.make(name, disable_env_checker=True) if cls is None else cls(debug=True)


def batch(name: str, engine: str) -> Any:
    if engine != "native":
        return {"sync": gym.vector.SyncVectorEnv, "async": gym.vector.AsyncVectorEnv}[engine](
            [maker(name)] * N
        )
    cls: Any = type(maker(name)())
    return cls.vector_class(N, debug=True) if issubclass(cls, Sums) else gym.make_vec(name, N)


VALUES: dict[str, list[Any]] = {
    "CartPole-v1": [[0, 1]],
    "LunarLander-v3": [[3, 0]],
    "MultiDiscrete": [[[0, 1], [1, 3]], [[0, 1], [1, 1]]],
    "MultiBinary": [[[0, 1], [1, 1]]],
    "Pendulum-v1": [[[0.1], [1.5]], [[1], [-2]], [[1e300], [1.0]], [[2**62 + 1], [3]]],
    "MountainCarContinuous-v0": [[[0.1], [-0.3]]],
    "HalfCheetah-v5": [[[0.1] * 6, [-0.3] * 6], [[1] * 6, [2**62 + 1] * 6], [[1e300] * 6] * 2],
    "BipedalWalker-v3": [[[0.1, -0.2, 0.3, 1.0]] * 2],
}
DTYPES = (
    *(np.float16, np.float32, np.float64, np.longdouble, ">f4", ">f8", np.int8, np.int16, np.int32),
    *(np.int64, np.uint8, np.uint64, ">i8", np.bool_, np.complex128, object, "U8", "datetime64[s]"),
)
NUMBERS = (
    *(int, float, bool, complex, str, fractions.Fraction, decimal.Decimal),
    *(np.float16, np.longdouble, np.uint64, np.int8),
)


class Subclass(np.ndarray):
    """An array of another class."""


class Convertible:
    """An object with `__array__`."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values


def containers(values: list[Any], folder: Path) -> dict[str, tuple[Any, list[Any]]]:
    """Return batches of actions by name, and the actions of the lanes as single ones."""

    def mapped(kind: Any, value: Any) -> Any:
        return [mapped(kind, each) for each in value] if isinstance(value, list) else kind(value)

    found: dict[str, tuple[Any, list[Any]]] = {}
    for kind in NUMBERS:
        try:
            made = mapped(kind, values)
        except (OverflowError, ValueError):
            continue
        found[f"list of {kind.__name__}"] = made, list(made)
    for dtype in DTYPES:
        made = np.array(values).astype(dtype)
        # An element of a vector of objects is the object itself.
        found[f"array of {np.dtype(dtype)}"] = (
            made,
            [each if isinstance(each, np.ndarray) else np.array(each, dtype)[()] for each in made],
        )
    plain = np.array(values)
    rows = list(plain)
    floats = plain.astype(np.float32)
    memory = np.memmap(folder / "actions", plain.dtype, "w+", shape=plain.shape)
    memory[:] = plain
    found |= {
        "tuple": (tuple(values), rows),
        "view": (np.repeat(plain, 2, 0)[::2], rows),
        "subclass": (plain.view(Subclass), rows),
        "memmap": (memory, rows),
        "memoryview": (memoryview(plain), rows),
        "masked": (np.ma.masked_array(plain), rows),
        "convertible": (Convertible(plain), rows),
        "convertible float32": (Convertible(floats), list(floats)),
    }
    if plain.ndim == 1:
        found["array.array"] = arrays.array("l" if plain.dtype.kind == "i" else "d", values), rows
    try:
        import torch
    except ImportError:
        return found
    found["tensor"] = torch.tensor(plain), rows
    found["float32 tensor"] = torch.tensor(floats), list(floats)
    return found


def rewards_of(envs: Any, actions: Any) -> Any:
    envs.reset(seed=1)
    try:
        return envs.step(actions)[1].tolist()
    except error.InvalidAction:
        return REFUSED


def single_rewards(envs: list[Any], actions: list[Any]) -> Any:
    """Return the rewards of the lanes' actions, one after the other, or that one is refused."""
    rewards = []
    for lane, (env, action) in enumerate(zip(envs, actions, strict=True)):
        env.reset(seed=1 + lane)
        try:
            rewards.append(float(env.step(action)[1]))
        except error.InvalidAction:
            return REFUSED
    return rewards


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # casts of the test that overflow
@pytest.mark.parametrize("name", VALUES)
def test_all_engines_convert_or_refuse_alike(name: str, tmp_path: Path) -> None:
    engines = {engine: batch(name, engine) for engine in ("native", "sync", "async")}
    singles = [maker(name)().unwrapped for _ in range(N)]
    results: dict[str, Any] = {}
    for values in VALUES[name]:
        for form, (actions, rows) in containers(values, tmp_path).items():
            found = {engine: rewards_of(envs, actions) for engine, envs in engines.items()}
            if "object" not in form or np.ndim(rows[0]):
                found["single"] = single_rewards(singles, rows)
            assert len(set(map(str, found.values()))) == 1, f"{values} as {form}: {found}"
            results.setdefault(form, found["native"])
    for envs in engines.values():
        envs.close()
    # Not everything is refused.
    assert results["list of int" if name in ("CartPole-v1", "MultiBinary") else "tuple"] != REFUSED
    for form in ("complex128", "object", "<U8", "datetime64[s]"):
        assert results[f"array of {form}"] == REFUSED
    for form in ("Fraction", "Decimal", "str", "complex"):
        assert results.get(f"list of {form}", REFUSED) == REFUSED
    continuous = singles[0].action_space.dtype.kind == "f"
    assert (results["array of float16"] == REFUSED) is not continuous
    assert (results["array of uint64"] == REFUSED) is not continuous


def test_the_way_of_stepping_does_not_matter() -> None:
    """HalfCheetah computes costs of float32 actions in float32, whatever holds them."""
    torch = pytest.importorskip("torch")
    envs: Any = gym.make_vec("HalfCheetah-v5", num_envs=N)
    single = np.full((N, 6), 0.1, np.float32)

    def step(actions: Any) -> Any:
        return envs.step(actions)[1].tolist()

    def step_some(actions: Any) -> Any:
        return envs.step(actions, [0, 1])[1].tolist()

    def bound(actions: Any) -> Any:
        rewards, flags = np.zeros(N), np.zeros((2, N), bool)
        results = {"rewards": rewards, "terminated": flags[0], "truncated": flags[1]}
        envs.bind_step(actions, observations=envs._batch.empty_observations((N,)), **results)()
        return rewards.tolist()

    def rollout(actions: Any) -> Any:
        return envs.rollout(actions[None]).rewards[0].tolist()

    def send(actions: Any) -> Any:
        envs.send(actions)
        return envs.recv()[1].tolist()

    found = set()
    for actions in (single, torch.tensor(single), single.view(Subclass)):
        for way in (step, step_some, bound, rollout, send):
            envs.reset(seed=1)
            found.add(str(way(actions)))
    envs.reset(seed=1)
    assert len(found) == 1 and str(step(single.astype(float))) not in found
    envs.close()
