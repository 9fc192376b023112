"""Quadruped: a body with four legs walks, runs, climbs out of a bowl and fetches a ball."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gymcore.envs.dm_control.models import model_xml
from gymcore.envs.dm_control.suite import (
    HINGE,
    ControlEnv,
    ControlVectorEnv,
    Tasks,
    random_direction,
    scalar,
)
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import (
    Quantity,
    Variable,
    arcsinh,
    cos,
    in_frame,
    joined,
    length,
    sin,
    spline,
    standard_normal,
    tanh,
    uniform,
    where,
)
from gymcore.envs.mujoco.statements import Assign, Forward, Repeat, Reset
from gymcore.envs.mujoco.tolerance import tolerance

INFINITY = float("inf")

# Codes of the types of sensors (mjtSensor).
_ACCELEROMETER, _GYRO, _FORCE, _TORQUE, _RANGEFINDER = 1, 3, 4, 5, 7


class QuadrupedEnv(ControlEnv):
    """A body with four legs walks, runs, climbs out of a bowl, or brings a ball to the middle.

    Examples:
        >>> env = QuadrupedEnv("walk")
        >>> list(env.observation_space)
        ['egocentric_state', 'torso_velocity', 'torso_upright', 'imu', 'force_torque']
    """

    domain = "quadruped"
    tasks: ClassVar[Tasks] = {
        "walk": {"speed": 0.5, "model": {"floor_size": 20 * 0.5}},
        "run": {"speed": 5.0, "model": {"floor_size": 20 * 5}},
        "escape": {
            "speed": 0.0,
            "model": {"floor_size": 40, "terrain": True, "rangefinders": True},
        },
        "fetch": {"speed": 0.0, "model": {"walls_and_ball": True}},
    }
    time_limit = 20.0
    control_timestep = 0.02

    def model_xml(self) -> str:
        """Return the model with its floor, and the ball to be fetched."""
        return model_xml("quadruped", **self.options["model"])

    def sensors(self, s: Simulation, *kinds: int) -> Quantity:
        """Return the readings of all sensors of some types, in the order of the model."""
        model = self.model
        numbers = [k for k in range(model.nsensor) if model.sensor_type[k] in kinds]
        return s.sensor(*(model.sensor(k).name for k in numbers))

    def describe(self, simulation: Simulation) -> Description:
        """Reward an upright torso that moves at a speed, leaves the bowl, or brings the ball."""
        s, speed = simulation, self.options["speed"]
        upright, velocity = s.data.of("xmat", "torso")[8], s.sensor("velocimeter")
        hinges = [self.model.joint(k) for k in np.flatnonzero(self.model.jnt_type == HINGE)]
        names = [hinge.name for hinge in hinges]
        observation = {
            "egocentric_state": joined(s.joint_qpos(*names), s.joint_qvel(*names), s.data.act),
            "torso_velocity": velocity,
            "torso_upright": upright,
            "imu": self.sensors(s, _GYRO, _ACCELEROMETER),
            "force_torque": arcsinh(self.sensors(s, _FORCE, _TORQUE)),
        }
        if self.task == "escape":
            return self.escape(s, observation)
        standing = tolerance(upright, (1.0, INFINITY), 2.0, "linear", 0.0)
        if self.task == "fetch":
            return self.fetch(s, observation, standing)
        moving = tolerance(velocity[0], (speed, INFINITY), speed, "linear", 0.5)
        orientation = Variable(4)
        return self.described(
            observation=observation,
            scalars=("torso_upright",),
            reward=standing * moving,
            start=[
                *random_direction(orientation, 4),
                *self.drop(s, orientation, 0.0, 0.0),
            ],
        )

    def drop(
        self, s: Simulation, orientation: Quantity, x: float | Quantity, y: float | Quantity
    ) -> list[object]:
        """Return statements that find the lowest place of the body, in steps of 1 cm."""
        height, root = Variable(1), s.joint_qpos("root")
        place = [
            Reset(),
            Forward(actuated=False),
            Assign(root, joined(x, y, height, orientation)),
            Assign(height, height + 0.01),
            Forward(actuated=False),
        ]
        return [Assign(height, 0.0), Repeat(place, until=s.contact_count() < 1.0)]

    def escape(self, s: Simulation, observation: dict[str, Quantity]) -> Description:
        """Describe the task to leave a bowl with bumps."""
        torso, readings = s.data.of("xpos", "torso"), self.sensors(s, _RANGEFINDER)
        distance = length(s.data.of("site_xpos", "workspace"))
        radius, upright = float(self.model.hfield_size[0, 0]), float(np.cos(np.deg2rad(20)))
        standing = tolerance(
            observation["torso_upright"], (upright, INFINITY), 1.0 + upright, "linear", 0.0
        )
        orientation = Variable(4)
        return self.described(
            observation={
                **observation,
                "origin": in_frame(-torso, s.data.of("xmat", "torso")),
                "rangefinder": where(readings < 0.0, 1.0, tanh(readings)),  # -1 is no hit
            },
            scalars=("torso_upright",),
            reward=standing * tolerance(distance, (radius, INFINITY), radius, "linear", 0.0),
            start=[
                Assign(s.model.hfield_data, self.terrain()),
                *random_direction(orientation, 4),
                *self.drop(s, orientation, 0.0, 0.0),
            ],
        )

    def terrain(self) -> Quantity:
        """Return random heights: a ring around a bowl, times smooth bumps of 2 m."""
        width = int(self.model.hfield_nrow[0])
        axis = np.linspace(-1.0, 1.0, width)
        radius = np.clip(np.sqrt(axis**2 + axis[:, None] ** 2), 0.04, 1.0)
        bowl = 0.5 - np.cos(2.0 * np.pi * radius) / 2.0
        bumps = int(self.model.hfield_size[0, 0])
        return bowl * spline(uniform(0.15, 1.0, bumps * bumps), width)

    def fetch(
        self, s: Simulation, observation: dict[str, Quantity], standing: Quantity
    ) -> Description:
        """Describe the task to bring the ball to the target."""
        frame, place = s.data.of("xmat", "torso"), s.data.of("xpos", "torso")
        ball, target = s.data.of("xpos", "ball"), s.data.of("site_xpos", "target")
        ball_qvel, qvel = s.joint_qvel("ball_root"), s.joint_qvel("root")
        moving = joined(ball - place, ball_qvel[:3] - qvel[:3], ball_qvel[3:])
        arena = float(self.model.geom("floor").size[0] * np.sqrt(2))
        reach = s.model.of("site_size", "workspace")[0] + s.model.of("geom_size", "ball")[0]
        to_ball = length((s.data.of("site_xpos", "workspace") - ball)[:2])
        reaching = tolerance(to_ball, (0.0, reach), arena, "linear", 0.0)
        radius = s.model.of("site_size", "target")[0]
        fetching = tolerance(length((target - ball)[:2]), (0.0, radius), arena, "linear", 0.0)
        azimuth, spawn = scalar(0.0, 2.0 * np.pi), 0.9 * float(self.model.geom("floor").size[0])
        xy, ball_xy, ball_speed = (
            uniform(-spawn, spawn, 2),
            uniform(-spawn, spawn, 2),
            standard_normal(2),
        )
        orientation = joined(cos(azimuth / 2.0), 0.0, 0.0, sin(azimuth / 2.0))
        return self.described(
            observation={
                **observation,
                "ball_state": in_frame(moving, frame, fused=True),
                "target_position": in_frame(target - place, frame),
            },
            scalars=("torso_upright",),
            reward=standing * (reaching * (0.5 + 0.5 * fetching)),
            start=[
                *(azimuth, xy),
                *self.drop(s, orientation, xy[0], xy[1]),
                Assign(s.joint_qpos("ball_root")[:2], ball_xy),
                Assign(s.joint_qpos("ball_root")[2], 2.0),
                Assign(ball_qvel[:2], 5.0 * ball_speed),
            ],
        )


QuadrupedVectorEnv = ControlVectorEnv.of(QuadrupedEnv)
