"""The worlds of MPE: their agents, landmarks, and what their scenarios need to know."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base.arguments import count
from gymcore_ext.mpe.scenarios import ENTITY, World

_Entities = npt.NDArray[np.void]
_Rows = list[tuple[object, ...]]

# More do not fit into a lane: there are at most 64 agents and 64 landmarks.
_MAX_ENTITIES = 128

_GRAY = (0.25, 0.25, 0.25)
_BLUE = (0.35, 0.35, 0.85)
_RED = (0.75, 0.25, 0.25)
_RGB = ((0.75, 0.25, 0.25), (0.25, 0.75, 0.25), (0.25, 0.25, 0.75))
_PALE_RED = (0.85, 0.35, 0.35)
_PALE_GREEN = (0.35, 0.85, 0.35)
_NO_SPEED_LIMIT = math.inf
TREASURE_COLORS = (
    (0.212, 0.408, 0.776),
    (0.945, 0.553, 0.0),
    (0.169, 0.627, 0.173),
    (0.839, 0.149, 0.157),
    (0.58, 0.404, 0.741),
    (0.549, 0.337, 0.294),
)


_MAY_BE_ZERO = ("num_obstacles", "num_forests")


class Description(NamedTuple):
    """A world: agents by name, then landmarks, and the options of `World`."""

    names: tuple[str, ...]
    entities: _Entities
    options: Mapping[str, Any]

    def world(self, scenario: str, **options: Any) -> World:
        """Return the compiled form."""
        options = {**self.options, **options}
        return World(scenario, self.entities, agents=len(self.names), **options)


def _circles(
    number: int,
    color: Sequence[float] = _GRAY,
    *,
    size: float = 0.05,
    mass: float = 1.0,
    acceleration: float = 5.0,
    max_speed: float = _NO_SPEED_LIMIT,
    moves: bool = True,
    collides: bool = False,
    speaks: bool = False,
    adversary: bool = False,
) -> _Rows:
    """Return `number` equal entities."""
    padded = (*color, *(0.0,) * (4 - len(color)))
    flags = (moves, collides, speaks, adversary)
    return [(size, mass, acceleration, max_speed, padded, *flags)] * number


_hunters = partial(
    _circles, size=0.075, acceleration=3.0, max_speed=1.0, collides=True, adversary=True
)
_prey = partial(_circles, acceleration=4.0, max_speed=1.3, collides=True)


def _landmarks(
    number: int, color: Sequence[float] = _GRAY, *, size: float = 0.05, collides: bool = False
) -> _Rows:
    return _circles(number, color, size=size, moves=False, collides=collides)


def _description(
    names: Sequence[str], agents: _Rows, landmarks: _Rows, **options: float
) -> Description:
    return Description(tuple(names), np.array([*agents, *landmarks], ENTITY), options)


def _numbered(name: str, number: int) -> list[str]:
    return [f"{name}_{k}" for k in range(number)]


def _simple() -> Description:
    return _description(["agent_0"], _circles(1), _landmarks(1, _RED))


def _adversary(N: int = 2) -> Description:
    agents = _circles(1, _PALE_RED, size=0.15, adversary=True) + _circles(N, _BLUE, size=0.15)
    landmarks = _landmarks(N, (0.15, 0.15, 0.15), size=0.08)
    return _description(["adversary_0", *_numbered("agent", N)], agents, landmarks, goals=1)


def _push() -> Description:
    agents = _circles(1, _RED, collides=True, adversary=True) + _circles(1, collides=True)
    landmarks = _landmarks(1, (0.1, 0.1 + 0.8, 0.1)) + _landmarks(1, (0.1, 0.1, 0.1 + 0.8))
    return _description(["adversary_0", "agent_0"], agents, landmarks, goals=1)


def _crypto() -> Description:
    agents = _circles(1, _RED, moves=False, speaks=True, adversary=True)
    agents += _circles(2, moves=False, speaks=True)
    landmarks = _landmarks(1, (1.0, 0.0, 0.0, 0.0)) + _landmarks(1, (0.0, 1.0, 0.0, 0.0))
    return _description(["eve_0", "bob_0", "alice_0"], agents, landmarks, words=4, goals=2)


def _speaker_listener() -> Description:
    agents = _circles(1, size=0.075, moves=False, speaks=True) + _circles(1, size=0.075)
    colors = ((0.65, 0.15, 0.15), (0.15, 0.65, 0.15), (0.15, 0.15, 0.65))
    landmarks = [landmark for color in colors for landmark in _landmarks(1, color, size=0.04)]
    return _description(["speaker_0", "listener_0"], agents, landmarks, words=3, goals=1)


def _reference() -> Description:
    landmarks = [landmark for color in _RGB for landmark in _landmarks(1, color)]
    agents = _circles(2, speaks=True)
    return _description(_numbered("agent", 2), agents, landmarks, words=10, goals=2)


def _spread(N: int = 3) -> Description:
    agents = _circles(N, _BLUE, size=0.15, collides=True)
    return _description(_numbered("agent", N), agents, _landmarks(N), words=2)


def _tag(num_good: int = 1, num_adversaries: int = 3, num_obstacles: int = 2) -> Description:
    agents = _hunters(num_adversaries, _PALE_RED)
    agents += _prey(num_good, _PALE_GREEN, size=0.05)
    names = _numbered("adversary", num_adversaries) + _numbered("agent", num_good)
    landmarks = _landmarks(num_obstacles, size=0.2, collides=True)
    return _description(names, agents, landmarks, reach=0.9)


def _world_comm(
    num_good: int = 2,
    num_adversaries: int = 4,
    num_obstacles: int = 1,
    num_food: int = 2,
    num_forests: int = 2,
) -> Description:
    leader_color = tuple(channel - 0.3 for channel in (0.95, 0.45, 0.45))
    agents = _hunters(1, leader_color, speaks=True)
    agents += _hunters(num_adversaries - 1, (0.95, 0.45, 0.45))
    agents += _prey(num_good, (0.45, 0.95, 0.45), size=0.045)
    landmarks = _landmarks(num_obstacles, size=0.2, collides=True)
    landmarks += _landmarks(num_food, (0.15, 0.15, 0.65), size=0.03)
    landmarks += _landmarks(num_forests, (0.6, 0.9, 0.6), size=0.3)
    names = ["leadadversary_0", *_numbered("adversary", num_adversaries - 1)]
    names += _numbered("agent", num_good)
    options = {"words": 4, "food": num_food, "forests": num_forests, "reach": 0.9}
    return _description(names, agents, landmarks, **options)


def _formation(N: int = 4) -> Description:
    agents = _circles(N, _BLUE, collides=True)
    return _description(_numbered("agent", N), agents, _landmarks(1, size=0.03), reach=0.5)


def _line(N: int = 4) -> Description:
    agents = _circles(N, _BLUE, size=0.03, collides=True)
    return _description(_numbered("agent", N), agents, _landmarks(2, size=0.02), reach=0.25)


def _treasure(
    num_collectors: int = 6, num_deposits: int = 2, num_treasures: int = 6
) -> Description:
    if num_deposits > len(TREASURE_COLORS):
        raise error.InvalidArgument(
            f"num_deposits: expected at most {len(TREASURE_COLORS)}, got {num_deposits}"
        )
    slow = partial(_circles, acceleration=1.5, max_speed=1.0)
    agents = slow(num_collectors, (0.85, 0.85, 0.85))
    for color in TREASURE_COLORS[:num_deposits]:
        faded = tuple(channel * 0.35 for channel in color)
        agents += slow(1, faded, size=0.075, mass=2.25)
    names = _numbered("collector", num_collectors) + _numbered("deposit", num_deposits)
    landmarks = _landmarks(num_treasures, size=0.025)
    return _description(names, agents, landmarks, reach=0.95, kinds=num_deposits)


DESCRIPTIONS: Mapping[str, Callable[..., Description]] = {
    "collect_treasure": _treasure,
    "simple": _simple,
    "simple_adversary": _adversary,
    "simple_crypto": _crypto,
    "simple_formation": _formation,
    "simple_line": _line,
    "simple_push": _push,
    "simple_reference": _reference,
    "simple_speaker_listener": _speaker_listener,
    "simple_spread": _spread,
    "simple_tag": _tag,
    "simple_world_comm": _world_comm,
}


def describe(scenario: str, **counts: object) -> Description:
    """Return the world of a scenario with these numbers of entities.

    Raises:
        InvalidArgument: If a number is not positive, or too large.
    """
    for name, number in counts.items():
        count(name, number, 0 if name in _MAY_BE_ZERO else 1, _MAX_ENTITIES)
    return DESCRIPTIONS[scenario](**counts)
