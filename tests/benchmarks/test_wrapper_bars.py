from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def wrapper_bars(loaded):
    return loaded.wrapper_bars


def test_everything_a_bar_looks_up_is_measured_by_a_group(bars, wrapper_bars):
    measured = bars.Measured()
    for group in wrapper_bars.wrapper_groups():
        for key, env_id, lanes, threads in group.members:
            measured.rounds[bars.name(key, lanes, env_id, threads)] = [1e-6]
    values = {bar.measure: bar.value(measured) for bar in wrapper_bars.wrapper_bars()}
    assert len(values) == len(wrapper_bars.wrapper_bars()) == 7


def test_a_wrapper_is_what_it_adds(bars, wrapper_bars):
    measured = bars.Measured()
    per_call = {
        "gymcore-plain": [1e-6, 2e-6, 1e-6],
        "gymcore-statistics-wrappers": [5e-6, 8e-6, 0.5e-6],
        "gymnasium-plain": [50e-6, 100e-6, 50e-6],
        "gymnasium-statistics-wrappers": [130e-6, 220e-6, 130e-6],
    }
    for key, rounds in per_call.items():
        measured.rounds[bars.name(key, 64)] = [each / 64 for each in rounds]
    own, ratio = (bar.value(measured) for bar in wrapper_bars.wrapper_bars()[:2])
    assert own == pytest.approx(4.0)  # the third round is noise: zero, not negative
    assert ratio == pytest.approx(20.0)


def test_a_bar_can_be_met_and_missed(wrapper_bars):
    for bar in wrapper_bars.wrapper_bars():
        assert {bar.met(1e12), bar.met(-1.0)} == {True, False}, bar.measure


def test_targets_are_those_of_the_table(wrapper_bars):
    targets = [bar.target for bar in wrapper_bars.wrapper_bars()]
    assert targets == [
        *("<= 6 us", ">= 10x", ">= 0.6x", ">= 8x", "<= 0.5 us", ">= 0.9x", "<= 0.4 us"),
    ]


def test_contenders_are_asked_for_in_the_process_of_their_library(loaded):
    wrapper_bars, contenders = loaded.wrapper_bars, loaded.wrapper_measures.CONTENDERS
    for key, contender in contenders.items():
        assert wrapper_bars.LIBRARIES.get(key, "gymcore") == contender.module, key
    asked = {key for group in wrapper_bars.wrapper_groups() for key, *_ in group.members}
    assert asked == set(contenders)
    assert set(contenders) > wrapper_bars.NO_STEPS
    assert not set(contenders) & set(loaded.engine_measures.CONTENDERS)


@pytest.mark.parametrize("library", ["gymcore", "gymnasium"])
def test_cartpoles_are_wrapped(loaded, library):
    build = loaded.wrapper_measures.CONTENDERS[f"{library}-statistics-wrappers"].build
    session = build("CartPole-v1", 4, 1)
    found = [session._call(actions) for actions in session._actions]
    session.close()
    assert session.steps_per_call == 4
    assert any("episode" in infos for *_, infos in found)
    assert np.std([rewards for _, rewards, *_ in found]) > 0


@pytest.mark.parametrize("key", ["gymcore-frames-stacked", "gymnasium-frames-stacked"])
def test_frames_are_stacked(loaded, key):
    session = loaded.wrapper_measures.CONTENDERS[key].build("Frames", 2, 1)
    observations = session._call(session._actions[0])[0]
    session.close()
    assert observations.shape == (2, 4, 84, 84)
    assert observations.dtype == np.uint8


def test_the_copy_copies_as_many_bytes(loaded):
    session = loaded.wrapper_measures.CONTENDERS["frames-memcpy"].build("Frames", 2, 1)
    assert session.measure(1e-4) > 0


@pytest.mark.parametrize("library", ["gymcore", "gymnasium"])
def test_a_checked_step_is_past_the_checks(loaded, library):
    session = loaded.wrapper_measures.CONTENDERS[f"{library}-step-checked"].build("Nothing", 1, 1)
    layer = session._call.__self__
    assert type(layer).__name__ == "TimeLimit"
    checker = layer.env.env
    assert checker.checked_step and checker.checked_reset
    assert session._call(0)[1:4] == (0.0, False, False)
    session.close()
