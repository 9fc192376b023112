"""The cost of a program before its first step: imports and construction."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import gymcore


@pytest.mark.parametrize("modules", ("numpy", "numpy, gymcore"))
def bench_import(benchmark: Any, modules: str) -> None:
    """Time imports in fresh interpreters; the difference of both is gymcore's part."""
    benchmark.group = "import"
    command = [sys.executable, "-c", f"import {modules}"]
    done = benchmark(lambda: subprocess.run(command, check=True))
    assert done.returncode == 0


def bench_make(benchmark: Any, env_id: str) -> None:
    benchmark.group = "make"
    env = benchmark(lambda: gymcore.make(env_id))
    assert env.spec is not None and env.spec.id == env_id


@pytest.mark.parametrize("num_envs", (1, 64, 65536))
def bench_make_vec(benchmark: Any, env_id: str, num_envs: int) -> None:
    benchmark.group = f"make_vec n={num_envs}"

    def make() -> Any:
        envs = gymcore.make_vec(env_id, num_envs=num_envs)
        envs.close()
        return envs

    envs = benchmark(make)
    assert envs.num_envs == num_envs
