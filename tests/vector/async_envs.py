"""Environments with random spaces and infos, for tests of worker processes.

Everything here can be pickled by name, so it works with every start method.
"""

from __future__ import annotations

import functools
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

import gymcore
from gymcore import spaces

BOX_DTYPES = ["f2", "f4", "f8", "u1", "i1", "i2", "i4", "i8", "u2", "u4", "u8"]
SHAPES = [(), (1,), (3,), (2, 3), (4, 1, 2)]
FIXED = ("box", "discrete", "multi_discrete", "multi_binary")
SHARABLE = (*FIXED, "text", "one_of")
DYNAMIC = ("graph", "sequence", "stacked_sequence")


def random_space(rng: np.random.Generator, kinds: tuple[str, ...], depth: int = 2) -> spaces.Space:
    """Return a space of one of the kinds, or a Tuple or Dict of such spaces."""
    kind = str(rng.choice([*kinds, "tuple", "dict"] if depth else kinds))
    if kind == "box":
        return _random_box(rng)
    if kind == "discrete":
        return spaces.Discrete(int(rng.integers(1, 9)), start=int(rng.integers(-5, 5)))
    if kind == "multi_discrete":
        return spaces.MultiDiscrete(rng.integers(1, 9, SHAPES[rng.integers(1, len(SHAPES))]))
    if kind == "multi_binary":
        return spaces.MultiBinary([3, (2, 3), 1][rng.integers(3)])
    if kind == "text":
        return spaces.Text(int(rng.integers(1, 9)), charset="abcXYZ 0")
    if kind == "one_of":
        return spaces.OneOf([random_space(rng, FIXED, 0) for _ in range(rng.integers(1, 4))])
    if kind == "graph":
        edges = spaces.Discrete(4) if rng.random() < 0.5 else None
        return spaces.Graph(spaces.Box(-1, 1, (2,)), edges)
    if kind == "sequence":
        return spaces.Sequence(random_space(rng, FIXED, 0))
    if kind == "stacked_sequence":
        return spaces.Sequence(_random_box(rng), stack=True)
    parts = [random_space(rng, kinds, depth - 1) for _ in range(rng.integers(1, 4))]
    if kind == "tuple":
        return spaces.Tuple(parts)
    return spaces.Dict({"abc"[i] * (i + 1): part for i, part in enumerate(parts)})


def wide_space(seed: int, kinds: tuple[str, ...]) -> spaces.Space:
    """Return a random space; for odd seeds, a Dict of several."""
    rng = np.random.default_rng(seed)
    if seed % 2 == 0:
        return random_space(rng, kinds)
    return spaces.Dict({name: random_space(rng, kinds, 1) for name in ("z", "goal", "a b", "é")})


def _random_box(rng: np.random.Generator) -> spaces.Box:
    dtype = np.dtype(BOX_DTYPES[rng.integers(len(BOX_DTYPES))])
    shape = SHAPES[rng.integers(len(SHAPES))]
    low = 0 if dtype.kind == "u" else -100
    return spaces.Box(dtype.type(low), dtype.type(100), shape, dtype.type)


def digest(value: Any) -> int:
    """Return a number that distinguishes actions: values, dtypes, shapes, structure."""
    if isinstance(value, dict):
        return sum(zlib.crc32(f"{key} {digest(one)}".encode()) for key, one in value.items())
    if isinstance(value, tuple):
        return zlib.crc32(repr([digest(one) for one in value]).encode())
    array = np.asarray(value)
    return zlib.crc32(f"{array.dtype} {array.shape}".encode() + array.tobytes())


@dataclass
class Landmark:
    """An info value that must be pickled."""

    name: str
    distance: float


class RandomSpacesEnv(gymcore.Env):
    """Environment with random spaces, episodes, rewards and infos, all drawn from two seeds.

    Observations come from a small set that depends only on the space; the choice among them
    depends on `reset(seed=...)`. The reward depends on the action. With `reuse` every observation
    is the same object with new content.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        space_seed: int,
        kinds: tuple[str, ...] = SHARABLE,
        action_kinds: tuple[str, ...] = FIXED,
        infos: bool = True,
        reuse: bool = False,
    ):
        self.observation_space = wide_space(space_seed, kinds)
        self.action_space = wide_space(space_seed + 1000, action_kinds)
        self.render_mode = "rgb_array"
        self.observation_space.seed(space_seed)
        self.supply = [self.observation_space.sample() for _ in range(16)]
        self.infos = infos
        self.reuse = reuse and isinstance(self.observation_space, spaces.Box)
        self.elapsed = 0
        self.closed = False

    def _observe(self):
        one = self.supply[self.np_random.integers(len(self.supply))]
        if not self.reuse:
            return one
        self.buffer = getattr(self, "buffer", np.empty_like(one))
        self.buffer[...] = one
        return self.buffer

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.elapsed = 0
        info = {"options": str(options), **self._info()} if self.infos else {}
        return self._observe(), info

    def step(self, action):
        self.elapsed += 1
        chance, reward = self.np_random.random(2)
        return (
            self._observe(),
            digest(action) + reward,
            bool(chance < 0.1),
            bool(chance > 0.9 or (chance < 0.02)),
            self._info() if self.infos else {},
        )

    def _info(self) -> dict[str, Any]:
        rng = self.np_random
        info: dict[str, Any] = {"elapsed": self.elapsed}
        for make in INFO_MAKERS[rng.integers(len(INFO_MAKERS))]:
            make(info, rng)
        return info if rng.random() < 0.9 else {}

    def render(self):
        return np.full((2, 2, 3), self.elapsed, np.uint8)

    def scaled(self, factor, *, offset=0):
        return self.elapsed * factor + offset

    def close(self):
        self.closed = True


def _numbers(info: dict[str, Any], rng: np.random.Generator) -> None:
    info["speed"] = float(rng.normal())
    info["first"] = bool(rng.random() < 0.5)
    info["weight"] = np.float32(rng.random())
    info["flag"] = np.bool_(rng.random() < 0.5)
    info["code"] = np.uint8(rng.integers(200))
    info["large"] = 2**70 if rng.random() < 0.1 else int(rng.integers(9))
    info["mixed"] = 0.5 if rng.random() < 0.3 else 7


def _arrays(info: dict[str, Any], rng: np.random.Generator) -> None:
    info["position"] = rng.normal(size=2)
    info["grid"] = rng.integers(0, 9, (2, 3), dtype=np.int16)
    info["mask"] = rng.random(4) < 0.5
    info["empty"] = np.zeros((0, 2), np.float32)


def _objects(info: dict[str, Any], rng: np.random.Generator) -> None:
    info["label"] = "abcä€"[rng.integers(5)]
    info["raw"] = bytes([int(rng.integers(256))])
    info["path"] = [1] * int(rng.integers(3))
    info["pair"] = (1, "x", None)
    info["nothing"] = None
    info["landmark"] = Landmark("door", 1.5)
    info["names"] = {"set", "of", "text"}


def _nested(info: dict[str, Any], rng: np.random.Generator) -> None:
    info["nested"] = {"depth": int(rng.integers(9)), "more": {"x": float(rng.random()), "y": "z"}}
    if rng.random() < 0.5:
        info["nested"]["height"] = np.float64(rng.random())


def _bulky(info: dict[str, Any], rng: np.random.Generator) -> None:
    info["camera"] = rng.integers(0, 255, (24, 24, 3), dtype=np.uint8)
    info["story"] = "once upon a time " * 100


INFO_MAKERS = (
    (),
    (),
    (_numbers,),
    (_numbers, _arrays),
    (_objects,),
    (_nested, _numbers),
    (_nested, _objects, _arrays),
    (_bulky,),
)


def random_env_fns(num_envs: int, *args: Any, **kwargs: Any) -> list[Any]:
    """Return functions that make `RandomSpacesEnv(*args, **kwargs)`."""
    return [functools.partial(RandomSpacesEnv, *args, **kwargs)] * num_envs
