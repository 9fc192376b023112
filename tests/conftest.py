"""Fixtures for the whole suite."""

from __future__ import annotations

import contextlib
import enum
import gc
import importlib
import os
import pprint
import re
import sys
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Before NumPy is imported: tests run in parallel, where the threads of matrix products only wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Before SDL is initialized: it would handle SIGTERM here and in forked processes. Gymnasium ends
# its workers with SIGTERM, and its AsyncVectorEnv.close would wait for them forever.
os.environ.setdefault("SDL_NO_SIGNAL_HANDLERS", "1")

import hypothesis
import pytest

import gymcore.envs.registration
from gymcore.base.cpus import usable_cpus
from tests.vector import template

# On a busy machine an example takes longer than Hypothesis allows by default. All runs draw the
# same examples, except under the profile "new-examples", which draws new ones in every run.
for profile, same in (("gymcore", True), ("new-examples", False)):
    hypothesis.settings.register_profile(
        profile,
        deadline=None,
        derandomize=same,
        max_examples=50,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("gymcore")


def pytest_configure(config: pytest.Config) -> None:
    """Share compiled modules if no bytecode may be written into the tree.

    Otherwise each of hundreds of processes would compile the package and the tests again.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        folder = str(config.rootpath / ".pytest_cache" / "bytecode")
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = folder
        sys.dont_write_bytecode = False
    if not config.getoption("numprocesses", None):  # this process runs tests
        template.start()


def pytest_xdist_auto_num_workers() -> int:
    """Return the workers of `-n logical`: more than processors, as process tests mostly wait."""
    return usable_cpus() * 3 // 2


def pytest_unconfigure() -> None:
    """Stop the process that `pytest_configure` started."""
    template.end()


def import_tests(config: pytest.Config) -> None:
    """Import the test modules, each process of a parallel run starting at another file.

    The first run compiles all test modules, with pytest's assertions, which takes a dozen seconds.
    Processes that collected them in the same order would all compile the same module at the same
    time; this way they find most of them in the cache, compiled by another process.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return
    paths = [Path(each.partition("::")[0]).absolute() for each in config.args]
    files = [file for path in paths for file in sorted(path.rglob("test_*.py")) or [path]]
    first = int(worker["workerid"].removeprefix("gw")) * len(files) // worker["workercount"]
    for file in files[first:] + files[:first]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # collection reports this
            name = ".".join(file.relative_to(config.rootpath).with_suffix("").parts)
            importlib.import_module(name)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect tests without garbage collection, and exempt them from every later one.

    They are millions of objects that live until the end of the run.
    """
    gc.disable()
    try:
        import_tests(session.config)
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


# Types that pytest names itself, besides functions and classes.
NAMED = (str, bytes, int, float, complex, type(None), re.Pattern, enum.Enum)
# Addresses and the order of sets, which differ between the processes of a parallel run.
UNSTABLE = re.compile(r" at 0x|\{[^:{}]+\}")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name the cases that pytest would only number, so that `-k` finds them."""
    if isinstance(val, NAMED) or hasattr(val, "__name__"):
        return None
    with contextlib.suppress(RecursionError):  # of values that are nested too deeply
        name = " ".join(repr(val).split())
        if pprint.isreadable(val) and not UNSTABLE.search(name):
            return name[:80]
    return None


@pytest.fixture(scope="session")
def drawing() -> str:
    """Return the name of the OpenGL backend in which MuJoCo renders here; skip without one."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    from gymcore.envs.mujoco import gl_backend

    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    try:
        name, context, rendering = gl_backend.open_context(model, 8, 8)
    except gl_backend.RenderingUnavailable as problem:
        if None in map(gl_backend._missing, ("glfw", "egl", "osmesa")):
            raise  # an installed one should work
        pytest.skip(str(problem))
    gl_backend.free_contexts(name, context, rendering)
    return name


@pytest.fixture
def numba_if_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interpret classes of `gymcore.jit` without a warning where Numba is not installed."""
    if find_spec("numba") is None:
        monkeypatch.setenv("GYMCORE_JIT", "0")


@pytest.fixture
def registries() -> Iterator[None]:
    """Let a test register environments in both packages; restore both registries afterwards."""
    packages: list[Any] = [gymcore.envs.registration]
    with contextlib.suppress(ModuleNotFoundError):  # the last run of .ci/ecosystem has no Gymnasium
        packages.append(importlib.import_module("gymnasium.envs.registration"))
        # ale_py registers its games when it is first imported; that must outlast this test.
        importlib.import_module("ale_py")
    before = [dict(package.registry) for package in packages]
    aliases = dict(gymcore.envs.registration.aliases)
    yield
    for package, content in zip(packages, before, strict=True):
        package.registry.clear()
        package.registry.update(content)
    gymcore.envs.registration.aliases.clear()
    gymcore.envs.registration.aliases.update(aliases)
