"""Rays onto segments and boxes, compared with numbers by hand and bit for bit with Box2D's own."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gymcore_ext.box2d.walker import Rays

FLAT = [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (3.0, 1.0)]


def test_by_hand():
    rays = Rays(FLAT, [], [(0.0, -4.0), (0.0, -0.5), (1.0, -2.0), (0.0, 2.0)])
    assert rays.cast(1.5, 2.0) == [0.25, 1.0, 0.5, 1.0]


def test_boxes_hide_the_ground():
    box = [(1.0, 1.0), (2.0, 1.0), (2.0, 2.0), (1.0, 2.0)]
    rays = Rays(FLAT, [box], [(0.0, -4.0), (4.0, 0.0)])
    assert rays.cast(1.5, 3.0) == [0.25, 1.0]
    assert rays.cast(0.0, 1.5) == [0.125, 0.25]
    assert rays.cast(1.5, 1.5) == [0.125, 1.0]  # a box does not stop a ray from inside


def test_off_the_ground_there_is_nothing():
    rays = Rays(FLAT, [], [(0.0, -4.0), (1.0, -1.0)])
    assert rays.cast(-9.0, 2.0) == [1.0, 1.0]
    assert rays.cast(9.0, 2.0) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("corners", "ends"),
    [
        ([(0.0, 1.0)], [(0.0, 1.0)]),
        ([(1.0, 1.0), (0.0, 1.0)], [(0.0, 1.0)]),
        (FLAT, [(1.0,)]),
        (FLAT, np.empty((0, 2))),
    ],
)
def test_bad_shapes(corners, ends):
    with pytest.raises(ValueError, match="expected"):
        Rays(corners, [], ends)


def test_equals_box2d():
    from gymcore.error import DependencyNotInstalled

    try:
        from gymcore.envs.box2d.box2d_env import Box2D as box2d
    except DependencyNotInstalled:
        pytest.skip("Box2D is not installed")

    class Nearest(box2d.b2RayCastCallback):
        fraction = 1.0

        def ReportFixture(self, fixture, point, normal, fraction):
            self.fraction = fraction
            return fraction

    random = np.random.default_rng(5)
    world = box2d.b2World()
    corners = np.stack([np.arange(60) * 0.47, random.uniform(2, 5, 60)], axis=1)
    for pair in itertools.pairwise(corners):
        edge = box2d.b2EdgeShape(vertices=[tuple(corner) for corner in pair])
        world.CreateStaticBody(shapes=edge)
    boxes = []
    for x, y, size in random.uniform((0, 3, 0.3), (27, 7, 2.0), (12, 3)).tolist():
        boxes.append([(x, y), (x + size, y), (x + size, y + size), (x, y + size)])
        world.CreateStaticBody(shapes=box2d.b2PolygonShape(vertices=boxes[-1]))
    ends = random.uniform(-5, 5, (10, 2))
    rays = Rays(corners, boxes, ends)
    hits = 0
    for x, y in random.uniform((0, 1), (28, 9), (150, 2)).astype(np.float32).tolist():
        for (dx, dy), fraction in zip(ends.tolist(), rays.cast(x, y), strict=True):
            nearest = Nearest()
            world.RayCast(nearest, (x, y), (x + dx, y + dy))
            assert fraction == nearest.fraction
            hits += fraction < 1.0
    assert 300 < hits < 1400
