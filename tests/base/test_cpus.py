"""The number of usable CPUs: the affinity of the process, and quotas of its control groups."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gymcore.base import cpus


@pytest.fixture
def cgroup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the control groups of a process in `slice/job`."""
    inner = tmp_path / "slice" / "job"
    inner.mkdir(parents=True)
    monkeypatch.setattr(cpus, "_CGROUP", tmp_path)
    monkeypatch.setattr(cpus, "_cgroup_folders", lambda: [inner, inner.parent, tmp_path])
    return tmp_path


def test_without_a_quota_the_affinity_counts(cgroup: Path) -> None:
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    usable = affinity or os.cpu_count()
    assert cpus.usable_cpus() == usable
    limits = {"cpus": os.cpu_count(), "affinity": affinity, "cgroup": None, "usable": usable}
    assert cpus.thread_limits() == limits


@pytest.mark.parametrize(
    ("files", "quota", "usable"),
    [
        ({"slice/job/cpu.max": "150000 100000"}, 1.5, 2),
        ({"slice/job/cpu.max": "25000 100000"}, 0.25, 1),
        ({"slice/job/cpu.max": "max 100000"}, None, 8),
        ({"slice/job/cpu.max": "max 100000", "slice/cpu.max": "300000 100000"}, 3.0, 3),
        ({"slice/job/cpu.max": "400000 100000", "slice/cpu.max": "300000 100000"}, 3.0, 3),
        ({"slice/job/cpu.max": "9900000 100000"}, 99.0, 8),
        ({"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}, 2.0, 2),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None, 8),
    ],
)
def test_the_smallest_quota_counts(
    cgroup: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    quota: float | None,
    usable: int,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    for name, text in files.items():
        (cgroup / name).parent.mkdir(exist_ok=True)
        (cgroup / name).write_text(text)
    limits = cpus.thread_limits()
    assert (limits["cgroup"], limits["usable"], cpus.usable_cpus()) == (quota, usable, usable)
