"""Fixtures for the whole suite."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator

import gymnasium.envs.registration
import pytest

import gymcore.envs.registration


def pytest_configure(config: pytest.Config) -> None:
    """Share compiled modules where no bytecode may be written into the tree.

    Hundreds of processes are started that would each compile the package and the tests again.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        folder = str(config.rootpath / ".pytest_cache" / "bytecode")
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = folder
        sys.dont_write_bytecode = False


def pytest_collection_finish() -> None:
    """Leave what has been collected out of every `gc.collect()`: millions of objects that stay."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def registries() -> Iterator[None]:
    """Let a test register environments in both packages; the registries are restored afterwards."""
    packages = [gymcore.envs.registration, gymnasium.envs.registration]
    before = [dict(package.registry) for package in packages]
    aliases = dict(gymcore.envs.registration.aliases)
    yield
    for package, content in zip(packages, before, strict=True):
        package.registry.clear()
        package.registry.update(content)
    gymcore.envs.registration.aliases.clear()
    gymcore.envs.registration.aliases.update(aliases)
