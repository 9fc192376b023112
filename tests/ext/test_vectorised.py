"""The compiler turns the loops over lanes into vector code, with the flags of the build.

Compiling takes a dozen seconds, a third of it for Acrobot, so the reports are kept in pytest's
cache until a source, the flags or the compiler change.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import gymcore_ext
from gymcore_ext.build_info import build_info
from tests.ext.lanes import KERNELS

PACKAGE = Path(gymcore_ext.__file__).parent
INCLUDE = PACKAGE / "include"
# Bytes of a vector of each instruction set.
WIDTHS = {"v3": 32, "v4": 64}
# Functions of every kernel that have the loop of a step.
STEP_LOOPS = ("step_shared", "step_varied")
# Loops of the engine: header, function, comment.
ENGINE_LOOPS = [
    ("lifecycle.h", "gymcore_count_step", "count steps"),
    ("lifecycle.h", "gymcore_outside", "check actions"),
    ("lifecycle.h", "gymcore_nans", "look for nan"),
    ("array_math.h", "gymcore_sincos_array", "sine and cosine"),
    ("array_math.h", "gymcore_mod_array", "mod two pi"),
    ("array_math.h", "gymcore_clip_array", "clip"),
]
ENGINE_SOURCE = """
#include "engine/lifecycle.h"
#include "array_math.h"
const void *tables[] = { gymcore_lifecycles, gymcore_array_maths };
"""
# What comes after vectorisation takes most of the time and changes nothing in the report.
SHORTCUTS = (
    "-fdisable-rtl-combine", "-fdisable-rtl-postreload", "-fno-gcse", "-fno-gcse-after-reload",
    "-fno-rerun-cse-after-loop", "-fira-algorithm=priority", "-fira-region=one",
    "-fno-schedule-insns2", "-g0",
    "--param=vect-epilogues-nomask=0",  # no second vector loop for the last lanes
)  # fmt: skip

# (function, header, line) -> widths in bytes of the vectors of each loop that this line became
Report = dict[tuple[str, str, int], list[int]]


def find_compiler() -> tuple[str, str]:
    """The GCC to ask and its version; skips the test where there is none that can tell."""
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip(f"instruction sets of x86-64, not of {platform.machine()}")
    compiler = shutil.which(shlex.split(os.environ.get("CC", "gcc"))[0])
    if compiler is None:
        pytest.skip("no gcc on this machine")
    about = subprocess.run(
        [compiler, "--version"], capture_output=True, text=True, check=True
    ).stdout
    version = subprocess.run(
        [compiler, "-dumpfullversion"], capture_output=True, text=True, check=False
    ).stdout.strip()
    if "Free Software Foundation" not in about or int(version.partition(".")[0] or 0) < 12:
        pytest.skip(f"no gcc 12 or later: {about.splitlines()[0]}")
    return compiler, version


def flags() -> list[str]:
    """The project's flags, as the modules in use were built with."""
    facts = build_info()
    for switch in ("debug", "sanitized", "coverage"):
        if facts[switch]:
            pytest.skip(f"a build for {switch} is not optimised")
    return [*facts["flags"].split(), "-fPIC", "-fwrapv", "-DNDEBUG"]


def translate(folder: Path) -> None:
    """Run Cython on the kernels."""
    directives = "language_level=3,boundscheck=False,wraparound=False,cdivision=True"
    subprocess.run(
        [sys.executable, "-m", "cython", "-X", directives, "-I", PACKAGE.parent, "-o", folder,
         *(PACKAGE / "physics" / f"{name}.pyx" for name in KERNELS)],
        check=True,
        cwd=PACKAGE.parent,
    )  # fmt: skip


def ask(compiler: str, source: Path) -> str:
    """Compile and return what the compiler says of vectors, function by function."""
    dump = source.with_suffix(".vect")
    subprocess.run(
        [compiler, *flags(), *SHORTCUTS, f"-I{PACKAGE}", f"-I{INCLUDE}",
         f"-I{sysconfig.get_path('include')}",
         f"-fdump-tree-vect-optimized={dump}", "-S", "-o", os.devnull, source],
        check=True,
        capture_output=True,
    )  # fmt: skip
    told = re.compile(r"^;; Function \S+|^\S+: optimized: loop vectorized .*", re.MULTILINE)
    return "\n".join(told.findall(dump.read_text()))


def parse(text: str) -> Report:
    """The compiler's words as a table."""
    report: Report = defaultdict(list)
    function = ""
    for line in text.splitlines():
        if line.startswith(";; Function "):
            function = line.split()[2].partition(".")[0]  # what follows says how it was cloned
        elif match := re.match(
            r"(?:.*/)?([^/:]+):(\d+):\d+: optimized: loop vectorized using (\d+) byte", line
        ):
            report[function, match[1], int(match[2])].append(int(match[3]))
    return report


@pytest.fixture(scope="module")
def reports(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Report]:
    """Reports of every kernel, and of the engine's loops."""
    compiler, version = find_compiler()
    content = hashlib.sha256(" ".join([version, *flags(), *SHORTCUTS, ENGINE_SOURCE]).encode())
    for path in sorted([*PACKAGE.rglob("*.h"), *(PACKAGE / "physics").glob("*.p*")]):
        content.update(path.read_bytes())
    key = f"gymcore/vectorised-{content.hexdigest()[:24]}"
    texts = request.config.cache.get(key, None) if request.config.cache else None
    if texts is None:
        folder = tmp_path_factory.mktemp("vectorised")
        (folder / "engine.c").write_text(ENGINE_SOURCE)
        translate(folder)
        names = ("acrobot", "engine", *(set(KERNELS) - {"acrobot"}))
        with ThreadPoolExecutor(2) as pool:
            told = pool.map(lambda name: ask(compiler, folder / f"{name}.c"), names)
            texts = dict(zip(names, told, strict=True))
        if request.config.cache:
            request.config.cache.set(key, texts)
    return {name: parse(text) for name, text in texts.items()}


def line_of(header: str, comment: str) -> int:
    """Number of the line that carries `/* loop: <comment> */`."""
    (path,) = PACKAGE.rglob(header)
    lines = path.read_text().splitlines()
    found = [number for number, line in enumerate(lines, 1) if f"/* loop: {comment} */" in line]
    assert len(found) == 1, f"{header} has {len(found)} loops called {comment!r}"
    return found[0]


@pytest.mark.parametrize("isa", WIDTHS)
@pytest.mark.parametrize("loop", STEP_LOOPS)
@pytest.mark.parametrize("name", KERNELS)
def test_kernels(reports: dict[str, Report], name: str, loop: str, isa: str) -> None:
    function, line = f"{name}_{loop}_{isa}", line_of("lanes.h", "step")
    # The compiler names the line of the loop, or that of the pragma before it.
    widths = [w for k in (line - 1, line) for w in reports[name].get((function, "lanes.h", k), [])]
    assert WIDTHS[isa] in widths, f"{function} is not vector code: {reports[name]}"


@pytest.mark.parametrize("isa", WIDTHS)
@pytest.mark.parametrize(("header", "function", "comment"), ENGINE_LOOPS)
def test_engine(
    reports: dict[str, Report], header: str, function: str, comment: str, isa: str
) -> None:
    where = (f"{function}_{isa}", header, line_of(header, comment))
    assert WIDTHS[isa] in reports["engine"].get(where, []), reports["engine"]


def test_a_loop_with_a_branch_is_noticed(tmp_path: Path) -> None:
    """The judge can tell: a loop that calls an unknown function is not reported."""
    compiler, _ = find_compiler()
    source = tmp_path / "probe.c"
    source.write_text(
        "double f(double);\n"
        "void plain_v3(double *x, long n) { for (long i = 0; i < n; i++) x[i] += 1.0; }\n"
        "void calling_v3(double *x, long n) { for (long i = 0; i < n; i++) x[i] = f(x[i]); }\n"
    )
    report = parse(ask(compiler, source))
    assert ("plain_v3", "probe.c", 2) in report
    assert not any(function == "calling_v3" for function, _, _ in report)
