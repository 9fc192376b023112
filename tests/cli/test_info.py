from __future__ import annotations

import json
import platform

import numpy as np

import gymcore
from gymcore.cli import machine
from gymcore.cli.info import _text


def test_the_json_holds_all_facts(run):
    found = json.loads(run("info", "--json").out)
    assert found["gymcore"] == gymcore.__version__
    assert found["python"] == platform.python_version()
    assert found["numpy"] == np.__version__
    assert found["threads"]["usable"] >= 1
    assert found["packages"]["gymnasium"] is not None
    assert set(found["build"]) >= {"compiler", "flags", "isa"}


def test_the_text_says_what_is_there_and_what_is_not(run, monkeypatch):
    versions = {"numpy_like": "9.9", "absent": None}
    monkeypatch.setattr(machine, "package_versions", lambda: versions)
    lines = dict(line.split("  ", 1) for line in run("info").out.splitlines())
    found = {name: value.strip() for name, value in lines.items()}
    assert found["gymcore"] == gymcore.__version__
    assert found["optional packages"] == "numpy_like 9.9"
    assert found["not installed"] == "absent"
    assert found["compiler"]


def test_a_refused_instruction_set_does_not_stop_the_report(run, monkeypatch):
    monkeypatch.setenv("GYMCORE_ISA", "x87")
    ran = run("info")
    assert ran.code == 0
    assert "x87" in ran.out


def test_a_package_without_compiled_modules_says_so(run, monkeypatch):
    monkeypatch.setattr(machine, "build_facts", dict)
    assert "none found" in run("info").out


def test_compiled_facts_become_words():
    assert _text(["-O3", "-fopenmp"]) == "-O3 -fopenmp"
    assert _text({"clang": "18", "flags": ("-g",)}) == "clang 18, flags -g"
    assert _text(None) == "None"
