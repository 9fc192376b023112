"""CarRacing's shapes are drawn and rescaled in runs of pixels, as pygame does pixel by pixel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.slow

pygame = pytest.importorskip("pygame", reason="pygame is not installed")
from pygame import gfxdraw  # noqa: E402

from gymcore_ext.box2d.picture import draw_shapes  # noqa: E402

WIDTH, HEIGHT, HIDDEN = 1000, 800, 100
PANEL = ("rectangle", (0, 0, 0), [(0, HEIGHT - HIDDEN), (WIDTH, HEIGHT)])


def drawn_by_pygame(shapes: list[Any]) -> Any:
    """Return pygame's version. Rectangles come last: y points down only for them."""
    surface = pygame.Surface((WIDTH, HEIGHT))
    for kind, rgb, corners in shapes:
        if kind == "ground":
            gfxdraw.aapolygon(surface, corners, rgb)
            gfxdraw.filled_polygon(surface, corners, rgb)
        elif kind == "car":
            pygame.draw.polygon(surface, rgb, corners)
    surface = pygame.transform.flip(surface, False, True)
    for kind, rgb, corners in shapes:
        if kind == "rectangle":
            xs, ys = zip(*corners, strict=True)
            size = max(xs) - min(xs) + 1, max(ys) - min(ys) + 1
            surface.fill(rgb, ((min(xs), min(ys)), size))
    return pygame.surfarray.array3d(pygame.transform.smoothscale(surface, (96, 96))).swapaxes(0, 1)


colors = st.tuples(*[st.integers(0, 255)] * 3)
# Small shapes, and corners far outside the image.
points = st.one_of(
    st.tuples(st.integers(0, WIDTH), st.integers(0, HEIGHT)),
    st.tuples(st.integers(500, 560), st.integers(300, 340)),
    st.tuples(st.integers(-3000, 4000), st.integers(-3000, 4000)),
)


def shapes_of(kinds, corners):
    return st.tuples(st.sampled_from(kinds), colors, st.tuples(*[points] * corners))


@settings(max_examples=150, deadline=None)
@given(
    polygons=st.lists(shapes_of(["ground", "car"], 4), max_size=12),
    rectangles=st.lists(shapes_of(["rectangle"], 2), max_size=4),
)
@example([("car", (255, 128, 1), ((-9, -9), (2000, -9), (2000, 2000), (-9, 2000)))], [])
def test_shapes_are_pygames(polygons, rectangles):
    shapes = [*polygons, PANEL, *rectangles]
    np.testing.assert_array_equal(draw_shapes(shapes), drawn_by_pygame(shapes))


def test_every_shade_is_rescaled_as_by_pygame():
    """Alone, and beside every other edge of a pixel."""
    for shade in range(256):
        rgb = (shade, 255 - shade, shade // 2)
        shapes = [
            ("rectangle", rgb, ((0, 0), (WIDTH, HEIGHT))),
            ("rectangle", (shade, shade, shade), ((2 * shade, shade), (600, 700))),
        ]
        np.testing.assert_array_equal(draw_shapes(shapes), drawn_by_pygame(shapes))
