"""Python environments for the contract tests, and the single lanes they are compared with.

Everything here can be pickled by name, so it works with every start method.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

import gymcore as gym
from gymcore import spaces
from gymcore.vector import AutoresetMode
from tests.vector.contract import NUM_WORKERS

BOX_DTYPES = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
ARRAYS = ("scalar", "discrete", "multi_discrete", "multi_binary", "tuple", "dict")
OBJECTS = ("text", "one_of", "mixed")  # not arrays, of a bounded size
UNBOUNDED = ("graph", "sequence", "stacked_sequence", "nested_sequence")
KINDS = (*BOX_DTYPES, *ARRAYS, *OBJECTS, *UNBOUNDED, "custom")
# Kinds of observations that shared memory cannot hold.
NOT_SHARABLE = (*UNBOUNDED, "custom")


class Letters(spaces.Space[str]):
    """A user-defined space: single letters."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__((), None, seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        return "abcdefgh"[self.np_random.integers(8)]

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) == 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Letters)

    __hash__ = None  # type: ignore[assignment]


def make_space(kind: str) -> spaces.Space[Any]:
    """Return the space of a kind in `KINDS`."""
    if kind in BOX_DTYPES:
        dtype = np.dtype(kind)
        low = 0 if dtype.kind == "u" else -100
        return spaces.Box(dtype.type(low), dtype.type(100), (2, 3), dtype.type)
    box = spaces.Box(-1, 1, (2,), np.float32)
    goal = spaces.Tuple((spaces.Discrete(5, start=-2), spaces.MultiBinary((2, 2))))
    camera = spaces.Dict(x=spaces.Box(0, 255, (3, 3, 1), np.uint8), goal=goal)
    makers: dict[str, Callable[[], spaces.Space[Any]]] = {
        "scalar": lambda: spaces.Box(-1, 1, (), np.float64),
        "discrete": lambda: spaces.Discrete(50, start=-3),
        "multi_discrete": lambda: spaces.MultiDiscrete([5, 6], start=[1, -2]),
        "multi_binary": lambda: spaces.MultiBinary(4),
        "tuple": lambda: spaces.Tuple((box, goal, spaces.Discrete(4))),
        "dict": lambda: spaces.Dict({"position": box, "camera": camera}),
        "text": lambda: spaces.Text(5, charset="abcd"),
        "one_of": lambda: spaces.OneOf((spaces.Discrete(3), box)),
        "mixed": lambda: spaces.Dict(name=spaces.Text(3), place=spaces.Tuple((box, goal))),
        "graph": lambda: spaces.Graph(box, spaces.Discrete(3)),
        "sequence": lambda: spaces.Sequence(spaces.Discrete(3)),
        "stacked_sequence": lambda: spaces.Sequence(box, stack=True),
        "nested_sequence": lambda: spaces.Tuple((spaces.Sequence(box), spaces.Discrete(2))),
        "custom": Letters,
    }
    return makers[kind]()


def described(value: Any) -> str:
    """Return text that distinguishes elements of spaces: types, dtypes, shapes, numbers."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{key}: {described(one)}" for key, one in sorted(value.items())) + "}"
        )
    if isinstance(value, tuple):
        return f"{type(value).__name__}({', '.join(map(described, value))})"
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{type(value).__name__} {value.dtype} {value.shape} {value.tolist()}"
    return f"{type(value).__name__} {value!r}"


def overwrite(value: Any) -> None:
    """Write zeros into every array in an element."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple):
        for one in value:
            overwrite(one)
    elif isinstance(value, np.ndarray):
        value.fill(0)


class SpaceEnv(gym.Env[Any, Any]):
    """Environment whose observations and actions are elements of any space.

    After `reset(seed=s)` everything follows from `s`. Episodes last `length` steps; the last step
    truncates and terminates alternately. With `reuse` it overwrites the values it returned before.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self, kind: str = "f4", action_kind: str = "discrete", length: int = 3, reuse: bool = False
    ) -> None:
        self.observation_space = make_space(kind)
        self.action_space = make_space(action_kind)
        self.length = length
        self.reuse = reuse
        self.episodes = self.elapsed = 0
        self.returned: list[Any] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
            self.episodes = 0
        self.episodes += 1
        self.elapsed = 0
        return self._observation(), {"episode_number": self.episodes}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.elapsed += 1
        ends = self.elapsed == self.length
        even = self.episodes % 2 == 0
        info = {"action": described(action)}
        return self._observation(), self.elapsed / 2, ends and even, ends and not even, info

    def _observation(self) -> Any:
        if self.reuse:
            for one in self.returned:
                overwrite(one)
        self.returned = [self.observation_space.sample()]
        return self.returned[0]

    def get_state(self) -> dict[str, Any]:
        return deepcopy(vars(self))

    def set_state(self, state: dict[str, Any]) -> None:
        self.__dict__.update(deepcopy(state))


def space_env_fns(
    kind: str = "f4",
    action_kind: str = "discrete",
    lengths: Sequence[int] = (3, 5, 2),
    **kwargs: Any,
) -> list[Callable[[], SpaceEnv]]:
    """Return functions that make lanes of different lengths."""
    return [functools.partial(SpaceEnv, kind, action_kind, one, **kwargs) for one in lengths]


class CountingEnv(gym.Env[Any, Any]):
    """Environment that counts, with faults on request.

    The observation is `[lane, episode, step of the episode, last action]` (float64), the reward the
    step. Actions below 5 are ordinary; `what` is called with the lane at action 9 in `step`, and
    with `options={"call": True}` in `reset`.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        lane: int,
        what: Callable[[int], Any] | None = None,
        length: int = 10**9,
        infos: Sequence[dict[str, Any]] = (),
        closing: Callable[[int], Any] | None = None,
    ) -> None:
        """Make the environment.

        Args:
            lane: First element of the observations.
            what: See above; also called by `greet`, by `render` with `mood` "bad", and when
                `mood` is set to "worse".
            length: Steps to truncation.
            infos: Info of the reset, followed by the info of each step.
            closing: Function that `close` calls.
        """
        self.observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float64)
        self.action_space = spaces.Discrete(10)
        self.render_mode = "rgb_array"
        self.lane, self.what, self.length, self.infos = lane, what, length, infos
        self.closing = closing
        self.episode = self.elapsed = 0
        self.action = -1
        self._mood = "good"

    def _result(self) -> tuple[Any, dict[str, Any]]:
        observation = np.array([self.lane, self.episode, self.elapsed, self.action], np.float64)
        return observation, dict(self.infos[self.elapsed]) if self.infos else {}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if options and options.get("call"):
            self._call()
        self.episode += 1
        self.elapsed, self.action = 0, -1
        return self._result()

    def step(self, action: Any) -> Any:
        self.elapsed += 1
        self.action = int(action)
        if action == 9:
            result = self._call()
            if result is not None:
                return result
        observation, info = self._result()
        return observation, float(self.elapsed), False, self.elapsed >= self.length, info

    def _call(self) -> Any:
        return None if self.what is None else self.what(self.lane)

    def render(self) -> Any:
        if self._mood == "bad":
            self._call()
        return np.full((1, 1, 3), self.lane, np.uint8)

    def greet(self) -> str:
        self._call()
        return f"hello from {self.lane}"

    @property
    def mood(self) -> str:
        return self._mood

    @mood.setter
    def mood(self, value: str) -> None:
        self._mood = value
        if value == "worse":
            self._call()

    def close(self) -> None:
        if self.closing is not None:
            self.closing(self.lane)


def counting_env_fns(
    num_envs: int = 3, lanes: Sequence[int] = (), what: Any = None, **kwargs: Any
) -> list[Callable[[], CountingEnv]]:
    """Return functions for environments; those in `lanes` call `what`."""
    return [
        functools.partial(CountingEnv, lane, what if lane in lanes else None, **kwargs)
        for lane in range(num_envs)
    ]


class SingleLane:
    """The expected behavior of one lane of a batch, in its plainest form."""

    def __init__(self, env: gym.Env[Any, Any], mode: AutoresetMode) -> None:
        self.env = env
        self.mode = mode
        self.ended = False

    def reset(self, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        self.ended = False
        return self.env.reset(seed=seed)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any], Any]:
        """Return the result of `step`, and the last observation of an episode that ended."""
        if self.ended and self.mode is AutoresetMode.NEXT_STEP:
            observation, info = self.reset()
            return observation, 0.0, False, False, info, None
        assert not self.ended
        observation, reward, terminated, truncated, info = self.env.step(action)
        ends, final = terminated or truncated, None
        if ends and self.mode is AutoresetMode.SAME_STEP:
            final = observation
            observation, info = self.reset()
        else:
            self.ended = ends
        return observation, float(reward), terminated, truncated, info, final


def row(space: spaces.Space[Any], batch: Any, i: int) -> Any:
    """Return element `i` of a batch of observations of single space `space`."""
    if isinstance(space, spaces.Dict):
        return {key: row(part, batch[key], i) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(row(part, one, i) for part, one in zip(space.spaces, batch, strict=True))
    return batch[i]


def make_engine(
    backend: str, env_fns: Any, mode: AutoresetMode = AutoresetMode.NEXT_STEP, **kwargs: Any
) -> Any:
    """Make an engine for environments written in Python."""
    kwargs["autoreset_mode"] = mode
    if backend == "sync":
        return gym.vector.SyncVectorEnv(env_fns, **kwargs)
    kwargs.setdefault("num_workers", NUM_WORKERS)
    return gym.vector.AsyncVectorEnv(env_fns, shared_memory=backend == "async", **kwargs)
