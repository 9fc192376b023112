"""Uses of windows, run as a separate program: windows belong to one thread.

python windows.py model.xml check ...
"""

from __future__ import annotations

import gc
import sys
import time
import warnings

import glfw
import mujoco
import numpy as np
import pytest

import gymcore
from gymcore.envs.mujoco import mujoco_rendering
from tests.envs.mujoco.walkers import FRAME_SKIP, METADATA, walker

warnings.simplefilter("error")

PATH, *CHECKS = sys.argv[1:]
SIZE = {"width": 80, "height": 60}
STILL = np.zeros(2, np.float32)


def open_walker(**arguments):
    env = walker(gymcore)(PATH, **{"render_mode": "human", **SIZE, **arguments})
    env.reset(seed=1)
    return env


def presses(viewer, *keys):
    for key in keys:
        viewer._key_callback(viewer.window, key, 0, glfw.PRESS, 0)


def is_paced():
    """A frame takes as long as its simulated time; a late action does not accumulate delay."""
    env = open_walker()
    assert FRAME_SKIP * 0.01 == 1 / METADATA["render_fps"] == env.dt
    env.step(STILL)
    began = time.monotonic()
    for _ in range(10):
        env.step(STILL)
    assert time.monotonic() - began > 8 * env.dt
    env.close()


def shows_and_closes():
    env = open_walker(camera_name="side", visual_options={1: True})
    viewer = env.mujoco_renderer.viewer
    assert type(viewer) is mujoco_rendering.WindowViewer
    assert glfw.get_window_size(viewer.window) == (80, 60)
    assert viewer.cam.fixedcamid == 1
    assert viewer.vopt.flags[1] == 1
    viewer.add_marker(pos=[0, 0, 1], label="here")
    viewer.add_overlay(0, "one", "two")
    env.step(STILL)
    assert viewer.scn.ngeom == env.model.ngeom + 1
    env.step(STILL)
    assert viewer.scn.ngeom == env.model.ngeom
    env.close()
    assert not viewer.is_open
    with pytest.raises(gymcore.error.ClosedEnvironmentError):
        viewer.make_context_current()
    env.step(STILL)
    assert env.mujoco_renderer.viewer.is_open, "a frame after close() opens a window again"
    env.close()


def user_closes():
    env = open_walker()
    viewer = env.mujoco_renderer.viewer
    presses(viewer, glfw.KEY_ESCAPE)
    for _ in range(3):
        env.step(STILL)
    assert not viewer.is_open
    assert env.mujoco_renderer.viewer is viewer
    env.close()


def keys_and_mouse():
    env = open_walker(default_camera_config={"distance": 3.0})
    viewer = env.mujoco_renderer.viewer
    cameras = []
    for _ in range(3):
        presses(viewer, glfw.KEY_TAB)
        cameras.append(viewer.cam.fixedcamid)
    assert cameras == [0, 1, -1]
    flags = viewer.vopt.flags.copy()
    presses(viewer, glfw.KEY_C, glfw.KEY_J, glfw.KEY_T)
    assert np.sum(viewer.vopt.flags != flags) == 3
    presses(viewer, glfw.KEY_W, glfw.KEY_H)
    assert viewer.scn.flags[mujoco.mjtRndFlag.mjRND_WIREFRAME]
    env.step(STILL)
    assert viewer.cam.distance == 3.0
    viewer._scroll_callback(viewer.window, 0.0, 1.0)
    assert viewer.cam.distance < 3.0
    viewer._mouse_button_callback(viewer.window, 0, 1, 0)
    viewer._cursor_pos_callback(viewer.window, 1.0, 1.0)
    presses(viewer, glfw.KEY_SPACE, glfw.KEY_RIGHT)
    env.step(STILL)
    assert viewer.paused
    presses(viewer, glfw.KEY_SPACE)
    env.close()


def several():
    one, two = open_walker(), open_walker(camera_name="track")
    frames = open_walker(render_mode="rgb_array")
    before = frames.render()
    for env in (one, two, one):
        env.step(STILL)
    assert np.array_equal(frames.render(), before)
    one.close()
    two.step(STILL)
    assert np.array_equal(frames.render(), before)
    viewer, window = two.mujoco_renderer.viewer, two.mujoco_renderer.viewer._release
    del two, env, viewer
    gc.collect()
    assert not window.alive
    frames.close()


def chooses_a_size():
    model = mujoco.MjModel.from_xml_path(PATH)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    renderer = mujoco_rendering.MujocoRenderer(model, data)
    renderer.render("human")
    assert glfw.get_window_size(renderer.viewer.window) == (640, 480)
    renderer.close()


for check in CHECKS:
    globals()[check]()
    print(check)
left_open = open_walker()  # to be closed by the end of the process
