"""The wrappers of Gym 0.26 (and `Monitor` of 0.21), by their names and with their behaviour.

`gymcore.wrappers` has Gymnasium's under most of these names. Attributes of inner layers are
forwarded by all of them, and most take a vector environment too, as in Gym 0.26.
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
from gymcore.compat.gym26.wrappers.transforms import *
from gymcore.compat.old_envs import EnvCompatibility

__all__ = ["EnvCompatibility"]
for _theme in (episodes, frame_stack, images, normalize, recording, transforms):
    __all__ += _theme.__all__
