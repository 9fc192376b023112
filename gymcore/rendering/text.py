"""Text in pictures."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import TYPE_CHECKING

from gymcore.rendering.window import load_pygame

if TYPE_CHECKING:
    import pygame

Color = tuple[int, int, int]


@lru_cache(maxsize=512)
def written(
    text: str, size: int, color: Color, background: Color | None = None, *, scaled: bool = True
) -> pygame.Surface:
    """Return the picture of a text; shared between calls, never drawn on again.

    The font is not kept: once somebody has quit pygame and begun it anew, using an old font, or
    only letting go of it, reads freed memory.

    Args:
        text: One line.
        size: Height of the font, as pygame counts it.
        color: Of the letters.
        background: Behind them; None for nothing.
        scaled: Whether pygame's own font has the size that it has without a name, which is smaller.
    """
    load_pygame()
    fonts = importlib.import_module("pygame.font")
    fonts.init()
    font = fonts.Font(None if scaled else fonts.get_default_font(), size)
    picture: pygame.Surface = (
        font.render(text, True, color)
        if background is None
        else font.render(text, True, color, background)
    )
    return picture
