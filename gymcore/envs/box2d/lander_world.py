"""The parts of LunarLander's world: sizes, shapes, joints, and who touches what."""

from __future__ import annotations

from typing import Any

from gymcore.envs.box2d.library import load_box2d, makers, nothing_to_solve

Box2D: Any = load_box2d()
_create_body, _create_fixture = makers(Box2D)

FPS = 50
SCALE = 30.0  # pixels a metre
MAIN_ENGINE_POWER = 13.0
SIDE_ENGINE_POWER = 0.6
INITIAL_RANDOM = 1000.0  # N, the push at the start

# Pixels.
LANDER_POLY = [(-14, 17), (-17, 0), (-17, -10), (17, -10), (17, 0), (14, 17)]
LEG_AWAY = 20
LEG_DOWN = 18
LEG_W, LEG_H = 2, 8
LEG_SPRING_TORQUE = 40
SIDE_ENGINE_HEIGHT = 14
SIDE_ENGINE_AWAY = 12
MAIN_ENGINE_Y_LOCATION = 4
VIEWPORT_W = 600
VIEWPORT_H = 400

CHUNKS = 11  # points of the ground
WIDTH = VIEWPORT_W / SCALE
HEIGHT = VIEWPORT_H / SCALE
HELIPAD_Y = HEIGHT / 4

# Both touch the ground alone (mask 1).
HULL = Box2D.b2FixtureDef(
    shape=Box2D.b2PolygonShape(vertices=[(x / SCALE, y / SCALE) for x, y in LANDER_POLY]),
    density=5.0,
    friction=0.1,
    categoryBits=0x0010,
    maskBits=0x001,
    restitution=0.0,
)
LEG = Box2D.b2FixtureDef(
    shape=Box2D.b2PolygonShape(box=(LEG_W / SCALE, LEG_H / SCALE)),
    density=1.0,
    restitution=0.0,
    categoryBits=0x0020,
    maskBits=0x001,
)
BEDROCK = Box2D.b2FixtureDef(shape=Box2D.b2EdgeShape(vertices=[(0, 0), (WIDTH, 0)]))
GROUND_BODY = Box2D.b2BodyDef()
HULL_BODY = Box2D.b2BodyDef(type=Box2D.b2_dynamicBody, position=(WIDTH / 2, HEIGHT), angle=0.0)


def leg_definitions() -> list[tuple[Any, Any]]:
    """Body and joint of both legs, for `make_world`, which writes to the joints' definitions."""
    return [_leg_definition(side) for side in (-1, 1)]


def _leg_definition(side: int) -> tuple[Any, Any]:
    body = Box2D.b2BodyDef(
        type=Box2D.b2_dynamicBody,
        position=(WIDTH / 2 - side * LEG_AWAY / SCALE, HEIGHT),
        angle=side * 0.05,
    )
    lower, upper = (0.9 - 0.5, 0.9) if side == -1 else (-0.9, -0.9 + 0.5)
    joint = Box2D.b2RevoluteJointDef(
        localAnchorA=(0, 0),
        localAnchorB=(side * LEG_AWAY / SCALE, LEG_DOWN / SCALE),
        # Where the angle counts from: as the bodies stand when the joint is made.
        referenceAngle=side * 0.05,
        enableMotor=True,
        enableLimit=True,
        maxMotorTorque=LEG_SPRING_TORQUE,
        motorSpeed=0.3 * side,
        lowerAngle=lower,
        upperAngle=upper,
    )
    return body, joint


def make_world(
    gravity: float, ground_x: list[float], ground_y: list[float], legs: list[tuple[Any, Any]]
) -> tuple[Any, Any, Any, list[Any]]:
    """Build a world: ground, hull and two legs. Its order decides the order of Box2D's contacts.

    Definitions and shapes are used over again: Box2D copies them, and making one from keywords
    costs ten times what making the fixture does.

    Args:
        gravity: m/s^2.
        ground_x: x of the corners of the ground, metres.
        ground_y: y of them.
        legs: What `leg_definitions` made, for this environment alone.

    Returns:
        The world, the ground, the hull and the legs.
    """
    world = Box2D.b2World(gravity=(0, gravity))
    moon = _create_body(world, GROUND_BODY)
    _create_fixture(moon, BEDROCK)
    edge = Box2D.b2EdgeShape()
    ground = Box2D.b2FixtureDef(shape=edge, density=0, friction=0.1)
    # The setters themselves: a list of vertices costs three times as much.
    begin, end = Box2D.b2EdgeShape.vertex1.fset, Box2D.b2EdgeShape.vertex2.fset
    corners = list(zip(ground_x, ground_y, strict=True))
    left = corners[0]
    for right in corners[1:]:
        begin(edge, left)
        end(edge, right)
        left = right
        _create_fixture(moon, ground)
    lander = _create_body(world, HULL_BODY)
    _create_fixture(lander, HULL)
    made = []
    for body, joint in legs:
        leg = _create_body(world, body)
        _create_fixture(leg, LEG)
        leg.ground_contact = False
        joint.bodyA, joint.bodyB = lander, leg
        leg.joint = world.CreateJoint(joint)
        made.append(leg)
    return world, moon, lander, made


class ContactDetector(Box2D.b2ContactListener):
    """Notes which legs touch the ground, and whether the hull has.

    As in Gymnasium, a leg that leaves one piece of ground counts as in the air, even if it still
    touches the next piece: this is the last thing that happened to it.
    """

    PreSolve = PostSolve = nothing_to_solve

    def __init__(self, lander: Any, legs: list[Any]) -> None:
        super().__init__()
        self.lander = lander
        self.legs = legs
        self.crashed = False

    def BeginContact(self, contact: Any) -> None:
        """Box2D calls this when two fixtures begin to touch."""
        bodies = (contact.fixtureA.body, contact.fixtureB.body)
        if self.lander in bodies:
            self.crashed = True
        for leg in self.legs:
            if leg in bodies:
                leg.ground_contact = True

    def EndContact(self, contact: Any) -> None:
        """Box2D calls this when two fixtures cease to touch."""
        bodies = (contact.fixtureA.body, contact.fixtureB.body)
        for leg in self.legs:
            if leg in bodies:
                leg.ground_contact = False
