"""Rules: the results of `check` for values that satisfy them, and for values that do not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gymcore import error
from gymcore.checking import rules
from gymcore.checking.rules import Rule, apply
from gymcore.logger import warn

POSITIVE = Rule(lambda number: number > 0, "{name} must be positive, got {0} ({type})")
SMALL = Rule(lambda number: number < 10, lambda number, name: f"{name}: {number + 1}", warn)


def test_a_rule_raises_or_warns():
    assert POSITIVE.check(1, name="n") and SMALL.check(1, name="n")
    with pytest.raises(error.FailedCheck, match=r"^n must be positive, got -1 \(<class 'int'>\)$"):
        POSITIVE.check(-1, name="n")
    with pytest.warns(UserWarning, match="n: 13"):
        assert not SMALL.check(12, name="n")


def test_demand_raises_where_check_warns():
    SMALL.demand(1, name="n")
    with pytest.raises(AssertionError, match="n: 13"):
        SMALL.demand(12, name="n")


def test_apply_stops_at_a_rule_that_the_others_need():
    never = Rule(lambda number: False, "not reached", ValueError)
    with pytest.warns(UserWarning, match="n: 13"):
        assert not apply((SMALL._replace(ends=True), never), 12, name="n")
    with pytest.warns(UserWarning, match="n: 13"), pytest.raises(ValueError, match="not reached"):
        apply((SMALL, never), 12, name="n")
    assert apply((POSITIVE, SMALL), 3, name="n")


def all_rules() -> Iterator[Rule]:
    """Yield the rules of the module and of its tables."""
    waiting = list(vars(rules).values())
    while waiting:
        value = waiting.pop()
        if isinstance(value, Rule):
            yield value
        elif isinstance(value, tuple):
            waiting.extend(value)
        elif isinstance(value, dict) and "__builtins__" not in value:
            waiting.extend(value.values())


def test_each_message_is_written_once():
    texts: dict[str, set[tuple[object, ...]]] = {}
    for rule in all_rules():
        if isinstance(rule.message, str):
            texts.setdefault(rule.message, set()).add((rule.consequence, rule.ends))
    assert len(texts) > 40
    shared = {text for text, forms in texts.items() if len(forms) > 1}
    assert shared == {"A Box {kind} space maximum and minimum values are equal."}
