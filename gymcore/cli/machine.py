"""What this machine has: processor, usable threads, free memory, installed packages."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from gymcore.utils.cpus import _cgroup_folders, _read_words, thread_limits

#: Import name of every optional package -> the distribution that carries it.
OPTIONAL_PACKAGES = {
    "pygame": "pygame",
    "Box2D": "box2d",
    "mujoco": "mujoco",
    "ale_py": "ale-py",
    "cv2": "opencv-python-headless",
    "imageio": "imageio",
    "lz4": "lz4",
    "matplotlib": "matplotlib",
    "zmq": "pyzmq",
    "msgpack": "msgpack",
    "ray": "ray",
    "torch": "torch",
    "jax": "jax",
    "gymnasium": "gymnasium",
    "envpool": "envpool",
    "stable_baselines3": "stable-baselines3",
    "pufferlib": "pufferlib",
}


def cpu_model() -> str:
    """Return the processor's name as the operating system gives it, "unknown" if it does not."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("model name", "Model\t", "Hardware")):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    if sys.platform == "darwin":
        try:
            answer = subprocess.run(
                ["sysctl", "-n", "machdep.cpu.brand_string"],
                capture_output=True,
                text=True,
                timeout=5,
                check=True,
            )
            return answer.stdout.strip()
        except (OSError, subprocess.SubprocessError):
            pass
    return platform.processor() or "unknown"


def available_memory() -> int | None:
    """Return the bytes that can still be allocated without swapping, None if nobody tells.

    The container's limit (cgroup v2) counts as well as the machine's free memory.
    """
    limits = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                limits.append(int(line.split()[1]) * 1024)
    except OSError:
        pass
    if not limits and hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for folder in _cgroup_folders():
        most = _read_words(folder / "memory.max")
        now = _read_words(folder / "memory.current")
        if most and now and most[0] != "max":
            limits.append(max(0, int(most[0]) - int(now[0])))
    return min(limits, default=None)


def package_versions() -> dict[str, str | None]:
    """Return the version of every optional package, None where it is missing; imports nothing."""
    versions: dict[str, str | None] = {}
    distributions = metadata.packages_distributions()
    for module, usual in OPTIONAL_PACKAGES.items():
        # Several distributions carry the same module (opencv-python and its headless twin).
        names = [*distributions.get(module, []), usual]
        versions[module] = next((v for v in map(_version, names) if v is not None), None)
    return versions


def _version(distribution: str) -> str | None:
    """Return the version of an installed distribution, None if it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def build_facts() -> dict[str, Any]:
    """Return what the compiled modules say of themselves: compiler, flags, Cython, CPU features.

    Returns:
        The answer of `gymcore_ext.build_info.build_info()`; empty if nothing is compiled. Where it
        refuses (`GYMCORE_ISA` names what this machine lacks), its refusal under `isa`.
    """
    try:
        from gymcore_ext.build_info import build_info
    except ImportError:
        return {}
    try:
        return dict(build_info())
    except ValueError as error:
        return {"isa": str(error)}


def facts() -> dict[str, Any]:
    """Return everything a bug report or a benchmark file should carry; JSON-ready.

    Returns:
        Versions of gymcore, Python and numpy, platform, processor, `build` (compiled modules),
        `threads`, `memory_available` [bytes] and `packages`.
    """
    import numpy as np

    import gymcore

    return {
        "gymcore": gymcore.__version__,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "numpy": np.__version__,
        "platform": platform.platform(),
        "cpu": cpu_model(),
        "build": build_facts(),
        "threads": thread_limits(),
        "memory_available": available_memory(),
        "packages": package_versions(),
    }
