"""CartPole: keep a pole upright on a cart that is pushed left or right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore import error, logger, spaces
from gymcore.core import Info, Options
from gymcore.native.env import NativeDiscreteEnv
from gymcore.native.parameters import Derived, Parameter, as_positive, flag, one_of
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.rendering.shapes import BLACK, Color, bar, blank, disc, sin_cos

if TYPE_CHECKING:
    import pygame

INTEGRATORS = ("euler", "semi-implicit euler")


class CartPoleEnv(NativeDiscreteEnv):
    """A pole hinged on a cart that is pushed left or right by a force of fixed size.

    Equations: Barto, Sutton and Anderson (1983), without friction, as corrected by Florian (2007).

    - Observation float32 [4]: cart position (m), cart velocity (m/s), pole angle (rad, 0 is
      upright), pole angular velocity (rad/s).
    - Actions: 0 pushes left, 1 pushes right.
    - Reward: 1 per step; with `sutton_barto_reward` 0 per step, and -1 for the last one.
    - Terminates beyond `x_threshold` or `theta_threshold_radians`.
    - Reset options `low`, `high`: bounds of the uniform initial state, all four (-0.05, 0.05).

    Attributes (numbers that can be set at any time): gravity, masscart, masspole, length (half the
    pole), force_mag, tau (s per step), theta_threshold_radians, x_threshold, kinematics_integrator
    ("euler" or "semi-implicit euler"). total_mass and polemass_length are computed from them.

    Examples:
        >>> import gymcore as gym
        >>> env = gym.make("CartPole-v1")
        >>> observation, info = env.reset(seed=1)
        >>> env.step(1)[1:]
        (1.0, False, False, {})
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 50}  # noqa: RUF012
    kernel_module = "gymcore_ext.physics.cartpole"
    screen_width, screen_height = 600, 400

    gravity = Parameter()
    masscart = Parameter(encode=as_positive)
    masspole = Parameter(encode=as_positive)
    length = Parameter(encode=as_positive)
    force_mag = Parameter()
    tau = Parameter(encode=as_positive)
    theta_threshold_radians = Parameter(encode=as_positive)
    x_threshold = Parameter(encode=as_positive)
    kinematics_integrator = Parameter(
        "semi_implicit",
        encode=one_of(*INTEGRATORS),
        decode=lambda columns: INTEGRATORS[int(columns[0])],
    )
    sutton_barto_reward = flag()
    # Gymnasium's name, in copies of its `step`.
    _sutton_barto_reward = property(
        lambda env: env.sutton_barto_reward,
        lambda env, value: setattr(env, "sutton_barto_reward", value),
    )
    total_mass = Derived(lambda env: env.masspole + env.masscart, "masspole + masscart")
    polemass_length = Derived(lambda env: env.masspole * env.length, "masspole * length")

    def __init__(self, sutton_barto_reward: bool = False, render_mode: str | None = None) -> None:
        """Create a CartPole.

        Args:
            sutton_barto_reward: Whether the reward is 0 per step and -1 at the end, instead of 1.
            render_mode: Render mode: None, "human" or "rgb_array".
        """
        super().__init__(render_mode, sutton_barto_reward=sutton_barto_reward)
        self.observation_space, self.action_space = make_spaces()
        self.steps_beyond_terminated: int | None = None

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[npt.NDArray[np.float32], Info]:
        """Start an episode; see the class for `options`."""
        self.steps_beyond_terminated = None
        return super().reset(seed=seed, options=options)

    def step(self, action: int) -> tuple[npt.NDArray[np.float32], float, bool, bool, Info]:
        """Push left (0) or right (1). The reward of steps after a termination is 0."""
        if not self.action_space.contains(action):
            raise self._invalid(action)
        try:
            observation, reward, terminated = self._batch.step_single(action)
        except error.ResetNeeded:
            raise error.ResetNeeded("Call reset before using step method.") from None
        if terminated:
            reward = self._reward_after_end(reward)
        if self.render_mode == "human":
            self.render()
        return observation, reward, terminated, False, {}

    def _reward_after_end(self, reward: float) -> float:
        if self.steps_beyond_terminated is None:
            self.steps_beyond_terminated = 0
            return reward
        if self.steps_beyond_terminated == 0:
            logger.warn(
                "You are calling 'step()' even though this environment has already returned "
                "terminated = True. Call 'reset()' then: further steps earn no reward."
            )
        self.steps_beyond_terminated += 1
        return -1.0 if self.sutton_barto_reward else 0.0

    def get_state(self) -> np.ndarray:
        """See `NativeEnv.get_state`."""
        saved = super().get_state()
        beyond = self.steps_beyond_terminated
        saved["steps_after_end"] = -1 if beyond is None else beyond
        return saved

    def set_state(self, state: np.ndarray) -> None:
        """See `NativeEnv.set_state`. A batch lane that ended out of bounds counts as terminated."""
        super().set_state(state)
        beyond = int(state["steps_after_end"][0])
        if beyond < 0 and state["ended"][0]:
            x, _, theta, _ = np.abs(self._batch.view_state()[:, self._lane])
            beyond = 0 if x > self.x_threshold or theta > self.theta_threshold_radians else -1
        self.steps_beyond_terminated = None if beyond < 0 else beyond

    @staticmethod
    def draw(
        surface: pygame.Surface, state: Sequence[float], *, length: float, x_threshold: float
    ) -> None:
        """Draw one CartPole.

        Args:
            surface: Surface to draw on, by default 600 x 400 pixels; every pixel is overwritten.
            state: `(x, x_dot, theta, theta_dot)`; x in meters from the middle, theta in radians
                from the vertical, positive to the right.
            length: Half the length of the pole in meters.
            x_threshold: Half the visible length of the track in meters.
        """
        x, _, theta, _ = map(float, state)
        width, height = surface.get_size()
        surface.blit(_background((width, height)), (0, 0))

        scale = width / (2.0 * x_threshold)
        cart_x = width / 2.0 + x * scale
        cart_y = height - TRACK_HEIGHT
        bar(
            surface,
            BLACK,
            (cart_x - CART_HALF_LENGTH, cart_y),
            (cart_x + CART_HALF_LENGTH, cart_y),
            CART_HALF_HEIGHT,
            3.0,
        )

        axle = (cart_x, height - AXLE_HEIGHT)
        sine, cosine = sin_cos(theta)
        toward_tip = (sine, -cosine)
        # The pole extends below its axle by half its width and is that much shorter above.
        below, above = -POLE_HALF_WIDTH, 2.0 * length * scale - POLE_HALF_WIDTH
        bar(
            surface,
            POLE,
            (axle[0] + below * toward_tip[0], axle[1] + below * toward_tip[1]),
            (axle[0] + above * toward_tip[0], axle[1] + above * toward_tip[1]),
            POLE_HALF_WIDTH,
            2.0,
        )
        disc(surface, AXLE, axle, POLE_HALF_WIDTH)

    def draw_arguments(self) -> Info:
        """Return the length of the pole and the width of the track for drawing."""
        return {"length": self.length, "x_threshold": self.x_threshold}


def make_spaces() -> tuple[spaces.Box, spaces.Discrete]:
    """Return both spaces; bounds are twice the thresholds, which the last step may exceed."""
    high = np.array(
        [2 * CartPoleEnv.x_threshold, math.inf, 2 * CartPoleEnv.theta_threshold_radians, math.inf],
        np.float32,
    )
    return spaces.Box(-high, high, dtype=np.float32), spaces.Discrete(2)


class CartPoleVectorEnv(NativeVectorEnv):
    """A batch of CartPoles; see `NativeVectorEnv`."""

    env_class = CartPoleEnv

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = 500,
        render_mode: str | None = None,
        sutton_barto_reward: object = False,
        **options: Any,
    ) -> None:
        """Create the batch; `options` are those of `NativeVectorEnv`."""
        super().__init__(
            num_envs,
            max_episode_steps,
            render_mode,
            sutton_barto_reward=sutton_barto_reward,
            **options,
        )

    @property
    def state(self) -> npt.NDArray[np.float64] | None:
        """Physics states, float64 [4, num_envs], a copy; None before the first reset."""
        return self._batch.view_state().copy() if self._batch.is_ready else None

    @property
    def prev_done(self) -> npt.NDArray[np.bool_]:
        """Whether each lane's last step ended its episode, bool [num_envs], a copy."""
        return self._batch.view_lifecycle()[0].astype(bool)


# --- rendering -----------------------------------------------------------------------------------

POLE: Color = (202, 152, 101)
AXLE: Color = (129, 132, 203)

# Pixels; vertical positions are measured from the lower edge.
TRACK_HEIGHT = 100.5
AXLE_HEIGHT = 107.5
CART_HALF_LENGTH = 25.0
CART_HALF_HEIGHT = 15.5
POLE_HALF_WIDTH = 5.5


@lru_cache(maxsize=16)
def _background(size: tuple[int, int]) -> pygame.Surface:
    """Return the empty track; cached, so callers must not draw on it."""
    width, height = size
    surface = blank(size)
    track = height - TRACK_HEIGHT
    # The ends are outside the image, so that the line's round caps are not visible.
    bar(surface, BLACK, (-2.0, track), (width + 2.0, track), 0.5, 0.5)
    return surface
