"""The installed MuJoCo: its Python package, imported lazily, its C functions and its messages."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from gymcore import error, logger
from gymcore.base import process_wide
from gymcore.base.optional_packages import needs
from gymcore_ext.mujoco.simulations import MUJOCO_FUNCTIONS, set_functions, take_steps

if TYPE_CHECKING:
    import mujoco

OLDEST = (3, 1)

# What the backends of `MUJOCO_GL` need.
PACKAGES = {
    "egl": "apt-get install libegl1 libopengl0 libgl1-mesa-dri",
    "osmesa": "apt-get install libosmesa6",
    "glfw": "a display, or apt-get install xvfb libgl1-mesa-dri and run under `xvfb-run -a`",
}

# Where `contact_place` searches: the timers before the integers take more bytes.
_SEARCHED_BYTES = 240

# Names of the library's file on Linux, macOS and Windows.
_LIBRARY_FILES = ("libmujoco.so*", "libmujoco*.dylib", "mujoco.dll")


def mujoco_module() -> ModuleType:
    """Return the module mujoco; the first call imports it.

    Raises:
        gymcore.error.DependencyNotInstalled: If MuJoCo is not installed or is older than 3.1, or if
            the backend of `MUJOCO_GL`, which the import loads, is not installed.
        gymcore.error.InvalidArgument: If the environment variable `MUJOCO_GL` has a value with
            which the import of mujoco fails.
    """
    try:
        with needs("mujoco", "MuJoCo"):
            mujoco = process_wide.load_module("mujoco")
    except Exception as problem:
        chosen = os.environ.get("MUJOCO_GL", "")
        backend = chosen.strip().lower()
        if backend in PACKAGES and importlib.util.find_spec("mujoco") is not None:
            raise error.DependencyNotInstalled(
                f"MuJoCo cannot load the backend of the environment variable MUJOCO_GL={chosen} "
                f"({problem.__cause__ or problem}). It needs: {PACKAGES[backend]}. Without frames, "
                "unset the variable, or set it to off"
            ) from problem
        if not isinstance(problem, RuntimeError) or "MUJOCO_GL" not in str(problem):
            raise
        raise error.InvalidArgument(
            f"the environment variable MUJOCO_GL: expected egl, osmesa or glfw (or off, or unset), "
            f"got {chosen!r}"
        ) from problem
    version = str(getattr(mujoco, "__version__", "0"))
    if _numbers(version) < OLDEST:
        raise error.DependencyNotInstalled(
            f"MuJoCo {version} is too old: expected 3.1 or newer, run "
            "`pip install --upgrade mujoco`"
        )
    return mujoco


@contextlib.contextmanager
def warnings_while(activity: str) -> Iterator[None]:
    """Turn MuJoCo's warnings into Python's; MuJoCo would print them and write them to a file.

    The deprecation warning for `settotalmass`, which HalfCheetah's model needs, is suppressed.

    Args:
        activity: What the message names, such as "loading ant.xml".
    """
    mujoco = mujoco_module()
    messages: list[str] = []
    try:
        with process_wide.lock:
            previous = mujoco.get_mju_user_warning()
            mujoco.set_mju_user_warning(messages.append)
            try:
                yield
            finally:
                mujoco.set_mju_user_warning(previous)
    finally:
        for text in messages:
            if "settotalmass" not in text:
                logger.warn(f"MuJoCo, {activity}: {text.strip()}")


def solver_problem(version: str) -> str:
    """Return what is wrong with the solver of a version of MuJoCo, an empty text for nothing."""
    if version != "4.0.0":
        return ""
    return (
        "MuJoCo 4.0.0 can compute wrong accelerations if the solver is Newton's and the model is "
        "sparse, as are those with 60 velocities or more by default: run "
        "`pip install --upgrade mujoco` for a newer version"
    )


def warn_of_solver(model: mujoco.MjModel) -> None:
    """Warn if the installed MuJoCo can simulate this model wrongly."""
    mujoco = mujoco_module()
    problem = solver_problem(mujoco.__version__)
    uses_newton = model.opt.solver == mujoco.mjtSolver.mjSOL_NEWTON
    if problem and uses_newton and mujoco.mj_isSparse(model):
        logger.warn(problem)


def _numbers(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version."""
    parts = version.split(".")[:2]
    return tuple(int(part) if part.isdecimal() else 0 for part in parts)


class SimulationFailed(error.EnvironmentFailed):
    """MuJoCo failed in simulations of a batch, which must be reset; `lanes` has their indices."""


@cache
def load_functions() -> dict[str, int]:
    """Let compiled code call the installed C functions; return their names and addresses.

    The first call stops the clock of MuJoCo's profiler (`data.timer`), which its Python package
    starts and which slows steps down (docs/environments/mujoco.md has figures). The environment
    variable `GYMCORE_MUJOCO_TIMERS=1` keeps it; `mujoco.set_mjcb_time` sets another one.

    Raises:
        gymcore.error.DependencyNotInstalled: If mujoco is not installed, or lacks these functions.
    """
    mujoco = mujoco_module()
    folder = Path(str(mujoco.__file__)).parent
    files = [file for pattern in _LIBRARY_FILES for file in sorted(folder.glob(pattern))]
    if not files:
        raise error.DependencyNotInstalled(f"{folder} has no MuJoCo library: install mujoco again")
    library = ctypes.CDLL(str(files[0]))
    version = mujoco.mj_version()
    if library.mj_version() != version:
        raise error.DependencyNotInstalled(
            f"{files[0]} has version {library.mj_version()}, its Python package {version}: install "
            "mujoco again"
        )
    _stop_clock(library)
    addresses = {}
    for name in MUJOCO_FUNCTIONS:
        with contextlib.suppress(AttributeError):
            addresses[name] = ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    try:
        set_functions(addresses, contact_place())
    except ValueError as problem:
        raise error.DependencyNotInstalled(
            f"MuJoCo {mujoco.__version__} lacks functions that gymcore calls; install another "
            f"version ({problem})"
        ) from None
    return addresses


def contact_place() -> int:
    """Return the distance in bytes from `energy` of an `MjData` to its number of contacts.

    The number is before the energies, in one of the integers that MuJoCo's versions order
    differently, and its package offers only copies of it.

    Raises:
        gymcore.error.DependencyNotInstalled: If it is not found.
    """
    mujoco = mujoco_module()
    spheres = "".join(
        f'<body pos="{0.15 * k} 0 0.05"><freejoint/><geom size="0.1"/></body>' for k in range(3)
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><geom type="plane" size="9 9 1"/>{spheres}</worldbody></mujoco>'
    )
    places: set[int] = set(range(-_SEARCHED_BYTES, 0, 4))
    for lifted in range(4):
        data = mujoco.MjData(model)
        data.qpos[2 : 2 + 7 * lifted : 7] = range(1, lifted + 1)
        mujoco.mj_forward(model, data)
        energy = data.energy.__array_interface__["data"][0]
        places &= {k for k in places if ctypes.c_int32.from_address(energy + k).value == data.ncon}
    if len(places) != 1:
        raise error.DependencyNotInstalled(
            f"MuJoCo {mujoco.__version__} stores contacts in another way than gymcore knows; "
            "install another version"
        )
    return places.pop()


def _stop_clock(library: ctypes.CDLL) -> None:
    """Stop the profiler's clock, unless `GYMCORE_MUJOCO_TIMERS` keeps it."""
    keeps_clock = os.environ.get("GYMCORE_MUJOCO_TIMERS", "0") not in ("", "0")
    if keeps_clock or mujoco_module().get_mjcb_time() is not None:
        return
    # Older versions have no clock.
    with contextlib.suppress(ValueError):
        ctypes.c_void_p.in_dll(library, "mjcb_time").value = None


def step_simulation(model: mujoco.MjModel, data: mujoco.MjData, count: int) -> None:
    """Call `mj_step` `count` times and `mj_rnePostConstraint` once, with the GIL released.

    MuJoCo's warnings become Python's.

    Raises:
        SimulationFailed: If MuJoCo failed; the simulation must be reset.
    """
    load_functions()
    message = take_steps(model, data, count)
    if message is not None:
        report_faults([0], [message[0]], message[1])


def report_faults(lanes: Sequence[int], texts: Sequence[str], failed: bool) -> None:
    """Raise if simulations failed; otherwise show MuJoCo's messages about lanes as a warning.

    Raises:
        SimulationFailed: If MuJoCo failed.
    """
    shown = "; ".join(
        f"lane {lane}: {text.strip()}" for lane, text in list(zip(lanes, texts, strict=True))[:4]
    )
    more = f" (and {len(lanes) - 4} more lanes)" if len(lanes) > 4 else ""
    if failed:
        raise SimulationFailed(f"MuJoCo failed: {shown}{more}. Reset all lanes.", lanes=lanes)
    logger.warn(f"MuJoCo: {shown}{more}")
