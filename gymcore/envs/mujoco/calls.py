"""MuJoCo's library as it is installed: its functions, and what becomes of its messages."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gymcore import error, logger
from gymcore.envs.mujoco.library import mujoco_module
from gymcore_ext.mujoco.calls import FUNCTIONS, HANDLERS, Stepper

# Names of the library's file on Linux, macOS and Windows.
_LIBRARY_FILES = ("libmujoco.so*", "libmujoco*.dylib", "mujoco.dll")


class SimulationFailed(error.EnvironmentFailed):
    """MuJoCo gave up on simulations of a batch; `lanes` names them. A reset begins anew."""


@cache
def library_functions() -> dict[str, int]:
    """Addresses of the functions of MuJoCo's library that compiled code calls, by their names.

    The first call stops the clock of MuJoCo's profiler (`data.timer`), which its Python package
    starts: reading it takes 11 to 29 % of a step of all but the largest models. The environment
    variable `GYMCORE_MUJOCO_TIMERS=1` leaves it alone; `mujoco.set_mjcb_time` starts another.

    Raises:
        gymcore.error.DependencyNotInstalled: mujoco is not installed, or has no such functions.
    """
    mujoco = mujoco_module()
    folder = Path(str(mujoco.__file__)).parent
    files = [file for pattern in _LIBRARY_FILES for file in sorted(folder.glob(pattern))]
    if not files:
        raise error.DependencyNotInstalled(f"no library of MuJoCo in {folder}: install it again")
    library = ctypes.CDLL(str(files[0]))
    version = mujoco.mj_version()
    if library.mj_version() != version:
        raise error.DependencyNotInstalled(
            f"{files[0]} is version {library.mj_version()}, the Python package {version}: install "
            "mujoco again"
        )
    _stop_clock(library)
    found = {}
    for name in (*FUNCTIONS, *(name for row in HANDLERS for name in row)):
        try:
            found[name] = ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        except AttributeError:
            continue
    if not any(all(name in found for name in row) for row in HANDLERS):
        raise error.DependencyNotInstalled(
            f"MuJoCo {mujoco.__version__} has none of the error handlers that gymcore knows "
            f"({HANDLERS}); install another version"
        )
    return found


def _stop_clock(library: ctypes.CDLL) -> None:
    """Stop the profiler's clock, unless somebody wants it."""
    asked = os.environ.get("GYMCORE_MUJOCO_TIMERS", "0") not in ("", "0")
    if asked or mujoco_module().get_mjcb_time() is not None:
        return
    # One that this version does not have need not be stopped.
    with contextlib.suppress(ValueError):
        ctypes.c_void_p.in_dll(library, "mjcb_time").value = None


@cache
def _stepper() -> Stepper:
    return Stepper(library_functions())


def step_simulation(model: Any, data: Any, count: int) -> None:
    """`mj_step` as often as that, and `mj_rnePostConstraint`, with the GIL released.

    Warns of what MuJoCo warns of, which would otherwise be printed and written into a file.

    Raises:
        SimulationFailed: MuJoCo could not go on; the data must be reset.
    """
    said = _stepper().step(model, data, count)
    if said is not None:
        report_faults([0], [said[0]], said[1])


def report_faults(lanes: Sequence[int], texts: Sequence[str], failed: bool) -> None:
    """Warn of what happened to lanes, or raise if simulations failed.

    Raises:
        SimulationFailed: MuJoCo could not go on.
    """
    shown = "; ".join(
        f"lane {lane}: {text.strip()}" for lane, text in list(zip(lanes, texts, strict=True))[:4]
    )
    more = f" (and {len(lanes) - 4} more lanes)" if len(lanes) > 4 else ""
    if failed:
        raise SimulationFailed(
            f"MuJoCo gave up: {shown}{more}. All lanes want a reset.", lanes=lanes
        )
    logger.warn(f"MuJoCo: {shown}{more}")
