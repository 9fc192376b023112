"""A driver for CarRacing that stays on the road by reading the track."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

AHEAD = 4
TOP_SPEED = 32.0


def drive(env: Any, observation: Any, random: Any = None) -> Any:
    """Return the action that steers toward a point some tiles ahead; works for both packages."""
    car, track = env.car, env.track
    x, y = car.hull.position
    nearest = min(range(len(track)), key=lambda i: (track[i][2] - x) ** 2 + (track[i][3] - y) ** 2)
    _, _, ahead_x, ahead_y = track[(nearest + AHEAD) % len(track)]
    # 0 is along the y axis; the wheels turn left for a positive angle.
    wanted = math.atan2(ahead_y - y, ahead_x - x) - math.pi / 2
    turn = (wanted - car.hull.angle + math.pi) % (2 * math.pi) - math.pi
    speed = math.hypot(*car.hull.linearVelocity)
    limit = TOP_SPEED * (0.45 if abs(turn) > 0.25 else 1.0)
    gas, brake = (0.6, 0.0) if speed < limit else (0.0, 0.3 if speed > 1.2 * limit else 0.0)
    return np.array([-max(-1.0, min(1.0, 2.0 * turn)), gas, brake], np.float32)
