"""Requirements of the tests: norms with portable last bits, a display."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture(scope="module", autouse=True)
def portable_norms() -> Iterator[None]:
    """Make Gymnasium's environments add squares one by one.

    NumPy leaves norms to BLAS, which uses fused multiply-add on processors with AVX-512. The last
    bit of Gymnasium's distances is different there.
    """
    of_numpy = np.linalg.norm

    def norm(x, ord=None, axis=None, keepdims=False):
        if np.ndim(x) == 1 and ord in (None, 2) and axis is None and not keepdims:
            return np.sqrt(np.add.accumulate(np.square(x))[-1])
        return of_numpy(x, ord, axis, keepdims)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np.linalg, "norm", norm)
        yield


@pytest.fixture(scope="session")
def display() -> Iterator[str]:
    """Yield the name of a virtual display, on which windows can be opened."""
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed (Debian: apt-get install xvfb libgl1-mesa-dri)")
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        number = server.stdout.readline().strip()  # empty if the server has ended
        if not number:
            pytest.skip("Xvfb is installed, and does not start")
        yield f":{number}"
    finally:
        server.terminate()
        server.wait(timeout=20)
        server.stdout.close()
