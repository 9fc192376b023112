"""pyproject.toml, the installed metadata and the code agree."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

import gymcore
from gymcore.base.optional_packages import OPTIONAL_PACKAGES
from tests.syntax import statements

ROOT = Path(__file__).parents[2]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT: dict[str, Any] = PYPROJECT["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def names(requirements: list[str]) -> set[str]:
    """Return the distributions that are installed on this Python."""
    parsed = map(Requirement, requirements)
    return {one.name for one in parsed if one.marker is None or one.marker.evaluate()}


def test_the_version_is_the_same_everywhere():
    assert gymcore.__version__ == PROJECT["version"]


def test_the_changelog_describes_the_version():
    assert f"\n## {PROJECT['version']}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_unreleased_changes_begin_with_breaking_ones():
    unreleased = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1]
    titles = re.findall(r"^### (.+)$", unreleased, flags=re.M)
    allowed = ["Breaking changes", "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    assert titles == [title for title in allowed if title in titles]


def test_pre_commit_runs_the_linters_of_ci():
    lint, types = re.findall(
        r"^(?:lint|types)\(\) \{\n(.*?)^\}", (ROOT / ".ci/run").read_text(), flags=re.M | re.S
    )
    hooks = re.findall(r"entry: ([^,]+),", (ROOT / ".pre-commit-config.yaml").read_text())
    assert sorted(hooks) == ["cython-lint", "mypy", "ruff check", "ruff format --check"]
    assert all(hook in lint + types for hook in hooks)


def test_the_citation_file_has_the_version():
    text = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {PROJECT['version']}\n" in text
    assert f"\nlicense: {PROJECT['license']}\n" in text


def test_core_dependencies_stay_few():
    assert names(PROJECT["dependencies"]) == {
        "numpy", "cloudpickle", "threadpoolctl", "tqdm", "typing-extensions",
    }  # fmt: skip


def test_all_is_every_extra_a_user_needs_on_one_machine():
    (everything,) = map(Requirement, EXTRAS["all"])
    assert everything.name == "gymcore"
    others = {"all", "ray", "jax", "jit", "test", "bench", "docs", "dev"}
    assert everything.extras == EXTRAS.keys() - others


def test_getting_started_lists_the_extras():
    page = (ROOT / "docs" / "getting_started.md").read_text()
    table = page[page.index("| extra |") : page.index("\n\nAll of them")]
    listed = re.findall(r"`([\w-]+)`", "".join(re.findall(r"^\| (`.*?) \|", table, re.M)))
    assert sorted(listed) == sorted(EXTRAS)
    (everything,) = map(Requirement, EXTRAS["all"])
    before = re.findall(r"`([\w-]+)`", table[: table.index("| `all`")])
    assert everything.extras == {name for name in before if name != "jax"}


@pytest.mark.slow
def test_tests_need_nothing_that_the_test_extra_lacks():
    imported = set()
    skipped_without = set()  # provided by .ci/ecosystem
    for path in (ROOT / "tests").rglob("*.py"):
        skipped_without |= set(re.findall(r'importorskip\(\s*"(\w+)', path.read_text()))
        for node in statements(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(str(node.module).split(".")[0])
    local = {path.stem for path in (ROOT / "tests").rglob("*.py")}
    local |= {path.name for path in (ROOT / "tests").rglob("*") if path.is_dir()}
    local |= {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    local |= {"gymcore", "gymcore_ext", "tests", "tools"}
    local |= {"gym"}  # the alias provides it to programs
    known = {"__future__"} | local | sys.stdlib_module_names | skipped_without
    declared = names(PROJECT["dependencies"]) | names(EXTRAS["test"])
    spelled = {name.lower().replace("-", "_") for name in declared}
    assert {name for name in imported - known if name.lower() not in spelled} == set()


def test_optional_packages_of_the_info_command_are_those_of_the_extras():
    users = [EXTRAS[key] for key in EXTRAS.keys() - {"all", "test", "dev", "bench", "docs"}]
    wanted = set().union(*map(names, users))
    assert wanted <= set(OPTIONAL_PACKAGES.values())


def test_no_page_or_message_installs_gymcore_from_an_index():
    """No index has gymcore: extras are installed from a clone, `.[all]`."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for path in [*pages, *(ROOT / "gymcore").rglob("*.py"), *(ROOT / "examples").rglob("*.py")]:
        assert not re.search(r"pip install [^`&\n]*gymcore", path.read_text()), path


@pytest.mark.parametrize("version", PYTHONS)
def test_every_supported_python_is_declared_and_built_for(version):
    assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]
    assert f"cp{version.replace('.', '')}-*" in PYPROJECT["tool"]["cibuildwheel"]["build"].split()


def test_the_oldest_supported_python_is_the_one_tools_check_for():
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    assert PYPROJECT["tool"]["mypy"]["python_version"] == PYTHONS[0]
    assert PYPROJECT["tool"]["ruff"]["target-version"] == f"py{PYTHONS[0].replace('.', '')}"


def test_the_command_is_a_function_that_exists():
    module, function = PROJECT["scripts"]["gymcore"].split(":")
    assert callable(getattr(importlib.import_module(module), function))
