"""An environment of your own on MuJoCo, in one file: a pole on a cart that must swing up.

    python examples/mujoco_swing_up.py [--num-envs 64] [--steps 500] [--picture swing_up.png]

This file has a model and its description: observation, reward and the initial state. Batches,
threads, autoreset, infos, saved states and rendering are derived from it and compiled; a single
environment and a batch give bit-identical results.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import gymcore as gym
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import cos, sin, square, total, uniform
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv
from gymcore.envs.mujoco.weights import Weight

MODEL = """
<mujoco model="swing up">
  <option timestep="0.01" integrator="RK4"/>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" rgb1="0.9 0.95 1" rgb2="0.5 0.6 0.75"
             width="64" height="64"/>
  </asset>
  <worldbody>
    <light pos="0 -2 4" dir="0 0.5 -1"/>
    <geom type="capsule" fromto="-2 0 0 2 0 0" size="0.02" rgba="0.4 0.4 0.45 1"
          contype="0" conaffinity="0"/>
    <body name="cart">
      <joint name="slider" type="slide" axis="1 0 0" range="-1.8 1.8" limited="true" damping="0.1"/>
      <geom type="box" size="0.15 0.08 0.06" mass="1" rgba="0.2 0.4 0.7 1"/>
      <body name="pole">
        <joint name="hinge" type="hinge" axis="0 1 0" damping="0.005"/>
        <geom type="capsule" fromto="0 0 0 0 0 0.6" size="0.03" mass="0.1" rgba="0.9 0.5 0.1 1"
              contype="0" conaffinity="0"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="slider" gear="10" ctrlrange="-1 1" ctrllimited="true"/>
  </actuator>
</mujoco>
"""


class SwingUpEnv(CompiledMujocoEnv):
    """A pole that initially hangs down; the reward is the height of its tip minus the effort."""

    effort_weight = Weight()

    def __init__(self, effort_weight: float = 0.01, **kwargs: Any) -> None:
        """Create the environment; `kwargs` are rendering options."""
        camera = {"distance": 5.0, "elevation": -10.0, "lookat": np.array([0.0, 0.0, 0.2])}
        super().__init__(
            MODEL, 2, effort_weight=effort_weight, default_camera_config=camera, **kwargs
        )

    def describe(self, simulation: Simulation) -> Description:
        """Observe position, angle and velocities; an episode never ends by itself."""
        s = simulation
        cart, angle = s.qpos[0], s.qpos[1]
        height = cos(angle)
        effort = s.parameter("effort_weight") * total(square(s.action()))
        return Description(
            observation=[cart, sin(angle), cos(angle), s.qvel],
            reward=height - effort,
            infos={"height": height, "reward_effort": -effort},
            reset_infos={"height": height},
            qpos=np.array([0.0, np.pi]) + uniform(-0.1, 0.1, 2),
            qvel=np.zeros(2),
        )


class SwingUpVectorEnv(MujocoVectorEnv):
    """A batch of these environments."""

    env_class = SwingUpEnv


gym.register(
    id="SwingUp-v0",
    entry_point=SwingUpEnv,
    vector_entry_point=SwingUpVectorEnv,
    max_episode_steps=500,
)


def main() -> None:
    """Step a batch that pumps energy into the poles, and render it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--picture", help="write an image of the first lanes to this file")
    arguments = parser.parse_args()

    render_mode = "rgb_array" if arguments.picture else None
    envs = gym.make_vec("SwingUp-v0", num_envs=arguments.num_envs, render_mode=render_mode)
    # Every lane has a different pole, from half to twice the mass.
    mass = np.repeat(envs.get_attr("body_mass")[0][None], arguments.num_envs, axis=0)
    mass[:, -1] *= np.geomspace(0.5, 2.0, arguments.num_envs)
    envs.set_attr("body_mass", mass)

    observations, _ = envs.reset(seed=0)
    start, highest = time.perf_counter(), np.full(arguments.num_envs, -1.0)
    for _ in range(arguments.steps):
        cart, _, height, speed, spin = observations.T
        # Push against the swing while the pole hangs, and move the cart back to the middle.
        push = np.clip(-2.0 * spin * height - 0.4 * cart - 0.2 * speed, -1.0, 1.0)
        observations, _, _, _, infos = envs.step(push[:, None])
        highest = np.maximum(highest, infos["height"])
    seconds = time.perf_counter() - start
    rate = arguments.steps * arguments.num_envs / seconds
    print(f"{rate:,.0f} steps a second with {envs.num_threads} threads")
    print(f"{np.mean(highest > 0.9):.0%} of the poles have been up")
    if arguments.picture:
        import imageio.v3 as iio

        iio.imwrite(arguments.picture, np.hstack(envs.render()[:4]))
        print(f"wrote {arguments.picture}")
    envs.close()


if __name__ == "__main__":
    main()
