"""The C++ functions of the installed Box2D that compiled environments call, verified before use."""

from __future__ import annotations

import ctypes
import importlib
import sys
from functools import cache
from types import ModuleType
from typing import Any

from gymcore import error
from gymcore.envs.box2d.box2d_env import Box2D, PackageObject, World
from gymcore.rendering.shapes import Point
from gymcore_ext.box2d.worlds import FUNCTIONS, read_body_definition, read_world, step_and_restore

TESTED = "box2d 2.3.10 and box2d-py 2.3.8"
# Their `Box2D.__version__`. Other releases may have other layouts, so they are not read.
_VERSIONS = ("2.3.10", "2.3.8")

# Sizes of arrays in Box2D's structures.
_CONSTANTS = {
    "b2_maxPolygonVertices": 16,
    "b2_stackSize": 102400,
    "b2_blockSizes": 14,
    "b2_maxManifoldPoints": 2,
}
# Attributes of an object by name, nested as the objects are.
Fields = dict[str, Any]

_STEP = (1.0 / 50, 180, 60)
_PUSHES = 80


@cache
def problem() -> str | None:
    """Return why Box2D's functions cannot be called, or None. The first call verifies them."""
    try:
        functions = _functions()
        _verify(functions)
    except _UnusableError as reason:
        return (
            f"compiled environments cannot use Box2D {getattr(Box2D, '__version__', '')} as it is "
            f"installed: {reason}. They are tested with {TESTED} on Linux; the same "
            "environments in Python run instead"
        )
    return None


def library_functions() -> dict[str, int]:
    """Return the addresses of Box2D's functions by their names in FUNCTIONS.

    Raises:
        DependencyNotInstalled: They cannot be used.
    """
    if (reason := problem()) is not None:
        raise error.DependencyNotInstalled(reason)
    return _functions()


def extension_module() -> ModuleType:
    """Return the module of the package that holds Box2D's functions."""
    return importlib.import_module("Box2D._Box2D")


class _UnusableError(Exception):
    """Box2D is not as expected."""


@cache
def _functions() -> dict[str, int]:
    if sys.platform == "win32":
        raise _UnusableError("its functions are not exported on Windows")
    library = ctypes.CDLL(extension_module().__file__)
    addresses = {}
    for name, symbol in FUNCTIONS.items():
        try:
            address = ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
        except AttributeError:
            raise _UnusableError(f"it has no {symbol}") from None
        addresses[name] = address or 0
    return addresses


def _verify(functions: dict[str, int]) -> None:
    """Raise unless the release, the layouts of all structures, and steps are as expected."""
    version = getattr(Box2D, "__version__", None)
    if version not in _VERSIONS:
        raise _UnusableError(f"its version is {version}")
    for name, value in _CONSTANTS.items():
        if getattr(Box2D, name, None) != value:
            raise _UnusableError(f"{name} is {getattr(Box2D, name, None)}, not {value}")
    _compare_body_definition()
    reference, first, second = _world(), _world(), _world()
    _compare(reference)
    changes = step_and_restore(functions, int(first.this), int(second.this), _PUSHES)
    if not changes:
        raise _UnusableError("contacts are not reported")
    for _ in range(_PUSHES // 2 * 2):
        reference.bodies[-1].ApplyLinearImpulse((0.01, 0.3), (5.0, 2.0), True)
        reference.Step(*_STEP)
    _compare(reference)
    expected, seen = (_without_addresses(read_world(int(w.this))) for w in (reference, second))
    if seen != expected:
        raise _UnusableError("its functions step a world to an unexpected state")


def _world() -> World:
    """Return a world of two jointed bodies over ground, with a different value in each member."""
    world = Box2D.b2World(gravity=(0.5, -9.5))
    ground = world.CreateStaticBody()
    for left in range(-2, 12, 2):
        edge = Box2D.b2EdgeShape(vertices=[(left, 0.1 * left), (left + 2, 0.1 * left + 0.2)])
        ground.CreateFixture(shape=edge, friction=0.7, restitution=0.1)
    world.CreateStaticBody(position=(7, 0.5), angle=0.1).CreatePolygonFixture(box=(1, 0.5))
    bodies = []
    for index, (x, angle) in enumerate(((4.0, 0.3), (4.3, 0.1))):
        body = world.CreateDynamicBody(
            position=(x, 1.2),
            angle=angle,
            linearVelocity=(1.5, -0.25),
            angularVelocity=0.75,
            linearDamping=0.03,
            angularDamping=0.05,
            gravityScale=1.25,
        )
        corners = [(-0.5, -0.2), (0.4, -0.3), (0.6, 0.3), (-0.2, 0.5 + index)]
        body.CreatePolygonFixture(vertices=corners, density=3.0, friction=0.4, restitution=0.2)
        bodies.append(body)
    world.CreateJoint(
        Box2D.b2RevoluteJointDef(
            bodyA=bodies[0],
            bodyB=bodies[1],
            localAnchorA=(0.1, 0.2),
            localAnchorB=(-0.2, 0.3),
            referenceAngle=-0.15,
            enableMotor=True,
            enableLimit=True,
            motorSpeed=0.6,
            maxMotorTorque=2.5,
            lowerAngle=-0.3,
            upperAngle=0.2,
        )
    )
    return world


def _compare_body_definition() -> None:
    """Raise if definitions of bodies are not laid out as compiled code changes them."""
    fields: dict[str, object] = {
        "type": Box2D.b2_dynamicBody,
        "position": (1.5, 2.5),
        "angle": 3.5,
        "linearVelocity": (4.5, 5.5),
        "angularVelocity": 6.5,
        "linearDamping": 7.5,
        "angularDamping": 8.5,
        "gravityScale": 9.5,
        "allowSleep": False,
        "awake": True,
        "fixedRotation": False,
        "bullet": True,
        "active": False,
    }
    definition = Box2D.b2BodyDef(**fields)
    if read_body_definition(int(definition.this)) != fields:
        raise _UnusableError("its body definitions have another memory layout")


def _compare(world: World) -> None:
    """Raise if the structures are not laid out as compiled code reads them."""
    seen = read_world(int(world.this))
    expected = _expected_members(world, seen)
    for name, value in expected.items():
        if value != seen[name]:
            raise _UnusableError(f"its {name} have another memory layout")


def _expected_members(world: World, seen: Fields) -> Fields:
    """Return what `read_world` should return, from the attributes of the package's objects."""
    manager = world.contactManager

    def address(thing: PackageObject) -> int:
        return int(thing.this)

    def corners(shape: PackageObject) -> list[Point] | None:
        return shape.vertices if isinstance(shape, Box2D.b2PolygonShape) else None

    def read(thing: PackageObject, fields: Fields, **known: object) -> Fields:
        """Read attributes by the names of `fields`, with vectors as tuples."""
        values = {"address": address(thing), **known}
        for name in fields:
            if name not in values:
                value = getattr(thing, name)
                values[name] = tuple(value) if isinstance(value, Box2D.b2Vec2) else value
        return values

    bodies = []
    for body, fields in zip(reversed(world.bodies), seen["bodies"], strict=True):
        fixtures = [
            read(fixture, each, body=address(fixture.body), corners=corners(fixture.shape))
            for fixture, each in zip(reversed(body.fixtures), fields["fixtures"], strict=True)
        ]
        bodies.append(read(body, fields, world=address(body.world), fixtures=fixtures))
    joints = [
        read(
            joint,
            fields,
            bodyA=address(joint.bodyA),
            bodyB=address(joint.bodyB),
            maxMotorTorque=joint.GetMaxMotorTorque(),
            motorTorque=joint.GetMotorTorque(1.0),
        )
        for joint, fields in zip(reversed(world.joints), seen["joints"], strict=True)
    ]
    contacts = []
    for contact, fields in zip(reversed(world.contacts), seen["contacts"], strict=True):
        manifold = contact.manifold
        points = [
            {
                "localPoint": tuple(point.localPoint),
                "normalImpulse": point.normalImpulse,
                "tangentImpulse": point.tangentImpulse,
                "key": point.id.key,
            }
            for point in manifold.points
        ]
        shape = tuple(manifold.localNormal), tuple(manifold.localPoint), manifold.type_
        known = {
            "fixtureA": address(contact.fixtureA),
            "fixtureB": address(contact.fixtureB),
            "shape": shape if points else None,
            "points": points,
        }
        contacts.append(read(contact, fields, **known))
    return {
        "contactManager": address(manager),
        "broadPhase": address(manager.broadPhase),
        "allocator": address(world),
        "contactCount": world.contactCount,
        "proxyCount": world.proxyCount,
        "bodyCount": world.bodyCount,
        "jointCount": world.jointCount,
        "gravity": tuple(world.gravity),
        "bodies": bodies,
        "joints": joints,
        "contacts": contacts,
    }


def _without_addresses(value: object) -> object:
    """Return a result of `read_world` without the addresses, which differ between equal worlds."""
    if isinstance(value, dict):
        kept = ((key, each) for key, each in value.items() if key not in _ADDRESSES)
        return {key: _without_addresses(each) for key, each in kept}
    if isinstance(value, list):
        return [_without_addresses(each) for each in value]
    return value


_ADDRESSES = {
    "address", "world", "body", "bodyA", "bodyB", "fixtureA", "fixtureB", "contactManager",
    "broadPhase", "allocator",
}  # fmt: skip
