"""Environments written as functions: `functional` is the interface, `functional_env` runs it."""

from gymcore.experimental import functional, functional_env
from gymcore.experimental.functional import FuncEnv
from gymcore.experimental.functional_env import FunctionalEnv, FunctionalVectorEnv

__all__ = ["FuncEnv", "FunctionalEnv", "FunctionalVectorEnv", "functional", "functional_env"]
