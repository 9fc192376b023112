"""Metrics of training as TensorBoard events."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gymcore.base.no_copies import NoCopies
from gymcore.base.optional_packages import needs
from gymcore.learn.ppo import PPO


class TensorBoardLog(NoCopies):
    """Writes the metrics of each update as TensorBoard events: a callback of `PPO.train`.

    Examples:
        >>> from gymcore.learn import PPO
        >>> log = TensorBoardLog("runs/cartpole")
        >>> PPO("CartPole-v1", seed=1, total_steps=2048).train(log)
        >>> log.close()
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Start an event file in the folder, which is created if missing.

        Raises:
            DependencyNotInstalled: If tensorboardX is missing.
        """
        with needs("tensorboardX"):
            from tensorboardX import SummaryWriter
        self._writer = SummaryWriter(os.fspath(folder))

    def __call__(self, ppo: PPO, metrics: Mapping[str, float]) -> None:
        """Write the metrics at the agent's step count."""
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, ppo.steps)

    def close(self) -> None:
        """Write the remaining events, and close the file."""
        self._writer.close()
