"""Wrappers: environments around an environment, that change what goes in or comes out."""

from gymcore.wrappers.common import (
    Autoreset,
    OrderEnforcing,
    PassiveEnvChecker,
    RecordEpisodeStatistics,
    TimeLimit,
)
from gymcore.wrappers.rendering import HumanRendering, RenderCollection

__all__ = [
    "Autoreset",
    "HumanRendering",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "RenderCollection",
    "TimeLimit",
]
