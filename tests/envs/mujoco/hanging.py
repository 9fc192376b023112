"""A small described environment, a hanging pole on a pushed cart; and a pile of boxes."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import norm, square, standard_normal, total, uniform
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv
from gymcore.envs.mujoco.weights import Weight

MODEL = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <body name="cart">
      <joint name="slider" type="slide" axis="1 0 0" damping="0.1"/>
      <geom type="box" size="0.1 0.1 0.1" mass="1" contype="0" conaffinity="0"/>
      <body name="pole">
        <joint name="hinge" type="hinge" axis="0 1 0" damping="0.01"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03" contype="0" conaffinity="0"/>
        <site name="tip" pos="0 0 -0.5"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="slider" gear="20" ctrlrange="-1 1" ctrllimited="true"/>
  </actuator>
</mujoco>
"""


class HangingEnv(CompiledMujocoEnv):
    """Environment with a reward for speed; ends when the cart has gone too far."""

    effort_weight = Weight()
    farthest = Weight()

    def __init__(
        self, effort_weight: float = 0.1, farthest: float = 0.5, noise: float = 0.1, **kwargs: Any
    ) -> None:
        self.noise = noise
        super().__init__(MODEL, 4, effort_weight=effort_weight, farthest=farthest, **kwargs)

    def describe(self, simulation: Simulation) -> Description:
        s = simulation
        tip = s.site_position("tip")
        speed = s.rate(s.qpos[0])
        effort = s.parameter("effort_weight") * total(square(s.action()))
        return Description(
            observation=[s.qpos, s.qvel, tip],
            reward=speed - effort,
            terminated=abs(s.qpos[0]) > s.parameter("farthest"),
            infos={"speed": speed, "tip": tip, "x": s.qpos[0]},
            reset_infos={"tip": tip, "x": s.qpos[0]},
            draws=[uniform(-1.0, 1.0, 2).until(lambda drawn: norm(drawn) < 1.0)],
            qpos=s.init_qpos + self.noise * standard_normal(s.nq),
            qvel=s.init_qvel + uniform(-self.noise, self.noise, s.nv),
        )


class HangingVectorEnv(MujocoVectorEnv):
    env_class = HangingEnv


def hanging(num_envs: int = 3, **options: Any) -> HangingVectorEnv:
    return HangingVectorEnv(num_envs, **options)


def pile(kilobytes: int) -> str:
    """Return a pile of boxes with so little memory that its contacts may not fit."""
    boxes = "".join(
        f'<body pos="0 0 {0.05 + 0.08 * k}"><freejoint name="j{k}"/>'
        '<geom type="box" size="0.05 0.05 0.05"/></body>'
        for k in range(12)
    )
    return f"""
<mujoco>
  <size memory="{kilobytes}K"/>
  <option timestep="0.01"/>
  <worldbody><geom type="plane" size="5 5 0.1"/>{boxes}</worldbody>
  <actuator><motor joint="j0" gear="1 0 0 0 0 0" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


class PileEnv(CompiledMujocoEnv):
    """Environment of falling boxes."""

    def __init__(self, kilobytes: int, **kwargs: Any) -> None:
        super().__init__(pile(kilobytes), 5, **kwargs)

    def describe(self, simulation: Simulation) -> Description:
        s = simulation
        return Description([s.qpos], reward=0.0, qpos=s.init_qpos, qvel=s.init_qvel)


class PileVectorEnv(MujocoVectorEnv):
    env_class = PileEnv


def actions(envs: Any, steps: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Return random actions float32 [steps, num_envs, 1]."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (steps, envs.num_envs, 1)).astype(np.float32)
