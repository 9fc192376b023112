"""Code that cannot be converted: the place, the reason, and the smallest change that would do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gymcore.error import ConversionError

__all__ = ["Obstacle", "ObstacleFound", "error_of"]


class Obstacle(NamedTuple):
    """One obstacle.

    Attributes:
        file: File with the source.
        line: Line number; 0 if the obstacle is not in a line.
        expression: The source text.
        reason: Why it cannot be converted, as a sentence without a subject or a period.
        change: The smallest change that would do.
    """

    file: str
    line: int
    expression: str
    reason: str
    change: str

    def __str__(self) -> str:
        """Return one line of the report."""
        place = f"{self.file}:{self.line}: " if self.line else ""
        return f"{place}`{self.expression}` {self.reason}; {self.change}"


class ObstacleFound(Exception):
    """Raised while an expression is converted; the rest of its statement is left out."""

    def __init__(self, obstacle: Obstacle) -> None:
        """Store the obstacle."""
        super().__init__(str(obstacle))
        self.obstacle = obstacle


def error_of(title: str, obstacles: Iterable[Obstacle]) -> ConversionError:
    """Return the exception that lists all obstacles of a class."""
    first = {(o.file, o.expression, o.reason): o for o in sorted(obstacles, reverse=True)}
    lines = sorted(first.values())
    text = f"{title} cannot be converted to gymcore.jit:"
    return ConversionError("\n".join([text, *map(str, lines)]), tuple(lines))
