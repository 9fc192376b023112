"""The parts of an Atari environment that `AtariPreprocessing` uses, without the emulator."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import numpy as np

import gymcore


class FakeALE:
    """An emulator whose screen is noise that depends on the actions."""

    def __init__(self) -> None:
        self.start(0)

    def start(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.left = 3
        self.frame()

    def frame(self) -> None:
        self.screen = self.rng.integers(0, 256, (21, 16, 3), np.uint8)

    def lives(self) -> int:
        return self.left

    def getScreenRGB(self, buffer: Any) -> None:
        buffer[:] = self.screen

    def getScreenGrayscale(self, buffer: Any) -> None:
        buffer[:] = self.screen[:, :, 1]


@functools.cache
def make_fake_atari(gym: ModuleType = gymcore) -> type:
    """Return the class, derived from `gym.Env`."""

    class FakeAtari(gym.Env):
        def __init__(
            self,
            frameskip: int = 1,
            meanings: tuple[str, ...] = ("NOOP", "FIRE", "LEFT"),
            loss: float = 0.05,
            limit: int = 90,
            observation_space: Any = None,
        ) -> None:
            """Make the environment.

            Args:
                frameskip: Value that it reports.
                meanings: Meanings of the actions.
                loss: Probability that a frame costs a life.
                limit: Frames until it truncates.
                observation_space: Replacement for the space of its frames.
            """
            self._frameskip = frameskip
            self.meanings = list(meanings)
            self.loss = loss
            self.limit = limit
            self.ale = FakeALE()
            pictures = gym.spaces.Box(0, 255, (21, 16, 3), np.uint8)
            self.observation_space = observation_space or pictures
            self.action_space = gym.spaces.Discrete(len(meanings))
            self.frames = 0
            self.seeds: list[int | None] = []
            self.actions: list[int] = []

        def get_action_meanings(self) -> list[str]:
            return self.meanings

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.seeds.append(seed)
            self.ale.start(int(self.np_random.integers(2**31)))
            self.frames = 0
            return self.ale.screen.copy(), {"lives": 3, "options": options}

        def step(self, action: Any) -> Any:
            self.actions.append(int(action))
            self.frames += 1
            self.ale.frame()
            if self.ale.rng.random() < self.loss:
                self.ale.left -= 1
            reward = float(self.ale.rng.integers(3)) * (int(action) + 1)
            info = {"lives": self.ale.left, "frame": self.frames}
            ended = self.ale.left == 0, self.frames >= self.limit
            return (self.ale.screen.copy(), reward, *ended, info)

    return FakeAtari
