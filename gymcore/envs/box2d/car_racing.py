"""CarRacing-v3: drive a car around a random track, seen from above.

After Oleg Klimov's environment of OpenAI Gym. For the same seed and actions, tracks, observations,
rewards and flags are those of Gymnasium's CarRacing-v3 bit for bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymcore.envs.box2d.car_dynamics import Car as Car
from gymcore.envs.box2d.car_racing_compiled import CarRacingVectorEnv as CarRacingVectorEnv
from gymcore.envs.box2d.car_racing_python import *  # noqa: F403
from gymcore.envs.box2d.car_racing_rendering import *  # noqa: F403
from gymcore.envs.box2d.library import problem

if TYPE_CHECKING or problem() is None:
    from gymcore.envs.box2d.car_racing_compiled import CarRacing as CarRacing
else:
    from gymcore.envs.box2d.car_racing_python import CarRacing as CarRacing
