"""Single wrappers whose observations depend on earlier steps, compared with Gymnasium's."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore.wrappers import (
    DelayObservation,
    FrameStackObservation,
    MaxAndSkipObservation,
    TimeAwareObservation,
    TimeLimit,
)
from tests.testing_env import OBSERVATION_KINDS, assert_same, make_counting_env, make_space
from tests.wrappers.side_by_side import assert_same_space, check_side_by_side
from tests.wrappers.walk_env import make_walk_env

ARRAY_KINDS = ("box", "image", "scalar", "discrete", "multi_discrete", "multi_binary")
PACKAGES = (gymcore, gymnasium)


def outcome(call: Any) -> Any:
    """Return the result of a call, or its error."""
    try:
        return call()
    except Exception as problem:
        return type(problem).__mro__[-3].__name__, str(problem).replace("gymnasium", "gymcore")


# DelayObservation


@pytest.mark.parametrize("kind", OBSERVATION_KINDS)
@pytest.mark.parametrize("delay", [0, 1, 3])
def test_delay_like_gymnasium(kind: str, delay: int) -> None:
    check_side_by_side(
        lambda gym, env: gym.wrappers.DelayObservation(env, delay), kind=kind, steps=24
    )


@pytest.mark.parametrize("delay", [1.5, "a", True, None])
def test_delay_that_is_no_integer(delay: Any) -> None:
    message = "The delay is expected to be an integer, actual type: <class"
    for gym in PACKAGES:
        with pytest.raises(TypeError, match=message):
            gym.wrappers.DelayObservation(make_walk_env(gym)(), delay)


@pytest.mark.parametrize("gym", PACKAGES)
def test_delay_that_is_negative(gym: Any) -> None:
    with pytest.raises(ValueError, match="delay needs to be greater than zero, actual value"):
        gym.wrappers.DelayObservation(make_walk_env(gym)(), -1)


class Reusing(make_counting_env(gymcore)):  # type: ignore[misc]
    """Environment that returns the same array at every step, changed."""

    def reset(self, **kwargs: Any) -> Any:
        self.array, info = super().reset(**kwargs)
        return self.array, info

    def step(self, action: Any) -> Any:
        observation, *rest = super().step(action)
        self.array[:] = observation
        return self.array, *rest


def test_delayed_observations_of_an_environment_that_reuses_its_array() -> None:
    env = DelayObservation(Reusing(length=9), 1)
    env.reset(seed=4)
    assert [env.step(0)[0].tolist() for _ in range(3)] == [[4, 0], [4, 1], [4, 2]]


# FrameStackObservation


@pytest.mark.parametrize("kind", OBSERVATION_KINDS)
@pytest.mark.parametrize("padding", ["reset", "zero"])
def test_stack_like_gymnasium(kind: str, padding: str) -> None:
    def wrap(gym: Any, env: Any) -> Any:
        return gym.wrappers.FrameStackObservation(env, 3, padding_type=padding)

    check_side_by_side(wrap, kind=kind, steps=24)


@pytest.mark.parametrize("kind", ["box", "dict", "text", "discrete"])
def test_stack_with_a_padding_of_ones_own(kind: str) -> None:
    def wrap(gym: Any, env: Any) -> Any:
        space = make_space(gym, kind)
        space.seed(5)
        return gym.wrappers.FrameStackObservation(env, 4, padding_type=space.sample())

    check_side_by_side(wrap, kind=kind, steps=24)


@pytest.mark.parametrize("padding", ["reset", "zero", np.ones(2, np.float32)])
def test_stack_attributes_like_gymnasium(padding: Any) -> None:
    envs = [
        gym.wrappers.FrameStackObservation(make_walk_env(gym)(), 2, padding_type=padding)
        for gym in PACKAGES
    ]
    for call in (lambda env: env.reset(seed=1), lambda env: env.step(0)):
        for env in envs:
            call(env)
        ours, theirs = envs
        assert_same(list(ours.obs_queue), list(theirs.obs_queue))
        assert_same(ours.padding_value, theirs.padding_value)
        assert ours.padding_type == theirs.padding_type
        assert ours.stack_size == theirs.stack_size


@pytest.mark.parametrize("size", [0, -1, 1.5, "a", True, None])
def test_bad_stack_sizes_like_gymnasium(size: Any) -> None:
    ours, theirs = (
        outcome(lambda gym=gym: gym.wrappers.FrameStackObservation(make_walk_env(gym)(), size))
        for gym in PACKAGES
    )
    assert ours[1] == theirs[1]
    with pytest.raises(ValueError if type(size) is int else TypeError):
        FrameStackObservation(make_walk_env(gymcore)(), size)


@pytest.mark.parametrize("padding", ["x", 0, None, np.zeros(3, np.float32), np.zeros(2)])
@pytest.mark.filterwarnings("ignore:.*Casting input")
def test_bad_paddings_like_gymnasium(padding: Any) -> None:
    messages = []
    for gym in PACKAGES:
        with pytest.raises(ValueError) as raised:
            gym.wrappers.FrameStackObservation(make_walk_env(gym)(), 2, padding_type=padding)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


def test_stacks_belong_to_the_caller_and_survive_a_reused_array() -> None:
    env = FrameStackObservation(Reusing(length=9), 2)
    first = env.reset(seed=4)[0]
    first[:] = -1
    assert env.step(0)[0].tolist() == [[4, 0], [4, 1]]
    second = env.step(0)[0]
    assert second.tolist() == [[4, 1], [4, 2]]
    env.step(0)
    assert second.tolist() == [[4, 1], [4, 2]]


# TimeAwareObservation


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("flatten", [False, True])
@pytest.mark.parametrize("kind", [kind for kind in OBSERVATION_KINDS if kind != "one_of"])
def test_time_like_gymnasium(kind: str, flatten: bool, normalize: bool) -> None:
    def wrap(gym: Any, env: Any) -> Any:
        env = gym.wrappers.TimeLimit(env, 7)
        return gym.wrappers.TimeAwareObservation(env, flatten, normalize)

    check_side_by_side(wrap, kind=kind, steps=18)


def test_time_limits_that_are_found_like_gymnasium() -> None:
    def found(gym: Any) -> list[int]:
        w, Walk = gym.wrappers, make_walk_env(gym)
        cart_pole = gym.make("CartPole-v1")
        envs = [
            gym.Wrapper(w.TimeLimit(Walk(), 5)),
            w.TimeLimit(w.TimeLimit(Walk(), 5), 9),
            cart_pole,
            w.TimeLimit(cart_pole, 11),
        ]
        return [w.TimeAwareObservation(env).max_timesteps for env in envs]

    assert found(gymcore) == found(gymnasium) == [5, 9, 500, 11]


@pytest.mark.parametrize("gym", PACKAGES)
def test_no_time_limit_and_a_taken_key(gym: Any) -> None:
    w, Walk = gym.wrappers, make_walk_env(gym)
    for env in (Walk(), gym.make("CartPole-v1").unwrapped):
        with pytest.raises(ValueError, match="wrapped by a TimeLimit wrapper or the spec spec"):
            w.TimeAwareObservation(env)
    with pytest.raises(ValueError, match=r"`dict_time_key` \('goal'\) already exists"):
        w.TimeAwareObservation(w.TimeLimit(Walk("dict"), 5), dict_time_key="goal")


def test_time_under_another_key() -> None:
    def wrap(gym: Any, env: Any) -> Any:
        env = gym.wrappers.TimeLimit(env, 7)
        return gym.wrappers.TimeAwareObservation(env, False, dict_time_key="age")

    check_side_by_side(wrap, kind="dict", steps=12)
    env = wrap(gymcore, make_walk_env(gymcore)("dict"))
    assert env.timesteps == 0
    env.reset(seed=1)
    env.step(0)
    assert (env.timesteps, env.max_timesteps, env.flatten) == (1, 7, False)


# MaxAndSkipObservation


@pytest.mark.parametrize("kind", ARRAY_KINDS)
@pytest.mark.parametrize("skip", [2, 3, 4])
def test_skip_like_gymnasium_where_no_episode_ends_within(kind: str, skip: int) -> None:
    def wrap(gym: Any, env: Any) -> Any:
        return gym.wrappers.MaxAndSkipObservation(env, skip)

    check_side_by_side(wrap, kind=kind, steps=18, terminate=0.0, limit=24)


@pytest.mark.parametrize("kind", ["dict", "tuple", "text", "sequence", "graph", "one_of"])
def test_spaces_without_a_maximum(kind: str) -> None:
    for gym in PACKAGES:
        with pytest.raises(ValueError, match="space must have the shape attribute"):
            gym.wrappers.MaxAndSkipObservation(make_walk_env(gym)(kind))


@pytest.mark.parametrize("skip", [0, 1, -1, 1.5, "a", True])
def test_bad_skips_like_gymnasium(skip: Any) -> None:
    ours, theirs = (
        outcome(lambda gym=gym: gym.wrappers.MaxAndSkipObservation(make_walk_env(gym)(), skip))
        for gym in PACKAGES
    )
    assert ours[1] == theirs[1]
    with pytest.raises(ValueError if type(skip) is int else TypeError):
        MaxAndSkipObservation(make_walk_env(gymcore)(), skip)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_episodes_that_end_within_a_skip(length: int) -> None:
    class Falling(make_counting_env(gymcore)):  # type: ignore[misc]
        """Environment with negative observations, for which zeros would be the maximum."""

        def step(self, action: Any) -> Any:
            _, *rest = super().step(action)
            place = -10 * self.elapsed if self.elapsed % 2 else -self.elapsed
            return np.array([place, -self.elapsed]), *rest

    env = MaxAndSkipObservation(Falling(length=length), 4)
    for _ in range(2):
        env.reset(seed=1)
        observation, reward, terminated, _, info = env.step(0)
        took = min(length, 4)
        places = [-10 * k if k % 2 else -k for k in range(1, took + 1)]
        assert observation.tolist() == [max(places[-2:]), min(-1, 1 - took)]
        assert (reward, terminated, info) == (took * (took + 1) / 2, length <= 4, {"elapsed": took})


# All of them


def test_a_stack_of_wrappers_is_made_again_from_its_spec(registries: None) -> None:
    env: Any = TimeLimit(gymcore.make("CartPole-v1"), 30)
    env = MaxAndSkipObservation(env, skip=3)
    env = DelayObservation(env, delay=2)
    env = FrameStackObservation(env, 4, padding_type="zero")
    text = env.spec.to_json()
    again = gymcore.make(gymcore.envs.registration.EnvSpec.from_json(text))
    assert again.spec.to_json() == text
    assert_same(again.reset(seed=1), env.reset(seed=1))
    assert_same(again.step(1), env.step(1))
    assert again.observation_space == env.observation_space


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("DelayObservation", {"delay": 1}),
        ("FrameStackObservation", {"stack_size": 2}),
        ("MaxAndSkipObservation", {}),
        ("TimeAwareObservation", {}),
    ],
)
def test_entry_points_like_gymnasium(name: Any, kwargs: Any) -> None:
    ours, theirs = (
        getattr(gym.wrappers, name)(gym.make("CartPole-v1"), **kwargs).spec for gym in PACKAGES
    )
    one, other = ours.additional_wrappers[0], theirs.additional_wrappers[0]
    assert one.entry_point == other.entry_point.replace("gymnasium", "gymcore")
    assert (one.name, one.kwargs) == (other.name, other.kwargs)


def test_copies_go_on_apart() -> None:
    env = FrameStackObservation(DelayObservation(gymcore.make("CartPole-v1"), 1), 2)
    env.reset(seed=1)
    env.step(0)
    again = pickle.loads(pickle.dumps(env))
    assert_same(again.step(1), env.step(1))


def test_wrapped_by_something_else() -> None:
    for wrap in (
        lambda env: DelayObservation(env, 1),
        lambda env: FrameStackObservation(env, 2),
        lambda env: MaxAndSkipObservation(env),
        lambda env: TimeAwareObservation(env),
    ):
        with pytest.raises(TypeError, match=r"Expected env to be a `gymcore\.Env` but got"):
            wrap(5)


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1"])
def test_spaces_are_those_of_gymnasium_for_real_environments(name: str) -> None:
    for wrap in (
        lambda gym, env: gym.wrappers.FrameStackObservation(env, 3),
        lambda gym, env: gym.wrappers.TimeAwareObservation(env),
        lambda gym, env: gym.wrappers.TimeAwareObservation(env, normalize_time=True),
    ):
        ours, theirs = (wrap(gym, gym.make(name)) for gym in PACKAGES)
        if name != "CartPole-v1":  # its samples come from infinite bounds
            assert_same_space(ours.observation_space, theirs.observation_space)
        assert repr(ours.observation_space) == repr(theirs.observation_space)
