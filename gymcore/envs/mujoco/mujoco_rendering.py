"""Frames and windows of a MuJoCo simulation."""

from __future__ import annotations

from typing import Any

from gymcore import error
from gymcore.envs.mujoco.library import mujoco_module
from gymcore.envs.mujoco.offscreen import (
    OFFSCREEN_MODES,
    BaseRender,
    OffScreenViewer,
    UnexpectedMode,
)
from gymcore.envs.mujoco.scene import (
    apply_camera_config,
    apply_visual_options,
    check_camera_id,
    find_camera,
)
from gymcore.envs.mujoco.window_viewer import WindowViewer

__all__ = [
    "BaseRender",
    "MujocoRenderer",
    "OffScreenViewer",
    "UnexpectedMode",
    "WindowViewer",
]


class MujocoRenderer:
    """Draws a simulation, in memory or in a window; what it needs comes with the first frame.

    It can be pickled and copied: the copy has settings, model and data, and opens its own contexts.

    Attributes:
        model: The `mujoco.MjModel`.
        data: The `mujoco.MjData` that is shown.
        default_cam_config: Attributes of the free camera, read when a viewer is made.
        camera_id: Number of the camera that frames are seen by, -1 for the free one.
        width: Width of a frame in pixels; `height`: its height.
        max_geom: Most geoms in a frame.
        viewer: What drew last, an `OffScreenViewer` or a `WindowViewer`; None before.
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        default_cam_config: dict[str, Any] | None = None,
        width: int | None = None,
        height: int | None = None,
        max_geom: int = 1000,
        camera_id: int | None = None,
        camera_name: str | None = None,
        visual_options: dict[int, bool] | None = None,
    ) -> None:
        """Keep the settings; no context is made and no window opened.

        Args:
            model: The `mujoco.MjModel`.
            data: Its `mujoco.MjData`.
            default_cam_config: Attributes of `mujoco.MjvCamera` and their values, for the free
                camera: `distance`, `azimuth`, `elevation`, `lookat`. With `type` as
                `mujoco.mjtCamera.mjCAMERA_TRACKING` and a `trackbodyid` it follows that body.
            width: Width of a frame in pixels; only a window can do without.
            height: Height of a frame in pixels.
            max_geom: Most geoms in a frame.
            camera_id: Number of the model's camera to see by, -1 for the free one.
            camera_name: Its name instead. Without either it is the free camera.
            visual_options: Flags of `mujoco.mjtVisFlag` and whether they are on.

        Raises:
            gymcore.error.InvalidArgument: both `camera_id` and `camera_name` are given, the model
                has no such camera, or the camera or the options no such attribute or flag.
        """
        mujoco = mujoco_module()
        if camera_id is not None and camera_name is not None:
            raise error.InvalidArgument(
                "Both `camera_id` and `camera_name` cannot be specified at the same time."
            )
        apply_camera_config(mujoco.MjvCamera(), default_cam_config)
        apply_visual_options(mujoco.MjvOption(), visual_options)
        if camera_id is not None:
            check_camera_id(model, camera_id)
        # Gymnasium sees by the free camera whatever its `type`, unless somebody chose a camera.
        self._keep_type = (
            camera_id is None and camera_name is None and _has_type(default_cam_config)
        )
        if camera_name is not None:
            camera_id = find_camera(model, camera_name)

        self.model = model
        self.data = data
        self.default_cam_config = default_cam_config
        self.width = width
        self.height = height
        self.max_geom = max_geom
        self.camera_id = -1 if camera_id is None else camera_id
        self.viewer: OffScreenViewer | WindowViewer | None = None
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
            UnexpectedMode: the mode is another one; it is an `AttributeError`.
            gymcore.error.FailedCheck: a frame needs `width` and `height`.
            RenderingUnavailable: nothing here can draw; the message says what to install.
        """
        if render_mode != "human" and (self.width is None or self.height is None):
            raise error.FailedCheck(
                f"The width: {self.width} and height: {self.height} cannot be `None` when the "
                "render_mode is not `human`."
            )
        viewer = self._get_viewer(render_mode)
        # A batch shows its lanes by one renderer, one after another.
        viewer.data = self.data
        if isinstance(viewer, WindowViewer):
            viewer.render()
            return None
        return viewer.render(render_mode, None if self._keep_type else self.camera_id)

    def _get_viewer(self, render_mode: str | None) -> OffScreenViewer | WindowViewer:
        """Return the viewer for a mode, which is made by the first call and kept as `viewer`."""
        if render_mode == "human":
            if self._window is None:
                self._window = WindowViewer(
                    self.model, self.data, self.width, self.height, self.max_geom, self._vopt
                )
                self._place_camera(self._window)
            self.viewer = self._window
            return self._window
        if render_mode not in OFFSCREEN_MODES or self.width is None or self.height is None:
            message = (
                f"Unexpected mode: {render_mode}, expected modes: human, rgb_array, depth_array, "
                "or rgbd_tuple"
            )
            if render_mode is None:
                message += ' (pass one, as in `gym.make(..., render_mode="rgb_array")`)'
            raise UnexpectedMode(message)
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

    def _set_cam_config(self) -> None:
        """Set the attributes `default_cam_config` of the current viewer's camera."""
        if self.viewer is not None:
            apply_camera_config(self.viewer.cam, self.default_cam_config)

    def close(self) -> None:
        """Close the window and free the contexts; a later frame makes new ones."""
        for viewer in (self._offscreen, self._window):
            if viewer is not None:
                viewer.close()
        self._offscreen = self._window = self.viewer = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the settings, without contexts and windows: they belong to this process."""
        return {**self.__dict__, "viewer": None, "_offscreen": None, "_window": None}


def _has_type(config: dict[str, Any] | None) -> bool:
    return config is not None and "type" in config
