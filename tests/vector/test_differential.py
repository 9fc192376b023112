"""Every call of the contract, with good and bad arguments: all engines behave alike.

Each engine makes the same calls as `SyncVectorEnv`, in every autoreset mode. Results are compared
byte for byte, errors by type and message; messages may differ in the environment's name.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.remote.server import Server
from gymcore.remote.vector_env import HostedVectorEnv, RemoteVectorEnv
from gymcore.vector import AsyncVectorEnv, SyncVectorEnv
from tests.vector.contract import ARRAY_ID, MODES, make_envs

N = 3
HAS_MSGPACK = importlib.util.find_spec("msgpack") is not None
ENGINES = (
    *("async", "native", "arrays"),
    *(["remote"] if HAS_MSGPACK else []),
    *(["ray"] if importlib.util.find_spec("ray") else []),
)

Call = Callable[[Any], Any]

GO = np.array([0, 1, 0])
SOME = np.array([True, False, True])


def steps(envs: Any, count: int = 1) -> list[Any]:
    return [envs.step(GO) for _ in range(count)]


def after(*calls: Call) -> Call:
    """Return a call that makes several calls, and returns the result of the last one."""
    return lambda envs: [call(envs) for call in calls][-1]


def reset(**kwargs: Any) -> Call:
    return lambda envs: envs.reset(**kwargs)


def step(actions: Any, *env_ids: Any) -> Call:
    return lambda envs: envs.step(actions, *env_ids)


def send(actions: Any = GO, *env_ids: Any) -> Call:
    return lambda envs: envs.send(actions, *env_ids)


def recv(*timeout: Any) -> Call:
    """Return a `recv` with sorted rows: workers return lanes as they become ready."""

    def call(envs: Any) -> Any:
        *arrays, infos = envs.recv(*timeout)
        order = np.argsort(infos["env_id"])
        infos = {key: one for key, one in infos.items() if not key.endswith("final_info")}
        return [one[order] for one in (*arrays, *(infos[key] for key in sorted(infos)))]

    return call


def end(mask: Any) -> Call:
    return lambda envs: envs.end_episodes(mask)


def set_state_of(lanes: Any, count: int) -> Call:
    return lambda envs: envs.set_state(envs.get_state()[:count], lanes)


def restored(envs: Any) -> Any:
    states = envs.get_state()
    steps(envs, 2)
    envs.set_state(states)
    return steps(envs)


MASKS = {
    "mask list": [True, False, True],
    "mask short": np.ones(2, np.bool_),
    "mask int": np.ones(N, np.int64),
    "mask empty": np.zeros(N, np.bool_),
}

# Actions that form a batch, and some that do not.
ACTIONS: dict[str, Any] = {
    "list": [0, 1, 0],
    "tuple": (0, 1, 0),
    "int8": GO.astype(np.int8),
    "uint64": GO.astype(np.uint64),
    "strided": np.repeat(GO, 2)[::2],
    "Python bools": [False, True, False],
    "NumPy bools": GO.astype(np.bool_),
    "list of NumPy bools": list(GO.astype(np.bool_)),
    "float array": GO.astype(np.float64),
    "float list": [0.0, 1.0, 0.0],
    "complex": GO.astype(np.complex128),
    "short": GO[:2],
    "long": np.zeros(4, np.int64),
    "column": GO[:, None],
    "none": None,
    "number": 1,
    "text": "ab",
    "ragged": [[0], [1, 0], [0]],
    "empty": [],
}
IDS: dict[str, Any] = {
    "ids": [2, 0],
    "ids array": np.array([1], np.int32),
    "ids mask": SOME,
    "ids twice": [1, 1],
    "ids out of range": [3],
    "ids negative": [-1],
    "ids float": [0.0, 1.0],
    "ids text": "ab",
    "ids empty": [],
}

# Calls after a reset. Engines without a group of calls refuse all of it.
CALLS: dict[str, dict[str, Call]] = {
    "all": {
        **{
            f"reset seed {seed!r}": reset(seed=seed)
            for seed in (7, [1, None, 3], np.int64(4), (1, 2, 3), -1, 1.5, [1], "a", [1, -2, 3])
        },
        "reset array of seeds": after(reset(seed=np.array([5, 6, 7])), steps),
        "reset two axes of seeds": reset(seed=np.zeros((1, 3), np.int64)),
        "reset options": reset(seed=1, options={}),
        "reset bad options": reset(options=3),
        "reset mask": after(steps, reset(seed=9, options={"reset_mask": SOME}), steps),
        "reset full mask": reset(seed=9, options={"reset_mask": np.ones(N, np.bool_)}),
        **{f"reset {name}": reset(options={"reset_mask": mask}) for name, mask in MASKS.items()},
        **{f"step {name}": step(actions) for name, actions in ACTIONS.items()},
        "two episodes": functools.partial(steps, count=5),
        "limit": functools.partial(steps, count=2),
        "reset after the end": after(
            functools.partial(steps, count=2), reset(options={"reset_mask": SOME}), steps
        ),
    },
    "some": {
        **{f"step {name}": step([1] * len(ids), ids) for name, ids in IDS.items()},
        **{f"step_lanes {name}": lambda envs, ids=ids: envs.step_lanes([1, 0], ids)
           for name, ids in IDS.items()},
        **{f"send {name}": send([1] * len(ids), ids) for name, ids in IDS.items()},
        "ended lanes rest": after(
            functools.partial(steps, count=2), reset(options={"reset_mask": SOME}), step([1], [1])
        ),
    },
    "queue": {
        "recv": recv(),
        "recv timeout text": recv("soon"),
        "recv timeout nan": recv(float("nan")),
        "send and recv": after(send(), recv()),
        "send, recv, send": after(send(), recv(), send(), recv(), steps),
        "send twice": after(send(), send()),
        "send, step": after(send(), steps),
        "send, masked reset": after(send(), reset(options={"reset_mask": SOME})),
        "send, reset, recv": after(send(), reset(seed=3), recv()),
        "send, end": after(send(), end(SOME)),
        "send, render": after(send(), lambda envs: envs.render()),
        "send, get_attr": after(send(), lambda envs: envs.get_attr("state")),
        **{f"send {name}": after(send(actions), recv()) for name, actions in ACTIONS.items()},
    },
    "episodes": {
        "end": after(steps, end(SOME), steps, steps),
        **{f"end {name}": end(mask) for name, mask in MASKS.items() if name != "mask empty"},
    },
    "attributes": {
        "get_attr": lambda envs: envs.get_attr("length"),
        "call": lambda envs: envs.call("length"),
        **{f"call {name}": lambda envs, name=name: envs.call(name) for name in ("reset", "close")},
        "set_attr": lambda envs: (envs.set_attr("length", 0.7), steps(envs)),
        "set_attr each": lambda envs: (envs.set_attr("length", [0.5] * N), steps(envs)),
        "set_attr short": lambda envs: envs.set_attr("length", [0.5]),
        "call while sent": after(send(), lambda envs: envs.call("length")),
        "set_attr while sent": after(send(), lambda envs: envs.set_attr("length", 0.5)),
    },
    "states": {
        "restored": restored,
        "some restored": lambda envs: (envs.set_state(envs.get_state([2, 0]), [0, 2]), steps(envs)),
        "get_state of a mask": lambda envs: len(envs.get_state(SOME)),
        **{f"get_state {name}": lambda envs, ids=ids: len(envs.get_state(ids))
           for name, ids in IDS.items()},
        "set_state short": set_state_of(None, 2),
        "set_state none": lambda envs: envs.set_state(None),
        "set_state bad lanes": set_state_of([0, 7], 2),
        "get_state while sent": after(send(), lambda envs: envs.get_state()),
        "set_state while sent": lambda envs: (
            states := envs.get_state(), envs.send(GO), envs.set_state(states)
        ),
    },
}  # fmt: skip

BEFORE_RESET: dict[str, dict[str, Call]] = {
    "all": {
        "step": step(GO),
        "masked reset": reset(options={"reset_mask": SOME}),
        "bad seed": reset(seed=-1),
    },
    "some": {"step some": step([1], [1])},
    "queue": {"send": send(), "recv": recv()},
    "episodes": {"end": end(SOME)},
}

AFTER_CLOSE: dict[str, Call] = {
    "reset": reset(seed=1),
    "step": step(GO),
    "step some": step([1], [1]),
    "step_lanes": lambda envs: envs.step_lanes([1], [1]),
    "send": send(),
    "recv": recv(),
    "end": end(SOME),
    "call": lambda envs: envs.call("length"),
    "get_attr": lambda envs: envs.get_attr("length"),
    "set_attr": lambda envs: envs.set_attr("length", 0.5),
    "get_state": lambda envs: envs.get_state(),
    "set_state": lambda envs: envs.set_state([]),
    "render": lambda envs: envs.render(),
    "keep_final_frames": lambda envs: envs.keep_final_frames(),
    "close": lambda envs: envs.close(),
}

# Groups of calls that engines lack, and their calls after `close` that the engine does not
# define: physics on whole batches defines `step_lanes`; these tests define `get_attr`, `set_attr`.
LACKS = {
    "arrays": {"some", "queue", "attributes", "states"},
    "remote": {"episodes", "attributes", "states"},
    "ray": {"some", "queue", "episodes", "states"},
}
NOT_CLOSED = {"arrays": {"step_lanes", "get_attr", "set_attr", "render"}}
# A server knows whether its environments were reset, perhaps in an earlier session: the client
# learns of it from the reply, which `recv` returns.
OF_THE_SERVER = {"queue: before reset: send", "queue: before reset: recv", "queue: send, end"}
REFUSED: dict[str, Call] = {
    "step": step([1], [1]),
    "send": send(),
    "recv": recv(),
    "end_episodes": end(SOME),
    "call": lambda envs: envs.call("length"),
    "get_state": lambda envs: envs.get_state(),
    "set_state": lambda envs: envs.set_state([0] * N),
}


@contextlib.contextmanager
def engine_of(name: str, mode: Any) -> Iterator[Any]:
    """Make three lanes of CartPole whose episodes last two steps."""
    kwargs = {"num_envs": N, "max_episode_steps": 2}
    if name in ("sync", "async", "native", "ray"):
        with make_envs("CartPole-v1", name, mode, **kwargs) as envs:
            yield envs.unwrapped
    elif name == "arrays":
        with make_envs(ARRAY_ID, "native", mode, **kwargs) as envs:
            yield envs.unwrapped
    else:
        hosted = make_envs("CartPole-v1", "native", mode, **kwargs)
        server = Server(HostedVectorEnv(hosted, "CartPole-v1"))
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            with RemoteVectorEnv("CartPole-v1", server.address) as envs:
                yield envs
        finally:
            server.stop()
            thread.join()
            server.close()
            hosted.close()


def plain(value: Any) -> Any:
    """Return a result as numbers, strings and tuples, which are equal for equal results."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        items = dict(value)
        if "_final_obs" in items:
            # One array, or an object array; infos of CartPole are empty, in either form.
            rows = [items["final_obs"][i] for i in np.flatnonzero(items["_final_obs"])]
            items["final_obs"] = tuple(rows)
            items.pop("final_info"), items.pop("_final_info")
        return {key: plain(one) for key, one in sorted(items.items())}
    if isinstance(value, (list, tuple, np.ndarray)):
        return tuple(map(plain, value))
    return value


def outcome(call: Call, envs: Any) -> Any:
    """Return the result of a call, or the exception that it raises."""
    try:
        return plain(call(envs))
    except Exception as problem:
        return problem


def shown(problem: Exception) -> str:
    """Return the message of an exception without the environment's name."""
    name = r"(\w+VectorEnv|ArrayCartPole)"
    text = re.sub(rf"{name}\([^)]*\)", "ENVS", str(problem))
    return re.sub(f"`{name}`", "`ENVS`", text)


def check_same(name: str, found: Any, expected: Any) -> None:
    if not isinstance(expected, Exception):
        assert not isinstance(found, Exception), f"{name}: raised {found!r}"
        assert found == expected, name
        return
    assert isinstance(found, Exception), f"{name}: expected {expected!r}, got {found!r}"
    if isinstance(
        found, error.EnvironmentFailed
    ):  # the server's: of this class too, with a traceback
        assert isinstance(found, type(expected)), name
        assert shown(expected) in shown(found), name
        return
    assert (type(found), shown(found)) == (type(expected), shown(expected)), name


@functools.cache
def outcomes(engine: str, mode: Any) -> dict[str, Any]:
    """Return the outcome of every call, by its group and name."""
    result: dict[str, Any] = {}
    with engine_of(engine, mode) as envs:
        for group, calls in BEFORE_RESET.items():
            for name, call in calls.items():
                result[f"{group}: before reset: {name}"] = outcome(call, envs)
        for group, calls in CALLS.items():
            for name, call in calls.items():
                envs.reset(seed=1)
                result[f"{group}: {name}"] = outcome(call, envs)
        envs.reset(seed=1)
        envs.close()
        for name, call in AFTER_CLOSE.items():
            result[f"closed: {name}"] = outcome(call, envs)
    return result


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("engine", ENGINES)
def test_engines_do_the_same(engine: str, mode: Any) -> None:
    expected, found = outcomes("sync", mode), outcomes(engine, mode)
    assert found.keys() == expected.keys()
    problems = []
    for name, one in found.items():
        group, *_, call = name.split(": ")
        refused = isinstance(one, error.UnsupportedMode) and group == "closed"
        if group in LACKS.get(engine, ()) or refused:
            continue
        if call.endswith("while sent") and "queue" in LACKS.get(engine, ()):
            continue
        if engine == "remote" and name in OF_THE_SERVER:
            continue
        if group == "closed" and call in NOT_CLOSED.get(engine, ()):
            continue
        try:
            check_same(name, one, expected[name])
        except AssertionError as problem:
            problems.append(str(problem))
    assert not problems, "\n\n".join(problems)


@pytest.mark.parametrize(
    ("engine", "names"),
    [
        ("arrays", {"step", "send", "recv", "call", "get_state", "set_state"}),
        ("remote", {"end_episodes", "call", "get_state", "set_state"}),
    ],
)
def test_what_an_engine_lacks_is_refused(engine: str, names: set[str]) -> None:
    if engine not in ENGINES:
        pytest.skip("msgpack is not installed")
    with engine_of(engine, MODES[0]) as envs:
        envs.reset(seed=1)
        for name in sorted(names):
            with pytest.raises(error.UnsupportedMode, match=rf"^{name}: \w+\(.*num_envs=3\) "):
                REFUSED[name](envs)
        steps(envs)


class Echo(gym.Env):
    """Environment that reports the type of its actions."""

    def __init__(self, *shape: int) -> None:
        self.observation_space = gym.spaces.Discrete(2)
        self.action_space = gym.spaces.Box(-9, 9, shape, np.float32)

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        return 0, float(np.sum(action)), False, False, {"type": f"{np.asarray(action).dtype}"}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_floating_point_actions_keep_their_type(shape: tuple[int, ...], dtype: Any) -> None:
    """Other numbers get the type to which NumPy promotes them and float32."""
    actions = (np.ones((2, *shape)) / 3).astype(dtype)
    expected = np.result_type(dtype, np.float32).name
    for engine in (SyncVectorEnv, AsyncVectorEnv):
        with engine([lambda: Echo(*shape)] * 2) as envs:
            envs.reset()
            envs.send(actions)
            for results in (envs.recv(), envs.step(actions), envs.step(actions, [0, 1])):
                assert results[4]["type"].tolist() == [expected] * 2
                assert results[1].tolist() == [float(np.sum(actions[0].astype(expected)))] * 2
