"""Print the public names of gymcore, one per line, or compare those of two commits.

    python tools/public_names.py               the names of the gymcore that Python imports
    python tools/public_names.py 70cff83       names this checkout lacks and adds, against a commit

A name counts where a user finds it: in a namespace that has `__all__`, with the public attributes
of the classes there.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import pkgutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def public_names() -> set[str]:
    """Return the names, as `gymcore.spaces.Box.sample`; skip modules that cannot be imported."""
    import gymcore

    names: set[str] = set()
    modules = pkgutil.walk_packages(gymcore.__path__, "gymcore.", onerror=lambda name: None)
    for module_name in ["gymcore", *(module.name for module in modules)]:
        if any(part.startswith("_") for part in module_name.split(".")):
            continue
        try:
            module = importlib.import_module(module_name)
        except Exception as problem:
            print(f"not imported: {module_name}: {problem}", file=sys.stderr)
            continue
        for name in getattr(module, "__all__", ()):
            names.add(f"{module_name}.{name}")
            value = getattr(module, name)
            if inspect.isclass(value) and value.__module__.startswith("gymcore"):
                attributes = (each for each in dir(value) if not each.startswith("_"))
                names.update(f"{module_name}.{name}.{each}" for each in attributes)
    return names


def names_of_commit(commit: str) -> set[str]:
    """Return the names of a commit's Python files, with the compiled modules of this checkout."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "archive", commit, "gymcore", "tools"],
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
        subprocess.run(["tar", "x", "-C", folder], input=archive.stdout, check=True)
        Path(folder, "tools", "public_names.py").write_text(Path(__file__).read_text())
        listed = subprocess.run(
            [sys.executable, "tools/public_names.py"],
            cwd=folder,
            env={"PYTHONPATH": f"{folder}:{ROOT}", "PATH": "/usr/bin:/bin"},
            check=True,
            capture_output=True,
            text=True,
        )
    return set(listed.stdout.split())


def main() -> None:
    """Print the names or the differences."""
    parser = argparse.ArgumentParser(description="public names of gymcore")
    parser.add_argument("commit", nargs="?", help="compare with the names of this commit")
    commit = parser.parse_args().commit
    names = public_names()
    if commit is None:
        print("\n".join(sorted(names)))
        return
    before = names_of_commit(commit)
    print("\n".join([f"- {name}" for name in sorted(before - names)]))
    print("\n".join([f"+ {name}" for name in sorted(names - before)]))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
