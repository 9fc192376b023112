from __future__ import annotations

import runpy

DOCKING = "tests.jit.conversion.subjects:Docking"


def test_the_file_defines_the_class(run, tmp_path, monkeypatch):
    monkeypatch.setenv("GYMCORE_JIT", "0")
    out = tmp_path / "docking_jit.py"
    result = run("convert", DOCKING, "--out", out, "--seeds", 2, "--steps", 40)
    assert (result.code, result.err) == (0, "")
    assert result.out == f"{out}: equal to {DOCKING} in 80 steps of random actions\n"
    env = runpy.run_path(str(out))["Docking"]()
    assert env.reset(seed=1)[0].shape == (2,)
    assert run("convert", DOCKING, "--out", out).code == 2
    printed = run("convert", DOCKING, "--seeds", 1, "--steps", 1)
    assert printed.out == out.read_text()


def test_obstacles_are_printed_one_a_line(run):
    result = run("convert", "tests.jit.conversion.test_converter:Obstacles")
    assert (result.code, result.out) == (2, "")
    assert result.err.count("\n") == 5
    assert "test_converter.py:" in result.err


def test_an_object_that_is_not_an_environment(run):
    result = run("convert", "gymcore.spaces:Box")
    assert result.code == 2
    assert result.err.startswith("gymcore: error: env: expected a class with reset and step")
