"""Text on frames."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import TYPE_CHECKING

from gymcore.base import process_wide
from gymcore.rendering.window import load_pygame

if TYPE_CHECKING:
    import pygame

Color = tuple[int, int, int]


@lru_cache(maxsize=512)
def render_text(
    text: str, size: int, color: Color, background: Color | None = None, *, scaled: bool = True
) -> pygame.Surface:
    """Return a surface with a line of text; it is cached, so callers must not draw on it.

    The font is not cached: after pygame has been quit and initialized again, using or even freeing
    an old font reads freed memory. `size` is pygame's font height; without a `background` the
    surface is transparent; `scaled` lets pygame scale its default font.
    """
    load_pygame()
    fonts = importlib.import_module("pygame.font")
    with process_wide.drawing_lock:
        fonts.init()
        font = fonts.Font(None if scaled else fonts.get_default_font(), size)
        surface: pygame.Surface = (
            font.render(text, True, color)
            if background is None
            else font.render(text, True, color, background)
        )
        del font  # closes it
    return surface
