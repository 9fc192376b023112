"""Physics in two dimensions as functions that use JAX, and environments over them.

Importing this package imports jax (`pip install jax`), and raises
`gymcore.error.DependencyNotInstalled` where there is none.
"""

from gymcore.envs.functional_jax_env import load_jax

load_jax()

from gymcore.envs.phys2d.cartpole import CartPoleFunctional, CartPoleJaxEnv  # noqa: E402
from gymcore.envs.phys2d.pendulum import PendulumFunctional, PendulumJaxEnv  # noqa: E402

__all__ = ["CartPoleFunctional", "CartPoleJaxEnv", "PendulumFunctional", "PendulumJaxEnv"]
