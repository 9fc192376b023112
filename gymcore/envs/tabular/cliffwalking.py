"""CliffWalking as functions of a state that JAX compiles and vectorizes.

Rules: R. S. Sutton and A. G. Barto, "Reinforcement Learning" (2018), example 6.6. Reference
environment: tabular/CliffWalking-v0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from gymcore import spaces
from gymcore.core import ActType
from gymcore.envs.functional_jax_env import DrawnFunctions, RegisteredJaxEnv, new_surface
from gymcore.envs.toy_text.cliffwalking import CLIFF, SHAPE, START, STEPS, CliffWalkingEnv
from gymcore.experimental.functional import FuncEnv
from gymcore.vector.vector_env import AutoresetMode

if TYPE_CHECKING:
    import pygame

PRNGKeyType: TypeAlias = jax.Array

ROWS, COLUMNS = SHAPE
CELL = 64
NO_ACTION = -1


class RenderStateType(NamedTuple):
    """Constant data for rendering.

    Attributes:
        screen: Surface to draw on, `cell_size` pixels per cell.
        shape: Numbers of rows and columns of the grid.
        nS: Number of cells.
        cell_size: Width and height of a cell in pixels.
        cliff: Whether each cell is cliff, bool array of this shape.
    """

    screen: pygame.Surface
    shape: tuple[int, int]
    nS: int
    cell_size: tuple[int, int]
    cliff: np.ndarray


class EnvState(NamedTuple):
    """The state of the walker.

    Attributes:
        player_position: Row and column, `[2] int32`.
        last_action: The last action, -1 before the first.
        fallen: Whether the last step led over the edge, bool or `[1] bool`.
    """

    player_position: jax.Array
    last_action: int
    fallen: bool | jax.Array


def fell_off(player_position: jax.Array) -> jax.Array:
    """Return whether a position `[2]` is on the cliff."""
    row, column = player_position
    return (row == ROWS - 1) & (column >= 1) & (column <= COLUMNS - 2)


class CliffWalkingFunctional(
    DrawnFunctions, FuncEnv[EnvState, jax.Array, int, float, bool, RenderStateType, None]
):
    """A walk from the lower left to the lower right corner of a grid, with a cliff between them.

    - Observation int32 [1]: `row * 12 + column`.
    - Action int32 [1]: 0 up, 1 right, 2 down, 3 left.
    - Reward: -1 per step; -100 for a fall, which leads to the start and does not end the episode.
    - Terminal: at the goal.
    """

    action_space = spaces.Box(low=0, high=3, shape=(1,), dtype=np.int32)
    observation_space = spaces.Box(low=0, high=ROWS * COLUMNS - 1, shape=(1,), dtype=np.int32)

    metadata = {  # noqa: RUF012
        "render_modes": ["rgb_array"],
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def transition(
        self,
        state: EnvState,
        action: jax.Array,
        key: PRNGKeyType,
        params: None = None,
    ) -> EnvState:
        """Return the state after an action; actions other than 0 to 3 have no effect."""
        index = jnp.asarray(action)[0]
        moves = jnp.array([*STEPS, (0, 0)], jnp.int32)
        move = moves[jnp.where((index >= 0) & (index < len(STEPS)), index, len(STEPS))]
        last = jnp.array([ROWS - 1, COLUMNS - 1], jnp.int32)
        position = jnp.clip(state.player_position + move, 0, last)
        fallen = fell_off(position)
        position = jnp.where(fallen, jnp.array(divmod(START, COLUMNS), jnp.int32), position)
        return EnvState(position, index, fallen[None])

    def initial(self, rng: PRNGKeyType, params: None = None) -> EnvState:
        """Return the state with the walker at the start."""
        return EnvState(jnp.array(divmod(START, COLUMNS), jnp.int32), NO_ACTION, False)

    def observation(
        self, state: EnvState, rng: PRNGKeyType | None = None, params: None = None
    ) -> jax.Array:
        """Return the index of the cell, int32 [1]."""
        row, column = state.player_position
        return jnp.array([row * COLUMNS + column], jnp.int32)

    def terminal(
        self, state: EnvState, rng: PRNGKeyType | None = None, params: None = None
    ) -> jax.Array:
        """Return whether the walker is at the goal."""
        return jnp.array_equal(state.player_position, jnp.array([ROWS - 1, COLUMNS - 1]))

    def reward(
        self,
        state: EnvState,
        action: ActType,
        next_state: EnvState,
        rng: PRNGKeyType | None = None,
        params: None = None,
    ) -> jax.Array:
        """Return the reward, float32; see the class."""
        return jnp.where(jnp.any(jnp.asarray(next_state.fallen)), -100.0, -1.0)

    def render_init(self, screen_width: int = 600, screen_height: int = 500) -> RenderStateType:
        """Return a surface of 768 x 256 pixels, regardless of the arguments, and the grid.

        Raises:
            DependencyNotInstalled: If pygame is missing.
        """
        screen = new_surface(COLUMNS * CELL, ROWS * CELL)
        return RenderStateType(screen, SHAPE, ROWS * COLUMNS, (CELL, CELL), CLIFF.copy())

    def _draw(self, state: EnvState, render_state: RenderStateType, params: None) -> None:
        row, column = np.asarray(state.player_position).tolist()
        CliffWalkingEnv.draw(render_state.screen, (row * COLUMNS + column, int(state.last_action)))


class CliffWalkingJaxEnv(RegisteredJaxEnv):
    """tabular/CliffWalking-v0: CliffWalking with functions compiled by JAX."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50, "jax": True}  # noqa: RUF012

    functional = CliffWalkingFunctional
