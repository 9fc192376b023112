"""Worlds of agents: compiled ones, and a model in Python of the contract that the engine keeps."""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import gymcore_ext
from gymcore import jit
from gymcore.native.array_vector_env import ArrayVectorEnv
from gymcore.native.struct_env import StructEnv
from gymcore.spaces import Box, Discrete
from gymcore.vector.agents import Agents

HERE = Path(__file__).parent
LIMITLESS = 10**9


@cache
def _library() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        library = str(Path(folder, "agents.so"))
        subprocess.run(
            [*shlex.split(os.environ.get("CC", "cc")), "-O1", "-shared", "-fPIC", "-o", library,
             f"-I{gymcore_ext.get_include()}", str(HERE / "agents.c")],
            check=True,
        )  # fmt: skip
        return ctypes.CDLL(library)


def _functions(name: str) -> object:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    table = ctypes.c_char.in_dll(_library(), name)
    return new(ctypes.addressof(table), _CAPSULE, None)


_CAPSULE = b"gymcore_ext.lane_functions"


# `herd` declares no state for critics.
STATE_SPACE = Box(-np.inf, np.inf, (2, 3), np.float32)
BOX = Box(-np.inf, np.inf, (2,), np.float64)
SPACES: dict[str, dict[str, Any]] = {
    "herd": {"agents": 3, "observation_space": BOX, "action_space": Discrete(3)},
    "chase": {
        "agents": {"mouse": ("mouse_0", "mouse_1"), "cat": ("cat_0",)},
        "observation_space": {"mouse": BOX, "cat": Box(-np.inf, np.inf, (1,), np.float64)},
        "action_space": {"mouse": Discrete(3, start=-1), "cat": Discrete(2)},
    },
}


class Herd(jit.Env):
    """The world of agents.c."""

    AGENTS = 3
    observation_space, action_space = BOX, Discrete(3)

    class State:
        position: jit.array(float, 3)  # type: ignore[valid-type]
        life: jit.array(int, 3)  # type: ignore[valid-type]
        world_life: int
        steps: int

    class Parameters:
        scale: float = 1.0

    class Infos:
        steps: int
        action_mask: jit.array(np.int8, 3, 3)  # type: ignore[valid-type]

    def reset(state, parameters, rng):  # type: ignore
        state.world_life = 1 + int(rng.random() * 8)
        for k in range(3):
            state.life[k] = 1 + int(rng.random() * 5)
            state.position[k] = rng.random()

    def step(state, parameters, action, rng, agents):  # type: ignore
        state.steps += 1
        for k in range(3):
            total = 0.0
            for j in range(3):
                total += action[j] * (1.0 if j == k else 0.25)
            state.position[k] += total
            if not agents.active[k]:
                agents.rewards[k] = 99.0
                agents.terminated[k] = True
                continue
            agents.rewards[k] = parameters.scale * state.position[k] + rng.random()
            if state.steps == state.life[k]:
                agents.terminated[k] = state.life[k] % 2 == 1
                agents.truncated[k] = state.life[k] % 2 == 0
        return state.steps == state.world_life

    def observe(state, parameters, observation):  # type: ignore
        for k in range(3):
            observation[k, 0] = state.position[k]
            observation[k, 1] = state.life[k]

    def info(state, parameters, info):  # type: ignore
        info.steps = state.steps
        for k in range(3):
            for j in range(3):
                info.action_mask[k, j] = (state.steps + k + j) % 2


class Chase(Herd):
    """The same with two groups of agents."""

    AGENTS = SPACES["chase"]["agents"]
    observation_space = SPACES["chase"]["observation_space"]
    action_space = SPACES["chase"]["action_space"]
    state_space = STATE_SPACE

    def central_state(state, parameters, values):  # type: ignore
        for k in range(3):
            values[0, k] = parameters.scale * state.position[k]
            values[1, k] = state.life[k]

    def observe(state, parameters, observation):  # type: ignore
        observation.cat[0, 0] = state.position[2]
        for k in range(2):
            observation.mouse[k, 0] = state.position[k]
            observation.mouse[k, 1] = state.life[k]


class ArrayHerd(ArrayVectorEnv):
    """The same in NumPy."""

    name = "herd"

    def __init__(
        self, num_envs: int, limit: int | None = None, num_threads: int = 1, **options: Any
    ) -> None:
        super().__init__(**SPACES[self.name], num_envs=num_envs, max_episode_steps=limit, **options)
        self.position, self.life = np.zeros((num_envs, 3)), np.zeros((num_envs, 3), np.int64)
        self.steps, self.world_life = np.zeros((2, num_envs), np.int64)

    def reset_lanes(self, mask: Any) -> Any:
        draws = self.random(mask, 7)
        self.steps[mask] = 0
        self.world_life[mask] = 1 + (draws[:, 0] * 8).astype(np.int64)
        self.life[mask] = 1 + (draws[:, 1::2] * 5).astype(np.int64)
        self.position[mask] = draws[:, 2::2]
        return self._observations(), self._infos()

    def step_lanes(self, actions: Any) -> Any:
        if isinstance(actions, dict):
            actions = np.concatenate([actions["mouse"], actions["cat"]], axis=1)
        self.steps += 1
        for k in range(3):
            total = np.zeros(self.num_envs)
            for j in range(3):
                total += actions[:, j] * (1.0 if j == k else 0.25)
            self.position[:, k] += total
        rewards = np.where(self.active, self.position, 99.0)
        for k in range(3):
            rewards[self.active[:, k], k] += self.random(self.active[:, k], 1)[:, 0]
        ends = (self.steps[:, None] == self.life) | ~self.active
        terminated = ends & (self.life % 2 == 1) | (self.steps == self.world_life)[:, None]
        truncated = ends & (self.life % 2 == 0)
        return self._observations(), rewards, terminated, truncated, self._infos()

    def _infos(self) -> Any:
        marks = self.steps[:, None, None] + np.arange(3)[:, None] + np.arange(3)
        return {"steps": self.steps, "action_mask": (marks % 2).astype(np.int8)}

    def _observations(self) -> Any:
        return np.stack([self.position, self.life], axis=2)


class ArrayChase(ArrayHerd):
    """The same with two groups of agents."""

    name = "chase"

    def _observations(self) -> Any:
        rows = super()._observations()
        return {"cat": rows[:, 2:, :1], "mouse": rows[:, :2]}


@cache
def world_class(name: str) -> Any:
    """Return `herd`, whose agents share spaces, or `chase`, a world with two groups.

    They are compiled from C, or by `gymcore.jit` if the name begins with that.
    """
    if name.startswith("jit"):
        return {"jit-herd": Herd, "jit-chase": Chase}[name]
    return StructEnv.of(
        name.capitalize(),
        functions=_functions(name),
        lane_bytes=ctypes.c_int64.in_dll(_library(), "lane_bytes").value,
        parameters={"scale": 1.0},
        infos={"steps": np.int64, "action_mask": (np.int8, (3, 3))},
        state_space=STATE_SPACE if name == "chase" else None,
        **SPACES[name],
    )


class World:
    """One world, as the compiled functions compute it; what the engine does is in `Model`."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.rng = name.rpartition("-")[2], np.random.default_rng(seed)

    def reset(self) -> None:
        def draw(count: int) -> int:
            return 1 + int(self.rng.random() * count)

        self.steps, self.world_life = 0, draw(8)
        self.life, self.position = [0] * 3, [0.0] * 3
        for k in range(3):
            self.life[k], self.position[k] = draw(5), self.rng.random()

    def step(self, actions: list[int], active: list[bool]) -> tuple[list[float], list[int], int]:
        self.steps += 1
        rewards, ends = [0.0] * 3, [0] * 3
        for k in range(3):
            self.position[k] += sum(a * (1.0 if j == k else 0.25) for j, a in enumerate(actions))
            if active[k]:
                rewards[k] = self.position[k] + self.rng.random()
                if self.steps == self.life[k]:
                    ends[k] = 1 if self.life[k] % 2 else 2
        return rewards, ends, int(self.steps == self.world_life)

    def observe(self) -> list[list[float]]:
        rows = [[self.position[k], float(self.life[k])] for k in range(3)]
        return rows if self.name == "herd" else [*rows[:2], rows[2][:1]]

    def state(self, visible: list[bool]) -> list[list[float]]:
        if self.name == "chase":
            return [self.position, [float(life) for life in self.life]]
        pairs = zip(self.observe(), visible, strict=True)
        return [number * seen for row, seen in pairs for number in row]  # type: ignore[return-value]


class Model:
    """Worlds in a batch, stepped one after another: the contract in as few lines as possible."""

    def __init__(self, name: str, seeds: list[int], mode: str, limit: int | None) -> None:
        self.name, self.mode, self.limit = name, mode, limit or LIMITLESS
        self.lowest = [0, 0, 0] if "herd" in name else [-1, -1, 0]
        self.worlds = [World(name, seed) for seed in seeds]
        for world in self.worlds:
            self.begin(world)

    def begin(self, world: Any) -> None:
        world.reset()
        world.active, world.ended = [True] * 3, False
        world.returns, world.lengths, world.elapsed = [0.0] * 3, [0] * 3, 0

    def observations(self, world: World, visible: list[bool]) -> list[list[float]]:
        rows = world.observe()
        return [row if seen else [0.0] * len(row) for row, seen in zip(rows, visible, strict=True)]

    def step(self, lane: int, actions: list[int]) -> dict[str, Any]:
        """Return the results of a world, as lists over agents."""
        world: Any = self.worlds[lane]
        if world.ended and self.mode == "NextStep":
            self.begin(world)
            return {
                **{"observations": world.observe(), "rewards": [0.0] * 3, "active": [True] * 3},
                **{"terminated": [False] * 3, "truncated": [False] * 3},
                "begun": True,
            }
        active = world.active
        used = [a if on else low for a, on, low in zip(actions, active, self.lowest, strict=True)]
        rewards, ends, world_end = world.step(used, active)
        world.elapsed += 1
        limit = 2 if world.elapsed >= self.limit else 0
        flags = [(e | world_end | limit) if on else 0 for e, on in zip(ends, active, strict=True)]
        world.active = [on and not flag for on, flag in zip(active, flags, strict=True)]
        world.returns = [a + b for a, b in zip(world.returns, rewards, strict=True)]
        world.lengths = [length + on for length, on in zip(world.lengths, active, strict=True)]
        world.ended = not any(world.active)
        observations = self.observations(world, active)
        results = {
            **{"observations": observations, "rewards": rewards, "active": active},
            "terminated": [bool(flag & 1) for flag in flags],
            "truncated": [bool(flag & 2) for flag in flags],
        }
        if world.ended:
            results["episode"] = (world.returns, world.lengths, world.elapsed)
        if world.ended and self.mode == "SameStep":
            results["final"] = observations
            self.begin(world)
            results["observations"] = world.observe()
        return results


def vector_class(name: str) -> Any:
    """Return the class of the batches of `world_class`, or for `array-...` one in NumPy."""
    arrays = {"array-herd": ArrayHerd, "array-chase": ArrayChase}
    return arrays[name] if name in arrays else world_class(name).vector_class


LANE_NAMES = ("herd", "chase", "jit-herd", "jit-chase")
NAMES = (*LANE_NAMES, "array-herd", "array-chase")
MODES = ("NextStep", "SameStep", "Disabled")
WAYS = ("step", "step_into", "bind_step", "rollout", "step_lanes", "send")


def rows_of(agents: Agents, observations: Any, lane: int) -> list[list[float]]:
    """Return the observations of a world's agents, in their order."""
    if agents.groups is None:
        return [row.tolist() for row in observations[lane]]
    return [row.tolist() for group in agents.groups for row in observations[group][lane]]


def joined(agents: Agents, actions: npt.NDArray[np.int64]) -> Any:
    """Return actions [..., 3] in the layout of the action space."""
    if agents.groups is None:
        return actions
    return {"mouse": actions[..., :2].copy(), "cat": actions[..., 2:].copy()}


def first(tree: Any, t: int = 0) -> Any:
    """Return the first step, or step `t`, of the arrays of a rollout."""
    return {k: first(v, t) for k, v in tree.items()} if isinstance(tree, dict) else tree[t]


def step_by(way: str, envs: Any, actions: Any) -> tuple[Any, ...]:
    """Step all worlds in one of the ways; return what `step` returns."""
    n = envs.num_envs
    if way == "step":
        return envs.step(actions)
    if way == "send":
        envs.send(actions)
        return envs.recv()
    if way == "step_lanes":
        return envs.step_lanes(actions, np.arange(n))
    if way == "rollout":
        one = (
            {k: v[None] for k, v in actions.items()} if isinstance(actions, dict) else actions[None]
        )
        last = True if envs.autoreset_mode.value == "SameStep" else None
        steps = envs.rollout(one, final_observations=last)
        infos = first(steps.infos)
        if last:
            infos["final_obs"] = first(steps.final_observations)
        return (*map(first, steps[:4]), infos)
    arrays = {
        "observations": envs._empty_observations((n,)),
        "rewards": np.full((n, 3), 7.0),
        "terminated": np.ones((n, 3), bool),
        "truncated": np.ones((n, 3), bool),
    }
    if way == "step_into":
        infos = envs.step_into(actions, **arrays)
    else:
        infos = envs.bind_step(actions, **arrays)()
    return (*arrays.values(), infos)


def check_world(agents: Agents, lane: int, results: Any, expected: dict[str, Any]) -> None:
    observations, rewards, terminated, truncated, infos = results
    assert rows_of(agents, observations, lane) == expected["observations"]
    assert rewards[lane].tolist() == expected["rewards"]
    assert terminated[lane].tolist() == expected["terminated"]
    assert truncated[lane].tolist() == expected["truncated"]
    assert infos["active"][lane].tolist() == expected["active"]
    if "episode" in expected:
        returns, lengths, steps = expected["episode"]
        episode = infos["episode"]
        np.testing.assert_allclose(episode["r"][lane], sum(returns), rtol=1e-12)
        assert episode["agent_r"][lane].tolist() == returns
        assert episode["agent_l"][lane].tolist() == lengths
        assert episode["l"][lane] == steps
    elif "episode" in infos:
        assert not infos["_episode"][lane]
        assert not infos["episode"]["agent_r"][lane].any()
    if "final" in expected:
        final = infos["final_obs"]
        if agents.groups is None or not isinstance(final, np.ndarray):
            assert rows_of(agents, final, lane) == expected["final"]
        else:
            assert rows_of(agents, {k: [v] for k, v in final[lane].items()}, 0) == expected["final"]
