"""What the tabular environments on a grid share."""

from __future__ import annotations

from typing import Any

from gymcore.envs.toy_text.tabular import TabularEnv
from gymcore.error import InvalidProbability

Place = tuple[int, int]


def moved(place: Place, step: Place, shape: Place) -> Place:
    """The place (row, column) after a step, or at the edge of the grid."""
    row = min(max(place[0] + step[0], 0), shape[0] - 1)
    return row, min(max(place[1] + step[1], 0), shape[1] - 1)


def probability(name: str, value: Any) -> float:
    """A probability.

    Raises:
        InvalidProbability: anything else.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise InvalidProbability(f"{name}: expected a probability from 0 to 1, got {value!r}")
    return number


class GridEnv(TabularEnv):
    """A tabular environment on a grid, with a picture and a text of it.

    A subclass sets `shape` (rows, columns) before it calls `_make`.
    """

    shape: Place

    # Side of a tile in pixels.
    tile = 64

    @property
    def picture_size(self) -> tuple[int, int]:  # type: ignore[override]
        """Width and height of the picture: small maps have large tiles."""
        rows, columns = self.shape
        tile = max(8, min(self.tile, 1024 // max(rows, columns)))
        return columns * tile, rows * tile
