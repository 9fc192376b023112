"""LQR: beads on springs return to the middle."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gymcore.envs.dm_control.models import model_xml
from gymcore.envs.dm_control.suite import ControlEnv, ControlVectorEnv, Tasks, scalar
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import Fresh, dot, joined, length, standard_normal
from gymcore.envs.mujoco.statements import Assign, When


class LQREnv(ControlEnv):
    """Beads on springs, the first of which have motors, return to the middle: a linear system.

    The stiffnesses of the springs are drawn once a seed. An episode ends only at the middle.

    Examples:
        >>> env = LQREnv("lqr_2_1")
        >>> env.default_max_episode_steps is None
        True
    """

    domain = "lqr"
    tasks: ClassVar[Tasks] = {
        "lqr_2_1": {"bodies": 2, "motors": 1},
        "lqr_6_2": {"bodies": 6, "motors": 2},
    }
    time_limit = float("inf")

    def model_xml(self) -> str:
        """Return the model; a start sets the springs."""
        return model_xml(
            "lqr", stiffness=[20.0] * self.options["bodies"], actuators=self.options["motors"]
        )

    def describe(self, simulation: Simulation) -> Description:
        """Reward a state and controls near 0."""
        s = simulation
        drawn = standard_normal(s.nv)
        springs: list[object] = []
        for body in range(self.options["bodies"]):
            # dm_control also draws the damping, between 0 and 0.
            stiffness, damping = scalar(15.0, 25.0), scalar(0.0, 0.0)
            springs += [Assign(s.model.jnt_stiffness[body], stiffness), damping]
        cost = 0.5 * dot(s.qpos, s.qpos) + 0.5 * dot(s.data.ctrl, s.data.ctrl) * 0.1
        return self.described(
            observation={"position": s.qpos, "velocity": s.qvel},
            reward=1.0 - cost,
            terminated=length(joined(s.qpos, s.qvel)) < 1e-6,
            start=[
                When(Fresh(), springs),
                Assign(s.qpos, np.sqrt(2.0) * drawn / length(drawn)),
            ],
        )


LQRVectorEnv = ControlVectorEnv.of(LQREnv)
