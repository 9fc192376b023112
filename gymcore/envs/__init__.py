"""The registry and the built-in environments."""

from __future__ import annotations

from collections.abc import Iterable

from gymcore.envs.atari.games import environment_ids
from gymcore.envs.lbf.ids import foraging_spec
from gymcore.envs.mamujoco.ids import mamujoco_spec
from gymcore.envs.minigrid.babyai_levels import IDS as _BABYAI_IDS
from gymcore.envs.minigrid.levels import IDS as _GRID_IDS
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
from gymcore.envs.rware.ids import warehouse_spec
from gymcore.specs.env_spec import Kwargs
from gymcore.specs.registered import families

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

# Row: id, class in `gymcore.envs`, time limit, reward threshold, keyword arguments.
_Row = tuple[str, str, int | None, float | None, Kwargs]

_CARTPOLE = "classic_control.cartpole:CartPoleEnv"
_FROZEN_LAKE = "toy_text.frozen_lake:FrozenLakeEnv"
_CLIFF_WALKING = "toy_text.cliffwalking:CliffWalkingEnv"
_TAXI = "toy_text.taxi:TaxiEnv"
_BLACKJACK = "toy_text.blackjack:BlackjackEnv"
_LANDER = "box2d.lunar_lander:LunarLander"
_WALKER = "box2d.bipedal_walker:BipedalWalker"

_CAR_CLIMBING = "classic_control.continuous_mountain_car:Continuous_MountainCarEnv"

_COMPILED: tuple[_Row, ...] = (
    ("CartPole-v0", _CARTPOLE, 200, 195.0, {}),
    ("CartPole-v1", _CARTPOLE, 500, 475.0, {}),
    ("MountainCar-v0", "classic_control.mountain_car:MountainCarEnv", 200, -110.0, {}),
    ("MountainCarContinuous-v0", _CAR_CLIMBING, 999, 90.0, {}),
    ("Pendulum-v1", "classic_control.pendulum:PendulumEnv", 200, None, {}),
    ("Acrobot-v1", "classic_control.acrobot:AcrobotEnv", 500, -100.0, {}),
    ("FrozenLake-v1", _FROZEN_LAKE, 100, 0.70, {"map_name": "4x4"}),
    ("FrozenLake8x8-v1", _FROZEN_LAKE, 200, 0.85, {"map_name": "8x8"}),
    ("CliffWalking-v0", _CLIFF_WALKING, None, None, {}),
    ("CliffWalking-v1", _CLIFF_WALKING, None, None, {}),
    ("CliffWalkingSlippery-v1", _CLIFF_WALKING, None, None, {"is_slippery": True}),
    ("Taxi-v3", _TAXI, 200, 8, {}),
    ("Taxi-v4", _TAXI, 200, 8, {}),
    ("Blackjack-v1", _BLACKJACK, None, None, {"sab": True, "natural": False}),
    ("LunarLander-v3", _LANDER, 1000, 200, {}),
    ("LunarLanderContinuous-v3", _LANDER, 1000, 200, {"continuous": True}),
    ("BipedalWalker-v3", _WALKER, 1600, 300, {}),
    ("BipedalWalkerHardcore-v3", _WALKER, 2000, 300, {"hardcore": True}),
    ("CarRacing-v3", "box2d.car_racing:CarRacing", 1000, 900, {}),
)

# Names, modules, time limits, reward thresholds and retired versions.
_MUJOCO = (
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

# Environments with JAX functions; the packages named here import JAX.
_PHYS2D: tuple[_Row, ...] = (
    ("phys2d/CartPole-v0", "phys2d.cartpole:CartPoleJaxEnv", 200, 195.0, {}),
    ("phys2d/CartPole-v1", "phys2d.cartpole:CartPoleJaxEnv", 500, 475.0, {}),
    ("phys2d/Pendulum-v0", "phys2d.pendulum:PendulumJaxEnv", 200, None, {}),
)
_TABULAR: tuple[_Row, ...] = (
    ("tabular/Blackjack-v0", "tabular.blackjack:BlackJackJaxEnv", None, None, {}),
    ("tabular/CliffWalking-v0", "tabular.cliffwalking:CliffWalkingJaxEnv", None, None, {}),
)

# Scenarios of MPE and the versions of their ids.
_MPE = (
    *(("collect_treasure", 1), ("simple", 3), ("simple_adversary", 3), ("simple_crypto", 3)),
    *(("simple_formation", 1), ("simple_line", 1), ("simple_push", 3), ("simple_reference", 3)),
    *(("simple_speaker_listener", 4), ("simple_spread", 3), ("simple_tag", 3)),
    ("simple_world_comm", 3),
)

# Domains of the control suite: module and class, and its tasks.
_CONTROL = {
    "acrobot": ("pendulums:Acrobot", "swingup swingup_sparse"),
    "ball_in_cup": ("targets:BallInCup", "catch"),
    "cartpole": (
        "cartpole:Cartpole",
        "balance balance_sparse swingup swingup_sparse two_poles three_poles",
    ),
    "cheetah": ("planar:Cheetah", "run"),
    "dog": ("dog:Dog", "stand walk trot run fetch"),
    "finger": ("targets:Finger", "spin turn_easy turn_hard"),
    "fish": ("swimming:Fish", "upright swim"),
    "hopper": ("planar:Hopper", "stand hop"),
    "humanoid": ("humanoid:Humanoid", "stand walk run run_pure_state"),
    "humanoid_CMU": ("humanoid:HumanoidCMU", "stand walk run"),
    "lqr": ("lqr:LQR", "lqr_2_1 lqr_6_2"),
    "manipulator": ("arms:Manipulator", "bring_ball bring_peg insert_ball insert_peg"),
    "pendulum": ("pendulums:Pendulum", "swingup"),
    "point_mass": ("targets:PointMass", "easy hard"),
    "quadruped": ("quadruped:Quadruped", "walk run escape fetch"),
    "reacher": ("targets:Reacher", "easy hard"),
    "stacker": ("arms:Stacker", "stack_2 stack_4"),
    "swimmer": ("swimming:Swimmer", "swimmer6 swimmer15"),
    "walker": ("planar:Walker", "stand walk run"),
}


def _register(rows: Iterable[_Row], checked: bool = True, batched: bool = True) -> None:
    """Register built-in environments; batched ones also have a class `<Name>VectorEnv`."""
    for env_id, place, limit, threshold, kwargs in rows:
        entry_point = f"gymcore.envs.{place}"
        register(
            env_id,
            entry_point,
            reward_threshold=threshold,
            max_episode_steps=limit,
            disable_env_checker=not checked,
            vector_entry_point=f"{entry_point.removesuffix('Env')}VectorEnv" if batched else None,
            kwargs=kwargs,
        )


_register(_COMPILED)
for _name, _module, _limit, _threshold, _retired in _MUJOCO:
    for _version in _retired:
        register(
            id=f"{_name}-v{_version}",
            entry_point="gymcore.envs.mujoco.retired:refuse",
            kwargs={"successor": f"{_name}-v5"},
        )
    _register(
        (f"{_name}-v{_version}", f"mujoco.{_module}_v{_version}:{_name}Env", _limit, _threshold, {})
        for _version in (4, 5)
    )

# Without wind, the default, v2 and v3 have the same dynamics; v3 has wider observation bounds.
for _id in ("LunarLander", "LunarLanderContinuous"):
    register_alias(f"{_id}-v2", f"{_id}-v3")
for _id in ("BipedalWalker", "BipedalWalkerHardcore"):
    register_alias(f"{_id}-v2", f"{_id}-v3", change="its lidar detects the nearest ground")
register_alias("CarRacing-v2", "CarRacing-v3", change="a finished lap terminates, not truncates")

for _id, _kwargs in environment_ids():
    _has_batch = _id.endswith("-v5") and "obs_type" not in _kwargs
    register(
        _id,
        "gymcore.envs.atari.atari_env:AtariEnv",
        vector_entry_point="gymcore.envs.atari.vector_env:AtariVectorEnv" if _has_batch else None,
        kwargs=_kwargs,
    )

_register(
    (f"MiniGrid-{_name}", f"minigrid.env:{_kind}Env", None, None, _kwargs)
    for _name, (_kind, _kwargs) in _GRID_IDS.items()
)
_register(
    (_name, f"minigrid.env:BabyAI{_kind}Env", None, None, _kwargs)
    for _name, (_kind, _kwargs) in _BABYAI_IDS.items()
)

_register(
    (f"mpe/{_name}_v{_version}", f"mpe.env:{_name.title().replace('_', '')}Env", None, None, {})
    for _name, _version in _MPE
)

_register(
    (
        f"dm_control/{_name}-{_task}-v0",
        f"dm_control.{_class}Env",
        None,  # tasks set their time limits themselves
        None,
        {"task": _task},
    )
    for _name, (_class, _tasks) in _CONTROL.items()
    for _task in _tasks.split()
)

families += [foraging_spec, mamujoco_spec, warehouse_spec]

# Environments of the package `gym`, under the same ids as in Gymnasium.
for _version in (21, 26):
    register(
        id=f"GymV{_version}Environment-v0",
        entry_point=f"gymcore.compat.gym_envs:GymV{_version}Environment",
    )

_register(_PHYS2D, checked=False)
_register(_TABULAR, checked=False, batched=False)
