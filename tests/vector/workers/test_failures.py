"""Exceptions that are sent between processes."""

from __future__ import annotations

import multiprocessing
import pickle
import signal

import pytest

from gymcore import error
from gymcore.vector.workers.failures import (
    describe_failure,
    describe_lanes,
    environment_error,
    failures_error,
    start_timeout_error,
    worker_died_error,
    worker_timeout_error,
)


class TwoArguments(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(code, text)
        self.code = code


class Unshowable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Unpicklable(Exception):
    def __reduce__(self):
        raise TypeError("cannot pickle this")


def raised(exception: BaseException) -> BaseException:
    try:
        raise exception
    except BaseException as caught:
        return caught


EXCEPTIONS = [
    ValueError("no fuel"),
    KeyError("speed"),
    FileNotFoundError(2, "no such file"),
    TwoArguments(7, "broken"),
    StopIteration(3),
    ImportError("missing", name="x"),
    AssertionError(),
]


@pytest.mark.parametrize("exception", EXCEPTIONS, ids=lambda e: type(e).__name__)
def test_also_of_the_exception_own_class(exception):
    failure = describe_failure(3, "step", raised(exception))
    found = failures_error([pickle.loads(pickle.dumps(failure))])
    assert isinstance(found, error.EnvironmentFailed)
    assert isinstance(found, type(exception))
    assert found.lanes == [3]
    assert f"environment 3 raised {type(exception).__name__} in step" in str(found)
    assert "Traceback" in found.traceback
    assert found.traceback in str(found)


def test_the_original_is_chained_where_it_pickles():
    found = failures_error([describe_failure(0, "reset", raised(ValueError("no fuel")))])
    assert isinstance(found.__cause__, ValueError)
    assert str(found.__cause__) == "no fuel"


@pytest.mark.parametrize(
    "exception",
    [Unpicklable("x"), type("Local", (Exception,), {})("y"), Unshowable(), SystemExit(3)],
    ids=["unpicklable", "local class", "unshowable", "SystemExit"],
)
def test_what_cannot_be_sent_is_told(exception):
    failure = describe_failure(1, "step", raised(exception))
    found = failures_error([pickle.loads(pickle.dumps(failure))])
    assert isinstance(found, error.EnvironmentFailed)
    assert not isinstance(found, SystemExit)
    assert type(exception).__name__ in str(found)


def test_a_class_that_does_not_combine():
    exception = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    found = environment_error([2], "step", exception)
    assert isinstance(found, error.EnvironmentFailed)
    assert "invalid start byte" in str(found)


def test_failures_of_several_lanes():
    failures = [describe_failure(i, "step", raised(ValueError(f"lane {i}"))) for i in (2, 5)]
    found = failures_error(failures)
    assert found.lanes == [2, 5]
    assert "lane 2" in str(found) and "lane 5" in str(found)


@pytest.mark.parametrize(
    "problem",
    [
        environment_error([1, 2], "step", KeyError("k"), "text"),
        environment_error([1, 2], "step", Unpicklable("k"), "text"),
        worker_died_error([1, 2], "step", -9, 0, "text"),
        worker_timeout_error([1, 2], "step", 3.0),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_it_pickles(problem):
    problem.add_note("a note")
    found = pickle.loads(pickle.dumps(problem))
    assert type(found) is type(problem) and found.args == problem.args
    assert vars(found) == vars(problem) and found.lanes == [1, 2]
    assert str(found) == str(problem)


def test_deaths_name_signal_and_lanes():
    found = worker_died_error([4, 5, 6, 9], "step", -signal.SIGKILL, 1, "last words")
    assert found.exit_code == -signal.SIGKILL
    assert "worker 1 with environments 4-6, 9 died in step: killed by SIGKILL" in str(found)
    assert "last words" in str(found)
    assert "exit code 3" in str(worker_died_error([0], "reset", 3, 0))
    assert "not known" in str(worker_died_error([0], "reset", None, 0))


def test_timeouts_are_those_of_multiprocessing():
    found = worker_timeout_error([0], "step_wait", 0.5)
    assert isinstance(found, multiprocessing.TimeoutError)
    assert isinstance(found, TimeoutError) and isinstance(found, error.WorkerTimeout)
    assert str(found).startswith("The call to `step_wait` has timed out after 0.5 second(s).")


def test_environments_that_were_not_made_say_where_they_wait():
    found = start_timeout_error([2, 3], 9.0, "in connect")
    assert isinstance(found, multiprocessing.TimeoutError) and found.lanes == [2, 3]
    assert str(found) == (
        "environments 2-3: not made within start_timeout=9.0 second(s); environment 2 waits here:"
        "\n\nin connect"
    )
    assert str(start_timeout_error([2], 9.0, "")).endswith("start_timeout=9.0 second(s)")


def test_many_pieces_are_shortened():
    assert describe_lanes([7]) == "environment 7"
    assert describe_lanes([1, 2, 3, 7]) == "environments 1-3, 7"
    assert describe_lanes(list(range(0, 100, 2))).endswith("14, ...")
