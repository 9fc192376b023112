"""The scripts in .ci run the commands that README and CONTRIBUTING give."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "run"
ROOTS = ROOT / ".ci" / "roots"


def test_it_finds_the_readmes_test_command():
    (pattern,) = re.findall(r"grep -E '([^']+)' README.md", SCRIPT.read_text())
    found = [
        line for line in (ROOT / "README.md").read_text().splitlines() if re.search(pattern, line)
    ]
    assert found == [
        'python3 -m venv .venv && .venv/bin/pip install -e ".[all,test]" && '
        ".venv/bin/pytest -n logical --dist loadfile"
    ]


def test_it_runs_the_linters_and_types_that_contributing_names():
    table = (ROOT / "CONTRIBUTING.md").read_text()
    (lint,) = re.findall(r"^\| lint \| `(.*)` \|$", table, flags=re.M)
    (types,) = re.findall(r"^\| types \| `(.*)` \|$", table, flags=re.M)
    script = SCRIPT.read_text()
    for command in [*lint.split(" && "), types]:
        assert re.search(rf"^\s+(\.venv/bin/)?{re.escape(command)}$", script, flags=re.M), command


def test_every_stage_is_a_function():
    done = subprocess.run(
        ["bash", str(SCRIPT), "--list"], check=True, stdout=subprocess.PIPE, text=True, timeout=30
    )
    stages = done.stdout.split()
    expected = {"tests", "lint", "types", "sanitizers", "distributions", "wheel", "fresh_root"}
    assert expected <= set(stages)
    for stage in stages:
        assert re.search(rf"^{stage}\(\) {{$", SCRIPT.read_text(), flags=re.M), stage


def test_a_failing_stage_fails_the_run(tmp_path):
    """Run the real script with other stages; the second one fails halfway."""
    head, rest = SCRIPT.read_text().split("# --- what the machine must have", 1)
    loop = rest[rest.index('for stage in "${STAGES[@]}"') :]
    ours = "good() { echo fine; }\nbad() { false; echo not reached; }\nSTAGES=(good bad good)\n"
    script = tmp_path / ".ci" / "run"
    script.parent.mkdir()
    script.write_text(head + ours + loop)
    done = subprocess.run(
        ["bash", str(script)], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 1
    assert "ci: stage bad FAILED with exit code 1" in done.stderr
    assert "not reached" not in done.stdout
    assert done.stdout.count("fine") == 1


def test_the_roots_run_what_the_readme_says():
    readme = (ROOT / "README.md").read_text()
    patterns = re.findall(r"\$\(readme '([^']+)'\)", ROOTS.read_text())
    packages, install, test = [re.findall(each, readme, flags=re.M) for each in patterns]
    assert len(packages) == 1 and {"python3-venv", "gcc"} <= set(packages[0].split())
    assert install == [
        'python3 -m venv .venv && .venv/bin/pip install ".[all]" && '
        ".venv/bin/gymcore collect CartPole-v1 --num-envs 64 --num-steps 200_000_000"
    ]
    assert test == [
        'python3 -m venv .venv && .venv/bin/pip install -e ".[all,test]" && '
        ".venv/bin/pytest -n logical --dist loadfile"
    ]


def test_the_roots_name_what_they_do_not_know():
    done = subprocess.run(
        ["bash", str(ROOTS), "--no-tests", "buster"], capture_output=True, text=True, timeout=30,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "roots: unknown argument buster" in done.stderr


def fake_program(folder, name, body):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def test_where_no_root_can_be_made_the_roots_say_why(tmp_path):
    fake_program(tmp_path, "id", "echo 1000")
    done = subprocess.run(
        ["bash", str(ROOTS), "trixie"],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stderr == "roots: no root can be made: this needs root rights\n"


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (1, 1), (3, 0)])
def test_a_root_that_cannot_be_made_fails_no_run(tmp_path, code, expected):
    """Run the stage of the real script, with a script in the place of .ci/roots."""
    (stage,) = re.findall(r"^fresh_root\(\) {$.*?^}$", SCRIPT.read_text(), flags=re.M | re.S)
    (tmp_path / ".ci").mkdir()
    fake_program(tmp_path / ".ci", "roots", f"echo $@; exit {code}")
    done = subprocess.run(
        ["bash", "-c", f"set -euo pipefail\n{stage}\nfresh_root"],
        cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == expected
    assert done.stdout.startswith("trixie ")


@pytest.mark.parametrize("script", sorted(path.name for path in (ROOT / ".ci").iterdir()))
def test_test_files_that_scripts_name_exist(script):
    text = (ROOT / ".ci" / script).read_text(errors="replace")
    for name in re.findall(r"(?<![\w/])tests/[\w{},*/]*\.py|\*/test_\w+\.py", text):
        pattern = name.replace("*/", "tests/**/", 1) if name.startswith("*/") else name
        expanded = subprocess.run(
            ["bash", "-O", "globstar", "-O", "failglob", "-c", f"echo {pattern}"],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert expanded.returncode == 0, name
        assert all((ROOT / path).exists() for path in expanded.stdout.split()), name
