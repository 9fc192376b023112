"""The wrappers of Gym 0.21: those of Gym 0.26, with the four-value interface on both sides."""

from __future__ import annotations

from typing import Any

from gymcore.compat import gym26
from gymcore.compat.bridges import from_done_api, is_vector_env, to_done_api
from gymcore.compat.done_envs import DoneEnv
from gymcore.compat.gym26.wrappers.frame_stack import LazyFrames

_NAMES = (
    "AtariPreprocessing",
    "ClipAction",
    "FilterObservation",
    "FlattenObservation",
    "FrameStack",
    "GrayScaleObservation",
    "Monitor",
    "NormalizeObservation",
    "NormalizeReward",
    "OrderEnforcing",
    "PixelObservationWrapper",
    "RecordEpisodeStatistics",
    "RecordVideo",
    "RescaleAction",
    "ResizeObservation",
    "TimeAwareObservation",
    "TimeLimit",
    "TransformObservation",
    "TransformReward",
)
_RENDERING = frozenset({"Monitor", "PixelObservationWrapper", "RecordVideo"})

__all__ = ["LazyFrames", *_NAMES]


class _OldForm(DoneEnv):
    """A wrapper of Gym 0.26 with the four-value interface, around environments that have it too."""

    modern: Any  # the class of Gym 0.26

    def __new__(cls, env: Any, *args: Any, **kwargs: Any) -> Any:
        """Return a `DoneVectorEnv` if the environment is a vector environment."""
        inner = from_done_api(env)
        if is_vector_env(inner):
            return to_done_api(cls.modern(inner, *args, **kwargs))
        return super().__new__(cls)

    def __init__(self, env: Any, *args: Any, **kwargs: Any) -> None:
        """Wrap an environment; the arguments are those of the wrapper of Gym 0.26."""
        inner = from_done_api(env)
        if self.modern.__name__ in _RENDERING and inner.render_mode is None:
            # In Gym 0.21 any environment could return images.
            inner.unwrapped.render_mode = "rgb_array"
        super().__init__(self.modern(inner, *args, **kwargs))


for _name in _NAMES:
    _modern = getattr(gym26.wrappers, _name)
    _doc = f"`{_name}` of Gym 0.21; see `gymcore.compat.gym26.wrappers.{_name}`."
    _attributes = {"modern": _modern, "__doc__": _doc, "__module__": __name__}
    globals()[_name] = type(_name, (_OldForm,), _attributes)
