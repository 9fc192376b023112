"""`gym.envs.classic_control` of Gym 0.21."""

from gymcore.compat.gym21.envs.done_classes import done_namespace

__getattr__ = done_namespace(
    __name__,
    {
        "gymcore.envs.classic_control": (
            "AcrobotEnv",
            "CartPoleEnv",
            "Continuous_MountainCarEnv",
            "MountainCarEnv",
            "PendulumEnv",
        )
    },
)
