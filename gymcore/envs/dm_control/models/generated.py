"""The models that code completes: poles, segments and beads, as many as asked for."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from gymcore.envs.dm_control.models.mjcf import add, check_count, find, read, section, text
from gymcore.error import InvalidArgument


def cartpole(poles: int = 1) -> Element:
    """Return a cart with poles, one on top of another. Cameras draw back from two poles on."""
    check_count("poles", poles, 1)
    root = read("cartpole.xml")
    parent = find(root, "body", "cart")
    for number in range(1, poles + 1):
        parent = add(parent, "body", f"pole_{number}", pos=(0, 0, int(number > 1)))
        add(parent, "joint", f"hinge_{number}", class_="bar")
        add(parent, "geom", f"pole_{number}", class_="bar")
    if poles > 1:
        find(root, "geom", "floor").set("pos", text((0, 0, 1 - poles - 0.05)))
        find(root, "camera", "fixed").set("pos", text((0, -1 - 2 * poles, 1)))
        find(root, "camera", "lookatcart").set("pos", text((0, -2 * poles, 2)))
    return root


def swimmer(links: int = 6) -> Element:
    """Return a swimmer of a head and `links - 1` segments, bent by a circle at most."""
    check_count("links", links, 3)
    root = read("swimmer.xml")
    parent = head = find(root, "body", "head")
    actuators, sensors = section(root, "actuator"), section(root, "sensor")
    for number in range(links - 1):
        parent = add(parent, "body", f"segment_{number}", pos=(0, 0.1, 0), childclass="segment")
        add(parent, "joint", f"joint_{number}", range=(-360 / links, 360 / links))
        add(parent, "geom", f"visual_{number}", class_="shown")
        add(parent, "geom", f"inertial_{number}", class_="weight")
        add(parent, "site", f"site_{number}")
        add(actuators, "motor", f"motor_{number}", joint=f"joint_{number}")
        add(sensors, "velocimeter", f"velocimeter_{number}", site=f"site_{number}")
        add(sensors, "gyro", f"gyro_{number}", site=f"site_{number}")
    scale = links / 6
    find(head, "camera", "tracking1").set("pos", text((0.0, -0.2 * scale, 0.5 * scale)))
    find(head, "camera", "tracking2").set("pos", text((-0.9 * scale, 0.5 * scale, 0.15 * scale)))
    return root


def lqr(stiffness: Sequence[float], actuators: int = 1) -> Element:
    """Return beads on springs of given stiffness, the first ones of which have motors."""
    check_count("stiffness", len(stiffness), 1)
    if not 1 <= actuators <= len(stiffness):
        raise InvalidArgument(f"actuators: expected 1 to {len(stiffness)}, got {actuators}")
    root = read("lqr.xml")
    parent = section(root, "worldbody")
    for number, spring in enumerate(stiffness):
        pos = (0.25, 0, 0) if number else (0.25, 0, 0.1)
        parent = add(parent, "body", f"body_{number}", pos=pos, childclass="bead")
        add(parent, "joint", f"joint_{number}", stiffness=float(spring))
        add(parent, "geom", f"geom_{number}")
        add(parent, "site", f"site_{number}")
        if number < actuators:
            add(section(root, "actuator"), "motor", f"motor_{number}", joint=f"joint_{number}")
        if number:
            string = add(section(root, "tendon"), "spatial", f"tendon_{number - 1}")
            add(string, "site", site=f"site_{number - 1}")
            add(string, "site", site=f"site_{number}")
    return root
