"""CarRacing-v3: drive a car around a random track, seen from above.

After Oleg Klimov's environment of OpenAI Gym. For the same seed and actions, tracks, observations,
rewards and flags are those of Gymnasium's CarRacing-v3 bit for bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymcore.envs.box2d.car_racing_compiled import CarRacingVectorEnv
from gymcore.envs.box2d.car_racing_python import (
    BORDER,
    BORDER_MIN_COUNT,
    FPS,
    MAX_SHAPE_DIM,
    TRACK_DETAIL_STEP,
    TRACK_RAD,
    TRACK_TURN_RATE,
    TRACK_WIDTH,
    VIDEO_H,
    VIDEO_W,
    ZOOM_FOLLOW,
    FrictionDetector,
)
from gymcore.envs.box2d.car_racing_rendering import (
    GRASS_DIM,
    PLAYFIELD,
    SCALE,
    STATE_H,
    STATE_W,
    WINDOW_H,
    WINDOW_W,
    ZOOM,
)
from gymcore.envs.box2d.library import problem

if TYPE_CHECKING or problem() is None:
    from gymcore.envs.box2d.car_racing_compiled import CarRacing
else:
    from gymcore.envs.box2d.car_racing_python import CarRacing

__all__ = [
    "BORDER",
    "BORDER_MIN_COUNT",
    "FPS",
    "GRASS_DIM",
    "MAX_SHAPE_DIM",
    "PLAYFIELD",
    "SCALE",
    "STATE_H",
    "STATE_W",
    "TRACK_DETAIL_STEP",
    "TRACK_RAD",
    "TRACK_TURN_RATE",
    "TRACK_WIDTH",
    "VIDEO_H",
    "VIDEO_W",
    "WINDOW_H",
    "WINDOW_W",
    "ZOOM",
    "ZOOM_FOLLOW",
    "CarRacing",
    "CarRacingVectorEnv",
    "FrictionDetector",
]
