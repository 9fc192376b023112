from __future__ import annotations

import json
import platform
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import gymcore
from gymcore.cli import info
from gymcore.cli.info import _text


def test_the_json_holds_all_facts(run):
    found = json.loads(run("info", "--json").out)
    assert found["gymcore"] == gymcore.__version__
    assert found["python"] == platform.python_version()
    assert found["numpy"] == np.__version__
    assert found["threads"]["usable"] >= 1
    assert found["packages"]["gymnasium"] is not None
    assert found["pygame"] == f"pygame-ce {metadata.version('pygame-ce')}"
    assert set(found["build"]) >= {"compiler", "flags", "isa"}


def test_the_text_says_what_is_there_and_what_is_not(run, monkeypatch):
    versions = {"numpy_like": "9.9", "absent": None}
    monkeypatch.setattr(info, "package_versions", lambda: versions)
    lines = dict(line.split("  ", 1) for line in run("info").out.splitlines())
    found = {name: value.strip() for name, value in lines.items()}
    assert found["gymcore"] == gymcore.__version__
    assert found["optional packages"] == "numpy_like 9.9"
    assert found["not installed"] == "absent"
    assert found["compiler"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("installed", "line"),
    [
        ({}, "not installed"),
        ({"pygame": "2.6.1"}, "pygame 2.6.1"),
        ({"pygame-ce": "2.5.8"}, "pygame-ce 2.5.8"),
        (
            {"pygame": "2.6.1", "pygame-ce": "2.5.8"},
            "warning: pygame-ce 2.5.8 and pygame 2.6.1 overwrite each other's files",
        ),
    ],
)
def test_the_text_names_the_distribution_of_pygame(run, monkeypatch, installed, line):
    monkeypatch.setattr(info, "_version", installed.get)
    lines = dict(line.split("  ", 1) for line in run("info").out.splitlines())
    assert lines["pygame"].strip().partition(";")[0] == line


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "line"),
    [(None, "not installed"), ("4.0.1", "4.0.1"), ("4.0.0", "warning: MuJoCo 4.0.0 can compute")],
)
def test_the_text_warns_of_a_wrong_solver(run, monkeypatch, version, line):
    monkeypatch.setattr(info, "_version", {"mujoco": version}.get)
    lines = dict(line.split("  ", 1) for line in run("info").out.splitlines())
    assert lines["MuJoCo"].strip().startswith(line)


@pytest.mark.slow
def test_a_refused_instruction_set_does_not_stop_the_report(run, monkeypatch):
    monkeypatch.setenv("GYMCORE_ISA", "x87")
    ran = run("info")
    assert ran.code == 0
    assert "x87" in ran.out


def test_a_package_without_compiled_modules_says_so(run, monkeypatch):
    monkeypatch.setattr(info, "compiled_info", dict)
    assert "none found" in run("info").out


def test_compiled_facts_become_words():
    assert _text(["-O3", "-fopenmp"]) == "-O3 -fopenmp"
    assert _text({"clang": "18", "flags": ("-g",)}) == "clang 18, flags -g"
    assert _text(None) == "None"


@pytest.fixture
def cgroup(tmp_path: Path, monkeypatch) -> Path:
    """Return a control group tree with an inner group, as this process would see it."""
    inner = tmp_path / "slice" / "job"
    inner.mkdir(parents=True)
    monkeypatch.setattr(info, "_cgroup_folders", lambda: [inner, inner.parent, tmp_path])
    return tmp_path


def test_free_memory_respects_the_container(cgroup: Path) -> None:
    free = info.available_memory()
    assert free is None or free > 0
    (cgroup / "slice" / "memory.max").write_text("1048576\n")
    (cgroup / "slice" / "memory.current").write_text("48576\n")
    assert info.available_memory() == 1_000_000
    (cgroup / "slice" / "memory.current").write_text("2000000\n")
    assert info.available_memory() == 0


def test_package_versions_name_what_is_missing() -> None:
    versions = info.package_versions()
    assert set(versions) == set(info.OPTIONAL_PACKAGES)
    import gymnasium

    assert versions["gymnasium"] == gymnasium.__version__


def test_an_unknown_distribution_has_no_version() -> None:
    assert info._version("no-such-distribution-anywhere") is None


def test_the_processor_has_a_name() -> None:
    assert info.cpu_model().strip()


@pytest.mark.slow
def test_facts_are_ready_for_json() -> None:
    import numpy as np

    import gymcore

    facts = json.loads(json.dumps(info.system_info()))
    assert facts["gymcore"] == gymcore.__version__
    assert facts["numpy"] == np.__version__
    assert facts["threads"]["usable"] >= 1
