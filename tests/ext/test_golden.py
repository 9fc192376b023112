"""The compatibility guarantee: on every machine, the bytes that tools/make_golden.py recorded."""

from __future__ import annotations

import json

import pytest

import gymcore
from tests.ext.instruction_sets import available
from tools.make_golden import PATH, golden

GOLDEN = json.loads(PATH.read_text())


@pytest.mark.parametrize("isa", available())
def test_same_seed_same_bytes(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYMCORE_ISA", isa)
    found = golden()
    assert found.keys() == GOLDEN.keys()
    for name, expected in GOLDEN.items():
        assert found[name] == expected, name


def test_the_rollouts_say_something() -> None:
    """Episodes end in every way they can, and only ids with the same dynamics agree."""
    for name, one in GOLDEN.items():
        limit = gymcore.registry[name.partition(",")[0]].max_episode_steps
        assert one["goals_or_failures"] >= 1 or name.startswith("Pendulum"), name
        assert one["time_limits"] >= 1 or limit is None or name.startswith("CartPole"), name
    # In both modes, CartPole-v0 does what v1 does, and so do the versions of CliffWalking and Taxi.
    assert len({one["observations"] for one in GOLDEN.values()}) == len(GOLDEN) - 6 == 27
