"""Random streams of lanes for wrappers: those of the environments where they can be shared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore.utils import seeding
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.vector.sync_vector_env import SyncVectorEnv

if TYPE_CHECKING:
    from gymcore.vector.vector_env import VectorEnv

__all__ = ["LaneStreams"]


class LaneStreams:
    """A generator for each lane.

    Compiled environments and those of `SyncVectorEnv` are asked for theirs: what is drawn here, the
    environment does not draw. Of others (`AsyncVectorEnv` could only give copies) the lanes get
    generators of their own.

    Attributes:
        shared: Whether the generators are the environments' own.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2)
        >>> _ = envs.reset(seed=5)
        >>> streams = LaneStreams(envs)
        >>> state = envs.np_random[1].bit_generator.state
        >>> _ = streams[1].uniform()
        >>> envs.np_random[1].bit_generator.state == state
        False
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        """Take the environment.

        Args:
            env: The vector environment.
        """
        self._engine: Any = env.unwrapped
        self._native = isinstance(self._engine, NativeVectorEnv)
        self.shared = self._native or isinstance(self._engine, SyncVectorEnv)
        self._streams: dict[int, np.random.Generator] = {}

    def __getitem__(self, lane: int) -> np.random.Generator:
        """Return the generator of a lane."""
        if self.shared and not self._native:
            stream: np.random.Generator = self._engine.envs[lane].np_random
            return stream
        found = self._streams.get(lane)
        if found is not None:
            return found
        if self._native:
            self._streams = dict(enumerate(self._engine.np_random))
        else:
            self._streams[lane] = seeding.np_random()[0]
        return self._streams[lane]

    def draw_repeats(
        self, lanes: npt.NDArray[np.int64], probability: float, fewest: int, most: int
    ) -> npt.NDArray[np.int64]:
        """Let chance say in which lanes something is repeated, and how often.

        Args:
            lanes: Which ones, int64 [n].
            probability: Of repeating.
            fewest: Fewest times, at least 1.
            most: Most times.

        Returns:
            int64 [n], how often; 0 where nothing is repeated.
        """
        choices = most - fewest + 1
        if self._native and choices < 2**32:  # drawn there as `integers` draws
            self._engine._seeds.ensure()
            drawn: npt.NDArray[np.int64]
            drawn = self._engine._batch.draw_repeats(lanes, probability, fewest, choices)
            return drawn
        counts = np.zeros(len(lanes), np.int64)
        for k, lane in enumerate(lanes.tolist()):
            stream = self[lane]
            if stream.random() < probability:  # the number that `uniform` draws, and faster
                counts[k] = stream.integers(fewest, most + 1)
        return counts

    def seed(self, seeds: Sequence[int | None], lanes: npt.NDArray[np.bool_]) -> None:
        """Note a reset, by which environments have seeded their generators themselves.

        Args:
            seeds: One for each lane, or None.
            lanes: bool [num_envs], those that were reset.
        """
        if self.shared:
            return
        for lane in np.flatnonzero(lanes).tolist():
            if seeds[lane] is not None:
                self._streams[lane] = seeding.np_random(seeds[lane])[0]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out views of another engine's memory: a copy has its own."""
        kept = dict(self.__dict__)
        if self._native:
            kept["_streams"] = {}
        return kept
