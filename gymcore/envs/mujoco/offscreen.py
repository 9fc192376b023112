"""Frames in memory: the scene, what is added to it, and the pixels read back.

Not by `mujoco.Renderer`: `docs/environments/mujoco_rendering.md` says what it lacks, with versions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymcore import error
from gymcore.envs.mujoco.gl_backend import check_process, current, free_contexts, open_context
from gymcore.envs.mujoco.library import mujoco_module, warnings_while
from gymcore.envs.mujoco.release import release_once
from gymcore.envs.mujoco.scene import (
    add_marker_to_scene,
    apply_visual_options,
    check_marker,
    init_free_camera,
    look_through,
)

OFFSCREEN_MODES = ("rgb_array", "depth_array", "rgbd_tuple")


class BaseRender:
    """What both kinds of viewer have: a model, its data, markers and overlays.

    Attributes:
        model: The `mujoco.MjModel`.
        data: The `mujoco.MjData` that is shown.
        cam: The `mujoco.MjvCamera` that it is seen by.
        vopt: The `mujoco.MjvOption`: what is shown.
        pert: The `mujoco.MjvPerturb`.
        scn: The `mujoco.MjvScene` that markers are added to.
        viewport: The `mujoco.MjrRect` of a frame.
    """

    cam: Any
    vopt: Any
    pert: Any
    scn: Any
    viewport: Any

    def __init__(
        self,
        model: Any,
        data: Any,
        width: int,
        height: int,
        max_geom: int = 1000,
        visual_options: dict[int, bool] | None = None,
    ) -> None:
        """Keep the model and its data.

        Args:
            model: The `mujoco.MjModel`.
            data: Its `mujoco.MjData`.
            width: Width in pixels.
            height: Height in pixels.
            max_geom: Most geoms that can be shown.
            visual_options: Flags of `mujoco.mjtVisFlag` and whether they are on.
        """
        self.model = model
        self.data = data
        self._markers: list[dict[str, Any]] = []
        self._overlays: dict[int, list[str]] = {}

    def add_marker(self, **marker_params: Any) -> None:
        """Show a geom in the next frame, and in that one alone.

        Args:
            **marker_params: `pos` [3], `size` [3], `mat` [3, 3] or [9], `rgba` [4], `type` (a
                `mujoco.mjtGeom`), `label` (text), or another attribute of `mujoco.MjvGeom`. The
                default is a white sphere of 1 cm at the origin.

        Raises:
            gymcore.error.InvalidArgument: a value that the attribute cannot take.
        """
        check_marker(marker_params)
        self._markers.append(marker_params)

    def add_overlay(self, gridpos: int, text1: str, text2: str) -> None:
        """Write a line of text over every frame from now on, below the lines already there.

        Args:
            gridpos: The corner, a `mujoco.mjtGridPos`.
            text1: Text of the left column.
            text2: Text of the right column.
        """
        lines = self._overlays.setdefault(int(gridpos), ["", ""])
        lines[0] += f"{text1}\n"
        lines[1] += f"{text2}\n"

    def _add_marker_to_scene(self, marker: dict[str, Any]) -> None:
        """Add one marker to the scene of the frame that is being drawn."""
        add_marker_to_scene(self.scn, marker)

    def make_context_current(self) -> None:
        """Make the viewer's OpenGL context the current one."""
        raise NotImplementedError(f"{type(self).__name__} has no OpenGL context")

    def close(self) -> None:
        """Free what the viewer holds."""
        raise NotImplementedError(f"{type(self).__name__} cannot be closed")


class OffScreenViewer(BaseRender):
    """Draws frames of a simulation in memory, in an OpenGL context of its own.

    All frames have to be drawn by the same thread: an OpenGL context belongs to one.

    Attributes:
        backend: `"egl"`, `"osmesa"`, `"glfw"` or `"cgl"`.
        opengl_context: The OpenGL context.
        con: The `mujoco.MjrContext`.
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        width: int,
        height: int,
        max_geom: int = 1000,
        visual_options: dict[int, bool] | None = None,
    ) -> None:
        """Make the context and the scene.

        Args:
            model: The `mujoco.MjModel`.
            data: Its `mujoco.MjData`.
            width: Width of a frame in pixels.
            height: Height of a frame in pixels.
            max_geom: Most geoms in a frame.
            visual_options: Flags of `mujoco.mjtVisFlag` and whether they are on.

        Raises:
            RenderingUnavailable: there is no OpenGL that can draw here.
        """
        super().__init__(model, data, width, height, max_geom, visual_options)
        if width < 1 or height < 1:
            raise error.InvalidArgument(
                f"width, height: expected at least 1 x 1 pixels, got {width} x {height}"
            )
        mujoco = mujoco_module()
        self.cam = mujoco.MjvCamera()
        self.vopt = mujoco.MjvOption()
        self.pert = mujoco.MjvPerturb()
        self.viewport = mujoco.MjrRect(0, 0, width, height)
        apply_visual_options(self.vopt, visual_options)
        self._init_camera()
        self.scn = mujoco.MjvScene(model, max_geom)

        self.backend, self.opengl_context, self.con = open_context(model, width, height)
        self._release = release_once(
            self, free_contexts, self.backend, self.opengl_context, self.con
        )
        with current(self.backend, self.make_context_current):
            self._set_mujoco_buffer()
            if self.con.offWidth < width or self.con.offHeight < height:
                mujoco.mjr_resizeOffscreen(
                    max(width, self.con.offWidth), max(height, self.con.offHeight), self.con
                )

    def _init_camera(self) -> None:
        """Let the free camera look at the middle of the model."""
        init_free_camera(self.cam, self.model, self.data)

    def _set_mujoco_buffer(self) -> None:
        """Let MuJoCo draw into the buffer in memory."""
        mujoco = mujoco_module()
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self.con)

    def make_context_current(self) -> None:
        """Make the viewer's OpenGL context the current one of this thread.

        Raises:
            gymcore.error.ClosedEnvironmentError: the viewer has been closed.
            RenderingUnavailable: this is a forked child of the process where it was made.
        """
        if not self._release.alive:
            raise error.ClosedEnvironmentError("the viewer has been closed")
        check_process()
        self.opengl_context.make_current()

    def render(
        self,
        render_mode: str | None,
        camera_id: int | None = None,
        segmentation: bool = False,
    ) -> Any:
        """Draw a frame of the current state.

        Args:
            render_mode: What to return, see there.
            camera_id: Camera of the model to see by from now on, -1 for the free one; None keeps
                the last one.
            segmentation: Return which object each pixel shows instead of its colour.

        Returns:
            New arrays that the caller owns. `"rgb_array"`: [height, width, 3] uint8, or with
            `segmentation` [height, width, 2] int32, type (`mujoco.mjtObj`) and number of the
            object, -1 and -1 for none. `"depth_array"`: [height, width] float32, OpenGL's depth
            buffer, from 0 (the near plane) to 1 (the far plane); it is not a distance, which
            `docs/environments/mujoco_rendering.md` has the formula for.
            `"rgbd_tuple"`: both.

        Raises:
            UnexpectedMode: the mode is another one.
            gymcore.error.InvalidArgument: the model has no such camera.
            gymcore.error.ClosedEnvironmentError: the viewer has been closed.
        """
        if render_mode not in OFFSCREEN_MODES:
            raise UnexpectedMode(
                f"Unexpected mode: {render_mode}, expected modes: rgb_array, depth_array, or "
                "rgbd_tuple"
            )
        mujoco = mujoco_module()
        if camera_id is not None:
            look_through(self.cam, self.model, camera_id)
        height, width = self.viewport.height, self.viewport.width
        rgb = depth = None
        if render_mode != "depth_array":
            rgb = np.empty((height, width, 3), dtype=np.uint8)
        if render_mode != "rgb_array":
            depth = np.empty((height, width), dtype=np.float32)
        with current(self.backend, self.make_context_current):
            with warnings_while("drawing"):
                self._draw(segmentation)
            mujoco.mjr_readPixels(rgb, depth, self.viewport, self.con)
        # OpenGL's rows go from the bottom to the top.
        if rgb is not None:
            rgb = self._segments(rgb[::-1]) if segmentation else np.ascontiguousarray(rgb[::-1])
        if depth is not None:
            depth = np.ascontiguousarray(depth[::-1])
        if render_mode == "rgb_array":
            return rgb
        return depth if render_mode == "depth_array" else (rgb, depth)

    def _draw(self, segmentation: bool) -> None:
        """Draw the scene, markers and overlays into the buffer."""
        mujoco = mujoco_module()
        mujoco.mjv_updateScene(
            self.model,
            self.data,
            self.vopt,
            self.pert,
            self.cam,
            int(mujoco.mjtCatBit.mjCAT_ALL),
            self.scn,
        )
        markers, self._markers = self._markers, []
        for marker in markers:
            self._add_marker_to_scene(marker)
        flags = self.scn.flags
        flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = segmentation
        flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = segmentation
        mujoco.mjr_render(self.viewport, self.scn, self.con)
        if segmentation:
            return
        for gridpos, (text1, text2) in self._overlays.items():
            mujoco.mjr_overlay(
                mujoco.mjtFontScale.mjFONTSCALE_150, gridpos, self.viewport, text1, text2, self.con
            )

    def _segments(self, colors: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Return [height, width, 2] int32, type and number of objects, from colours of segments."""
        wide = colors.astype(np.int32)
        segments = wide[..., 0] + (wide[..., 1] << 8) + (wide[..., 2] << 16)
        geoms = self.scn.geoms[: self.scn.ngeom]
        objects = np.full((1 + max(len(geoms), *(g.segid + 1 for g in geoms), 0), 2), -1, np.int32)
        for geom in geoms:
            if geom.segid != -1:
                objects[geom.segid + 1] = geom.objtype, geom.objid
        segments[segments >= len(objects)] = 0
        return objects[segments]

    def free(self) -> None:
        """Free the contexts; a second call does nothing."""
        self._release()

    def close(self) -> None:
        """Free the contexts; a second call does nothing."""
        self.free()


class UnexpectedMode(error.UnsupportedMode, AttributeError):
    """A render mode that the renderer does not have."""
