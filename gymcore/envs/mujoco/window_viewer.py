"""A window that shows a simulation, moved by mouse and keys."""

from __future__ import annotations

import importlib
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from gymcore import error
from gymcore.envs.mujoco.gl_backend import PACKAGES, current, find_display
from gymcore.envs.mujoco.library import mujoco_module, warnings_while
from gymcore.envs.mujoco.offscreen import BaseRender
from gymcore.envs.mujoco.release import release_once
from gymcore.envs.mujoco.scene import apply_visual_options, init_free_camera, look_through

# A window never holds the program up for longer than this, whatever the simulated time says.
LONGEST_WAIT = 0.5

# Seconds between two looks at the keys while the simulation is paused.
PAUSED_FRAME = 1 / 30

SMALLEST = (640, 480)

HELP = {
    "drag left, right, wheel": "turn, move, zoom",
    "Tab": "next camera",
    "Space": "pause, go on",
    "Right": "one frame",
    "C J T W": "contacts, joints, transparent, wireframe",
    "H": "hide this",
    "Esc": "close",
}


class WindowViewer(BaseRender):
    """Shows a simulation in a window of its own, of which there may be several.

    It draws in the thread that calls `render`, and only then; `render` waits so that simulated
    seconds take as long as real ones. A user who closes the window closes it: `render` does nothing
    from then on, and the program goes on.

    Attributes:
        window: GLFW's window.
        con: The `mujoco.MjrContext`.
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        width: int | None = None,
        height: int | None = None,
        max_geom: int = 1000,
        visual_options: dict[int, bool] | None = None,
    ) -> None:
        """Open the window.

        Args:
            model: The `mujoco.MjModel`.
            data: Its `mujoco.MjData`.
            width: Width of the window; None is half of the screen's.
            height: Height of the window; None is half of the screen's.
            max_geom: Most geoms in a frame.
            visual_options: Flags of `mujoco.mjtVisFlag` and whether they are on.

        Raises:
            gymcore.error.Error: no window can be opened here.
        """
        super().__init__(model, data, width or 0, height or 0, max_geom, visual_options)
        mujoco = mujoco_module()
        self.cam = mujoco.MjvCamera()
        self.vopt = mujoco.MjvOption()
        self.pert = mujoco.MjvPerturb()
        apply_visual_options(self.vopt, visual_options)
        init_free_camera(self.cam, model, data)
        self.scn = mujoco.MjvScene(model, max_geom)

        self._glfw, self.window = glfw, window = _open_window(width, height)
        try:
            with current("glfw", lambda: glfw.make_context_current(window)):
                glfw.swap_interval(0)
                self.con = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150)
                self._set_mujoco_buffer()
        except BaseException:
            glfw.destroy_window(window)
            raise
        self._release = release_once(self, _close, glfw, window, self.con)
        self.viewport = mujoco.MjrRect(0, 0, *glfw.get_framebuffer_size(window))
        self._connect()

        self.paused = False
        self.hidden_help = True
        self._one_frame = False
        self._cursor = (0.0, 0.0)
        self._started: tuple[float, float] | None = None

    def _set_mujoco_buffer(self) -> None:
        """Let MuJoCo draw into the window."""
        mujoco = mujoco_module()
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_WINDOW, self.con)

    @property
    def is_open(self) -> bool:
        """Whether neither the program nor the user has closed the window."""
        return bool(self._release.alive)

    def see_by(self, camera_id: int) -> None:
        """See by a camera of the model, or by the free one.

        Args:
            camera_id: Its number, -1 for the free camera.
        """
        look_through(self.cam, self.model, camera_id)

    def render(self) -> None:
        """Show the current state, and wait for as long as it took in simulated time."""
        markers, self._markers = self._markers, []
        self._draw(markers)
        while self.paused and not self._one_frame and self.is_open:
            time.sleep(PAUSED_FRAME)
            self._started = None
            self._draw(markers)
        self._one_frame = False
        if self.is_open:
            self._wait()

    def _draw(self, markers: list[dict[str, Any]]) -> None:
        """Draw a frame and handle what the user did."""
        if not self.is_open:
            return
        mujoco, glfw = mujoco_module(), self._glfw
        width, height = glfw.get_framebuffer_size(self.window)
        self.viewport.width, self.viewport.height = width, height
        with warnings_while("drawing"):
            mujoco.mjv_updateScene(
                self.model,
                self.data,
                self.vopt,
                self.pert,
                self.cam,
                int(mujoco.mjtCatBit.mjCAT_ALL),
                self.scn,
            )
        for marker in markers:
            self._add_marker_to_scene(marker)
        overlays = {place: list(texts) for place, texts in self._overlays.items()}
        self._create_overlay(overlays)
        with current("glfw", self.make_context_current):
            mujoco.mjr_render(self.viewport, self.scn, self.con)
            for place, (one, two) in overlays.items():
                font = mujoco.mjtFontScale.mjFONTSCALE_150
                mujoco.mjr_overlay(font, place, self.viewport, one, two, self.con)
            glfw.swap_buffers(self.window)
        glfw.poll_events()
        if glfw.window_should_close(self.window):
            self.free()

    def _create_overlay(self, overlays: dict[int, list[str]]) -> None:
        """Add the help to the texts that are shown."""
        place = int(mujoco_module().mjtGridPos.mjGRID_BOTTOMLEFT)
        one, two = overlays.get(place, ["", ""])
        if self.paused:
            one, two = one + "Paused\n", two + "\n"
        if not self.hidden_help:
            one, two = one + "\n".join(HELP), two + "\n".join(HELP.values())
        if one or two:
            overlays[place] = [one, two]

    def _wait(self) -> None:
        """Sleep until as many real seconds have gone by as simulated ones."""
        now, simulated = time.monotonic(), float(self.data.time)
        if self._started is not None:
            began, began_simulated = self._started
            ahead = (simulated - began_simulated) - (now - began)
            if simulated >= began_simulated and ahead > -LONGEST_WAIT:
                if ahead > 0:
                    time.sleep(min(ahead, LONGEST_WAIT))
                return
        # The first frame, a reset, or a program that is slower than the simulation: start anew.
        self._started = now, simulated

    # What the user does.

    def _connect(self) -> None:
        """Let GLFW call the methods below; it must not keep the viewer alive."""
        this = weakref.ref(self)

        def bound(name: str) -> Callable[..., None]:
            def call(window: Any, *arguments: Any) -> None:
                viewer = this()
                if viewer is not None:
                    getattr(viewer, name)(window, *arguments)

            return call

        glfw = self._glfw
        glfw.set_key_callback(self.window, bound("_key_callback"))
        glfw.set_cursor_pos_callback(self.window, bound("_cursor_pos_callback"))
        glfw.set_mouse_button_callback(self.window, bound("_mouse_button_callback"))
        glfw.set_scroll_callback(self.window, bound("_scroll_callback"))

    def _key_callback(self, window: Any, key: int, scancode: int, action: int, mods: int) -> None:
        """Do what a key stands for, see `HELP`."""
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
            self._one_frame = self.paused
        elif key == glfw.KEY_H:
            self.hidden_help = not self.hidden_help
        elif key == glfw.KEY_ESCAPE:
            glfw.set_window_should_close(window, True)

    def _mouse_button_callback(self, window: Any, button: int, act: int, mods: int) -> None:
        """Remember where a drag begins."""
        self._cursor = self._glfw.get_cursor_pos(window)

    def _cursor_pos_callback(self, window: Any, xpos: float, ypos: float) -> None:
        """Turn (left button), move (right) or zoom (middle) the camera by a drag."""
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

    def _scroll_callback(self, window: Any, x_offset: float, y_offset: float) -> None:
        """Zoom by the wheel."""
        self._move_camera(mujoco_module().mjtMouse.mjMOUSE_ZOOM, 0.0, 0.05 * y_offset)

    def _move_camera(self, action: int, rel_dx: float, rel_dy: float) -> None:
        """Move the free camera by a part of the window's height."""
        move = mujoco_module().mjv_moveCamera
        try:
            move(self.model, action, rel_dx, rel_dy, self.scn, self.cam)
        except TypeError:  # MuJoCo 4 does without the scene
            move(self.model, action, rel_dx, rel_dy, self.cam)

    def make_context_current(self) -> None:
        """Make the window's OpenGL context the current one of this thread.

        Raises:
            gymcore.error.ClosedEnvironmentError: the window has been closed.
        """
        if not self.is_open:
            raise error.ClosedEnvironmentError("the window has been closed")
        self._glfw.make_context_current(self.window)

    def free(self) -> None:
        """Close the window; a second call does nothing."""
        self._release()

    def close(self) -> None:
        """Close the window; a second call does nothing."""
        self.free()


def _open_window(width: int | None, height: int | None) -> tuple[Any, Any]:
    """Return the module glfw and a new window."""
    mujoco_module()
    problem = find_display()
    if sys.platform == "darwin" and threading.current_thread() is not threading.main_thread():
        problem = "macOS lets only the main thread do that"
    if problem is not None:
        raise error.Error(
            f'render_mode "human" opens a window, and {problem}. It needs: {PACKAGES["glfw"]}'
        )
    glfw = importlib.import_module("glfw")
    if width is None or height is None:
        monitor = glfw.get_primary_monitor()
        screen = tuple(glfw.get_video_mode(monitor).size) if monitor else (0, 0)
        wide, high = (max(half // 2, least) for half, least in zip(screen, SMALLEST, strict=True))
        width, height = width or wide, height or high
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        window = None
        for samples in (4, 0):
            # MuJoCo's offscreen contexts leave a hint that windows be invisible.
            glfw.default_window_hints()
            glfw.window_hint(glfw.SAMPLES, samples)
            window = window or glfw.create_window(width, height, "MuJoCo", None, None)
        glfw.default_window_hints()
    if not window:
        reasons = "; ".join(str(one.message) for one in caught) or "GLFW gives no reason"
        raise error.Error(f'render_mode "human" cannot open a window: {reasons}')
    return glfw, window


def _close(glfw: Any, window: Any, rendering: Any) -> None:
    """Free MuJoCo's context, which is in the window's, and destroy the window."""
    with current("glfw", lambda: glfw.make_context_current(window)):
        rendering.free()
    glfw.destroy_window(window)
    glfw.poll_events()
