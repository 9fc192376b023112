"""Conversion of spaces to the arrays and ranges with which kernels describe them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space
from gymcore.spaces.layouts import Layout, has_objects, layout_of
from gymcore.vector.agents import Agents


def array_layout(name: str, space: Space) -> Layout:
    """Return the layout of a space of arrays; raise `InvalidArgument` for other spaces."""
    layout = layout_of(space)
    if has_objects(layout):
        raise error.InvalidArgument(
            f"{name}: expected Box, Discrete, MultiDiscrete, MultiBinary, or Dict and Tuple of "
            f"these, got {space}"
        )
    return layout


def leaves_of(layout: Layout) -> tuple[tuple[np.dtype, tuple[int, ...]], ...]:
    """Return dtype and shape of every array of a layout.

    Examples:
        >>> from gymcore.spaces import Dict, Discrete, MultiBinary
        >>> leaves_of(layout_of(Dict(goal=Discrete(4), doors=MultiBinary(2))))
        ((dtype('int64'), ()), (dtype('int8'), (2,)))
    """
    if layout[0] == "array":
        return ((layout[1], layout[2]),)
    return tuple(leaf for part in layout[-1] for leaf in leaves_of(part))


Action = tuple[tuple[npt.DTypeLike, tuple[int, ...]], tuple[tuple[int, int], ...]]


def checked_action(space: object) -> Action | None:
    """Return the data that a kernel needs to check actions, or None if it cannot check them.

    The data are dtype and shape, and the lowest value and the number of values of each integer.

    Examples:
        >>> checked_action(MultiDiscrete([2, 3], start=[0, 1]))
        ((<class 'numpy.int64'>, (2,)), ((0, 2), (1, 3)))
    """
    ranges: tuple[tuple[int, int], ...]
    if isinstance(space, Discrete):
        ranges = ((int(space.start), int(space.n)),)
    elif isinstance(space, MultiDiscrete):
        pairs = zip(space.start.ravel().tolist(), space.nvec.ravel().tolist(), strict=True)
        ranges = tuple(pairs)
    elif isinstance(space, MultiBinary):
        ranges = ((0, 2),) * math.prod(space.shape)
    elif isinstance(space, Box) and space.shape and space.dtype in (np.float32, np.float64):
        return (space.dtype.type, space.shape), ()
    else:
        return None
    return (np.int64, space.shape), ranges


def kernel_action(space: Space, agents: Agents | None) -> Action | None:
    """Return the result of `checked_action` for a lane, which may be a world of agents.

    If groups of agents differ, an action of the kernel is the numbers of all agents in order.
    """
    if agents is None or agents.groups is None:
        return checked_action(space)
    dtypes, size = set(), 0
    ranges: tuple[tuple[int, int], ...] = ()
    for _, part in agents.group_spaces(space):
        checked = checked_action(part)
        if checked is None:
            return None
        dtypes.add(checked[0][0])
        size += math.prod(checked[0][1])
        ranges += checked[1]
    return ((dtypes.pop(), (size,)), ranges) if len(dtypes) == 1 else None


def kernel_agents(agents: Agents | None, layout: Layout) -> dict[str, Any]:
    """Return the arguments of a `CustomKernel` that describe the agents of a world."""
    if agents is None:
        return {}
    spaces = map(agents.action_space, agents.names)
    parts = [("", layout)] if agents.groups is None else zip(layout[1], layout[2], strict=True)
    return {
        "agents": tuple(math.prod(space.shape or ()) for space in spaces),
        "first_agents": tuple(
            agents.first(group) for group, part in parts for _ in leaves_of(part)
        ),
    }


def central_array(space: Space | None) -> tuple[np.dtype, tuple[int, ...]] | None:
    """Return dtype and shape of the state of a world for critics, given its space, if it has one.

    Raises:
        InvalidArgument: If elements of the space are not arrays of numbers.
    """
    if space is None:
        return None
    layout = layout_of(space)
    if layout[0] != "array" or has_objects(layout):
        raise error.InvalidArgument(
            f"state_space: expected Box, Discrete, MultiDiscrete or MultiBinary, got {space}"
        )
    return layout[1], layout[2]


def action_groups(
    space: Space, agents: Agents | None
) -> tuple[tuple[str, tuple[int, ...]], ...] | None:
    """Return name and shape of the actions of each group of agents, or None without groups."""
    if agents is None or agents.groups is None:
        return None
    return tuple((group, part.shape or ()) for group, part in agents.group_spaces(space))


def check_spaces(env: Any) -> None:
    """Raise `InvalidArgument` if the spaces of an environment do not match its kernel."""
    kernel, name = env._batch.spec, type(env).__name__
    observation_parts = kernel["observation_parts"]
    layout = layout_of(env.observation_space)
    if has_objects(layout) or leaves_of(layout) != observation_parts:
        raise error.InvalidArgument(
            f"{name}.observation_space: expected {_arrays_as_text(observation_parts)}, as kernel "
            f"{kernel['name']!r} observes, got {env.observation_space}"
        )
    shape, ranges = kernel["action_shape"], kernel["action_ranges"]
    action = kernel_action(env.action_space, env.agents)
    # Float actions are converted. The range of integers may depend on the shared table (None).
    if action is None or action[0][1] != shape or (action[1] != ranges and ranges is not None):
        expected = _arrays_as_text(((kernel["action_dtype"], shape),)) + "".join(
            f", {lowest} to {lowest + n - 1}" for lowest, n in ranges or ()
        )
        raise error.InvalidArgument(
            f"{name}.action_space: expected {expected}, as kernel {kernel['name']!r} takes, got "
            f"{env.action_space}"
        )


def _arrays_as_text(arrays: Iterable[tuple[npt.DTypeLike, tuple[int, ...]]]) -> str:
    return ", ".join(f"{np.dtype(dtype).name} {list(shape)}" for dtype, shape in arrays)
