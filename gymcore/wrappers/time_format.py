"""Observations with the time in them, of one environment and of batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.error import InvalidArgument
from gymcore.spaces import Box, Dict, Space, Tuple, flatten, flatten_space
from gymcore.vector.utils import batch_space, concatenate, create_empty_array, iterate

__all__ = ["TimeFormat"]


class TimeFormat:
    """How `TimeAwareObservation` puts the time into observations; see there.

    Attributes:
        space: The space of an observation with the time.

    Example:
        >>> from gymcore.spaces import Box
        >>> TimeFormat(Box(0, 9, (2,)), max_steps=50, flat=True, normalize=True).space.high
        array([9., 9., 1.], dtype=float32)
    """

    def __init__(
        self,
        space: Space[Any],
        max_steps: int,
        flat: bool,
        normalize: bool,
        dict_key: str = "time",
    ) -> None:
        """Decide.

        Args:
            space: Space of the observations without the time.
            max_steps: Steps of the longest episode.
            flat: Whether to flatten.
            normalize: Whether the time goes from 0 to 1.
            dict_key: Key of the time in dict observations.

        Raises:
            InvalidArgument: The key is taken (a `ValueError`).
        """
        self._single = space
        self._max_steps = max_steps
        self._normalize = normalize
        time: Space[Any] = Box(0, 1) if normalize else Box(0, max_steps, dtype=np.int32)
        self._key = dict_key
        if isinstance(space, Dict):
            if dict_key in space.spaces:
                raise InvalidArgument(
                    f"The `dict_time_key` ({dict_key!r}) already exists in the observation space."
                )
            self._joined: Dict[Any] | Tuple[Any] = Dict({dict_key: time, **space.spaces})
        elif isinstance(space, Tuple):
            self._joined = Tuple((*space.spaces, time))
        else:
            self._joined = Dict(obs=space, time=time)
        self._flat = bool(flat)
        # Still a dict or tuple where a part (a sequence, a graph) has no flat form.
        self.space: Space[Any] = flatten_space(self._joined) if flat else self._joined

    def _put(self, observation: Any, time: Any) -> Any:
        if isinstance(self._single, Dict):
            return {self._key: time, **observation}
        if isinstance(self._single, Tuple):
            return (*observation, time)
        return {"obs": observation, "time": time}

    def join(self, observation: Any, steps: int) -> Any:
        """Return one observation with the time.

        Args:
            observation: An element of the space without time; not changed.
            steps: Steps since the episode began.
        """
        if self._normalize:
            time = np.array([steps / self._max_steps], dtype=np.float32)
        else:
            time = np.array([steps], dtype=np.int32)
        joined = self._put(observation, time)
        return flatten(self._joined, joined) if self._flat else joined

    def join_batch(self, observations: Any, steps: npt.NDArray[np.int32]) -> Any:
        """Return a batch of observations with their times.

        Args:
            observations: A batch of n, not changed. The parts of the result are these very ones
                where nothing is flattened.
            steps: int32 [n].
        """
        n = len(steps)
        times = steps
        if self._normalize:
            times = (steps / self._max_steps).astype(np.float32)
        if not self._flat:
            return self._ordered(self._put(observations, times.copy().reshape(n, 1)))
        if isinstance(self._single, Box):
            size = self.space.shape[0] - 1  # type: ignore[index]
            flat = np.empty((n, size + 1), self.space.dtype)
            flat[:, :size] = observations.reshape(n, size)
            flat[:, size] = times
            return flat
        rows = [
            self.join(row, int(time))
            for row, time in zip(
                iterate(batch_space(self._single, n), observations), steps, strict=True
            )
        ]
        return concatenate(self.space, rows, create_empty_array(self.space, n))

    def _ordered(self, joined: Any) -> Any:
        """Return a dict with its keys in the order of the space, as batches of it have them."""
        if isinstance(joined, dict):
            return {key: joined[key] for key in self._joined.spaces}
        return joined
