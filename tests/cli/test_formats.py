from __future__ import annotations

import pytest

from gymcore.cli.formats import byte_count, duration, rate, table, times


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0 steps/s"),
        (1.234, "1.23 steps/s"),
        (999.4, "999 steps/s"),
        (999.7, "1 k steps/s"),
        (12_345.0, "12.3 k steps/s"),
        (999_600.0, "1 M steps/s"),
        (41_200_000.0, "41.2 M steps/s"),
        (1.5e9, "1.5 G steps/s"),
    ],
)
def test_rate(number: float, text: str) -> None:
    assert rate(number) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (3.5 * 2**30, "3.5 GiB")]
)
def test_byte_count(number: float, text: str) -> None:
    assert byte_count(number) == text


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (0.0, "0 ns"),
        (4.66e-9, "4.66 ns"),
        (9.9996e-7, "1 us"),
        (2.5e-4, "250 us"),
        (0.0156, "15.6 ms"),
        (90.0, "90 s"),
    ],
)
def test_duration(length: float, text: str) -> None:
    assert duration(length) == text


@pytest.mark.parametrize(
    ("ratio", "text"), [(1912.3, "1912x"), (60.04, "60x"), (1.7, "1.7x"), (0.577, "0.58x")]
)
def test_times(ratio: float, text: str) -> None:
    assert times(ratio) == text


def test_table_aligns_first_column_left_and_the_rest_right() -> None:
    assert table([["a", "1", "x"], ["long", "100", ""]], ["name", "n", "z"]).splitlines() == [
        "name    n  z",
        "----  ---  -",
        "a       1  x",
        "long  100",
    ]
