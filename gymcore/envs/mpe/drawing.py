"""Pictures of worlds of particles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gymcore.envs.mpe.worlds import TREASURE_COLORS

if TYPE_CHECKING:
    import pygame

_SIDE = 700
_BRIGHTNESS = 200
_MARGIN = 0.9
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Colors = npt.NDArray[np.float64]


def colors_of(scenario: str, colors: Colors, lane: np.void) -> Colors:
    """Return the colors of entities, float64 [entities, 3], some of which tell the goals.

    Args:
        scenario: Name of the scenario.
        colors: Colors without a goal.
        lane: The state of the world, of the type `World.lane_dtype`.
    """
    colors = colors[:, :3].copy()
    agents = len(lane["velocities"])
    goal, other = lane["goals"]
    if scenario == "simple_adversary":
        colors[agents + goal] = (0.15, 0.65, 0.15)
    elif scenario == "simple_push":
        colors[1, goal + 1] += 0.5
    elif scenario == "simple_crypto":
        colors[1] = colors[agents + goal]
    elif scenario == "simple_reference":
        colors[1], colors[0] = colors[agents + goal], colors[agents + other]
    elif scenario == "simple_speaker_listener":
        colors[1] = colors[agents + goal] + 0.45
    elif scenario == "collect_treasure":
        palette = np.array(TREASURE_COLORS)
        held = lane["kinds"].astype(int)
        colored = held >= 0
        shades = np.where(np.arange(len(held)) < agents, 0.85, 1.0)
        colors[colored] = shades[colored, None] * palette[held[colored]]
    return colors


def message_of(words: npt.NDArray[np.float64], continuous: bool) -> str:
    """Return the text of a message."""
    if not words.any():
        return "_"
    if continuous:
        return "[" + ",".join(f"{word:.2f}" for word in words) + "]"
    return _ALPHABET[int(np.argmax(words))]


def draw_world(
    surface: pygame.Surface,
    positions: npt.NDArray[np.float64],
    radii: Sequence[float],
    colors: Colors,
    lines: Sequence[str],
    extent: float | None,
) -> None:
    """Draw the circles of entities and, below them, lines of text.

    Args:
        surface: A square surface.
        positions: The centers, float64 [entities, 2]; the farthest entity is at the border.
        radii: The radii, [entities].
        colors: The colors, float64 [entities, 3].
        lines: Lines of text, the lowest first.
        extent: The distance of the border at which circles have their full size; None if they have
            it at any distance.
    """
    import pygame
    import pygame.freetype

    surface.fill((255, 255, 255))
    reach = np.abs(positions).max() or 1.0
    half = _SIDE // 2
    scale = 1.0 if extent is None else _MARGIN * extent / reach
    for (x, y), radius, color in zip(positions, radii, colors, strict=True):
        center = (
            x / reach * _SIDE // 2 * _MARGIN + half,
            -y / reach * _SIDE // 2 * _MARGIN + half,
        )
        shade = tuple(int(channel) for channel in np.clip(color * _BRIGHTNESS, 0, 255))
        pygame.draw.circle(surface, shade, center, radius * half * scale)
        pygame.draw.circle(surface, (0, 0, 0), center, radius * half * scale, 1)
    if lines:
        pygame.freetype.init()
        font = pygame.freetype.Font(None, 24)
        for k, line in enumerate(lines):
            place = (0.05 * _SIDE, 0.95 * _SIDE - 0.05 * _SIDE * k)
            font.render_to(surface, place, line, (0, 0, 0))
