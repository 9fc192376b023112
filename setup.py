"""Build of the compiled modules; everything else is in pyproject.toml.

Environment switches:
  GYMCORE_DEBUG=1          no optimisation, assertions and bounds checks on
  GYMCORE_SANITIZE=1       AddressSanitizer and UndefinedBehaviorSanitizer (see CONTRIBUTING.md for how to run)
  GYMCORE_COVERAGE=1       gcov instrumentation
  GYMCORE_BASELINE_ONLY=1  physics loops for the baseline instruction set alone
"""

import os
import sys
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

ROOT = Path(__file__).parent
PACKAGE = Path("gymcore_ext")


def switched(name: str) -> bool:
    return os.environ.get(name, "0") not in ("", "0")


DEBUG, SANITIZE, COVERAGE = (
    switched(f"GYMCORE_{name}") for name in ("DEBUG", "SANITIZE", "COVERAGE")
)

macros = [
    ("NPY_NO_DEPRECATED_API", "NPY_1_25_API_VERSION"),
    ("NPY_TARGET_VERSION", "NPY_1_25_API_VERSION"),
]
if switched("GYMCORE_BASELINE_ONLY"):
    macros.append(("GYMCORE_BASELINE_ONLY", "1"))

if sys.platform == "win32":
    compile_args, link_args = ["/Od" if DEBUG else "/O2", "/fp:precise", "/std:c11"], []
else:
    # No contraction and no fast mathematics: the same bits on every machine is a promise (lane_math.h).
    compile_args, link_args = (
        ["-ffp-contract=off", "-fno-strict-aliasing", "-Wno-unused-function"],
        [],
    )
    compile_args += ["-O0", "-g", "-UNDEBUG"] if DEBUG else ["-O1", "-g"] if SANITIZE else ["-O3"]
    if SANITIZE:
        flags = [
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=undefined",
            "-fno-omit-frame-pointer",
        ]
        compile_args += flags
        link_args += flags
    if COVERAGE:
        compile_args += ["--coverage"]
        link_args += ["--coverage"]

macros.append(("GYMCORE_COMPILE_FLAGS", '"' + " ".join(compile_args) + '"'))

headers = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / PACKAGE).rglob("*.[hp]*")
    if path.suffix in (".h", ".pxd")
)
extensions = [
    Extension(
        ".".join(path.relative_to(ROOT).with_suffix("").parts),
        [str(path.relative_to(ROOT))],
        depends=headers,
        include_dirs=[str(PACKAGE / "include"), numpy.get_include()],
        define_macros=macros,
        extra_compile_args=compile_args,
        extra_link_args=link_args,
    )
    for path in sorted((ROOT / PACKAGE).rglob("*.pyx"))
]

setup(
    ext_modules=cythonize(
        extensions,
        build_dir="build/cython",
        compiler_directives={
            "language_level": 3,
            "boundscheck": DEBUG,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": DEBUG,
            "embedsignature": True,
        },
    )
)
