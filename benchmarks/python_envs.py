"""Python environments for comparing engines: one step function under the `Env` of any library.

Every engine requires instances of its own library's `Env`. The classes here therefore have no such
base, and `factories` derives them from the required `Env`: the same code runs under gymcore,
Gymnasium and Stable-Baselines3 (which uses Gymnasium's).

This file imports nothing from gymcore: `worker.py` loads it into other interpreters too.
"""

from __future__ import annotations

import functools
import importlib
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gymcore import Env as _Env

    _Base = _Env[Any, Any]
else:
    _Base = object

#: CPU time of a step of "Busy" and of "Brief" [s].
BUSY_SECONDS, BRIEF_SECONDS = 200e-6, 20e-6
#: In "Uneven", every eighth lane is slower by this factor.
SLOW_EVERY, SLOWER = 8, 20
#: Height, width and channels of "Image".
IMAGE_SHAPE = (84, 84, 4)


class Nothing(_Base):
    """Always returns the same four numbers, so that only the engine is timed."""

    def __init__(self, spaces: Any) -> None:
        """Create the spaces from the library's `spaces` module."""
        self.observation_space = spaces.Box(-1.0, 1.0, (4,), np.float32)
        self.action_space = spaces.Discrete(2)
        self._observation = np.zeros(4, np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Return the observation."""
        super().reset(seed=seed)
        return self._observation, {}

    def step(self, action: Any) -> Any:
        """Return the observation."""
        return self._observation, 0.0, False, False, {}


class PlainCartPole(_Base):
    """The cart-pole as a user might write it, with floats and `math`; at most 500 steps.

    Equations: Barto, Sutton and Anderson (1983), "Neuronlike adaptive elements that can solve
    difficult learning control problems", without friction; Euler steps of 20 ms.
    """

    GRAVITY = 9.8  # [m/s^2]
    POLE_MASS, TOTAL_MASS = 0.1, 1.1  # [kg]
    HALF_LENGTH = 0.5  # [m]
    FORCE = 10.0  # [N]
    TIME_STEP = 0.02  # [s]
    FARTHEST = 2.4  # [m]
    STEEPEST = 12 * math.pi / 180  # [rad]
    LONGEST = 500  # [steps]

    def __init__(self, spaces: Any) -> None:
        """Create the spaces from the library's `spaces` module."""
        high = np.array([2 * self.FARTHEST, np.inf, 2 * self.STEEPEST, np.inf], np.float32)
        self.observation_space = spaces.Box(-high, high, (4,), np.float32)
        self.action_space = spaces.Discrete(2)
        self._state = (0.0, 0.0, 0.0, 0.0)
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Start near the upright position."""
        super().reset(seed=seed)
        self._state = tuple(self.np_random.uniform(-0.05, 0.05, 4).tolist())
        self._steps = 0
        return np.array(self._state, np.float32), {}

    def step(self, action: Any) -> Any:
        """Push to the left (0) or to the right (1)."""
        x, speed, angle, turning = self._state
        force = self.FORCE if action == 1 else -self.FORCE
        cosine, sine = math.cos(angle), math.sin(angle)
        pole = self.POLE_MASS * self.HALF_LENGTH
        push = (force + pole * turning**2 * sine) / self.TOTAL_MASS
        inertia = 4.0 / 3.0 - self.POLE_MASS * cosine**2 / self.TOTAL_MASS
        bend = (self.GRAVITY * sine - cosine * push) / (self.HALF_LENGTH * inertia)
        pull = push - pole * bend * cosine / self.TOTAL_MASS
        x += self.TIME_STEP * speed
        speed += self.TIME_STEP * pull
        angle += self.TIME_STEP * turning
        turning += self.TIME_STEP * bend
        self._state = (x, speed, angle, turning)
        self._steps += 1
        terminated = abs(x) > self.FARTHEST or abs(angle) > self.STEEPEST
        truncated = self._steps >= self.LONGEST
        return np.array(self._state, np.float32), 1.0, terminated, truncated, {}


class Busy(Nothing):
    """Uses the processor for some time in each step.

    The clock is the thread's CPU time: no progress is made while another process has the core, so
    more processes than cores gain nothing.
    """

    def __init__(self, spaces: Any, seconds: float = BUSY_SECONDS) -> None:
        """Store the library's `spaces` module and the CPU time of a step [s]."""
        super().__init__(spaces)
        self._seconds = seconds

    def step(self, action: Any) -> Any:
        """Use the processor, then return the observation."""
        clock = time.thread_time
        end = clock() + self._seconds
        while clock() < end:
            pass
        return self._observation, 0.0, False, False, {}


class Image(Nothing):
    """Returns precomputed frames in turn, so that only their transport is timed."""

    FRAMES = 8

    def __init__(self, spaces: Any) -> None:
        """Create the spaces from the library's `spaces` module."""
        super().__init__(spaces)
        self.observation_space = spaces.Box(0, 255, IMAGE_SHAPE, np.uint8)
        generator = np.random.default_rng(0)
        self._frames = generator.integers(0, 256, (self.FRAMES, *IMAGE_SHAPE), np.uint8)
        self._observation = self._frames[0]
        self._steps = 0

    def step(self, action: Any) -> Any:
        """Return the next frame."""
        self._steps += 1
        return self._frames[self._steps % self.FRAMES], 0.0, False, False, {}


def _uneven(spaces: Any, lane: int, kind: Any) -> Any:
    """Return a lane of "Uneven"."""
    return kind(spaces, BUSY_SECONDS * (1 if lane % SLOW_EVERY else SLOWER))


def _brief(spaces: Any, lane: int, kind: Any) -> Any:
    """Return a lane of "Brief"."""
    return kind(spaces, BRIEF_SECONDS)


def _even(spaces: Any, lane: int, kind: Any) -> Any:
    """Return a lane of a batch in which all lanes are alike."""
    return kind(spaces)


KINDS: dict[str, tuple[type, Callable[[Any, int, Any], Any]]] = {
    "Nothing": (Nothing, _even),
    "PlainCartPole": (PlainCartPole, _even),
    "Busy": (Busy, _even),
    "Brief": (Busy, _brief),
    "Uneven": (Busy, _uneven),
    "Image": (Image, _even),
}


@functools.cache
def environment_class(library: str, kind: type) -> Any:
    """Return the class derived from a library's `Env` ("gymcore" or "gymnasium")."""
    return type(kind.__name__, (kind, importlib.import_module(library).Env), {})


def factories(library: str, name: str, num_envs: int) -> list[Callable[[], Any]]:
    """Return functions that make the environments of a batch.

    Args:
        library: Module that provides `Env` and spaces: "gymcore" or "gymnasium".
        name: A key of `KINDS`.
        num_envs: Number of lanes.

    Returns:
        One function without arguments per lane.
    """
    kind, make = KINDS[name]
    derived = environment_class(library, kind)
    spaces = importlib.import_module(f"{library}.spaces")
    return [functools.partial(make, spaces, lane, derived) for lane in range(num_envs)]
