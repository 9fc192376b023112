"""The C++ functions of the installed Box2D that compiled environments call, verified before use."""

from __future__ import annotations

import ctypes
import importlib
import operator
import sys
from functools import cache
from types import ModuleType
from typing import Any

from gymcore import error
from gymcore.envs.box2d.box2d_env import Body, Box2D, Contact, Joint, World
from gymcore_ext.box2d.worlds import SYMBOLS, read_members, step_and_save

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

_STEP = (1.0 / 50, 180, 60)
_PUSHES = 40


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
    """Return the addresses of Box2D's functions and objects by their names in SYMBOLS.

    Raises:
        DependencyNotInstalled: If Box2D's functions cannot be called.
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
    for name, symbol in SYMBOLS.items():
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
    definition = Box2D.b2BodyDef(type=2, position=(1.5, 2.5), angle=3.5, gravityScale=4.5)
    _compare("body definition", definition)
    reference, first, second = _world(), _world(), _world()
    _compare_world(reference)
    state, changes = step_and_save(functions, int(first.this), _PUSHES)
    result, _ = step_and_save(functions, int(second.this), _PUSHES, state)
    if not changes:
        raise _UnusableError("contacts are not reported")
    for _ in range(2 * _PUSHES):
        reference.bodies[-1].ApplyLinearImpulse((0.01, 0.3), (5.0, 2.0), True)
        reference.Step(*_STEP)
    _compare_world(reference)
    expected, _ = step_and_save(functions, int(reference.this), 0)
    if result is None or result != expected:
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


def _compare_world(world: World) -> None:
    """Raise if the structures are not laid out as compiled code reads them."""
    _compare("world", world)
    for body in world.bodies:
        _compare("body", body)
        for fixture in body.fixtures:
            _compare("fixture", fixture)
            if isinstance(fixture.shape, Box2D.b2PolygonShape):
                _compare("shape", fixture.shape)
    for joint in world.joints:
        _compare("joint", joint)
    for contact in world.contacts:
        _compare("contact", contact)
        for point in contact.manifold.points:
            _compare("contact point", point)


def _compare(kind: str, item: Body | Contact | Joint) -> None:
    """Raise if the members of a structure are not the attributes of the package's object."""
    for name, value in read_members(kind, int(item.this)).items():
        attribute = operator.attrgetter(name)(item)
        if name.startswith("Get"):
            attribute = attribute(1.0) if name == "GetMotorTorque" else attribute()
        if _as_member(attribute) != value:
            raise _UnusableError(f"its {kind} has another memory layout")


def _as_member(value: Any) -> object:
    """Return an attribute as `read_members` does."""
    if isinstance(value, list) and not (value and isinstance(value[0], tuple)):
        value = value[-1] if value else None  # Box2D's list begins with the newest object
    if value is None:
        return 0
    if isinstance(value, Box2D.b2Vec2):
        return tuple(value)
    if isinstance(value, (bool, int, float, list)):
        return value
    return int(getattr(value, "this", value))
