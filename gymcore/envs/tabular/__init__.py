"""Environments with few states as JAX functions, and environments that use them.

Importing this package imports jax (`pip install jax`), and raises
`gymcore.error.DependencyNotInstalled` if it is not installed.
"""

from gymcore.envs.functional_jax_env import load_jax

load_jax()

from gymcore.envs.tabular.blackjack import BlackJackJaxEnv  # noqa: E402
from gymcore.envs.tabular.cliffwalking import CliffWalkingJaxEnv  # noqa: E402

__all__ = ["BlackJackJaxEnv", "CliffWalkingJaxEnv"]
