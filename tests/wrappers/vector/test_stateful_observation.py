"""Vector wrappers with observations of earlier steps equal the single wrappers in each lane."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore.error import UnsupportedMode
from gymcore.vector import AutoresetMode, SyncVectorEnv
from gymcore.wrappers import vector as wrappers
from tests.testing_env import OBSERVATION_KINDS, assert_same, make_counting_env, make_space
from tests.wrappers.lane_by_lane import MODES, check_lane_by_lane, in_modes
from tests.wrappers.walk_env import make_walk_env

ARRAY_KINDS = ("box", "image", "scalar", "discrete", "multi_discrete", "multi_binary")
modes = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)

Walk = make_walk_env(gym)


def check(
    name: str,
    *args: Any,
    mode: AutoresetMode,
    kind: str = "box",
    infos: bool = True,
    **kwargs: Any,
) -> None:
    check_lane_by_lane(
        lambda envs: getattr(gym.wrappers.vector, name)(envs, *args, **kwargs),
        lambda env: getattr(gym.wrappers, name)(env, *args, **kwargs),
        lambda: gym.wrappers.TimeLimit(Walk(kind), 9),
        mode=mode,
        steps=12,
        infos=infos,
    )


@in_modes("kind", ["dict", "text", "one_of", "discrete"])
def test_delay(kind: str, mode: AutoresetMode) -> None:
    check("DelayObservation", 2, mode=mode, kind=kind)


@in_modes("delay", [0, 1, 5])
def test_delays(delay: int, mode: AutoresetMode) -> None:
    check("DelayObservation", delay, mode=mode)


@in_modes("kind", [kind for kind in OBSERVATION_KINDS if kind != "scalar"])
def test_stack(kind: str, mode: AutoresetMode) -> None:
    check("FrameStackObservation", 3, mode=mode, kind=kind)


@in_modes(
    "size, padding",
    [(5, "reset"), (1, "zero"), (5, "zero"), (1, "reset"), (5, np.array([3, 4], np.float32))],
)
def test_sizes_and_paddings_of_stacks(size: int, padding: Any, mode: AutoresetMode) -> None:
    check("FrameStackObservation", size, mode=mode, padding_type=padding)


@in_modes("kind", ["dict", "tuple", "text"])
def test_paddings_of_other_spaces(kind: str, mode: AutoresetMode) -> None:
    space = make_space(gym, kind)
    space.seed(3)
    check("FrameStackObservation", 3, mode=mode, kind=kind, padding_type=space.sample())


@in_modes("kind, flatten", itertools.product(["box", "discrete", "dict", "tuple"], [False, True]))
def test_time(kind: str, flatten: bool, mode: AutoresetMode) -> None:
    normalize = kind in ("box", "dict")
    # Last observations that are dicts have their keys in another order: that of the space.
    infos = flatten or kind != "dict"
    check("TimeAwareObservation", flatten, normalize, mode=mode, kind=kind, infos=infos)


@in_modes("kind", ARRAY_KINDS)
def test_skip(kind: str, mode: AutoresetMode) -> None:
    check("MaxAndSkipObservation", 2 if kind == "box" else 4, mode=mode, kind=kind)


@modes
def test_one_around_the_other(mode: AutoresetMode) -> None:
    def wrapped(w: Any) -> Any:
        return lambda env: w.FrameStackObservation(
            w.TimeAwareObservation(w.DelayObservation(w.MaxAndSkipObservation(env, 2), 1)), 3
        )

    check_lane_by_lane(
        wrapped(gym.wrappers.vector),
        wrapped(gym.wrappers),
        lambda: gym.wrappers.TimeLimit(Walk(), 9),
        mode=mode,
    )


@modes
def test_steps_of_some_lanes_within(mode: AutoresetMode) -> None:
    """Wrap wrappers with state for each lane in one that steps only some lanes."""

    def wrapped(w: Any) -> Any:
        return lambda env: w.RepeatAction(
            w.FrameStackObservation(w.TimeAwareObservation(w.DelayObservation(env, 1)), 3), 3
        )

    for kind in ("box", "tuple"):
        check_lane_by_lane(
            wrapped(gym.wrappers.vector),
            wrapped(gym.wrappers),
            lambda kind=kind: gym.wrappers.TimeLimit(Walk(kind), 9),
            mode=mode,
            steps=12,
        )


# Compiled environments


def native(mode: AutoresetMode, id: str = "CartPole-v1", **kwargs: Any) -> Any:
    return gym.make_vec(id, num_envs=5, vector_kwargs={"autoreset_mode": mode}, **kwargs)


def sync(mode: AutoresetMode, wrap: Any, id: str = "CartPole-v1", **kwargs: Any) -> Any:
    def make() -> Any:
        return wrap(gym.make(id, **kwargs))

    return SyncVectorEnv([make] * 5, autoreset_mode=mode)


@in_modes(
    "name, kwargs, id",
    [
        ("FrameStackObservation", {"stack_size": 4}, "CartPole-v1"),
        ("FrameStackObservation", {"stack_size": 4}, "Pendulum-v1"),
        ("DelayObservation", {"delay": 2}, "CartPole-v1"),
        ("TimeAwareObservation", {"normalize_time": True}, "Pendulum-v1"),
        ("TimeAwareObservation", {"flatten": False}, "CartPole-v1"),
        ("MaxAndSkipObservation", {"skip": 3}, "Pendulum-v1"),
        ("MaxAndSkipObservation", {"skip": 3}, "CartPole-v1"),
    ],
)
def test_native_equals_single_lanes(
    name: str, kwargs: dict[str, Any], id: str, mode: AutoresetMode
) -> None:
    ours = getattr(gym.wrappers.vector, name)(native(mode, id, max_episode_steps=11), **kwargs)
    theirs = sync(
        mode, lambda env: getattr(gym.wrappers, name)(env, **kwargs), id, max_episode_steps=11
    )
    assert ours.observation_space == theirs.observation_space
    theirs.action_space.seed(1)
    assert_same(ours.reset(seed=3), theirs.reset(seed=3))
    for step in range(35):
        actions = theirs.action_space.sample()
        one, other = ours.step(actions), theirs.step(actions)
        assert_same(one[:4], other[:4], f"step {step}")
        assert set(one[4]) == set(other[4])
        if "final_obs" in other[4]:
            for i in np.flatnonzero(other[4]["_final_obs"]):
                assert_same(one[4]["final_obs"][i], other[4]["final_obs"][i])
        ended = other[2] | other[3]
        mask = ended if mode is AutoresetMode.DISABLED else np.arange(5) == step % 5
        if mask.any():
            options = {"reset_mask": mask}
            assert_same(ours.reset(options=options)[0], theirs.reset(options=options)[0])
    theirs.close()


def test_last_observations_of_native_environments_stay_one_array() -> None:
    envs = native(AutoresetMode.SAME_STEP, max_episode_steps=3)
    for wrapped, shape in (
        (wrappers.FrameStackObservation(envs, 4), (5, 4, 4)),
        (wrappers.DelayObservation(envs, 1), (5, 4)),
        (wrappers.TimeAwareObservation(envs), (5, 5)),
        (wrappers.MaxAndSkipObservation(envs, 2), (5, 4)),
    ):
        wrapped.reset(seed=1)
        infos: dict[str, Any] = {}
        while "final_obs" not in infos:
            infos = wrapped.step(np.ones(5, np.int64))[4]
        final = infos["final_obs"]
        assert (final.shape, final.dtype != object) == (shape, True)
        assert not final[~infos["_final_obs"]].any()


def test_infos_of_gym_get_the_changed_observations() -> None:
    envs = wrappers.FrameStackObservation(gym.vector.make("CartPole-v1", num_envs=3), 2)
    envs.reset(seed=1)
    infos: dict[str, Any] = {}
    while "final_obs" not in infos:
        infos = envs.step(np.ones(3, np.int64))[4]
    lane = int(np.flatnonzero(infos["_final_observation"])[0])
    assert infos["final_observation"][lane].shape == (2, 4)
    assert_same(infos["final_observation"][lane], infos["final_obs"][lane])


def test_skipping_over_gyms_engine_keeps_its_names() -> None:
    envs = wrappers.MaxAndSkipObservation(gym.vector.make("CartPole-v1", num_envs=3), 4)
    plain = wrappers.MaxAndSkipObservation(
        gym.make_vec("CartPole-v1", 3, vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP}),
        4,
    )
    assert_same(envs.reset(seed=1), plain.reset(seed=1))
    ends = 0
    for _ in range(20):
        one, other = envs.step(np.ones(3, np.int64)), plain.step(np.ones(3, np.int64))
        assert_same(one[:4], other[:4])
        if "final_obs" in other[4]:
            ends += 1
            assert_same(one[4]["final_obs"], other[4]["final_obs"])
            assert one[4]["final_info"].shape == one[4]["final_observation"].shape == (3,)
    assert ends > 2


def test_async() -> None:
    def make() -> Any:
        return Walk("dict")

    for mode in MODES:
        engines = [
            SyncVectorEnv([make] * 3, autoreset_mode=mode),
            gym.vector.AsyncVectorEnv([make] * 3, autoreset_mode=mode, num_workers=2),
        ]
        ours, theirs = (
            wrappers.FrameStackObservation(
                wrappers.DelayObservation(wrappers.RepeatAction(engine, 3), 1), 2
            )
            for engine in reversed(engines)
        )
        theirs.action_space.seed(1)
        assert_same(ours.reset(seed=2), theirs.reset(seed=2))
        for _ in range(14):
            actions = theirs.action_space.sample()
            results = theirs.step(actions)
            assert_same(ours.step(actions), results)
            ended = results[2] | results[3]
            if mode is AutoresetMode.DISABLED and ended.any():
                options = {"reset_mask": ended}
                assert_same(ours.reset(options=options), theirs.reset(options=options))
        ours.close()


def test_shared_memory_that_is_not_copied() -> None:
    def make() -> Any:
        return make_counting_env(gym)(length=5)

    for wrap in (
        lambda envs: wrappers.FrameStackObservation(envs, 3),
        lambda envs: wrappers.MaxAndSkipObservation(envs, 2),
    ):
        copied, shared = (wrap(SyncVectorEnv([make] * 2, copy=copy)) for copy in (True, False))
        assert_same(shared.reset(seed=1), copied.reset(seed=1))
        for _ in range(12):
            assert_same(shared.step([0, 1]), copied.step([0, 1]))


# Detection of time limits


def test_time_limits_that_are_found() -> None:
    def limit(envs: Any) -> int:
        return wrappers.TimeAwareObservation(envs).max_timesteps

    made = gym.make_vec("CartPole-v1", num_envs=2)
    assert limit(made) == 500
    assert limit(gym.make_vec("CartPole-v1", num_envs=2, max_episode_steps=7)) == 7
    assert limit(wrappers.TimeLimit(made, 9)) == 9
    lanes = [lambda: gym.make("Pendulum-v1")] * 2
    assert limit(SyncVectorEnv(lanes)) == 200
    assert limit(SyncVectorEnv([lambda: gym.wrappers.TimeLimit(Walk(), 5)] * 2)) == 5
    with pytest.raises(ValueError, match="must be wrapped by a TimeLimit wrapper or the spec"):
        limit(SyncVectorEnv([lambda: Walk()] * 2))
    different = [lambda n=n: gym.wrappers.TimeLimit(Walk(), n) for n in (5, 6)]
    with pytest.raises(ValueError, match=r"one time limit, got those of \[5, 6\] steps"):
        limit(SyncVectorEnv(different))


# Ownership, copies, errors


def test_stacks_are_the_callers() -> None:
    envs = wrappers.FrameStackObservation(native(AutoresetMode.NEXT_STEP), 3)
    again = wrappers.FrameStackObservation(native(AutoresetMode.NEXT_STEP), 3)
    envs.reset(seed=1)[0][:] = 9
    again.reset(seed=1)
    kept = []
    for _ in range(9):
        ours, theirs = envs.step(np.ones(5, np.int64))[0], again.step(np.ones(5, np.int64))[0]
        assert_same(ours, theirs)
        kept.append((ours, theirs.copy()))
        ours, theirs = kept[-1]
    for ours, theirs in kept:
        assert_same(ours, theirs)
        ours[:] = -1


def test_nothing_is_allocated_in_steady_state() -> None:
    envs = wrappers.FrameStackObservation(native(AutoresetMode.NEXT_STEP), 3)
    envs.reset(seed=1)
    places = {envs.step(np.ones(5, np.int64))[0].ctypes.data for _ in range(20)}
    assert len(places) <= 3


@pytest.mark.parametrize(
    "wrap",
    [
        lambda envs: wrappers.FrameStackObservation(envs, 3, padding_type="zero"),
        lambda envs: wrappers.DelayObservation(envs, 2),
        lambda envs: wrappers.TimeAwareObservation(envs),
        lambda envs: wrappers.MaxAndSkipObservation(envs),
    ],
)
def test_copies_go_on_apart(wrap: Any) -> None:
    envs = wrap(native(AutoresetMode.NEXT_STEP))
    envs.reset(seed=1)
    envs.step(np.zeros(5, np.int64))
    again = pickle.loads(pickle.dumps(envs))
    for _ in range(12):
        actions = np.ones(5, np.int64)
        assert_same(again.step(actions), envs.step(actions))


class WholeBatches(gym.vector.VectorWrapper):
    """A wrapper that can only step all lanes."""

    def step(self, actions: Any) -> Any:  # type: ignore[override]
        return super().step(actions)


def test_environments_that_cannot_step_some_lanes() -> None:
    envs = WholeBatches(native(AutoresetMode.NEXT_STEP))
    assert native(AutoresetMode.NEXT_STEP).steps_some_lanes and not envs.steps_some_lanes
    with pytest.raises(UnsupportedMode, match="MaxAndSkipObservation: expected an environment tha"):
        wrappers.MaxAndSkipObservation(envs)
    stack = wrappers.FrameStackObservation(envs, 2)
    assert not stack.steps_some_lanes
    stack.reset(seed=1)
    with pytest.raises(UnsupportedMode, match=r"step_lanes: .*WholeBatches.* cannot"):
        stack.step_lanes([1], [0])


@pytest.mark.parametrize(
    ("name", "args", "kind", "problem"),
    [
        ("DelayObservation", (-1,), ValueError, "delay needs to be greater than zero"),
        ("DelayObservation", (1.5,), TypeError, "delay is expected to be an integer"),
        ("FrameStackObservation", (0,), ValueError, "stack_size needs to be greater than zero"),
        ("FrameStackObservation", ("a",), TypeError, "stack_size is expected to be an integer"),
        ("MaxAndSkipObservation", (1,), ValueError, "skip value needs to be equal or greater"),
        ("MaxAndSkipObservation", (None,), TypeError, "skip is expected to be an integer"),
    ],
)
def test_bad_arguments(name: str, args: Any, kind: type, problem: str) -> None:
    with pytest.raises(kind, match=problem):
        getattr(gym.wrappers.vector, name)(native(AutoresetMode.NEXT_STEP), *args)


def test_wrapped_by_something_else() -> None:
    for wrap in (
        lambda env: wrappers.DelayObservation(env, 1),
        lambda env: wrappers.FrameStackObservation(env, 2),
        lambda env: wrappers.TimeAwareObservation(env),
        lambda env: wrappers.MaxAndSkipObservation(env),
        lambda env: wrappers.TimeLimit(env, 3),
        lambda env: wrappers.RepeatAction(env, 2),
        lambda env: wrappers.StickyAction(env, 0.5),
    ):
        with pytest.raises(
            TypeError, match=r"Expected env to be a `gymcore\.vector\.VectorEnv` but"
        ):
            wrap(gym.make("CartPole-v1"))
