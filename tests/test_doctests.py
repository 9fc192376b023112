"""Every example in a docstring of gymcore and of its compiled modules runs."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
from pathlib import Path

import pytest

import gymcore
import gymcore_ext
from tests.for_each import for_each

PACKAGES = (gymcore, gymcore_ext)
MODULES = [package.__name__ for package in PACKAGES] + [
    module.name
    for package in PACKAGES
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith("__main__")
]
# Packages that raise at import if a dependency is missing.
NEEDS = {
    "gymcore.envs.phys2d": "jax",
    "gymcore.envs.tabular": "jax",
    "gymcore.interop.dm_env": "dm_env",
    "gymcore.jit.compiler": "numba",
    "gymcore.interop.rl_games": "rl_games",
    "gymcore.interop.sb3": "stable_baselines3",
    "gymcore.interop.tianshou": "tianshou",
    "gymcore.interop.torchrl": "torchrl",
    "gymcore.learn.dataset": "h5py",
}


class Finder(doctest.DocTestFinder):
    """Finder that also sees functions and methods compiled by Cython, which doctest skips."""

    def find_all(self, name: str) -> list[doctest.DocTest]:
        module = importlib.import_module(name)
        found = {test.name: test for test in self.find(module, name)}
        if not (module.__file__ or "").endswith((".so", ".pyd")):
            return list(found.values())
        for key, value in vars(module).items():
            if getattr(value, "__module__", None) != name:
                continue
            members = {f"{name}.{key}": value}
            if isinstance(value, type):
                members |= {f"{name}.{key}.{k}": member for k, member in vars(value).items()}
            for full_name, member in members.items():
                text = getattr(member, "__doc__", None)
                if isinstance(text, str) and ">>>" in text and full_name not in found:
                    parser = doctest.DocTestParser()
                    found[full_name] = parser.get_doctest(
                        text, vars(module).copy(), full_name, None, 0
                    )
        return list(found.values())


def package_of(name: str) -> str:
    """Return the package below `gymcore` that a module belongs to."""
    return ".".join(name.split(".")[:2])


def documented(name: str) -> list[doctest.DocTest]:
    return [test for test in Finder().find_all(name) if test.examples]


def run_examples(name: str, folder: Path) -> None:
    """Run the examples of a module in a folder of its own."""
    tests = documented(name)
    if tests:
        (folder / name).mkdir()
        os.chdir(folder / name)
    for test in tests:
        report: list[str] = []
        runner = doctest.DocTestRunner(verbose=False)
        runner.run(test, out=report.append)
        assert not runner.failures, "".join(report)


@pytest.mark.parametrize("package", sorted({package_of(name) for name in MODULES}))
def test_examples_run(package, tmp_path, monkeypatch, registries):
    monkeypatch.chdir(tmp_path)
    modules = [name for name in MODULES if package_of(name) == package and name not in NEEDS]
    for_each("name", modules)(run_examples)(folder=tmp_path)


@pytest.mark.parametrize("name", NEEDS)
def test_examples_of_what_may_be_missing_run(name, tmp_path, monkeypatch, registries):
    pytest.importorskip(NEEDS[name])
    monkeypatch.chdir(tmp_path)
    run_examples(name, tmp_path)


def test_examples_are_found():
    """Look for a function, a class and a method, in Python and in Cython."""
    found = {test.name for name in MODULES if name not in NEEDS for test in documented(name)}
    assert "gymcore.envs.registration.register" in found
    assert "gymcore.native.vector_env.NativeVectorEnv" in found
    assert "gymcore_ext.build_info.build_info" in found
    assert "gymcore_ext.get_include" in found
    assert len(found) > 100
