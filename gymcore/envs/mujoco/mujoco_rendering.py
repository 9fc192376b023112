"""Frames and windows of a MuJoCo simulation.

`docs/environments/mujoco_rendering.md` says why this module does not use `mujoco.Renderer` and
`mujoco.viewer`.
"""

from __future__ import annotations

import importlib
import operator
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from copy import copy
from types import ModuleType
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gymcore import error, logger
from gymcore.base import process_wide
from gymcore.base.arguments import positive
from gymcore.envs.mujoco.gl_backend import (
    PACKAGES,
    check_process,
    current,
    find_display,
    free_contexts,
    open_context,
    release_once,
)
from gymcore.envs.mujoco.library import mujoco_module, warnings_while

if TYPE_CHECKING:
    import mujoco

__all__ = [
    "BaseRender",
    "MujocoRenderer",
    "OffScreenViewer",
    "UnexpectedMode",
    "WindowViewer",
]

# Attributes of a `mujoco.MjvGeom`, by name.
Marker: TypeAlias = Mapping[str, Any]

OFFSCREEN_MODES = ("rgb_array", "depth_array", "rgbd_tuple")

# Maximum delay of the program in one frame of a window, in seconds.
MAX_WAIT = 0.5

# Seconds between two frames while the simulation is paused.
PAUSED_FRAME = 1 / 30

# Minimum size of a window without a given width and height.
MIN_SIZE = (640, 480)

HELP = {
    "drag left, right, wheel": "turn, move, zoom",
    "Tab": "next camera",
    "Space": "pause, go on",
    "Right": "one frame",
    "C J T W": "contacts, joints, transparent, wireframe",
    "H": "hide this",
    "Esc": "close",
}


class UnexpectedMode(error.UnsupportedMode, AttributeError):
    """A render mode that the renderer does not have."""


class UnknownVisualOption(error.InvalidArgument, IndexError):
    """A flag that `mujoco.mjtVisFlag` does not have."""


class UnknownAttribute(error.InvalidArgument, AttributeError):
    """A name that is not an attribute of the MuJoCo object."""


class SceneFull(error.Error, RuntimeError):
    """A marker for which the scene has no free geom."""


class BaseRender:
    """The base of both viewers: a model, its data, a scene, markers and overlays.

    Attributes:
        model: The `mujoco.MjModel`.
        data: The `mujoco.MjData` that is shown.
        cam: The `mujoco.MjvCamera`.
        vopt: The `mujoco.MjvOption`, which says what is shown.
        pert: The `mujoco.MjvPerturb`.
        scn: The `mujoco.MjvScene` that markers are added to.
        viewport: The `mujoco.MjrRect` of a frame.
        con: The `mujoco.MjrContext`, which the subclass makes.
    """

    con: mujoco.MjrContext
    _release: weakref.finalize[..., object] | None = None

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        width: int,
        height: int,
        max_geom: int = 1000,
        visual_options: dict[int, bool] | None = None,
    ) -> None:
        """Make the scene; the arguments are those of `MujocoRenderer`."""
        mujoco = mujoco_module()
        self.model = model
        self.data = data
        self.cam = mujoco.MjvCamera()
        self.vopt = mujoco.MjvOption()
        self.pert = mujoco.MjvPerturb()
        self.scn = mujoco.MjvScene(model, max_geom)
        self.viewport = mujoco.MjrRect(0, 0, width, height)
        self._markers: list[Marker] = []
        self._overlays: dict[int, list[str]] = {}
        self._heights = np.array(model.hfield_data)  # those that the context has
        _apply_visual_options(self.vopt, visual_options)
        self._init_camera()

    def _init_camera(self) -> None:
        """Point the free camera at the center of the geoms, at a distance that fits the model."""
        self.cam.type = mujoco_module().mjtCamera.mjCAMERA_FREE
        self.cam.fixedcamid = -1
        center = self.model.stat.center
        if self.model.ngeom:
            center = np.median(self.data.geom_xpos, axis=0)
        self.cam.lookat[:] = center
        self.cam.distance = self.model.stat.extent

    def _set_mujoco_buffer(self) -> None:
        """Make MuJoCo draw into the viewer's buffer."""
        raise NotImplementedError(f"{type(self).__name__} has no buffer")

    def make_context_current(self) -> None:
        """Make the viewer's OpenGL context the current one."""
        raise NotImplementedError(f"{type(self).__name__} has no OpenGL context")

    def add_marker(self, **marker_params: object) -> None:
        """Show a geom in the next frame only; by default a white sphere of 1 cm at the origin.

        Args:
            **marker_params: `pos` [3], `size` [3], `mat` [3, 3] or [9], `rgba` [4], `type` (a
                `mujoco.mjtGeom`), `label` (text), or another attribute of `mujoco.MjvGeom`.

        Raises:
            gymcore.error.InvalidArgument: If a value does not fit its attribute.
        """
        geom = mujoco_module().MjvGeom()
        for name in marker_params:
            if name.startswith("_") or not hasattr(geom, name):
                logger.warn(f"add_marker: a geom has no attribute {name!r}, which is ignored")
        _set_geom(geom, marker_params)
        self._markers.append(marker_params)

    def add_overlay(self, gridpos: int, text1: str, text2: str) -> None:
        """Add a line of two columns to a corner (`mujoco.mjtGridPos`) of all later frames."""
        lines = self._overlays.setdefault(int(gridpos), ["", ""])
        lines[0] += f"{text1}\n"
        lines[1] += f"{text2}\n"

    def _add_marker_to_scene(self, marker: Marker) -> None:
        """Add one marker to the scene of the current frame."""
        if self.scn.ngeom >= self.scn.maxgeom:
            raise SceneFull(
                f"Ran out of geoms. maxgeom: {self.scn.maxgeom} (max_geom), there is no place for "
                f"the marker {marker}"
            )
        _set_geom(self.scn.geoms[self.scn.ngeom], marker)
        self.scn.ngeom += 1

    def _update_scene(self, markers: list[Marker]) -> None:
        """Update the scene with the current state of the simulation, and add markers.

        The viewer's context is the current one.
        """
        mujoco = mujoco_module()
        if not np.array_equal(self._heights, self.model.hfield_data):
            for field in range(self.model.nhfield):
                mujoco.mjr_uploadHField(self.model, self.con, field)
            self._heights = np.array(self.model.hfield_data)
        everything = int(mujoco.mjtCatBit.mjCAT_ALL)
        with warnings_while("drawing"):
            mujoco.mjv_updateScene(
                self.model, self.data, self.vopt, self.pert, self.cam, everything, self.scn
            )
        for marker in markers:
            self._add_marker_to_scene(marker)

    def _draw_overlays(self, overlays: dict[int, list[str]]) -> None:
        """Draw texts over the frame; the keys are their corners."""
        mujoco = mujoco_module()
        font = mujoco.mjtFontScale.mjFONTSCALE_150
        for gridpos, (left, right) in overlays.items():
            mujoco.mjr_overlay(font, gridpos, self.viewport, left, right, self.con)

    @property
    def is_open(self) -> bool:
        """Whether neither the program nor the user has closed the viewer."""
        return self._release is not None and self._release.alive

    def close(self) -> None:
        """Free the viewer's resources; a second call does nothing."""
        if self._release is None:
            raise NotImplementedError(f"{type(self).__name__} holds nothing to free")
        self._release()

    free = close


class OffScreenViewer(BaseRender):
    """Draws frames of a simulation into memory, with an OpenGL context of its own.

    All frames must be drawn by one thread, to which the OpenGL context belongs.

    Attributes:
        backend: `"egl"`, `"osmesa"`, `"glfw"` or `"cgl"`.
        opengl_context: The OpenGL context.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        width: int,
        height: int,
        max_geom: int = 1000,
        visual_options: dict[int, bool] | None = None,
    ) -> None:
        """Make the context and the scene; see `BaseRender`.

        Raises:
            RenderingUnavailable: If no OpenGL backend works here.
        """
        if width < 1 or height < 1:
            raise error.InvalidArgument(
                f"width, height: expected at least 1 x 1 pixels, got {width} x {height}"
            )
        super().__init__(model, data, width, height, max_geom, visual_options)
        self.backend, self.opengl_context, self.con = open_context(model, width, height)
        self._release = release_once(
            self, free_contexts, self.backend, self.opengl_context, self.con
        )
        with current(self.backend, self.make_context_current):
            self._set_mujoco_buffer()
            if self.con.offWidth < width or self.con.offHeight < height:
                mujoco_module().mjr_resizeOffscreen(
                    max(width, self.con.offWidth), max(height, self.con.offHeight), self.con
                )

    def _set_mujoco_buffer(self) -> None:
        """Make MuJoCo draw into the offscreen buffer."""
        mujoco = mujoco_module()
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self.con)

    def make_context_current(self) -> None:
        """Make the viewer's OpenGL context the current one of this thread.

        Raises:
            gymcore.error.ClosedEnvironmentError: If the viewer has been closed.
            RenderingUnavailable: If this process was forked from the one that made the viewer.
        """
        if not self.is_open:
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
            render_mode: What to return, see below.
            camera_id: Index of the camera for this and later frames, -1 for the free camera; None
                keeps the last one.
            segmentation: Whether to return the object that each pixel shows instead of its color.

        Returns:
            New arrays. `"rgb_array"`: uint8 [height, width, 3], or with `segmentation` int32
            [height, width, 2]: type (`mujoco.mjtObj`) and index of the object, -1 and -1 for none.
            `"depth_array"`: float32 [height, width], OpenGL's depth buffer from 0 (near plane) to 1
            (far plane); `docs/environments/mujoco_rendering.md` has the formula for distances.
            `"rgbd_tuple"`: both.

        Raises:
            UnexpectedMode: If the mode is unknown.
            gymcore.error.InvalidArgument: If the model has no such camera.
            gymcore.error.ClosedEnvironmentError: If the viewer has been closed.
        """
        if render_mode not in OFFSCREEN_MODES:
            raise _unexpected(render_mode, OFFSCREEN_MODES)
        mujoco = mujoco_module()
        if camera_id is not None:
            _set_camera(self.cam, self.model, camera_id)
        height, width = self.viewport.height, self.viewport.width
        rgb = depth = None
        if render_mode != "depth_array":
            rgb = np.empty((height, width, 3), dtype=np.uint8)
        if render_mode != "rgb_array":
            depth = np.empty((height, width), dtype=np.float32)
        with current(self.backend, self.make_context_current):
            markers, self._markers = self._markers, []
            self._update_scene(markers)
            self.scn.flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = segmentation
            self.scn.flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = segmentation
            mujoco.mjr_render(self.viewport, self.scn, self.con)
            if not segmentation:
                self._draw_overlays(self._overlays)
            mujoco.mjr_readPixels(rgb, depth, self.viewport, self.con)
        # OpenGL's rows go from the bottom to the top.
        if rgb is not None:
            rgb = self._segments(rgb[::-1]) if segmentation else np.ascontiguousarray(rgb[::-1])
        if depth is not None:
            depth = np.ascontiguousarray(depth[::-1])
        if render_mode == "rgb_array":
            return rgb
        return depth if render_mode == "depth_array" else (rgb, depth)

    def _segments(self, colors: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Return types and indices of objects, int32 [height, width, 2], from segment colors."""
        wide = colors.astype(np.int32)
        segments = wide[..., 0] + (wide[..., 1] << 8) + (wide[..., 2] << 16)
        geoms = self.scn.geoms[: self.scn.ngeom]
        objects = np.full((1 + max(len(geoms), *(g.segid + 1 for g in geoms), 0), 2), -1, np.int32)
        for geom in geoms:
            if geom.segid != -1:
                objects[geom.segid + 1] = geom.objtype, geom.objid
        segments[segments >= len(objects)] = 0
        pairs: NDArray[np.int32] = objects[segments]
        return pairs


class WindowViewer(BaseRender):
    """Shows a simulation in a window of its own, controlled by mouse and keys.

    `render` draws a frame in the calling thread, and waits so that simulated time passes as fast as
    real time. After the user has closed the window, `render` does nothing, and the program
    continues.

    Attributes:
        window: GLFW's window.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        width: int | None = None,
        height: int | None = None,
        max_geom: int = 1000,
        visual_options: dict[int, bool] | None = None,
    ) -> None:
        """Open the window; see `BaseRender`. Without a size, it has half the size of the screen.

        Raises:
            gymcore.error.Error: If no window can be opened here.
        """
        super().__init__(model, data, width or 0, height or 0, max_geom, visual_options)
        mujoco = mujoco_module()
        self._glfw, self.window = glfw, window = _open_window(width, height)
        try:
            with current("glfw", lambda: glfw.make_context_current(window)):
                glfw.swap_interval(0)
                self.con = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150)
                self._set_mujoco_buffer()
        except BaseException:
            glfw.destroy_window(window)
            raise
        self._release = release_once(self, _close_window, glfw, window, self.con)
        self.viewport = mujoco.MjrRect(0, 0, *glfw.get_framebuffer_size(window))
        self._connect()

        self.paused = False
        self.hidden_help = True
        self._single_frame = False
        self._cursor = (0.0, 0.0)
        self._clock_start: tuple[float, float] | None = None

    def _set_mujoco_buffer(self) -> None:
        """Make MuJoCo draw into the window."""
        mujoco = mujoco_module()
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_WINDOW, self.con)

    def make_context_current(self) -> None:
        """Make the window's OpenGL context the current one of this thread.

        Raises:
            gymcore.error.ClosedEnvironmentError: If the window has been closed.
        """
        if not self.is_open:
            raise error.ClosedEnvironmentError("the window has been closed")
        self._glfw.make_context_current(self.window)

    def see_by(self, camera_id: int) -> None:
        """Use the camera of the model with this index; -1 is the free camera."""
        _set_camera(self.cam, self.model, camera_id)

    def render(self) -> None:
        """Show the current state, and wait until real time has caught up with simulated time."""
        markers, self._markers = self._markers, []
        self._draw(markers)
        while self.paused and not self._single_frame and self.is_open:
            time.sleep(PAUSED_FRAME)
            self._clock_start = None
            self._draw(markers)
        self._single_frame = False
        if self.is_open:
            self._wait()

    def _draw(self, markers: list[Marker]) -> None:
        """Draw a frame and handle the user's input."""
        if not self.is_open:
            return
        glfw = self._glfw
        width, height = glfw.get_framebuffer_size(self.window)
        self.viewport.width, self.viewport.height = width, height
        self._update_scene(markers)
        overlays = {gridpos: list(texts) for gridpos, texts in self._overlays.items()}
        self._create_overlay(overlays)
        with current("glfw", self.make_context_current):
            mujoco_module().mjr_render(self.viewport, self.scn, self.con)
            self._draw_overlays(overlays)
            glfw.swap_buffers(self.window)
        glfw.poll_events()
        if glfw.window_should_close(self.window):
            self.free()

    def _create_overlay(self, overlays: dict[int, list[str]]) -> None:
        """Add "Paused" and the help to the texts."""
        gridpos = int(mujoco_module().mjtGridPos.mjGRID_BOTTOMLEFT)
        left, right = overlays.get(gridpos, ["", ""])
        if self.paused:
            left, right = left + "Paused\n", right + "\n"
        if not self.hidden_help:
            left, right = left + "\n".join(HELP), right + "\n".join(HELP.values())
        if left or right:
            overlays[gridpos] = [left, right]

    def _wait(self) -> None:
        """Sleep until as many real seconds have passed as simulated ones."""
        now, simulated = time.monotonic(), float(self.data.time)
        if self._clock_start is not None:
            start, simulated_start = self._clock_start
            ahead = (simulated - simulated_start) - (now - start)
            if simulated >= simulated_start and ahead > -MAX_WAIT:
                if ahead > 0:
                    time.sleep(min(ahead, MAX_WAIT))
                return
        # The first frame, a reset, or a program slower than real time: restart the clock.
        self._clock_start = now, simulated

    # The user's input.

    def _connect(self) -> None:
        """Register the methods below with GLFW, without keeping the viewer alive."""
        reference = weakref.ref(self)

        def bound(name: str) -> Callable[..., None]:
            def call(window: object, *arguments: object) -> None:
                viewer = reference()
                if viewer is not None:
                    getattr(viewer, name)(window, *arguments)

            return call

        glfw = self._glfw
        glfw.set_key_callback(self.window, bound("_key_callback"))
        glfw.set_cursor_pos_callback(self.window, bound("_cursor_pos_callback"))
        glfw.set_mouse_button_callback(self.window, bound("_mouse_button_callback"))
        glfw.set_scroll_callback(self.window, bound("_scroll_callback"))

    def _key_callback(
        self, window: object, key: int, scancode: int, action: int, mods: int
    ) -> None:
        """Handle a pressed key, see `HELP`."""
        glfw, flags = self._glfw, mujoco_module().mjtVisFlag
        if action != glfw.PRESS:
            return
        shown = {
            glfw.KEY_C: flags.mjVIS_CONTACTPOINT,
            glfw.KEY_J: flags.mjVIS_JOINT,
            glfw.KEY_T: flags.mjVIS_TRANSPARENT,
        }
        if key in shown:
            number = int(shown[key])
            self.vopt.flags[number] = not self.vopt.flags[number]
        elif key == glfw.KEY_W:
            number = int(mujoco_module().mjtRndFlag.mjRND_WIREFRAME)
            self.scn.flags[number] = not self.scn.flags[number]
        elif key == glfw.KEY_TAB:
            fixed = self.cam.type == mujoco_module().mjtCamera.mjCAMERA_FIXED
            following = self.cam.fixedcamid + 1 if fixed else 0
            self.see_by(following if following < self.model.ncam else -1)
        elif key == glfw.KEY_SPACE:
            self.paused = not self.paused
        elif key == glfw.KEY_RIGHT:
            self._single_frame = self.paused
        elif key == glfw.KEY_H:
            self.hidden_help = not self.hidden_help
        elif key == glfw.KEY_ESCAPE:
            glfw.set_window_should_close(window, True)

    def _mouse_button_callback(self, window: object, button: int, act: int, mods: int) -> None:
        """Remember where a drag of the mouse begins."""
        self._cursor = self._glfw.get_cursor_pos(window)

    def _cursor_pos_callback(self, window: object, xpos: float, ypos: float) -> None:
        """Turn (left button), move (right) or zoom (middle) the camera by dragging the mouse."""
        glfw, motions = self._glfw, mujoco_module().mjtMouse
        shift = glfw.PRESS in (
            glfw.get_key(window, glfw.KEY_LEFT_SHIFT),
            glfw.get_key(window, glfw.KEY_RIGHT_SHIFT),
        )
        if glfw.get_mouse_button(window, glfw.MOUSE_BUTTON_RIGHT) == glfw.PRESS:
            motion = motions.mjMOUSE_MOVE_H if shift else motions.mjMOUSE_MOVE_V
        elif glfw.get_mouse_button(window, glfw.MOUSE_BUTTON_LEFT) == glfw.PRESS:
            motion = motions.mjMOUSE_ROTATE_H if shift else motions.mjMOUSE_ROTATE_V
        elif glfw.get_mouse_button(window, glfw.MOUSE_BUTTON_MIDDLE) == glfw.PRESS:
            motion = motions.mjMOUSE_ZOOM
        else:
            return
        height = max(glfw.get_window_size(window)[1], 1)
        before_x, before_y = self._cursor
        self._move_camera(motion, (xpos - before_x) / height, (ypos - before_y) / height)
        self._cursor = xpos, ypos

    def _scroll_callback(self, window: object, x_offset: float, y_offset: float) -> None:
        """Zoom with the wheel."""
        self._move_camera(mujoco_module().mjtMouse.mjMOUSE_ZOOM, 0.0, 0.05 * y_offset)

    def _move_camera(self, action: int, rel_dx: float, rel_dy: float) -> None:
        """Move the camera by fractions of the window's height."""
        move = mujoco_module().mjv_moveCamera
        try:
            move(self.model, action, rel_dx, rel_dy, self.scn, self.cam)
        except TypeError:  # MuJoCo 4 takes no scene
            move(self.model, action, rel_dx, rel_dy, self.cam)


def _open_window(width: int | None, height: int | None) -> tuple[ModuleType, object]:
    """Return the module glfw and a new window."""
    problem = find_display()
    if sys.platform == "darwin" and threading.current_thread() is not threading.main_thread():
        problem = "on macOS only the main thread can do that"
    if problem is not None:
        raise error.Error(
            f'render_mode "human" opens a window, and {problem}. It needs: {PACKAGES["glfw"]}'
        )
    glfw = importlib.import_module("glfw")
    if width is None or height is None:
        monitor = glfw.get_primary_monitor()
        screen = tuple(glfw.get_video_mode(monitor).size) if monitor else (0, 0)
        wide, high = (max(size // 2, low) for size, low in zip(screen, MIN_SIZE, strict=True))
        width, height = width or wide, height or high
    with process_wide.caught_warnings("always") as caught:
        window = None
        for samples in (4, 0):
            # MuJoCo's offscreen contexts leave the hint that windows are invisible.
            glfw.default_window_hints()
            glfw.window_hint(glfw.SAMPLES, samples)
            window = window or glfw.create_window(width, height, "MuJoCo", None, None)
        glfw.default_window_hints()
    if not window:
        reasons = "; ".join(str(warning.message) for warning in caught) or "GLFW gives no reason"
        raise error.Error(f'render_mode "human" cannot open a window: {reasons}')
    return glfw, window


def _close_window(glfw: ModuleType, window: object, context: mujoco.MjrContext) -> None:
    """Free MuJoCo's context, which belongs to the window, and destroy the window."""
    with current("glfw", lambda: glfw.make_context_current(window)):
        context.free()
    glfw.destroy_window(window)
    glfw.poll_events()


class MujocoRenderer:
    """Draws a simulation into memory or in a window; the first frame opens it.

    It can be pickled and copied: the copy has the settings, model and data, and its own viewers.

    Attributes:
        camera_id: Index of the camera, -1 for the free camera.
        viewer: The viewer of the last frame, an `OffScreenViewer` or a `WindowViewer`, or None.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        default_cam_config: Mapping[str, object] | None = None,
        width: int | None = None,
        height: int | None = None,
        max_geom: int = 1000,
        camera_id: int | None = None,
        camera_name: str | None = None,
        visual_options: dict[int, bool] | None = None,
    ) -> None:
        """Store the settings; the first frame makes a viewer.

        Args:
            model: The `mujoco.MjModel`.
            data: Its `mujoco.MjData`.
            default_cam_config: Attributes of `mujoco.MjvCamera` and their values, for the free
                camera: `distance`, `azimuth`, `elevation`, `lookat`. With `type` set to
                `mujoco.mjtCamera.mjCAMERA_TRACKING` and a `trackbodyid`, it follows that body.
            width: Width of a frame in pixels; optional for a window.
            height: Height of a frame in pixels; optional for a window.
            max_geom: Maximum number of geoms in a frame.
            camera_id: Index of a camera of the model; -1 is the free camera, the default.
            camera_name: Name of a camera of the model, instead of `camera_id`.
            visual_options: Values of flags of `mujoco.mjtVisFlag`.

        Raises:
            gymcore.error.InvalidArgument: If both `camera_id` and `camera_name` are given, or there
                is no such camera, attribute or flag.
        """
        mujoco = mujoco_module()
        if camera_id is not None and camera_name is not None:
            raise error.InvalidArgument(
                "Both `camera_id` and `camera_name` cannot be specified at the same time."
            )
        _apply_camera_config(mujoco.MjvCamera(), default_cam_config)
        _apply_visual_options(mujoco.MjvOption(), visual_options)
        if camera_id is not None:
            _check_camera_id(model, camera_id)
        # Gymnasium replaces a `type` with that of the free camera.
        has_type = default_cam_config is not None and "type" in default_cam_config
        self._keep_type = camera_id is None and camera_name is None and has_type
        if camera_name is not None:
            camera_id = _find_camera(model, camera_name)

        self.model = model
        self.data = data
        self.default_cam_config = default_cam_config
        self.width = width
        self.height = height
        self.max_geom = positive("max_geom", max_geom, 2**31 - 1)
        self.camera_id = -1 if camera_id is None else camera_id
        self.viewer: OffScreenViewer | WindowViewer | None = None
        # The camera view of the environment from which this one was copied.
        self._copied_camera: dict[str, object] | None = None
        # The camera view of each lane of a batch that has been drawn.
        self._lane_cameras: dict[int, dict[str, object]] = {}
        self._vopt = {} if visual_options is None else visual_options
        self._offscreen: OffScreenViewer | None = None
        self._window: WindowViewer | None = None

    def render(self, render_mode: str | None) -> Any:
        """Draw the current state.

        Args:
            render_mode: `"rgb_array"`, `"depth_array"` or `"rgbd_tuple"`, see
                `OffScreenViewer.render`; or `"human"`, see `WindowViewer.render`.

        Returns:
            New arrays, or None for `"human"`.

        Raises:
            UnexpectedMode: If the mode is unknown; this is also an `AttributeError`.
            gymcore.error.FailedCheck: If `width` or `height` is None, and the mode is not "human".
            RenderingUnavailable: If no OpenGL backend works; the message says what to install.
        """
        if render_mode != "human" and (self.width is None or self.height is None):
            raise error.FailedCheck(
                f"The width: {self.width} and height: {self.height} cannot be `None` when the "
                "render_mode is not `human`."
            )
        viewer = self._get_viewer(render_mode)
        # A batch draws its lanes with one renderer, one after another.
        viewer.model, viewer.data = self.model, self.data
        if isinstance(viewer, WindowViewer):
            viewer.render()
            return None
        return viewer.render(render_mode, None if self._keep_type else self.camera_id)

    def render_lane(
        self, lane: int, model: mujoco.MjModel, data: mujoco.MjData, render_mode: str
    ) -> object:
        """Draw a lane of a batch, whose free camera stays where its first frame has placed it."""
        self.model, self.data = model, data
        viewer = self._get_viewer(render_mode)
        if (place := self._lane_cameras.get(lane)) is not None:
            _apply_camera_config(viewer.cam, place)
        else:
            viewer.data = data
            viewer._init_camera()
            self._set_cam_config()
        frame = self.render(render_mode)
        self._lane_cameras[lane] = _camera_view(viewer.cam)
        return frame

    def _get_viewer(self, render_mode: str | None) -> OffScreenViewer | WindowViewer:
        """Return the viewer for a mode, and set `viewer`; the first call makes it."""
        size = self.width, self.height
        if render_mode == "human":
            if self._window is None:
                self._window = WindowViewer(self.model, self.data, *size, self.max_geom, self._vopt)
                self._place_camera(self._window)
            self.viewer = self._window
            return self._window
        if render_mode not in OFFSCREEN_MODES or self.width is None or self.height is None:
            raise _unexpected(render_mode, ("human", *OFFSCREEN_MODES))
        if self._offscreen is None:
            self._offscreen = OffScreenViewer(
                self.model, self.data, self.width, self.height, self.max_geom, self._vopt
            )
            self._place_camera(self._offscreen)
        self.viewer = self._offscreen
        return self._offscreen

    def _place_camera(self, viewer: OffScreenViewer | WindowViewer) -> None:
        """Apply the settings to a new viewer's camera."""
        self.viewer = viewer
        self._set_cam_config()
        if isinstance(viewer, WindowViewer) and not self._keep_type:
            viewer.see_by(self.camera_id)
        _apply_camera_config(viewer.cam, self._copied_camera)

    def _set_cam_config(self) -> None:
        """Apply `default_cam_config` to the current viewer's camera."""
        if self.viewer is not None:
            _apply_camera_config(self.viewer.cam, self.default_cam_config)

    def close(self) -> None:
        """Close the window and free the contexts; the next frame makes new ones."""
        for viewer in (self._offscreen, self._window):
            if viewer is not None:
                viewer.close()
        self._offscreen = self._window = self.viewer = self._copied_camera = None
        self._lane_cameras.clear()

    def __getstate__(self) -> dict[str, object]:
        """Return the settings without the viewers, which belong to this process."""
        state = {**self.__dict__, "viewer": None, "_offscreen": None, "_window": None}
        if self.viewer is not None:
            state["_copied_camera"] = _camera_view(self.viewer.cam)
        return state


def _unexpected(render_mode: str | None, modes: tuple[str, ...]) -> UnexpectedMode:
    """Return the error for a mode that is not one of these."""
    expected = f"{', '.join(modes[:-1])}, or {modes[-1]}"
    message = f"Unexpected mode: {render_mode}, expected modes: {expected}"
    if render_mode is None:
        message += ' (pass one, as in `gym.make(..., render_mode="rgb_array")`)'
    return UnexpectedMode(message)


def _camera_view(camera: mujoco.MjvCamera) -> dict[str, object]:
    """Return the values of the attributes that say what a camera shows."""
    return {name: copy(getattr(camera, name)) for name in _PLACE}


_FREE_PLACE = ("lookat", "distance", "azimuth", "elevation")
_PLACE = ("type", "fixedcamid", "trackbodyid", *_FREE_PLACE)


def default_free_camera(model: mujoco.MjModel) -> dict[str, object]:
    """Return MuJoCo's own place of the free camera, which depends on the model alone."""
    camera = mujoco_module().MjvCamera()
    mujoco_module().mjv_defaultFreeCamera(model, camera)
    return {name: copy(getattr(camera, name)) for name in _FREE_PLACE}


# Settings of cameras, scenes and markers, checked.


def _apply_camera_config(camera: mujoco.MjvCamera, config: Mapping[str, object] | None) -> None:
    """Set attributes of a `mujoco.MjvCamera`."""
    for name, value in (config or {}).items():
        if not isinstance(name, str) or name.startswith("_") or not hasattr(camera, name):
            names = ", ".join(name for name in dir(camera) if not name.startswith("_"))
            raise UnknownAttribute(
                f"default_cam_config: a camera has no attribute {name!r}, it has {names}"
            )
        before = getattr(camera, name)
        try:
            if isinstance(before, np.ndarray):
                before[:] = value
            else:
                setattr(camera, name, value)
        except (TypeError, ValueError) as problem:
            raise error.InvalidArgument(
                f"default_cam_config[{name!r}]: expected a value like {before!r}, got {value!r}"
            ) from problem


def _apply_visual_options(options: mujoco.MjvOption, flags: dict[int, bool] | None) -> None:
    """Set flags of a `mujoco.MjvOption`."""
    for flag, value in (flags or {}).items():
        count = len(options.flags)
        try:
            number = operator.index(int(flag) if hasattr(flag, "__int__") else flag)
        except TypeError:
            number = -1
        if not 0 <= number < count:
            raise UnknownVisualOption(
                f"visual_options: expected flags of mujoco.mjtVisFlag, from 0 to {count - 1}, got "
                f"{flag!r}"
            )
        options.flags[number] = bool(value)


def _check_camera_id(model: mujoco.MjModel, camera_id: SupportsIndex) -> None:
    """Raise if the model has no such camera, with which MuJoCo would end the process."""
    try:
        number = operator.index(camera_id)
    except TypeError:
        raise error.ArgumentTypeError(
            f"camera_id: expected an integer, got {camera_id!r} ({type(camera_id).__name__})"
        ) from None
    if not -1 <= number < model.ncam:
        raise error.InvalidArgument(
            "camera_id: expected -1 (the free camera) or a camera of the model "
            f"({_cameras(model)}), got {number}"
        )


def _set_camera(camera: mujoco.MjvCamera, model: mujoco.MjModel, camera_id: int) -> None:
    """Set a `mujoco.MjvCamera` to a camera of the model, or to the free camera if it is -1."""
    _check_camera_id(model, camera_id)
    types = mujoco_module().mjtCamera
    camera.type = types.mjCAMERA_FREE if camera_id == -1 else types.mjCAMERA_FIXED
    camera.fixedcamid = camera_id


def _find_camera(model: mujoco.MjModel, name: str) -> int:
    """Return the index of a camera, given its name; as in Gymnasium, -1 if there is none."""
    if not isinstance(name, str):
        raise error.ArgumentTypeError(
            f"camera_name: expected a string, got {name!r} ({type(name).__name__})"
        )
    mujoco = mujoco_module()
    number: int = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, name)
    if number == -1:
        logger.warn(
            f"camera_name: the model has no camera {name!r} ({_cameras(model)}); the free camera "
            "is used instead"
        )
    return number


def _cameras(model: mujoco.MjModel) -> str:
    """Return indices and names of the model's cameras, as text."""
    names = (f"{number} {model.camera(number).name!r}" for number in range(model.ncam))
    return "it has " + (", ".join(names) or "none")


# The attributes of a geom that mjv_initGeom sets, with their defaults.
_GEOM_DEFAULTS: dict[str, np.ndarray] = {
    "size": np.full(3, 0.01),
    "pos": np.zeros(3),
    "mat": np.eye(3).ravel(),
    "rgba": np.ones(4, dtype=np.float32),
}


def _set_geom(geom: mujoco.MjvGeom, marker: Marker) -> None:
    """Set the attributes of a geom; the default is a white sphere of 1 cm."""
    mujoco = mujoco_module()
    values = dict(_GEOM_DEFAULTS)
    for name in values.keys() & marker.keys():
        try:
            numbers = np.asarray(marker[name], dtype=values[name].dtype).ravel()
        except (TypeError, ValueError):
            numbers = np.empty(0)
        if len(numbers) != len(values[name]):
            raise error.InvalidArgument(
                f"{name}: expected {len(values[name])} numbers, got {marker[name]!r}"
            )
        values[name] = numbers
    kind = marker.get("type", mujoco.mjtGeom.mjGEOM_SPHERE)
    try:
        mujoco.mjv_initGeom(geom, type=int(kind), **values)
    except (TypeError, ValueError) as problem:
        raise error.InvalidArgument(
            f"type: expected a shape of mujoco.mjtGeom, got {kind!r}"
        ) from problem
    # mjv_initGeom does not set these, and MuJoCo does not clear their memory.
    geom.category = int(mujoco.mjtCatBit.mjCAT_DECOR)
    geom.objtype = int(mujoco.mjtObj.mjOBJ_UNKNOWN)
    geom.objid = geom.segid = -1
    geom.camdist = 0.0
    for name, value in marker.items():
        is_set = name in values or name == "type"
        if is_set or name.startswith("_") or not hasattr(geom, name):
            continue
        try:
            setattr(geom, name, str(value) if name == "label" else value)
        except (TypeError, ValueError) as problem:
            raise error.InvalidArgument(
                f"{name}: expected a value like {getattr(geom, name)!r}, got {value!r}"
            ) from problem
