"""Humanoids: a simple one, and the one of the motion capture data of CMU."""

from __future__ import annotations

from typing import ClassVar

from gymcore.envs.dm_control.suite import ControlEnv, ControlVectorEnv, Tasks
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import in_frame, joined, length, mean
from gymcore.envs.mujoco.statements import Forward, Repeat
from gymcore.envs.mujoco.tolerance import tolerance

INFINITY = float("inf")


class HumanoidEnv(ControlEnv):
    """A humanoid stands, walks or runs.

    Examples:
        >>> env = HumanoidEnv("run_pure_state")
        >>> list(env.observation_space)
        ['position', 'velocity']
    """

    domain = "humanoid"
    tasks: ClassVar[Tasks] = {
        "stand": {"speed": 0.0, "pure_state": False},
        "walk": {"speed": 1.0, "pure_state": False},
        "run": {"speed": 10.0, "pure_state": False},
        "run_pure_state": {"speed": 10.0, "pure_state": True},
    }
    time_limit = 25.0
    control_timestep = 0.025
    # The body whose frame is observed, the element of its frame that is its height when upright,
    # and hands and feet.
    torso: ClassVar[str] = "torso"
    upright: ClassVar[int] = 8
    limbs: ClassVar[tuple[str, ...]] = ("left_hand", "left_foot", "right_hand", "right_foot")

    def describe(self, simulation: Simulation) -> Description:
        """Reward a high head, an upright torso, small controls, and standing still or a speed."""
        s, speed = simulation, self.options["speed"]
        frame, place = s.data.of("xmat", self.torso), s.data.of("xpos", self.torso)
        height = s.data.of("xpos", "head")[2]
        velocity = s.sensor(f"{self.torso}_subtreelinvel")
        standing = tolerance(height, (1.4, INFINITY), 1.4 / 4)
        upright = tolerance(frame[self.upright], (0.9, INFINITY), 1.9, "linear", 0.0)
        if speed:
            moving = tolerance(length(velocity[:2]), (speed, INFINITY), speed, "linear", 0.0)
            moving = (5.0 * moving + 1.0) / 6.0
        else:
            moving = mean(tolerance(velocity[:2], margin=2.0, vector=True))
        observation = {"position": s.qpos, "velocity": s.qvel}
        if not self.options["pure_state"]:
            limbs = [in_frame(s.data.of("xpos", limb) - place, frame) for limb in self.limbs]
            observation = {
                "joint_angles": s.qpos[7:],
                "head_height": height,
                "extremities": joined(*limbs),
                "torso_vertical": frame[6:],
                "com_velocity": velocity,
                "velocity": s.qvel,
            }
        return self.described(
            observation=observation,
            scalars=() if self.options["pure_state"] else ("head_height",),
            reward=self.small_control(s) * (standing * upright) * moving,
            start=[
                Repeat(
                    [*self.random_joints(s), Forward(actuated=False)],
                    until=s.contact_count() < 1.0,
                )
            ],
        )


class HumanoidCMUEnv(HumanoidEnv):
    """A humanoid with 56 joints stands, walks or runs.

    Examples:
        >>> env = HumanoidCMUEnv("stand")
        >>> env.action_space.shape
        (56,)
    """

    domain = "humanoid_CMU"
    tasks: ClassVar[Tasks] = {
        name: task for name, task in HumanoidEnv.tasks.items() if not task["pure_state"]
    }
    time_limit = 20.0
    control_timestep = 0.02
    torso = "thorax"
    upright = 7
    limbs = ("lhand", "lfoot", "rhand", "rfoot")


HumanoidVectorEnv = ControlVectorEnv.of(HumanoidEnv)
HumanoidCMUVectorEnv = ControlVectorEnv.of(HumanoidCMUEnv)
