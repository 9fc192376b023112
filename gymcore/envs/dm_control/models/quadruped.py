"""The model of the quadruped: its legs, and what its tasks need besides."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from gymcore.envs.dm_control.models.mjcf import add, find, read, section, text

# Signs of x and y of the hip, and the direction of the leg in degrees.
LEGS = {
    "front_left": (1, 1, 45),
    "front_right": (1, -1, -45),
    "back_right": (-1, -1, -135),
    "back_left": (-1, 1, 135),
}
# Weights of the pitch, the knee and the ankle in a leg's tendons; None for a joint left out.
TENDONS = {
    "coupling": (0.333, 0.333, 0.333),
    "extend": (0.25, -0.5, 0.25),
    "lift": (0.5, None, -0.5),
}


def quadruped(
    floor_size: float | None = None,
    terrain: bool = False,
    rangefinders: bool = False,
    walls_and_ball: bool = False,
) -> Element:
    """Return a quadruped.

    Args:
        floor_size: Half the width of the floor in meters; None for 15.
        terrain: Whether there is a height field, which is flat.
        rangefinders: Whether there are sensors of distances along the rays from the head.
        walls_and_ball: Whether there are walls, a ball and a place to bring it to.
    """
    root = read("quadruped.xml")
    world, sensors = section(root, "worldbody"), section(root, "sensor")
    torso = find(root, "body", "torso")
    if floor_size is not None:
        find(world, "geom", "floor").set("size", text((floor_size, floor_size, 0.5)))
    if terrain:
        add(world, "geom", "terrain", class_="terrain")
    if walls_and_ball:
        _add_walls_and_ball(world)
    _add_rays(torso)
    add(torso, "site", "torso_touch", type="box", size=(0.26, 0.26, 0.26), rgba=(0, 0, 1, 0))
    add(torso, "site", "torso", size=0.05, rgba=(1, 0, 0, 1))
    for leg, (x, y, yaw) in LEGS.items():
        _add_leg(torso, leg, pos=(0.2 * x, 0.2 * y, 0), yaw=yaw)
    _add_servos(root)
    for kind in ("force", "torque"):
        for leg in LEGS:
            add(sensors, kind, f"{kind}_toe_{leg}", site=f"toe_{leg}")
    add(sensors, "subtreecom", "center_of_mass", body="torso")
    if rangefinders:
        for site in torso.findall("site[@class='ray']"):
            add(sensors, "rangefinder", site.get("name"), site=site.get("name"))
    return root


def _add_walls_and_ball(world: Element) -> None:
    """Add walls at the edges of a floor of size 15, the target, and the ball above it."""
    add(
        world,
        "geom",
        "wall_px",
        class_="fence",
        size=(1, 15, 0.5),
        pos=(-15.7, 0, 0.7),
        zaxis=(1, 0, 1),
    )
    add(
        world,
        "geom",
        "wall_py",
        class_="fence",
        size=(15, 1, 0.5),
        pos=(0, -15.7, 0.7),
        zaxis=(0, 1, 1),
    )
    add(
        world,
        "geom",
        "wall_nx",
        class_="fence",
        size=(1, 15, 0.5),
        pos=(15.7, 0, 0.7),
        zaxis=(-1, 0, 1),
    )
    add(
        world,
        "geom",
        "wall_ny",
        class_="fence",
        size=(15, 1, 0.5),
        pos=(0, 15.7, 0.7),
        zaxis=(0, -1, 1),
    )
    add(
        world,
        "site",
        "target",
        type="cylinder",
        size=(0.4, 0.06),
        pos=(0, 0, 0.05),
        material="target",
    )
    ball = add(world, "body", "ball", pos=(0, 0, 3))
    add(ball, "light", "ball_light", mode="trackcom", pos=(0, 0, 4))
    add(ball, "freejoint", "ball_root")
    add(ball, "geom", "ball", class_="ball")


def _add_rays(torso: Element) -> None:
    """Add sites in four rows of five rays; in the suite, two of them are the same as well."""
    for row in range(4):
        for column in range(5):
            y = 0.01 * (0 if (row, column) == (1, 1) else column) - 0.02
            far = (0.41, round(y, 2), round(0.11 - 0.01 * row, 2))
            near = (round(0.34 + 0.02 * row, 2), 0, round(0.115 - 0.005 * row, 3))
            name = f"rf_{row}{column}"
            add(torso, "site", name, class_="ray", fromto=(*far, *near))


def _add_leg(torso: Element, leg: str, pos: tuple[float, ...], yaw: float) -> None:
    """Add a hip, a knee, an ankle and a toe, each a body inside the one before."""
    hip = add(torso, "body", f"hip_{leg}", pos=pos, euler=(0, 0, yaw))
    add(hip, "joint", f"yaw_{leg}", class_="swing")
    add(hip, "joint", f"pitch_{leg}", class_="thigh")
    add(hip, "geom", f"thigh_{leg}", class_="thigh")
    knee = add(hip, "body", f"knee_{leg}", pos=(0.3, 0, 0.11))
    add(knee, "joint", f"knee_{leg}", class_="shin")
    add(knee, "geom", f"shin_{leg}", class_="shin")
    ankle = add(knee, "body", f"ankle_{leg}", pos=(0.25, 0, -0.25))
    add(ankle, "joint", f"ankle_{leg}", class_="foot")
    add(ankle, "geom", f"foot_{leg}", class_="foot")
    toe = add(ankle, "body", f"toe_{leg}", pos=(0, 0, -0.3))
    add(toe, "geom", f"toe_{leg}", class_="sole")
    add(toe, "site", f"toe_{leg}", class_="sole")


def _add_servos(root: Element) -> None:
    """Add the tendons of the legs, the equality that keeps toes level, and three servos a leg."""
    tendons, actuators = section(root, "tendon"), section(root, "actuator")

    def add_tendon(kind: str, leg: str) -> None:
        tendon = add(tendons, "fixed", f"{kind}_{leg}")
        for joint, weight in zip(("pitch", "knee", "ankle"), TENDONS[kind], strict=True):
            if weight is not None:
                add(tendon, "joint", joint=f"{joint}_{leg}", coef=weight)

    for leg in LEGS:
        name = f"coupling_{leg}"
        add_tendon("coupling", leg)
        add(section(root, "equality"), "tendon", name, tendon1=name)
    for leg in LEGS:
        add_tendon("extend", leg)
        add_tendon("lift", leg)
        add(actuators, "general", f"yaw_{leg}", class_="yaw_servo", joint=f"yaw_{leg}")
        for kind in ("lift", "extend"):
            name = f"{kind}_{leg}"
            add(actuators, "general", name, class_=f"{kind}_servo", tendon=name)
