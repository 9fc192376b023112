"""Build the compiled modules; everything else is in pyproject.toml.

Environment switches, off unless set to a value other than 0:
  GYMCORE_DEBUG=1          no optimization; C assertions and Cython's bounds checks on
  GYMCORE_SANITIZE=1       AddressSanitizer and UndefinedBehaviorSanitizer (see CONTRIBUTING.md)
  GYMCORE_COVERAGE=1       gcov counters
  GYMCORE_BASELINE_ONLY=1  loops for the baseline instruction set only
"""

import os
import platform
import sys
from pathlib import Path

import Cython
import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent
PACKAGE = Path("gymcore_ext")
STAMP = Path("build", "configuration.txt")
SWITCHES = [
    name
    for name in ("DEBUG", "SANITIZE", "COVERAGE", "BASELINE_ONLY")
    if os.environ.get(f"GYMCORE_{name}", "0") not in ("", "0")
]
DEBUG = "DEBUG" in SWITCHES


def compiler_flags() -> tuple[list[str], list[str]]:
    """Return the flags of the compiler and of the linker."""
    if sys.platform == "win32":
        optimizing = "/Od" if DEBUG else "/O2"
        return [optimizing, "/fp:precise", "/std:c11", "/experimental:c11atomics"], []
    # No contraction, no fast math: results have the same bits on every machine (gymcore/math.h).
    compiling = ["-ffp-contract=off", "-fno-strict-aliasing", "-Wno-unused-function"]
    if platform.machine() == "x86_64":
        # Loops for x86-64-v4 use its 512-bit registers, which Clang avoids by default.
        compiling += ["-mprefer-vector-width=512"]
    linking = []
    if DEBUG:
        compiling += ["-O0", "-g", "-UNDEBUG"]
    elif "SANITIZE" in SWITCHES:
        # Reports need line numbers. With the checks, -O1 takes 2.4 times as long.
        compiling += ["-Og", "-g1"]
    else:
        compiling += ["-O3", "-g0"]
        linking += ["-Wl,-s"] if sys.platform == "linux" else []
    if "SANITIZE" in SWITCHES:
        checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
        compiling += [*checks, "-fno-omit-frame-pointer"]
        linking += checks
    if "COVERAGE" in SWITCHES:
        compiling += ["--coverage"]
        linking += ["--coverage"]
    return compiling, linking


COMPILING, LINKING = compiler_flags()
# The 0.9 MB of C that Cython adds to each module that uses memoryviews is one shared module: a
# quarter of the C to compile.
SHARED = "gymcore_ext.memoryviews"
NUMPY_RANDOM = Path(numpy.get_include()).parents[1] / "random" / "lib"
DRAWS_NORMALS = ("simulations", "draws")
MATHEMATICS = [] if sys.platform == "win32" else ["m"]
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": DEBUG,
    "embedsignature": True,
    "show_performance_hints": False,
}
MACROS = [
    ("NPY_NO_DEPRECATED_API", "NPY_1_25_API_VERSION"),
    ("NPY_TARGET_VERSION", "NPY_1_25_API_VERSION"),
    *((f"GYMCORE_{name}", "1") for name in SWITCHES),
]
# What `gymcore info` prints about the build.
BUILD_INFO_MACROS = [
    ("GYMCORE_COMPILE_FLAGS", '"' + " ".join(COMPILING) + '"'),
    ("GYMCORE_CYTHON_VERSION", f'"{Cython.__version__}"'),
    ("GYMCORE_NUMPY_VERSION", f'"{numpy.__version__}"'),
    ("GYMCORE_SWITCHES", '"' + " ".join(SWITCHES) + '"'),
]


def stamp() -> str:
    """Return a file that is newer than any other configuration's build, which forces a rebuild."""
    text = "\n".join(
        map(
            repr,
            [COMPILING, LINKING, DIRECTIVES, MACROS, BUILD_INFO_MACROS, SHARED],
        )
    )
    path = ROOT / STAMP
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return str(STAMP)


def extensions() -> list[Extension]:
    """Return one extension for each .pyx file."""
    # Cython tracks the .pxd files that a module uses, but not the headers in its verbatim C.
    headers = sorted((ROOT / PACKAGE).rglob("*.h"))
    depends = [*(str(path.relative_to(ROOT)) for path in headers), stamp()]
    # The slowest to compile come first, so that no processor is left with one at the end: the
    # shared memoryviews, then vector loops, then by size.
    paths = sorted(
        (ROOT / PACKAGE).rglob("*.pyx"),
        key=lambda path: (path.parent.name != "physics", -path.stat().st_size),
    )
    sources = [path.relative_to(ROOT) for path in paths]
    return [
        Extension(
            SHARED,
            [],
            depends=[stamp()],
            extra_compile_args=COMPILING,
            extra_link_args=LINKING,
        )
    ] + [
        Extension(
            ".".join(source.with_suffix("").parts),
            [str(source)],
            depends=depends,
            include_dirs=[str(PACKAGE), str(PACKAGE / "include"), numpy.get_include()],
            define_macros=MACROS + BUILD_INFO_MACROS * (source.stem == "build_info"),
            extra_compile_args=COMPILING,
            extra_link_args=LINKING,
            # NumPy's own normal distribution, for the modules that draw from it.
            library_dirs=[str(NUMPY_RANDOM)] * (source.stem in DRAWS_NORMALS),
            libraries=["npyrandom", *MATHEMATICS] * (source.stem in DRAWS_NORMALS),
        )
        for source in sources
    ]


class BuildExtensions(build_ext):
    """Run Cython only for builds, and one compiler per processor."""

    def finalize_options(self) -> None:
        """Compile in parallel."""
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count() or 1

    def run(self) -> None:
        """Translate the .pyx files to C, and compile them."""
        translated = cythonize(
            extensions(),
            build_dir=os.path.join("build", "cython-debug" if DEBUG else "cython"),
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=SHARED,
            nthreads=os.cpu_count() or 1,
            quiet=True,
        )
        for extension, with_c in zip(self.extensions, translated, strict=True):
            assert extension.name == with_c.name
            extension.sources = with_c.sources
            # A module that was built in place is built again only if its sources changed.
            built = self.get_ext_filename(extension.name)
            if os.path.exists(built):
                self.mkpath(os.path.dirname(os.path.join(self.build_lib, built)))
                self.copy_file(built, os.path.join(self.build_lib, built))
        super().run()


if __name__ == "__main__":  # not in processes that translate modules: they import this file
    setup(ext_modules=extensions(), cmdclass={"build_ext": BuildExtensions})
