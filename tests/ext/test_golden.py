"""The compatibility guarantee: the bytes that tools/make_golden.py wrote down, on every machine."""

from __future__ import annotations

import json

import pytest

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
    """Episodes end in every way they can, and no two rollouts are the same."""
    for name, one in GOLDEN.items():
        assert one["goals_or_failures"] >= 10 or name.startswith("Pendulum"), name
        assert one["time_limits"] >= 4 or name.startswith("CartPole"), name
    assert len({one["observations"] for one in GOLDEN.values()}) == len(GOLDEN) == 15
