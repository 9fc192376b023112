"""The registry and the built-in environments."""

from gymcore.envs.registration import (
    load_env_creator,
    make,
    make_vec,
    pprint_registry,
    register,
    register_envs,
    registry,
    spec,
)

__all__ = [
    "load_env_creator",
    "make",
    "make_vec",
    "pprint_registry",
    "register",
    "register_envs",
    "registry",
    "spec",
]

_CLASSIC_CONTROL = "gymcore.envs.classic_control"

for _id, _module, _name, _steps, _threshold in (
    ("CartPole-v0", "cartpole", "CartPole", 200, 195.0),
    ("CartPole-v1", "cartpole", "CartPole", 500, 475.0),
    ("MountainCar-v0", "mountain_car", "MountainCar", 200, -110.0),
    ("MountainCarContinuous-v0", "continuous_mountain_car", "Continuous_MountainCar", 999, 90.0),
    ("Pendulum-v1", "pendulum", "Pendulum", 200, None),
    ("Acrobot-v1", "acrobot", "Acrobot", 500, -100.0),
):
    register(
        id=_id,
        entry_point=f"{_CLASSIC_CONTROL}.{_module}:{_name}Env",
        vector_entry_point=f"{_CLASSIC_CONTROL}.{_module}:{_name}VectorEnv",
        reward_threshold=_threshold,
        max_episode_steps=_steps,
    )
