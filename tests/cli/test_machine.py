from __future__ import annotations

import json
from pathlib import Path

import pytest

from gymcore.cli import machine


@pytest.fixture
def cgroup(tmp_path: Path, monkeypatch) -> Path:
    """A control group tree with an inner group, as this process would see it."""
    inner = tmp_path / "slice" / "job"
    inner.mkdir(parents=True)
    monkeypatch.setattr(machine, "_cgroup_folders", lambda: [inner, inner.parent, tmp_path])
    return tmp_path


def test_free_memory_respects_the_container(cgroup: Path) -> None:
    free = machine.available_memory()
    assert free is None or free > 0
    (cgroup / "slice" / "memory.max").write_text("1048576\n")
    (cgroup / "slice" / "memory.current").write_text("48576\n")
    assert machine.available_memory() == 1_000_000
    (cgroup / "slice" / "memory.current").write_text("2000000\n")
    assert machine.available_memory() == 0


def test_package_versions_name_what_is_missing() -> None:
    versions = machine.package_versions()
    assert set(versions) == set(machine.OPTIONAL_PACKAGES)
    import gymnasium

    assert versions["gymnasium"] == gymnasium.__version__


def test_an_unknown_distribution_has_no_version() -> None:
    assert machine._version("no-such-distribution-anywhere") is None


def test_the_processor_has_a_name() -> None:
    assert machine.cpu_model().strip()


def test_facts_are_ready_for_json() -> None:
    import numpy as np

    import gymcore

    facts = json.loads(json.dumps(machine.facts()))
    assert facts["gymcore"] == gymcore.__version__
    assert facts["numpy"] == np.__version__
    assert facts["threads"]["usable"] >= 1
