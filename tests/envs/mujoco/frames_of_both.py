"""Frames of this package and of `mujoco.Renderer`, rendered by one process into a file.

A separate program, because `mujoco.Renderer` chooses its OpenGL when `mujoco` is imported.

MUJOCO_GL=egl python frames_of_both.py frames.npz walker/-1/plain ...
"""

from __future__ import annotations

import sys

import mujoco
import numpy as np

import gymcore
from gymcore.envs.mujoco.mujoco_rendering import OffScreenViewer
from tests.envs.mujoco.walkers import MODEL

# A model without sky and with one sample per pixel; and ours, with skies, textures, shadows,
# reflections, four samples per pixel and a tracking camera.
OURS = ("Hopper-v5", "Humanoid-v5", "Pusher-v5")
SEGMENTED = ("segments", "segments-depth")
OPTIONS = {
    "plain": (),
    "transparent": (mujoco.mjtVisFlag.mjVIS_TRANSPARENT, mujoco.mjtVisFlag.mjVIS_JOINT),
}


def simulations():
    """Yield names, models and data of simulations that have moved."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=20)
    yield "walker", model, data
    for env_id in OURS:
        env = gymcore.make(env_id)
        env.reset(seed=1)
        for _ in range(3):
            env.step(env.action_space.high)
        env.unwrapped.model.vis.quality.shadowsize = 256  # 4096 would take seconds without a GPU
        yield env_id, env.unwrapped.model, env.unwrapped.data


def main(path: str, *views: str) -> None:
    """Write `{simulation}/{camera}/{options}/{what}/{whose}` and `{simulation}/range`."""
    frames = {}
    for name, model, data in simulations():
        width, height = min(80, model.vis.global_.offwidth), 48
        viewer = OffScreenViewer(model, data, width, height)
        renderer = mujoco.Renderer(model, height, width)
        planes = np.array([model.vis.map.znear, model.vis.map.zfar])
        frames[f"{name}/range"] = planes * model.stat.extent
        for camera in range(-1, model.ncam):
            for kind, flags in OPTIONS.items():
                viewer.vopt.flags[:] = mujoco.MjvOption().flags
                for flag in flags:
                    viewer.vopt.flags[flag] = True
                key = f"{name}/{camera}/{kind}"
                if key not in views:
                    continue
                for kinds, segmentation in ((("rgb", "depth"), False), (SEGMENTED, True)):
                    pair = viewer.render("rgbd_tuple", camera, segmentation)
                    frames |= {f"{key}/{each}/ours": pair[i] for i, each in enumerate(kinds)}

                seen_by = viewer.cam if camera == -1 else camera
                renderer.update_scene(data, seen_by, viewer.vopt)
                frames[f"{key}/rgb/theirs"] = renderer.render()
                renderer.enable_segmentation_rendering()
                frames[f"{key}/segments/theirs"] = renderer.render()
                renderer.disable_segmentation_rendering()
                renderer.enable_depth_rendering()
                frames[f"{key}/depth/theirs"] = renderer.render()
                renderer.disable_depth_rendering()
        renderer.close()
        viewer.close()
    np.savez(path, **frames)


main(*sys.argv[1:])
