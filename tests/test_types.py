"""Annotations say something: `Any` and `type: ignore` are rare in `gymcore/`.

mypy's strict mode, which `.ci/run` runs, checks the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1] / "gymcore"

MAX_ANY_PER_THOUSAND_LINES = 12
MAX_IGNORES = 30

# Another name for `Any` would hide it from the count.
ALIAS = re.compile(r"^\w+(: TypeAlias)? = Any\b", re.M)
# Parameters of environments in JAX, of a class of each environment, or the class itself.
JAX_PARAMETERS = "envs/functional_jax_env.py"


def sources() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each module and stub."""
    for path in sorted([*ROOT.rglob("*.py"), *ROOT.rglob("*.pyi")]):
        yield str(path.relative_to(ROOT)), path.read_text()


def count(pattern: str) -> dict[str, int]:
    """Return how often a pattern occurs in the files that have it."""
    counts = {path: len(re.findall(pattern, text)) for path, text in sources()}
    return {path: number for path, number in counts.items() if number}


def test_any_is_rare() -> None:
    num_lines = sum(text.count("\n") for _, text in sources())
    counts = count(r"\bAny\b")
    rate = 1000 * sum(counts.values()) / num_lines
    worst = sorted(counts.items(), key=lambda item: -item[1])[:10]
    assert rate <= MAX_ANY_PER_THOUSAND_LINES, worst


def test_no_alias_hides_any() -> None:
    assert [path for path, text in sources() if ALIAS.search(text)] == [JAX_PARAMETERS]


def test_ignored_errors_are_rare() -> None:
    counts = count("type: ignore")
    assert sum(counts.values()) <= MAX_IGNORES, counts


def test_ignored_errors_are_named() -> None:
    assert count(r"type: ignore(?!\[)") == {}
