"""A MuJoCo environment of the contract tests' own, from its description: a mass on a spring."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import total, uniform
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv
from gymcore.envs.mujoco.weights import Weight

MODEL = """
<mujoco model="slider">
  <option timestep="0.01"/>
  <worldbody>
    <light pos="0 -2 4" dir="0 0.5 -1"/>
    <body name="mass">
      <joint name="slide" type="slide" axis="1 0 0" stiffness="3" damping="0.2"/>
      <geom type="box" size="0.1 0.1 0.1" mass="1" rgba="0.3 0.6 0.9 1"/>
    </body>
  </worldbody>
  <actuator>
    <motor joint="slide" gear="5" ctrlrange="-1 1" ctrllimited="true"/>
  </actuator>
</mujoco>
"""


class SliderEnv(CompiledMujocoEnv):
    """A mass on a spring, observed with a weight, that starts near the middle."""

    stiffness = Weight()

    def __init__(self, stiffness: float = 0.1, **kwargs: Any) -> None:
        super().__init__(MODEL, 2, stiffness=stiffness, **kwargs)

    def describe(self, simulation: Simulation) -> Description:
        """Observe the place, the velocity and a weighted force."""
        place = simulation.qpos[0]
        force = simulation.parameter("stiffness") * place
        return Description(
            observation=[place, simulation.qvel, force],
            reward=total(simulation.action()) - force,
            infos={"place": place},
            reset_infos={"place": place},
            qpos=np.zeros(1) + uniform(-0.2, 0.2, 1),
            qvel=np.zeros(1),
        )


class SliderVectorEnv(MujocoVectorEnv):
    """A batch of `SliderEnv`."""

    env_class = SliderEnv
