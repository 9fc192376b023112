"""Swimmer-v5: three links in a viscous fluid swim forward."""

from __future__ import annotations

from gymcore.envs.mujoco.description import Description, Simulation, uniform_start
from gymcore.envs.mujoco.quantities import norm
from gymcore.envs.mujoco.tasks import ActionCost
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class SwimmerEnv(
    ActionCost,
    xml_file="swimmer.xml",
    frame_skip=4,
    default_camera_config=None,
    forward_reward_weight=1.0,
    ctrl_cost_weight=1e-4,
    reset_noise_scale=0.1,
    exclude_current_positions_from_observation=True,
):
    """Three links with two joints, in a planar fluid, are rewarded for swimming to the right.

    Coulom (2002). docs/environments/mujoco/swimmer.md describes observations, actions, rewards and
    arguments.

    Examples:
        >>> env = SwimmerEnv()
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, env.dt
        ((8,), 0.04)
    """

    coordinates = 2
    reward_arguments = ("x_velocity", "action")

    def describe(self, simulation: Simulation) -> Description:
        """Reward velocity, minus the cost of the action."""
        s = simulation
        velocity = s.rate(s.qpos[:2])
        forward = s.parameter("forward_reward_weight") * velocity[0]
        effort = self.effort(s)
        positions = {
            "x_position": s.qpos[0],
            "y_position": s.qpos[1],
            "distance_from_origin": norm(s.qpos[:2]),
        }
        return Description(
            observation=[s.qpos[self.skipped :], s.qvel],
            reward=forward - effort,
            infos={
                **positions,
                "x_velocity": velocity[0],
                "y_velocity": velocity[1],
                "reward_forward": forward,
                "reward_ctrl": -effort,
            },
            reset_infos=positions,
            **uniform_start(s),
        )


SwimmerVectorEnv = MujocoVectorEnv.of(SwimmerEnv)
