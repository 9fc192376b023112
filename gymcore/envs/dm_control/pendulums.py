"""Pendulum and acrobot: one or two links swing up."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gymcore.envs.dm_control.suite import ControlEnv, ControlVectorEnv, Tasks, elements, scalar
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import length, uniform
from gymcore.envs.mujoco.statements import Assign
from gymcore.envs.mujoco.tolerance import tolerance


class PendulumEnv(ControlEnv):
    """A pendulum with a weak motor swings up and stays within 8 degrees of the vertical.

    Examples:
        >>> env = PendulumEnv("swingup", flat_observation=True)
        >>> env.observation_space.shape, env.default_max_episode_steps
        ((3,), 1000)
    """

    domain = "pendulum"
    tasks: ClassVar[Tasks] = {"swingup": {}}
    time_limit = 20.0

    def describe(self, simulation: Simulation) -> Description:
        """Reward a pole that stands."""
        s = simulation
        frame = s.data.of("xmat", "pole")
        return self.described(
            observation={
                "orientation": elements(frame, 8, 2),
                "velocity": s.joint_qvel("hinge"),
            },
            reward=tolerance(frame[8], (float(np.cos(np.deg2rad(8))), 1.0)),
            start=[Assign(s.joint_qpos("hinge"), scalar(-np.pi, np.pi))],
        )


class AcrobotEnv(ControlEnv):
    """Two links, of which only the second has a motor, swing their tip to a target above.

    Examples:
        >>> env = AcrobotEnv("swingup")
        >>> env.observation_space["orientations"].shape
        (4,)
    """

    domain = "acrobot"
    tasks: ClassVar[Tasks] = {"swingup": {"sparse": False}, "swingup_sparse": {"sparse": True}}

    def describe(self, simulation: Simulation) -> Description:
        """Reward a tip near its target."""
        s = simulation
        frames = s.data.of("xmat", "upper_arm", "lower_arm")
        distance = length(s.data.of("site_xpos", "target") - s.data.of("site_xpos", "tip"))
        radius = s.model.of("site_size", "target")[0]
        return self.described(
            observation={"orientations": elements(frames, 2, 11, 8, 17), "velocity": s.qvel},
            reward=tolerance(distance, (0.0, radius), 0.0 if self.options["sparse"] else 1.0),
            start=[Assign(s.joint_qpos("shoulder", "elbow"), uniform(-np.pi, np.pi, 2))],
        )


PendulumVectorEnv = ControlVectorEnv.of(PendulumEnv)
AcrobotVectorEnv = ControlVectorEnv.of(AcrobotEnv)
