"""`gym.envs.classic_control.rendering` of Gym 0.21, drawn with pygame: shapes and a viewer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore.rendering.frames import Renderer, draw_frame
from gymcore.rendering.window import load_pygame

if TYPE_CHECKING:
    import pygame

__all__ = [
    "Compound",
    "FilledPolygon",
    "Geom",
    "Line",
    "PolyLine",
    "SimpleImageViewer",
    "Transform",
    "Viewer",
    "make_capsule",
    "make_circle",
    "make_polygon",
    "make_polyline",
]

Points = Iterable[Sequence[float]]
Matrix = npt.NDArray[np.float64]


class Transform:
    """Scales, rotates and then translates the geometries to which it is added."""

    def __init__(
        self,
        translation: Sequence[float] = (0.0, 0.0),
        rotation: float = 0.0,
        scale: Sequence[float] = (1.0, 1.0),
    ) -> None:
        self.set_translation(*translation)
        self.set_rotation(rotation)
        self.set_scale(*scale)

    def set_translation(self, newx: float, newy: float) -> None:
        """Set the translation."""
        self.translation = (newx, newy)

    def set_rotation(self, new: float) -> None:
        """Set the rotation [rad]."""
        self.rotation = new

    def set_scale(self, newx: float, newy: float) -> None:
        """Set the scales."""
        self.scale = (newx, newy)

    def matrix(self) -> Matrix:
        """Return the matrix that transforms points (x, y, 1)."""
        (x, y), (a, b) = self.translation, self.scale
        c, s = math.cos(self.rotation), math.sin(self.rotation)
        return np.array([[c * a, -s * b, x], [s * a, c * b, y], [0.0, 0.0, 1.0]])


class Geom:
    """An object to draw: points, which form a polygon if `filled`, and a line otherwise."""

    filled = False
    close = False
    linewidth = 1

    def __init__(self, v: Points = ()) -> None:
        """Store points (x, y)."""
        self.v = [(float(x), float(y)) for x, y in v]
        self.color = (0, 0, 0)
        self.attrs: list[Transform] = []

    def set_color(self, r: float, g: float, b: float, alpha: float = 1.0) -> None:
        """Set the color, with parts between 0 and 1; `alpha` has no effect."""
        self.color = (round(255 * r), round(255 * g), round(255 * b))

    def add_attr(self, attr: Transform) -> None:
        """Add a `Transform`, which is applied after those added before."""
        self.attrs.append(attr)

    def set_linewidth(self, x: float) -> None:
        """Set the width of lines [pixels]."""
        self.linewidth = max(1, round(x))

    def draw(self, surface: pygame.Surface, outer: Matrix) -> None:
        """Draw on a surface; `outer` transforms to pixels of the surface."""
        matrix = outer
        for attr in reversed(self.attrs):
            matrix = matrix @ attr.matrix()
        self._draw(surface, matrix)

    def _draw(self, surface: pygame.Surface, matrix: Matrix) -> None:
        pixels = [tuple((matrix @ (x, y, 1.0))[:2].tolist()) for x, y in self.v]
        pygame_draw = load_pygame().draw
        if self.filled and len(pixels) > 2:
            pygame_draw.polygon(surface, self.color, pixels)
        else:
            pygame_draw.lines(surface, self.color, self.close, pixels, self.linewidth)


class FilledPolygon(Geom):
    """A polygon."""

    filled = True


class PolyLine(Geom):
    """A line through points, closed or not."""

    def __init__(self, v: Points, close: bool) -> None:
        """Store points (x, y), and whether a line leads back to the first one."""
        super().__init__(v)
        self.close = close


class Line(Geom):
    """A line between two points."""

    def __init__(self, start: Sequence[float] = (0, 0), end: Sequence[float] = (0, 0)) -> None:
        super().__init__((start, end))


class Compound(Geom):
    """Geometries with shared attributes."""

    def __init__(self, gs: Iterable[Geom]) -> None:
        super().__init__()
        self.gs = list(gs)

    def _draw(self, surface: pygame.Surface, matrix: Matrix) -> None:
        for geom in self.gs:
            geom.draw(surface, matrix)


def make_polygon(v: Points, filled: bool = True) -> Geom:
    """Return a polygon, or its outline."""
    return FilledPolygon(v) if filled else PolyLine(v, True)


def make_polyline(v: Points) -> Geom:
    """Return a line through points."""
    return PolyLine(v, False)


def make_circle(radius: float = 10, res: int = 30, filled: bool = True) -> Geom:
    """Return a polygon with `res` corners around the origin."""
    angles = (2 * math.pi * i / res for i in range(res))
    return make_polygon([(math.cos(a) * radius, math.sin(a) * radius) for a in angles], filled)


def make_capsule(length: float, width: float) -> Geom:
    """Return a bar along x from the origin, with round ends."""
    half = width / 2
    ends = (make_circle(half), make_circle(half))
    ends[1].add_attr(Transform((length, 0.0)))
    bar = make_polygon([(0, half), (length, half), (length, -half), (0, -half)])
    return Compound((bar, *ends))


class Viewer:
    """Draws geometries in a window, or as arrays without a display.

    Examples:
        >>> viewer = Viewer(40, 20)
        >>> viewer.set_bounds(-2.0, 2.0, -1.0, 1.0)
        >>> circle = make_circle(0.5)
        >>> circle.set_color(1.0, 0.0, 0.0)
        >>> viewer.add_geom(circle)
        >>> frame = viewer.render(return_rgb_array=True)
        >>> frame.shape, frame[10, 20].tolist(), frame[0, 0].tolist()
        ((20, 40, 3), [255, 0, 0], [255, 255, 255])
    """

    def __init__(self, width: int, height: int, display: object = None) -> None:
        """Create a viewer of `width` x `height` pixels; the origin is the lower left corner."""
        self.width, self.height = width, height
        self.isopen = True
        self.geoms: list[Geom] = []
        self.onetime_geoms: list[Geom] = []
        self.transform = Transform()
        self._renderer = Renderer(self._draw, (width, height), 50, "human", "gym")

    def set_bounds(self, left: float, right: float, bottom: float, top: float) -> None:
        """Set the coordinates of the edges."""
        x, y = self.width / (right - left), self.height / (top - bottom)
        self.transform = Transform((-left * x, -bottom * y), 0.0, (x, y))

    def add_geom(self, geom: Geom) -> None:
        """Add a geometry to all frames."""
        self.geoms.append(geom)

    def add_onetime(self, geom: Geom) -> None:
        """Add a geometry to the next frame."""
        self.onetime_geoms.append(geom)

    def render(self, return_rgb_array: bool = False) -> Any:
        """Return a frame, uint8 [height, width, 3], or show it and return whether it is open."""
        self._renderer.render_mode = "rgb_array" if return_rgb_array else "human"
        frame = self._renderer.render()
        self.onetime_geoms = []
        return frame if return_rgb_array else self.isopen

    def get_array(self) -> npt.NDArray[np.uint8]:
        """Return the frame, uint8 [height, width, 3]."""
        frame: npt.NDArray[np.uint8] = self.render(return_rgb_array=True)
        return frame

    def _draw(self, surface: pygame.Surface) -> None:
        surface.fill((255, 255, 255))
        flip = np.array([[1.0, 0.0, 0.0], [0.0, -1.0, self.height], [0.0, 0.0, 1.0]])
        for geom in (*self.geoms, *self.onetime_geoms):
            geom.draw(surface, flip @ self.transform.matrix())

    def draw_circle(
        self, radius: float = 10, res: int = 30, filled: bool = True, **a: object
    ) -> Geom:
        """Add a circle to the next frame and return it; `a` are color and linewidth."""
        return self._add_once(make_circle(radius, res, filled), a)

    def draw_polygon(self, v: Points, filled: bool = True, **attrs: object) -> Geom:
        """Add a polygon to the next frame and return it."""
        return self._add_once(make_polygon(v, filled), attrs)

    def draw_polyline(self, v: Points, **attrs: object) -> Geom:
        """Add a line to the next frame and return it."""
        return self._add_once(make_polyline(v), attrs)

    def draw_line(self, start: Sequence[float], end: Sequence[float], **attrs: object) -> Geom:
        """Add a line to the next frame and return it."""
        return self._add_once(Line(start, end), attrs)

    def _add_once(self, geom: Geom, attrs: dict[str, Any]) -> Geom:
        if "color" in attrs:
            geom.set_color(*attrs["color"])
        if "linewidth" in attrs:
            geom.set_linewidth(attrs["linewidth"])
        self.add_onetime(geom)
        return geom

    def close(self) -> None:
        """Close the window."""
        self._renderer.close()
        self.isopen = False


class SimpleImageViewer:
    """Shows images in a window."""

    def __init__(self, display: object = None, maxwidth: int = 500) -> None:
        """Create a viewer; the first image opens the window."""
        self.maxwidth = maxwidth
        self.isopen = False
        self._renderer: Renderer | None = None

    def imshow(self, arr: npt.NDArray[np.uint8]) -> None:
        """Show an image, uint8 [height, width, 3], at most `maxwidth` pixels wide."""
        height, width = arr.shape[:2]
        if self._renderer is None:
            scale = min(1.0, self.maxwidth / width)
            size = (round(scale * width), round(scale * height))
            self._renderer = Renderer(draw_frame, size, 50, "human", "gym")
        self.isopen = True
        self._renderer.render(arr)

    def close(self) -> None:
        """Close the window."""
        if self._renderer is not None:
            self._renderer.close()
        self.isopen = False
