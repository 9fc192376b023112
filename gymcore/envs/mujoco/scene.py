"""Cameras, what is visible, and markers: what users set on MuJoCo's scenes, checked."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from gymcore import error, logger
from gymcore.envs.mujoco.library import mujoco_module


class UnknownVisualOption(error.InvalidArgument, IndexError):
    """A flag that `mujoco.mjtVisFlag` does not have."""


class UnknownAttribute(error.InvalidArgument, AttributeError):
    """A name that is no attribute of the object of MuJoCo's that it is meant for."""


def init_free_camera(camera: Any, model: Any, data: Any) -> None:
    """Let a free camera look at the middle of the geoms, from as far as the model is large."""
    mujoco = mujoco_module()
    camera.type = mujoco.mjtCamera.mjCAMERA_FREE
    camera.fixedcamid = -1
    camera.lookat[:] = np.median(data.geom_xpos, axis=0) if model.ngeom else model.stat.center
    camera.distance = model.stat.extent


def apply_camera_config(camera: Any, config: dict[str, Any] | None) -> None:
    """Set attributes of a `mujoco.MjvCamera`.

    Args:
        camera: The camera.
        config: Names and values; None sets nothing.

    Raises:
        UnknownAttribute: the camera has no such attribute.
        gymcore.error.InvalidArgument: the value does not fit it.
    """
    for name, value in (config or {}).items():
        if not isinstance(name, str) or name.startswith("_") or not hasattr(camera, name):
            names = ", ".join(one for one in dir(camera) if not one.startswith("_"))
            raise UnknownAttribute(
                f"default_cam_config: a camera has no attribute {name!r}, it has {names}"
            )
        current = getattr(camera, name)
        try:
            if isinstance(current, np.ndarray):
                current[:] = value
            else:
                setattr(camera, name, value)
        except (TypeError, ValueError) as problem:
            raise error.InvalidArgument(
                f"default_cam_config[{name!r}]: expected a value like {current!r}, got {value!r}"
            ) from problem


def apply_visual_options(options: Any, flags: dict[int, bool] | None) -> None:
    """Set flags of a `mujoco.MjvOption`.

    Args:
        options: The object that has them.
        flags: `mujoco.mjtVisFlag` (or its number) and whether it is on; None sets nothing.

    Raises:
        UnknownVisualOption: there is no such flag.
    """
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


def check_camera_id(model: Any, camera_id: Any) -> None:
    """Raise unless the model has the camera, or it is -1, the free one.

    MuJoCo ends the process for a camera that the model does not have.
    """
    try:
        number = operator.index(camera_id)
    except TypeError:
        raise error.ArgumentTypeError(
            f"camera_id: expected an integer, got {camera_id!r} ({type(camera_id).__name__})"
        ) from None
    if not -1 <= number < model.ncam:
        raise error.InvalidArgument(
            f"camera_id: expected -1 (the free camera) or a camera of the model ({cameras(model)})"
            f", got {number}"
        )


def look_through(camera: Any, model: Any, camera_id: int) -> None:
    """Let a `mujoco.MjvCamera` be a camera of the model, or for -1 the free one."""
    check_camera_id(model, camera_id)
    types = mujoco_module().mjtCamera
    camera.type = types.mjCAMERA_FREE if camera_id == -1 else types.mjCAMERA_FIXED
    camera.fixedcamid = camera_id


def find_camera(model: Any, name: str) -> int:
    """Return the number of a camera by its name; a name that no camera has gives -1, and a warning.

    -1 is the free camera, which Gymnasium falls back to as well.
    """
    if not isinstance(name, str):
        raise error.ArgumentTypeError(
            f"camera_name: expected a string, got {name!r} ({type(name).__name__})"
        )
    mujoco = mujoco_module()
    number = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, name)
    if number == -1:
        logger.warn(
            f"camera_name: the model has no camera {name!r} ({cameras(model)}); the free camera is "
            "used instead"
        )
    return number


def cameras(model: Any) -> str:
    """Return numbers and names of the model's cameras, as text."""
    names = (f"{number} {model.camera(number).name!r}" for number in range(model.ncam))
    return "it has " + (", ".join(names) or "none")


# Markers

# Attributes of a geom that mjv_initGeom sets, with the number of values and their types.
_INITIALISED = {"size": 3, "pos": 3, "mat": 9, "rgba": 4}


def check_marker(marker: dict[str, Any]) -> None:
    """Raise unless a marker's attributes can be those of a `mujoco.MjvGeom`."""
    geom = mujoco_module().MjvGeom()
    for name in marker:
        if name.startswith("_") or not hasattr(geom, name):
            logger.warn(f"add_marker: a geom has no attribute {name!r}, it is ignored")
    _shape_geom(geom, marker)


def add_marker_to_scene(scene: Any, marker: dict[str, Any]) -> None:
    """Add a geom to a scene.

    Raises:
        gymcore.error.Error: the scene is full.
    """
    if scene.ngeom >= scene.maxgeom:
        raise error.Error(
            f"a scene holds at most max_geom = {scene.maxgeom} geoms, there is no place for the "
            f"marker {marker}"
        )
    _shape_geom(scene.geoms[scene.ngeom], marker)
    scene.ngeom += 1


def _shape_geom(geom: Any, marker: dict[str, Any]) -> None:
    """Make a geom what the marker says; what it does not say is a white sphere of 1 cm."""
    mujoco = mujoco_module()
    values: dict[str, Any] = {
        "size": np.full(3, 0.01),
        "pos": np.zeros(3),
        "mat": np.eye(3).ravel(),
        "rgba": np.ones(4, dtype=np.float32),
    }
    for name, count in _INITIALISED.items():
        if name in marker:
            given = marker[name]
            dtype: Any = np.float32 if name == "rgba" else np.float64
            try:
                value: Any = np.asarray(given, dtype=dtype).ravel()
            except (TypeError, ValueError):
                value = np.empty(0)
            if len(value) != count:
                raise error.InvalidArgument(f"{name}: expected {count} numbers, got {given!r}")
            values[name] = value
    kind = marker.get("type", mujoco.mjtGeom.mjGEOM_SPHERE)
    try:
        mujoco.mjv_initGeom(geom, type=int(kind), **values)
    except (TypeError, ValueError) as problem:
        raise error.InvalidArgument(
            f"type: expected a shape of mujoco.mjtGeom, got {kind!r}"
        ) from problem
    for name, value in marker.items():
        known = name in _INITIALISED or name == "type"
        if known or name.startswith("_") or not hasattr(geom, name):
            continue
        value = str(value) if name == "label" else value
        try:
            setattr(geom, name, value)
        except (TypeError, ValueError) as problem:
            raise error.InvalidArgument(
                f"{name}: expected a value like {getattr(geom, name)!r}, got {value!r}"
            ) from problem
