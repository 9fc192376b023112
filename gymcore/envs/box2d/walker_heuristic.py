"""A controller that walks BipedalWalker over grass: one leg swings while the other one carries."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class BipedalWalkerHeuristics:
    """A gait in three phases: swing a leg forward, put it down, push off with the other one.

    Proportional and derivative control brings hips and knees to the angles of the phase, and keeps
    the hull upright. A walk to the end of the grass returns about 300; one in four gets there, the
    others stumble.

    Attributes:
        state: The phase: `STAY_ON_ONE_LEG`, `PUT_OTHER_DOWN` or `PUSH_OFF`.
        moving_leg: The leg that swings, 0 or 1.
        supporting_leg: The other one.
        supporting_knee_angle: Where the supporting knee is held, rad.
        a: The last action [4].

    Example:
        >>> import gymcore as gym
        >>> env = gym.make("BipedalWalker-v3")
        >>> observation, info = env.reset(seed=1)
        >>> gait = BipedalWalkerHeuristics()
        >>> for _ in range(100):
        ...     observation, *_ = env.step(gait.step_heuristic(observation))
        >>> bool(env.unwrapped.hull.position.x > 5)
        True
    """

    STAY_ON_ONE_LEG, PUT_OTHER_DOWN, PUSH_OFF = 1, 2, 3
    SPEED = 0.29  # of the observation, above which it stands taller
    SUPPORT_KNEE_ANGLE = +0.1

    def __init__(self) -> None:
        """Begin a walk; take a new object for each episode."""
        self.state = self.STAY_ON_ONE_LEG
        self.moving_leg = 0
        self.supporting_leg = 1 - self.moving_leg
        self.supporting_knee_angle = self.SUPPORT_KNEE_ANGLE
        self.a: npt.NDArray[Any] = np.array([0.0, 0.0, 0.0, 0.0])

    def step_heuristic(self, s: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
        """Choose the action for an observation.

        Args:
            s: The observation [24].

        Returns:
            The action [4], within [-1, 1].
        """
        moving, supporting = self.moving_leg, self.supporting_leg
        swing, carry = 4 + 5 * moving, 4 + 5 * supporting
        hips: list[Any] = [None, None]
        knees: list[Any] = [None, None]

        if self.state == self.STAY_ON_ONE_LEG:
            hips[moving], knees[moving] = 1.1, -0.6
            self.supporting_knee_angle += 0.03
            if s[2] > self.SPEED:
                self.supporting_knee_angle += 0.03
            self.supporting_knee_angle = min(self.supporting_knee_angle, self.SUPPORT_KNEE_ANGLE)
            knees[supporting] = self.supporting_knee_angle
            if s[carry] < 0.10:  # the leg that carries is behind
                self.state = self.PUT_OTHER_DOWN
        if self.state == self.PUT_OTHER_DOWN:
            hips[moving], knees[moving] = 0.1, self.SUPPORT_KNEE_ANGLE
            knees[supporting] = self.supporting_knee_angle
            if s[swing + 4]:  # it touches the ground
                self.state = self.PUSH_OFF
                self.supporting_knee_angle = min(s[swing + 2], self.SUPPORT_KNEE_ANGLE)
        if self.state == self.PUSH_OFF:
            knees[moving], knees[supporting] = self.supporting_knee_angle, 1.0
            if s[carry + 2] > 0.88 or s[2] > 1.2 * self.SPEED:
                self.state = self.STAY_ON_ONE_LEG
                self.moving_leg = 1 - moving
                self.supporting_leg = 1 - self.moving_leg

        motors = []
        for leg in (0, 1):
            angle, turn, bend, bending = s[4 + 5 * leg : 8 + 5 * leg]
            hip = 0.9 * (hips[leg] - angle) - 0.25 * turn if hips[leg] else 0.0
            knee = 4.0 * (knees[leg] - bend) - 0.25 * bending if knees[leg] else 0.0
            hip -= 0.9 * (0 - s[0]) - 1.5 * s[1]  # keep the hull upright
            knee -= 15.0 * s[3]  # and level
            motors += [hip, knee]
        self.a = np.clip(0.5 * np.array(motors, np.float64), -1.0, 1.0)
        return self.a
