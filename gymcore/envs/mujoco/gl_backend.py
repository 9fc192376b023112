"""Selects the OpenGL backend of offscreen frames, and makes and frees its contexts.

The environment variable `MUJOCO_GL` selects one (`glfw`, `egl` or `osmesa`; `off` disables
rendering). If it is not set, Linux uses GLFW if there is a display, otherwise EGL or OSMesa; macOS
uses CGL, Windows GLFW. A backend is examined through `ctypes` before it is used, because PyOpenGL
keeps the first library that it loads for the whole process.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import ctypes.util
import importlib
import os
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeAlias

from gymcore import error
from gymcore.base import process_wide
from gymcore.envs.mujoco.library import PACKAGES as PACKAGES
from gymcore.envs.mujoco.library import mujoco_module

if TYPE_CHECKING:
    import mujoco

OFF = ("off", "disable", "disabled", "false", "0")

# Values of MUJOCO_GL for which MuJoCo, and this module, choose the backend.
AUTOMATIC = ("", "on", "enable", "enabled", "true", "1")

# The backend that has drawn a frame in this process: PyOpenGL cannot change to another one.
_working: str | None = None

# The process that drew it. A forked child has no OpenGL threads and would wait for them forever.
_process: int | None = None


class GLContext(Protocol):
    """An OpenGL context, as the backends of MuJoCo's package make it."""

    def make_current(self) -> None:
        """Make it the current one of this thread."""

    def free(self) -> None:
        """Free it."""


Contexts: TypeAlias = tuple[GLContext, "mujoco.MjrContext"]


class RenderingUnavailable(error.DependencyNotInstalled, RuntimeError):
    """No OpenGL backend works here; the message says what to install or to set."""


class UnknownBackend(error.InvalidArgument, RuntimeError):
    """A value of the environment variable `MUJOCO_GL` that is not a backend."""


def open_context(model: mujoco.MjModel, width: int, height: int) -> tuple[str, *Contexts]:
    """Make an OpenGL context and MuJoCo's rendering context of a model in it.

    Returns:
        The name of the backend, the OpenGL context and the `mujoco.MjrContext`, for `current` and
        `free_contexts`. The current context stays the same.

    Raises:
        RenderingUnavailable: If no backend works, or this is a forked child of a process that has
            drawn frames.
    """
    global _working, _process
    check_process()
    failures: list[tuple[str, str]] = []
    for name in _candidates():
        problem = _missing(name) if name != _working else None
        if problem is None:
            try:
                contexts = _try(name, model, width, height)
            except Exception as exc:
                problem = f"{type(exc).__name__}: {exc}"
            else:
                _working, _process = name, os.getpid()
                return (name, *contexts)
        failures.append((name, problem))
    raise RenderingUnavailable(_explanation(failures))


def check_process() -> None:
    """Raise `RenderingUnavailable` in a forked child of a process that has drawn frames."""
    if _process not in (None, os.getpid()):
        raise RenderingUnavailable(
            f"process {os.getpid()} was forked after process {_process} had drawn frames, and "
            "OpenGL does not work after a fork. Start processes with another method (such as "
            '`AsyncVectorEnv(..., context="spawn")`), or before the first frame.'
        )


@contextlib.contextmanager
def current(backend: str, make_current: Callable[[], None]) -> Iterator[None]:
    """Make an OpenGL context current in this thread, and restore the previous one afterwards.

    A context that stayed current could not be used by another thread, would keep windows (GLX) and
    EGL from making theirs current in this thread, and would replace that of another library.
    """
    restore = _restoring(backend)
    make_current()
    try:
        yield
    finally:
        restore()


def free_contexts(backend: str, context: GLContext, rendering: mujoco.MjrContext) -> None:
    """Free the contexts of `open_context`; the current context stays the same."""
    restore = _restoring(backend)
    try:
        context.make_current()
        rendering.free()
    finally:
        context.free()  # with an old MuJoCo, nothing is current after this
        with contextlib.suppress(Exception):  # the freed one may have been current
            restore()


def _restoring(backend: str) -> Callable[[], None]:
    """Return a function that makes the current context current again."""
    if backend == "glfw":
        glfw = importlib.import_module("glfw")
        window = glfw.get_current_context() or None
        return lambda: glfw.make_context_current(window)
    if backend == "egl":
        egl, library = importlib.import_module("OpenGL.EGL"), importlib.import_module("mujoco.egl")
        no_context = (egl.EGL_NO_SURFACE, egl.EGL_NO_SURFACE, egl.EGL_NO_CONTEXT)
        context = egl.eglGetCurrentContext()
        if not context:
            # MuJoCo opens its display with its first context.
            return lambda: egl.eglMakeCurrent(library.EGL_DISPLAY, *no_context)
        surfaces = (egl.eglGetCurrentSurface(kind) for kind in (egl.EGL_DRAW, egl.EGL_READ))
        before = (egl.eglGetCurrentDisplay(), *surfaces, context)
        return lambda: egl.eglMakeCurrent(*before)
    return lambda: None  # OSMesa and CGL do not change it


def find_display() -> str | None:
    """Return what is missing for a window, or None if one can be opened."""
    return _missing("glfw")


def _candidates() -> list[str]:
    """Return the names of the backends to try, the best one first."""
    choice = os.environ.get("MUJOCO_GL", "").strip().lower()
    if choice in OFF:
        raise RenderingUnavailable(
            f"rendering is switched off by the environment variable MUJOCO_GL={choice}"
        )
    if choice not in AUTOMATIC:
        backends = {"egl": "egl", "osmesa": "osmesa", "cgl": "cgl", "glfw": "glfw"}
        backends |= {"glx": "glfw", "wgl": "glfw"}
        if choice not in backends:
            raise UnknownBackend(
                "Environment variable MUJOCO_GL must be one of dict_keys(['glfw', 'egl', "
                f"'osmesa']): got {choice!r}. It may also be off or unset"
            )
        return [backends[choice]]
    if sys.platform == "darwin":
        return ["cgl"]
    if sys.platform == "win32":
        return ["glfw"]
    order = ["glfw", "egl", "osmesa"]
    if _working is not None:
        order.remove(_working)
        order.insert(0, _working)
    return order


def _try(name: str, model: mujoco.MjModel, width: int, height: int) -> Contexts:
    """Return both contexts from one backend; an exception leaves nothing behind."""
    mujoco = mujoco_module()
    library = importlib.import_module(f"mujoco.{name}")
    if name == "egl" and getattr(library, "EGL_DISPLAY", None) is not None:
        # Another library may have terminated the display, which the whole process shares.
        library.EGL.eglInitialize(library.EGL_DISPLAY, None, None)
    restore = _restoring(name)  # first: a new EGL context replaces the current one
    try:
        with process_wide.caught_warnings():  # GLFW repeats its errors as warnings
            context = library.GLContext(width, height)
        try:
            context.make_current()
            rendering = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150)
        except BaseException:
            context.free()
            raise
    finally:
        restore()
    return context, rendering


# The requirements of backends, examined without loading them.


def _missing(name: str) -> str | None:
    """Return what a backend lacks on this machine, or None."""
    check = {"glfw": _glfw_problem, "egl": _egl_problem, "osmesa": _osmesa_problem}.get(name)
    platform = os.environ.get("PYOPENGL_PLATFORM", "").lower()
    if name in ("egl", "osmesa") and platform not in ("", name):
        return f"the environment variable PYOPENGL_PLATFORM is {platform!r}"
    return None if check is None else check()


def _glfw_problem() -> str | None:
    if sys.platform.startswith("linux") and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        return "there is no display (DISPLAY and WAYLAND_DISPLAY are not set)"
    try:
        with process_wide.caught_warnings("always") as caught:
            started = importlib.import_module("glfw").init()
    except ImportError as problem:
        return f"the package glfw cannot be imported ({problem})"
    if started:
        return None
    return f"GLFW cannot start ({'; '.join(str(entry.message) for entry in caught) or 'no reason'})"


def _egl_problem() -> str | None:
    library = _load("EGL", "libEGL.so.1")
    if library is None:
        return "libEGL.so.1 is not installed"
    if _load("OpenGL", "libOpenGL.so.0", "libGL.so.1") is None:
        return "libOpenGL.so.0 is not installed"
    address = library.eglGetProcAddress
    address.restype = ctypes.c_void_p
    address.argtypes = [ctypes.c_char_p]
    pointer, integer = ctypes.c_void_p, ctypes.c_int32

    def function(name: bytes, result: type | None, *arguments: type) -> ctypes._FuncPointer | None:
        where = address(name)
        return ctypes.CFUNCTYPE(result, *arguments)(where) if where else None

    query = function(
        b"eglQueryDevicesEXT", ctypes.c_uint, integer, pointer, ctypes.POINTER(integer)
    )
    display_of = function(
        b"eglGetPlatformDisplayEXT", pointer, ctypes.c_uint, pointer, ctypes.POINTER(integer)
    )
    if query is None or display_of is None:
        return "EGL has no driver that draws without a display"
    devices, count = (ctypes.c_void_p * 16)(), integer(0)
    if not query(len(devices), devices, ctypes.byref(count)) or count.value < 1:
        return "EGL finds no device or software driver"
    initialize = library.eglInitialize
    initialize.argtypes = [pointer, pointer, pointer]
    platform_device = 0x313F  # EGL_PLATFORM_DEVICE_EXT
    for device in devices[: count.value]:
        display = display_of(platform_device, device, None)
        # The display stays initialized: terminating it would do so for the whole process.
        if display and initialize(display, None, None):
            return None
    return f"none of EGL's {count.value} devices can be used"


def _osmesa_problem() -> str | None:
    names = ("libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so")
    return "libOSMesa.so is not installed" if _load("OSMesa", *names) is None else None


def _load(name: str, *files: str) -> ctypes.CDLL | None:
    """Return a library by the first of its files that can be loaded."""
    for file in (*files, ctypes.util.find_library(name)):
        if file is not None:
            try:
                return ctypes.CDLL(file)
            except OSError:
                continue
    return None


def _explanation(failures: list[tuple[str, str]]) -> str:
    """Return the message for backends that all failed."""
    lines = ["No OpenGL backend could be imported. MuJoCo cannot draw frames on this machine:"]
    for name, problem in failures:
        line = f"  {name}: {problem}"
        if name in PACKAGES:
            line += f". It needs: {PACKAGES[name]}"
        lines.append(line)
    chosen = os.environ.get("MUJOCO_GL")
    if chosen:
        lines.append(
            f"The environment variable MUJOCO_GL={chosen} allows no other backend; unset it, or "
            "set it to egl, osmesa or glfw."
        )
    else:
        lines.append(
            "Install one of these. The environment variable MUJOCO_GL=egl (or osmesa, or glfw) "
            "selects it; otherwise the first one that works is used."
        )
    return "\n".join(lines)


# Frees contexts once, in the process that made them, and early enough at exit.

_unreleased: list[weakref.finalize[..., object]] = []

# The parent's resources in a forked child, referenced because collecting them would free them.
_inherited: list[tuple[object, ...]] = []


def release_once(
    owner: object, free: Callable[..., None], *args: object
) -> weakref.finalize[..., object]:
    """Return a finalizer that frees a resource when called, when `owner` is collected, or at exit.

    It calls `free(*args)` once; `args` must not refer to `owner`. A forked child never calls it,
    because windows and contexts belong to the parent.

    Examples:
        >>> class Owner: ...
        >>> owner = Owner()
        >>> release = release_once(owner, print, "freed")
        >>> release.alive
        True
        >>> del owner
        freed
        >>> release.alive
        False
    """
    release = weakref.finalize(owner, _in_process, os.getpid(), free, args)
    # The exit hook of `weakref` runs after those of GLFW and PyOpenGL, which destroy the contexts.
    # Hooks run in reverse order of their registration, so this one is registered again.
    release.atexit = False
    _unreleased[:] = [context for context in _unreleased if context.alive]
    _unreleased.append(release)
    atexit.unregister(_release_all)
    atexit.register(_release_all)
    return release


def _in_process(process: int, free: Callable[..., None], args: tuple[object, ...]) -> None:
    if os.getpid() == process:
        free(*args)
    else:
        _inherited.append(args)


def _release_all() -> None:
    for release in reversed(_unreleased):
        release()
