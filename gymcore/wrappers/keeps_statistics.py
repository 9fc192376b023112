"""What the four normalising wrappers share: statistics that are frozen, saved and restored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymcore.error import ArgumentTypeError, InvalidBound
from gymcore.wrappers.running_mean_std import RunningMeanStd

__all__ = ["KeepsStatistics", "check_epsilon"]


class KeepsStatistics:
    """A wrapper with running statistics, in the attribute that `_statistics_name` names.

    To merge those of several processes see `RunningMeanStd.merge`.
    """

    _statistics_name: str
    _update_running_mean = True

    @property
    def update_running_mean(self) -> bool:
        """Whether the statistics are updated; set it to False to freeze them, for an evaluation."""
        return self._update_running_mean

    @update_running_mean.setter
    def update_running_mean(self, setting: bool) -> None:
        self._update_running_mean = setting

    def get_statistics(self) -> dict[str, Any]:
        """Return mean, variance and count, to be saved: see `RunningMeanStd.get_state`."""
        statistics: RunningMeanStd = getattr(self, self._statistics_name)
        return statistics.get_state()

    def set_statistics(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_statistics` returned, here or in another process.

        Args:
            state: That dict; see `RunningMeanStd.set_state`, for the errors as well.
        """
        statistics: RunningMeanStd = getattr(self, self._statistics_name)
        statistics.set_state(state)


def check_epsilon(epsilon: Any) -> None:
    """Raise unless `epsilon` is a positive number: InvalidBound, or ArgumentTypeError."""
    try:
        positive = epsilon > 0
    except TypeError:
        raise ArgumentTypeError(f"epsilon: expected a number, got {type(epsilon)}") from None
    if not positive:
        raise InvalidBound(f"`epsilon` should be strictly positive. Received {epsilon}")


def check_gamma(gamma: Any) -> None:
    """Raise unless `gamma` is a number from 0 to 1: InvalidBound, or ArgumentTypeError."""
    try:
        inside = 0 <= gamma <= 1
    except TypeError:
        raise ArgumentTypeError(f"gamma: expected a number, got {type(gamma)}") from None
    if not inside:
        raise InvalidBound(f"`gamma` should be in the interval [0, 1]. Received {gamma}")
