"""The base of the environments over Box2D: saved states, rendering, and the import of Box2D.

Box2D cannot restore the impulses from which its solver starts the next step. But an episode is a
pure function of its start and of what was done to its bodies in each step, so a saved state is just
that: the start and the moves. Restoring it replays the moves and reproduces the state exactly.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base import process_wide, seeding
from gymcore.base.optional_packages import pip_install
from gymcore.core import ActType, Metadata, ObsType
from gymcore.rendering.frames import DrawnEnv
from gymcore.rendering.shapes import Point

if TYPE_CHECKING:
    import pygame
    from Box2D import (
        b2Body,
        b2BodyDef,
        b2Contact,
        b2FixtureDef,
        b2RevoluteJoint,
        b2RevoluteJointDef,
        b2Shape,
        b2World,
    )

STATE_VERSION = 4

# The random values of the start of an episode, and of a step; and a saved state.
Start = tuple[Any, ...]
Move = tuple[Any, ...]
EpisodeState = dict[str, Any]


def load_box2d() -> ModuleType:
    """Import Box2D (pybox2d) and return it; if missing, raise `DependencyNotInstalled`."""
    try:
        # SWIG's types have no `__module__`: Python 3.11 and later warn about that.
        return process_wide.load_module("Box2D")
    except ImportError as problem:
        built = "" if sys.version_info < (3, 14) else " (needs swig and a C++ compiler)"
        raise error.DependencyNotInstalled(
            f"Box2D is not installed, run `{pip_install('Box2D')}`{built}"
        ) from problem


Box2D: Any = load_box2d()


# Objects of the package, which has no type annotations; programs may add attributes.
World: TypeAlias = "b2World"
Body: TypeAlias = "b2Body"
Joint: TypeAlias = "b2RevoluteJoint"
Contact: TypeAlias = "b2Contact"
Definition: TypeAlias = "b2BodyDef | b2FixtureDef | b2RevoluteJointDef | b2Shape"
"""A definition of a body, a fixture or a joint, or a shape."""


def edges(points: Iterable[Point], **definition: object) -> Iterator[Definition]:
    """Yield a `b2FixtureDef` with `definition` for each edge of a polyline: one object, reused."""
    edge = Box2D.b2EdgeShape()
    fixture = Box2D.b2FixtureDef(shape=edge, **definition)
    for left, right in itertools.pairwise(points):
        edge.vertex1, edge.vertex2 = left, right
        yield fixture


def corners(body: Body) -> list[Point]:
    """Return the corners of a body's first fixture in the world, meters."""
    return [body.GetWorldPoint(corner) for corner in body.fixtures[0].shape.vertices]


class ContactDetector(Box2D.b2ContactListener):
    """Records in an environment which feet touch the ground, and whether the hull has touched it.

    As in Gymnasium, a foot that leaves one piece of ground counts as in the air, even if it still
    touches the next piece: the last event decides.
    """

    def __init__(self, env: Any) -> None:
        """Watch the contacts of an environment, which must outlive this object."""
        super().__init__()
        self.env: Any = weakref.proxy(env)

    def BeginContact(self, contact: Contact) -> None:
        """Box2D calls this when two fixtures begin to touch."""
        hull = self.env.hull if hasattr(self.env, "hull") else self.env.lander
        if hull in (contact.fixtureA.body, contact.fixtureB.body):
            self.env.game_over = True
        self._set_feet(contact, True)

    def EndContact(self, contact: Contact) -> None:
        """Box2D calls this when two fixtures cease to touch."""
        self._set_feet(contact, False)

    def _set_feet(self, contact: Contact, touches: bool) -> None:
        bodies = contact.fixtureA.body, contact.fixtureB.body
        for leg in self.env.legs:
            if leg in bodies and hasattr(leg, "ground_contact"):
                leg.ground_contact = touches


class DrawnBox2DEnv(DrawnEnv[ObsType, ActType]):
    """Base of the environments over Box2D in Python and in compiled code: how they are drawn."""

    metadata: Metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 50}  # noqa: RUF012

    def _has_begun(self) -> bool:
        """Return whether `reset` has been called."""
        raise NotImplementedError

    def _draw(self, surface: pygame.Surface) -> None:
        """Draw the current state; every pixel is overwritten."""
        raise NotImplementedError

    def render(self) -> npt.NDArray[np.uint8] | None:
        """The frame [400, 600, 3] uint8 for "rgb_array"; a window and None for "human".

        Raises:
            ResetNeeded: If `reset` has not been called.
            DependencyNotInstalled: If pygame is not installed.
        """
        if not self._has_render_mode():
            return None
        if not self._has_begun():
            raise error.ResetNeeded("render: call reset() first")
        return self._render_frame(str(self.render_mode), None)

    def _render_frame(self, render_mode: str, state: object) -> npt.NDArray[np.uint8] | None:
        return self._render_with(draw_of, render_mode, self)


def draw_of(surface: pygame.Surface, env: DrawnBox2DEnv) -> None:
    """Draw `env`. As a plain function, it does not keep the environment alive."""
    env._draw(surface)


class Box2DEnv(DrawnBox2DEnv[np.ndarray, ActType]):
    """Base of the environments over Box2D.

    A subclass builds its world in `_begin(start)`, does one step to it in `_move(move)`, calls
    these through `_build` and `_take`, and names the other attributes of an episode in `counters`.
    """

    counters: ClassVar[tuple[str, ...]] = ()
    # Constructor arguments that later steps depend on; a state must have equal ones.
    settings: ClassVar[tuple[str, ...]] = ()
    # Attributes that hold parts of the world: copies and pickles build them again.
    _not_pickled: ClassVar[tuple[str, ...]] = ()

    _start: Start | None = None
    _moves: list[Move]
    # Where the hull was after the last move that was recorded.
    _recorded: tuple[object, ...] = (None,)

    def _hull(self) -> Body | None:
        """Return the body of the hull, if there is one."""
        raise NotImplementedError

    def _place(self) -> tuple[object, ...]:
        hull = self._hull()
        return (None,) if hull is None else (hull, *hull.position, hull.angle)

    def _build(self, start: Start) -> None:
        """Build the world of an episode, and record its start."""
        self._start, self._moves = start, []
        self._begin(start)
        self._recorded = self._place()

    def _take(self, move: Any) -> Any:
        """Step the world, and record the move."""
        is_recorded = self._recorded == self._place()
        result = self._move(move)
        self._moves.append(move)
        if is_recorded:
            self._recorded = self._place()
        return result

    def _begin(self, start: Start) -> None:
        """Build the world of an episode; `start` holds everything random about it."""
        raise NotImplementedError

    def _move(self, move: Move) -> object:
        """Step the world; `move` holds everything random about the step."""
        raise NotImplementedError

    # --- state ---------------------------------------------------------------------------------

    def get_state(self) -> EpisodeState:
        """Return everything that determines how the episode continues, random generator included.

        The state is the episode's start and its moves, so it grows by some 100 bytes a step.
        Changes that a program made to other bodies than the hull are not part of it.

        Returns:
            A dict of plain values that pickles; the caller owns it.

        Raises:
            ResetNeeded: If `reset` has not been called.
            Error: If a subclass's own `reset` or `step` has built or moved the hull.
        """
        if not self._has_begun():
            raise error.ResetNeeded("get_state: call reset() first")
        return {
            **self._identity(),
            **self._episode(),
            "random": self.np_random.bit_generator.state,
        }

    def _episode(self) -> EpisodeState:
        if self._recorded != self._place():
            raise error.Error(
                f"{type(self).__name__}: an episode can be saved or copied only if no code but "
                "gymcore's `reset` and `step` has built or moved its hull"
            )
        return {
            "start": self._start,
            "moves": tuple(self._moves),
            "counters": {name: getattr(self, name) for name in self.counters},
        }

    def _identity(self) -> dict[str, object]:
        """Return class, version and constructor arguments; a state must have equal ones."""
        settings = {name: getattr(self, name) for name in self.settings}
        name, version = type(self).__name__, STATE_VERSION
        return {"environment": name, "version": version, "settings": settings}

    def check_state(self, state: EpisodeState) -> None:
        """Raise what `set_state` raises before it repeats the episode."""
        if not isinstance(state, dict):
            raise error.ArgumentTypeError(
                f"state: expected what get_state() returned, got {state!r}"
            )
        expected = self._identity()
        if (actual := {name: state.get(name) for name in expected}) != expected:
            raise error.InvalidArgument(f"state: expected one of {expected}, got one of {actual}")
        try:
            episode = (state["start"], *state["moves"], *state["counters"].values())
            seeding.bit_generator_of(state["random"])
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise error.InvalidArgument(f"state: incomplete or invalid ({problem!r})") from problem
        if state["counters"].keys() != set(self.counters) or not _is_finite(episode):
            raise error.InvalidArgument(
                f"state: expected {self.counters} and finite numbers, got {state['counters']}"
            )

    def set_state(self, state: EpisodeState) -> None:
        """Continue, bit for bit, from what `get_state` returned, here or in another environment.

        This repeats the Box2D steps that led to the state, and takes as much time.

        Args:
            state: What `get_state` returned; it is not changed.

        Raises:
            ArgumentTypeError: If `state` is not a dict.
            InvalidArgument: If `state` belongs to another environment, or is impossible; the
                episode continues as before.
        """
        self.check_state(state)
        before = self.get_state() if self._has_begun() else None
        try:
            self._replay(state)
        except Exception as problem:
            self._start = None
            self._no_world()
            if before is not None:
                self._replay(before)
            raise error.InvalidArgument(f"state: impossible episode ({problem!r})") from problem
        kind = state["random"]["bit_generator"]
        if self.np_random.bit_generator.state["bit_generator"] != kind:
            self._np_random = np.random.Generator(getattr(np.random, kind)())
        self.np_random.bit_generator.state = state["random"]
        self._np_random_seed = -1

    def _replay(self, state: EpisodeState) -> None:
        self._no_world()
        start = state["start"]
        live = self.np_random
        if start and isinstance(start[0], dict):  # the start is drawn again
            self._np_random = np.random.Generator(seeding.bit_generator_of(start[0]))
        try:
            self._build(start)
        finally:
            self._np_random = live
        for move in state["moves"]:
            self._take(move)
        for name, value in state["counters"].items():
            setattr(self, name, value)

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes, and the episode as its moves; worlds and windows are left out."""
        excluded = {"_renderer", "_drawing", "_start", "_moves", "_recorded", *self._not_pickled}
        attributes = {name: value for name, value in vars(self).items() if name not in excluded}
        if self._has_begun():
            attributes["_saved"] = self._episode()
        return attributes

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        """Replay the episode; the copy continues as its original does."""
        attributes = dict(attributes)
        saved = attributes.pop("_saved", None)
        self.__dict__.update(attributes)
        self._no_world()
        self._moves = []
        if saved is not None:
            self._replay(saved)

    def _no_world(self) -> None:
        """Set the attributes that hold parts of the world to their values before a reset."""
        raise NotImplementedError

    def _has_begun(self) -> bool:
        return self._hull() is not None


def _is_finite(value: object) -> bool:
    """Return whether all numbers in nested tuples, lists and arrays are finite."""
    if isinstance(value, (tuple, list)):
        return all(map(_is_finite, value))
    if isinstance(value, (float, np.floating, np.ndarray)):
        return bool(np.isfinite(value).all())
    return True
