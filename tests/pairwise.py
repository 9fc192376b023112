"""Combinations of parameters for tests: fewer than the product of all."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any


def pairwise(*parameters: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return combinations in which any two values of different parameters occur together.

    If the two longest parameters have m and n values, that is about m * n combinations.
    """
    values = [list(parameter) for parameter in parameters]
    rows = list(itertools.product(*(range(len(one)) for one in values)))

    def pairs(row: tuple[int, ...]) -> set[tuple[tuple[int, int], ...]]:
        return set(itertools.combinations(enumerate(row), 2))

    missing = set().union(*map(pairs, rows))
    chosen = []
    while missing:
        best = max(rows, key=lambda row: len(missing & pairs(row)))
        missing -= pairs(best)
        chosen.append(tuple(one[i] for one, i in zip(values, best, strict=True)))
    return chosen
