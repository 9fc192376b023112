"""Physics in two dimensions as JAX functions, and environments that use them.

Importing this package imports jax (`pip install jax`), and raises
`gymcore.error.DependencyNotInstalled` if it is not installed.
"""

from gymcore.envs.functional_jax_env import load_jax

load_jax()

from gymcore.envs.phys2d.cartpole import CartPoleFunctional, CartPoleJaxEnv  # noqa: E402
from gymcore.envs.phys2d.pendulum import PendulumFunctional, PendulumJaxEnv  # noqa: E402

__all__ = ["CartPoleFunctional", "CartPoleJaxEnv", "PendulumFunctional", "PendulumJaxEnv"]
