"""Generators that draw from the random streams of lanes."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gymcore import error, logger
from gymcore_ext.engine.lane_stream import bind_bit_generator

if TYPE_CHECKING:
    from gymcore_ext.engine.batch import Batch

_WORD_MASK = (1 << 64) - 1
_NOT_USED = np.random.SeedSequence(0)


def lane_generator(batch: Batch, lane: int) -> np.random.Generator:
    """Return a generator over the stream of a lane; drawing from it advances the stream.

    Raises:
        IndexError: If there is no such lane.
    """
    if not 0 <= lane < batch.num_envs:
        raise IndexError(f"lane {lane} is not in [0, {batch.num_envs})")
    return np.random.Generator(PCG64(batch.view_random()[lane]))


def stream_state(generator: object) -> dict[str, object]:
    """Return the state of a lane's stream that draws what `generator` would draw.

    Compiled code draws from PCG64 only. A generator over another bit generator, or a `RandomState`,
    seeds the stream with its next 128 bits instead, with a warning.

    Raises:
        ArgumentTypeError: If `generator` is neither a `Generator` nor a `RandomState`.
    """
    bits = getattr(generator, "bit_generator", None)
    if isinstance(bits, np.random.PCG64):
        return cast("dict[str, object]", bits.state)
    if not isinstance(generator, (np.random.Generator, np.random.RandomState)):
        raise error.ArgumentTypeError(
            f"np_random: expected a numpy.random.Generator, got {generator!r}"
        )
    logger.warn(
        f"np_random: compiled environments draw from PCG64, which {generator} seeds with its next "
        "128 bits; for the numbers of Gymnasium, pass a Generator over PCG64"
    )
    return cast("dict[str, object]", np.random.PCG64(int.from_bytes(generator.bytes(16))).state)


class PCG64(np.random.PCG64):
    """Bit generator of one lane: a view of its row of `Batch.view_random`.

    Copies, pickles and `jumped` are independent `numpy.random.PCG64` objects.

    Attributes:
        words: The row, uint64 [5].
        seed_seq: `SeedSequence` from which the stream was seeded; None if it is unknown.
    """

    seed_seq: np.random.SeedSequence | None = None  # type: ignore[assignment]

    def __init__(self, words: np.ndarray) -> None:
        # Do not call the constructor of PCG64: it would seed a stream of its own.
        np.random.BitGenerator.__init__(self, _NOT_USED)
        self.words = words
        bind_bit_generator(self, words)

    @property  # type: ignore[override]
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
        # With an even increment, all draws may be equal, and drawing below a bound may never end.
        if name != "PCG64" or is_negative or is_large or not increment & 1:
            raise ValueError(
                f"{expected}, with 128-bit numbers, an odd increment and a 32-bit half draw, "
                f"got {value!r}"
            )
        self.words[:4] = state >> 64, state & _WORD_MASK, increment >> 64, increment & _WORD_MASK
        self.words[4:].view(np.uint32)[:] = bool(halves[0]), halves[1]

    def advance(self, delta: int) -> PCG64:
        """Move the stream as if `delta` numbers had been drawn; return this object."""
        self.state = _detached(self.state, None).advance(delta).state
        return self

    def jumped(self, jumps: int = 1) -> np.random.PCG64:
        """Return a bit generator `jumps` jumps ahead of the stream."""
        return _detached(self.state, self.seed_seq).jumped(jumps)

    def spawn(self, n_children: int) -> list[np.random.PCG64]:  # type: ignore[override]
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

    def __deepcopy__(self, memo: dict[int, object]) -> np.random.PCG64:
        return _detached(self.state, copy.deepcopy(self.seed_seq, memo))


def _detached(state: Any, seed_seq: np.random.SeedSequence | None) -> np.random.PCG64:
    """Return a `numpy.random.PCG64` in this state."""
    generator = np.random.PCG64(seed_seq)
    generator.state = state
    return generator
