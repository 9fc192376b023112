"""Hopper-v5: one leg that is to hop forward."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymcore.envs.mujoco.costs import ActionCost, Health, within
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import Quantity, clip, every, joined
from gymcore.envs.mujoco.starts import uniform_start
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv
from gymcore.envs.mujoco.weights import Bonus, Range, Scale, Switch, Weight

DEFAULT_CAMERA_CONFIG = {
    "trackbodyid": 2,
    "distance": 3.0,
    "lookat": np.array((0.0, 0.0, 1.15)),
    "elevation": -20.0,
}


class HopperEnv(ActionCost, Health):
    """A torso on one leg of three joints, in a plane, is rewarded for hopping to the right.

    Erez, Tassa and Todorov (2011). See docs/environments/mujoco.md for the figures.

    Example:
        >>> env = HopperEnv()
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, env.is_healthy, env.healthy_reward
        ((11,), True, 1.0)
    """

    forward_reward_weight = Weight()
    ctrl_cost_weight = Weight()
    healthy_reward = Bonus()
    terminate_when_unhealthy = Switch()
    healthy_state_range = Range()
    healthy_z_range = Range()
    healthy_angle_range = Range()
    reset_noise_scale = Scale()

    def __init__(
        self,
        xml_file: str = "hopper.xml",
        frame_skip: int = 4,
        default_camera_config: dict[str, Any] = DEFAULT_CAMERA_CONFIG,
        forward_reward_weight: float = 1.0,
        ctrl_cost_weight: float = 1e-3,
        healthy_reward: float = 1.0,
        terminate_when_unhealthy: bool = True,
        healthy_state_range: tuple[float, float] = (-100.0, 100.0),
        healthy_z_range: tuple[float, float] = (0.7, float("inf")),
        healthy_angle_range: tuple[float, float] = (-0.2, 0.2),
        reset_noise_scale: float = 5e-3,
        exclude_current_positions_from_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        """Make a Hopper.

        Args:
            xml_file: the model's file, see `expand_model_path`.
            frame_skip: simulation steps of a step.
            default_camera_config: attributes of the free camera.
            forward_reward_weight: of the velocity.
            ctrl_cost_weight: of the squared action.
            healthy_reward: of a step in which it is healthy.
            terminate_when_unhealthy: whether the episode ends when it is not.
            healthy_state_range: all other positions and velocities at which it is healthy.
            healthy_z_range: heights at which it is healthy.
            healthy_angle_range: angles of the torso at which it is healthy.
            reset_noise_scale: of the initial state.
            exclude_current_positions_from_observation: whether x is left out.
            **kwargs: see `CompiledMujocoEnv`.
        """
        self._exclude_current_positions_from_observation = (
            exclude_current_positions_from_observation
        )
        super().__init__(
            xml_file,
            frame_skip,
            default_camera_config=default_camera_config,
            forward_reward_weight=forward_reward_weight,
            ctrl_cost_weight=ctrl_cost_weight,
            healthy_reward=healthy_reward,
            terminate_when_unhealthy=terminate_when_unhealthy,
            healthy_state_range=healthy_state_range,
            healthy_z_range=healthy_z_range,
            healthy_angle_range=healthy_angle_range,
            reset_noise_scale=reset_noise_scale,
            **kwargs,
        )
        skipped = 1 * exclude_current_positions_from_observation
        self.observation_structure = {
            "skipped_qpos": skipped,
            "qpos": self.model.nq - skipped,
            "qvel": self.model.nv,
        }

    def describe(self, simulation: Simulation) -> Description:
        """Velocity and health less effort, on joints as seen in the plane."""
        s = simulation
        skipped = 1 * self._exclude_current_positions_from_observation
        x = s.qpos[0]
        velocity = s.rate(x)
        forward = s.parameter("forward_reward_weight") * velocity
        healthy = self.health(s)
        survival = self.survival(s, healthy)
        effort = self.effort(s)
        positions = {"x_position": x, "z_distance_from_origin": s.qpos[1] - s.init_qpos[1]}
        return Description(
            observation=[s.qpos[skipped:], clip(s.qvel, -10.0, 10.0)],
            reward=(forward + survival) - effort,
            terminated=self.ending(s, healthy),
            infos={
                **positions,
                "x_velocity": velocity,
                "reward_forward": forward,
                "reward_ctrl": -effort,
                "reward_survive": survival,
            },
            reset_infos=positions,
            **uniform_start(s),
        )

    def health(self, simulation: Simulation) -> Quantity:
        """Whether the torso is high and upright, and everything else within bounds."""
        s = simulation
        state = joined(s.qpos[2:], s.qvel)
        least, most = s.bounds("healthy_state_range")
        low, high = s.bounds("healthy_z_range")
        left, right = s.bounds("healthy_angle_range")
        return (
            every(within(least, state, most))
            & within(low, s.qpos[1], high)
            & within(left, s.qpos[2], right)
        )


class HopperVectorEnv(MujocoVectorEnv):
    """Many Hoppers in one batch."""

    env_class = HopperEnv
