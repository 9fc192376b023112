"""Seeding the random streams of a compiled batch, and remembering with what."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.utils import seeding

# The seed of a stream that came from elsewhere: a saved state, or a generator that was put in.
UNKNOWN = -1


class LaneSeeds:
    """The seeds of a batch's lanes; streams that nobody seeded get the system's entropy."""

    def __init__(self, batch: Any) -> None:
        """Take the batch, whose streams are not seeded yet."""
        self._batch = batch
        # An int s for s, s + 1, ...: a million lanes need no list.
        self._known: int | list[int] | None = None

    @property
    def known(self) -> int | list[int] | None:
        """The first lane's seed if the others count on from it, a seed a lane, or None."""
        return self._known

    def seed_all(self, first: int) -> None:
        """Seed lane i with `first + i`."""
        self._batch.seed(first, 0, self._batch.num_envs)
        self._known = first

    def ensure(self) -> None:
        """Seed the lanes from the system's entropy if they are not seeded."""
        if self._known is None:
            self.seed_all(seeding.np_random()[1])

    def seed_lanes(self, seeds: list[int | None], mask: npt.NDArray[np.bool_] | None) -> None:
        """Seed the lanes of the mask (None for all) that have a seed."""
        self.ensure()
        known = list(self.as_tuple())
        for lane, seed in enumerate(seeds):
            if seed is not None and (mask is None or mask[lane]):
                self._batch.seed(seed, lane, lane + 1)
                known[lane] = seed
        self._known = known

    def forget(self, lanes: npt.NDArray[Any]) -> None:
        """Note that these lanes' streams came from elsewhere."""
        unseeded = [UNKNOWN] * self._batch.num_envs
        known = unseeded if self._known is None else list(self.as_tuple())
        for lane in lanes.tolist():
            known[lane] = UNKNOWN
        self._known = known

    def restore(self, known: int | list[int] | None) -> None:
        """Take what another batch's `known` was, with streams that were copied."""
        self._known = known

    def as_tuple(self) -> tuple[int, ...]:
        """The seed of every lane."""
        self.ensure()
        if isinstance(self._known, int):
            return tuple(range(self._known, self._known + self._batch.num_envs))
        return tuple(self._known or ())
