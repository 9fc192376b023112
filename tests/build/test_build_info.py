from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import gymcore_ext
from gymcore_ext.build_info import build_info
from gymcore_ext.engine.kernels import ISA_NAMES
from tests.ext.instruction_sets import available
from tests.ext.lanes import KERNELS


def test_it_names_compiler_versions_and_flags():
    facts = build_info()
    assert re.match(r"(GCC|Clang|MSVC) .*\d", facts["compiler"])
    assert re.match(r"3\.\d+", facts["cython"])
    assert "-ffp-contract=off" in facts["flags"]
    assert not re.search(r"-ffast-math|-march=native|-Ofast", facts["flags"])
    # Headers may be older than the NumPy at run time, but not of a newer major version.
    assert int(facts["numpy_headers"].split(".")[0]) >= int(np.__version__.split(".")[0])


def test_the_switches_agree_with_the_flags():
    facts = build_info()
    assert facts["debug"] == ("-O0" in facts["flags"])
    assert facts["sanitized"] == ("-fsanitize" in facts["flags"])
    assert facts["coverage"] == ("--coverage" in facts["flags"])


def test_it_says_which_instruction_set_is_in_use(monkeypatch):
    facts = build_info()
    assert facts["isa_built"] == list(ISA_NAMES)
    assert facts["isa"] in ISA_NAMES
    monkeypatch.setenv("GYMCORE_ISA", "baseline")
    assert build_info()["isa"] == "baseline"


@pytest.mark.parametrize("isa", available())
def test_it_says_which_step_loops_are_scalar(monkeypatch, isa):
    monkeypatch.setenv("GYMCORE_ISA", isa)
    facts = build_info()
    optimized = not (facts["debug"] or facts["sanitized"] or facts["coverage"])
    if optimized and isa != "baseline":  # not all x86-64 compilers vectorize for the baseline
        assert facts["scalar_loops"] == []
    if facts["debug"]:
        assert set(facts["scalar_loops"]) == set(KERNELS)


def test_an_instruction_set_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setenv("GYMCORE_ISA", "x86-64-v9")
    with pytest.raises(ValueError, match=r"GYMCORE_ISA: expected one of .* got 'x86-64-v9'"):
        build_info()


def test_it_is_ready_for_json():
    facts = build_info()
    assert json.loads(json.dumps(facts)) == facts


def test_get_include_is_where_the_headers_are():
    folder = Path(gymcore_ext.get_include())
    assert folder.is_absolute()
    assert {"kernel.h", "lanes.h", "math.h", "platform.h", "rng.h"} <= {
        path.name for path in (folder / "gymcore").iterdir()
    }
