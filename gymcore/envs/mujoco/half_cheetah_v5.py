"""HalfCheetah-v5: a planar cheetah runs forward."""

from __future__ import annotations

from gymcore.envs.mujoco.description import Description, Simulation, normal_start
from gymcore.envs.mujoco.tasks import ActionCost
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv

DEFAULT_CAMERA_CONFIG = {"distance": 4.0}


class HalfCheetahEnv(
    ActionCost,
    xml_file="half_cheetah.xml",
    frame_skip=5,
    default_camera_config=DEFAULT_CAMERA_CONFIG,
    forward_reward_weight=1.0,
    ctrl_cost_weight=0.1,
    reset_noise_scale=0.1,
    exclude_current_positions_from_observation=True,
):
    """A planar cheetah with two legs and six actuated joints is rewarded for running to the right.

    Wawrzynski (2009). docs/environments/mujoco/half_cheetah.md describes observations, actions,
    rewards and arguments.

    Examples:
        >>> env = HalfCheetahEnv(ctrl_cost_weight=0.2)
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, env.ctrl_cost_weight, env.observation_structure
        ((17,), 0.2, {'skipped_qpos': 1, 'qpos': 8, 'qvel': 9})
    """

    reward_arguments = ("x_velocity", "action")

    def describe(self, simulation: Simulation) -> Description:
        """Reward velocity, minus the cost of the action."""
        s = simulation
        x = s.qpos[0]
        velocity = s.rate(x)
        forward = s.parameter("forward_reward_weight") * velocity
        effort = self.effort(s)
        return Description(
            observation=[s.qpos[self.skipped :], s.qvel],
            reward=forward - effort,
            infos={
                "x_position": x,
                "x_velocity": velocity,
                "reward_forward": forward,
                "reward_ctrl": -effort,
            },
            reset_infos={"x_position": x},
            **normal_start(s),
        )


HalfCheetahVectorEnv = MujocoVectorEnv.of(HalfCheetahEnv)
