from __future__ import annotations

import pytest


@pytest.mark.parametrize("name", ["toy", "box2d", "atari", "interop", "learn"])
def test_everything_a_bar_looks_up_is_measured_by_a_group(loaded, bars, name):
    module = getattr(loaded, f"{name}_bars")
    every, groups = (getattr(module, f"{name}_{what}")(2) for what in ("bars", "groups"))
    measured = bars.Measured()
    for group in groups:
        for key, env_id, lanes, threads in group.members:
            measured.rounds[bars.name(key, lanes, env_id, threads)] = [1e-6]
    assert len({group.title for group in groups}) == len(groups)
    assert every
    for bar in every:
        assert bar.value(measured) > 0
        assert {bar.met(1e12), bar.met(-1.0)} == {True, False}, bar.measure
