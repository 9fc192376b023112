"""The registry and the built-in environments."""

from typing import Any

from gymcore.envs.atari.games import environment_ids
from gymcore.envs.registration import (
    EnvSpec,
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
        vector_entry_point=f"gymcore.envs.box2d.{_place}VectorEnv",
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

_MUJOCO = "gymcore.envs.mujoco"

# (name, module, most steps, threshold, retired versions)
_MUJOCO_IDS: tuple[tuple[str, str, int, float | None, tuple[int, ...]], ...] = (
    ("Reacher", "reacher", 50, -3.75, (2,)),
    ("Pusher", "pusher", 100, 0.0, (2,)),
    ("InvertedPendulum", "inverted_pendulum", 1000, 950.0, (2,)),
    ("InvertedDoublePendulum", "inverted_double_pendulum", 1000, 9100.0, (2,)),
    ("HalfCheetah", "half_cheetah", 1000, 4800.0, (2, 3)),
    ("Hopper", "hopper", 1000, 3800.0, (2, 3)),
    ("Swimmer", "swimmer", 1000, 360.0, (2, 3)),
    ("Walker2d", "walker2d", 1000, None, (2, 3)),
    ("Ant", "ant", 1000, 6000.0, (2, 3)),
    ("Humanoid", "humanoid", 1000, None, (2, 3)),
    ("HumanoidStandup", "humanoidstandup", 1000, None, (2,)),
)

for _name, _module, _steps, _best, _gone in _MUJOCO_IDS:
    for _version in _gone:
        register(
            id=f"{_name}-v{_version}",
            entry_point="gymcore.envs.mujoco.retired:refuse",
            kwargs={"successor": f"{_name}-v5"},
        )
    for _version in (4, 5):
        register(
            id=f"{_name}-v{_version}",
            entry_point=f"{_MUJOCO}.{_module}_v{_version}:{_name}Env",
            vector_entry_point=f"{_MUJOCO}.{_module}_v{_version}:{_name}VectorEnv",
            reward_threshold=_best,
            max_episode_steps=_steps,
        )

_ATARI = "gymcore.envs.atari"

# Not by `register`, whose look for conflicts in all ids would take most of the time of the import.
for _id, _kwargs in environment_ids():
    registry[_id] = EnvSpec(
        _id,
        entry_point=f"{_ATARI}.atari_env:AtariEnv",
        vector_entry_point=f"{_ATARI}.vector_env:AtariVectorEnv"
        if _id.endswith("-v5") and "obs_type" not in _kwargs
        else None,
        kwargs=_kwargs,
    )

# Environments of the package `gym`, under the ids by which they can be had in Gymnasium.
for _version in (21, 26):
    register(
        id=f"GymV{_version}Environment-v0",
        entry_point=f"gymcore.compat.gym_envs:GymV{_version}Environment",
    )

# Over functions that use JAX; the packages that they name import it.
for _id, _place, _limit, _threshold in (
    ("phys2d/CartPole-v0", "phys2d.cartpole:CartPoleJax", 200, 195.0),
    ("phys2d/CartPole-v1", "phys2d.cartpole:CartPoleJax", 500, 475.0),
    ("phys2d/Pendulum-v0", "phys2d.pendulum:PendulumJax", 200, None),
    ("tabular/Blackjack-v0", "tabular.blackjack:BlackJackJax", None, None),
    ("tabular/CliffWalking-v0", "tabular.cliffwalking:CliffWalkingJax", None, None),
):
    _batched = _place.startswith("phys2d")
    register(
        id=_id,
        entry_point=f"gymcore.envs.{_place}Env",
        vector_entry_point=f"gymcore.envs.{_place}VectorEnv" if _batched else None,
        reward_threshold=_threshold,
        max_episode_steps=_limit,
        disable_env_checker=True,
    )
