"""The model of the dog: with a ball, a target and walls, or on a floor of any size without them."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from gymcore.envs.dm_control.models.mjcf import find, read, section, text

_FETCH = ("target", "wall_px", "wall_py", "wall_nx", "wall_ny")


def dog(floor_size: float = 10, ball: bool = False) -> Element:
    """Return a dog on a floor of half the given width; `ball` adds what it needs to fetch."""
    root = read("dog.xml")
    world = section(root, "worldbody")
    find(world, "geom", "floor").set("size", text((floor_size, floor_size, 0.1)))
    if not ball:
        world.remove(find(world, "body", "ball"))
        for camera in world.findall("camera"):
            world.remove(camera)
        for name in _FETCH:
            world.remove(find(world, "geom", name))
    return root
