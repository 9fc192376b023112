"""MountainCar: an underpowered car must gather speed in a valley to climb out of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from gymcore import spaces
from gymcore.core import ActType, Info
from gymcore.native.env import NativeDiscreteEnv, NativeEnv
from gymcore.native.parameters import Parameter, as_positive
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.rendering.shapes import (
    BLACK,
    Color,
    Pixels,
    Point,
    bar,
    blank,
    convex_polygon,
    disc,
    paint,
    sin_cos,
)

if TYPE_CHECKING:
    import pygame


class MountainCarRendering(NativeEnv[npt.NDArray[np.float32], ActType]):
    """The track of both mountain cars, and the drawing of the hill, the car and the flag."""

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 30}  # noqa: RUF012
    screen_width, screen_height = 600, 400

    min_position = Parameter()
    max_position = Parameter()
    max_speed = Parameter(encode=as_positive)
    goal_position = Parameter()
    goal_velocity = Parameter()

    @staticmethod
    def draw(
        surface: pygame.Surface,
        state: Sequence[float],
        *,
        goal_position: float,
        min_position: float,
        max_position: float,
    ) -> None:
        """Draw one mountain car, of either kind.

        Args:
            surface: Surface to draw on, by default 600 x 400 pixels; every pixel is overwritten.
            state: `(position, velocity)`.
            goal_position: Position of the flag.
            min_position: Position at the left edge.
            max_position: Position at the right edge.
        """
        position, _ = map(float, state)
        size = surface.get_size()
        surface.blit(_background(size, goal_position, min_position, max_position), (0, 0))

        foot_x, foot_y = _on_hill(size, position, min_position, max_position)
        slope = 1.35 * sin_cos(3.0 * position)[1]
        tilt_sine, tilt_cosine = sin_cos(math.atan(slope))
        forward = (tilt_cosine, -tilt_sine)
        upward = (-tilt_sine, -tilt_cosine)

        def from_foot(along: float, above: float) -> Point:
            """Return the pixel `along` and `above` the slope, relative to the foot of the car."""
            return (
                foot_x + along * forward[0] + above * upward[0],
                foot_y + along * forward[1] + above * upward[1],
            )

        middle = CAR_CLEARANCE + CAR_HALF_HEIGHT
        bar(
            surface,
            BLACK,
            from_foot(-CAR_HALF_LENGTH, middle),
            from_foot(CAR_HALF_LENGTH, middle),
            CAR_HALF_HEIGHT,
            3.0,
        )
        for along in (-WHEEL_OFFSET, WHEEL_OFFSET):
            disc(surface, WHEEL, from_foot(along, WHEEL_HEIGHT), WHEEL_RADIUS)

    def _height(self, xs: np.ndarray) -> np.ndarray:
        """Return the heights of the hill at positions, for a `render` of a subclass."""
        height: np.ndarray = np.sin(3 * xs) * 0.45 + 0.55
        return height

    def draw_arguments(self) -> Info:
        """Return the positions of the flag and of the ends of the track for drawing."""
        return {
            "goal_position": self.goal_position,
            "min_position": self.min_position,
            "max_position": self.max_position,
        }


class MountainCarEnv(MountainCarRendering[int], NativeDiscreteEnv):
    """A car in a valley with three actions: push left, coast, push right.

    Equations: Moore (1990), with the constants of Sutton and Barto's book.

    - Observation float32 [2]: position, velocity (per step).
    - Reward: -1 per step. Terminates at `goal_position` with at least `goal_velocity`.
    - Reset options `low`, `high`: bounds of the uniform initial position (-0.6, -0.4).

    Attributes: min_position, max_position, max_speed, goal_position, goal_velocity, force, gravity.

    Examples:
        >>> import gymcore as gym
        >>> env = gym.make("MountainCar-v0")
        >>> observation, info = env.reset(seed=1)
        >>> env.step(2)[1:]
        (-1.0, False, False, {})
    """

    kernel_module = "gymcore_ext.physics.mountain_car"
    # Arrow keys of pygame (left 1073741904, right 1073741903), without importing pygame.
    keys: ClassVar[dict[tuple[int, ...], int]] = {
        (): 1,
        (1073741904,): 0,
        (1073741903,): 2,
        (1073741903, 1073741904): 1,
    }

    force = Parameter()
    gravity = Parameter()

    def __init__(self, render_mode: str | None = None, goal_velocity: float = 0) -> None:
        """Create a MountainCar.

        Args:
            render_mode: Render mode: None, "human" or "rgb_array".
            goal_velocity: Minimum velocity at the goal.
        """
        super().__init__(render_mode, goal_velocity=goal_velocity)
        self.low = np.array([self.min_position, -self.max_speed], np.float32)
        self.high = np.array([self.max_position, self.max_speed], np.float32)
        self.observation_space = spaces.Box(self.low, self.high, dtype=np.float32)
        self.action_space = spaces.Discrete(3)

    def get_keys_to_action(self) -> dict[tuple[int, ...], int]:
        """Return the arrow keys (pygame's key codes) for `gymcore.utils.play`."""
        return dict(self.keys)


MountainCarVectorEnv = NativeVectorEnv.of(MountainCarEnv)


# --- rendering -----------------------------------------------------------------------------------

WHEEL: Color = (128, 128, 128)
FLAG: Color = (204, 204, 0)

# Sizes in pixels.
CAR_HALF_LENGTH = 20.0
CAR_HALF_HEIGHT = 10.0
CAR_CLEARANCE = 10.0
WHEEL_RADIUS = 8.0
WHEEL_HEIGHT = 9.0
WHEEL_OFFSET = 10.0
FLAGPOLE_HEIGHT = 50.0
FLAG_LENGTH = 26.0
FLAG_HALF_HEIGHT = 5.5
HILL_HALF_THICKNESS = 0.6


def _on_hill(size: tuple[int, int], position: float, low: float, high: float) -> Point:
    """Return the pixel on the hill at `position`, in an image that spans [low, high]."""
    width, height = size
    scale = width / (high - low)
    sine, _ = sin_cos(3.0 * position)
    return (position - low) * scale, height - 0.5 - (0.45 * sine + 0.55) * scale


@lru_cache(maxsize=16)
def _background(size: tuple[int, int], goal: float, low: float, high: float) -> pygame.Surface:
    """Return the hill and the flag; cached, so callers must not draw on it."""
    width, height = size
    scale = width / (high - low)
    surface = blank(size)

    def distance_from_hill(x: Pixels, y: Pixels) -> Pixels:
        # The vertical distance, reduced by the slope, is accurate within a pixel of the line.
        position = x / scale + low
        rows = height - 0.5 - (0.45 * np.sin(3.0 * position) + 0.55) * scale
        steepness = np.sqrt(1.0 + (1.35 * np.cos(3.0 * position)) ** 2)
        vertical: Pixels = np.abs(y - rows) / steepness - HILL_HALF_THICKNESS
        return vertical.astype(np.float32, copy=False)

    paint(surface, BLACK, (0.0, 0.0), (float(width), float(height)), distance_from_hill)

    foot_x, foot_y = _on_hill(size, goal, low, high)
    # In the middle of a column of pixels, where a line one pixel thick is sharp.
    foot_x = math.floor(foot_x) + 0.5
    top_y = foot_y - FLAGPOLE_HEIGHT
    bar(surface, BLACK, (foot_x, foot_y), (foot_x, top_y), 0.5, 0.5)
    pennant = [
        (foot_x, top_y),
        (foot_x + FLAG_LENGTH, top_y + FLAG_HALF_HEIGHT),
        (foot_x, top_y + 2.0 * FLAG_HALF_HEIGHT),
    ]
    convex_polygon(surface, FLAG, pennant)
    return surface
