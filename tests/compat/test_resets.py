"""Eras whose wrappers and engines pass only the arguments that the caller gave to `reset`."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gymcore import spaces
from gymcore.compat import gym26, gymnasium029

ERAS = (gym26, gymnasium029)


class NoOptions(gym26.Env):
    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    render_mode = "rgb_array"
    observation_space = spaces.Box(0, 255, (8, 8, 3), np.uint8)
    action_space = spaces.Box(-1, 1, (1,))
    level = 0

    def reset(self, seed: Any = None) -> Any:  # type: ignore[override]
        self.level = seed or 0
        return np.full((8, 8, 3), self.level, np.uint8), {}

    def step(self, action: Any) -> Any:
        return np.zeros((8, 8, 3), np.uint8), 0.0, True, False, {}

    def render(self) -> Any:
        return np.zeros((8, 8, 3), np.uint8)


class Nothing(NoOptions):
    def reset(self) -> Any:  # type: ignore[override]
        return super().reset()


class OwnKeyword(NoOptions):
    def reset(self, *, seed: Any = None, options: Any = None, level: int = 0) -> Any:  # type: ignore[override]
        return super().reset(level)


CASES: list[tuple[type[NoOptions], dict[str, int]]] = [
    (NoOptions, {"seed": 3}),
    (NoOptions, {}),
    (Nothing, {}),
    (OwnKeyword, {"level": 3}),
]


@pytest.mark.parametrize("cls, given", CASES)
@pytest.mark.parametrize("era", ERAS)
def test_make(era: ModuleType, cls: type[NoOptions], given: dict[str, int]) -> None:
    era.register("Old-v0", cls, max_episode_steps=5)
    made = [era.make("Old-v0", autoreset=on, disable_env_checker=True) for on in (False, True)]
    era.envs.registry.pop("Old-v0")
    for env in made:
        assert env.reset(**given)[0].max() == max(given.values(), default=0)
        env.step(env.action_space.sample())
        env.reset(**given)


WRAPPERS: dict[str, dict[str, Any]] = {
    "ClipAction": {},
    "FlattenObservation": {},
    "FrameStack": {"num_stack": 2},
    "GrayScaleObservation": {},
    "NormalizeObservation": {},
    "NormalizeReward": {},
    "OrderEnforcing": {},
    "PassiveEnvChecker": {},
    "RecordEpisodeStatistics": {},
    "RenderCollection": {},
    "ResizeObservation": {"shape": 4},
    "StepAPICompatibility": {},
    "TimeLimit": {"max_episode_steps": 3},
    "TransformReward": {"f": abs},
}


@pytest.mark.parametrize("name", WRAPPERS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the checker
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("cls", "given"), CASES)
def test_wrappers(cls: Any, given: Any, era: ModuleType, name: str) -> None:
    wrapped = getattr(era.wrappers, name)(era.Wrapper(cls()), **WRAPPERS[name])
    for _ in range(2):
        wrapped.reset(**given)
        assert wrapped.unwrapped.level == max(given.values(), default=0)


@pytest.mark.parametrize("cls", [NoOptions, Nothing, OwnKeyword])
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("engine", ["SyncVectorEnv", "AsyncVectorEnv"])
def test_engines(engine: str, era: ModuleType, cls: type[NoOptions]) -> None:
    envs = getattr(era.vector, engine)([lambda: era.Wrapper(cls())] * 2)
    assert envs.reset()[0].shape == (2, 8, 8, 3)
    assert "final_observation" in envs.step(np.zeros((2, 1), np.float32))[4]
    if cls is NoOptions:
        assert envs.reset(seed=4)[0][:, 0, 0, 0].tolist() == [4, 5]
    envs.close()
