"""An environment on MuJoCo as a user would write it, for gymcore and for Gymnasium."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

MODEL = """
<mujoco model="box on a leg">
  <option timestep="0.01"/>
  <visual>
    <headlight ambient="0.4 0.4 0.4"/>
    <!-- Little work where the CPU draws; textures would take the most. -->
    <quality shadowsize="128" offsamples="0"/>
    <global offwidth="64" offheight="48"/>
  </visual>
  <worldbody>
    <light pos="0 0 3" dir="0 0 -1"/>
    <camera name="track" mode="trackcom" pos="0 -3 0.3" xyaxes="1 0 0 0 0 1"/>
    <camera name="side" pos="2 0 1" xyaxes="0 1 0 -0.4 0 1"/>
    <geom name="floor" type="plane" size="4 4 .1" rgba=".2 .4 .6 1"/>
    <body name="torso" pos="0 0 0.6">
      <freejoint name="root"/>
      <geom name="box" type="box" size=".2 .1 .1" rgba=".8 .2 .2 1"/>
      <body name="leg" pos=".2 0 0">
        <joint name="hip" axis="0 1 0" range="-60 60" limited="true"/>
        <geom name="shin" type="capsule" fromto="0 0 0 0 0 -.4" size=".05" rgba=".2 .8 .2 1"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="hip" ctrlrange="-1 1" ctrllimited="true" gear="10"/>
    <motor joint="hip" ctrlrange="-0.5 2" ctrllimited="true"/>
  </actuator>
</mujoco>
"""

FRAME_SKIP = 5
NUM_POSITIONS, NUM_VELOCITIES, NUM_ACTUATORS = 8, 7, 2
METADATA = {
    "render_modes": ["human", "rgb_array", "depth_array", "rgbd_tuple"],
    "render_fps": 20,
}


def write_model(folder: Path) -> str:
    """Write the model into a file and return its path."""
    file = folder / "walker.xml"
    file.write_text(MODEL)
    return str(file)


@cache
def walker(package: ModuleType) -> type:
    """Return the environment's class, written with one of the packages."""
    base = __import__(f"{package.__name__}.envs.mujoco", fromlist=["MujocoEnv"]).MujocoEnv

    class Walker(base, package.utils.EzPickle):
        metadata: Any = METADATA

        def __init__(self, path: str, **kwargs: Any) -> None:
            package.utils.EzPickle.__init__(self, path, **kwargs)
            base.__init__(self, path, FRAME_SKIP, None, **kwargs)
            size = self.model.nq + self.model.nv + self.data.cfrc_ext.size
            self.observation_space = package.spaces.Box(-np.inf, np.inf, (size,), np.float64)

        def _observation(self) -> Any:
            return np.concatenate([self.state_vector(), self.data.cfrc_ext.ravel()])

        def step(self, action: Any) -> Any:
            before = self.get_body_com("torso")[0].copy()
            self.do_simulation(action, self.frame_skip)
            moved = (self.get_body_com("torso")[0] - before) / self.dt
            if self.render_mode == "human":
                self.render()
            return self._observation(), moved, bool(self.data.qpos[2] > 5), False, {"moved": moved}

        def reset_model(self) -> Any:
            noise = self.np_random.uniform(-0.1, 0.1, size=self.model.nq)
            speed = 0.1 * self.np_random.standard_normal(self.model.nv)
            self.set_state(self.init_qpos + noise, self.init_qvel + speed)
            return self._observation()

        def _get_reset_info(self) -> Any:
            return {"height": self.data.qpos[2]}

    return Walker
