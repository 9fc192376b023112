"""The registry and the built-in environments."""

from typing import Any

from gymcore.envs.registration import (
    load_env_creator,
    make,
    make_vec,
    pprint_registry,
    register,
    register_alias,
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

_TOY_TEXT = "gymcore.envs.toy_text"

_TEXT_IDS: tuple[tuple[str, str, str, int | None, float | None, dict[str, Any]], ...] = (
    ("FrozenLake-v1", "frozen_lake", "FrozenLake", 100, 0.70, {"map_name": "4x4"}),
    ("FrozenLake8x8-v1", "frozen_lake", "FrozenLake", 200, 0.85, {"map_name": "8x8"}),
    ("CliffWalking-v0", "cliffwalking", "CliffWalking", None, None, {}),
    ("CliffWalking-v1", "cliffwalking", "CliffWalking", None, None, {}),
    ("CliffWalkingSlippery-v1", "cliffwalking", "CliffWalking", None, None, {"is_slippery": True}),
    ("Taxi-v3", "taxi", "Taxi", 200, 8, {}),
    ("Taxi-v4", "taxi", "Taxi", 200, 8, {}),
    ("Blackjack-v1", "blackjack", "Blackjack", None, None, {"sab": True, "natural": False}),
)

for _id, _module, _name, _limit, _threshold, _kwargs in _TEXT_IDS:
    register(
        id=_id,
        entry_point=f"{_TOY_TEXT}.{_module}:{_name}Env",
        vector_entry_point=f"{_TOY_TEXT}.{_module}:{_name}VectorEnv",
        reward_threshold=_threshold,
        max_episode_steps=_limit,
        kwargs=_kwargs,
    )

# (id, place, most steps, threshold, arguments)
_BOX2D_IDS: tuple[tuple[str, str, int, float, dict[str, Any]], ...] = (
    ("LunarLander-v3", "lunar_lander:LunarLander", 1000, 200, {}),
    ("LunarLanderContinuous-v3", "lunar_lander:LunarLander", 1000, 200, {"continuous": True}),
    ("BipedalWalker-v3", "bipedal_walker:BipedalWalker", 1600, 300, {}),
    ("BipedalWalkerHardcore-v3", "bipedal_walker:BipedalWalker", 2000, 300, {"hardcore": True}),
    ("CarRacing-v3", "car_racing:CarRacing", 1000, 900, {}),
)

for _id, _place, _limit, _threshold, _kwargs in _BOX2D_IDS:
    register(
        id=_id,
        entry_point=f"gymcore.envs.box2d.{_place}",
        reward_threshold=_threshold,
        max_episode_steps=_limit,
        kwargs=_kwargs,
    )

# Without wind, which is the default, v2 and v3 fly the same; v3 has wider bounds of observations.
for _id in ("LunarLander", "LunarLanderContinuous"):
    register_alias(f"{_id}-v2", f"{_id}-v3")
for _id in ("BipedalWalker", "BipedalWalkerHardcore"):
    register_alias(f"{_id}-v2", f"{_id}-v3", change="its lidar sees the nearest ground")
register_alias("CarRacing-v2", "CarRacing-v3", change="a finished lap terminates now; it truncated")
