"""`make_vec(vectorization_mode="compiled")` and `register(compiled=True)`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.envs.registration import EnvSpec, VectorizeMode
from gymcore.jit.conversion import saved

pytest.importorskip("numba")


class Walk(gymnasium.Env):
    """A walk on a line."""

    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Box(-99.0, 99.0, (1,), np.float64)

    def __init__(self, length: float = 2.0, render_mode: str | None = None) -> None:
        """Set the length."""
        self.length, self.render_mode = length, render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Begin near the middle."""
        super().reset(seed=seed)
        self.x = self.np_random.uniform(-1.0, 1.0)
        return np.array([self.x]), {}

    def step(self, action: Any) -> Any:
        """Go to one side."""
        self.x += 0.25 if action else -0.25
        return np.array([self.x]), -abs(self.x), abs(self.x) > self.length, False, {}


class Gust(Walk):
    """A walk that draws from another generator."""

    def step(self, action: Any) -> Any:
        """Go further to one side."""
        self.x += np.random.bytes(1)[0] / 1000.0
        return super().step(action)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for saved classes and code."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def ids(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Register the ids of these tests."""
    monkeypatch.setenv("GYMCORE_CACHE_DIR", str(folder))
    limits = {"max_episode_steps": 20}
    gym.register("Walk-v0", entry_point=Walk, **limits)
    gym.register("Compiled-v0", entry_point=f"{__name__}:Walk", compiled=True, **limits)
    gym.register("Gust-v0", entry_point=Gust, compiled=True)
    yield
    for name in ("Walk-v0", "Compiled-v0", "Gust-v0"):
        del gym.registry[name]


def run(envs: Any) -> list[Any]:
    results = [envs.reset(seed=3)[0]]
    rng = np.random.default_rng(1)
    for _ in range(60):
        results += envs.step(rng.integers(0, 2, envs.num_envs))[:4]
    return [result.tobytes() for result in results]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["next_step", "same_step"])
def test_compiled_lanes_equal_python_environments(mode: str) -> None:
    options = {"autoreset_mode": mode, "length": 1.5}
    compiled = gym.make_vec("Walk-v0", 6, "compiled", num_threads=1, **options)
    assert type(compiled).__name__ == "WalkVectorEnv"
    assert run(compiled) == run(gym.make_vec("Walk-v0", 6, "sync", **options))
    again = gym.make_vec(compiled.spec)
    assert type(again) is type(compiled) and run(again) == run(compiled)
    single = gym.make(compiled.spec)
    assert single.unwrapped.length == 1.5 and single.spec.max_episode_steps == 20


def test_a_registered_choice_holds_unless_wrappers_need_python() -> None:
    compiled = gym.make_vec("Compiled-v0", 2)
    assert compiled.spec.kwargs["vectorization_mode"] == "compiled"
    assert (
        gym.make_vec("Compiled-v0", 2, max_episode_steps=-1).spec.kwargs["max_episode_steps"] == -1
    )
    assert type(gym.make_vec("Compiled-v0", 2, VectorizeMode.SYNC)) is gym.vector.SyncVectorEnv
    wrapped = gym.make_vec("Compiled-v0", 2, wrappers=[gym.wrappers.RecordEpisodeStatistics])
    assert type(wrapped) is gym.vector.SyncVectorEnv
    assert isinstance(gym.make("Compiled-v0").unwrapped.env, Walk)


def test_an_obstacle_is_named_in_one_warning_and_python_steps() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        envs = gym.make_vec("Gust-v0", 2)
    assert type(envs) is gym.vector.SyncVectorEnv and len(run(envs)) == 241
    (text,) = (str(warning.message) for warning in caught)
    assert "Gust-v0 is stepped by SyncVectorEnv" in text and f"{Path(__file__)}:" in text


def test_a_class_that_is_compiled_already_is_not_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved, "converted", None)
    assert type(gym.make_vec("CartPole-v1", 2, "compiled")).__name__ == "CartPoleVectorEnv"


def test_without_numba_python_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYMCORE_JIT", "0")
    with pytest.warns(UserWarning, match="GYMCORE_JIT=0"):
        assert type(gym.make_vec("Walk-v0", 2, "compiled")) is gym.vector.SyncVectorEnv


@pytest.mark.parametrize(
    ("arguments", "problem", "message"),
    [
        ({"wrappers": [gym.wrappers.RecordEpisodeStatistics]}, error.InvalidArgument, "wrappers"),
        ({"num_thraeds": 2}, error.ArgumentTypeError, "did you mean num_threads"),
        (
            {"vector_kwargs": {"num_thraeds": 2}},
            error.ArgumentTypeError,
            "^vector_kwargs .*did you mean num_threads.* Arguments of the environment: length",
        ),
        (
            {"vector_kwargs": {"autoreset_mode": "disabled"}, "autoreset_mode": "disabled"},
            error.InvalidArgument,
            "autoreset_mode",
        ),
    ],
    ids=["wrappers", "typo", "typo_in_vector_kwargs", "twice"],
)
def test_wrong_arguments_raise_before_the_class_is_converted(
    arguments: dict[str, Any],
    problem: type[Exception],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(saved, "converted", None)
    with pytest.raises(problem, match=message):
        gym.make_vec("Walk-v0", 2, "compiled", **arguments)


def test_the_choice_survives_json() -> None:
    spec = EnvSpec("Maze-v0", entry_point="maze:Maze", compiled=True)
    assert EnvSpec.from_json(spec.to_json()) == spec
    assert "compiled" not in EnvSpec("Maze-v0", entry_point="maze:Maze").to_json()
