"""tools/soak.py steps, plots its resources, and fails on growth and on wrong rows."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.vector.isolation import isolated

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    importlib.import_module("matplotlib.backends.backend_agg")  # once, not in every forked test
    spec = importlib.util.spec_from_file_location("soak", ROOT / "tools/soak.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["soak"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("mode, steps", [("native", "8e5"), ("box2d", "2e4"), ("async", "400")])
@isolated(150.0, leaks=False)  # matplotlib keeps font files open
def test_a_short_run(tool: ModuleType, tmp_path: Path, capsys: Any, mode: str, steps: str) -> None:
    """In async mode it includes 20 kills."""
    tool.NATIVE_LANES = 256  # only in this process
    tool.main([mode, "--steps", steps, "--plot", str(tmp_path / "soak.png")])
    assert "steps/s" in capsys.readouterr().out
    assert (tmp_path / "soak.png").read_bytes().startswith(b"\x89PNG")


@isolated(60.0)
def test_pages_shared_with_other_processes_count_in_full(tool: ModuleType) -> None:
    pages = b"1" * (16 << 20)
    alone = tool.memory(os.getpid())
    child = os.fork()
    if child == 0:
        signal.pause()
    shared = tool.memory(os.getpid())
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert abs(shared - alone) < len(pages) // 4


@pytest.mark.parametrize("name", ["memory", "descriptors", "threads", "processes"])
def test_growth_is_found(tool: ModuleType, name: str) -> None:
    flat = [tool.Sample(k, k, 1 << 25, 20 + k % 3, 3 + k % 2, 4 - k % 2) for k in range(40)]
    assert tool.growth(flat) == []
    amount = 1 << 21 if name == "memory" else 1
    grown = [
        each._replace(**{name: getattr(each, name) + amount * k // 4})
        for k, each in enumerate(flat)
    ]
    (text,) = tool.growth(grown)
    assert text.startswith(f"{name} grew from ")
    assert tool.growth(flat[:10]) == ["too few samples: take more steps"]


def test_wrong_rows_are_found(tool: ModuleType) -> None:
    def results_of(step: Any = lambda results: None) -> Any:
        envs = [tool.Mixing(lane) for lane in range(tool.LANES)]
        expected = tool.Expected(np.stack([env.reset()[0] for env in envs]))
        observations, rewards, *flags = zip(*(env.step(7)[:4] for env in envs), strict=True)
        results = (np.stack(observations), np.array(rewards), *map(np.array, flags), {})
        step(results)
        return expected.check([7] * tool.LANES, results)

    assert results_of() == set()
    with pytest.raises(SystemExit, match=r"observations\[3\]"):
        results_of(lambda results: results[0][3, 8:].fill(0))
    with pytest.raises(SystemExit, match=r"rewards\[0\]"):
        results_of(lambda results: results[1].__setitem__(0, 1))
    with pytest.raises(SystemExit, match=r"truncations\[5\]"):
        results_of(lambda results: results[3].__setitem__(5, True))
