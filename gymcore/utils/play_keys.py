"""Keys for environments that name none themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["default_keys", "noop_action"]

# Key codes of SDL 2, which pygame calls K_LEFT and K_RIGHT.
_LEFT, _RIGHT = 1073741904, 1073741903
_A, _D = ord("a"), ord("d")

_Keys = dict[tuple[int, ...], Any]

#: By the name of the environment: what left and right do, and what happens without a key.
_CONTROLS: dict[str, tuple[Any, Any, Any]] = {
    "CartPole": (0, 1, None),
    "Acrobot": (0, 2, 1),
    "MountainCar": (0, 2, 1),
    "MountainCarContinuous": ([-1.0], [1.0], [0.0]),
    "Pendulum": ([2.0], [-2.0], [0.0]),
}


def default_keys(env: Any) -> _Keys | None:
    """Return the keys of a classic control environment: arrows, or A and D, push left and right.

    Args:
        env: The environment.

    Returns:
        From sorted key codes to actions, with `()` for what happens without a key where there is
        such an action; None for any other environment.
    """
    name = getattr(getattr(env, "spec", None), "name", None)
    if name not in _CONTROLS:
        return None
    space = env.action_space
    left, right, nothing = (
        np.array(action, space.dtype) if isinstance(action, list) else action
        for action in _CONTROLS[name]
    )
    keys: _Keys = {(_LEFT,): left, (_A,): left, (_RIGHT,): right, (_D,): right}
    if nothing is not None:
        keys[()] = nothing
    return keys if all(action in space for action in keys.values()) else None


def noop_action(space: Any, noop: Any) -> Any:
    """Return the action for no key: the caller's, or zeros where that is none for this space.

    Args:
        space: The action space.
        noop: The caller's choice; 0 by default.
    """
    if isinstance(noop, int) and noop == 0 and space.shape:
        zeros = np.zeros(space.shape, space.dtype)
        if zeros in space:
            return zeros
    return noop
