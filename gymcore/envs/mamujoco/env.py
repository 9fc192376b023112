"""MaMuJoCo: MuJoCo environments whose actuators are divided among several agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from gymcore.base.arguments import count, texts
from gymcore.envs.mamujoco.graphs import Graph, graph_of
from gymcore.envs.mamujoco.models import (
    CoupledHalfCheetahEnv,
    coupled_half_cheetah,
    many_segment_ant,
    many_segment_swimmer,
)
from gymcore.envs.mujoco.ant_v5 import AntEnv
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv
from gymcore.envs.mujoco.hopper_v5 import HopperEnv
from gymcore.envs.mujoco.humanoid_v5 import HumanoidEnv
from gymcore.envs.mujoco.humanoidstandup_v5 import HumanoidStandupEnv
from gymcore.envs.mujoco.inverted_double_pendulum_v5 import InvertedDoublePendulumEnv
from gymcore.envs.mujoco.inverted_pendulum_v5 import InvertedPendulumEnv
from gymcore.envs.mujoco.pusher_v5 import PusherEnv
from gymcore.envs.mujoco.quantities import Action, Operand, Precision, Quantity, joined, places_of
from gymcore.envs.mujoco.reacher_v5 import ReacherEnv
from gymcore.envs.mujoco.swimmer_v5 import SwimmerEnv
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv
from gymcore.envs.mujoco.walker2d_v5 import Walker2dEnv
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.native.env import NativeEnv
from gymcore.spaces import Box, Dict, Space
from gymcore.vector.agents import Agents

_BODIES = ("cinert", "cvel", "qfrc_actuator", "cfrc_ext")
# Categories that agents observe of their own joints, in addition to qpos and qvel.
_OWN = {
    **dict.fromkeys(("Ant", "ManySegmentAnt"), _BODIES[-1:]),
    "CoupledHalfCheetah": ("ten_J", "ten_length", "ten_velocity"),
    **dict.fromkeys(("Humanoid", "HumanoidStandup"), _BODIES),
    "Reacher": ("fingertip_dist",),
}
_MODELS = {
    "CoupledHalfCheetah": lambda conf: coupled_half_cheetah(),
    "ManySegmentAnt": many_segment_ant,
    "ManySegmentSwimmer": many_segment_swimmer,
}
_ARGUMENTS = (
    *("agent_conf", "agent_obsk", "agent_factorization", "local_categories", "global_categories"),
)


def _categories(name: str, value: object) -> list[list[str]] | None:
    """Return what is observed at each distance; None for the scenario's."""
    if value is None:
        return None
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise ArgumentTypeError(f"{name}: expected lists of texts or None, got {value!r}")
    return [texts(name, each) for each in value]


class World(CompiledMujocoEnv):
    """The actuators of a MuJoCo environment, divided among agents that share its rewards and ends.

    `make_vec` makes batches of worlds. For the same seed, their results equal those of
    gymnasium-robotics 1.4 to the bit. `MamujocoVectorEnv.of` divides other environments.

    - Observation of an agent: float64. Of its joints and of those that are at most `agent_obsk`
      edges away, by distance and name, the categories in `local_categories`; then
      `global_categories` of what all agents observe.
    - Action of an agent: a `Box`, a number for each of its actuators.

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("mamujoco/HalfCheetah-2x3-v1", num_envs=64)
        >>> observations, infos = envs.reset(seed=1)
        >>> actions = envs.action_space.sample()
        >>> observations, rewards, terminated, truncated, infos = envs.step(actions)
        >>> observations.shape, actions.shape, rewards.shape, envs.central_state().shape
        ((64, 2, 12), (64, 2, 3), (64, 2), (64, 17))
    """

    scenario: ClassVar[str] = ""
    infos_by_agent = False
    agents: Agents

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        base: type[CompiledMujocoEnv] = cls.__bases__[-1]
        cls.arguments = (*base.arguments, *_ARGUMENTS)
        cls._compiled_in = base._compiled_in | {f"_{name}" for name in _ARGUMENTS}

    def __init__(
        self,
        *,
        agent_conf: str | None = None,
        agent_obsk: int | None = 1,
        agent_factorization: Graph | Mapping[str, Any] | None = None,
        local_categories: Sequence[Sequence[str]] | None = None,
        global_categories: Sequence[str] = ("qpos", "qvel"),
        **arguments: Any,
    ) -> None:
        """Make a world.

        Args:
            agent_conf: How the actuators are divided, such as "2x3"; None for a single agent, whose
                observations are those of the MuJoCo environment.
            agent_obsk: How many edges away the joints are that an agent observes; None for a single
                agent.
            agent_factorization: A `Graph`, or a dict with its fields, instead of `agent_conf`.
            local_categories: What is observed of joints at distance 0, 1, ...; the last entry also
                holds for larger distances. "qpos", "qvel", "qfrc_actuator", "cvel", "cinert",
                "cfrc_ext", or a category of the nodes. None for the scenario's.
            global_categories: What is observed of the graph's global nodes.
            **arguments: Those of the MuJoCo environment.

        Raises:
            InvalidArgument: If a value is impossible, or an actuator belongs to no agent or two.
        """
        self._agent_conf = agent_conf
        self._agent_obsk = None if agent_obsk is None else count("agent_obsk", agent_obsk)
        if not isinstance(agent_factorization, (Graph, Mapping, type(None))):
            raise ArgumentTypeError(
                f"agent_factorization: expected a Graph or a dict, got {agent_factorization!r}"
            )
        if not isinstance(agent_conf, (str, type(None))):
            raise ArgumentTypeError(f"agent_conf: expected a text or None, got {agent_conf!r}")
        self._agent_factorization = agent_factorization
        self._local_categories = _categories("local_categories", local_categories)
        self._global_categories = texts("global_categories", global_categories)
        if self.scenario in _MODELS and "xml_file" not in arguments:
            arguments["xml_file"] = _MODELS[self.scenario](agent_conf or "")
        super().__init__(**arguments)

    def _graph(self) -> Graph | None:
        if self._agent_obsk is None or (
            self._agent_conf is None and self._agent_factorization is None
        ):
            return None
        given = self._agent_factorization
        if given is None:
            return graph_of(self.scenario, self._agent_conf or "")
        if isinstance(given, Graph):
            return given
        if "partition" not in given or given.keys() - set(Graph._fields):
            raise InvalidArgument(
                f"agent_factorization: expected {Graph._fields}, got {sorted(given)}"
            )
        return Graph(**given)

    def simulation(self) -> Simulation:
        """Return the quantities of the simulation, where `action` is in the order of actuators."""
        simulation, graph = super().simulation(), self._graph()
        if graph is not None:
            acted = Action(simulation.nu)
            action = joined(*(acted[k] for k in self.order()))
            action.precision = Precision.FLOAT64  # as in the original, also after float32 actions
            simulation.__dict__["action"] = lambda size=None: action
        return simulation

    def order(self) -> list[int]:
        """Return the place of each actuator among the numbers of all actions."""
        graph = self._graph()
        if graph is None:
            return list(range(self.model.nu))
        actuators = [node.act_ids for nodes in graph.partition for node in nodes]
        if sorted(map(str, actuators)) != sorted(map(str, range(self.model.nu))):
            raise InvalidArgument(
                f"agent_factorization: expected all of {self.model.nu} actuators once, "
                f"got {actuators}"
            )
        return [actuators.index(k) for k in range(self.model.nu)]

    def describe(self, simulation: Simulation) -> Description:
        """Describe the MuJoCo environment, with the observations of the agents."""
        described, graph = super().describe(simulation), self._graph()
        described = replace(described, central_state=list(described.observation))
        observed = [list(described.observation)]
        sizes = [simulation.nu]
        if graph is not None:
            described = replace(described, control=simulation.action())
            sizes = list(map(len, graph.partition))
            observed = [self._observed(simulation, graph, k) for k in range(len(sizes))]
        low, high = map(float, self.model.actuator_ctrlrange[0])
        spaces = [
            (Box(-np.inf, np.inf, (joined(*parts).size,), np.float64), Box(low, high, (size,)))
            for parts, size in zip(observed, sizes, strict=True)
        ]
        names = [f"agent_{k}" for k in range(len(sizes))]
        if spaces.count(spaces[0]) == len(spaces):
            self.agents = Agents(names, *spaces[0])
        else:
            roles = [dict(zip(names, role, strict=True)) for role in zip(*spaces, strict=True)]
            self.agents = Agents({name: [name] for name in names}, *roles)
            observed = [observed[names.index(name)] for name in sorted(names)]  # as Dict spaces
        return replace(described, observation=[part for parts in observed for part in parts])

    def _observed(self, s: Simulation, graph: Graph, agent: int) -> list[Operand]:
        assert self._agent_obsk is not None
        categories = self._local_categories or [
            ["qpos", "qvel", *_OWN.get(self.scenario, ())],
            ["qpos"],
        ]
        parts: list[Operand] = []
        seen: dict[str, set[int]] = {}
        for distance, nodes in enumerate(graph.by_distance(agent, self._agent_obsk)):
            for node in nodes:
                for category in categories[min(distance, len(categories) - 1)]:
                    parts += node.observe(s, category, seen.setdefault(category, set()))
        seen = {}
        for category in self._global_categories:
            for node in graph.globals:
                parts += node.observe(s, category, seen.setdefault(category, set()))
        return parts

    def _set_spaces(self) -> None:
        self.observation_space, self.action_space = self.agents.world_spaces

    def central_state(self, simulation: Simulation) -> Quantity:
        """Return what the MuJoCo environment observes."""
        return joined(*super().describe(simulation).observation)

    def places(self) -> list[int]:
        """Return the index in the state of each number that the agents observe, in their order.

        Raises:
            InvalidArgument: If agents observe what is not in the state.
        """
        simulation, graph = self.simulation(), self._graph()
        index = {place: k for k, place in enumerate(places_of(self.central_state(simulation)))}
        if graph is None:
            return list(index.values())
        agents = range(len(graph.partition))
        parts = [part for k in agents for part in self._observed(simulation, graph, k)]
        observed = places_of(joined(*parts))
        if missing := [place for place in observed if place not in index]:
            raise InvalidArgument(f"state: expected all that agents observe, lacks {missing[0]}")
        return [index[place] for place in observed]


class MamujocoVectorEnv(MujocoVectorEnv):
    """A batch of worlds of agents; see `World`, and `MujocoVectorEnv` for models of lanes."""

    _model: World
    agents: Agents

    @classmethod
    def of(cls, env_class: type[NativeEnv]) -> type[Self]:
        """Return the batches of a described environment, divided by `agent_factorization`.

        Examples:
            >>> from gymcore.envs.mamujoco.graphs import Graph, Node
            >>> from gymcore.envs.mujoco.swimmer_v5 import SwimmerEnv
            >>> joints = [Node("first", 3, 3, 0), Node("second", 4, 4, 1)]
            >>> graph = Graph([[joint] for joint in joints], edges=[joints])
            >>> envs = MamujocoVectorEnv.of(SwimmerEnv)(8, agent_factorization=graph, agent_obsk=1)
            >>> envs.reset(seed=1)[0].shape
            (8, 2, 3)
        """
        if not issubclass(env_class, World):
            name = f"{env_class.__name__.removesuffix('Env')}WorldEnv"
            attributes = {"__module__": env_class.__module__, "__doc__": World.__doc__}
            env_class = type(name, (World, env_class), attributes)
        return super().of(env_class)

    def map_local_actions_to_global_action(self, actions: Any) -> np.ndarray:
        """Return the actions of the undivided environment, [num_envs, actuators].

        Args:
            actions: An element of `action_space`.
        """
        return self._joined(actions)[:, self._model.order()]

    def map_global_action_to_local_actions(self, action: np.ndarray) -> Any:
        """Return an element of `action_space`, given actions [num_envs, actuators]."""
        local = np.argsort(self._model.order())
        return self._divided(np.asarray(action)[:, local], self.single_action_space)

    def map_global_state_to_local_observations(self, state: np.ndarray) -> Any:
        """Return the observations of a state [num_envs, size]; see `World.places`."""
        return self._divided(
            np.asarray(state)[:, self._model.places()], self.single_observation_space
        )

    def map_local_observations_to_global_state(self, observations: Any) -> np.ndarray:
        """Return the state of observations; numbers that no agent observes are nan."""
        numbers = self._joined(observations)
        state = np.full(
            (len(numbers), self._model.value_of(self._model.central_state).size), np.nan
        )
        state[:, self._model.places()] = numbers
        return state

    def _joined(self, parts: Any) -> np.ndarray:
        """Return the numbers of all agents, [num_envs, numbers]."""
        batches = [parts[name] for name in self.agents.groups or ()] or [parts]
        return np.concatenate([np.reshape(batch, (len(batch), -1)) for batch in batches], axis=1)

    def _divided(self, numbers: np.ndarray, space: Space) -> Any:
        parts, first = {}, 0
        for group, part in self.agents.group_spaces(space):
            shape = part.shape or ()
            last = first + int(np.prod(shape))
            parts[group] = np.ascontiguousarray(numbers[:, first:last]).reshape(-1, *shape)
            first = last
        return {name: parts[name] for name in space} if isinstance(space, Dict) else parts[""]


def _declare(env_class: type[CompiledMujocoEnv]) -> None:
    """Define the classes of a scenario."""
    scenario = env_class.__name__.removesuffix("Env")
    name = f"{scenario}WorldEnv"
    attributes = {
        "__doc__": f"The scenario {scenario}; see `World`.",
        "__module__": __name__,
        "scenario": scenario,
    }
    globals()[name] = world = type(name, (World, env_class), attributes)
    globals()[f"{scenario}WorldVectorEnv"] = MamujocoVectorEnv.of(world)


class ManySegmentAntEnv(AntEnv):
    """An ant whose body has segments with two legs each."""


class ManySegmentSwimmerEnv(SwimmerEnv):
    """A swimmer with a joint for each segment."""


for _env_class in (
    *(AntEnv, CoupledHalfCheetahEnv, HalfCheetahEnv, HopperEnv, HumanoidEnv, HumanoidStandupEnv),
    *(InvertedDoublePendulumEnv, InvertedPendulumEnv, ManySegmentAntEnv, ManySegmentSwimmerEnv),
    *(PusherEnv, ReacherEnv, SwimmerEnv, Walker2dEnv),
):
    _declare(_env_class)
