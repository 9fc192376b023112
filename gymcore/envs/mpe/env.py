"""MPE: particles that move, push each other and communicate, several agents in one world."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gymcore import error, spaces
from gymcore.base.arguments import count, flag
from gymcore.core import Metadata
from gymcore.envs.mpe.drawing import colors_of, draw_world, message_of
from gymcore.envs.mpe.worlds import DESCRIPTIONS, describe
from gymcore.native.parameters import Number, Parameter, as_number, whole
from gymcore.native.state import digest
from gymcore.native.struct_env import StructEnv
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.vector.agents import Agents
from gymcore_ext.engine.batch import Batch
from gymcore_ext.mpe.scenarios import LANE_FUNCTIONS

# Number of stages of the curriculum, and arguments other than numbers of entities.
_NEIGHBORS = ("num_agent_neighbors", "num_landmark_neighbors")
_SUCCESS = ("terminate_on_success",)
_SCENARIOS: dict[str, tuple[int, tuple[str, ...]]] = {
    "collect_treasure": (0, ()),
    "simple": (0, ()),
    "simple_adversary": (0, _NEIGHBORS),
    "simple_crypto": (0, ()),
    "simple_formation": (0, _SUCCESS),
    "simple_line": (0, _SUCCESS),
    "simple_push": (0, ()),
    "simple_reference": (0, ()),
    "simple_speaker_listener": (0, ()),
    "simple_spread": (2, ("curriculum", *_SUCCESS, *_NEIGHBORS)),
    "simple_tag": (3, ("curriculum", *_SUCCESS, *_NEIGHBORS)),
    "simple_world_comm": (0, ()),
}
_LOCAL_REWARDS = ("simple_reference", "simple_spread")
_COMMON = ("continuous_actions", "dynamic_rescaling")
_MAX_CYCLES = 2**30
_MAX_NEIGHBORS = 128


def _as_proportion(value: Number) -> tuple[float, ...]:
    (number,) = as_number(value)
    if not 0.0 <= number <= 1.0:
        raise error.InvalidArgument(f"expected a number in [0, 1], got {number}")
    return (number,)


class ParticleEnv(StructEnv):
    """A world of particles: agents that move, push each other and communicate.

    `make_vec` makes batches of worlds. For the same seed, their results equal those of mpe2 1.1.1
    to the bit.

    - Observation of an agent: float32, what its scenario lets it see.
    - Action of an agent: `Discrete(5)`, 0 nothing, 1 left, 2 right, 3 down, 4 up; times the number
      of words for an agent that also speaks, `action = move + 5 * word`. With
      `continuous_actions`, a `Box` of numbers in [0, 1]: nothing, left, right, down, up, and the
      words.
    - End: after `max_cycles` steps for all agents; with `terminate_on_success` also when they have
      reached their goal.

    Attributes:
        max_cycles: Number of steps of an episode.
        local_ratio: Weight of an agent's own reward against the one that all share, in [0, 1], in
            the scenarios simple_spread and simple_reference.
        curriculum_stage: Stage of a curriculum: 0 and 1 in simple_spread (without and with
            penalties for collisions), 0 to 2 in simple_tag (agents at half, three quarters and full
            speed).

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("mpe/simple_spread_v3", num_envs=64)
        >>> observations, infos = envs.reset(seed=1)
        >>> actions = envs.action_space.sample()
        >>> observations, rewards, terminated, truncated, infos = envs.step(actions)
        >>> observations.shape, actions.shape, rewards.shape
        ((64, 3, 18), (64, 3), (64, 3))
        >>> envs.agents.names
        ('agent_0', 'agent_1', 'agent_2')
    """

    metadata: Metadata = {  # noqa: RUF012
        "render_modes": ["human", "rgb_array"],
        "render_fps": 10,
    }
    frame_size = (700, 700)
    scenario: ClassVar[str]
    functions = LANE_FUNCTIONS
    defaults = {"max_cycles": 25.0, "local_ratio": 0.5, "curriculum_stage": 0.0}  # noqa: RUF012
    max_cycles = whole(1, _MAX_CYCLES)
    agents: Agents
    _not_pickled = (*StructEnv._not_pickled, "_world", "shared")

    def __init__(
        self,
        render_mode: str | None = None,
        *,
        continuous_actions: bool = False,
        dynamic_rescaling: bool = True,
        curriculum: bool = False,
        terminate_on_success: bool = False,
        num_agent_neighbors: int | None = None,
        num_landmark_neighbors: int | None = None,
        **arguments: Any,
    ) -> None:
        """Make a world.

        Args:
            render_mode: None, "human" or "rgb_array".
            continuous_actions: Whether actions are numbers in [0, 1].
            dynamic_rescaling: Whether circles in frames shrink when entities move outwards, and
                grow when they move inwards.
            curriculum: Whether to begin with stage 0 of the curriculum instead of the last one.
            terminate_on_success: Whether an episode ends when the agents have reached their goal.
            num_agent_neighbors: How many of the nearest other agents an agent observes; None for
                all.
            num_landmark_neighbors: How many of the nearest landmarks it observes; None for all.
            **arguments: Numbers of entities (see the documentation of the family), and parameters.

        Raises:
            InvalidArgument: If a value is impossible.
            TypeError: If there is no argument of a name.
        """
        parameters = {name: arguments.pop(name) for name in self.parameters.keys() & {*arguments}}
        given = {
            "curriculum": flag("curriculum", curriculum),
            "terminate_on_success": flag("terminate_on_success", terminate_on_success),
            "num_agent_neighbors": num_agent_neighbors,
            "num_landmark_neighbors": num_landmark_neighbors,
        }
        counts = {name: arguments[name] for name in arguments if name in self.arguments}
        used = {name for name, value in given.items() if value is not None and value is not False}
        unknown = sorted(used - {*self.arguments})
        for name in (*unknown, *(arguments.keys() - counts.keys())):
            raise TypeError(f"{type(self).__name__} got an unexpected keyword argument {name!r}")
        neighbors = {
            name.removeprefix("num_"): count(name, given[name], 1, _MAX_NEIGHBORS)
            for name in _NEIGHBORS
            if given[name] is not None
        }
        self.continuous_actions = flag("continuous_actions", continuous_actions)
        self.dynamic_rescaling = flag("dynamic_rescaling", dynamic_rescaling)
        self.curriculum = bool(given["curriculum"])
        self._description = describe(self.scenario, **counts)
        self._options = {
            "continuous": self.continuous_actions,
            "ends_on_success": given["terminate_on_success"],
            **neighbors,
        }
        stage = 0 if self.curriculum else max(0, _SCENARIOS[self.scenario][0] - 1)
        self.defaults = {**type(self).defaults, "curriculum_stage": float(stage)}
        self._fixed = repr((sorted(counts.items()), sorted(self._options.items())))
        super().__init__(render_mode, **parameters)

    def make_batch(self, num_envs: int, **options: object) -> Batch:
        """Return a batch of worlds."""
        names = self._description.names
        try:
            self._world = world = self._description.world(self.scenario, **self._options)
        except (ValueError, OverflowError) as problem:
            raise error.InvalidArgument(f"{type(self).__name__}: {problem}") from problem
        groups: dict[str, list[str]] = {}
        sizes = dict(
            zip(names, zip(world.observation_sizes, world.action_sizes, strict=True), strict=True)
        )
        for name in names:
            groups.setdefault(name.rpartition("_")[0], []).append(name)
        observed, acted = (
            {group: space(sizes[members[0]][role]) for group, members in groups.items()}
            for role, space in enumerate((_observation_space, self._action_space))
        )
        if len({*sizes.values()}) == 1:
            self.agents = Agents(names, observed.popitem()[1], acted.popitem()[1])
            groups = {"": [*names]}
        else:
            self.agents = Agents(groups, observed, acted)
        # A `Dict` sorts its keys; this is the order of the arrays of an observation.
        parts = {name: k for k, group in enumerate(sorted(groups)) for name in groups[group]}
        world.set_observation_rows([parts[name] for name in names])
        self.lane_bytes, self.shared = world.lane_bytes, world.capsule
        self.spaces_of_lane = self.agents.world_spaces
        return super().make_batch(num_envs, **options)

    def _action_space(self, size: int) -> spaces.Space:
        if self.continuous_actions:
            return spaces.Box(0.0, 1.0, (size,))
        return spaces.Discrete(size)

    def fixed_digest(self) -> int:
        """Return a digest of the scenario and its arguments, which states have to share."""
        return digest(f"{self.scenario} {self._fixed}".encode())

    def _render_frame(self, render_mode: str, state: object) -> npt.NDArray[np.uint8] | None:
        memory = self._batch.store.view()[self._lane, : self.lane_bytes]
        lane = memory.copy().view(self._world.lane_dtype)[0]
        entities = self._description.entities
        drawn = np.ones(len(entities), bool)
        if self.scenario == "collect_treasure":  # not the treasures that were picked up
            drawn[len(self.agents.names) :] = lane["kinds"][len(self.agents.names) :] >= 0
        lines = [
            f"{name} sends {message_of(lane['messages'][k], self.continuous_actions)}"
            for k, name in enumerate(self.agents.names)
            if entities["speaks"][k]
        ]
        colors = colors_of(self.scenario, entities["color"], lane)
        return self._render_with(
            draw_world,
            render_mode,
            lane["positions"][drawn],
            entities["size"][drawn],
            colors[drawn],
            lines,
            lane["extent"] if self.dynamic_rescaling else None,
        )


def _observation_space(size: int) -> spaces.Space:
    return spaces.Box(-np.inf, np.inf, (size,), np.float32)


def _declare(scenario: str) -> None:
    """Define the classes of a scenario."""
    stages, arguments = _SCENARIOS[scenario]
    name = scenario.title().replace("_", "")
    counts = inspect.signature(DESCRIPTIONS[scenario]).parameters
    attributes: dict[str, object] = {
        "__doc__": f"The scenario {scenario}; see `ParticleEnv`.",
        "__module__": __name__,
        "scenario": scenario,
        "arguments": (*_COMMON, *arguments, *counts),
    }
    if scenario in _LOCAL_REWARDS:
        attributes["local_ratio"] = Parameter(encode=_as_proportion)
    if stages:
        attributes["curriculum_stage"] = whole(0, stages - 1)
    env_class = type(f"{name}Env", (ParticleEnv,), attributes)
    globals()[f"{name}Env"] = env_class
    globals()[f"{name}VectorEnv"] = NativeVectorEnv.of(env_class)


for _scenario in _SCENARIOS:
    _declare(_scenario)
