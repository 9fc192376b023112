from __future__ import annotations

import pytest


def test_ratios_are_taken_round_by_round_against_the_fastest(bars):
    measured = bars.Measured()
    # The machine is three times slower in the second round: the ratios are unaffected.
    measured.rounds = {"own": [1.0, 3.0, 1.0], "a": [8.0, 24.0, 8.0], "b": [9.0, 21.0, 9.0]}
    assert measured.faster("own", ["a", "b"]) == 8.0
    assert measured.faster("own", ["b", "missing"]) == 9.0
    assert measured.step("own") == 1.0


def test_a_missing_side_names_itself(bars):
    measured = bars.Measured()
    measured.rounds = {"own": [1.0]}
    with pytest.raises(KeyError, match="other"):
        measured.faster("own", ["other"])
    with pytest.raises(KeyError, match="nobody"):
        measured.faster("nobody", ["own"])


def curve(bars, costs):
    measured = bars.Measured()
    for lanes, cost in zip(bars.CURVE, costs, strict=True):
        measured.rounds[bars.name("gymcore", lanes)] = [cost]
    return measured


def test_the_cost_curve_may_fall_and_then_rise_to_twice_its_minimum(bars):
    measured = curve(bars, [20.0, 12.0, 8.0, 6.0, 5.0, 6.0, 9.0, 8.0])
    assert bars.before_minimum(measured) < 1.0
    assert bars.after_minimum(measured) == pytest.approx(1.8)
    bumpy = curve(bars, [20.0, 24.0, 8.0, 6.0, 5.0, 6.0, 20.0, 8.0])
    assert bars.before_minimum(bumpy) == pytest.approx(1.2)
    assert bars.after_minimum(bumpy) == pytest.approx(4.0)
    assert bars.before_minimum(curve(bars, range(1, 9))) == 1.0


def test_everything_a_bar_looks_up_is_measured_by_a_group(bars):
    """With one number for every measure, every bar has a value."""
    measured = bars.Measured()
    for group in bars.groups(threads=2):
        for key, env_id, lanes, threads in group.members:
            measured.rounds[bars.name(key, lanes, env_id, threads)] = [1e-9]
    measured.values = {"memory": 100.0, "import": 0.01, "optional": 0.0}
    values = {bar.measure: bar.value(measured) for bar in bars.bars(threads=2)}
    assert len(values) == len(bars.bars(2)) == 26
    assert values["CartPole n=64, a call"] == pytest.approx(0.064)
    assert values["seeding 1,000,000 lanes"] == pytest.approx(1e-3)
    assert values["import gymcore over import numpy"] == pytest.approx(10.0)


def test_a_bar_can_be_met_and_missed(bars):
    for bar in bars.bars(threads=2):
        extremes = {bar.met(1e12), bar.met(-1.0)}
        assert extremes == {True, False}, bar.measure


def test_targets_are_those_of_the_table(bars):
    found = {bar.measure: bar.target for bar in bars.bars(threads=2)}
    assert found["CartPole n=64 / EnvPool sync"] == ">= 60x"
    assert found["CartPole n=4096, statistics on, a step"] == "<= 6 ns"
    assert found["rollout n=4096 T=128 / raw physics loop"] == ">= 0.55x"
    assert found["make(CartPole-v1).step / Gymnasium"] == ">= 4x"
    assert found["memory a lane beside observations"] == "<= 160 bytes"
    assert found["two threads / one, n=65536"] == ">= 1.7x"
