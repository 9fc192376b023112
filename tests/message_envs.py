"""The classes that the expressions of `test_gymnasium_messages` use, for one library."""

from __future__ import annotations

import contextlib
import tempfile
import time
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

_FOLDER = tempfile.mkdtemp()


def environments(gym: ModuleType) -> dict[str, Any]:
    """Return classes and functions by name."""
    spaces, registration = gym.spaces, gym.envs.registration

    class Custom(gym.Space):
        def sample(self, mask: Any = None, probability: Any = None) -> int:
            return 0

        def contains(self, x: Any) -> bool:
            return bool(x == 0)

        @property
        def is_np_flattenable(self) -> bool:
            return True

    class Raising(Custom):
        def contains(self, x: Any) -> bool:
            raise RuntimeError("not today")

    class Plain(gym.Env):
        metadata: Any = {"render_modes": ["human", "rgb_array", "ansi"], "render_fps": 30}  # noqa: RUF012
        observation_space = spaces.Discrete(3)
        action_space = spaces.Discrete(2)
        obs: Any = 0
        reward: Any = 1.0
        terminated: Any = False
        truncated: Any = False
        info: Any = None

        def __init__(self, render_mode: Any = None) -> None:
            self.render_mode = render_mode

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return self.obs, dict(self.info or {})

        def step(self, action: Any) -> Any:
            return self.obs, self.reward, self.terminated, self.truncated, dict(self.info or {})

        def render(self) -> Any:
            return {"human": None, "ansi": "text"}.get(
                self.render_mode, np.zeros((4, 6, 3), np.uint8)
            )

    class NoActionSpace(gym.Env):
        observation_space = spaces.Discrete(3)

    class NoObservationSpace(gym.Env):
        action_space = spaces.Discrete(3)

    class Reusing(Plain):
        observation_space = spaces.Box(0, 1, (2,))
        obs = np.zeros(2, np.float32)

    class Unseeded(Plain):
        observation_space = spaces.Box(0, 1, (1,), np.float64)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=3)
            return np.zeros(1), {}

        def step(self, action: Any) -> Any:
            return np.zeros(1), 1.0, False, False, {}

    class DefaultSeed(Plain):
        def reset(self, *, seed: Any = 3, options: Any = None) -> Any:
            return super().reset(seed=seed)

    class CloseOnce(Plain):
        closed = False

        def close(self) -> None:
            if self.closed:
                raise RuntimeError("closed already")
            self.closed = True

    class OddMetadata(Plain):
        metadata = 3

    class NoRenderModes(Plain):
        metadata = {}  # noqa: RUF012

    class OddRenderModes(Plain):
        metadata = {"render_modes": 3}  # noqa: RUF012

    class OldRendering(Plain):
        metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012

        def __init__(self) -> None:
            self.render_mode = None

    class Pixels(Plain):
        metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012

    class OddRate(Pixels):
        metadata = {"render_modes": ["rgb_array"], "render_fps": "a"}  # noqa: RUF012

    class NoRate(Pixels):
        metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    class Boxes(Plain):
        observation_space = action_space = spaces.Box(-1, 1, (2,))
        obs = np.zeros(2, np.float32)

    class Wide(Boxes):
        observation_space = spaces.Box(-1, 1, (3,))

    class Unbounded(Boxes):
        observation_space = action_space = spaces.Box(-np.inf, np.inf, (2,))

    class Images(Plain):
        def __init__(self, dtype: Any = np.uint8) -> None:
            high = 1 if dtype is np.float32 else 255
            self.observation_space = spaces.Box(0, high, (4, 6, 3), dtype)

    class DictEnv(Plain):
        observation_space = spaces.Dict(a=spaces.Discrete(2), b=spaces.Discrete(3))
        obs = {"a": 0, "b": 0}  # noqa: RUF012

    class PixelDict(DictEnv):
        metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012

    class TupleEnv(Plain):
        observation_space = spaces.Tuple([spaces.Discrete(2), spaces.Discrete(3)])
        obs = (0, 0)

    class Slow(Plain):
        def step(self, action: Any) -> Any:
            time.sleep(600)
            return super().step(action)

    class FailingReset(Plain):
        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            raise ValueError("no start today")

    class NotAnEnv:
        pass

    OldGym = type("OldGym", (type("Env", (), {"__module__": "gym.core"}),), {})

    class Anything:
        pass

    class Vector(gym.vector.VectorEnv):
        metadata: dict[str, Any] = {}  # noqa: RUF012

        def __init__(self, num_envs: int) -> None:
            self.num_envs = num_envs

        def __str__(self) -> str:
            return "Vector"

    class VectorWithOddMode(Vector):
        metadata = {"autoreset_mode": "next"}  # noqa: RUF012

    class Unrecorded(gym.Wrapper):
        pass

    def registered(**fields: Any) -> Any:
        gym.register("Registered-v0", **fields)
        return gym.registry["Registered-v0"]

    def with_wrappers(env_id: str) -> Any:
        return gym.wrappers.Autoreset(gym.make(env_id)).spec

    def unrecorded() -> Any:
        return Unrecorded(gym.make("CartPole-v1")).spec

    def other_wrappers() -> Any:
        return (registration.WrapperSpec("Odd", "nowhere:Odd", None),)

    def in_namespace(name: str, env_id: str, **fields: Any) -> None:
        with registration.namespace(name):
            gym.register(env_id, entry_point=Plain, **fields)

    def broken(**attributes: Any) -> Any:
        cls = type("Broken", (Plain,), attributes)
        return cls(attributes.get("render_mode"))

    def broken_space(space: Any, **attributes: Any) -> Any:
        vars(space).update(attributes)
        return space

    def broken_box(**attributes: Any) -> Any:
        return broken_space(spaces.Box(0, 1, (2,)), **attributes)

    def batch(env: Any = Plain) -> Any:
        return gym.vector.SyncVectorEnv([env, env])

    def workers(use: Callable[[Any], Any], env: Any = Plain) -> None:
        envs = gym.vector.AsyncVectorEnv([env, env])
        try:
            use(envs)
        finally:
            envs.close(terminate=True)

    def silently(function: Callable[[], Any]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function()

    def closed_twice(env: Any) -> None:
        env.close()
        env.close()

    folder = _FOLDER
    array = np.zeros(2)

    def shared() -> Any:
        return array

    def rendered(mode: Any, result: Any, **metadata: Any) -> None:
        env = Plain(mode)
        env.metadata = {"render_modes": [mode], "render_fps": 30, **metadata}
        env.render = lambda: result
        checker: Callable[[Any], Any] = gym.utils.passive_env_checker.env_render_passive_checker
        checker(env)

    def warned(function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        with contextlib.suppress(Exception):  # only messages from before this count
            function(*args, **kwargs)

    found = dict(locals())
    found["VectorWithoutMode"] = Vector
    return found
