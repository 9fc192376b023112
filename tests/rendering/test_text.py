"""Text in frames, also if other code quits pygame."""

from __future__ import annotations

import pytest

from gymcore.rendering.text import render_text

pygame = pytest.importorskip("pygame", reason="pygame is not installed")


def test_a_text_is_drawn_once() -> None:
    picture = render_text("0123", 42, (255, 255, 255), (0, 0, 0))
    assert render_text("0123", 42, (255, 255, 255), (0, 0, 0)) is picture
    assert pygame.surfarray.array3d(picture).any()
    assert picture.get_at((0, 0)) == (0, 0, 0, 255)


def test_fonts_do_not_outlive_pygame() -> None:
    first = render_text("first", 30, (1, 2, 3))
    for k in range(20):
        pygame.font.quit()
        pygame.font.init()
        assert render_text(f"text {k}", 30, (1, 2, 3)).get_width() > 10
    assert render_text("first", 30, (1, 2, 3)) is first
    pygame.quit()
    assert render_text("last", 30, (1, 2, 3)).get_width() > 10
