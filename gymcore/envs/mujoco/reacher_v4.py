"""Reacher-v4: as Reacher-v5 was before; costs are those before the step."""

from __future__ import annotations

from typing import Any

from gymcore.envs.mujoco import reacher_v5
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import before, norm, square, total
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv

DEFAULT_CAMERA_CONFIG = {"trackbodyid": 0}


class ReacherEnv(reacher_v5.ReacherEnv):
    """The arm of Reacher-v5, which also sees the gap's height.

    Example:
        >>> ReacherEnv().observation_space.shape
        (11,)
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["human", "rgb_array", "depth_array", "rgbd_tuple"],
        "render_fps": 50,
    }

    reward_dist_weight: Any = 1.0
    reward_control_weight: Any = 1.0

    def __init__(
        self,
        **kwargs: Any,
    ) -> None:
        """Make a Reacher.

        Args:
            **kwargs: see `CompiledMujocoEnv`.
        """
        CompiledMujocoEnv.__init__(
            self,
            "reacher.xml",
            2,
            default_camera_config=DEFAULT_CAMERA_CONFIG,
            **kwargs,
        )

    def describe(self, simulation: Simulation) -> Description:
        """Distance before the step and effort, as costs."""
        s = simulation
        gap = s.body_position("fingertip") - s.body_position("target")
        distance = -before(norm(gap))
        effort = -total(square(s.action()))
        return Description(
            observation=[*self.joints(s), gap],
            reward=distance + effort,
            infos={"reward_dist": distance, "reward_ctrl": effort},
            **self.start(s),
        )


class ReacherVectorEnv(MujocoVectorEnv):
    """Many Reachers in one batch."""

    env_class = ReacherEnv
