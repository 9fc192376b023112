"""Contents of the source distribution and of the installed package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv*", "build", "dist", "*.egg-info", "*.so", "__pycache__", ".*_cache",
    ".hypothesis", ".benchmarks",
)  # fmt: skip


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy without build products; tests/build is not one."""
    copy = tmp_path_factory.mktemp("distribution") / "checkout"
    shutil.copytree(ROOT, copy, ignore=NOT_COPIED)
    shutil.copytree(ROOT / "tests" / "build", copy / "tests" / "build", ignore=NOT_COPIED)
    return copy


def python(checkout: Path, *words: str) -> None:
    environment = {name: v for name, v in os.environ.items() if not name.startswith("GYMCORE_")}
    subprocess.run([sys.executable, *words], cwd=checkout, env=environment, check=True, timeout=120)


@pytest.fixture(scope="module")
def made(checkout: Path) -> Path:
    """Return the checkout after both commands, in one process: first the source distribution."""
    sdist = ("sdist", "--formats", "tar", "--dist-dir", "made")
    python(checkout, "setup.py", "-q", *sdist, "build_py", "--build-lib", "library")
    return checkout


@pytest.fixture(scope="module")
def source_distribution(made: Path) -> set[str]:
    """Return the paths in the source distribution, below its top folder."""
    (archive,) = (made / "made").glob("gymcore-*.tar")
    with tarfile.open(archive) as opened:
        return {member.name.split("/", 1)[1] for member in opened if member.isfile()}


@pytest.fixture(scope="module")
def installed(made: Path) -> set[str]:
    """Return the paths that are installed besides the compiled modules."""
    library = made / "library"
    return {path.relative_to(library).as_posix() for path in library.rglob("*") if path.is_file()}


def files(*patterns: str) -> set[str]:
    """Return the project's files that match."""
    found = {
        path.relative_to(ROOT).as_posix() for pattern in patterns for path in ROOT.glob(pattern)
    }
    assert found, patterns
    return {name for name in found if "__pycache__" not in name}


def generated(name: str) -> bool:
    """Return whether a file is C written by Cython; only tests and benchmarks have other C."""
    return name.endswith(".c") and not name.startswith(("tests/", "benchmarks/"))


@pytest.mark.slow
def test_the_source_distribution_holds_what_a_build_needs(source_distribution):
    needed = files("gymcore_ext/**/*.pyx", "gymcore_ext/**/*.pxd", "gymcore_ext/**/*.h")
    needed |= files("gymcore/**/*.py", "gymcore_ext/**/*.py", "gymcore_ext/**/*.pyi")
    needed |= {"setup.py", "pyproject.toml", "README.md", "LICENSE", "gymcore/py.typed"}
    assert needed <= source_distribution


def test_the_source_distribution_holds_tests_and_documents(source_distribution):
    wanted = files("tests/**/*.py", "benchmarks/*.py", "docs/**/*.md", "examples/**/*.py", ".ci/*")
    wanted |= files("tests/ext/*.c", "benchmarks/*.c", "gymcore/envs/mujoco/assets/*.xml")
    wanted |= {"CHANGELOG.md", "CONTRIBUTING.md"}
    assert wanted <= source_distribution


def test_the_source_distribution_holds_no_build_products(source_distribution):
    products = (".so", ".pyd", ".o", ".pyc", ".gcda", ".gcno")
    assert not [name for name in source_distribution if name.endswith(products)]
    assert not [name for name in source_distribution if generated(name)]
    assert not [name for name in source_distribution if name.startswith(("build/", "dist/"))]


def test_the_package_ships_headers_declarations_stubs_and_models(installed):
    shipped = files("gymcore_ext/**/*.h", "gymcore_ext/**/*.pxd", "gymcore_ext/**/*.pyi")
    shipped |= {"gymcore/py.typed", "gymcore_ext/py.typed"}
    shipped |= files("gymcore/envs/mujoco/assets/*.xml")
    assert shipped <= installed


def test_the_package_is_all_of_the_python_files_and_nothing_else(installed):
    modules = {name for name in installed if name.endswith(".py")}
    assert modules == files("gymcore/**/*.py", "gymcore_ext/**/*.py")
    assert {name.split("/")[0] for name in installed} == {"gymcore", "gymcore_ext"}


def test_sources_that_are_not_compiled_say_so(checkout, installed):
    done = subprocess.run(
        [sys.executable, "-c", "import gymcore as gym; gym.make('CartPole-v1')"],
        cwd=checkout / "library",
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "sources that are not compiled for this Python" in done.stderr
    assert "pip install -e ." in done.stderr


def test_git_tracks_no_build_products():
    if not (ROOT / ".git").exists():
        pytest.skip("git: this is no clone, nothing is tracked")
    if shutil.which("git") is None:
        pytest.skip("git: it is not installed")
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.split("\n")
    products = (".so", ".pyd", ".o", ".pyc", ".whl", ".gcda", ".gcno")
    assert "setup.py" in tracked
    assert not [name for name in tracked if name.endswith(products) or ".egg-info" in name]
    assert not [name for name in tracked if generated(name)]
