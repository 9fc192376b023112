"""The wrappers of Gym 0.21: those of Gym 0.26, with the four-value interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gymcore import error
from gymcore.compat.gym21 import core
from gymcore.compat.gym26 import wrappers
from gymcore.compat.gym26.wrappers.frame_stack import LazyFrames
from gymcore.compat.gym26.wrappers.recording import (
    capped_cubic_video_schedule as capped_cubic_video_schedule,
)
from gymcore.compat.old_modules import joined_modules
from gymcore.core import Info
from gymcore.utils.step_api_compatibility import (
    convert_to_done_step_api,
    convert_to_terminated_truncated_step_api,
)
from gymcore.wrappers.utils import RunningMeanStd as RunningMeanStd

__all__ = [
    "AtariPreprocessing",
    "ClipAction",
    "FilterObservation",
    "FlattenObservation",
    "FrameStack",
    "GrayScaleObservation",
    "LazyFrames",
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
]
__getattr__ = joined_modules(__name__)


class AtariPreprocessing(wrappers.AtariPreprocessing, core.Wrapper):
    """Preprocess the frames of an Atari environment; see Gym 0.26's wrapper of the same name."""

    def reset(self, **kwargs: Any) -> Any:
        """Reset the environment, and make some no-op steps; return the image."""
        return super().reset(**kwargs)[0]

    def step(self, action: object) -> Any:
        """Repeat an action; return the image, the sum of the rewards, done and info."""
        return convert_to_done_step_api(super().step(action))

    def _reset_env(self, **kwargs: object) -> Info:
        self.env.reset()
        return {}

    def _draw_noops(self) -> int:
        return int(self.env.unwrapped.np_random.randint(1, self.noop_max + 1))

    def _step_function(self) -> Callable[[object], Any]:
        return lambda action: convert_to_terminated_truncated_step_api(self.env.step(action))


class ClipAction(wrappers.ClipAction, core.ActionWrapper):
    """Clip actions to the bounds of the action space."""


class RescaleAction(wrappers.RescaleAction, core.ActionWrapper):
    """Rescale actions from new bounds to those of the environment."""


class FilterObservation(wrappers.FilterObservation, core.ObservationWrapper):
    """Select entries of dict observations."""


class FlattenObservation(wrappers.FlattenObservation, core.ObservationWrapper):
    """Flatten observations into one array."""


class FrameStack(wrappers.FrameStack, core.ObservationWrapper):
    """Stack the last `num_stack` observations as `LazyFrames`."""


class GrayScaleObservation(wrappers.GrayScaleObservation, core.ObservationWrapper):
    """Convert RGB images to grayscale."""


class ResizeObservation(wrappers.ResizeObservation, core.ObservationWrapper):
    """Resize images, averaging over the area of each new pixel."""


class TimeAwareObservation(wrappers.TimeAwareObservation, core.ObservationWrapper):
    """Append the number of steps since the reset to observations."""


class TransformObservation(wrappers.TransformObservation, core.ObservationWrapper):
    """Apply a function to observations."""


class TransformReward(wrappers.TransformReward, core.RewardWrapper):
    """Apply a function to rewards."""


class PixelObservationWrapper(wrappers.PixelObservationWrapper, core.ObservationWrapper):
    """Add rendered images to observations, which become dicts."""

    def _arguments_of_render(self) -> dict[str, object]:
        return {"mode": "rgb_array"}


class NormalizeObservation(wrappers.NormalizeObservation, core.Wrapper):
    """Normalize observations with the mean and variance of all observations so far."""


class NormalizeReward(wrappers.NormalizeReward, core.Wrapper):
    """Divide rewards by the standard deviation of the discounted return."""


class OrderEnforcing(wrappers.OrderEnforcing, core.Wrapper):
    """Raise if `step` is called before `reset`."""

    def render(self, *args: object, **kwargs: object) -> Any:
        """Render the environment."""
        return self.env.render(*args, **kwargs)


class TimeLimit(wrappers.TimeLimit, core.Wrapper):
    """Truncate episodes after a number of steps, marked by `info["TimeLimit.truncated"]`."""

    def reset(self, **kwargs: object) -> Any:
        """Reset the environment and the step counter."""
        self._elapsed_steps = 0
        return self.env.reset(**kwargs)

    def step(self, action: object) -> Any:
        """Step the environment; before a reset, raise `ResetNeeded`."""
        if self._elapsed_steps is None:
            raise error.ResetNeeded("Cannot call env.step() before calling reset()")
        observation, reward, done, info = self.env.step(action)
        self._elapsed_steps += 1
        if self._elapsed_steps >= self._max_episode_steps:
            info["TimeLimit.truncated"] = not done
            done = True
        return observation, reward, done, info


class RecordEpisodeStatistics(wrappers.RecordEpisodeStatistics, core.Wrapper):
    """Add the return, length and time of an episode to the info of its last step."""

    def _add_episodes(self, info: Any, added: Info) -> object:
        if not self.is_vector_env:
            return {**info, **added}
        infos = [dict(each) for each in info]
        for lane in np.flatnonzero(added["_episode"]):
            infos[lane]["episode"] = {key: each[lane] for key, each in added["episode"].items()}
        return infos


class VideoRecorder(wrappers.VideoRecorder):
    """Writes frames of an environment to a video."""

    def _render(self) -> object:
        return self.env.render(mode="rgb_array")


class Monitor(wrappers.Monitor, core.Wrapper):
    """Write videos of selected episodes and the returns and lengths of all to a folder."""

    _recorder_class = VideoRecorder


class RecordVideo(wrappers.RecordVideo, core.Wrapper):
    """Record videos of selected episodes, or starting at selected steps."""

    _recorder_class = VideoRecorder
