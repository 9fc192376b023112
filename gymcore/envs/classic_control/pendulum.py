"""Pendulum: swing a rod up and hold it there with a small torque."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gymcore import error, spaces
from gymcore.core import Info, Options
from gymcore.native.env import NativeContinuousEnv
from gymcore.native.parameters import Parameter, as_positive
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.rendering.shapes import (
    BLACK,
    WHITE,
    Color,
    Pixels,
    Point,
    bar,
    convex_polygon,
    disc,
    paint,
    sin_cos,
)

if TYPE_CHECKING:
    import pygame

# Half-widths of the initial angle and angular velocity, in radians and radians per second.
DEFAULT_X = math.pi
DEFAULT_Y = 1.0


def angle_normalize(x: float) -> float:
    """Return an angle or array of angles in radians, wrapped to [-pi, pi)."""
    return ((x + math.pi) % (2 * math.pi)) - math.pi


class PendulumEnv(NativeContinuousEnv):
    """A rod that turns about its end, driven by a torque.

    - Observation float32 [3]: cos(theta), sin(theta), angular velocity (rad/s); theta 0 is upright.
    - Action float32 [1]: torque (N m), clipped to `max_torque`.
    - Reward: -(theta^2 + 0.1 theta_dot^2 + 0.001 torque^2), with theta in [-pi, pi). The episode
      never terminates.
    - Reset options `x_init`, `y_init`: half-widths of the uniform initial angle and angular
      velocity (pi, 1).

    Attributes: max_speed, max_torque, dt (s), g (m/s^2), m (kg), l (m).

    Examples:
        >>> import gymcore as gym
        >>> env = gym.make("Pendulum-v1", g=9.81)
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, env.unwrapped.g
        ((3,), 9.81)
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 30}  # noqa: RUF012
    kernel_module = "gymcore_ext.physics.pendulum"
    screen_dim = 500
    observation_method = "_get_obs"
    numpy_scalars = True
    frame_size = (500, 500)

    max_speed = Parameter(encode=as_positive)
    max_torque = Parameter(encode=as_positive)
    dt = Parameter(encode=as_positive)
    g = Parameter()
    m = Parameter(encode=as_positive)
    l = Parameter(encode=as_positive)  # noqa: E741 (the name users know)

    last_u: float | None = None

    def __init__(self, render_mode: str | None = None, g: float = 10.0) -> None:
        """Create a Pendulum.

        Args:
            render_mode: Render mode: None, "human" or "rgb_array".
            g: Gravity, m/s^2.
        """
        super().__init__(render_mode, g=g)
        high = np.array([1.0, 1.0, self.max_speed], np.float32)
        self.observation_space = spaces.Box(-high, high, dtype=np.float32)
        self.action_space = spaces.Box(-self.max_torque, self.max_torque, (1,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[npt.NDArray[np.float32], Info]:
        """Start an episode; see the class for `options`."""
        self.last_u = None
        return super().reset(seed=seed, options=options)

    @classmethod
    def reset_bounds(cls, options: Options) -> tuple[float, ...] | None:
        """Return the bounds; they are half-widths, so neither may be negative."""
        bounds = super().reset_bounds(options)
        if bounds is not None and min(bounds) < 0:
            raise error.InvalidArgument(
                f"x_init, y_init: expected non-negative numbers, got {bounds}"
            )
        return bounds

    def _remember_action(self, action: npt.NDArray[np.float32]) -> None:
        self.last_u = np.asarray(action, np.float32)[0]

    @staticmethod
    def draw(
        surface: pygame.Surface,
        state: Sequence[float],
        *,
        last_torque: float | None,
        max_torque: float,
    ) -> None:
        """Draw one pendulum.

        Args:
            surface: Surface to draw on, by default 500 x 500 pixels; every pixel is overwritten.
            state: `(theta, theta_dot)`; theta in radians from upright, positive counter-clockwise.
            last_torque: Torque of the last step in N m, positive counter-clockwise; None draws no
                arrow.
            max_torque: Torque that is drawn with the largest arrow.
        """
        theta, _ = map(float, state)
        width, height = surface.get_size()
        surface.fill(WHITE)

        scale = min(width, height) / VIEW
        axle = (width / 2.0, height / 2.0)
        sine, cosine = sin_cos(theta)
        toward_tip = (-sine, -cosine)
        # The rounded ends extend beyond the axle and the tip.
        near, far = -ROD_HALF_WIDTH * scale, (ROD_LENGTH + ROD_HALF_WIDTH) * scale
        half_width = ROD_HALF_WIDTH * scale
        bar(
            surface,
            ROD,
            (axle[0] + near * toward_tip[0], axle[1] + near * toward_tip[1]),
            (axle[0] + far * toward_tip[0], axle[1] + far * toward_tip[1]),
            half_width,
            half_width,
        )
        if last_torque is not None:
            share = float(last_torque) / max_torque
            _draw_torque(surface, axle, scale, min(max(share, -1.0), 1.0))
        disc(surface, BLACK, axle, AXLE_RADIUS * scale)

    def draw_arguments(self) -> Info:
        """Return the torque of the last step for drawing its arrow."""
        limit = self.max_torque
        torque = 0.0 if self.last_u is None else min(max(float(self.last_u), -limit), limit)
        return {"last_torque": torque, "max_torque": limit}


PendulumVectorEnv = NativeVectorEnv.of(PendulumEnv)


# --- rendering -----------------------------------------------------------------------------------

ROD: Color = (204, 77, 77)

# Lengths in meters. The image shows a square of 4.4 m around the axle.
VIEW = 4.4
ROD_LENGTH = 1.0
ROD_HALF_WIDTH = 0.1
AXLE_RADIUS = 0.05
# The torque arrow at maximum torque; it scales with the torque.
ARROW_RADIUS = 0.46
ARROW_HALF_THICKNESS = 0.014
ARROW_HEAD_HALF_WIDTH = 0.065
ARROW_HEAD_LENGTH = 0.17


def _draw_torque(surface: pygame.Surface, axle: Point, scale: float, share: float) -> None:
    """Draw a curved arrow, scaled by `share`, the torque as a signed share of its maximum."""
    size = abs(share) * scale
    radius = ARROW_RADIUS * size
    # If it were thinner, the arrow of a small torque would fade instead of getting smaller.
    half_thickness = max(ARROW_HALF_THICKNESS * size, 0.6)
    if radius <= 2.0 * half_thickness:
        return
    # The open quarter of the ring is the upper one on the side of the arrow head.
    side = math.copysign(1.0, share)

    def distance(x: Pixels, y: Pixels) -> Pixels:
        from_ring = np.abs(np.sqrt(x * x + y * y) - np.float32(radius))
        into_open_quarter = np.minimum(np.float32(side) * x, -y)
        into_arrow: Pixels = np.maximum(from_ring - np.float32(half_thickness), into_open_quarter)
        return into_arrow

    reach = radius + half_thickness
    paint(surface, BLACK, axle, (reach, reach), distance)

    tip_x = axle[0] + side * radius
    half_width = max(ARROW_HEAD_HALF_WIDTH * size, 2.0)
    length = max(ARROW_HEAD_LENGTH * size, 4.0)
    head = [
        (tip_x - half_width, axle[1] + 0.25 * length),
        (tip_x + half_width, axle[1] + 0.25 * length),
        (tip_x, axle[1] - 0.75 * length),
    ]
    convex_polygon(surface, BLACK, head)
