"""Generators that draw from the random streams of lanes."""

from __future__ import annotations

import copy
import threading
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gymcore_ext.engine.lane_stream import LaneStream

if TYPE_CHECKING:
    from gymcore_ext.engine.batch import Batch

_WORD = (1 << 64) - 1


def lane_generator(batch: Batch, lane: int) -> np.random.Generator:
    """Return a generator over the stream of a lane; drawing from it advances the stream.

    Raises:
        IndexError: If there is no such lane.
    """
    if not 0 <= lane < batch.num_envs:
        raise IndexError(f"lane {lane} is not in [0, {batch.num_envs})")
    return np.random.Generator(cast(Any, LanePCG64(batch.view_random()[lane])))


class LanePCG64(LaneStream):
    """Bit generator of one lane: a view of its row of `Batch.view_random`.

    Copies and pickles are `numpy.random.PCG64` objects.

    Attributes:
        state: What `numpy.random.PCG64.state` is.
        lock: Lock that `numpy.random.Generator` holds while it draws.
        seed_seq: `SeedSequence` from which the stream was seeded; None if it is unknown.
    """

    def __init__(self, words: np.ndarray) -> None:
        """Create a view of the stream."""
        self.lock = threading.Lock()
        self.seed_seq: np.random.SeedSequence | None = None

    @property
    def state(self) -> dict[str, Any]:
        """State of the stream; setting it changes the stream."""
        high, low, increment_high, increment_low, _ = self.words.tolist()
        has_uint32, uinteger = self.words[4:].view(np.uint32).tolist()
        return {
            "bit_generator": "PCG64",
            "state": {"state": high << 64 | low, "inc": increment_high << 64 | increment_low},
            "has_uint32": has_uint32,
            "uinteger": uinteger,
        }

    @state.setter
    def state(self, value: Any) -> None:
        expected = "state: expected the state of a PCG64 bit generator"
        try:
            name, numbers = value["bit_generator"], value["state"]
            state, increment = int(numbers["state"]), int(numbers["inc"])
            halves = [int(value[key]) for key in ("has_uint32", "uinteger")]
        except (KeyError, TypeError, ValueError) as problem:
            raise ValueError(f"{expected}, got {value!r} ({problem!r})") from None
        is_negative = min(state, increment, *halves) < 0
        is_large = max(state, increment) >> 128 or max(halves) >> 32
        # With an even increment all draws may be the same, and one below a bound may never end.
        if name != "PCG64" or is_negative or is_large or not increment & 1:
            raise ValueError(
                f"{expected}, with 128-bit numbers, an odd increment and a 32-bit half draw, "
                f"got {value!r}"
            )
        self.words[:4] = state >> 64, state & _WORD, increment >> 64, increment & _WORD
        self.words[4:].view(np.uint32)[:] = bool(halves[0]), halves[1]

    def random_raw(self, size: int | tuple[int, ...] | None = None, output: bool = True) -> Any:
        """Return 64-bit draws, as `numpy.random.BitGenerator.random_raw` does."""
        generator = np.random.Generator(cast(Any, self))
        drawn = generator.integers(0, 2**64, size=size, dtype=np.uint64)
        if not output:
            return None
        return int(drawn) if size is None else drawn

    def spawn(self, n_children: int) -> list[np.random.PCG64]:
        """Return independent bit generators, as `numpy.random.PCG64.spawn` does.

        Raises:
            TypeError: If it is not known from which seed the stream came.
        """
        if self.seed_seq is None:
            raise TypeError(
                "spawn: the seed of this random stream is not known; seed it by reset(seed=...)"
            )
        return [np.random.PCG64(seed) for seed in self.seed_seq.spawn(n_children)]

    def __reduce__(self) -> Any:
        return _detached, (self.state, self.seed_seq)

    def __deepcopy__(self, memo: dict[int, Any]) -> np.random.PCG64:
        return _detached(self.state, copy.deepcopy(self.seed_seq, memo))


def _detached(state: Any, seed_seq: np.random.SeedSequence | None) -> np.random.PCG64:
    """Return a `numpy.random.PCG64` in this state."""
    generator = np.random.PCG64(seed_seq)
    generator.state = state
    return generator
