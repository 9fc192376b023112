"""Random tracks: a closed curve through twelve checkpoints, and the polygons it is paved with.

The curve is Gymnasium's: it starts on the x axis and turns toward one checkpoint after the other,
five times round, and the last lap that closes is the track. Same draws, same arithmetic, same
track to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

SCALE = 6.0
TRACK_RAD = 900 / SCALE
TRACK_DETAIL_STEP = 21 / SCALE
TRACK_TURN_RATE = 0.31
TRACK_WIDTH = 40 / SCALE
BORDER = 8 / SCALE
BORDER_MIN_COUNT = 4

CHECKPOINTS = 12
START_ALPHA = 2 * math.pi * (-0.5) / CHECKPOINTS
_LAPS = 5
_MAX_POINTS = 2500

Point = tuple[float, float]
Draws = tuple[tuple[float, float], ...]


class TrackPoint(NamedTuple):
    """A point of the track's middle line.

    Attributes:
        alpha: Its direction from the origin, in radians.
        beta: Angle of the car there, 0 along the y axis.
        x: Metres.
        y: Metres.
    """

    alpha: float
    beta: float
    x: float
    y: float


class Closed(NamedTuple):
    """A track that closes.

    Attributes:
        points: Its points.
        first: Where they begin on the curve.
        last: Where they end.
    """

    points: list[TrackPoint]
    first: int
    last: int


def draw_checkpoints(np_random: np.random.Generator) -> Draws:
    """Draw the noise of the angle (radians) and the radius (metres) of each checkpoint."""
    return tuple(
        (
            float(np_random.uniform(0, 2 * math.pi * 1 / CHECKPOINTS)),
            float(np_random.uniform(TRACK_RAD / 3, TRACK_RAD)),
        )
        for _ in range(CHECKPOINTS)
    )


def lay_out(draws: Draws) -> Closed | None:
    """Return the track through the checkpoints, or None if the curve does not close.

    Example:
        >>> track = lay_out(((0.2, 100.0),) * CHECKPOINTS)
        >>> len(track.points), len(track.points) == track.last - track.first - 1
        (260, True)
    """
    curve = _curve(_checkpoints(draws))
    # Where it comes past the start, seen from the end: the last two of them bound the track.
    starts = [
        index
        for index in range(len(curve) - 1, 0, -1)
        if curve[index].alpha > START_ALPHA and curve[index - 1].alpha <= START_ALPHA
    ][:2]
    if len(starts) < 2:
        return None
    last, first = starts
    points = curve[first : last - 1]
    begin, end = points[0], points[-1]
    gap = math.sqrt(
        (math.cos(begin.beta) * (begin.x - end.x)) ** 2
        + (math.sin(begin.beta) * (begin.y - end.y)) ** 2
    )
    return None if gap > TRACK_DETAIL_STEP else Closed(points, first, last)


def _checkpoints(draws: Draws) -> list[tuple[float, float, float]]:
    """Angle, x and y of each checkpoint; the first and the last are fixed."""
    places = []
    for index, (noise, radius) in enumerate(draws):
        alpha = 2 * math.pi * index / CHECKPOINTS + noise
        if index == 0:
            alpha, radius = 0.0, 1.5 * TRACK_RAD
        elif index == CHECKPOINTS - 1:
            alpha, radius = 2 * math.pi * index / CHECKPOINTS, 1.5 * TRACK_RAD
        places.append((alpha, radius * math.cos(alpha), radius * math.sin(alpha)))
    return places


def _curve(checkpoints: Sequence[tuple[float, float, float]]) -> list[TrackPoint]:
    """Five laps, in steps of `TRACK_DETAIL_STEP`, that turn toward the next checkpoint."""
    pi, cos, sin, atan2 = math.pi, math.cos, math.sin, math.atan2
    x, y, beta = 1.5 * TRACK_RAD, 0.0, 0.0
    target = laps = 0
    on_other_side = False
    points: list[TrackPoint] = []
    while len(points) < _MAX_POINTS:
        alpha = atan2(y, x)
        if on_other_side and alpha > 0:
            laps += 1
            on_other_side = False
        if alpha < 0:
            on_other_side = True
            alpha += 2 * pi
        # The next checkpoint ahead; after the last one the angle goes on below the first.
        while alpha > checkpoints[target % CHECKPOINTS][0]:
            target += 1
            if target % CHECKPOINTS == 0:
                alpha -= 2 * pi
        _, target_x, target_y = checkpoints[target % CHECKPOINTS]

        ahead_x, ahead_y = cos(beta), sin(beta)
        # How far the checkpoint is to the side, in pixels of the original.
        sideways = (ahead_x * (target_x - x) + ahead_y * (target_y - y)) * SCALE
        while beta - alpha > 1.5 * pi:
            beta -= 2 * pi
        while beta - alpha < -1.5 * pi:
            beta += 2 * pi
        before = beta
        turn = min(TRACK_TURN_RATE, abs(0.001 * sideways))
        if sideways > 0.3:
            beta -= turn
        elif sideways < -0.3:
            beta += turn
        x += -ahead_y * TRACK_DETAIL_STEP
        y += ahead_x * TRACK_DETAIL_STEP
        points.append(TrackPoint(alpha, before * 0.5 + beta * 0.5, x, y))
        if laps > _LAPS - 1:
            break
    return points


def find_borders(points: Sequence[TrackPoint]) -> list[bool]:
    """Whether each piece of the track has a red and white border: it is in a hard turn."""
    count = len(points)
    turns = [points[index].beta - points[index - 1].beta for index in range(count)]
    borders = []
    for index in range(count):
        last_turns = [turns[index - back] for back in range(BORDER_MIN_COUNT)]
        is_hard = all(abs(turn) > TRACK_TURN_RATE * 0.2 for turn in last_turns)
        left = sum(turn > 0 for turn in last_turns)
        borders.append(is_hard and left in (0, BORDER_MIN_COUNT))
    for index in range(count):
        for back in range(BORDER_MIN_COUNT):
            borders[index - back] |= borders[index]
    return borders


def tile_corners(here: TrackPoint, before: TrackPoint) -> list[Point]:
    """Corners of the piece of road between two points."""
    corners = []
    for point, sides in ((here, (-1, 1)), (before, (1, -1))):
        across_x, across_y = TRACK_WIDTH * math.cos(point.beta), TRACK_WIDTH * math.sin(point.beta)
        corners += [(point.x + side * across_x, point.y + side * across_y) for side in sides]
    return corners


def border_corners(here: TrackPoint, before: TrackPoint) -> list[Point]:
    """Corners of the border beside that piece, on the outside of the turn."""
    side = float(np.sign(before.beta - here.beta))
    corners = []
    for point, widths in (
        (here, (TRACK_WIDTH, TRACK_WIDTH + BORDER)),
        (before, (TRACK_WIDTH + BORDER, TRACK_WIDTH)),
    ):
        across_x, across_y = math.cos(point.beta), math.sin(point.beta)
        corners += [
            (point.x + side * width * across_x, point.y + side * width * across_y)
            for width in widths
        ]
    return corners
