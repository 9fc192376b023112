"""Swimmer and fish: bodies that swim to a target."""

from __future__ import annotations

from typing import ClassVar

from gymcore.envs.dm_control.models import model_xml
from gymcore.envs.dm_control.suite import (
    ControlEnv,
    ControlVectorEnv,
    Tasks,
    elements,
    random_direction,
    scalar,
)
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import in_frame, joined, length, uniform, where
from gymcore.envs.mujoco.statements import Assign
from gymcore.envs.mujoco.tolerance import tolerance

_FISH_JOINTS = (
    *("tail1", "tail_twist", "tail2"),
    *("finright_roll", "finright_pitch", "finleft_roll", "finleft_pitch"),
)


class SwimmerEnv(ControlEnv):
    """A planar chain of links in a fluid moves its nose to a target.

    Examples:
        >>> env = SwimmerEnv("swimmer6")
        >>> env.observation_space["body_velocities"].shape
        (18,)
    """

    domain = "swimmer"
    tasks: ClassVar[Tasks] = {"swimmer6": {"links": 6}, "swimmer15": {"links": 15}}
    time_limit = 30.0
    control_timestep = 0.03

    def model_xml(self) -> str:
        """Return the model with its links."""
        return model_xml("swimmer", links=self.options["links"])

    def describe(self, simulation: Simulation) -> Description:
        """Reward a nose near the target."""
        s = simulation
        gap = s.data.of("geom_xpos", "target") - s.data.of("geom_xpos", "nose")
        gap = in_frame(gap, s.data.of("xmat", "head"))[:2]
        size = s.model.of("geom_size", "target")[0]
        velocities = s.data.sensordata[12:]  # linear and angular, in the frame of each link
        links = [elements(velocities[k : k + 6], 0, 1, 5) for k in range(0, velocities.size, 6)]
        near = scalar(0.0, 1.0)
        box = where(near < 0.2, 0.3, 2.0)
        place = uniform(-box, box, 2)
        return self.described(
            observation={
                "joints": s.qpos[3:],
                "to_target": gap,
                "body_velocities": joined(*links),
            },
            reward=tolerance(length(gap), (0.0, size), 5.0 * size, "long_tail"),
            start=[
                *self.random_joints(s),
                *(near, place),
                Assign(s.model.of("geom_pos", "target")[:2], place),
                Assign(s.model.of("light_pos", "target_light")[:2], place),
            ],
        )


class FishEnv(ControlEnv):
    """A fish stays upright, or swims to a target.

    Examples:
        >>> env = FishEnv("swim")
        >>> list(env.observation_space)
        ['joint_angles', 'upright', 'target', 'velocity']
    """

    domain = "fish"
    tasks: ClassVar[Tasks] = {"upright": {"swims": False}, "swim": {"swims": True}}
    time_limit = 40.0
    control_timestep = 0.04

    def adapt(self) -> None:
        """Hide the target where there is none."""
        if not self.options["swims"]:
            self.model.geom("target").rgba[3] = 0.0

    def describe(self, simulation: Simulation) -> Description:
        """Reward an upright body, and a mouth near the target."""
        s = simulation
        upright = s.data.of("xmat", "torso")[8]
        angles = s.joint_qpos(*_FISH_JOINTS)
        start: list[object] = [
            *random_direction(s.joint_qpos("root")[3:7], 4),
            Assign(angles, uniform(-0.2, 0.2, len(_FISH_JOINTS))),
        ]
        if not self.options["swims"]:
            return self.described(
                {"joint_angles": angles, "upright": upright, "velocity": s.qvel},
                reward=tolerance(upright, (1.0, 1.0), 1.0),
                start=start,
                scalars=("upright",),
            )
        gap = s.data.of("geom_xpos", "target") - s.data.of("geom_xpos", "mouth")
        gap = in_frame(gap, s.data.of("geom_xmat", "mouth"))
        sizes = s.model.of("geom_size", "mouth", "target")
        radii = sizes[0] + sizes[3]
        reached = tolerance(length(gap), (0.0, radii), 2.0 * radii)
        place = s.model.of("geom_pos", "target")
        drawn = uniform([-0.4, -0.4, 0.1], [0.4, 0.4, 0.3], 3)
        return self.described(
            {"joint_angles": angles, "upright": upright, "target": gap, "velocity": s.qvel},
            reward=(7.0 * reached + 0.5 * (upright + 1.0)) / 8.0,
            start=[*start, Assign(place, drawn)],
            scalars=("upright",),
        )


SwimmerVectorEnv = ControlVectorEnv.of(SwimmerEnv)
FishVectorEnv = ControlVectorEnv.of(FishEnv)
