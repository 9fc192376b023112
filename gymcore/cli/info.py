"""`gymcore info`: installed packages and the platform, for bug reports."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from gymcore.base.cpus import _cgroup_folders, _read_words, thread_limits
from gymcore.base.optional_packages import OPTIONAL_PACKAGES
from gymcore.cli.formats import byte_count
from gymcore.core import Info

HELP = "print versions, processor, compiler and CPU features for a bug report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gymcore info`."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Print the result of `system_info`; return 0."""
    info = system_info()
    if arguments.json:
        print(json.dumps(info, indent=2))
        return 0
    threads, memory = info["threads"], info["memory_available"]
    affinity = "unknown" if threads["affinity"] is None else threads["affinity"]
    quota = "none" if threads["cgroup"] is None else f"{threads['cgroup']:g} CPUs"
    lines = {
        "gymcore": info["gymcore"],
        "Python": f"{info['python']} ({info['implementation']})",
        "numpy": info["numpy"],
        "platform": info["platform"],
        "CPU": info["cpu"],
        "threads": f"{threads['usable']} usable ({threads['cpus']} CPUs, affinity {affinity}, "
        f"cgroup quota {quota})",
        "free memory": "unknown" if memory is None else byte_count(memory),
    }
    for name, value in info["build"].items():
        lines[str(name).replace("_", " ")] = _text(value)
    if not info["build"]:
        lines["compiled modules"] = "none found"
    installed = {name: version for name, version in info["packages"].items() if version is not None}
    lines["pygame"] = info["pygame"]
    lines["Box2D"] = info["Box2D"]
    lines["MuJoCo"] = info["MuJoCo"]
    lines["optional packages"] = ", ".join(f"{k} {v}" for k, v in installed.items()) or "none"
    missing = [name for name in info["packages"] if name not in installed]
    lines["not installed"] = ", ".join(missing) or "none"
    width = max(map(len, lines))
    for name, value in lines.items():
        print(f"{name.ljust(width)}  {value}")
    return 0


def _text(value: object) -> str:
    """Format a value as text: lists and dicts are joined by spaces."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(item)}" for name, item in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return " ".join(map(str, value)) or "none"
    return str(value)


def cpu_model() -> str:
    """Return the processor's name as the operating system reports it, or "unknown"."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("model name", "Model\t", "Hardware")):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    if sys.platform == "darwin":
        try:
            process = subprocess.run(
                ["sysctl", "-n", "machdep.cpu.brand_string"],
                capture_output=True,
                text=True,
                timeout=5,
                check=True,
            )
            return process.stdout.strip()
        except (OSError, subprocess.SubprocessError):
            pass
    return platform.processor() or "unknown"


def available_memory() -> int | None:
    """Return the number of bytes that can be allocated without swapping; None if unknown.

    Both the container's limit (cgroup v2) and the machine's free memory are taken into account.
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
        limit = _read_words(folder / "memory.max")
        used = _read_words(folder / "memory.current")
        if limit and used and limit[0] != "max":
            limits.append(max(0, int(limit[0]) - int(used[0])))
    return min(limits, default=None)


def package_versions() -> dict[str, str | None]:
    """Return the version of every optional package, None if missing; nothing is imported."""
    versions: dict[str, str | None] = {}
    distributions = metadata.packages_distributions()
    for module, default in OPTIONAL_PACKAGES.items():
        # Several distributions provide the same module (opencv-python and its headless variant).
        names = [*distributions.get(module, []), default]
        versions[module] = next((v for v in map(_version, names) if v is not None), None)
    return versions


def _version(distribution: str) -> str | None:
    """Return the version of an installed distribution; None if it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def pygame_use() -> str:
    """Return the distribution that provides pygame, or a warning if there are two."""
    versions = {name: _version(name) for name in ("pygame-ce", "pygame")}
    installed = [f"{name} {version}" for name, version in versions.items() if version is not None]
    if len(installed) < 2:
        return "".join(installed) or "not installed"
    return (
        f"warning: {' and '.join(installed)} overwrite each other's files; run "
        "`pip uninstall pygame pygame-ce`, then `pip install pygame-ce`"
    )


def compiled_info() -> Info:
    """Return compiler, flags, Cython version and CPU features of the compiled modules.

    Empty if nothing is compiled. `isa` has the error if `GYMCORE_ISA` is not supported here.
    """
    try:
        from gymcore_ext.build_info import build_info
    except ImportError:
        return {}
    try:
        return dict(build_info())
    except ValueError as error:
        return {"isa": str(error)}


def box2d_use() -> str:
    """Return whether Box2D's functions are called from compiled code, or why not."""
    from gymcore.error import DependencyNotInstalled

    try:
        from gymcore.envs.box2d.library import problem
    except DependencyNotInstalled:
        return "not installed"
    return problem() or "called from compiled code"


def mujoco_use() -> str:
    """Return the version of MuJoCo, or a warning if it can simulate wrongly."""
    from gymcore.envs.mujoco.library import solver_problem

    version = _version("mujoco")
    if version is None:
        return "not installed"
    problem = solver_problem(version)
    return f"warning: {problem}" if problem else version


def system_info() -> Info:
    """Return everything that a bug report or benchmark file should contain, ready for JSON."""
    import numpy as np

    import gymcore

    return {
        "gymcore": gymcore.__version__,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "numpy": np.__version__,
        "platform": platform.platform(),
        "cpu": cpu_model(),
        "build": compiled_info(),
        "threads": thread_limits(),
        "memory_available": available_memory(),
        "packages": package_versions(),
        "pygame": pygame_use(),
        "Box2D": box2d_use(),
        "MuJoCo": mujoco_use(),
    }
