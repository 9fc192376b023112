"""Dog: a dog stands, walks, trots, runs and fetches a ball."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gymcore.envs.dm_control.models import model_xml
from gymcore.envs.dm_control.suite import (
    HINGE,
    ControlEnv,
    ControlVectorEnv,
    Tasks,
    elements,
    scalar,
)
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import (
    Draw,
    Quantity,
    cos,
    in_frame,
    joined,
    length,
    product,
    root,
    sin,
    standard_normal,
    total,
    uniform,
    where,
)
from gymcore.envs.mujoco.statements import Assign, Forward, Reset
from gymcore.envs.mujoco.tolerance import tolerance

INFINITY = float("inf")


class DogEnv(ControlEnv):
    """A dog stands, moves at a speed, or brings a ball to a target.

    Examples:
        >>> env = DogEnv("walk")
        >>> env.action_space.shape
        (38,)
    """

    domain = "dog"
    tasks: ClassVar[Tasks] = {
        "stand": {"speed": 0.0, "floor_size": 15 * 1},
        "walk": {"speed": 1.0, "floor_size": 15 * 1},
        "trot": {"speed": 3.0, "floor_size": 15 * 3},
        "run": {"speed": 9.0, "floor_size": 15 * 9},
        "fetch": {"speed": 0.0, "floor_size": 10},
    }
    time_limit = 15.0
    control_timestep = 0.015

    @property
    def fetches(self) -> bool:
        """Whether there is a ball."""
        return self.task == "fetch"

    def model_xml(self) -> str:
        """Return the model with its floor, and the ball to be fetched."""
        return model_xml("dog", floor_size=self.options["floor_size"], ball=self.fetches)

    def describe(self, simulation: Simulation) -> Description:
        """Reward factors for standing, and those of the task."""
        s, model = simulation, self.model
        hinges = np.flatnonzero(model.jnt_type == HINGE)
        names = [model.joint(int(k)).name for k in hinges]
        frames = s.data.of("xmat", "skull", "torso", "pelvis")
        heights = elements(s.data.of("xpos", "torso", "pelvis"), 2, 5)
        velocity = in_frame(s.sensor("torso_linvel"), s.data.of("xmat", "torso"))
        touch = s.sensor("palm_L", "palm_R", "sole_L", "sole_R")
        observation = {
            "joint_angles": s.joint_qpos(*names),
            "joint_velocites": s.joint_qvel(*names),
            "torso_pelvis_height": heights,
            "z_projection": joined(*(frames[k : k + 3] for k in (6, 15, 24))),
            "torso_com_velocity": velocity,
            "inertial_sensors": s.sensor("accelerometer", "velocimeter", "gyro"),
            "foot_forces": s.sensor("foot_L", "foot_R", "hand_L", "hand_R"),
            "touch_sensors": touch,
            "actuator_state": s.data.act,
        }
        standing, weight = self.standing_heights()
        cosine = float(np.cos(np.deg2rad(30)))
        factors = [
            *(tolerance(heights[k], (standing[k], INFINITY), standing[k]) for k in range(2)),
            tolerance(elements(frames, 8, 17, 26), (cosine, INFINITY), cosine + 1.0, "linear", 0.0),
            tolerance(total(touch), (weight, INFINITY), weight, "linear", 0.9),
        ]
        start = self.start(s)
        if speed := self.options["speed"]:
            forward = tolerance(velocity[0], (speed, 2.0 * speed), max(1.0, speed), "linear", 0.0)
            factors.append((4.0 * forward + 1.0) / 5.0)
        if self.fetches:
            observation |= self.ball(s)
            factors += self.fetching(s)
            start += self.throw(s)
        return self.described(observation, product(joined(*factors)), start)

    def standing_heights(self) -> tuple[list[float], float]:
        """Return nine tenths of the heights of torso and pelvis at first, and the weight."""
        import mujoco

        data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, data)
        heights = [float(data.body(name).xpos[2]) * 0.9 for name in ("torso", "pelvis")]
        mass = self.model.body("torso").subtreemass[0]
        return heights, float(-self.model.opt.gravity[2] * mass)

    def start(self, s: Simulation) -> list[object]:
        """Return statements that draw direction, velocities and activations."""
        azimuth, ranges = scalar(0.0, 2.0 * np.pi), self.model.actuator_ctrlrange
        orientation = joined(cos(azimuth / 2.0), 0.0, 0.0, sin(azimuth / 2.0))
        speeds = [standard_normal(1) for _ in range(3)]
        return [
            Reset(),
            Forward(actuated=False),
            azimuth,
            Assign(s.joint_qpos("root")[3:], orientation),
            *speeds,
            *(Assign(s.qvel[k], 2.0 * v) for k, v in zip((0, 1, 5), speeds, strict=True)),
            Assign(s.data.act, uniform(ranges[:, 0], ranges[:, 1], self.model.nu)),
        ]

    def ball(self, s: Simulation) -> dict[str, Quantity]:
        """Return the observations of ball and target, in the frame of the head."""
        frame, head = s.data.of("site_xmat", "head"), s.data.of("site_xpos", "head")
        ball, target = (s.data.of("geom_xpos", name) for name in ("ball", "target"))
        moving = self.velocity_of(s, "geom", "ball") - self.velocity_of(s, "site", "head")
        return {
            "ball_state": joined(in_frame(ball - head, frame), in_frame(moving, frame)),
            "target_position": in_frame(target - head, frame),
        }

    def velocity_of(self, s: Simulation, kind: str, name: str) -> Quantity:
        """Return the linear velocity [3] of a geom or site, as `mj_objectVelocity` does."""
        body = int(getattr(self.model, kind)(name).bodyid[0])
        motion = s.data.rows("cvel", body)
        gap = s.data.of(f"{kind}_xpos", name) - s.data.rows(
            "subtree_com", int(self.model.body_rootid[body])
        )
        wx, wy, wz = (motion[k] for k in range(3))
        x, y, z = (gap[k] for k in range(3))
        turned = joined(y * wz - z * wy, z * wx - x * wz, x * wy - y * wx)
        return motion[3:] - turned

    def fetching(self, s: Simulation) -> list[Quantity]:
        """Return the factors of the reward for reaching and bringing the ball."""
        ball, target = (s.data.of("geom_xpos", name) for name in ("ball", "target"))
        bite = s.model.of("site_size", "upper_bite")[0]
        jaws = [length(ball - s.data.of("site_xpos", f"{jaw}_bite")) for jaw in ("upper", "lower")]
        mouth = 0.5 * (jaws[0] + jaws[1])
        reach = (6.0 * tolerance(mouth, (0.0, bite), 2.0, "reciprocal") + 1.0) / 7.0
        radius, arena = s.model.of("geom_size", "target")[0], s.model.of("geom_size", "floor")[0]
        distance = length(ball - target)
        bring = (tolerance(distance, (0.0, radius), arena, "reciprocal") + 1.0) / 2.0
        return [where(distance < 2.0 * radius, 1.0, reach), bring]

    def throw(self, s: Simulation) -> list[object]:
        """Return statements that throw the ball from the edge of the floor."""
        radius = 0.75 * float(self.model.geom("floor").size[0])
        gravity = float(-self.model.opt.gravity[2])
        azimuth, height, speed = scalar(0.0, 2.0 * np.pi), scalar(0.0, 3.0), scalar(0.0, 5.0)
        noise: list[Draw] = [standard_normal(1), standard_normal(1)]
        across = joined(-sin(azimuth) + 0.05 * noise[0], -cos(azimuth) + 0.05 * noise[1])
        upward = root(2.0 * gravity * height)
        return [
            *(azimuth, height, speed, *noise),
            Assign(
                s.joint_qpos("ball_root")[:3],
                joined(radius * sin(azimuth), radius * cos(azimuth), 0.05),
            ),
            Assign(s.joint_qvel("ball_root")[:3], joined(speed * across, upward)),
        ]


DogVectorEnv = ControlVectorEnv.of(DogEnv)
