"""InvertedDoublePendulum-v5: keep two poles on a cart upright."""

from __future__ import annotations

import numpy as np

from gymcore.envs.mujoco.description import Description, Simulation, normal_start
from gymcore.envs.mujoco.quantities import Quantity, clip, cos, sin
from gymcore.envs.mujoco.tasks import Task
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv

DEFAULT_CAMERA_CONFIG = {
    "trackbodyid": 0,
    "distance": 4.1225,
    "lookat": np.array((0.0, 0.0, 0.12250000000000005)),
}


class InvertedDoublePendulumEnv(
    Task,
    xml_file="inverted_double_pendulum.xml",
    frame_skip=5,
    default_camera_config=None,
    healthy_reward=10.0,
    reset_noise_scale=0.1,
):
    """A cart on a rail balances two poles, one on the other, and is rewarded for keeping them up.

    docs/environments/mujoco/inverted_double_pendulum.md describes observations, actions, rewards
    and arguments.

    Examples:
        >>> env = InvertedDoublePendulumEnv()
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, env.dt
        ((9,), 0.05)
    """

    reward_arguments = ("tip_x", "tip_y", "terminated")

    def describe(self, simulation: Simulation) -> Description:
        """Reward survival, minus penalties for the velocities and for the tip's distance."""
        s = simulation
        x, y = s.site_position(0)[0], s.site_position(0)[2]
        alive = y > 1.0
        survival = s.parameter("healthy_reward") * alive
        distance = 0.01 * x**2 + (y - 2.0) ** 2
        speed = 1e-3 * s.qvel[1] ** 2 + 5e-3 * s.qvel[2] ** 2
        return Description(
            observation=[
                s.qpos[:1],
                sin(s.qpos[1:]),
                cos(s.qpos[1:]),
                clip(s.qvel, -10.0, 10.0),
                self.constraint_forces(s),
            ],
            reward=(survival - distance) - speed,
            terminated=~alive,
            infos={
                "reward_survive": survival,
                "distance_penalty": -distance,
                "velocity_penalty": -speed,
            },
            number_types={"reward_survive": float},
            **normal_start(s),
        )

    def constraint_forces(self, simulation: Simulation) -> Quantity:
        """Return the observed constraint force: that of the cart at the ends of its rail."""
        return clip(simulation.data.qfrc_constraint, -10.0, 10.0)[:1]


InvertedDoublePendulumVectorEnv = MujocoVectorEnv.of(InvertedDoublePendulumEnv)
