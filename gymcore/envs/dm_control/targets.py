"""Reacher, point mass, ball in cup and finger: planar tasks with targets."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gymcore.envs.dm_control.suite import (
    ControlEnv,
    ControlVectorEnv,
    Tasks,
    random_direction,
    scalar,
)
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import (
    cos,
    dot,
    every,
    joined,
    length,
    log1p,
    sin,
    total,
)
from gymcore.envs.mujoco.statements import Assign, Forward, Repeat
from gymcore.envs.mujoco.tolerance import tolerance


class ReacherEnv(ControlEnv):
    """An arm of two links reaches a target with its finger.

    Examples:
        >>> env = ReacherEnv("easy")
        >>> list(env.observation_space)
        ['position', 'to_target', 'velocity']
    """

    domain = "reacher"
    tasks: ClassVar[Tasks] = {"easy": {"size": 0.05}, "hard": {"size": 0.015}}
    time_limit = 20.0

    def adapt(self) -> None:
        """Set the size of the target."""
        self.model.geom("target").size[0] = self.options["size"]

    def describe(self, simulation: Simulation) -> Description:
        """Reward a finger in the target."""
        s = simulation
        angle, radius = scalar(0.0, 2.0 * np.pi), scalar(0.05, 0.2)
        place = s.model.of("geom_pos", "target")
        gap = s.data.of("geom_xpos", "target")[:2] - s.data.of("geom_xpos", "finger")[:2]
        sizes = s.model.of("geom_size", "target", "finger")
        return self.described(
            observation={"position": s.qpos, "to_target": gap, "velocity": s.qvel},
            reward=tolerance(length(gap), (0.0, sizes[0] + sizes[3])),
            start=[
                *self.random_joints(s),
                *(angle, radius),
                Assign(place[:2], joined(radius * sin(angle), radius * cos(angle))),
            ],
        )


class PointMassEnv(ControlEnv):
    """A point mass, moved by two tendons, stays at the middle.

    Examples:
        >>> env = PointMassEnv("easy")
        >>> env.action_space
        Box(-1.0, 1.0, (2,), float64)
    """

    domain = "point_mass"
    tasks: ClassVar[Tasks] = {"easy": {"random_gains": False}, "hard": {"random_gains": True}}
    time_limit = 20.0

    def describe(self, simulation: Simulation) -> Description:
        """Reward a mass near the target, and small controls."""
        s = simulation
        distance = length(s.data.of("geom_xpos", "target") - s.data.of("geom_xpos", "pointmass"))
        size = s.model.of("geom_size", "target")[0]
        return self.described(
            observation={"position": s.qpos, "velocity": s.qvel},
            reward=tolerance(distance, (0.0, size), size) * self.small_control(s),
            start=[
                *self.random_joints(s),
                *(self.random_gains(s) if self.options["random_gains"] else ()),
            ],
        )

    def random_gains(self, s: Simulation) -> list[object]:
        """Return statements that draw the directions of the tendons, which are not parallel."""
        gains = s.model.wrap_prm
        first, second = gains[:2], gains[2:4]
        return [
            *random_direction(first, 2),
            Repeat(random_direction(second, 2), until=abs(dot(first, second)) <= 0.9),
        ]


class BallInCupEnv(ControlEnv):
    """A cup catches the ball that hangs on a string under it.

    Examples:
        >>> env = BallInCupEnv("catch")
        >>> env.reset(seed=1)[0]["position"].shape
        (4,)
    """

    domain = "ball_in_cup"
    tasks: ClassVar[Tasks] = {"catch": {}}
    time_limit = 20.0
    control_timestep = 0.02

    def describe(self, simulation: Simulation) -> Description:
        """Reward a ball in the cup."""
        s = simulation
        gap = (s.data.of("site_xpos", "target") - s.data.of("xpos", "ball"))[::2]
        margin = s.model.of("site_size", "target")[::2] - s.model.of("geom_size", "ball")[0]
        return self.described(
            observation={"position": s.qpos, "velocity": s.qvel},
            reward=every(abs(gap) < margin),
            start=[
                Repeat(
                    [
                        Assign(s.joint_qpos("ball_x"), scalar(-0.2, 0.2)),
                        Assign(s.joint_qpos("ball_z"), scalar(0.2, 0.5)),
                        Forward(actuated=False),
                    ],
                    until=s.contact_count() < 1.0,
                )
            ],
        )


class FingerEnv(ControlEnv):
    """A finger of two links spins a body on a hinge, or turns it to a target.

    Examples:
        >>> env = FingerEnv("turn_hard")
        >>> env.observation_space["dist_to_target"].shape
        ()
    """

    domain = "finger"
    tasks: ClassVar[Tasks] = {
        "spin": {"size": 0.0},
        "turn_easy": {"size": 0.07},
        "turn_hard": {"size": 0.03},
    }
    time_limit = 20.0
    control_timestep = 0.02

    def adapt(self) -> None:
        """Set the damping of the body that spins, or the size of the target."""
        if self.options["size"]:
            self.model.site("target").size[0] = self.options["size"]
        else:
            self.model.dof_damping[self.model.joint("hinge").dofadr[0]] = 0.03
            for site in ("target", "tip"):
                self.model.site(site).rgba[3] = 0.0

    def describe(self, simulation: Simulation) -> Description:
        """Reward a speed of 15 rad/s, or a tip of the body in the target."""
        s = simulation
        spinner = s.sensor("spinner")[::2]
        tip = s.sensor("tip")[::2] - spinner
        velocity = s.sensor("proximal_velocity", "distal_velocity", "hinge_velocity")
        observation = {
            "position": joined(s.sensor("proximal", "distal"), tip),
            "velocity": velocity,
            "touch": log1p(s.sensor("touchtop", "touchbottom")),
        }
        free = Repeat(
            [*self.random_joints(s), Forward(actuated=False)], until=s.contact_count() < 1.0
        )
        if not self.options["size"]:
            return self.described(observation, reward=velocity[2] <= -15.0, start=[free])
        target = s.sensor("target")[::2] - spinner
        distance = length(target - tip) - s.model.of("site_size", "target")[0]
        return self.described(
            {**observation, "target_position": target, "dist_to_target": distance},
            reward=distance <= 0.0,
            start=[*self.random_target(s), free],
            scalars=("dist_to_target",),
        )

    def random_target(self, s: Simulation) -> list[object]:
        """Return statements that place the target on the circle of the body's tip."""
        angle = scalar(-np.pi, np.pi)
        radius = total(s.model.of("geom_size", "cap1"))
        hinge = s.data.of("xanchor", "hinge")
        place = joined(radius * sin(angle), radius * cos(angle))
        return [
            angle,
            Assign(s.model.of("site_pos", "target")[::2], hinge[::2] + place),
        ]


ReacherVectorEnv = ControlVectorEnv.of(ReacherEnv)
PointMassVectorEnv = ControlVectorEnv.of(PointMassEnv)
BallInCupVectorEnv = ControlVectorEnv.of(BallInCupEnv)
FingerVectorEnv = ControlVectorEnv.of(FingerEnv)
