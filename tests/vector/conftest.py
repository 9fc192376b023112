"""Fixtures for the tests of vector environments."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from gymcore.jit import loops
from tests.envs.atari.recycled_games import recycled_games
from tests.vector.async_pairs import AsyncPairs
from tests.vector.contract import (
    ASYNC_BACKENDS,
    BACKENDS,
    IDS,
    IDS_OF,
    MODES,
    PYTHON_BACKENDS,
    RAY_SECTIONS,
    TAKING_TURNS,
    make_envs,
)
from tests.vector.contract_exclusions import is_excluded
from tests.vector.isolation import Fixture, run_in_fork


def takes_turn(first: int, i: int, *names: str) -> bool:
    """Return whether a test of this hash runs in mode `i`: in one mode, if a name takes turns."""
    turn = next((one for one in names if one in TAKING_TURNS), None)
    return turn is None or i == (first + TAKING_TURNS.index(turn)) % len(MODES)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize a test over the engines of `backend`, `python_backend` or `async_backend`.

    `mode` is each autoreset mode.

    A test of both `backend` and `env_id` runs over the environments in `IDS_OF`; the attribute
    `env_ids` of the test function excludes some of them. If it has a `mode` as well, entries of
    `TAKING_TURNS` run in one mode per test, and the mode alternates between tests. In a test of
    `async_backend` and `mode` the engines take turns. Tests of section 11 run over the environments
    of the compiled engine.
    """
    names = set(metafunc.fixturenames)
    for mark in metafunc.definition.iter_markers("parametrize"):
        given = mark.args[0] if mark.args else mark.kwargs["argnames"]
        names -= {one.strip() for one in given.split(",")} if isinstance(given, str) else {*given}
    ids = getattr(metafunc.function, "env_ids", None)
    test = metafunc.function.__name__
    first = zlib.crc32(test.encode())
    if {"env_id", "mode"} <= names and "backend" not in names and test.startswith("test_11_"):
        pairs = [
            (id, mode)
            for i, mode in enumerate(MODES)
            for id in IDS_OF["native"]
            if not is_excluded(test, id) and takes_turn(first, i, id)
        ]
        metafunc.parametrize(
            ("env_id", "mode"), pairs, ids=[f"{mode.value}-{id}" for id, mode in pairs]
        )
        return
    if {"backend", "env_id"} <= names:
        section = re.match(r"test_(\d+)_\d+_", test)
        on_ray = section is not None and int(section[1]) in RAY_SECTIONS
        pairs = [
            (id, backend)
            for backend in BACKENDS
            if backend != "ray" or on_ray
            for id in IDS_OF[backend]
            if (not ids or id in ids) and not is_excluded(test, id, backend)
        ]
        if "mode" not in names:
            metafunc.parametrize(("env_id", "backend"), pairs)
            return
        triples = []
        for i, mode in enumerate(MODES):
            for id, backend in pairs:
                if takes_turn(first, i, backend, id):
                    triples.append(
                        pytest.param(id, backend, mode, id=f"{mode.value}-{id}-{backend}")
                    )
        metafunc.parametrize(("env_id", "backend", "mode"), triples)
        return
    if {"async_backend", "mode"} <= names:
        turns = [(ASYNC_BACKENDS[(first + i) % 2], mode) for i, mode in enumerate(MODES)]
        metafunc.parametrize(
            ("async_backend", "mode"), turns, ids=[f"{mode.value}-{one}" for one, mode in turns]
        )
        return
    if "mode" in names:
        metafunc.parametrize("mode", MODES, ids=lambda mode: mode.value)
    for name, values in (
        ("env_id", ids or IDS),
        ("backend", [each for each in BACKENDS if each != "ray"]),
        ("python_backend", PYTHON_BACKENDS),
        ("async_backend", ASYNC_BACKENDS),
    ):
        if name in names:
            metafunc.parametrize(name, values)


@pytest.fixture(scope="session", autouse=True)
def _recycled_games() -> Iterator[None]:
    with recycled_games():
        yield


@pytest.fixture(scope="session", autouse=True)
def _functions_are_read_once() -> Iterator[None]:
    """Parse the functions of an interpreted class once: each test makes several batches of it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("needs_live_state", "raising_lines"):
            patch.setattr(loops, name, functools.cache(getattr(loops, name)))
        yield


class Make(Fixture):
    """`make_envs` for one environment; the results are closed after the test."""

    def __init__(self, env_id: str) -> None:
        self.env_id = env_id
        self.made: list[Any] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.made.append(make_envs(self.env_id, *args, **kwargs))
        return self.made[-1]

    def close(self) -> None:
        for envs in self.made:
            envs.close()


@pytest.fixture
def make(env_id: str) -> Iterator[Make]:
    """Yield `make_envs` for the environment; the results are closed after the test."""
    with contextlib.closing(Make(env_id)) as make:
        yield make


@pytest.fixture
def pair() -> Iterator[AsyncPairs]:
    """Make our and Gymnasium's AsyncVectorEnv; close them after the test."""
    with contextlib.closing(AsyncPairs()) as make:
        yield make


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run tests of engines with worker processes in a small process, which starts them faster."""
    values = pyfuncitem.funcargs
    backends = {values.get(name) for name in ("backend", "python_backend", "async_backend")}
    marked = pyfuncitem.get_closest_marker("starts_processes")
    pairs = isinstance(values.get("pair"), AsyncPairs)
    if not (marked or pairs or backends & set(ASYNC_BACKENDS)):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    return run_in_fork(pyfuncitem.obj, {name: values[name] for name in names}) or None
