"""The default keys for playing the environments of this package and others.

A control is `(keys, action, words)`: a combination of keys, its action, and a description for the
legend. Arrow keys have alternatives, such as A for `left`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from gymcore import spaces
from gymcore.core import Env
from gymcore.error import Error
from gymcore.spaces import Space
from gymcore.vector.agents import Agents

__all__ = ["Keys", "default_keys", "every_keys"]

#: Key codes of SDL 2 (pygame's K_LEFT and so on); codes of letters are their ASCII codes.
_CODES = {
    **{"right": 1073741903, "left": 1073741904, "down": 1073741905, "up": 1073741906},
    **{"page up": 1073741899, "page down": 1073741902, "left shift": 1073742049},
    **{"tab": 9, "enter": 13, "space": 32},
}
_ALTERNATIVES = {"left": "a", "right": "d", "up": "w", "down": "s"}

Combination: TypeAlias = str | int | tuple[str | int, ...]
"""Keys that are pressed together: letters and pygame's key codes."""
_Action: TypeAlias = int | list[float] | list[int]
_Control: TypeAlias = tuple[tuple[str, ...], _Action, str]


class Keys(NamedTuple):
    """The keys of an environment.

    Attributes:
        actions: Maps combinations of key codes to actions, for `gymcore.utils.play`; `()` is the
            combination without keys, if its action is not 0.
        legend: Lines that describe the keys.
    """

    actions: dict[tuple[int, ...], object]
    legend: list[str]


def _moves(left: _Action, right: _Action, noop: _Action | None) -> list[_Control]:
    """Return the controls of an environment in which the agent moves left or right."""
    controls: list[_Control] = [(("left",), left, "push left"), (("right",), right, "push right")]
    return controls if noop is None else [*controls, ((), noop, "")]


def _directions(left: int, down: int, right: int, up: int) -> list[_Control]:
    """Return the controls of an environment in which the agent moves on a grid."""
    moves = {"left": left, "right": right, "up": up, "down": down}
    return [((key,), action, key) for key, action in moves.items()]


def _lander(left: _Action, main: _Action, right: _Action) -> list[_Control]:
    """Return the controls of the lander's three engines, which fire one at a time."""
    return [
        (("left",), left, "push left"),
        (("up",), main, "main engine"),
        (("right",), right, "push right"),
    ]


def _car(steer: Mapping[str, _Action], pedals: Mapping[str, _Action]) -> list[_Control]:
    """Return the controls of the car; continuous actions allow steering while accelerating."""
    words = {"left": "steer left", "right": "steer right", "up": "gas", "down": "brake"}
    controls: list[_Control] = [
        ((key,), action, words[key]) for key, action in {**steer, **pedals}.items()
    ]
    if isinstance(steer["left"], list):
        for (side, a), (pedal, b) in itertools.product(steer.items(), pedals.items()):
            controls.append(((side, pedal), (np.array(a) + np.array(b)).tolist(), ""))
    return controls


_WALK: list[_Control] = [
    (("left",), 0, "turn left"),
    (("right",), 1, "turn right"),
    (("up",), 2, "forward"),
]
_GRID_WORLD = [
    [
        *_WALK,
        (("tab",), 3, "pick up"),
        (("page up",), 3, "pick up"),
        (("left shift",), 4, "drop"),
        (("page down",), 4, "drop"),
        (("space",), 5, "toggle: open or close"),
        (("enter",), 6, "done"),
    ],
    _WALK,  # with moving obstacles
]

# By the name of the environment, or its part before a hyphen. The first list whose actions are in
# the environment's action space is used.
_CONTROLS: dict[str, list[list[_Control]]] = {
    "CartPole": [_moves(0, 1, None)],
    "Acrobot": [_moves(0, 2, 1)],
    "MountainCar": [_moves(0, 2, 1)],
    "MountainCarContinuous": [_moves([-1.0], [1.0], [0.0])],
    "Pendulum": [_moves([2.0], [-2.0], [0.0])],
    "FrozenLake": [_directions(0, 1, 2, 3)],
    "FrozenLake8x8": [_directions(0, 1, 2, 3)],
    "CliffWalking": [_directions(3, 2, 1, 0)],
    "CliffWalkingSlippery": [_directions(3, 2, 1, 0)],
    "Taxi": [[*_directions(3, 0, 2, 1), (("p",), 4, "pick up"), (("o",), 5, "drop off")]],
    "Blackjack": [[(("h",), 1, "hit: take a card"), (("s",), 0, "stick")]],
    "MiniGrid": _GRID_WORLD,
    "BabyAI": _GRID_WORLD,
    "LunarLander": [_lander(1, 2, 3), _lander([0.0, -1.0], [1.0, 0.0], [0.0, 1.0])],
    "LunarLanderContinuous": [_lander([0.0, -1.0], [1.0, 0.0], [0.0, 1.0])],
    "CarRacing": [
        _car(
            {"left": [-1.0, 0.0, 0.0], "right": [1.0, 0.0, 0.0]},
            {"up": [0.0, 1.0, 0.0], "down": [0.0, 0.0, 0.8]},
        ),
        _car({"left": 2, "right": 1}, {"up": 3, "down": 4}),
    ],
}

# Actions of the agents of worlds, by namespace or the part of the name before a hyphen.
_AGENT_ACTIONS = {
    "Foraging": {"up": 1, "down": 2, "left": 3, "right": 4, "load": 5},
    "mpe": {"left": 1, "right": 2, "down": 3, "up": 4},
    "rware": {"forward": 1, "left": 2, "right": 3, "load": 4},
}
# The keys of two players, one for each half of the keyboard.
_HALVES = (
    {**{"up": "w", "forward": "w", "left": "a", "down": "s", "right": "d"}, "load": "e"},
    {**{key: key for key in ("up", "left", "down", "right")}, "forward": "up", "load": "enter"},
)

# Keys that increase and decrease the numbers of a continuous action, in order.
_UP, _DOWN = "qwertyuiop", "asdfghjkl;"


def default_keys(env: Env) -> Keys | None:
    """Return the keys of an environment in this module's tables; None for others."""
    name = str(getattr(getattr(env, "spec", None), "name", None)).partition("-")[0]
    agents = getattr(env, "agents", None)
    if isinstance(agents, Agents):
        return _keys_of_world(
            agents, _AGENT_ACTIONS.get(getattr(env.spec, "namespace", "") or name, {})
        )
    for controls in _CONTROLS.get(name, ()):
        if all(_typed(action, env.action_space) in env.action_space for _, action, _ in controls):
            return _keys(controls, env.action_space)
    return None


def every_keys(env: Env) -> Keys | None:
    """Return the keys of an environment with up to ten discrete, or with continuous actions.

    The environment's own keys come first, then those in this module's tables, then digits, or two
    letters for each of the first ten numbers of an action; None for other action spaces.
    """
    for holder in (env, env.unwrapped):
        if hasattr(holder, "get_keys_to_action"):
            try:
                actions = holder.get_keys_to_action()
            except Error:  # such as continuous actions of Atari
                break
            names = getattr(holder, "get_action_meanings", lambda: None)()
            return Keys(actions, _legend_of(actions, names))
    keys, space = default_keys(env), env.action_space
    if keys is not None:
        return keys
    if isinstance(space, spaces.Discrete) and space.n <= 10:
        start = int(space.start)
        return _keys([((str(i),), start + i, f"action {start + i}") for i in range(space.n)], space)
    if isinstance(space, spaces.Box) and space.shape is not None and len(space.shape) == 1:
        return _numbers(space)
    return None


def _keys_of_world(agents: Agents, actions: Mapping[str, int]) -> Keys | None:
    """Return a half of the keyboard for each of the first two agents that have these actions."""
    spaces_of = {name: agents.action_space(name) for name in agents.names}
    players = [
        name
        for name, space in spaces_of.items()
        if actions and isinstance(space, spaces.Discrete) and space.n > max(actions.values())
    ][: len(_HALVES)]
    if not players:
        return None
    idle: dict[str, object] = {
        name: np.zeros(space.shape or (), space.dtype) for name, space in spaces_of.items()
    }
    halves: list[list[tuple[tuple[int, ...], dict[str, object]]]] = []
    legend = []
    for player, half in zip(players, _HALVES, strict=False):
        words = [f"{half[word]} {word}" if half[word] != word else word for word in actions]
        legend.append(f"{player:<14}{', '.join(words)}")
        codes = {word: _CODES.get(half[word]) or ord(half[word]) for word in actions}
        single: list[tuple[tuple[int, ...], dict[str, object]]] = [
            ((codes[word],), {player: action}) for word, action in actions.items()
        ]
        halves.append([((), {}), *single])
    pressed = {}
    for choice in itertools.product(*halves):
        joint = idle | {name: action for _, part in choice for name, action in part.items()}
        pressed[tuple(sorted(key for keys, _ in choice for key in keys))] = agents.join(1, joint)
    return Keys(pressed, legend)


def _numbers(space: spaces.Box) -> Keys:
    """Return two letters for each number of an action; keys of several numbers can be combined."""
    count = min(space.shape[0], len(_UP))
    middle = np.clip(np.zeros(space.shape), space.low, space.high)
    single: list[_Control] = []
    for i in range(count):
        for letters, bound, sign in ((_UP, space.high, 1.0), (_DOWN, space.low, -1.0)):
            action = middle.copy()
            action[i] = bound[i] if np.isfinite(bound[i]) else sign
            word = f"action[{i}] {'up' if sign > 0 else 'down'}"
            single.append(((letters[i],), action.tolist(), word))
    pairs: list[_Control] = [
        ((*a, *b), (np.array(x) + np.array(y) - middle).tolist(), "")
        for (a, x, _), (b, y, _) in itertools.combinations(single, 2)
        if _UP.find(a[0]) != _DOWN.find(b[0]) and _DOWN.find(a[0]) != _UP.find(b[0])
    ]
    return _keys([*single, *pairs, ((), middle.tolist(), "")], space)


def _keys(controls: Iterable[_Control], space: Space) -> Keys:
    """Return the key codes and the legend of controls."""
    actions, legend = {}, []
    for names, action, words in controls:
        choices = [[name, *_ALTERNATIVES.get(name, "")] for name in names]
        used = {name for keys, _, _ in controls for name in keys}
        choices = [[key for key in keys if key == keys[0] or key not in used] for keys in choices]
        for combination in itertools.product(*choices):
            codes = tuple(sorted(_CODES.get(key) or ord(key) for key in combination))
            actions[codes] = _typed(action, space)
        if words:
            legend.append(f"{' or '.join(choices[0]):<14}{words}")
    return Keys(actions, legend)


def _typed(action: _Action, space: Space) -> object:
    """Return an action; lists become arrays of the space's dtype."""
    return np.array(action, space.dtype) if isinstance(action, list) else action


def _legend_of(actions: Mapping[Combination, object], names: list[str] | None) -> list[str]:
    """Return one line for each combination of an environment's own keys."""
    words = {code: name for name, code in _CODES.items()}
    lines = []
    for keys, action in actions.items():
        combination = [keys] if isinstance(keys, int) else keys
        codes = [ord(key) if isinstance(key, str) else key for key in combination]
        if codes:
            pressed = " + ".join(words.get(code) or chr(code) for code in codes)
            name = names[action] if names is not None and isinstance(action, int) else action
            lines.append(f"{pressed:<14}{name}")
    return lines
