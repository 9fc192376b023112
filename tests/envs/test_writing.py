"""Text in pictures, with others about who quit pygame."""

from __future__ import annotations

import pytest

from gymcore.rendering.text import written

pygame = pytest.importorskip("pygame", reason="pygame is not installed")


def test_a_text_is_drawn_once() -> None:
    picture = written("0123", 42, (255, 255, 255), (0, 0, 0))
    assert written("0123", 42, (255, 255, 255), (0, 0, 0)) is picture
    assert pygame.surfarray.array3d(picture).any()
    assert picture.get_at((0, 0)) == (0, 0, 0, 255)


def test_fonts_do_not_outlive_pygame() -> None:
    first = written("first", 30, (1, 2, 3))
    for k in range(20):
        pygame.font.quit()
        pygame.font.init()
        assert written(f"text {k}", 30, (1, 2, 3)).get_width() > 10
    assert written("first", 30, (1, 2, 3)) is first
    pygame.quit()
    assert written("last", 30, (1, 2, 3)).get_width() > 10
