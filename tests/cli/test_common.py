from __future__ import annotations

import argparse
import os
import signal
import threading

import pytest

from gymcore.cli.common import (
    byte_count,
    count,
    duration,
    interruption,
    positive,
    rate,
    seed,
    table,
    times,
)
from tests.for_each import for_each


@pytest.mark.parametrize(
    ("text", "number"), [("1", 1), ("64", 64), ("1_000", 1000), ("1e6", 10**6), ("2.5e3", 2500)]
)
def test_count_reads_whole_numbers(text: str, number: int) -> None:
    assert count(text) == number
    assert type(count(text)) is int


@for_each("text", ["", "0", "-3", "1.5", "many", "nan", "inf", "1e-3"])
def test_count_refuses_anything_else_and_says_what_came(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="expected"):
        count(text)


def test_count_keeps_every_digit_of_a_large_number() -> None:
    assert count(str(2**63 + 1)) == 2**63 + 1


def test_seed_may_be_zero_but_not_negative() -> None:
    assert seed("0") == 0
    assert seed("17") == 17
    with pytest.raises(argparse.ArgumentTypeError):
        seed("-1")


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon"])
def test_numbers_must_be_positive(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="a number above 0"):
        positive(text)


def test_numbers_may_be_fractions() -> None:
    assert positive("0.25") == 0.25


@for_each(
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


@for_each(
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


def test_first_interrupt_is_a_flag_second_one_raises_and_the_handler_comes_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruption() as interrupted:
        assert not interrupted.requested
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupted.requested
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_interruption_in_another_thread_leaves_signals_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work() -> None:
        with interruption() as interrupted:
            seen.append((signal.getsignal(signal.SIGINT), interrupted.requested))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(before, False)]
