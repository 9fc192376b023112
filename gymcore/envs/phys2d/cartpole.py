"""CartPole as functions of a state that JAX compiles, vectorizes and differentiates.

Equations: A. G. Barto, R. S. Sutton, C. W. Anderson, "Neuronlike adaptive elements that can solve
difficult learning control problems" (1983), without friction, in the form of R. V. Florian,
"Correct equations for the dynamics of the cart-pole system" (2007), eqs. 23-24, explicit Euler.
Reference environment: phys2d/CartPole-v1. There, and here, `CartPoleParams.polemass_length` is 0.6,
the sum of 0.1 and 0.5 instead of their product; episodes differ from those of CartPole-v1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from gymcore import spaces
from gymcore.core import ActType
from gymcore.envs.classic_control.cartpole import CartPoleEnv
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
RenderStateType = tuple["pygame.Surface", "pygame.time.Clock"]

_METADATA = {"render_modes": ["rgb_array"], "render_fps": 50, "jax": True}


@functional_params
class CartPoleParams(FunctionalParams):
    """Parameters of `CartPoleFunctional`; the class itself holds the defaults.

    Attributes:
        gravity: Gravity, m/s^2.
        masscart: Mass of the cart, kg; the equations use only `total_mass`.
        masspole: Mass of the pole, kg.
        total_mass: Total mass, kg.
        length: Half the length of the pole, m.
        polemass_length: Coupling of pole and cart; kg m in the equations (see the module).
        force_mag: Magnitude of the force, N.
        tau: Duration of a step, s.
        theta_threshold_radians: Largest angle that does not end an episode.
        x_threshold: Largest distance from the middle that does not end an episode, m.
        x_init: Half-width of the uniform initial values of all four numbers.
        sutton_barto_reward: Whether the reward is 0, and -1 after a terminal state, instead
            of 1.
        screen_width: Width in pixels; not used, since `render_init` has its own.
        screen_height: Height in pixels; not used.
    """

    gravity: float = 9.8
    masscart: float = 1.0
    masspole: float = 0.1
    total_mass: float = 0.1 + 1.0
    length: float = 0.5
    polemass_length: float = 0.1 + 0.5
    force_mag: float = 10.0
    tau: float = 0.02
    theta_threshold_radians: float = 12 * 2 * math.pi / 360
    x_threshold: float = 2.4
    x_init: float = 0.05
    sutton_barto_reward: bool = False
    screen_width: int = 600
    screen_height: int = 400


class CartPoleFunctional(
    DrawnFunctions, FuncEnv[StateType, jax.Array, int, float, bool, RenderStateType, CartPoleParams]
):
    """A pole hinged on a cart that is pushed left or right by a force of fixed size.

    - State and observation float32 [4]: position (m), velocity (m/s), angle (rad, 0 is upright),
      angular velocity (rad/s).
    - Action: 0 left, 1 right.
    - Reward: 1; with `sutton_barto_reward` 0, and -1 in steps that start in a terminal state.
    - Terminal: |position| > `x_threshold` or |angle| > `theta_threshold_radians`.

    Examples:
        A thousand lanes, each with its own gravity:

        ```text
        functions = CartPoleFunctional()
        keys = jax.random.split(jax.random.PRNGKey(1), 1000)
        states = jax.vmap(functions.initial)(keys)
        step = jax.vmap(lambda s, a, g: functions.transition(s, a, None, CartPoleParams(gravity=g)))
        states = step(states, actions, gravities)
        ```
    """

    observation_space = spaces.Box(-np.inf, np.inf, shape=(4,), dtype=np.float32)
    action_space = spaces.Discrete(2)
    params_class = CartPoleParams

    def initial(self, rng: PRNGKeyType, params: ParamsLike = CartPoleParams) -> StateType:
        """Return the initial state, float32 [4], uniform within `x_init`; see `FuncEnv.initial`."""
        return jax.random.uniform(rng, (4,), minval=-params.x_init, maxval=params.x_init)

    def transition(
        self,
        state: StateType,
        action: int | jax.Array,
        rng: None = None,
        params: ParamsLike = CartPoleParams,
    ) -> StateType:
        """Return the state after `tau` seconds, float32 [4]; see `FuncEnv.transition`."""
        x, x_dot, theta, theta_dot = state
        force = jnp.sign(action - 0.5) * params.force_mag
        sine, cosine = jnp.sin(theta), jnp.cos(theta)

        pull = (force + params.polemass_length * theta_dot**2 * sine) / params.total_mass
        theta_acc = (params.gravity * sine - cosine * pull) / (
            params.length * (4.0 / 3.0 - params.masspole * cosine**2 / params.total_mass)
        )
        x_acc = pull - params.polemass_length * theta_acc * cosine / params.total_mass

        return jnp.array(
            [
                x + params.tau * x_dot,
                x_dot + params.tau * x_acc,
                theta + params.tau * theta_dot,
                theta_dot + params.tau * theta_acc,
            ],
            jnp.float32,
        )

    def observation(
        self, state: StateType, rng: PRNGKeyType, params: ParamsLike = CartPoleParams
    ) -> jax.Array:
        """Return the state; see `FuncEnv.observation`."""
        return state

    def _fallen(self, state: StateType, params: ParamsLike) -> jax.Array:
        x, _, theta, _ = state
        return (jnp.abs(x) > params.x_threshold) | (jnp.abs(theta) > params.theta_threshold_radians)

    def terminal(
        self, state: StateType, rng: PRNGKeyType, params: ParamsLike = CartPoleParams
    ) -> jax.Array:
        """Return whether the pole fell or the cart left the track; see `FuncEnv.terminal`."""
        return self._fallen(state, params)

    def reward(
        self,
        state: StateType,
        action: ActType,
        next_state: StateType,
        rng: PRNGKeyType,
        params: ParamsLike = CartPoleParams,
    ) -> jax.Array:
        """Return the reward, float32; see the class and `FuncEnv.reward`."""
        # As in the reference environment, this depends on the state before the step.
        fallen = jnp.where(self._fallen(state, params), -1.0, 0.0)
        return jnp.where(params.sutton_barto_reward, fallen, 1.0)

    def _draw(self, state: StateType, render_state: RenderStateType, params: ParamsLike) -> None:
        numbers = np.asarray(state).tolist()
        scene = {"length": params.length, "x_threshold": params.x_threshold}
        CartPoleEnv.draw(render_state[0], numbers, **scene)

    def render_init(
        self,
        params: ParamsLike = CartPoleParams,
        screen_width: int = 600,
        screen_height: int = 400,
    ) -> RenderStateType:
        """Return a surface of this size and a clock."""
        surface = new_surface(screen_width, screen_height)
        import pygame

        return surface, pygame.time.Clock()


class CartPoleJaxEnv(RegisteredJaxEnv):
    """phys2d/CartPole-v0 and -v1: CartPole with functions compiled by JAX."""

    metadata = _METADATA

    functional = CartPoleFunctional


class CartPoleJaxVectorEnv(RegisteredJaxVectorEnv):
    """A batch of CartPoles in one call of compiled functions; see `FunctionalJaxVectorEnv`."""

    metadata = {**_METADATA, "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    functional = CartPoleFunctional
