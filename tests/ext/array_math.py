"""The elementary functions of kernels (gymcore/math.h) over arrays, for every instruction set.

The C compiler builds them from the public headers, without the flags of the project's own build.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import gymcore_ext
from gymcore_ext.engine.kernels import ISA_NAMES, choose_isa

HERE = Path(__file__).parent

Floats = npt.NDArray[np.float64]


@cache
def _library() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        library = str(Path(folder, "array_math.so"))
        subprocess.run(
            [*shlex.split(os.environ.get("CC", "cc")), "-O3", "-shared", "-fPIC", f"-I{HERE}",
             f"-I{gymcore_ext.get_include()}", "-o", library, str(HERE / "array_math.c")],
            check=True,
        )  # fmt: skip
        return ctypes.CDLL(library)


@cache
def _loop(name: str, isa: str | None, *types: Any) -> Any:
    """Return the function for an instruction set, by default the best one, with its arguments."""
    suffix = ISA_NAMES[choose_isa(isa)].removeprefix("x86-64-")
    function = getattr(_library(), f"{name}_array_{suffix}")
    function.argtypes, function.restype = (*types, ctypes.c_int64), None
    return function


def _address(array: Floats) -> int:
    address: int = array.__array_interface__["data"][0]  # much faster than `array.ctypes.data`
    return address


def sincos(x: npt.ArrayLike, *, isa: str | None = None) -> tuple[Floats, Floats]:
    """Return the sine and the cosine of every element, new arrays of the shape of `x`."""
    values = np.asarray(x, np.float64, "C")
    sine, cosine = np.empty(values.shape), np.empty(values.shape)
    run = _loop("sincos", isa, *[ctypes.c_void_p] * 3)
    run(_address(values), _address(sine), _address(cosine), values.size)
    return sine, cosine


def mod_two_pi(x: npt.ArrayLike, *, isa: str | None = None) -> Floats:
    """Return every element modulo 2 pi, a new array."""
    values = np.asarray(x, np.float64, "C")
    remainder = np.empty(values.shape)
    run = _loop("mod", isa, *[ctypes.c_void_p] * 2)
    run(_address(values), _address(remainder), values.size)
    return remainder


def clip(x: npt.ArrayLike, low: float, high: float, *, isa: str | None = None) -> Floats:
    """Return every element raised to `low`, then lowered to `high`, a new array."""
    values = np.asarray(x, np.float64, "C")
    clipped = np.empty(values.shape)
    number = ctypes.c_double
    run = _loop("clip", isa, ctypes.c_void_p, number, number, ctypes.c_void_p)
    run(_address(values), low, high, _address(clipped), values.size)
    return clipped
