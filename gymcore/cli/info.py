"""`gymcore info`: what is installed and what it runs on, for bug reports."""

from __future__ import annotations

import argparse
import json

HELP = "print versions, the processor, compiler and CPU features, for a bug report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gymcore info`."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Print the facts; see `gymcore.cli.machine.facts` for what they are.

    Args:
        arguments: The parsed options.

    Returns:
        The exit code 0.
    """
    from gymcore.cli.common import byte_count
    from gymcore.cli.machine import facts

    found = facts()
    if arguments.json:
        print(json.dumps(found, indent=2))
        return 0
    threads, memory = found["threads"], found["memory_available"]
    affinity = "unknown" if threads["affinity"] is None else threads["affinity"]
    quota = "none" if threads["cgroup"] is None else f"{threads['cgroup']:g} CPUs"
    lines = {
        "gymcore": found["gymcore"],
        "Python": f"{found['python']} ({found['implementation']})",
        "numpy": found["numpy"],
        "platform": found["platform"],
        "CPU": found["cpu"],
        "threads": f"{threads['usable']} usable ({threads['cpus']} CPUs, affinity {affinity}, "
        f"cgroup quota {quota})",
        "free memory": "unknown" if memory is None else byte_count(memory),
    }
    for name, value in found["build"].items():
        lines[str(name).replace("_", " ")] = _text(value)
    if not found["build"]:
        lines["compiled modules"] = "none found"
    here = {name: version for name, version in found["packages"].items() if version is not None}
    lines["optional packages"] = ", ".join(f"{k} {v}" for k, v in here.items()) or "none"
    missing = [name for name in found["packages"] if name not in here]
    lines["not installed"] = ", ".join(missing) or "none"
    width = max(map(len, lines))
    for name, value in lines.items():
        print(f"{name.ljust(width)}  {value}")
    return 0


def _text(value: object) -> str:
    """Return a compiled fact as text: lists and tables joined by blanks."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(each)}" for name, each in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return " ".join(map(str, value))
    return str(value)
