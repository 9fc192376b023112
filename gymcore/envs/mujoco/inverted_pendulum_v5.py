"""InvertedPendulum-v5: keep a pole on a cart upright."""

from __future__ import annotations

from functools import cached_property

from gymcore.envs.mujoco.description import Description, Simulation, uniform_start
from gymcore.envs.mujoco.quantities import every, finite
from gymcore.envs.mujoco.tasks import Task
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv

DEFAULT_CAMERA_CONFIG = {
    "trackbodyid": 0,
    "distance": 2.04,
}


class InvertedPendulumEnv(
    Task,
    xml_file="inverted_pendulum.xml",
    frame_skip=2,
    default_camera_config=DEFAULT_CAMERA_CONFIG,
    reset_noise_scale=0.01,
):
    """A cart on a rail balances a pole, and is rewarded while the pole stands.

    Barto, Sutton and Anderson (1983). docs/environments/mujoco/inverted_pendulum.md describes
    observations, actions, rewards and arguments.

    Examples:
        >>> env = InvertedPendulumEnv()
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, env.dt
        ((4,), 0.04)
    """

    @cached_property
    def observation_structure(self) -> dict[str, int] | None:
        """Count of numbers of each kind in an observation."""
        return {"qpos": self.model.nq, "qvel": self.model.nv}

    def describe(self, simulation: Simulation) -> Description:
        """Reward each step after which the pole stands with 1."""
        s = simulation
        standing = every(finite(s.qpos)) & every(finite(s.qvel)) & (abs(s.qpos[1]) <= 0.2)
        return Description(
            observation=[s.qpos, s.qvel],
            reward=standing,
            terminated=~standing,
            infos={"reward_survive": standing},
            number_types={"reward": int, "reward_survive": int},
            **uniform_start(s),
        )


InvertedPendulumVectorEnv = MujocoVectorEnv.of(InvertedPendulumEnv)
