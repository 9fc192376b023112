"""The models with an arm: manipulator and stacker, with the objects of a task."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from gymcore.envs.dm_control.models.mjcf import add, check_count, element, read
from gymcore.error import InvalidArgument

PROPS = ("ball", "peg", "slot", "cup", "target_ball", "target_peg")


def manipulator(props: Sequence[str] = ("ball", "target_ball")) -> Element:
    """Return an arm with some of the objects `PROPS`, in the order of that tuple."""
    for prop in props:
        if prop not in PROPS:
            raise InvalidArgument(f"props: expected names out of {PROPS}, got {prop!r}")
    root = read("manipulator.xml")
    world = root.findall("worldbody")[-1]
    for body in list(world):
        if body.get("name") not in props:
            world.remove(body)
    return root


def stacker(boxes: int = 2) -> Element:
    """Return an arm with boxes, and a target that touches nothing."""
    check_count("boxes", boxes, 1)
    root = read("stacker.xml")
    world = root.findall("worldbody")[-1]
    for number in range(boxes):
        x = round(0.5 - 0.1 * number, 1)
        box = element("body", f"box{number}", pos=(x, 0, 0.4))
        world.insert(number, box)
        add(box, "joint", f"box{number}_x", type="slide", axis=(1, 0, 0), ref=x)
        add(box, "joint", f"box{number}_z", type="slide", axis=(0, 0, 1), ref=0.4)
        add(box, "joint", f"box{number}_y", axis=(0, 1, 0))
        add(box, "geom", f"box{number}", class_="box")
        add(box, "site", f"box{number}")
    return root
