"""Graphs of joints, and their divisions among agents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import NamedTuple

from gymcore.base.arguments import count
from gymcore.envs.mujoco.description import Simulation
from gymcore.envs.mujoco.quantities import Operand, Quantity, clip, cos, joined, sin
from gymcore.error import InvalidArgument

Observe = Callable[[Simulation], Operand]

# A model has at most so many segments: bodies and joints need memory.
_MAX_SEGMENTS = 64


@dataclass(frozen=True, eq=False)
class Node:
    """A joint, or something else that agents observe.

    Attributes:
        label: The name, by which the observations of an agent are sorted.
        qpos_ids: Index of its position, as for a list, or None.
        qvel_ids: Index of its velocity, or None.
        act_ids: Index of its actuator, or None.
        body_fn: A function of the rows of `bodies`, or None.
        bodies: Indices of bodies, for the categories cvel, cinert and cfrc_ext.
        extra_obs: What is observed in a category instead: functions of the `Simulation`.

    Examples:
        >>> Node("knee", qpos_ids=-1, qvel_ids=-1, act_ids=0).bodies
        ()
    """

    label: str
    qpos_ids: int | None
    qvel_ids: int | None
    act_ids: int | None
    body_fn: Callable[[Quantity], Quantity] | None = None
    bodies: tuple[int, ...] = ()
    extra_obs: Mapping[str, Observe] = field(default_factory=dict)

    def observe(self, simulation: Simulation, category: str, seen: set[int]) -> list[Operand]:
        """Return what is observed of a category; bodies in `seen` are left out, and added to it."""
        if category in self.extra_obs:
            return [self.extra_obs[category](simulation)]
        if category in ("qpos", "qvel", "qfrc_actuator"):
            index = self.qpos_ids if category == "qpos" else self.qvel_ids
            return [] if index is None else [getattr(simulation.data, category)[index]]
        if category not in ("cvel", "cinert", "cfrc_ext"):
            return []
        rows = [simulation.data.rows(category, body) for body in self.bodies if body not in seen]
        seen.update(self.bodies)
        return [row if self.body_fn is None else self.body_fn(row) for row in rows]


class Graph(NamedTuple):
    """The nodes of a model, and how they are divided.

    Attributes:
        partition: The nodes of each agent, in the order of the numbers of its actions.
        edges: Nodes that are next to each other.
        globals: What all agents observe.

    Examples:
        >>> left, right = Node("left", 0, 0, 0), Node("right", 1, 1, 1)
        >>> graph = Graph([[left], [right]], edges=[(left, right)])
        >>> [node.label for node in graph.by_distance(0, 1)[1]]
        ['right']
    """

    partition: Sequence[Sequence[Node]]
    edges: Sequence[Iterable[Node]] = ()
    globals: Sequence[Node] = ()

    def by_distance(self, agent: int, farthest: int) -> list[list[Node]]:
        """Return the nodes at each distance from those of an agent, sorted by label."""
        edges = [set(edge) for edge in self.edges]
        new = set(self.partition[agent])
        known = set(new)
        order = {node: k for k, node in enumerate(chain(*self.partition))}
        levels: list[list[Node]] = []
        farthest = min(farthest, sum(map(len, edges)))  # no path is longer
        for _ in range(farthest + 1):
            levels.append(sorted(new, key=lambda node: (node.label, order.get(node, 0))))
            new = {other for edge in edges if edge & new for other in edge} - known
            known |= new
        return levels


def _nothing(simulation: Simulation) -> Operand:
    return ()


def _clipped(quantity: Quantity) -> Quantity:
    return clip(quantity, -1.0, 1.0)


def _joints(
    names: str, extra: Mapping[str, Mapping[str, Observe]] | None = None, actions: int = 0
) -> dict[str, Node]:
    """Return nodes of the last joints of a model, whose actuators begin at index `actions`."""
    labels, extra = names.split(), extra or {}
    return {
        label: Node(label, k, k, k + len(labels) + actions, extra_obs=extra.get(label, {}))
        for k, label in enumerate(labels, -len(labels))
    }


def _planar_root(**extra: Mapping[str, Observe]) -> list[Node]:
    """Return nodes of the joints of a body in a plane, whose first position is not observed."""
    extra = {"root_x": {"qpos": _nothing}, "root_z": {}, "root_y": {}, **extra}
    return [Node(label, k, k, None, extra_obs=extra[label]) for k, label in enumerate(extra)]


_FREE_ROOT = {"qpos": lambda s: s.qpos[2:7], "qvel": lambda s: s.qvel[:6]}


class _Model(NamedTuple):
    """The nodes of a model by label, pairs and larger sets of neighbors, and global nodes."""

    nodes: dict[str, Node]
    edges: str
    globals: Sequence[Node]
    divisions: Mapping[str, str]

    def divided(self, agent_conf: str) -> Graph:
        """Return the graph of a configuration."""
        if agent_conf not in self.divisions:
            raise InvalidArgument(
                f"agent_conf: expected one of {', '.join(self.divisions)}, got {agent_conf!r}"
            )
        return Graph(self._sets(self.divisions[agent_conf]), self._sets(self.edges), self.globals)

    def _sets(self, text: str) -> list[list[Node]]:
        return [[self.nodes[label] for label in labels.split()] for labels in text.split(",")]


def _half_cheetah() -> _Model:
    return _Model(
        _joints("bthigh bshin bfoot fthigh fshin ffoot"),
        "bfoot bshin, bshin bthigh, bthigh fthigh, fthigh fshin, fshin ffoot",
        _planar_root(),
        {
            "2x3": "bthigh bshin bfoot, fthigh fshin ffoot",
            "6x1": "bthigh, bshin, bfoot, fthigh, fshin, ffoot",
        },
    )


def _ant() -> _Model:
    nodes = {}
    for leg in range(4):
        hip, first = f"hip{leg + 1}", 3 * leg + 2
        bodies = {hip: (1, first), f"ankle{leg + 1}": (first, first + 1, first + 2)}
        for k, label in enumerate(bodies, 2 * leg):
            nodes[label] = Node(label, k - 8, k - 8, (k + 2) % 8, _clipped, bodies[label])
    return _Model(
        nodes,
        "ankle4 hip4, ankle1 hip1, ankle2 hip2, ankle3 hip3, hip4 hip1 hip2 hip3",
        [Node("root", 0, 0, None, extra_obs=_FREE_ROOT)],
        {
            "2x4": "hip1 ankle1 hip2 ankle2, hip3 ankle3 hip4 ankle4",
            "2x4d": "hip1 ankle1 hip4 ankle4, hip2 ankle2 hip3 ankle3",
            "4x2": "hip1 ankle1, hip2 ankle2, hip3 ankle3, hip4 ankle4",
        },
    )


def _hopper() -> _Model:
    def velocity(index: int) -> dict[str, Observe]:
        return {"qvel": lambda s: clip(s.qvel[index], -10.0, 10.0)}

    labels = "thigh_joint leg_joint foot_joint"
    return _Model(
        _joints(labels, {label: velocity(k - 3) for k, label in enumerate(labels.split())}),
        "foot_joint leg_joint, leg_joint thigh_joint",
        _planar_root(
            root_x={"qpos": _nothing, **velocity(0)}, root_z=velocity(1), root_y=velocity(2)
        ),
        {"3x1": labels.replace(" ", ", ")},
    )


def _humanoid() -> _Model:
    waist, upper, lower = (1, 2, 3), "shoulder1 shoulder2 elbow", "hip_x hip_z hip_y knee"
    bodies: dict[str, tuple[int, ...]] = {
        "abdomen_y": waist,
        "abdomen_z": waist,
        "abdomen_x": (3, 4, 7),
    }
    for side, first in (("right", 4), ("left", 7)):
        bodies.update({f"{side}_{joint}": (first, first + 1) for joint in lower.split()})
        bodies[f"{side}_knee"] = (first + 1, first + 2)
    for side, first in (("right", 10), ("left", 12)):
        bodies.update({f"{side}_{joint}": (1, first, first + 1) for joint in upper.split()})
        bodies[f"{side}_elbow"] = (first + 1,)
    nodes = {
        label: Node(label, k - 17, k - 17, k, bodies=bodies[label])
        for k, label in enumerate(bodies)
    }
    abdomen = "abdomen_x abdomen_y abdomen_z"
    hips, shoulders, legs, arms = (
        {side: " ".join(f"{side}_{joint}" for joint in joints) for side in ("left", "right")}
        for joints in (lower.split()[:3], upper.split()[:2], lower.split(), upper.split())
    )
    edges = [abdomen, *hips.values(), *arms.values(), *legs.values()]
    edges += [f"{other} {abdomen}" for other in (*shoulders.values(), *hips.values())]
    sorted_legs = " ".join(
        f"{side}_{joint}" for side in ("right", "left") for joint in sorted(lower.split())
    )
    divisions = {"9|8": f"{abdomen} {arms['right']} {arms['left']}, {sorted_legs}"}
    root = Node("root", None, None, None, extra_obs=_FREE_ROOT)
    return _Model(nodes, ", ".join(edges), [root], divisions)


def _reacher() -> _Model:
    def angle(index: int) -> dict[str, Observe]:
        return {"qpos": lambda s: joined(sin(s.qpos[index]), cos(s.qpos[index]))}

    def distance(s: Simulation) -> Operand:
        return s.body_position("fingertip") - s.body_position("target")

    nodes = {
        "joint0": Node("joint0", -4, -4, 0, None, (1, 2), angle(-4)),
        "joint1": Node(
            "joint1", -3, -3, 1, None, (2, 3), {**angle(-3), "fingertip_dist": distance}
        ),
    }
    target = [
        Node(f"target_{axis}", k, k, None, extra_obs={"qvel": _nothing})
        for axis, k in (("x", -2), ("y", -1))
    ]
    return _Model(nodes, "joint0 joint1", target, {"2x1": "joint0, joint1"})


def _pusher() -> _Model:
    def position(body: str) -> Node:
        extra: dict[str, Observe] = {"qpos": lambda s: s.body_position(body), "qvel": _nothing}
        return Node(body, None, None, None, extra_obs=extra)

    joints = "shoulder_pan shoulder_lift upper_arm_roll elbow_flex forearm_roll wrist_flex"
    names = [f"r_{joint}_joint" for joint in f"{joints} wrist_roll".split()]
    # The original gives the first two joints the label of the last one.
    nodes = {name: Node(names[-1] if k < 2 else name, k, k, k) for k, name in enumerate(names)}
    return _Model(
        nodes,
        ", ".join(map(" ".join, pairwise(names))),
        [position(body) for body in ("tips_arm", "object", "goal")],
        {"3p": ", ".join(map(" ".join, (names[:3], names[3:4], names[4:])))},
    )


def _swimmer() -> _Model:
    def velocities(index: int) -> dict[str, Observe]:
        return {"qvel": lambda s: joined(s.qvel[index], s.qvel[index + 3])}

    return _Model(
        _joints("rot2 rot3", {"rot2": velocities(0), "rot3": velocities(1)}),
        "rot2 rot3",
        [Node("free_body_rot", 2, 2, None)],
        {"2x1": "rot2, rot3"},
    )


def _walker2d() -> _Model:
    right, left = (
        "foot_joint leg_joint thigh_joint",
        "foot_left_joint leg_left_joint thigh_left_joint",
    )
    backwards = " ".join([*reversed(right.split()), *reversed(left.split())])
    return _Model(
        _joints(backwards),
        "foot_joint leg_joint, leg_joint thigh_joint, foot_left_joint leg_left_joint, "
        "leg_left_joint thigh_left_joint, thigh_joint thigh_left_joint",
        _planar_root(),
        {"2x3": f"{right}, {left}"},
    )


def segments(agent_conf: str) -> tuple[int, int]:
    """Return how many agents a configuration such as "3x2" has, and segments each of them has."""
    parts = agent_conf.split("x")
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        raise InvalidArgument(
            f"agent_conf: expected agents and segments of each of them, as 3x2, got {agent_conf!r}"
        )
    agents = count("agent_conf", int(parts[0]), 1, _MAX_SEGMENTS)
    return agents, count("agent_conf", int(parts[1]), 1, _MAX_SEGMENTS // agents)


def _many_segment_swimmer(agent_conf: str) -> Graph:
    agents, size = segments(agent_conf)
    joints = list(_joints(" ".join(f"rot{k}" for k in range(agents * size))).values())
    parts = [joints[k * size : (k + 1) * size] for k in range(agents)]
    return Graph(parts, list(pairwise(joints)))


def _many_segment_ant(agent_conf: str) -> Graph:
    agents, size = segments(agent_conf)
    edges: list[list[Node]] = []
    parts: list[list[Node]] = [[] for _ in range(agents)]
    before: list[Node] = []
    for segment in range(agents * size):
        # The original counts positions from the other end, and links segments with copies of nodes.
        first, body = 4 * (agents * size - 2 - segment), 7 * segment + 1
        legs = []
        for k, leg in enumerate((body + 1, body + 4)):
            rows = {"hip": (body, leg), "ankle": (leg, leg + 1, leg + 2)}
            for at, joint in enumerate(rows, first + 2 * k):
                act = 4 * segment + (at - first + 2) % 4
                label = f"{joint}{k + 1}_{segment}"
                legs.append(Node(label, at, at, act, _clipped, rows[joint]))
        hips = legs[::2]
        edges += [legs[:2], legs[2:], hips]
        if before:
            edges.append([*map(replace, before), *hips])
        before = hips
        parts[segment // size] += legs
    extra = {**_FREE_ROOT, "cfrc_ext": lambda s: _clipped(s.data.rows("cfrc_ext", 0))}
    return Graph(parts, edges, [Node("free", 0, 0, None, extra_obs=extra)])


def _coupled_half_cheetah() -> _Model:
    names = ["bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot"]
    tendon = {
        "ten_J": tendon_jacobian,
        "ten_length": lambda s: s.data.ten_length,
        "ten_velocity": lambda s: s.data.ten_velocity,
    }
    nodes: dict[str, Node] = {}
    root: list[Node] = []
    for cheetah in range(2):
        # As in the original, both cheetahs observe the joints of the second one.
        both = _joints(" ".join(f"{name}{cheetah}" for name in names), actions=6 * cheetah)
        thigh = f"bthigh{cheetah}"
        nodes.update(both, **{thigh: replace(both[thigh], extra_obs=tendon)})
        root += [
            replace(node, label=f"{node.label}{cheetah}", qpos_ids=k, qvel_ids=k)
            for k, node in enumerate(_planar_root(), 9 * cheetah)
        ]
    chain_of = ((2, 1), (1, 0), (0, 3), (3, 4), (4, 5))
    edges = [f"{names[a]}{k} {names[b]}{k}" for k in range(2) for a, b in chain_of]
    division = ", ".join(" ".join(f"{name}{k}" for name in names) for k in range(2))
    globals_in_order = [root[k] for k in (0, 2, 1, 3, 5, 4)]
    return _Model(nodes, ", ".join(edges), globals_in_order, {"1p1": division})


def tendon_jacobian(simulation: Simulation) -> Quantity:
    """Return four elements of the Jacobian of the only tendon, by x and height of both bodies."""
    row = simulation.data.ten_J
    return joined(row[:2], row[9:11] if row.size == simulation.nv else row[3:5])  # dense, or not


_MODELS: dict[str, Callable[[], _Model]] = {
    "Ant": _ant,
    "CoupledHalfCheetah": _coupled_half_cheetah,
    "HalfCheetah": _half_cheetah,
    "Hopper": _hopper,
    "Humanoid": _humanoid,
    "HumanoidStandup": _humanoid,
    "Pusher": _pusher,
    "Reacher": _reacher,
    "Swimmer": _swimmer,
    "Walker2d": _walker2d,
}


def graph_of(scenario: str, agent_conf: str) -> Graph:
    """Return the graph of a scenario in a configuration.

    Examples:
        >>> graph = graph_of("HalfCheetah", "2x3")
        >>> [[node.label for node in level] for level in graph.by_distance(1, 1)]
        [['ffoot', 'fshin', 'fthigh'], ['bthigh']]

    Raises:
        InvalidArgument: If the scenario has no such configuration.
    """
    if scenario == "ManySegmentSwimmer":
        return _many_segment_swimmer(agent_conf)
    if scenario == "ManySegmentAnt":
        return _many_segment_ant(agent_conf)
    if scenario not in _MODELS:
        raise InvalidArgument(f"agent_conf: expected None for {scenario}, got {agent_conf!r}")
    return _MODELS[scenario]().divided(agent_conf)
