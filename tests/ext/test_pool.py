"""The pool in pool.h itself: each lane is processed once, without a data race."""

from __future__ import annotations

import shutil

import pytest

from tests.ext.test_channel_c import HERE, compiled, pytestmark, run

__all__ = ["pytestmark"]

STUBS = f"-I{HERE / 'threads_without_python'}"


@pytest.mark.parametrize("workers", ["1", "3", "8"])
def test_every_lane_is_worked_on_once(tmp_path, workers):
    done = run(compiled(tmp_path, "pool_shares.c", "-O2", STUBS), workers, "3000")
    assert (done.stdout, done.stderr) == ("right\n", "")


def test_no_data_race(tmp_path):
    program = compiled(tmp_path, "pool_shares.c", "-O1", "-fsanitize=thread", STUBS)
    # ThreadSanitizer's shadow memory does not fit every address layout the kernel may choose.
    fixed = ["setarch", "-R"] if shutil.which("setarch") else []
    done = run(*fixed, program, "3", "600")
    if "unexpected memory mapping" in done.stderr or "setarch: " in done.stderr:
        pytest.skip("needs ThreadSanitizer to work on this kernel")
    assert (done.stdout, done.stderr, done.returncode) == ("right\n", "", 0)
