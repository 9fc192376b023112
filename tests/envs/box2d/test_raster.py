"""CarRacing's shapes are drawn and rescaled in runs of pixels, as pygame does pixel by pixel."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pygame = pytest.importorskip("pygame", reason="pygame is not installed")
from pygame import gfxdraw  # noqa: E402

HERE = Path(__file__).parent
INCLUDE = HERE.parents[2] / "gymcore_ext"
COMPILER = os.environ.get("CC", "cc").split()[-1]
WIDTH, HEIGHT, HIDDEN = 1000, 800, 100
GROUND, CAR, RECTANGLE = range(3)
SHAPE = np.dtype([("kind", np.int32), ("rgb", np.uint8, (4,)), ("corners", np.int32, (4, 2))])
PANEL = (RECTANGLE, (0, 0, 0, 0), ((0, HEIGHT - HIDDEN), (WIDTH, HEIGHT), (0, 0), (0, 0)))

pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or shutil.which(COMPILER) is None, reason="needs a C compiler and POSIX"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("raster") / "raster.so"
    flags = [
        "-O1",
        "-shared",
        "-fPIC",
        "-ffp-contract=off",
        f"-I{INCLUDE}",
        f"-I{INCLUDE / 'include'}",
    ]
    source = str(HERE / "raster_shapes.c")
    subprocess.run([COMPILER, *flags, "-o", str(path), source, "-lm"], check=True)
    return ctypes.CDLL(str(path))


def drawn(library: Any, shapes: list[Any]) -> Any:
    """Return the observation [96, 96, 3] of shapes on black, as raster.h draws them."""
    array, state = np.array(shapes, SHAPE), np.empty((96, 96, 3), np.uint8)
    library.draw(ctypes.c_void_p(array.ctypes.data), len(array), ctypes.c_void_p(state.ctypes.data))
    return state


def drawn_by_pygame(shapes: list[Any]) -> Any:
    """Return pygame's version. Rectangles come last: y points down only for them."""
    surface = pygame.Surface((WIDTH, HEIGHT))
    for kind, (*rgb, _), corners in shapes:
        if kind == GROUND:
            gfxdraw.aapolygon(surface, corners, rgb)
            gfxdraw.filled_polygon(surface, corners, rgb)
        elif kind == CAR:
            pygame.draw.polygon(surface, rgb, corners)
    surface = pygame.transform.flip(surface, False, True)
    for kind, (*rgb, _), corners in shapes:
        if kind == RECTANGLE:
            xs, ys = zip(*corners[:2], strict=True)
            size = max(xs) - min(xs) + 1, max(ys) - min(ys) + 1
            surface.fill(rgb, ((min(xs), min(ys)), size))
    return pygame.surfarray.array3d(pygame.transform.smoothscale(surface, (96, 96))).swapaxes(0, 1)


colors = st.tuples(*[st.integers(0, 255)] * 3, st.just(0))
# Small shapes, and corners far outside the image.
points = st.one_of(
    st.tuples(st.integers(0, WIDTH), st.integers(0, HEIGHT)),
    st.tuples(st.integers(500, 560), st.integers(300, 340)),
    st.tuples(st.integers(-3000, 4000), st.integers(-3000, 4000)),
)


def shapes_of(*kinds):
    return st.tuples(st.sampled_from(kinds), colors, st.tuples(*[points] * 4))


@settings(max_examples=150, deadline=None)
@given(
    polygons=st.lists(shapes_of(GROUND, CAR), max_size=12),
    rectangles=st.lists(shapes_of(RECTANGLE), max_size=4),
)
@example([(CAR, (255, 128, 1, 0), ((-9, -9), (2000, -9), (2000, 2000), (-9, 2000)))], [])
def test_shapes_are_pygames(library, polygons, rectangles):
    shapes = [*polygons, PANEL, *rectangles]
    np.testing.assert_array_equal(drawn(library, shapes), drawn_by_pygame(shapes))


def test_every_shade_is_rescaled_as_by_pygame(library):
    """Alone, and beside every other edge of a pixel."""
    for shade in range(256):
        rgb = (shade, 255 - shade, shade // 2, 0)
        shapes = [
            (RECTANGLE, rgb, ((0, 0), (WIDTH, HEIGHT), (0, 0), (0, 0))),
            (RECTANGLE, (shade, shade, shade, 0), ((2 * shade, shade), (600, 700), (0, 0), (0, 0))),
        ]
        np.testing.assert_array_equal(drawn(library, shapes), drawn_by_pygame(shapes))
