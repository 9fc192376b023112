"""Compiler flags chosen by setup.py."""

from __future__ import annotations

import platform
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
import setuptools

import gymcore_ext

ROOT = Path(__file__).parents[2]


def test_every_module_is_optimized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most modules contain loops of a step; picture.pyx took 1.6 times as long with -O1."""
    for switch in ("DEBUG", "SANITIZE", "COVERAGE"):
        monkeypatch.delenv(f"GYMCORE_{switch}", raising=False)
    calls: list[dict] = []
    monkeypatch.setattr(setuptools, "setup", lambda **arguments: calls.append(arguments))
    # Not in the checkout: setup.py records there which flags it used last.
    shutil.copy(ROOT / "setup.py", tmp_path)
    (tmp_path / "gymcore_ext").symlink_to(ROOT / "gymcore_ext")
    runpy.run_path(str(tmp_path / "setup.py"), run_name="__main__")
    modules = {each.name: each.extra_compile_args for each in calls[0]["ext_modules"]}
    assert {"gymcore_ext.physics.cartpole", "gymcore_ext.box2d.picture"} <= set(modules)
    assert [name for name, flags in modules.items() if "-O3" not in flags] == []


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="-march=x86-64-v3")
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_headers_switch_contraction_off(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    code = "double multiply_add(double a, double b, double c) { return a * b + c; }\n"
    contraction = {"gcc": "fast", "clang": "on"}[compiler]  # the default
    flags = ["-O3", "-march=x86-64-v3", f"-ffp-contract={contraction}", "-w", "-S", "-o", "-"]
    include = f"-I{gymcore_ext.get_include()}"
    for header, contracted in (("", True), ('#include "gymcore/kernel.h"\n', False)):
        source = tmp_path / "multiply.c"
        source.write_text(header + code)
        done = subprocess.run(
            [compiler, *flags, include, str(source)], capture_output=True, text=True, check=True
        )
        assert ("vfmadd" in done.stdout) == contracted
