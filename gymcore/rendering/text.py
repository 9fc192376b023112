"""Text on frames."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import TYPE_CHECKING

from gymcore.rendering.window import load_pygame

if TYPE_CHECKING:
    import pygame

Color = tuple[int, int, int]


@lru_cache(maxsize=512)
def render_text(
    text: str, size: int, color: Color, background: Color | None = None, *, scaled: bool = True
) -> pygame.Surface:
    """Return a surface that shows a text; calls share it, so do not draw on it.

    The font is not cached: after pygame has been quit and initialized again, using an old font, or
    only freeing it, reads freed memory.

    Args:
        text: One line.
        size: Height of the font, as pygame counts it.
        color: Color of the letters.
        background: Color behind them; None for transparent.
        scaled: Whether pygame may scale its default font, as it does without a font name.
    """
    load_pygame()
    fonts = importlib.import_module("pygame.font")
    fonts.init()
    font = fonts.Font(None if scaled else fonts.get_default_font(), size)
    surface: pygame.Surface = (
        font.render(text, True, color)
        if background is None
        else font.render(text, True, color, background)
    )
    return surface
