"""The agents of a world: their names, their spaces, and their places in batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gymcore.base.arguments import positive, texts
from gymcore.base.nested import named_leaves
from gymcore.error import InvalidArgument, UnsupportedMode
from gymcore.spaces import Dict, MultiDiscrete, Space
from gymcore.spaces.batching import batch_space, concatenate, create_empty_array, iterate
from gymcore.spaces.space import Array

_MAX_AGENTS = 2**20  # a larger number is a mistake, which would take minutes to name
Names = int | Sequence[str] | Mapping[str, Sequence[str]]
Spaces = Space | Mapping[str, Space]


class Agents:
    """The agents that share a world.

    All agents have the same spaces, or there are groups of agents that do. The actions and the
    observations of a world are then those of its agents in one array, or a dict with such an array
    for each group. A `Dict` space sorts its keys, so its order may differ from that of the groups.

    Attributes:
        names: The names, in the order of rewards and flags.
        groups: The names of the agents of each group, or None if all have the same spaces.
        world_spaces: The observation space and the action space of the world.

    Examples:
        >>> from gymcore.spaces import Box, Discrete
        >>> agents = Agents(("left", "right"), Box(-1.0, 1.0, (3,)), Discrete(2))
        >>> agents.world_spaces
        (Box(-1.0, 1.0, (2, 3), float32), MultiDiscrete([2 2]))
        >>> agents.split(agents.world_spaces[1], [0, 1])
        {'left': 0, 'right': 1}
    """

    def __init__(self, names: Names, observation_space: Spaces, action_space: Spaces) -> None:
        """Store names and spaces.

        Args:
            names: The names of agents, or how many there are: `agent_0`, `agent_1`, ... A dict has
                the names of each group.
            observation_space: Space of one agent's observation; a dict with that of each group.
            action_space: Space of one agent's action; a dict with that of each group.

        Raises:
            InvalidArgument: If names are missing or given twice, or groups lack a space.
        """
        if isinstance(names, (int, np.integer)):
            names = [f"agent_{k}" for k in range(positive("agents", names, _MAX_AGENTS))]
        groups = dict(names) if isinstance(names, Mapping) else {"": names}
        texts("agents", [*groups])
        groups = {group: texts("agents", members) for group, members in groups.items()}
        self.names = tuple(name for members in groups.values() for name in members)
        if not all(groups.values()) or len({*self.names}) < len(self.names) or not self.names:
            raise InvalidArgument(f"agents: expected distinct names, got {names}")
        self.groups = None if "" in groups else {k: tuple(group) for k, group in groups.items()}
        self._members = groups
        self._spaces = [
            _by_group(role, space, groups)
            for role, space in (
                ("observation_space", observation_space),
                ("action_space", action_space),
            )
        ]
        self._group_of = {name: group for group, members in groups.items() for name in members}
        self.world_spaces = (self._world_space(0), self._world_space(1))

    def _world_space(self, role: int) -> Space:
        spaces = {
            group: _joint_space(space, len(self._members[group]))
            for group, space in self._spaces[role].items()
        }
        return spaces[""] if self.groups is None else Dict(spaces)

    def __repr__(self) -> str:
        """Return the names."""
        return f"Agents({list(self.names) if self.groups is None else self.groups})"

    def __eq__(self, other: object) -> bool:
        """Return whether names, groups and spaces are equal."""
        return isinstance(other, Agents) and (self.names, self.groups, self._spaces) == (
            *(other.names, other.groups, other._spaces),
        )

    def __hash__(self) -> int:
        """Return the hash of the names."""
        return hash(self.names)

    def observation_space(self, name: str) -> Space:
        """Return the space of an agent's observations."""
        return self._spaces[0][self._group_of[name]]

    def action_space(self, name: str) -> Space:
        """Return the space of an agent's actions."""
        return self._spaces[1][self._group_of[name]]

    def first(self, group: str) -> int:
        """Return the index of the first agent of a group."""
        return self.names.index(self._members[group][0])

    def group_spaces(self, space: Space) -> list[tuple[str, Space]]:
        """Return the name of each group and its part of a space of the world, in agents' order.

        The only group of agents that share spaces has no name.
        """
        parts: Any = {"": space} if self.groups is None else space
        return [(group, parts[group]) for group in self._members]

    def split(self, space: Space, value: Any) -> dict[str, Any]:
        """Return each agent's part of an element of a space of the world."""
        parts = {"": value} if self.groups is None else value
        return {
            name: part
            for group, batch in self.group_spaces(space)
            for name, part in zip(self._members[group], iterate(batch, parts[group]), strict=True)
        }

    def numbers(self, observations: Any, num_envs: int) -> Array:
        """Return what the agents of each world observe, in their order, [num_envs, numbers].

        Args:
            observations: A batch of observations of worlds.
            num_envs: Number of worlds.

        Returns:
            A new array, float32.

        Examples:
            >>> from gymcore.spaces import Box, Discrete
            >>> agents = Agents(2, Box(-1.0, 1.0, (3,)), Discrete(2))
            >>> agents.numbers(np.ones((4, 2, 3), np.float32), 4).shape
            (4, 6)
        """
        batches = [observations] if self.groups is None else map(observations.get, self.groups)
        parts = []
        for members, batch in zip(self._members.values(), batches, strict=True):
            arrays = named_leaves(batch).values()
            rows = [np.reshape(array, (num_envs, len(members), -1)) for array in arrays]
            parts.append(np.concatenate(rows, axis=2).reshape(num_envs, -1))
        return np.concatenate(parts, axis=1, dtype=np.float32, casting="unsafe")

    def join(self, role: int, values: Mapping[str, Any]) -> Any:
        """Return the observation (`role` 0) or action (1) of the world with these parts."""
        parts = {}
        for group, space in self._spaces[role].items():
            members = self._members[group]
            out = create_empty_array(space, len(members))
            parts[group] = concatenate(space, [values[name] for name in members], out)
        return parts[""] if self.groups is None else parts


def check_single_agents(envs: object) -> None:
    """Raise `UnsupportedMode` if the environments of a batch are worlds of several agents."""
    agents = getattr(envs, "agents", None)
    if isinstance(agents, Agents):
        raise UnsupportedMode(
            f"{envs}: expected environments of a single agent, got {agents}; use "
            "gymcore.wrappers.vector.AgentsAsLanes, which makes a lane of each agent"
        )


def _joint_space(space: Space, number: int) -> Space:
    """Return `batch_space`; of `MultiDiscrete` the same type, which knows each number's range."""
    if isinstance(space, MultiDiscrete):
        nvec, start = (np.stack([array] * number) for array in (space.nvec, space.start))
        return MultiDiscrete(nvec, space.dtype, start=start)
    return batch_space(space, number)


def _by_group(role: str, space: Spaces, groups: Iterable[str]) -> dict[str, Space]:
    spaces = (
        dict(space) if isinstance(space, Mapping) and not isinstance(space, Space) else {"": space}
    )
    if spaces.keys() != {*groups} or not all(isinstance(each, Space) for each in spaces.values()):
        raise InvalidArgument(
            f"{role}: expected a space for {' and '.join(map(repr, groups))}, got {space}"
            if "" not in groups
            else f"{role}: expected the space of one agent, got {space}"
        )
    return {group: spaces[group] for group in groups}
