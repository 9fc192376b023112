"""The wrappers of Gym 0.21: those of Gym 0.26, between environments with the old interface."""

from __future__ import annotations

from typing import Any

from gymcore.compat import gym26
from gymcore.compat.bridges import from_done_api, is_vector_env, to_done_api
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


class _OldForm(type):
    """Metaclass of the wrappers here: a call wraps the environment inside the old interface."""

    def __call__(cls, env: Any, *args: Any, **kwargs: Any) -> Any:
        inner = from_done_api(env)
        name = cls.__name__
        if name in _RENDERING and not is_vector_env(inner) and inner.render_mode is None:
            # In Gym 0.21 any environment could return images.
            inner.unwrapped.render_mode = "rgb_array"
        return to_done_api(getattr(gym26.wrappers, name)(inner, *args, **kwargs))

    def __instancecheck__(cls, instance: Any) -> bool:
        """Return whether the environment inside the old interface is this wrapper."""
        return isinstance(getattr(instance, "env", None), getattr(gym26.wrappers, cls.__name__))


globals().update(
    {
        name: _OldForm(
            name,
            (),
            {
                "__doc__": f"`{name}` of Gym 0.21; see `gymcore.compat.gym26.wrappers.{name}`.",
                "__module__": __name__,
            },
        )
        for name in _NAMES
    }
)
