"""`set_state` accepts records of the same environment with values that its lanes can have."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.vector.lane_states import LaneState

SMALL, OTHER = ["SFF", "FHF", "FFG"], ["SFF", "FFH", "FFG"]


def make(kind: str, env_id: str, **kwargs: Any) -> Any:
    """Return a single environment, or two lanes of a batch, after a step."""
    if kind == "single":
        env = gym.make(env_id, **kwargs).unwrapped
    else:
        env = gym.make_vec(env_id, num_envs=2, vectorization_mode=MODES[kind], **kwargs)
    env.action_space.seed(1)
    env.reset(seed=1)
    env.step(env.action_space.sample())
    return env


MODES = {"native": "vector_entry_point", "sync": "sync", "async": "async"}
KINDS = ("single", *MODES)


def snapshot(env: Any) -> str:
    return repr(env.get_state())


def changed(state: Any, field: str, change: Any) -> Any:
    """Return the state with a new value of one field of the record, in the last lane."""
    if isinstance(state, list):
        record = changed(state[-1].env, field, change)
        return [*state[:-1], state[-1]._replace(env=record)]
    state = state.copy()
    state[field][-1] = change(state[field][-1].copy())
    return state


def put(index: int, value: Any) -> Any:
    def change(values: Any) -> Any:
        values[index] = value
        return values

    return change


def put_number(index: int, value: float) -> Any:
    """Return a change of a number in a saved lane."""

    def change(saved: Any) -> Any:
        saved["numbers"][index] = value
        return saved

    return change


def refused(env: Any, state: Any) -> None:
    before = snapshot(env)
    with pytest.raises(error.InvalidArgument, match=r"state: (expected|environment)"):
        env.set_state(state)
    assert snapshot(env) == before
    env.step(env.action_space.sample())


OTHERS = {
    "map": ("FrozenLake-v1", {"desc": SMALL}, "FrozenLake-v1", {"desc": OTHER}),
    "table": ("FrozenLake-v1", {}, "FrozenLake-v1", {"is_slippery": False}),
    "rain": ("Taxi-v4", {}, "Taxi-v4", {"is_rainy": True}),
    "kernel": ("CliffWalking-v1", {}, "FrozenLake-v1", {"map_name": "8x8"}),
    "id": ("FrozenLake-v1", {"map_name": "8x8"}, "FrozenLake8x8-v1", {}),
    "frame_skip": ("InvertedPendulum-v5", {}, "InvertedPendulum-v5", {"frame_skip": 4}),
    "version": ("HalfCheetah-v5", {}, "HalfCheetah-v4", {}),
}


@pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")
@pytest.mark.parametrize("kind", ["single", "native", "sync"])
@pytest.mark.parametrize("name", OTHERS)
def test_records_of_other_environments(name: str, kind: str) -> None:
    first, options, second, others = OTHERS[name]
    refused(make(kind, first, **options), make(kind, second, **others).get_state())


def test_records_without_an_id_fit_all_ids() -> None:
    from gymcore.envs.toy_text.frozen_lake import FrozenLakeEnv

    direct = FrozenLakeEnv(map_name="8x8")
    for env_id in ("FrozenLake-v1", "FrozenLake8x8-v1"):
        made = make("single", env_id, map_name="8x8")
        direct.set_state(made.get_state())
        made.set_state(direct.get_state())


VALUES = {
    "elapsed": ("CartPole-v1", "elapsed", lambda _: -5),
    "beyond": ("CartPole-v1", "steps_after_end", lambda _: -2),
    "nan": ("CartPole-v1", "state", put(1, math.nan)),
    "return": ("CartPole-v1", "episode_return", lambda _: math.nan),
    "layout": ("CartPole-v1", "identity", put(1, 7)),
    "parameter": ("CartPole-v1", "parameters", put(1, -1.0)),
    "choice": ("CartPole-v1", "parameters", put(6, 7.0)),
    "increment": ("CartPole-v1", "random", put(3, 0)),
    "half draw": ("CartPole-v1", "random", put(4, 0x0000000100000002)),
    "outside the table": ("FrozenLake-v1", "state", put(0, 16.0)),
    "below the table": ("Taxi-v4", "state", put(0, -1.0)),
    "between states": ("CliffWalking-v1", "state", put(0, 1.5)),
    "action": ("Taxi-v4", "state", put(1, 6.0)),
    "probability": ("FrozenLake-v1", "state", put(2, 2.0)),
    "card": ("Blackjack-v1", "state", put(6, 11.0)),
    "start of a level": ("MiniGrid-Empty-5x5-v0", "parameters", put(1, 300.0)),
    "nan position": ("HalfCheetah-v5", "state", put_number(2, math.nan)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("env_id", dict.fromkeys(env_id for env_id, _, _ in VALUES.values()))
def test_impossible_values(env_id: str, kind: str) -> None:
    env = make(kind, env_id)
    start = env.get_state()
    for other, field, change in VALUES.values():
        if other == env_id:
            refused(env, changed(env.get_state(), field, change))
            env.set_state(start)
    env.close()


@pytest.mark.parametrize("kind", KINDS)
def test_flags_are_false_or_true(kind: str) -> None:
    def set_byte(state: Any) -> Any:
        if isinstance(state, list):
            return [*state[:-1], state[-1]._replace(env=set_byte(state[-1].env))]
        state = state.copy()
        state["ended"].view(np.uint8)[-1] = 255
        return state

    env = make(kind, "CartPole-v1")
    refused(env, set_byte(env.get_state()))
    env.close()


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize(
    "counts",
    [
        {"elapsed": -5},
        {"elapsed": 2**31},
        {"elapsed": None},
        {"ended": 255},
        {"episode_return": math.nan},
    ],
)
def test_impossible_counts_of_an_episode(kind: str, counts: dict[str, Any]) -> None:
    env = make(kind, "CartPole-v1")
    first, second = env.get_state()
    assert isinstance(second, LaneState)
    refused(env, [first, second._replace(**counts)])
    env.close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("extra", [0, 1, 3])
def test_playing_on_after_a_restored_end(kind: str, extra: int) -> None:
    """Rewards after the end are those of the environment that was saved."""
    env, other = (make_disabled(kind) for _ in range(2))
    with np.errstate(all="ignore"):
        while not np.all(env.step(one_action(env))[2]):
            pass
    if kind == "native":
        other.set_state(env.get_state())
        for envs in (env, other):
            with pytest.raises(error.ResetNeeded):
                envs.step(one_action(envs))
        return
    singles = [env, other] if kind == "single" else []
    if not singles:
        other.set_state(env.get_state())
        assert repr(env.call("steps_beyond_terminated")) == repr(
            other.call("steps_beyond_terminated")
        )
        assert other.call("steps_beyond_terminated") == (0, 0)
        env.close(), other.close()
        return
    with pytest.warns(UserWarning) if extra else np.errstate():
        for _ in range(extra):
            env.step(1)
    other.set_state(np.load(io.BytesIO(as_npy(env.get_state()))))
    assert other.steps_beyond_terminated == env.steps_beyond_terminated == extra
    if not extra:
        with pytest.warns(UserWarning, match="already returned"):
            assert env.step(1)[1] == 0.0
        with pytest.warns(UserWarning, match="already returned"):
            assert other.step(1)[1] == 0.0
    for _ in range(3):
        assert repr(env.step(1)) == repr(other.step(1))


def as_npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def make_disabled(kind: str) -> Any:
    if kind == "single":
        return make(kind, "CartPole-v1")
    env = gym.make_vec(
        "CartPole-v1",
        num_envs=2,
        vectorization_mode=MODES[kind],
        vector_kwargs={"autoreset_mode": gym.vector.AutoresetMode.DISABLED},
    )
    env.reset(seed=[1, 1])
    return env


def one_action(env: Any) -> Any:
    return np.ones(env.action_space.shape, np.int64) if env.action_space.shape else 1


def test_a_lane_that_has_terminated_becomes_a_single_environment() -> None:
    envs = make_disabled("native")
    while not envs.step([1, 1])[2].all():
        pass
    env = make("single", "CartPole-v1")
    env.set_state(envs.get_state([0]))
    assert env.steps_beyond_terminated == 0
    truncated = gym.make_vec("CartPole-v1", num_envs=1, max_episode_steps=1)
    truncated.reset(seed=1)
    assert truncated.step([1])[3].all()
    env.set_state(truncated.get_state())
    assert env.steps_beyond_terminated is None


def test_records_without_pickles() -> None:
    """A record consists of bytes and a dtype."""
    env = make("native", "Taxi-v4")
    saved = env.get_state()
    data, dtype = saved.tobytes(), saved.dtype
    actions = [env.action_space.sample() for _ in range(5)]
    expected = [env.step(action) for action in actions]
    env.set_state(np.frombuffer(data, dtype))
    assert repr([env.step(action) for action in actions]) == repr(expected)
    assert not dtype.hasobject


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("state", [None, 3, "ab", np.zeros(2)])
def test_what_is_no_list_of_states(kind: str, state: Any) -> None:
    env = make(kind, "CartPole-v1")
    with pytest.raises(error.ArgumentTypeError, match=r"state: expected (a batch|what get_state)"):
        env.set_state(state)
    env.close()


@pytest.mark.parametrize("kind", MODES)
def test_closed_environments_take_no_states(kind: str) -> None:
    env = make(kind, "CartPole-v1")
    saved = env.get_state()
    env.close()
    with pytest.raises(error.ClosedEnvironmentError):
        env.set_state(saved)


def test_box2d_settings() -> None:
    pytest.importorskip("Box2D")
    discrete = make("single", "LunarLander-v3")
    refused(discrete, make("single", "LunarLander-v3", continuous=True).get_state())


BROKEN: dict[str, Any] = {
    "nan move": lambda state: {**state, "moves": ((math.nan,) * 6,)},
    "short move": lambda state: {**state, "moves": (*state["moves"], (1.0,))},
    "nan start": lambda state: {**state, "start": (math.nan, *state["start"][1:])},
    "no start": lambda state: {**state, "start": ()},
    "counters": lambda state: {**state, "counters": {}},
    "generator": lambda state: {**state, "random": {"bit_generator": "seed"}},
    "no generator": lambda state: {k: v for k, v in state.items() if k != "random"},
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_states_of_box2d(name: str) -> None:
    pytest.importorskip("Box2D")
    from gymcore.envs.box2d.lunar_lander_python import LunarLander

    env = LunarLander()
    env.reset(seed=1)
    before = snapshot(env)
    with pytest.raises(error.InvalidArgument, match="state: "):
        env.set_state(BROKEN[name](env.get_state()))
    assert snapshot(env) == before
    env.step(0)
