"""Compilers turn the loops over lanes into vector code, with the flags of the build.

Every supported GCC and Clang on PATH is tested, for every instruction set. Each takes a dozen
seconds to compile, a third of it for Acrobot, so the reports are kept in pytest's cache until a
source, the flags or the compiler change.
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
from typing import NamedTuple

import pytest

import gymcore_ext
from gymcore_ext.build_info import build_info
from tests.ext.lanes import KERNELS

HERE = Path(__file__).parent
PACKAGE = Path(gymcore_ext.__file__).parent
INCLUDE = PACKAGE / "include"
# Vector size in bytes of each instruction set that the loops are compiled for.
WIDTHS = {
    "x86_64": {"baseline": 16, "v2": 16, "v3": 32, "v4": 64},
    "aarch64": {"baseline": 16},
}.get(platform.machine(), {})
# Functions of every kernel that contain the loop of a step.
STEP_LOOPS = ("step_shared", "step_varied")
# Kernels whose steps compute. Table kernels gather, which is no faster as vector code.
COMPUTING = (*KERNELS, "blackjack")
# Loops of the engine: header, function, comment.
ENGINE_LOOPS = [
    ("lifecycle.h", "gymcore_count_step", "count steps"),
    ("lifecycle.h", "gymcore_outside", "check actions"),
    ("array_math.c", "sincos_array", "sine and cosine"),
    ("array_math.c", "mod_array", "mod two pi"),
]
ENGINE_SOURCE = """
#include "engine/lifecycle.h"
#include "array_math.c"
const void *tables[] = { gymcore_lifecycles };
"""
# The passes after vectorization take most of GCC's time and change nothing in the report.
SHORTCUTS = (
    "-fdisable-rtl-combine", "-fdisable-rtl-postreload", "-fno-gcse", "-fno-gcse-after-reload",
    "-fno-rerun-cse-after-loop", "-fira-algorithm=priority", "-fira-region=one",
    "-fno-schedule-insns2", "-g0",
    "--param=vect-epilogues-nomask=0",  # no second vector loop for the last lanes
)  # fmt: skip

# (function, header, line) -> vector widths in bytes, for each loop that this line became
Report = dict[tuple[str, str, int], list[int]]


class Compiler(NamedTuple):
    """A compiler on PATH."""

    command: str
    family: str
    version: str

    def __str__(self) -> str:
        """Return the name of the compiler's tests."""
        return f"{self.family} {self.version}"

    def isas(self) -> list[str]:
        """Return the instruction sets for which loops must be vector code."""
        isas = list(WIDTHS)
        if platform.machine() == "x86_64" and self.family == "GCC" and self.version < "14":
            isas.remove("baseline")  # GCC 12 does not vectorize comparisons for plain SSE2
        return isas

    def cannot_store(self, name: str) -> bool:
        """Return whether observations keep a step scalar: GCC 14 cannot store six NEON float32."""
        new = self.family == "GCC" and self.version >= "14"
        return name == "acrobot" and new and platform.machine() == "aarch64"


def find_compilers() -> list[Compiler]:
    """Return the compilers on PATH, each version once: GCC 12 and newer, Clang 16 and newer."""
    names = [*shlex.split(os.environ.get("CC", ""))[:1], "gcc", "clang"]
    names += [f"gcc-{k}" for k in range(12, 20)] + [f"clang-{k}" for k in range(16, 30)]
    compilers = {}
    for command in filter(None, map(shutil.which, names)):
        macros = subprocess.run(
            [command, "-dM", "-E", "-x", "c", os.devnull],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        clang = "__clang__" in macros
        prefix, oldest = ("clang_", 16) if clang else ("GNUC", 12)
        numbers = dict(re.findall(rf"#define __{prefix}(\w*?)_*_ (\d+)$", macros, re.MULTILINE))
        parts = ("major", "minor", "patchlevel") if clang else ("", "_MINOR", "_PATCHLEVEL")
        version = ".".join(numbers.get(part, "0") for part in parts)
        if int(version.partition(".")[0]) >= oldest:
            compiler = Compiler(command, "Clang" if clang else "GCC", version)
            compilers.setdefault(str(compiler), compiler)
    return list(compilers.values())


COMPILERS = find_compilers()


def flags() -> list[str]:
    """Return the flags with which the project's modules in use were built."""
    facts = build_info()
    for switch in ("debug", "sanitized", "coverage"):
        if facts[switch]:
            pytest.skip(f"a build for {switch} is not optimized")
    return [*facts["flags"].split(), "-fPIC", "-fwrapv", "-DNDEBUG"]


def translate(folder: Path) -> None:
    """Run Cython on the kernels."""
    directives = "language_level=3,boundscheck=False,wraparound=False,cdivision=True"
    subprocess.run(
        [sys.executable, "-m", "cython", "-X", directives, "-I", PACKAGE.parent, "-o", folder,
         *(PACKAGE / "physics" / f"{name}.pyx" for name in COMPUTING)],
        check=True,
        cwd=PACKAGE.parent,
    )  # fmt: skip


def ask(compiler: Compiler, source: Path) -> str:
    """Compile, and return the compiler's vectorization report, function by function."""
    dump = source.with_suffix(f".{compiler.family}")
    if compiler.family == "GCC":
        report = [*SHORTCUTS, f"-fdump-tree-vect-optimized={dump}"]
        told = re.compile(r"^;; Function \S+|^\S+: optimized: loop vectorized .*", re.MULTILINE)
    else:
        report = ["-fsave-optimization-record=yaml", f"-foptimization-record-file={dump}",
                  "-foptimization-record-passes=loop-vectorize"]  # fmt: skip
        told = re.compile(r"^--- !Passed\n.*?^\.\.\.$", re.MULTILINE | re.DOTALL)
    subprocess.run(
        [compiler.command, *flags(), *report, f"-I{PACKAGE}", f"-I{INCLUDE}", f"-I{HERE}",
         f"-I{sysconfig.get_path('include')}", "-S", "-o", os.devnull, source],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return "\n".join(told.findall(dump.read_text()))


def parse(text: str) -> Report:
    """Return the report as a table."""
    report: Report = defaultdict(list)
    function = ""
    for line in text.splitlines():
        if line.startswith(";; Function "):
            function = line.split()[2].partition(".")[0]  # the suffix says how it was cloned
        elif match := re.match(
            r"(?:.*/)?([^/:]+):(\d+):\d+: optimized: loop vectorized using (\d+) byte", line
        ):
            report[function, match[1], int(match[2])].append(int(match[3]))
    for record in text.split("--- !Passed")[1:]:
        (header, line), (name,), (lanes,) = (
            re.search(pattern, record).groups()  # type: ignore[union-attr]
            for pattern in (
                r"DebugLoc:\s+{ File: '?(?:[^',]*/)?([^/',]+)'?,\s+Line: (\d+)",
                r"Function: +'?([\w.]+)",
                r"VectorizationFactor: +'?(\d+)",
            )
        )
        # Lanes per iteration; most variables of a lane have eight bytes.
        report[name.partition(".")[0], header, int(line)].append(int(lanes) * 8)
    return report


@pytest.fixture(scope="module", params=COMPILERS or [None], ids=str)
def compiler(request: pytest.FixtureRequest) -> Compiler:
    """Return a compiler to test."""
    if not WIDTHS:
        pytest.skip(f"instruction sets of x86-64 and aarch64, not of {platform.machine()}")
    if request.param is None:
        pytest.skip("no GCC 12 or newer and no Clang 16 or newer on PATH")
    return request.param


@pytest.fixture(scope="module")
def reports(
    request: pytest.FixtureRequest, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Report]:
    """Return the reports of every kernel, and of the engine's loops."""
    content = hashlib.sha256(
        " ".join([str(compiler), *flags(), *SHORTCUTS, *COMPUTING, ENGINE_SOURCE]).encode()
    )
    sources = [*PACKAGE.rglob("*.h"), *(PACKAGE / "physics").glob("*.p*"), HERE / "array_math.c"]
    for path in sorted(sources):
        content.update(path.read_bytes())
    key = f"gymcore/vectorized-{content.hexdigest()[:24]}"
    cache = getattr(request.config, "cache", None)  # absent with `-p no:cacheprovider`
    texts = cache.get(key, None) if cache else None
    if texts is None:
        folder = tmp_path_factory.mktemp("vectorized")
        (folder / "engine.c").write_text(ENGINE_SOURCE)
        translate(folder)
        names = ("acrobot", "engine", *(set(COMPUTING) - {"acrobot"}))
        with ThreadPoolExecutor(2) as pool:
            told = pool.map(lambda name: ask(compiler, folder / f"{name}.c"), names)
            texts = dict(zip(names, told, strict=True))
        if cache:
            cache.set(key, texts)
    return {name: parse(text) for name, text in texts.items()}


def line_of(header: str, comment: str) -> int:
    """Return the number of the line with `/* loop: <comment> */`."""
    (path,) = [*PACKAGE.rglob(header), *HERE.glob(header)]
    lines = path.read_text().splitlines()
    found = [number for number, line in enumerate(lines, 1) if f"/* loop: {comment} */" in line]
    assert len(found) == 1, f"{header} has {len(found)} loops called {comment!r}"
    return found[0]


def widths_of(report: Report, function: str, header: str, comment: str) -> list[int]:
    """Return the vector widths of a loop, reported for its line or that of the pragma before it."""
    line = line_of(header, comment)
    return [w for k in (line - 1, line) for w in report.get((function, header, k), [])]


@pytest.mark.slow
@pytest.mark.parametrize("loop", STEP_LOOPS)
@pytest.mark.parametrize("name", COMPUTING)
def test_kernels(compiler: Compiler, reports: dict[str, Report], name: str, loop: str) -> None:
    for isa in compiler.isas():
        widths = widths_of(reports[name], f"{name}_{loop}_{isa}", "lanes.h", "step")
        if compiler.cannot_store(name):
            assert not widths, f"{compiler} vectorizes {name} now: remove the exception"
        else:
            assert max(widths, default=0) >= WIDTHS[isa], f"{isa}: {reports[name]}"


@pytest.mark.parametrize(("header", "function", "comment"), ENGINE_LOOPS)
def test_engine(
    compiler: Compiler, reports: dict[str, Report], header: str, function: str, comment: str
) -> None:
    for isa in compiler.isas():
        widths = widths_of(reports["engine"], f"{function}_{isa}", header, comment)
        assert max(widths, default=0) >= WIDTHS[isa], f"{isa}: {reports['engine']}"


def test_a_loop_with_a_branch_is_noticed(compiler: Compiler, tmp_path: Path) -> None:
    """The check detects failures: a loop that calls an unknown function is not reported."""
    source = tmp_path / "probe.c"
    source.write_text(
        "double f(double);\n"
        "void plain_v3(double *x, long n) { for (long i = 0; i < n; i++) x[i] += 1.0; }\n"
        "void calling_v3(double *x, long n) { for (long i = 0; i < n; i++) x[i] = f(x[i]); }\n"
    )
    report = parse(ask(compiler, source))
    assert ("plain_v3", "probe.c", 2) in report
    assert not any(function == "calling_v3" for function, _, _ in report)
