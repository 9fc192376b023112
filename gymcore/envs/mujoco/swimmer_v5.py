"""Swimmer-v5: three links in a viscous fluid that are to swim forward."""

from __future__ import annotations

from typing import Any

from gymcore.envs.mujoco.description import Description, Simulation, uniform_start
from gymcore.envs.mujoco.quantities import norm
from gymcore.envs.mujoco.tasks import ActionCost, joint_structure
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv
from gymcore.envs.mujoco.weights import Scale, Weight


class SwimmerEnv(ActionCost):
    """Three links with two joints, in a plane of fluid, are rewarded for swimming to the right.

    Coulom (2002). See docs/environments/mujoco.md for the figures.

    Example:
        >>> env = SwimmerEnv()
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, env.dt
        ((8,), 0.04)
    """

    forward_reward_weight = Weight()
    ctrl_cost_weight = Weight()
    reset_noise_scale = Scale()

    def __init__(
        self,
        xml_file: str = "swimmer.xml",
        frame_skip: int = 4,
        default_camera_config: dict[str, float] | None = None,
        forward_reward_weight: float = 1.0,
        ctrl_cost_weight: float = 1e-4,
        reset_noise_scale: float = 0.1,
        exclude_current_positions_from_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        """Make a Swimmer.

        Args:
            xml_file: the model's file, see `expand_model_path`.
            frame_skip: simulation steps in one step.
            default_camera_config: attributes of the free camera.
            forward_reward_weight: weight of the velocity.
            ctrl_cost_weight: weight of the squared action.
            reset_noise_scale: scale of the noise of the initial state.
            exclude_current_positions_from_observation: whether x and y are left out.
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
            reset_noise_scale=reset_noise_scale,
            **kwargs,
        )
        skipped = 2 * exclude_current_positions_from_observation
        self.observation_structure = joint_structure(self, skipped)

    def describe(self, simulation: Simulation) -> Description:
        """Velocity minus effort."""
        s = simulation
        skipped = 2 * self._exclude_current_positions_from_observation
        velocity = s.rate(s.qpos[:2])
        forward = s.parameter("forward_reward_weight") * velocity[0]
        effort = self.effort(s)
        positions = {
            "x_position": s.qpos[0],
            "y_position": s.qpos[1],
            "distance_from_origin": norm(s.qpos[:2]),
        }
        return Description(
            observation=[s.qpos[skipped:], s.qvel],
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
