"""Cheetah, walker and hopper: planar bodies that stand, walk, run and hop."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gymcore.envs.dm_control.suite import ControlEnv, ControlVectorEnv, Tasks, elements
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import joined, log1p, uniform
from gymcore.envs.mujoco.statements import Advance, Assign
from gymcore.envs.mujoco.tolerance import tolerance

INFINITY = float("inf")


class CheetahEnv(ControlEnv):
    """A planar cheetah runs forward.

    Examples:
        >>> env = CheetahEnv("run")
        >>> env.observation_space["position"].shape
        (8,)
    """

    domain = "cheetah"
    tasks: ClassVar[Tasks] = {"run": {}}

    def describe(self, simulation: Simulation) -> Description:
        """Reward the speed, up to 10 m/s."""
        s = simulation
        speed = s.sensor("torso_subtreelinvel")[0]
        limited = np.flatnonzero(self.model.jnt_limited)
        low, high = self.model.jnt_range[limited].T
        return self.described(
            observation={"position": s.qpos[1:], "velocity": s.qvel},
            reward=tolerance(speed, (10.0, INFINITY), 10.0, "linear", 0.0),
            start=[
                Assign(s.qpos[limited[0] :], uniform(low, high, len(limited))),
                Advance(200),  # falls to the ground
            ],
        )


class WalkerEnv(ControlEnv):
    """A planar walker stands, walks or runs.

    Examples:
        >>> env = WalkerEnv("walk")
        >>> env.observation_space["height"].shape, env.dt
        ((), 0.025)
    """

    domain = "walker"
    tasks: ClassVar[Tasks] = {
        "stand": {"speed": 0.0},
        "walk": {"speed": 1.0},
        "run": {"speed": 8.0},
    }
    time_limit = 25.0
    control_timestep = 0.025

    def describe(self, simulation: Simulation) -> Description:
        """Reward a high and upright torso that moves at a speed."""
        s, speed = simulation, self.options["speed"]
        frames = [s.data.rows("xmat", body) for body in range(1, self.model.nbody)]
        height = s.data.of("xpos", "torso")[2]
        standing = tolerance(height, (1.2, INFINITY), 1.2 / 2)
        upright = (1.0 + s.data.of("xmat", "torso")[8]) / 2.0
        reward = (3.0 * standing + upright) / 4.0
        if speed:
            moving = tolerance(
                s.sensor("torso_subtreelinvel")[0], (speed, INFINITY), speed / 2, "linear", 0.5
            )
            reward = reward * (5.0 * moving + 1.0) / 6.0
        return self.described(
            observation={
                "orientations": joined(*(elements(frame, 0, 2) for frame in frames)),
                "height": height,
                "velocity": s.qvel,
            },
            scalars=("height",),
            reward=reward,
            start=self.random_joints(s),
        )


class HopperEnv(ControlEnv):
    """A planar hopper on one foot stands or hops.

    Examples:
        >>> env = HopperEnv("hop")
        >>> list(env.observation_space)
        ['position', 'velocity', 'touch']
    """

    domain = "hopper"
    tasks: ClassVar[Tasks] = {"stand": {"hops": False}, "hop": {"hops": True}}
    time_limit = 20.0
    control_timestep = 0.02

    def describe(self, simulation: Simulation) -> Description:
        """Reward a torso above its foot, and small controls or a speed of 2 m/s."""
        s = simulation
        centers = s.data.of("xipos", "torso", "foot")
        standing = tolerance(centers[2] - centers[5], (0.6, 2.0))
        if self.options["hops"]:
            speed = s.sensor("torso_subtreelinvel")[0]
            reward = standing * tolerance(speed, (2.0, INFINITY), 1.0, "linear", 0.5)
        else:
            reward = standing * self.small_control(s)
        return self.described(
            observation={
                "position": s.qpos[1:],
                "velocity": s.qvel,
                "touch": log1p(s.sensor("touch_toe", "touch_heel")),
            },
            reward=reward,
            start=self.random_joints(s),
        )


CheetahVectorEnv = ControlVectorEnv.of(CheetahEnv)
WalkerVectorEnv = ControlVectorEnv.of(WalkerEnv)
HopperVectorEnv = ControlVectorEnv.of(HopperEnv)
