"""Pendulum as functions of a state that JAX compiles, vectorizes and differentiates.

Equations: a uniform rod of mass m and length l that turns about its end (moment of inertia
m l^2 / 3), semi-implicit Euler. Reference environment: phys2d/Pendulum-v0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from gymcore import spaces
from gymcore.core import ActType
from gymcore.envs.classic_control.pendulum import PendulumEnv
from gymcore.envs.functional_jax_env import (
    DrawnFunctions,
    FunctionalParams,
    ParamsLike,
    RegisteredJaxEnv,
    RegisteredJaxVectorEnv,
    functional_params,
    new_surface,
)
from gymcore.experimental.functional import FuncEnv
from gymcore.vector.vector_env import AutoresetMode

if TYPE_CHECKING:
    import pygame

StateType: TypeAlias = jax.Array
PRNGKeyType: TypeAlias = jax.Array
RenderStateType = tuple["pygame.Surface", "pygame.time.Clock", float | None]


@functional_params
class PendulumParams(FunctionalParams):
    """Parameters of `PendulumFunctional`; the class itself holds the defaults.

    Attributes:
        max_speed: Maximum angular velocity, rad/s.
        dt: Duration of a step, s.
        g: Gravity, m/s^2.
        m: Mass, kg.
        l: Length, m.
        high_x: Half-width of the uniform initial angle, rad.
        high_y: Half-width of the uniform initial angular velocity, rad/s.
        screen_dim: Size in pixels; not used, since `render_init` has its own.
    """

    max_speed: float = 8.0
    dt: float = 0.05
    g: float = 10.0
    m: float = 1.0
    l: float = 1.0  # noqa: E741 (the name users know)
    high_x: float = math.pi
    high_y: float = 1.0
    screen_dim: int = 500


class PendulumFunctional(
    DrawnFunctions, FuncEnv[StateType, jax.Array, int, float, bool, RenderStateType, PendulumParams]
):
    """A rod that turns about its end, driven by a torque.

    - State float32 [2]: angle (rad, 0 is upright, not wrapped), angular velocity (rad/s).
    - Observation float32 [3]: cosine and sine of the angle, angular velocity.
    - Action float32 [1]: torque (N m), clipped to `max_torque`.
    - Reward: -(angle^2 + 0.1 velocity^2 + 0.001 torque^2), with the angle in [-pi, pi), for the
      state before the step. No state is terminal.

    Attributes:
        max_torque: Maximum torque, N m; an option: `PendulumFunctional({"max_torque": 5.0})`.
    """

    max_torque: float = 2.0

    observation_space = spaces.Box(-np.inf, np.inf, shape=(3,), dtype=np.float32)
    action_space = spaces.Box(-max_torque, max_torque, shape=(1,), dtype=np.float32)
    params_class = PendulumParams

    def initial(self, rng: PRNGKeyType, params: ParamsLike = PendulumParams) -> StateType:
        """Return the initial state, float32 [2], uniform; see `FuncEnv.initial`."""
        high = jnp.array([params.high_x, params.high_y])
        return jax.random.uniform(rng, (2,), minval=-high, maxval=high)

    def _torque(self, action: jax.Array) -> jax.Array:
        return jnp.clip(action, -self.max_torque, self.max_torque)[0]

    def transition(
        self,
        state: StateType,
        action: int | jax.Array,
        rng: None = None,
        params: ParamsLike = PendulumParams,
    ) -> StateType:
        """Return the state after `dt` seconds, float32 [2]; see `FuncEnv.transition`."""
        theta, theta_dot = state
        gravity = 3.0 * params.g / (2.0 * params.l) * jnp.sin(theta)
        push = 3.0 / (params.m * params.l**2) * self._torque(action)
        theta_dot = theta_dot + (gravity + push) * params.dt
        theta_dot = jnp.clip(theta_dot, -params.max_speed, params.max_speed)
        return jnp.array([theta + theta_dot * params.dt, theta_dot])

    def observation(
        self, state: StateType, rng: PRNGKeyType, params: ParamsLike = PendulumParams
    ) -> jax.Array:
        """Return the observation, float32 [3]; see `FuncEnv.observation`."""
        theta, theta_dot = state
        return jnp.array([jnp.cos(theta), jnp.sin(theta), theta_dot])

    def reward(
        self,
        state: StateType,
        action: ActType,
        next_state: StateType,
        rng: PRNGKeyType,
        params: ParamsLike = PendulumParams,
    ) -> jax.Array:
        """Return the reward, float32; see the class and `FuncEnv.reward`."""
        theta, theta_dot = state
        angle = (theta + jnp.pi) % (2.0 * jnp.pi) - jnp.pi
        return -(angle**2 + 0.1 * theta_dot**2 + 0.001 * self._torque(action) ** 2)

    def terminal(
        self, state: StateType, rng: PRNGKeyType, params: ParamsLike = PendulumParams
    ) -> jax.Array:
        """Return False; see `FuncEnv.terminal`."""
        return jnp.array(False)

    def _draw(self, state: StateType, render_state: RenderStateType, params: ParamsLike) -> None:
        surface, _, torque = render_state
        numbers = np.asarray(state).tolist()
        PendulumEnv.draw(surface, numbers, last_torque=torque, max_torque=self.max_torque)

    def render_init(
        self,
        screen_width: int = 600,
        screen_height: int = 400,
        params: ParamsLike = PendulumParams,
    ) -> RenderStateType:
        """Return a surface of this size, a clock, and no torque to draw yet."""
        surface = new_surface(screen_width, screen_height)
        import pygame

        return surface, pygame.time.Clock(), None


class PendulumJaxEnv(RegisteredJaxEnv):
    """phys2d/Pendulum-v0: Pendulum with functions compiled by JAX; see `FunctionalJaxEnv`."""

    metadata = {  # noqa: RUF012
        "render_modes": ["rgb_array"],
        "render_fps": 30,
        "jax": True,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    functional = PendulumFunctional


class PendulumJaxVectorEnv(RegisteredJaxVectorEnv):
    """A batch of Pendulums in one call of compiled functions; see `FunctionalJaxVectorEnv`."""

    metadata = {  # noqa: RUF012
        "render_modes": ["rgb_array"],
        "render_fps": 50,
        "jax": True,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    functional = PendulumFunctional
