from __future__ import annotations

import argparse

import pytest

from gymcore.cli.options import count, positive, seed


@pytest.mark.parametrize(
    ("text", "number"), [("1", 1), ("64", 64), ("1_000", 1000), ("1e6", 10**6), ("2.5e3", 2500)]
)
def test_count_reads_whole_numbers(text: str, number: int) -> None:
    assert count(text) == number
    assert type(count(text)) is int


@pytest.mark.parametrize("text", ["", "0", "-3", "1.5", "many", "nan", "inf", "1e-3"])
def test_count_refuses_anything_else_and_says_what_came(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="expected"):
        count(text)


def test_count_keeps_every_digit_of_a_large_number() -> None:
    assert count(str(2**63 + 1)) == 2**63 + 1


def test_seed_may_be_zero_but_not_negative() -> None:
    assert seed("0") == 0
    assert seed("17") == 17
    with pytest.raises(argparse.ArgumentTypeError, match="expected at least 0, got '-1'"):
        seed("-1")


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon"])
def test_numbers_must_be_positive(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="a number above 0"):
        positive(text)


def test_numbers_may_be_fractions() -> None:
    assert positive("0.25") == 0.25
