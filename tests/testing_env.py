"""Environments that can be built for gymcore and for Gymnasium, and a strict comparison.

`make_random_env(gym)` and `make_counting_env(gym)` return a class deriving from `gym.Env`, so that
the same environment runs under both packages side by side.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from tests.equal import assert_equal_arrays

OBSERVATION_KINDS = (
    "box",
    "image",
    "scalar",
    "discrete",
    "multi_discrete",
    "multi_binary",
    "text",
    "tuple",
    "dict",
    "sequence",
    "graph",
    "one_of",
)


def make_space(gym: ModuleType, kind: str) -> Any:
    """Return one of a variety of spaces, built by the given package."""
    s = gym.spaces
    if kind == "tuple":
        return s.Tuple((make_space(gym, "box"), make_space(gym, "text"), s.Discrete(4)))
    if kind == "dict":
        goal = s.Tuple((s.Discrete(5, start=-2), s.MultiBinary((2, 2))))
        return s.Dict({"position": make_space(gym, "box"), "goal": goal, "camera": s.Dict(x=goal)})
    if kind == "one_of":
        return s.OneOf((s.Discrete(3), make_space(gym, "box")))
    if kind == "graph":
        return s.Graph(make_space(gym, "box"), s.Discrete(3))
    return {
        "box": lambda: s.Box(-10, 10, (2,), np.float32),
        "image": lambda: s.Box(0, 255, (3, 3), np.uint8),
        "scalar": lambda: s.Box(-1, 1, (), np.float64),
        "discrete": lambda: s.Discrete(50, start=-3),
        "multi_discrete": lambda: s.MultiDiscrete([5, 6], start=[1, 2]),
        "multi_binary": lambda: s.MultiBinary(4),
        "text": lambda: s.Text(5, charset="abcd"),
        "sequence": lambda: s.Sequence(s.Discrete(3)),
    }[kind]()


def make_random_env(gym: ModuleType) -> type:
    """Return an environment with random episodes and every kind of info."""

    class RandomEnv(gym.Env):
        metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

        def __init__(self, kind: str = "box", limit: int = 12, render_mode: str | None = None):
            self.observation_space = make_space(gym, kind)
            self.action_space = gym.spaces.Dict(
                button=gym.spaces.Discrete(3), stick=gym.spaces.Box(-1, 1, (2,))
            )
            self.limit = limit
            self.render_mode = render_mode
            self.elapsed = 0
            self.closed = False

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.observation_space.seed(int(self.np_random.integers(2**31)))
            self.elapsed = 0
            info = {"options": str(options), "luck": float(self.np_random.random())}
            return self.observation_space.sample(), info

        def step(self, action):
            rng = self.np_random
            self.elapsed += 1
            push = float(action["button"] + action["stick"].sum())
            terminated = bool(rng.random() < 0.15)
            truncated = self.elapsed >= self.limit
            return self.observation_space.sample(), push, terminated, truncated, self._info(rng)

        def _info(self, rng):
            info: dict[str, Any] = {"elapsed": self.elapsed}
            if rng.random() < 0.5:
                info["luck"] = float(rng.random())
                info["first"] = self.elapsed == 1
                info["position"] = rng.normal(size=2)
                info["weight"] = np.float32(rng.random())
            if rng.random() < 0.5:
                info["label"] = "abc"[rng.integers(3)]
                info["path"] = [1] * int(rng.integers(3))
                info["flag"] = np.bool_(rng.random() < 0.5)
                info["nothing"] = None
                info["nested"] = {"depth": int(rng.integers(9)), "name": {"first": "x"}}
                if rng.random() < 0.5:
                    info["nested"]["height"] = float(rng.random())
            return info if rng.random() < 0.9 else {}

        def render(self):
            return np.full((2, 3, 3), self.elapsed, dtype=np.uint8)

        def scaled(self, factor, *, offset=0):
            return self.elapsed * factor + offset

        def close(self):
            self.closed = True

    return RandomEnv


def make_counting_env(gym: ModuleType) -> type:
    """Return an environment that counts: observation `[seed, elapsed]`, reward `elapsed`.

    Its episode ends after `length` steps: terminated, truncated or both, according to `ending`.
    """

    class CountingEnv(gym.Env):
        metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

        def __init__(
            self,
            length: int = 2,
            ending: str = "terminated",
            observation_space: Any = None,
            action_space: Any = None,
            render_mode: str | None = None,
        ):
            self.observation_space = observation_space or gym.spaces.Box(-1e9, 1e9, (2,), np.int64)
            self.action_space = action_space or gym.spaces.Discrete(2)
            self.length = length
            self.ending = ending
            self.render_mode = render_mode
            self.seed = -1
            self.elapsed = 0
            self.num_resets = 0
            self.num_closed = 0
            self.actions: list[Any] = []
            self.last_options: Any = None

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            if seed is not None:
                self.seed = seed
            self.elapsed = 0
            self.num_resets += 1
            self.last_options = options
            return np.array([self.seed, 0]), {"episode": self.num_resets}

        def step(self, action):
            self.actions.append(action)
            self.elapsed += 1
            ended = self.elapsed >= self.length
            return (
                np.array([self.seed, self.elapsed]),
                float(self.elapsed),
                ended and self.ending in ("terminated", "both"),
                ended and self.ending in ("truncated", "both"),
                {"elapsed": self.elapsed},
            )

        def render(self):
            return np.full((1, 1, 3), self.elapsed, dtype=np.uint8)

        def close(self):
            self.num_closed += 1

    return CountingEnv


def assert_same(ours: Any, theirs: Any, where: str = "data") -> None:
    """Assert that two nested structures agree in types, dtypes, shapes, key order and values.

    Tuples compare by their elements, so that a named tuple of one package equals the other's.
    """
    if isinstance(theirs, dict):
        assert isinstance(ours, dict), where
        assert list(ours) == list(theirs), where
        for key, value in theirs.items():
            assert_same(ours[key], value, f"{where}[{key!r}]")
    elif isinstance(theirs, (tuple, list)):
        assert isinstance(ours, tuple if isinstance(theirs, tuple) else list), where
        assert len(ours) == len(theirs), where
        for i, value in enumerate(theirs):
            assert_same(ours[i], value, f"{where}[{i}]")
    elif isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray), where
        assert ours.dtype == theirs.dtype, where
        assert ours.shape == theirs.shape, where
        if theirs.dtype == object:
            for index in np.ndindex(theirs.shape):
                assert_same(ours[index], theirs[index], f"{where}[{index}]")
        else:
            assert_equal_arrays(ours, theirs, where)
    else:
        assert type(ours) is type(theirs), f"{where}: {type(ours)} against {type(theirs)}"
        assert ours == theirs or (ours != ours and theirs != theirs), where
