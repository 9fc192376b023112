"""The protocol in channel.h itself: under ThreadSanitizer, without futexes, killed anywhere."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "gymcore_ext"
COMPILER = os.environ.get("CC", "cc")
NO_TRACING = 77

pytestmark = [
    pytest.mark.skipif(
        sys.platform == "win32" or shutil.which(COMPILER) is None,
        reason="needs a C compiler and POSIX",
    ),
    pytest.mark.slow,
]


def compiled(folder: Path, source: str, *flags: str) -> str:
    program = str(folder / "program")
    words = [COMPILER, "-g", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-pthread"]
    done = subprocess.run(
        [*words, *flags, f"-I{INCLUDE}", "-o", program, str(HERE / source)],
        capture_output=True,
        text=True,
    )
    if done.returncode and "-fsanitize=thread" in flags and "tsan" in done.stderr:
        pytest.skip("needs ThreadSanitizer's library")
    assert done.returncode == 0, done.stderr
    return program


def run(*words: str, seconds: float = 250) -> subprocess.CompletedProcess[str]:
    # The programs have sanitizers of their own, which conflict with one that Python runs under.
    own = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.run(words, capture_output=True, text=True, timeout=seconds, env=own)


@pytest.mark.parametrize("flags", [[], ["-DGYMCORE_NO_FUTEX"]], ids=["futex", "polling"])
@pytest.mark.parametrize("workers", ["1", "4"])
def test_threads_get_every_number_right(tmp_path, flags, workers):
    program = compiled(tmp_path, "channel_threads.c", "-O2", *flags)
    done = run(program, workers, "12", "100" if flags else "1000")
    assert (done.stdout, done.stderr) == ("right\n", "")


def test_no_data_race(tmp_path):
    program = compiled(tmp_path, "channel_threads.c", "-O1", "-fsanitize=thread")
    # ThreadSanitizer's shadow memory does not fit every address layout the kernel may choose.
    fixed = ["setarch", "-R"] if shutil.which("setarch") else []
    done = run(*fixed, program, "4", "12", "200")
    if "unexpected memory mapping" in done.stderr or "setarch: " in done.stderr:
        pytest.skip("needs ThreadSanitizer to work on this kernel")
    assert (done.stdout, done.stderr, done.returncode) == ("right\n", "", 0)


@pytest.mark.timeout(1800)  # 4 s; on a busy machine each instruction waits for two time slices
@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="needs ptrace on x86-64 Linux"
)
@pytest.mark.parametrize(
    ("source", "level"),
    [
        ("channel_killed.c", "-O0"),
        ("channel_killed.c", "-O2"),
        ("channel_steps.c", "-O2"),
        pytest.param("channel_steps.c", "-O0", marks=pytest.mark.soak),
    ],
)
def test_stopped_or_killed_at_any_instruction(tmp_path, source, level):
    # Bind now: resolving function names lazily would add hundreds of instructions to step through.
    done = run(compiled(tmp_path, source, level, "-Wl,-z,now"), seconds=1700)
    if done.returncode == NO_TRACING:
        pytest.skip("needs the right to ptrace")
    assert (done.stderr, done.returncode) == ("", 0)
    assert len(done.stdout.splitlines()) == (10 if source == "channel_steps.c" else 1)
