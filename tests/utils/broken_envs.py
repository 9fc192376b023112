"""Environments with one fault each, for gymcore and for Gymnasium, for tests of checkers.

`broken_envs(gym)` returns functions that make the environments, by name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np


def good_env(gym: ModuleType) -> type:
    """Return an environment without a fault; subclasses replace one part."""

    class Good(gym.Env):
        metadata = {"render_modes": ["rgb_array", "human"], "render_fps": 30}  # noqa: RUF012

        def __init__(self, render_mode: str | None = None) -> None:
            self.observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
            self.action_space = gym.spaces.Discrete(3)
            self.render_mode = render_mode

        def observe(self) -> Any:
            return self.np_random.uniform(-1, 1, 2).astype(np.float32)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return self.observe(), {}

        def step(self, action: Any) -> Any:
            return self.observe(), 1.0, False, False, {}

        def render(self) -> Any:
            return np.zeros((4, 4, 3), np.uint8) if self.render_mode == "rgb_array" else None

    return Good


def _resets(gym: ModuleType) -> dict[str, type]:
    good = good_env(gym)

    class NoSeed(good):
        def reset(self, *, options=None):
            return self.observe(), {}

    class NoOptions(good):
        def reset(self, *, seed=None):
            return good.reset(self, seed=seed)

    class OnlyKwargs(good):
        def reset(self, **kwargs):
            return good.reset(self, **kwargs)

    class RaisingKwargs(good):
        def reset(self, **kwargs):
            if kwargs.get("seed") is not None:
                raise TypeError("no seeds here")
            return good.reset(self)

    class RaisingOptions(good):
        def reset(self, *, seed=None, **kwargs):
            if kwargs:
                raise TypeError("no options here")
            return good.reset(self, seed=seed)

    class SeedDefault(good):
        def reset(self, *, seed=23, options=None):
            return good.reset(self, seed=seed)

    class SeedIgnored(good):
        def reset(self, *, seed=None, options=None):
            return self.observe(), {}

    class SeedNotPassedOn(good):
        """Deterministic environment with a generator of its own."""

        def reset(self, *, seed=None, options=None):
            self.own = np.random.default_rng(seed)
            return self.own.uniform(-1, 1, 2).astype(np.float32), {}

    class AlwaysSame(good):
        """Environment with the same observation for every seed."""

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return np.zeros(2, np.float32), {}

    class SeedOnce(good):
        """Environment whose observation is deterministic only the first time."""

        count = 0

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.count += 1
            return self.observe() * np.float32(1 / self.count), {}

    class ResetInfoRandom(good):
        count = 0

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.count += 1
            return self.observe(), {"count": self.count}

    class ResetNoTuple(good):
        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return self.observe()

    class ResetList(good):
        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return [self.observe(), {}]

    class ResetThree(good):
        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return self.observe(), {}, 1

    class ResetOutside(good):
        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return self.observe() + np.float32(7), {}

    class ResetInfoList(good):
        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return self.observe(), []

    class ReturnInfo(good):
        def reset(self, *, seed=None, options=None, return_info=False):
            super().reset(seed=seed)
            return (self.observe(), {}) if return_info else self.observe()

    class ReturnInfoTrue(good):
        def reset(self, *, seed=None, options=None, return_info=True):
            return good.reset(self, seed=seed)

    class SeedMethod(good):
        def seed(self, seed=None):
            return [seed]

    class SeedAttribute(good):
        seed = 3

    class ResetRaises(good):
        def reset(self, *, seed=None, options=None):
            raise ValueError("out of order")

    class ResetFloat64(good):
        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return self.np_random.uniform(-1, 1, 2), {}

    return {name: value for name, value in locals().items() if isinstance(value, type)}


def _steps(gym: ModuleType) -> dict[str, type]:
    good = good_env(gym)

    def stepping(name: str, make: Callable[[Any], Any]) -> type:
        return type(name, (good,), {"step": lambda self, action: make(self)})

    class Counting(good):
        count = 0

    class StepObsRandom(good):
        def step(self, action):
            return (
                np.random.default_rng().uniform(-1, 1, 2).astype(np.float32),
                1.0,
                False,
                False,
                {},
            )

    def counted(name: str, make: Callable[[Any, int], Any]) -> type:
        def step(self, action):
            self.count += 1
            return make(self, self.count)

        return type(name, (Counting,), {"step": step})

    class Rewarding(good):
        """Environment whose reward depends on the number of all steps ever taken."""

    found = [
        StepObsRandom,
        counted("StepRewardDrifts", lambda self, n: (self.observe(), float(n), False, False, {})),
        counted("StepTerminalDrifts", lambda self, n: (self.observe(), 1.0, n > 1, False, {})),
        counted("StepTruncatedDrifts", lambda self, n: (self.observe(), 1.0, False, n > 1, {})),
        counted("StepInfoDrifts", lambda self, n: (self.observe(), 1.0, False, False, {"n": n})),
        counted(
            "StepObsAlmost",
            lambda self, n: (self.observe() + np.float32(1e-7 * n), 1.0, False, False, {}),
        ),
        stepping("StepFour", lambda self: (self.observe(), 1.0, False, {})),
        stepping("StepThree", lambda self: (self.observe(), 1.0, False)),
        stepping("StepSix", lambda self: (self.observe(), 1.0, False, False, {}, 0)),
        stepping("StepList", lambda self: [self.observe(), 1.0, False, False, {}]),
        stepping("StepNone", lambda self: None),
        stepping("StepInfoList", lambda self: (self.observe(), 1.0, False, False, [])),
        stepping("RewardString", lambda self: (self.observe(), "1", False, False, {})),
        stepping("RewardNaN", lambda self: (self.observe(), float("nan"), False, False, {})),
        stepping("RewardInf", lambda self: (self.observe(), float("inf"), False, False, {})),
        stepping("RewardArray", lambda self: (self.observe(), np.zeros(1), False, False, {})),
        stepping("FlagInt", lambda self: (self.observe(), 1.0, 0, False, {})),
        stepping("FlagNone", lambda self: (self.observe(), 1.0, False, None, {})),
        stepping("StepOutside", lambda self: (self.observe() + 9, 1.0, False, False, {})),
        stepping("StepObsList", lambda self: (self.observe().tolist(), 1.0, False, False, {})),
        stepping("StepObsShape", lambda self: (np.zeros(3, np.float32), 1.0, False, False, {})),
    ]

    class StepRaises(good):
        def step(self, action):
            raise RuntimeError("stuck")

    class SharedObservation(good):
        """Environment with one buffer for all observations."""

        def __init__(self, render_mode=None):
            super().__init__(render_mode)
            self.buffer = np.zeros(2, np.float32)

        def observe(self):
            self.buffer[:] = super().observe()
            return self.buffer

    class SharedStepObservation(SharedObservation):
        def reset(self, *, seed=None, options=None):
            super(SharedObservation, self).reset(seed=seed)
            return self.observe().copy(), {}

    class SharedInfo(good):
        def __init__(self, render_mode=None):
            super().__init__(render_mode)
            self.info = {}

        def reset(self, *, seed=None, options=None):
            return super().reset(seed=seed)[0], self.info

        def step(self, action):
            return self.observe(), 1.0, False, False, self.info

    class SharedInfoArray(good):
        def __init__(self, render_mode=None):
            super().__init__(render_mode)
            self.array = np.zeros(2)

        def reset(self, *, seed=None, options=None):
            return super().reset(seed=seed)[0], {"a": self.array}

        def step(self, action):
            return self.observe(), 1.0, False, False, {"a": self.array}

    found += [StepRaises, SharedObservation, SharedStepObservation, SharedInfo, SharedInfoArray]
    return {cls.__name__: cls for cls in found}


def _spaces(gym: ModuleType) -> dict[str, Callable[[], Any]]:
    good, spaces = good_env(gym), gym.spaces

    def with_spaces(observation: Any = None, action: Any = None) -> Any:
        class Spaced(good):
            def __init__(self, render_mode=None):
                super().__init__(render_mode)
                if observation is not None:
                    self.observation_space = observation()
                if action is not None:
                    self.action_space = action()

            def reset(self, *, seed=None, options=None):
                super().reset(seed=seed)
                self.observation_space.seed(int(self.np_random.integers(2**31)))
                return self.observation_space.sample(), {}

            def observe(self):
                return self.observation_space.sample()

        return Spaced

    class NoActionSpace(good):
        def __init__(self, render_mode=None):
            super().__init__(render_mode)
            del self.action_space

    class NoObservationSpace(good):
        def __init__(self, render_mode=None):
            super().__init__(render_mode)
            del self.observation_space

    class ActionSpaceText(good):
        def __init__(self, render_mode=None):
            super().__init__(render_mode)
            self.action_space = "left or right"

    class ObservationSpaceText(good):
        def __init__(self, render_mode=None):
            super().__init__(render_mode)
            self.observation_space = "anything"

    box = spaces.Box
    kinds = {
        "ObsInfinite": lambda: box(-np.inf, np.inf, (2,)),
        "ObsAlmostInfinite": lambda: box(-1e16, 1e16, (2,)),
        "ObsHalfInfinite": lambda: box(-np.inf, 0, (2,)),
        "ObsEqualBounds": lambda: box(np.zeros(2, np.float32), np.float32([0, 1])),
        "ObsLowLikeLimits": lambda: box(np.finfo(np.float32).min, np.finfo(np.float32).max, (2,)),
        "ObsImage": lambda: box(0, 255, (40, 40, 3), np.uint8),
        "ObsImageFloat": lambda: box(0, 1, (40, 40, 3), np.float32),
        "ObsSmallImage": lambda: box(0, 255, (5, 5, 3), np.uint8),
        "ObsInt": lambda: box(-5, 5, (2,), np.int32),
        "ObsDict": lambda: spaces.Dict(a=box(-np.inf, 1, (1,)), b=spaces.Discrete(2)),
        "ObsTuple": lambda: spaces.Tuple((box(-1, np.inf, (1,)), spaces.MultiBinary(2))),
        "ObsGraph": lambda: spaces.Graph(box(-1, 1, (2,)), None),
        "ObsSequence": lambda: spaces.Sequence(spaces.Discrete(3)),
        "ObsText": lambda: spaces.Text(4),
        "ObsEmptyTuple": lambda: spaces.Tuple(()),
        "ObsEmptyDict": lambda: spaces.Dict({}),
        "ObsOneOf": lambda: spaces.OneOf((spaces.Discrete(3), box(-1, 1, (2,)))),
    }
    actions = {
        "ActInfinite": lambda: box(-np.inf, np.inf, (2,)),
        "ActWide": lambda: box(-3, 3, (2,)),
        "ActZeroToOne": lambda: box(0, 1, (2,)),
        "ActSkew": lambda: box(-1, 2, (2,)),
        "ActUint8": lambda: box(0, 255, (2,), np.uint8),
        "ActInt": lambda: box(-4, 4, (2,), np.int64),
        "ActNormal": lambda: box(-1, 1, (2,)),
        "ActDict": lambda: spaces.Dict(a=box(-2, 5, (1,)), b=box(-np.inf, np.inf, (1,))),
        "ActTuple": lambda: spaces.Tuple((box(-2, 5, (1,)), spaces.Discrete(2))),
        "ActEqualBounds": lambda: box(np.zeros(2, np.float32), np.float32([0, 1])),
        "ActOneSided": lambda: box(-np.inf, 0, (2,)),
    }
    found: dict[str, Any] = {name: with_spaces(observation=make) for name, make in kinds.items()}
    found |= {name: with_spaces(action=make) for name, make in actions.items()}
    for cls in (NoActionSpace, NoObservationSpace, ActionSpaceText, ObservationSpaceText):
        found[cls.__name__] = cls
    return found


def _rendering(gym: ModuleType) -> dict[str, Callable[[], Any]]:
    good = good_env(gym)

    def declared(
        name: str, metadata: Any, render_mode: str | None = None, frame: Any = None
    ) -> Any:
        def render(self):
            return frame if frame is not None else good.render(self)

        cls = type(name, (good,), {"metadata": metadata, "render": render})
        return functools.partial(cls, render_mode)

    both = {"render_modes": ["rgb_array", "human"], "render_fps": 30}
    found = {
        "MetadataEmpty": declared("MetadataEmpty", {}),
        "MetadataNone": declared("MetadataNone", None),
        "ModesText": declared("ModesText", {"render_modes": "rgb_array", "render_fps": 3}),
        "ModesNumbers": declared("ModesNumbers", {"render_modes": [1, 2], "render_fps": 3}),
        "ModesSet": declared("ModesSet", {"render_modes": {"human"}, "render_fps": 3}),
        "NoModes": declared("NoModes", {"render_modes": [], "render_fps": 3}),
        "NoModesButOne": declared("NoModesButOne", {"render_modes": []}, "rgb_array"),
        "NoFps": declared("NoFps", {"render_modes": ["rgb_array"]}),
        "FpsText": declared("FpsText", {"render_modes": ["rgb_array"], "render_fps": "many"}),
        "FpsZero": declared("FpsZero", {"render_modes": ["rgb_array"], "render_fps": 0}),
        "UnknownMode": declared("UnknownMode", both, "hologram"),
        "RgbArray": declared("RgbArray", both, "rgb_array"),
        "RgbFloat": declared("RgbFloat", both, "rgb_array", np.zeros((4, 4, 3))),
        "RgbFlat": declared("RgbFlat", both, "rgb_array", np.zeros((4, 4), np.uint8)),
        "RgbText": declared("RgbText", both, "rgb_array", "picture"),
        "HumanFrame": declared("HumanFrame", both, "human", np.zeros((4, 4, 3), np.uint8)),
    }

    class RenderRaises(good):
        def render(self):
            raise RuntimeError("no screen")

    class CloseRaises(good):
        def close(self):
            raise RuntimeError("locked in")

    class CloseOnce(good):
        closed = False

        def close(self):
            if self.closed:
                raise RuntimeError("closed already")
            self.closed = True

    class NotAnEnv:
        observation_space = gym.spaces.Box(-1, 1, (2,))
        action_space = gym.spaces.Discrete(3)

        @property
        def unwrapped(self):
            return self

    class SpecWithModes(good):
        """Environment that its spec recreates in each of its render modes."""

        def __init__(self, render_mode=None):
            super().__init__(render_mode)
            made.append(render_mode)

    made: list[Any] = []
    wrapper = type("Passing", (gym.Wrapper,), {})
    found |= {
        "RenderRaises": RenderRaises,
        "CloseRaises": CloseRaises,
        "CloseOnce": CloseOnce,
        "NotAnEnv": NotAnEnv,
        "Namespace": lambda: SimpleNamespace(),
        "Wrapped": lambda: wrapper(good()),
        "Good": good,
        "SpecWithModes": SpecWithModes,
    }
    return found


@functools.cache
def broken_envs(gym: ModuleType) -> dict[str, Callable[[], Any]]:
    """Return functions that make the environments, by name."""
    return {**_resets(gym), **_steps(gym), **_spaces(gym), **_rendering(gym)}
