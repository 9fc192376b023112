"""The wrappers of make, side by side with Gymnasium's."""

from __future__ import annotations

import copy
import pickle
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore.wrappers import (
    Autoreset,
    OrderEnforcing,
    PassiveEnvChecker,
    RecordEpisodeStatistics,
    TimeLimit,
)
from tests.parity import compare, outcome

NAMES = ["TimeLimit", "Autoreset", "PassiveEnvChecker", "OrderEnforcing", "RecordEpisodeStatistics"]


def make_env(gym: ModuleType, length: int = 3, truncates: bool = False, reward: Any = 1.5) -> Any:
    """Return an environment that counts its steps and logs its calls."""

    class Counter(gym.Env):
        observation_space = gym.spaces.Box(0, 100, (2,))
        action_space = gym.spaces.Discrete(9)

        def __init__(self) -> None:
            self.log: list[Any] = []
            self.steps = 0

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.log.append(("reset", seed, options))
            self.steps = 0
            return np.zeros(2, np.float32), {"first": True}

        def step(self, action: Any) -> Any:
            self.steps += 1
            self.log.append(action)
            done = self.steps >= length
            ends = (False, done) if truncates else (done, False)
            return np.full(2, self.steps, np.float32), reward, *ends, {"steps": self.steps}

        def render(self) -> Any:
            self.log.append("render")
            return "frame"

        def close(self) -> None:
            self.log.append("close")

    return Counter()


def wrapped(gym: ModuleType, name: str, *arguments: Any, **env_arguments: Any) -> Any:
    return getattr(gym.wrappers, name)(make_env(gym, **env_arguments), *arguments)


@pytest.mark.parametrize("name", NAMES)
def test_importable_from_both_places(name: str) -> None:
    assert getattr(gymcore.wrappers, name) is getattr(gymcore.wrappers.common, name)
    assert name in gymcore.wrappers.__all__
    assert name in gymcore.wrappers.common.__all__


@pytest.mark.parametrize("name", NAMES)
def test_close_and_text_pass_through(name: str) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        arguments = [3] if name == "TimeLimit" else []
        env = wrapped(gym, name, *arguments)
        env.unwrapped.spec = gym.envs.registration.EnvSpec("Counter-v0", kwargs={"a": [1]})
        env.reset(seed=1, options={"b": 2})
        return [
            str(env),
            env.spec,
            env.env.spec,
            env.close(),
            list(env.unwrapped.log),
            env.np_random_seed,
        ]

    compare(scenario)


# TimeLimit


@pytest.mark.parametrize("limit", [1, 2, 5])
@pytest.mark.parametrize("truncates", [False, True])
def test_time_limit_episodes_like_gymnasium(limit: int, truncates: bool) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        env = wrapped(gym, "TimeLimit", limit, truncates=truncates)
        transitions = []
        for _ in range(3):
            transitions.append(env.reset(seed=1, options={"a": 1}))
            transitions += [env.step(a) for a in range(7)]
            transitions.append(env._elapsed_steps)
        return [*transitions, list(env.unwrapped.log)]

    compare(scenario)


def test_a_time_limit_hides_no_termination() -> None:
    env = TimeLimit(make_env(gymcore, length=3), 3)
    env.reset()
    assert [env.step(0)[2:4] for _ in range(3)] == [(False, False), (False, False), (True, True)]


@pytest.mark.parametrize("limit", [0, -1, None, "3", 2.0, np.int64(3), True])
def test_time_limit_arguments_like_gymnasium(limit: Any) -> None:
    compare(lambda gym: wrapped(gym, "TimeLimit", limit))


def test_time_limit_of_something_else() -> None:
    compare(lambda gym: gym.wrappers.TimeLimit(3, 3))
    compare(lambda gym: wrapped(gym, "TimeLimit").step(0), message=False)


def test_time_limit_step_before_reset_like_gymnasium() -> None:
    compare(lambda gym: wrapped(gym, "TimeLimit", 3).step(0), message=False)


def test_time_limit_can_be_changed() -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        env = wrapped(gym, "TimeLimit", 2, length=99)
        env.unwrapped.spec = gym.envs.registration.EnvSpec("Counter-v0", max_episode_steps=7)
        env._max_episode_steps = 4
        env.reset()
        flags = [env.step(0)[3] for _ in range(4)]
        return [flags, env.spec.max_episode_steps, env.unwrapped.spec.max_episode_steps]

    assert compare(scenario).value == [[False, False, False, True], 4, 7]


# Autoreset


@pytest.mark.parametrize("truncates", [False, True])
def test_autoreset_like_gymnasium(truncates: bool) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        env = wrapped(gym, "Autoreset", truncates=truncates)
        transitions = [env.reset(seed=3, options={"a": 1})]
        for action in range(9):
            transitions.append((env.step(action), env.autoreset))
        transitions += [env.reset(), env.autoreset, env.step(8), list(env.unwrapped.log)]
        return transitions

    compare(scenario)


def test_autoreset_without_a_reset_first() -> None:
    compare(lambda gym: [wrapped(gym, "Autoreset").step(1)])


# OrderEnforcing


@pytest.mark.parametrize("disabled", [[], [True], [False]])
@pytest.mark.parametrize("calls", [["step"], ["render"], ["reset", "step", "render"]])
def test_order_like_gymnasium(calls: list[str], disabled: list[bool]) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        env = wrapped(gym, "OrderEnforcing", *disabled)
        results = [env.has_reset]
        for call in calls:
            results.append(getattr(env, call)(*([0] if call == "step" else [])))
            results.append(env.has_reset)
        return results

    compare(scenario)


def test_reset_needed_leaves_the_environment_alone() -> None:
    env = OrderEnforcing(make_env(gymcore))
    for call in (lambda: env.step(0), env.render):
        with pytest.raises(gymcore.error.ResetNeeded):
            call()
    assert env.unwrapped.log == []
    with pytest.raises(
        AssertionError, match=r"Cannot call env\.step\(\) before calling env\.reset"
    ):
        env.step(0)


def test_has_reset_is_read_only() -> None:
    with pytest.raises(AttributeError):
        OrderEnforcing(make_env(gymcore)).has_reset = True  # type: ignore[misc]


# PassiveEnvChecker

STATE = ["checked_reset", "checked_step", "checked_render", "checked_data_reuse", "close_called"]


def reusing(gym: ModuleType) -> Any:
    """Return an environment that always returns the same objects, and fails to close twice."""
    env = make_env(gym)
    observation, info = np.zeros(2, np.float32), {"same": True}
    env.reset = lambda *, seed=None, options=None: (observation, info)
    env.step = lambda action: (observation, 1.0, False, False, info)

    class Once:
        closed = False

    def close() -> None:
        if Once.closed:
            raise ValueError("closed already")
        Once.closed = True

    env.close = close
    return env


@pytest.mark.parametrize("make", [make_env, reusing])
@pytest.mark.parametrize(
    "calls",
    [
        ["reset", "step", "step", "step", "reset", "step"],
        ["reset", "reset", "step", "reset", "step"],
        ["render", "reset", "step", "render"],
        ["close", "close"],
        ["close", "close", "close"],
    ],
)
def test_checks_happen_once_like_gymnasium(make: Any, calls: list[str]) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        env = gym.wrappers.PassiveEnvChecker(make(gym))
        results = []
        for call in calls:
            results.append(getattr(env, call)(*([0] if call == "step" else [])))
            results.append([getattr(env, name) for name in STATE])
        return results

    compare(scenario)


def test_warning_about_a_close_that_fails() -> None:
    env = PassiveEnvChecker(reusing(gymcore))
    env.close()
    with (
        pytest.warns(
            UserWarning, match="on the closed environment should be allowed, but it raised"
        ),
        pytest.raises(ValueError, match="closed already"),
    ):
        env.close()


@pytest.mark.parametrize("missing", ["action_space", "observation_space"])
@pytest.mark.parametrize("value", ["absent", None, 3])
def test_missing_spaces_like_gymnasium(missing: str, value: Any) -> None:
    def scenario(gym: ModuleType) -> Any:
        class Bare(gym.Env):
            pass

        env = Bare()
        for name in ("action_space", "observation_space"):
            if name != missing:
                setattr(env, name, gym.spaces.Discrete(2))
            elif value != "absent":
                setattr(env, name, value)
        return gym.wrappers.PassiveEnvChecker(env)

    compare(scenario, message=value != "absent")
    if value == "absent":
        with pytest.raises(AttributeError, match=r"must specify an .* space"):
            scenario(gymcore)


def test_a_step_before_reset_is_checked_too() -> None:
    """Gymnasium fails here with "cannot unpack non-iterable NoneType object"."""
    env = PassiveEnvChecker(reusing(gymcore))
    env.step(0)
    with pytest.warns(UserWarning, match="returned by `step` and the following `step` share"):
        env.step(0)
    assert env.checked_data_reuse


# RecordEpisodeStatistics


def without_times(value: Any) -> Any:
    """Replace the durations, which differ from run to run, by their types."""
    if isinstance(value, dict):
        return {
            key: type(item).__name__ if key == "t" else without_times(item)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return type(value)([without_times(item) for item in value])
    return value


@pytest.mark.parametrize("arguments", [[], [2], [2, "mine"], [None]])
@pytest.mark.parametrize("reward", [1.5, 2, np.float32(0.5)])
def test_statistics_like_gymnasium(reward: Any, arguments: list[Any]) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        env = wrapped(gym, "RecordEpisodeStatistics", *arguments, reward=reward)
        results = []
        for length in (3, 4, 1, 3, 3):  # one step too many, an abandoned episode
            results.append(env.reset())
            results += [without_times(env.step(0)) for _ in range(length)]
            results.append([env.episode_returns, env.episode_lengths, env.episode_count])
        queues = [env.return_queue, env.length_queue, len(env.time_queue)]
        return [results, queues, [type(item).__name__ for q in queues[:2] for item in q]]

    compare(scenario)


def test_duration_is_in_seconds_and_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 12.34567891, 20.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    env = RecordEpisodeStatistics(make_env(gymcore, length=1))
    env.reset()
    assert env.step(0)[4]["episode"] == {"r": 1.5, "l": 1, "t": 2.345679}
    assert list(env.time_queue) == [2.345679]


def test_statistics_do_not_overwrite_an_entry() -> None:
    compare(
        lambda gym: wrapped(gym, "RecordEpisodeStatistics", 3, "steps", length=1).step(0),
        message=False,
    )
    env = RecordEpisodeStatistics(make_env(gymcore, length=1), stats_key="steps")
    with pytest.raises(
        AssertionError, match="info has an entry 'steps' already; give this wrapper"
    ):
        env.step(0)


@pytest.mark.parametrize("buffer_length", [-1, "a"])
def test_bad_buffer_length(buffer_length: Any) -> None:
    compare(lambda gym: wrapped(gym, "RecordEpisodeStatistics", buffer_length), message=False)


# Layers that change during an episode


def default_stack(gym: ModuleType) -> Any:
    """Return the wrappers of `make`, in their third episode, when all checks are finished."""
    wrappers = gym.wrappers
    env = wrappers.PassiveEnvChecker(make_env(gym, length=100))
    env = wrappers.TimeLimit(wrappers.OrderEnforcing(env), 100)
    for _ in range(3):
        env.reset()
        env.step(0)
        env.step(0)
    return env


def layers_of(env: Any) -> list[Any]:
    return [env, *(layers_of(env.env) if hasattr(env, "env") else [])]


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_layer_put_in_during_an_episode_is_stepped_at_once(depth: int) -> None:
    def scenario(gym: ModuleType) -> Any:
        env = default_stack(gym)
        outer = layers_of(env)[depth]
        outer.env = gym.wrappers.TransformReward(outer.env, lambda reward: 2 * reward)
        return env.step(0)

    compare(scenario)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_a_step_replaced_during_an_episode_is_called_at_once(depth: int) -> None:
    def scenario(gym: ModuleType) -> Any:
        env = default_stack(gym)
        layers_of(env)[depth].step = lambda action: ("replaced", 0.0, False, False, {})
        return env.step(0)

    compare(scenario)


def test_order_is_still_enforced_on_inner_layers() -> None:
    env = TimeLimit(OrderEnforcing(PassiveEnvChecker(make_env(gymcore))), 100)
    for layer in (env, env.env):
        with pytest.raises(gymcore.error.ResetNeeded):
            layer.step(0)


@pytest.mark.parametrize("steps", [0, 3])
def test_copies_step_their_own_environment(steps: int) -> None:
    env = gymcore.make("CartPole-v1")
    env.reset(seed=1)
    for _ in range(steps):
        env.step(0)
    for copied in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        state = env.unwrapped.get_state()  # type: ignore[attr-defined]
        copied.reset()
        copied.step(0)
        assert env.unwrapped.get_state() == state  # type: ignore[attr-defined]


def test_outcome_helper_sees_errors() -> None:
    """The comparisons above would prove nothing if errors were swallowed."""
    assert isinstance(outcome(lambda: 1 / 0).error, ZeroDivisionError)
    with pytest.raises(AssertionError):
        compare(lambda gym: gym.__name__.startswith("gymcore"))
    with pytest.raises(AssertionError):
        compare(lambda gym: 1 / 0 if gym is not gymcore else 0)
    with pytest.raises(ZeroDivisionError):
        compare(lambda gym: 1 / 0 if gym is gymcore else 0)
    assert Autoreset is gymcore.wrappers.Autoreset


def test_returns_of_several_rewards_belong_to_the_caller() -> None:
    """Neither later steps nor what the caller writes changes other results."""
    env: Any = RecordEpisodeStatistics(make_env(gymcore, reward=np.array([1.0, 2.0]), length=2))
    env.reset()
    env.step(0)
    first = env.step(0)[4]["episode"]["r"]
    env.step(0)  # one step too many
    assert first.tolist() == [2, 4]
    first[:] = 99
    assert [part.tolist() for part in env.return_queue][:1] == [[2, 4]]
    assert env.episode_returns.tolist() == [3, 6]


def test_an_environment_may_keep_its_info() -> None:
    """The statistics are not added to the environment's own dict."""
    kept: dict[str, Any] = {}

    class Keeps(gymcore.Env[int, int]):
        observation_space = action_space = gymcore.spaces.Discrete(2)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            return 0, kept

        def step(self, action: int) -> Any:
            return 0, 1.0, True, False, kept

    env = RecordEpisodeStatistics(Keeps())
    for _ in range(2):
        env.reset()
        assert env.step(0)[4]["episode"]["r"] == 1
    assert kept == {}
