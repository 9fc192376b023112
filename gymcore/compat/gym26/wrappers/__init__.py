"""The wrappers of Gym 0.26, and `Monitor` of Gym 0.21.

For most of these names, `gymcore.wrappers` has Gymnasium's wrappers. As in Gym 0.26, all wrappers
here forward attributes of inner layers, and most also accept a vector environment.
"""

from __future__ import annotations

from gymcore.compat.gym26.wrappers import (
    episodes,
    frame_stack,
    images,
    normalize,
    recording,
    transforms,
)
from gymcore.compat.gym26.wrappers.episodes import *
from gymcore.compat.gym26.wrappers.frame_stack import *
from gymcore.compat.gym26.wrappers.images import *
from gymcore.compat.gym26.wrappers.normalize import *
from gymcore.compat.gym26.wrappers.recording import *
from gymcore.compat.gym26.wrappers.recording import (
    capped_cubic_video_schedule as capped_cubic_video_schedule,
)
from gymcore.compat.gym26.wrappers.transforms import *
from gymcore.compat.old_envs import EnvCompatibility
from gymcore.compat.old_modules import joined_modules

__all__ = ["EnvCompatibility"]
for _theme in (episodes, frame_stack, images, normalize, recording, transforms):
    __all__ += _theme.__all__
__getattr__ = joined_modules(__name__)
