"""Fixtures for the whole suite."""

from __future__ import annotations

from collections.abc import Iterator

import gymnasium.envs.registration
import pytest

import gymcore.envs.registration


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
