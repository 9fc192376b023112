"""Every example in a docstring of gymcore and of its compiled modules runs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import gymcore
import gymcore_ext

PACKAGES = (gymcore, gymcore_ext)
MODULES = [package.__name__ for package in PACKAGES] + [
    module.name
    for package in PACKAGES
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith("__main__")
]
# Packages that the examples of a module need, if they may be missing.
NEEDS = {
    "gymcore.envs.phys2d": "jax",
    "gymcore.envs.tabular": "jax",
    "gymcore.interop.dm_env": "dm_env",
    "gymcore.jit.code_libraries": "numba",
    "gymcore.jit.compiled_numpy": "numba",
    "gymcore.jit.compiled_random": "numba",
    "gymcore.jit.compiler": "numba",
    "gymcore.jit.lane_memory": "numba",
    "gymcore.interop.pettingzoo.worlds": "pettingzoo",
    "gymcore.interop.rl_games": "rl_games",
    "gymcore.interop.rllib": "ray.rllib.env.multi_agent_env",
    "gymcore.interop.sb3": "stable_baselines3",
    "gymcore.interop.tianshou": "tianshou",
    "gymcore.interop.torchrl": "torchrl",
    "gymcore.learn.dataset": "h5py",
    "gymcore.wrappers.jax_to_numpy": "jax",
    "gymcore.wrappers.jax_to_torch": "jax torch",
    "gymcore.wrappers.numpy_to_torch": "torch",
    "gymcore.wrappers.vector.jax_to_numpy": "jax",
    "gymcore.wrappers.vector.jax_to_torch": "jax torch",
    "gymcore.wrappers.vector.numpy_to_torch": "torch",
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


def documented(name: str) -> list[doctest.DocTest]:
    return [test for test in Finder().find_all(name) if test.examples]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, tmp_path, monkeypatch, registries):
    for package in NEEDS.get(name, "").split():
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    for test in documented(name):
        report: list[str] = []
        runner = doctest.DocTestRunner(verbose=False)
        runner.run(test, out=report.append)
        assert not runner.failures, "".join(report)


def test_examples_are_found():
    """Look for a function, a class and a method, in Python and in Cython."""
    found = {test.name for name in MODULES if name not in NEEDS for test in documented(name)}
    assert "gymcore.envs.registration.register" in found
    assert "gymcore.native.vector_env.NativeVectorEnv" in found
    assert "gymcore_ext.build_info.build_info" in found
    assert "gymcore_ext.get_include" in found
    assert len(found) > 100
