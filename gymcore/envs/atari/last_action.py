"""The action that the emulator is repeating, which its states leave out."""

from __future__ import annotations

import re
import struct
from collections import deque
from typing import Any

import numpy as np

# A state ends with the emulator's two Mersenne Twisters as text; the second draws sticky actions.
_TWISTER = re.compile(rb"(?:\d+ ){624}\d+")

# How many steps are looked back at. Actions that stick for longer than that are those of chance
# below 1e-40 at the usual probability of 0.25.
_STEPS = 100

# A state is a head, the size of its memory and the memory, which also has sizes before texts, and
# a tail of paddles' limits.
_HEAD, _TAIL = 24, 8

Press = tuple[Any, float]


def seeded(state: bytes, seed: int) -> bytes:
    """Return the state in which a game is loaded with a seed, from the one with another seed.

    They differ in the last generator alone, which has drawn nothing.

    Args:
        state: A serialized state, with generators.
        seed: The emulator's, as an unsigned number of 32 bits.
    """
    *_, old = _TWISTER.finditer(state)
    _, words, position, *_ = np.random.RandomState(seed).get_state()
    text = " ".join(map(str, (*words, position))).encode()
    before, after = state[_HEAD + 4 : old.start() - 4], state[old.end() : -_TAIL]
    memory = before + struct.pack("<i", len(text)) + text + after
    return state[:_HEAD] + struct.pack("<i", len(memory)) + memory + state[-_TAIL:]


class LastAction:
    """Keeps track of what the emulator pressed last, which a sticky frame repeats.

    Each frame it draws a number, and ignores the new action if that is too small. So the last
    action follows from the last steps and the same numbers, which are drawn when it is asked for,
    by the generator that the emulator had after a reset. Some games draw in the reset itself.
    """

    def __init__(self, no_press: Press, probability: float, ale: Any) -> None:
        """Begin with an emulator that was just loaded.

        Args:
            no_press: The action, and how far it was pressed, after a reset.
            probability: That of repeating an action.
            ale: The emulator.
        """
        self._no_press = no_press
        self._probability = probability
        self._random = np.random.RandomState()
        self._steps: deque[tuple[Press, int]] = deque(maxlen=_STEPS)
        self._undrawn = 0
        self._state = b""
        self.reset(ale)

    def record(self, press: Press, frames: int) -> None:
        """Note a step."""
        self._steps.append((press, frames))
        self._undrawn += frames

    def reset(self, ale: Any) -> None:
        """Note that a game begins: nothing is pressed."""
        self._last_press = self._no_press
        self._reset_history(ale.cloneState(include_rng=True))

    def now(self) -> Press:
        """Return the last action, and how far it was pressed."""
        if not self._steps:
            return self._last_press
        if not self._probability:
            self._last_press = self._steps[-1][0]
            return self._last_press
        numbers = self._generator().random_sample(self._undrawn)
        pressed = [press for press, frames in self._steps for _ in range(frames)]
        for press, number in zip(reversed(pressed), reversed(numbers), strict=False):
            if number >= self._probability:
                self._last_press = press
                break
        self._steps.clear()
        self._undrawn = 0
        return self._last_press

    def restore(self, ale: Any, state: Any, press: Press) -> None:
        """Restore a state of the emulator that has its generator, and the last action with it."""
        ale.restoreState(state)
        self._reset_history(state)
        self._last_press = press
        if 0 < self._probability < 1:
            # Press it until it is taken; then go back again.
            numbers = np.random.RandomState()
            numbers.set_state(self._generator().get_state())
            while True:
                ale.act(*press)
                if numbers.random_sample() >= self._probability:
                    break
            ale.restoreState(state)

    def follow(self, ale: Any) -> None:
        """Take over the emulator's generator, after something else has set it."""
        self._last_press = self.now()
        self._reset_history(ale.cloneState(include_rng=True))

    def _reset_history(self, state: Any) -> None:
        self._steps.clear()
        self._undrawn = 0
        self._state = state.serialize()

    def _generator(self) -> np.random.RandomState:
        """Return the generator, in the state that is followed since, read when it is needed."""
        if self._state:
            *words, position = _TWISTER.findall(self._state)[1].split()
            key = np.array(words, np.uint32)
            self._random.set_state(("MT19937", key, int(position), 0, 0.0))
            self._state = b""
        return self._random
