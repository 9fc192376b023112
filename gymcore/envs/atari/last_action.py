"""The emulator's last action, which sticky actions repeat and which its states do not record."""

from __future__ import annotations

import re
import struct
from collections import deque
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from ale_py import Action, ALEInterface, ALEState

# A state ends with the emulator's two Mersenne Twisters as text; the second draws sticky actions.
_TWISTER = re.compile(rb"(?:\d+ ){624}\d+")

# Number of past steps to search. At the usual probability of 0.25, the chance that an action sticks
# for longer is below 1e-40.
_STEPS = 100

# A state is a head, the size of its memory and the memory, which also has sizes before texts, and
# a tail of paddles' limits.
_HEAD, _TAIL = 24, 8

Press: TypeAlias = "tuple[Action, float]"


def seeded(state: bytes, seed: int) -> bytes:
    """Return the state of a just loaded game, converted to another seed.

    Only the last generator differs, which has not drawn any numbers yet.

    Args:
        state: A serialized state, with generators.
        seed: Seed of the emulator, an unsigned 32-bit integer.
    """
    *_, old = _TWISTER.finditer(state)
    _, words, position, *_ = np.random.RandomState(seed).get_state()
    text = " ".join(map(str, (*words, position))).encode()
    before, after = state[_HEAD + 4 : old.start() - 4], state[old.end() : -_TAIL]
    memory = before + struct.pack("<i", len(text)) + text + after
    return state[:_HEAD] + struct.pack("<i", len(memory)) + memory + state[-_TAIL:]


class LastAction:
    """Tracks the emulator's last action, which a sticky frame repeats.

    In each frame the emulator draws a number, and ignores the new action if it is too small. The
    last action is computed, when it is needed, from the last steps and the same numbers, drawn from
    a copy of the emulator's generator after the reset. Some games draw in the reset itself.
    """

    def __init__(self, no_press: Press, probability: float, ale: ALEInterface) -> None:
        """Begin with an emulator that was just loaded.

        Args:
            no_press: The action, and how far it was pressed, after a reset.
            probability: Probability of repeating an action.
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
        """Record a step."""
        self._steps.append((press, frames))
        self._undrawn += frames

    def reset(self, ale: ALEInterface) -> None:
        """Begin a game, in which nothing is pressed yet."""
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

    def restore(self, ale: ALEInterface, state: ALEState, press: Press) -> None:
        """Restore a state of the emulator, including its generator, and the last action."""
        ale.restoreState(state)
        self._reset_history(state)
        self._last_press = press
        if 0 < self._probability < 1:
            # Press the action until the emulator takes it, then restore the state again.
            numbers = np.random.RandomState()
            numbers.set_state(self._generator().get_state())
            while True:
                ale.act(*press)
                if numbers.random_sample() >= self._probability:
                    break
            ale.restoreState(state)

    def follow(self, ale: ALEInterface) -> None:
        """Copy the emulator's generator again, after other code has set it."""
        self._last_press = self.now()
        self._reset_history(ale.cloneState(include_rng=True))

    def _reset_history(self, state: ALEState) -> None:
        self._steps.clear()
        self._undrawn = 0
        self._state = state.serialize()

    def _generator(self) -> np.random.RandomState:
        """Return the copy of the generator; its state is parsed when it is first needed."""
        if self._state:
            *words, position = _TWISTER.findall(self._state)[1].split()
            key = np.array(words, np.uint32)
            self._random.set_state(("MT19937", key, int(position), 0, 0.0))
            self._state = b""
        return self._random
