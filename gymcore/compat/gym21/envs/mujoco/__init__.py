"""`gym.envs.mujoco` of Gym 0.21, with the models and rewards of versions 2 and 3."""

from gymcore.compat.gym21.envs.done_classes import done_namespace

__getattr__ = done_namespace(
    __name__,
    {
        "gymcore.envs.mujoco.ant_v4": ("AntEnv",),
        "gymcore.envs.mujoco.half_cheetah_v4": ("HalfCheetahEnv",),
        "gymcore.envs.mujoco.hopper_v4": ("HopperEnv",),
        "gymcore.envs.mujoco.humanoid_v4": ("HumanoidEnv",),
        "gymcore.envs.mujoco.humanoidstandup_v4": ("HumanoidStandupEnv",),
        "gymcore.envs.mujoco.inverted_double_pendulum_v4": ("InvertedDoublePendulumEnv",),
        "gymcore.envs.mujoco.inverted_pendulum_v4": ("InvertedPendulumEnv",),
        "gymcore.envs.mujoco.pusher_v4": ("PusherEnv",),
        "gymcore.envs.mujoco.reacher_v4": ("ReacherEnv",),
        "gymcore.envs.mujoco.swimmer_v4": ("SwimmerEnv",),
        "gymcore.envs.mujoco.walker2d_v4": ("Walker2dEnv",),
    },
)
