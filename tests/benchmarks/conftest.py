from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
# In import order, as `benchmarks/worker.py` and `peers.py` load them.
FILES = {
    name: ROOT / "benchmarks" / f"{name}.py"
    for name in (
        "contenders", "bars", "box2d_bars", "toy_bars", "minigrid_bars", "mpe_bars", "lbf_bars",
        "rware_bars", "mujoco_ids", "mujoco_bars", "dm_control_bars", "engine_bars", "measures",
        "ping_pong", "python_envs", "engine_sessions", "engine_measures",
        "wrapper_bars", "wrapper_measures", "atari_bars", "atari_measures", "remote_bars",
        "remote_measures", "ray_measures", "interop_measures", "interop_bars", "learn_bars",
        "learn_measures", "jit_bars", "jit_measures", "chart", "peers", "compilers",
    )
}  # fmt: skip


@pytest.fixture(scope="session")
def loaded():
    """Return the modules of `benchmarks/`, which is not a package, loaded as by its scripts."""
    before = {name: sys.modules.get(name) for name in FILES}
    search = list(sys.path)
    modules = {}
    for name, path in FILES.items():
        spec = importlib.util.spec_from_file_location(name, path)
        modules[name] = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(modules[name])
    sys.path[:] = search  # scripts add their folders
    yield SimpleNamespace(**modules)
    for name, module in before.items():
        if module is None:
            del sys.modules[name]
        else:
            sys.modules[name] = module


@pytest.fixture(scope="session")
def bars(loaded):
    return loaded.bars
