"""The bars of the general environment interface, remote environments and clusters."""

from __future__ import annotations

from bars import CARTPOLE, Bar, Group, Measured, at_most, name, ratio

#: Contenders that run in a separate process, with the library that they need.
LIBRARIES = {"gymcore-ray": "ray", "gymcore-processes": "ray", "pyzmq": "zmq"}

LANES = 64
ACTOR_LANES = 1024


def remote_bars(threads: int) -> list[Bar]:
    """Return the bars; the number of threads does not matter."""
    first, native = name("gymcore-execute-first", LANES), name("gymcore-native-first", LANES)
    remote = name("gymcore-remote", LANES)

    messages = name("pyzmq", LANES)
    ray, processes = name("gymcore-ray", ACTOR_LANES), name("gymcore-processes", ACTOR_LANES)

    def rate(measured: Measured) -> float:
        return 1e-3 / measured.step(remote)

    return [
        ratio("Environment.execute n=64, no episode ends / native step", first, [native], 0.4),
        Bar("remote CartPole n=64 over loopback, TLS", ">= 300,000 steps/s", rate,
            lambda number: f"{number:.0f},000 steps/s", lambda number: number >= 300),
        at_most("remote CartPole n=64, a step", 150, "us", 1e6 * LANES,
                lambda measured: measured.step(remote)),
        ratio("remote CartPole n=64 / such messages by pyzmq, CURVE", remote, [messages], 0.8),
        ratio("two actors of Ray, T=128, K=1024 / two processes", ray, [processes], 0.8),
    ]  # fmt: skip


def remote_groups() -> list[Group]:
    """Return the measurements needed for the bars."""

    def group(title: str, *keys: str, lanes: int = LANES) -> Group:
        return Group(title, tuple((key, CARTPOLE, lanes, 1) for key in keys))

    return [
        group("execute", "gymcore-execute-first", "gymcore-native-first", "gymcore-execute"),
        group("remote", "gymcore-remote", "pyzmq", "gymcore"),
        group("ray", "gymcore-ray", "gymcore-processes", lanes=ACTOR_LANES),
    ]
