"""Two racing cars side by side: states compared in every step, frames in some.

A frame takes all but a hundredth of the time of Gymnasium's step, and does not affect the car.
"""

from __future__ import annotations

from typing import Any

import numpy as np

NOTHING_SEEN = np.zeros((96, 96, 3), np.uint8)


def car_of(env: Any) -> list[Any]:
    """Return all values that determine how the race continues."""
    car = env.car
    numbers: list[Any] = [env.reward, env.prev_reward, env.tile_visited_count, env.t]
    for body in (car.hull, *car.wheels):
        numbers += [*body.position, body.angle, *body.linearVelocity, body.angularVelocity]
    for wheel in car.wheels:
        numbers += [wheel.gas, wheel.brake, wheel.steer, wheel.phase, wheel.omega]
        numbers.append(sorted(tile.idx for tile in wheel.tiles))
    return [*numbers, car.fuel_spent]


class SomePictures:
    """Hook for `fly_side_by_side` that compares tracks and cars to the bit.

    Args:
        every: Frames are drawn in a reset, in the first three steps, and then in each step
            whose number plus that of the episode is a multiple of this.

    Attributes:
        drawn: Number of steps with a frame.
    """

    def __init__(self, every: int) -> None:
        self.every = every
        self.episode = 0
        self.drawn = 0

    def __call__(self, ours: Any, theirs: Any, step: int) -> bool:
        """Compare both before a step (0 is the reset); return whether to draw Gymnasium's frame."""
        if step == 0:
            self.episode += 1
        else:
            assert car_of(ours) == car_of(theirs), f"step {step}"
        if step == 1:
            assert ours.track == theirs.track
            assert len(ours.road_poly) == len(theirs.road_poly)
        if step <= 3 or (step + self.episode) % self.every == 0:
            self.drawn += 1
            vars(theirs).pop("_render", None)
            return True
        theirs._render = lambda *_: NOTHING_SEEN
        return False
