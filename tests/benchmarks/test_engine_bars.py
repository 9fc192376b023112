from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture
def engine_bars(loaded):
    return loaded.engine_bars


def test_everything_a_bar_looks_up_is_measured_by_a_group(bars, engine_bars):
    measured = bars.Measured()
    for group in engine_bars.engine_groups():
        for key, env_id, lanes, threads in group.members:
            measured.rounds[bars.name(key, lanes, env_id, threads)] = [1e-6]
    values = {bar.measure: bar.value(measured) for bar in engine_bars.engine_bars(cores=2)}
    assert len(values) == len(engine_bars.engine_bars(2)) == 14
    assert all(value == pytest.approx(1.0) for name, value in values.items() if "/" in name)


def test_the_overhead_is_what_an_engine_takes_beyond_the_loop(bars, engine_bars):
    measured = bars.Measured()
    measured.rounds = {
        engine_bars.python("gymcore-bare-loop", "Nothing"): [1.0e-6, 2.0e-6, 1.0e-6],
        engine_bars.python("gymcore-SyncVectorEnv", "Nothing"): [1.1e-6, 2.2e-6, 0.5e-6],
        engine_bars.python("gymnasium-bare-loop", "Nothing"): [1.0e-6, 2.0e-6, 1.0e-6],
        engine_bars.python("gymnasium-SyncVectorEnv", "Nothing"): [1.6e-6, 3.2e-6, 1.6e-6],
    }
    found = {bar.measure: bar.value(measured) for bar in engine_bars.engine_bars(2)[:2]}
    own, ratio = found.values()
    assert own == pytest.approx(0.1)
    assert ratio == pytest.approx(6.0)
    # A bare loop slower than the engine is noise: the overhead is zero, not negative.
    assert engine_bars.overheads(measured, "gymcore")[2] == 1e-10


def test_a_bar_can_be_met_and_missed(engine_bars):
    for bar in engine_bars.engine_bars(cores=2):
        assert {bar.met(1e12), bar.met(-1.0)} == {True, False}, bar.measure


def test_targets_are_those_of_the_table(engine_bars):
    targets = [bar.target for bar in engine_bars.engine_bars(cores=2)]
    assert targets == [
        "<= 0.2 us", ">= 4x", ">= 1.2x", ">= 1.5x", ">= 15x", ">= 10x", ">= 1.84x", ">= 2x",
        ">= 5x", ">= 5x", "<= 1.5 x", ">= 10x", ">= 10x", ">= 5x",
    ]  # fmt: skip


def test_contenders_are_asked_for_in_the_process_of_their_library(loaded):
    engine_bars, contenders = loaded.engine_bars, loaded.engine_measures.CONTENDERS
    for key, contender in contenders.items():
        assert engine_bars.LIBRARIES.get(key, "gymcore") == contender.module, key
    asked = {key for group in engine_bars.engine_groups() for key, *_ in group.members}
    assert asked == set(contenders)
    assert set(contenders) > engine_bars.NO_STEPS


def test_groups_have_names_of_their_own(bars, engine_bars):
    titles = [group.title for group in [*bars.groups(2), *engine_bars.engine_groups()]]
    assert len(set(titles)) == len(titles)


def test_every_worded_measure_is_one_of_the_engines(engine_bars):
    path = Path(__file__).resolve().parents[2] / "tools" / "measured_ratios.py"
    spec = importlib.util.spec_from_file_location("measured_ratios", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    measures = {bar.measure for bar in engine_bars.engine_bars(cores=2)}
    assert tool.ENGINE_WORDS.keys() <= measures
    run = {
        "bars": [{"measure": each, "measured": "6x", "value": 6.0} for each in tool.ENGINE_WORDS],
        "versions": {}, "machine": {"cpu": "", "threads": {"usable": 2}, "python": ""},
        "repeats": 1,
    }  # fmt: skip
    rows = tool.table(run).splitlines()[2:-2]
    assert rows == [f"| {words} | 6x |" for words in tool.ENGINE_WORDS.values()]
