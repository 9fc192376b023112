"""The number of CPUs that this process may use, by its affinity and container limits."""

from __future__ import annotations

import math
import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def usable_cpus() -> int:
    """Return the number of threads of this process that can run at once, at least 1."""
    return int(thread_limits()["usable"] or 1)


def thread_limits() -> dict[str, int | float | None]:
    """Return the number of threads that can run at once, and the limits that determine it.

    Returns:
        `cpus`: CPUs of the machine; `affinity`: those that this process may use (None if the
        platform has no affinity); `cgroup`: the container's quota in CPUs, which may be fractional
        (None without a quota); `usable`: the smallest of these, rounded up, at least 1.
    """
    cpus = os.cpu_count() or 1
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    quota = _cgroup_cpus()
    usable = affinity if affinity is not None else cpus
    if quota is not None:
        usable = min(usable, math.ceil(quota))
    return {"cpus": cpus, "affinity": affinity, "cgroup": quota, "usable": max(1, usable)}


def _read_words(path: Path) -> list[str]:
    """Return the words of a small file; an empty list if it cannot be read."""
    try:
        return path.read_text().split()
    except OSError:
        return []


def _cgroup_folders() -> list[Path]:
    """Return the folders, innermost first, whose limits apply to this process (cgroup v2)."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    inner = next((line[3:] for line in lines if line.startswith("0::")), "/")
    folder = _CGROUP / inner.strip("/")
    # In a container, this may be the path of the group outside; then only the root exists here.
    folders = [folder, *folder.parents]
    return [each for each in folders if each == _CGROUP or _CGROUP in each.parents]


def _cgroup_cpus() -> float | None:
    """Return the smallest CPU quota that applies, in CPUs (cgroup v2, then v1)."""
    quotas = []
    for folder in _cgroup_folders():
        words = _read_words(folder / "cpu.max")
        if len(words) == 2 and words[0] != "max":
            quotas.append(int(words[0]) / int(words[1]))
    quota = _read_words(_CGROUP / "cpu" / "cpu.cfs_quota_us")
    period = _read_words(_CGROUP / "cpu" / "cpu.cfs_period_us")
    if quota and period and int(quota[0]) > 0:
        quotas.append(int(quota[0]) / int(period[0]))
    return min(quotas, default=None)
