"""From the state of CarRacing to pixels: the observation, and pictures of other sizes."""

from __future__ import annotations

import importlib
import threading
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gymcore.envs.box2d.drawing.car_racing import (
    DASH_H,
    SHOWN_H,
    STATE_H,
    STATE_W,
    WINDOW_H,
    WINDOW_W,
    Scenery,
    View,
    draw_car,
)
from gymcore.envs.box2d.drawing.car_racing_dash import Dashboard
from gymcore.rendering.window import load_pygame

if TYPE_CHECKING:
    import pygame

    from gymcore.envs.box2d.car_dynamics import Car


_of_thread = threading.local()


def painter() -> Painter:
    """The painter of this thread: its surfaces take 7 MB, too much for one in every lane."""
    try:
        found: Painter = _of_thread.painter
    except AttributeError:
        found = _of_thread.painter = Painter()
    return found


class Painter:
    """Draws pictures on surfaces that it keeps; each picture begins anew."""

    def __init__(self) -> None:
        """Make the surfaces."""
        pygame = load_pygame()
        importlib.import_module("pygame.gfxdraw")
        self._flip, self._shrink = pygame.transform.flip, pygame.transform.smoothscale
        self._dash = Dashboard()
        # Upside down, as the world is drawn; and the right way up.
        self.world = _surface(WINDOW_W, WINDOW_H)[0]
        self.surface = _surface(WINDOW_W, WINDOW_H)[0]
        self._shown = self.world.subsurface((0, DASH_H, WINDOW_W, SHOWN_H))
        self._dashboard = self.surface.subsurface((0, SHOWN_H, WINDOW_W, DASH_H))
        # The observation's columns at full height: upside down, and the right way up.
        self._shown_columns, self._shown_pixels = _surface(STATE_W, SHOWN_H)
        self._columns, self._column_pixels = _surface(STATE_W, WINDOW_H)
        self._dashboard_columns = self._columns.subsurface((0, SHOWN_H, STATE_W, DASH_H))
        self._state, self._state_pixels = _surface(STATE_W, STATE_H)

    def observe(self, scenery: Scenery, car: Car, t: float, score: float) -> NDArray[np.uint8]:
        """The observation, uint8 [96, 96, 3], a new array."""
        shrink = self._shrink
        if self._dash.draw(self.surface, car, score):
            self._draw_world(scenery, car, t, marks=False, lowest=DASH_H)
            shrink(self._shown, (STATE_W, SHOWN_H), self._shown_columns)
            self._column_pixels[:SHOWN_H] = self._shown_pixels[::-1]
            shrink(self._dashboard, (STATE_W, DASH_H), self._dashboard_columns)
            shrink(self._columns, (STATE_W, STATE_H), self._state)
        else:
            shrink(self.paint(scenery, car, t, score, marks=False), (STATE_W, STATE_H), self._state)
        return self._state_pixels.view(np.uint8).reshape(STATE_H, STATE_W, 4)[:, :, :3].copy()

    def paint(
        self, scenery: Scenery, car: Car, t: float, score: float, marks: bool
    ) -> pygame.Surface:
        """The picture at full size, 1000 x 800, on a surface that the next call draws on again."""
        self._draw_world(scenery, car, t, marks)
        self.surface.blit(self._flip(self.world, False, True), (0, 0))
        self._dash.draw(self.surface, car, score)
        return self.surface

    def _draw_world(
        self, scenery: Scenery, car: Car, t: float, marks: bool, lowest: int = 0
    ) -> None:
        view = View.behind(car.hull, t)
        scenery.draw(self.world, view, car.hull.position.tuple, lowest)
        draw_car(self.world, view, car, marks)

    def scaled(self, picture: pygame.Surface, size: tuple[int, int]) -> NDArray[np.uint8]:
        """A picture in another size (width, height): uint8 [height, width, 3], a new array."""
        scaled = self._shrink(picture, size)
        width, height = size
        pixels = np.frombuffer(scaled.get_buffer().raw, np.uint8)
        return pixels.reshape(height, width, 4)[:, :, :3].copy()


def _surface(width: int, height: int) -> tuple[pygame.Surface, NDArray[np.uint32]]:
    """A surface, and its pixels as [height, width], each the bytes red, green, blue and unused."""
    pixels = np.zeros((height, width), np.uint32)
    surface = load_pygame().image.frombuffer(pixels, (width, height), "RGBX")
    return surface, pixels
