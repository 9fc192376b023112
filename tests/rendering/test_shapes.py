"""The antialiased shapes have the areas, centers and edges of their geometry."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymcore.rendering.shapes import bar, blank, convex_polygon, disc
from gymcore.rendering.window import load_pygame

BLACK = (0, 0, 0)
fraction = st.floats(0.0, 1.0)
angle = st.floats(0.0, 2 * math.pi)


def pixels(surface):
    """Return any surface as an array [height, width, 3]."""
    width, height = surface.get_size()
    return np.frombuffer(load_pygame().image.tobytes(surface, "RGB"), dtype=np.uint8).reshape(
        height, width, 3
    )


def ink(draw, size=(64, 48)):
    """Return the coverage [height, width], 0 to 1, of the black that `draw` paints on white."""
    surface = blank(size)
    draw(surface)
    return 1.0 - pixels(surface)[:, :, 0] / 255.0


def moments(coverage):
    """Return the area and center (x, y) of a coverage."""
    height, width = coverage.shape
    area = coverage.sum()
    x = (coverage.sum(axis=0) * (np.arange(width) + 0.5)).sum() / area
    y = (coverage.sum(axis=1) * (np.arange(height) + 0.5)).sum() / area
    return area, x, y


def test_blank_is_white_in_rgb_layout():
    surface = blank((5, 3))
    assert surface.get_size() == (5, 3)
    assert surface.get_bitsize() == 24
    assert (pixels(surface) == 255).all()


@settings(max_examples=20, deadline=None)
@given(st.floats(5.0, 15.0), fraction, fraction)
def test_disc_area_and_middle(radius, dx, dy):
    area, x, y = moments(ink(lambda s: disc(s, BLACK, (30 + dx, 22 + dy), radius)))
    assert area == pytest.approx(math.pi * radius**2, rel=0.02)
    assert (x, y) == pytest.approx((30 + dx, 22 + dy), abs=0.03)


@settings(max_examples=20, deadline=None)
@given(angle, fraction, fraction, st.floats(8.0, 15.0), st.floats(3.0, 6.0))
def test_bar_area_and_middle(turn, dx, dy, half_length, half_width):
    center = (31.5 + dx, 23.5 + dy)
    offset = (half_length * math.cos(turn), half_length * math.sin(turn))
    start = (center[0] - offset[0], center[1] - offset[1])
    end = (center[0] + offset[0], center[1] + offset[1])
    area, x, y = moments(ink(lambda s: bar(s, BLACK, start, end, half_width)))
    cut_off_corners = 4 - math.pi
    assert area == pytest.approx(4 * half_length * half_width - cut_off_corners, rel=0.03)
    assert (x, y) == pytest.approx(center, abs=0.08)


@settings(max_examples=20, deadline=None)
@given(angle, fraction, fraction)
def test_triangle_area_and_middle(turn, dx, dy):
    corners = [
        (30 + dx + 18 * math.cos(turn + k), 24 + dy + 18 * math.sin(turn + k)) for k in (0, 2, 4)
    ]
    (ax, ay), (bx, by), (cx, cy) = corners
    expected = abs((bx - ax) * (cy - ay) - (cx - ax) * (by - ay)) / 2
    area, x, y = moments(ink(lambda s: convex_polygon(s, BLACK, corners)))
    assert area == pytest.approx(expected, rel=0.03)
    assert (x, y) == pytest.approx(((ax + bx + cx) / 3, (ay + by + cy) / 3), abs=0.15)


def test_edges_on_pixel_borders_are_sharp():
    coverage = ink(lambda s: bar(s, BLACK, (2.0, 4.0), (10.0, 4.0), 2.0, 0.5), (12, 8))
    expected = np.zeros((8, 12))
    expected[2:6, 2:10] = 1.0
    corners = ([2, 2, 5, 5], [2, 9, 2, 9])
    expected[corners] = coverage[corners]
    np.testing.assert_array_equal(coverage, expected)
    assert (coverage[corners] > 0.75).all()


def test_an_edge_through_the_middle_of_a_pixel_covers_half_of_it():
    coverage = ink(lambda s: bar(s, BLACK, (-5.0, 4.0), (6.5, 4.0), 2.0), (12, 8))
    np.testing.assert_allclose(coverage[4, 4:9], [1, 1, 0.5, 0, 0], atol=0.01)


def test_corner_radius_rounds_the_ends():
    def area(radius):
        return ink(lambda s: bar(s, BLACK, (10.0, 20.0), (40.0, 20.0), 6.0, radius)).sum()

    assert area(6.0) == pytest.approx(18 * 12 + math.pi * 36, rel=0.01)
    assert area(6.0) < area(3.0) < area(1.0) < 360.5


def test_polygon_direction_does_not_matter():
    corners = [(5.0, 5.0), (30.0, 8.0), (26.0, 30.0), (8.0, 28.0)]
    forward = ink(lambda s: convex_polygon(s, BLACK, corners))
    backward = ink(lambda s: convex_polygon(s, BLACK, corners[::-1]))
    np.testing.assert_array_equal(forward, backward)


@pytest.mark.parametrize(
    "draw",
    [
        lambda s: disc(s, BLACK, (-20.0, 10.0), 5.0),
        lambda s: disc(s, BLACK, (10.0, 1e30), 5.0),
        lambda s: disc(s, BLACK, (math.nan, 10.0), 5.0),
        lambda s: disc(s, BLACK, (math.inf, 10.0), 5.0),
        lambda s: bar(s, BLACK, (math.nan, 0.0), (5.0, 5.0), 3.0),
        lambda s: bar(s, BLACK, (math.inf, 0.0), (math.inf, 5.0), 3.0),
        lambda s: bar(s, BLACK, (70.0, 0.0), (90.0, 50.0), 3.0),
        lambda s: convex_polygon(s, BLACK, [(100.0, 0.0), (101.0, 0.0), (100.0, 9.0)]),
        lambda s: convex_polygon(s, BLACK, [(5.0, 5.0)] * 3),
    ],
)
def test_shapes_off_the_surface_draw_nothing(draw):
    assert not ink(draw).any()


def test_a_shape_across_the_border_is_cut_off():
    whole = ink(lambda s: bar(s, BLACK, (20.0, 20.0), (70.0, 55.0), 6.0), (96, 96))
    part = ink(lambda s: bar(s, BLACK, (20.0, 20.0), (70.0, 55.0), 6.0), (50, 40))
    np.testing.assert_array_equal(part, whole[:40, :50])
    shifted = ink(lambda s: bar(s, BLACK, (-10.0, -5.0), (40.0, 30.0), 6.0), (60, 70))
    np.testing.assert_allclose(shifted, whole[25:95, 30:90], atol=0.005)


def test_color_and_other_pixel_formats():
    rgb, wide = blank((40, 30)), load_pygame().Surface((40, 30), depth=32)
    wide.fill((255, 255, 255))
    for surface in (rgb, wide):
        disc(surface, (200, 100, 50), (20.0, 15.0), 8.0)
    assert pixels(rgb)[15, 20].tolist() == [200, 100, 50]
    np.testing.assert_allclose(pixels(rgb).astype(int), pixels(wide).astype(int), atol=2)


def test_a_bar_without_length_still_draws_nothing_outside_its_width():
    coverage = ink(lambda s: bar(s, BLACK, (20.0, 20.0), (20.0, 20.0), 5.0))
    assert not coverage[:, :18].any() and not coverage[:, 23:].any()
