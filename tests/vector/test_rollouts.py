"""Rollouts: steps, last observations and resets in every autoreset mode, with or without arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore.error import InvalidArgument
from gymcore.vector.rollouts import Rollout, Steps

T, N = 40, 3
MODES = ("NextStep", "SameStep", "Disabled")


def make(mode: str, engine: str = "native") -> Any:
    options = {"autoreset_mode": mode}
    return gym.make_vec("CartPole-v1", N, engine, vector_kwargs=options, max_episode_steps=12)


def collect(mode: str, engine: str, stops_at: int = T) -> tuple[Steps, list[Any], int]:
    rollout, ends = Rollout(make(mode, engine)), []
    steps = Steps.empty(T, N, np.zeros((T + 1, N, 4), np.float32))
    rollout.reset(seed=1)
    steps.observations[0] = rollout.observations
    actions = np.random.default_rng(2).integers(0, 2, (T, N))
    taken = rollout.collect(
        lambda t, observations: None if t == stops_at else actions[t],
        steps,
        lambda t, lanes, last: ends.append((t, lanes.tolist(), last)),
    )
    return steps, ends, taken


@pytest.mark.parametrize("mode", MODES)
def test_engines_give_the_same_steps_and_ends(mode: str) -> None:
    (native, ends, taken), (sync, sync_ends, _) = (collect(mode, e) for e in ("native", "sync"))
    assert taken == T
    for ours, theirs in zip(native, sync, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    done = native.terminated | native.truncated
    if mode == "NextStep":
        assert ends == sync_ends == []  # the next row has the last observation
    else:
        assert [(t, lane) for t, lanes, _ in ends for lane in lanes] == list(
            map(tuple, np.argwhere(done).tolist())
        )
        for (_, _, ours), (_, _, theirs) in zip(ends, sync_ends, strict=True):
            np.testing.assert_array_equal(ours, theirs)
            assert (np.abs(ours) > 0.05).any()  # not the first observations of episodes
        assert (np.abs(native.observations[1:][done]) <= 0.05).all()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("stores", [False, True])
def test_one_call_gives_what_single_steps_give(mode: str, stores: bool) -> None:
    expected, expected_ends, _ = collect(mode, "native")
    rollout, ends = Rollout(make(mode)), []
    assert rollout.runs_natively
    rollout.reset(seed=1)
    observations = np.zeros((T + 1, N, 4), np.float32) if stores else None
    steps = Steps.empty(T, N, observations)
    actions = np.random.default_rng(2).integers(0, 2, (T, N))
    for first in range(0, T, 15):
        part = steps.part(first, min(15, T - first))
        rollout.run(
            actions[first : first + 15], part, lambda t, lanes, last: ends.append((lanes, last))
        )
    for name in Steps._fields[:3]:
        np.testing.assert_array_equal(getattr(steps, name), getattr(expected, name))
    if observations is not None:
        np.testing.assert_array_equal(observations[1:], expected.observations[1:])
    if mode == "SameStep":
        last = np.concatenate([last for _, last in ends])
        np.testing.assert_array_equal(last, np.concatenate([last for *_, last in expected_ends]))


def test_none_ends_a_rollout() -> None:
    steps, _, taken = collect("NextStep", "native", stops_at=7)
    assert taken == 7
    assert steps.observations[7].any() and not steps.observations[8:].any()


def test_disabled_autoreset_is_not_run_natively() -> None:
    assert not Rollout(make("Disabled")).runs_natively
    assert not Rollout(make("SameStep", "sync")).runs_natively


def test_some_lanes_are_reset_without_the_others() -> None:
    envs = make("Disabled", "async")
    with envs:
        rollout = Rollout(envs, np.array([0, 2]))
        rollout.reset(seed=1)
        ended = None
        while ended is None:
            observations, _, terminated, _, ended, last, _ = rollout.step(np.array([0, 1]))
        assert np.shape(observations) == (2, 4) and terminated[ended].all()
        assert (np.abs(observations[ended]) <= 0.05).all() and (np.abs(last) > 0.05).any()


def test_missing_last_observations_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    envs = make("SameStep", "sync")
    rollout = Rollout(envs)
    rollout.reset(seed=1)
    step = rollout._step

    def without_last(actions: Any) -> Any:
        *result, infos = step(actions)
        infos.pop("final_obs", None)
        return *result, infos

    monkeypatch.setattr(rollout, "_step", without_last)
    with pytest.raises(InvalidArgument, match="without info\\['final_obs'\\]"):
        for _ in range(12):
            rollout.step(np.zeros(N, np.int64))
