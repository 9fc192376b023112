"""Acrobot: swing the tip of a two-link pendulum above the bar, driving only the elbow."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore import error, spaces
from gymcore.core import Info
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.native.env import NativeDiscreteEnv
from gymcore.native.parameters import Number, Parameter, as_number, as_positive, one_of
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.rendering.shapes import BLACK, Color, bar, blank, disc, sin_cos

if TYPE_CHECKING:
    import pygame

__all__ = ["AcrobotEnv", "AcrobotVectorEnv", "bound", "rk4", "wrap"]

EQUATIONS = ("book", "nips")


def _as_torques(values: Sequence[Number]) -> tuple[float, ...]:
    if len(values) != 3:
        raise error.InvalidArgument(f"expected three torques, got {values!r}")
    return tuple(as_number(value)[0] for value in values)


class AcrobotEnv(NativeDiscreteEnv):
    """Two links hanging from a bar, with a torque of -1, 0 or 1 N m at the joint between them.

    Equations: Sutton (NIPS 1996) or Sutton and Barto's book (1998), selected by `book_or_nips`,
    integrated with one fourth-order Runge-Kutta step.

    - Observation float32 [6]: cos and sin of the first angle (0 hangs down), cos and sin of the
      second (relative to the first link), both angular velocities (rad/s).
    - Reward: -1 per step, 0 at the goal. Terminates with the tip one link length above the bar.
    - Reset options `low`, `high`: bounds of the uniform initial state, all four (-0.1, 0.1).

    Attributes: dt (s), LINK_LENGTH_1, LINK_LENGTH_2 (used only for drawing), LINK_MASS_1,
    LINK_MASS_2, LINK_COM_POS_1, LINK_COM_POS_2, LINK_MOI, MAX_VEL_1, MAX_VEL_2, AVAIL_TORQUE,
    book_or_nips, torque_noise_max (N m; half-width of the uniform noise on each torque; single
    environments only).

    Examples:
        >>> import gymcore as gym
        >>> env = gym.make("Acrobot-v1")
        >>> observation, info = env.reset(seed=1)
        >>> env.step(0)[1:]
        (-1.0, False, False, {})
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 15}  # noqa: RUF012
    kernel_module = "gymcore_ext.physics.acrobot"
    observation_method = "_get_ob"
    compiled_methods = frozenset({"_terminal", "_dsdt"})
    frame_size = (500, 500)

    dt = Parameter(encode=as_positive)
    LINK_LENGTH_1 = Parameter(encode=as_positive)
    LINK_LENGTH_2 = 1.0
    LINK_MASS_1 = Parameter(encode=as_positive)
    LINK_MASS_2 = Parameter(encode=as_positive)
    LINK_COM_POS_1 = Parameter(encode=as_positive)
    LINK_COM_POS_2 = Parameter(encode=as_positive)
    LINK_MOI = Parameter(encode=as_positive)
    MAX_VEL_1 = Parameter(encode=as_positive)
    MAX_VEL_2 = Parameter(encode=as_positive)
    AVAIL_TORQUE = Parameter(
        "torque_low", "torque_middle", "torque_high", encode=_as_torques, decode=list
    )
    book_or_nips = Parameter(
        "nips", encode=one_of(*EQUATIONS), decode=lambda columns: EQUATIONS[int(columns[0])]
    )
    actions_num = 3
    SCREEN_DIM = 500
    action_arrow = domain_fig = None  # always None in Gymnasium
    torque_noise_max = 0.0

    def __init__(self, render_mode: str | None = None) -> None:
        """Create an Acrobot.

        Args:
            render_mode: Render mode: None, "human" or "rgb_array".
        """
        super().__init__(render_mode)
        high = np.array([1.0, 1.0, 1.0, 1.0, self.MAX_VEL_1, self.MAX_VEL_2], np.float32)
        self.observation_space = spaces.Box(-high, high, dtype=np.float32)
        self.action_space = spaces.Discrete(3)

    def step(self, action: int) -> tuple[npt.NDArray[np.float32], float, bool, bool, Info]:
        """Take one step, with a noisy torque if `torque_noise_max` is positive.

        Raises:
            InvalidAction: If `action` is not an element of `action_space`.
            ResetNeeded: If `reset` has not been called.
        """
        noise = self.torque_noise_max
        try:
            if not noise:
                return NativeDiscreteEnv.step(self, action)
            if not self.action_space.contains(action) or not self._batch.is_ready:
                return super().step(action)  # raises the error
        except error.ResetNeeded:
            raise error.ResetNeeded("Call reset before using AcrobotEnv object.") from None
        torques = self.AVAIL_TORQUE
        noisy = torques[action] + self.np_random.uniform(-noise, noise)
        self.AVAIL_TORQUE = [noisy] * 3
        try:
            return super().step(action)
        finally:
            self.AVAIL_TORQUE = torques

    def step_in_python(self, action: int) -> tuple[float, bool, Info]:
        """Step through `_dsdt` and `_terminal`, for a subclass that overrides them."""
        start = [*self.state, self.AVAIL_TORQUE[action]]
        theta1, theta2, speed1, speed2 = rk4(self._dsdt, start, [0, self.dt])
        self.state = [
            wrap(theta1, -math.pi, math.pi),
            wrap(theta2, -math.pi, math.pi),
            bound(speed1, -self.MAX_VEL_1, self.MAX_VEL_1),
            bound(speed2, -self.MAX_VEL_2, self.MAX_VEL_2),
        ]
        terminated = self._terminal()
        return 0.0 if terminated else -1.0, terminated, {}

    def _dsdt(self, s_augmented: Sequence[float]) -> tuple[float, ...]:
        """Return the derivatives of a state and a torque, `(theta1, theta2, speeds, torque)`."""
        theta1, theta2, speed1, speed2, torque = s_augmented
        m1, m2, moi, l1 = self.LINK_MASS_1, self.LINK_MASS_2, self.LINK_MOI, self.LINK_LENGTH_1
        lc1, lc2, g = self.LINK_COM_POS_1, self.LINK_COM_POS_2, 9.8
        cosine, sine = np.cos(theta2), np.sin(theta2)
        d1 = m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * cosine) + moi + moi
        d2 = m2 * (lc2**2 + l1 * lc2 * cosine) + moi
        phi2 = m2 * lc2 * g * np.cos(theta1 + theta2 - np.pi / 2.0)
        phi1 = -m2 * l1 * lc2 * speed2**2 * sine - 2 * m2 * l1 * lc2 * speed2 * speed1 * sine
        phi1 = phi1 + (m1 * lc1 + m2 * l1) * g * np.cos(theta1 - np.pi / 2) + phi2
        pull = torque + d2 / d1 * phi1
        if self.book_or_nips == "book":
            pull = pull - m2 * l1 * lc2 * speed1**2 * sine
        acceleration2 = (pull - phi2) / (m2 * lc2**2 + moi - d2**2 / d1)
        acceleration1 = -(d2 * acceleration2 + phi1) / d1
        return speed1, speed2, acceleration1, acceleration2, 0.0

    def _terminal(self) -> bool:
        """Return whether the tip is above its goal."""
        theta1, theta2, _, _ = self.state
        return bool(-np.cos(theta1) - np.cos(theta2 + theta1) > 1.0)

    def _get_ob(self) -> npt.NDArray[np.float32]:
        """Return the observation of the current state."""
        observation: npt.NDArray[np.float32] = self._get_obs()
        return observation

    @staticmethod
    def draw(
        surface: pygame.Surface,
        state: Sequence[float],
        *,
        link_length_1: float,
        link_length_2: float,
    ) -> None:
        """Draw one acrobot.

        Args:
            surface: Surface to draw on, by default 500 x 500 pixels; every pixel is overwritten.
            state: `(theta1, theta2, dtheta1, dtheta2)`; theta1 in radians from hanging down,
                theta2 from the direction of the first link, both positive counter-clockwise.
            link_length_1: Length of the upper link in meters.
            link_length_2: Length of the lower link in meters.
        """
        theta1, theta2, _, _ = map(float, state)
        width, height = surface.get_size()
        scale = min(width, height) / (2.0 * (link_length_1 + link_length_2 + MARGIN))
        surface.blit(_background((width, height), scale), (0, 0))

        shoulder = (width / 2.0, height / 2.0)
        sine, cosine = sin_cos(theta1)
        reach = link_length_1 * scale
        elbow = (shoulder[0] + reach * sine, shoulder[1] + reach * cosine)
        sine, cosine = sin_cos(theta1 + theta2)
        reach = link_length_2 * scale
        hand = (elbow[0] + reach * sine, elbow[1] + reach * cosine)
        bar(surface, LINK, shoulder, elbow, HALF_WIDTH * scale, 2.0)
        bar(surface, LINK, elbow, hand, HALF_WIDTH * scale, 2.0)
        disc(surface, JOINT, shoulder, HALF_WIDTH * scale)
        disc(surface, JOINT, elbow, HALF_WIDTH * scale)

    def draw_arguments(self) -> Info:
        """Return the link lengths for drawing."""
        return {"link_length_1": self.LINK_LENGTH_1, "link_length_2": self.LINK_LENGTH_2}


AcrobotVectorEnv = NativeVectorEnv.of(AcrobotEnv)


# --- rendering -----------------------------------------------------------------------------------

LINK: Color = (0, 204, 204)
JOINT: Color = (204, 204, 0)

# Lengths in meters.
MARGIN = 0.2
HALF_WIDTH = 0.1
TARGET_HEIGHT = 1.0


@lru_cache(maxsize=16)
def _background(size: tuple[int, int], scale: float) -> pygame.Surface:
    """Return the target line; cached, so callers must not draw on it."""
    width, height = size
    surface = blank(size)
    # In the middle of a row of pixels, where a line one pixel thick is sharp.
    target = math.floor(height / 2.0 - TARGET_HEIGHT * scale) + 0.5
    bar(surface, BLACK, (-2.0, target), (width + 2.0, target), 0.5, 0.5)
    return surface


# --- functions kept for programs that import them -------------------------------------------------


def wrap(x: float, m: float, M: float) -> float:
    """Shift `x` into [m, M] by multiples of the interval's width.

    An `InvalidArgument` (a `ValueError`) is raised if `x` is not finite or `m` is not below `M`.

    Examples:
        >>> wrap(190, -180, 180)
        -170
    """
    width = M - m
    if not (np.isfinite(x) and np.isfinite(width) and width > 0):
        raise InvalidArgument(f"wrap: expected a finite x and m < M, got x={x}, m={m}, M={M}")
    while x > M and x - width != x:
        x = x - width
    while x < m and x + width != x:
        x = x + width
    return x


def bound(x: float, m: Any, M: float | None = None) -> float:
    """Clip `x` to [m, M]; if `M` is None, `m` must hold both bounds (else `ArgumentTypeError`).

    Examples:
        >>> bound(5, 0, 1), bound(-5, (0, 1))
        (1, 0)
    """
    if M is None:
        try:
            m, M = m[0], m[1]
        except (TypeError, IndexError):
            raise ArgumentTypeError(f"m: expected two bounds where M is None, got {m!r}") from None
    clipped: float = min(max(x, m), M)
    return clipped


def rk4(
    derivs: Callable[..., npt.ArrayLike], y0: npt.ArrayLike, t: Sequence[float]
) -> npt.NDArray[np.float64]:
    """Integrate an autonomous differential equation by the classical Runge-Kutta method.

    Args:
        derivs: Function that maps a state [n] to its derivatives [n].
        y0: State at `t[0]`, float64 [n]; not changed.
        t: Times; one integration step leads from each to the next.

    Returns:
        The first four numbers of the state at `t[-1]`: for Acrobot, all except the torque.

    Raises:
        InvalidArgument: If `t` is empty, or the state is not one-dimensional (a `ValueError`).

    Examples:
        >>> rk4(lambda y: -y, [1.0, 2.0], [0, 0.1, 0.2]).round(4)
        array([0.8187, 1.6375])
    """
    state = np.array(y0, np.float64)
    if state.ndim != 1 or not len(t):
        raise InvalidArgument(
            f"rk4: expected a state [n] and at least one time, got shape {state.shape} and t={t!r}"
        )
    for before, after in itertools.pairwise(t):
        step = after - before
        half = step / 2.0
        first = np.asarray(derivs(state))
        second = np.asarray(derivs(state + half * first))
        third = np.asarray(derivs(state + half * second))
        last = np.asarray(derivs(state + step * third))
        state = state + step / 6.0 * (first + 2 * second + 2 * third + last)
    return state[:4]
