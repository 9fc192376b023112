"""Threads that step, reset and close batches, while another writes into their actions.

`.ci/sanitize_threads` runs this with an engine and a writer that ThreadSanitizer instruments.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gymcore_ext.engine.batch import Batch
from gymcore_ext.physics import cartpole, pendulum, tabular

LANES = 1500
STEPS = 3


class Errors:
    """Exceptions with the names that the engine looks up."""


NAMES = ("InvalidAction", "InvalidArgument", "ArgumentTypeError", "ResetNeeded")
for _name in (*NAMES, "ClosedEnvironmentError", "ConcurrentUseError"):
    setattr(Errors, _name, type(_name, (Exception,), {}))


def table() -> Any:
    """Return the table of a ring of states, in which each action moves on."""
    following = (np.arange(8)[:, None] + np.arange(3)).ravel() % 8
    outcomes = np.stack([following, following == 7], axis=1).astype(np.int32)[:, None]
    one = int(np.float64(1.0).view(np.int64))  # bits of probabilities and rewards
    values = np.array([[one, one, 0], [one, one, 1]], np.int64)
    limits, none = np.empty((0, 0), np.int64), 1 << 53
    return tabular.pack(values, np.linspace(0.125, 1.0, 8), limits, outcomes, 3, none, none)


def make(kernel: str, mode: int = 1, threads: int = 3) -> Batch:
    options: dict[str, Any] = {"mode": mode, "num_threads": threads, "errors": Errors}
    if kernel == "tabular":
        options |= {"shared": table(), "choices": 3}
    kernels: Any = {"cartpole": cartpole, "pendulum": pendulum, "tabular": tabular}
    batch = Batch(kernels[kernel].kernel, LANES, limit=20, statistics=True, **options)
    batch.seed(1, 0, LANES)
    batch.reset()
    return batch


def actions_for(kernel: str) -> Any:
    if kernel == "pendulum":
        return np.ones((STEPS, LANES, 1), np.float32)
    return np.ones((STEPS, LANES), np.int64)


def outputs(kernel: str, *lead: int) -> dict[str, Any]:
    size = {"cartpole": (4,), "pendulum": (3,), "tabular": ()}[kernel]
    return {
        "observations": np.empty((*lead, *size), np.float32 if size else np.int64),
        "rewards": np.empty(lead),
        "terminated": np.empty(lead, np.bool_),
        "truncated": np.empty(lead, np.bool_),
    }


def calls_of(batch: Batch, kernel: str, actions: Any) -> list[Callable[[], object]]:
    one, many = outputs(kernel, LANES), outputs(kernel, STEPS, LANES)
    some = np.arange(0, LANES, 2)
    return [
        lambda: batch.step(actions[0]),
        lambda: batch.bind_step(actions[0], **one)(),
        lambda: batch.rollout(actions, **many),
        lambda: batch.step_subset(actions[0, : len(some)], some),
    ]


@contextlib.contextmanager
def written(writer: Any, actions: Any) -> Iterator[None]:
    """Let a thread write into the actions: mostly valid ones, and occasionally any bits."""
    good, anything = actions.copy(), actions.copy()
    anything.view(np.uint8)[..., ::5] = 0xF7
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            for values in (anything, *[good] * 20):
                writer(actions.ctypes.data, values.ctypes.data, actions.nbytes // 8)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def beside_a_writer(writer: Any, rounds: int) -> None:
    for kernel in ("cartpole", "pendulum", "tabular"):
        for mode in (0, 1):
            batch, actions = make(kernel, mode), actions_for(kernel)
            calls, stepped = calls_of(batch, kernel, actions), 0
            with written(writer, actions):
                while stepped < rounds:
                    with contextlib.suppress(Errors.InvalidAction):  # type: ignore[attr-defined]
                        calls[stepped % len(calls)]()
                        stepped += 1
            batch.close()


def in_threads(*programs: Callable[[], None]) -> None:
    """Run the programs at the same time, and raise an exception that one of them raised."""
    raised: list[BaseException] = []

    def run(program: Callable[[], None]) -> None:
        try:
            program()
        except BaseException as problem:
            raised.append(problem)

    threads = [threading.Thread(target=run, args=(program,)) for program in programs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def beside_each_other(rounds: int) -> None:
    """Step one batch per thread, with the same table and the same actions."""

    def steps(kernel: str) -> Callable[[], None]:
        def run() -> None:
            batch = make(kernel, threads=2)
            for _ in range(rounds):
                for call in calls_of(batch, kernel, shared[kernel]):
                    call()
            batch.close()

        return run

    shared = {kernel: actions_for(kernel) for kernel in ("cartpole", "pendulum", "tabular")}
    in_threads(*map(steps, ("cartpole", "cartpole", "pendulum", "tabular", "tabular")))


def against_each_other(rounds: int) -> None:
    """Call one batch from several threads: any second call is refused."""
    batch, actions = make("cartpole"), actions_for("cartpole")
    refused, ended = [], threading.Event()
    parameters = batch.get_parameters()

    def attempt(*calls: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            for number in range(rounds):
                try:
                    calls[number % len(calls)]()
                except Errors.ConcurrentUseError as problem:  # type: ignore[attr-defined]
                    refused.append(problem)
                except Errors.ClosedEnvironmentError:  # type: ignore[attr-defined]
                    return
            ended.set()

        return run

    def close() -> None:
        ended.wait(20)
        while True:
            try:
                return batch.close()
            except Errors.ConcurrentUseError:  # type: ignore[attr-defined]
                pass

    in_threads(
        attempt(*calls_of(batch, "cartpole", actions)),
        attempt(lambda: batch.rollout(actions, **outputs("cartpole", STEPS, LANES))),
        attempt(batch.reset, batch.observe, lambda: batch.seed(1, 0, LANES)),
        attempt(lambda: batch.set_parameters(parameters), lambda: batch.exclusively(lambda: None)),
        attempt(lambda: batch.checked_actions(actions[0], LANES)),
        close,
    )
    assert refused


def main(library: str, what: str) -> None:
    sys.setswitchinterval(1e-5)
    writer = ctypes.CDLL(library).gymcore_test_writer
    writer.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    if what == "steps":
        return beside_a_writer(writer, 4)
    beside_a_writer(writer, 20)
    beside_each_other(10)
    against_each_other(100)
    print("sanitize_threads: no data race")


if __name__ == "__main__":
    main(*sys.argv[1:])
