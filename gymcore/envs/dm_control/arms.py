"""Manipulator and stacker: a planar arm with a hand moves a ball, a peg or boxes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gymcore.envs.dm_control.models import model_xml
from gymcore.envs.dm_control.suite import ControlEnv, ControlVectorEnv, Tasks, scalar
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import (
    Quantity,
    Variable,
    arctan2,
    cos,
    integers,
    joined,
    length,
    log1p,
    maximum,
    sin,
    smallest,
    uniform,
)
from gymcore.envs.mujoco.statements import Assign, Forward, Repeat, When
from gymcore.envs.mujoco.tolerance import tolerance

INFINITY = float("inf")
_ARM = (
    *("arm_root", "arm_shoulder", "arm_elbow", "arm_wrist"),
    *("finger", "fingertip", "thumb", "thumbtip"),
)
_TOUCH = ("palm_touch", "finger_touch", "thumb_touch", "fingertip_touch", "thumbtip_touch")


class ArmEnv(ControlEnv):
    """A planar arm with a hand of two fingers; the base of its tasks."""

    control_timestep = 0.01

    def arm(self, s: Simulation) -> dict[str, Quantity]:
        """Return the observations of the arm, without touch."""
        angles = s.joint_qpos(*_ARM)
        pairs = [(sin(angles[k]), cos(angles[k])) for k in range(angles.size)]
        return {
            "arm_pos": joined(*(part for pair in pairs for part in pair)),
            "arm_vel": s.joint_qvel(*_ARM),
        }

    def random_arm(self, s: Simulation) -> list[object]:
        """Return statements that draw the angles of the arm, with both fingers alike."""
        joints = [self.model.joint(name) for name in _ARM]
        ranges = [j.range if j.limited[0] else (-np.pi, np.pi) for j in joints]
        low, high = np.transpose(ranges)
        return [
            Assign(s.joint_qpos(*_ARM), uniform(low, high, len(_ARM))),
            Assign(s.joint_qpos("finger"), s.joint_qpos("thumb")),
        ]

    def pose(self, s: Simulation, body: str, *, turned: bool = True) -> Quantity:
        """Return the position of a body in the plane, and its orientation (w and y)."""
        place, turn = s.data.of("xpos", body)[::2], s.data.of("xquat", body)[::2]
        return joined(place, turn) if turned else place

    def distance(self, s: Simulation, first: str, second: str) -> Quantity:
        """Return the distance of two sites."""
        return length(s.data.of("site_xpos", first) - s.data.of("site_xpos", second))


class ManipulatorEnv(ArmEnv):
    """An arm brings a ball or a peg to a target, or inserts it into a cup or slot.

    Examples:
        >>> env = ManipulatorEnv("bring_ball")
        >>> env.observation_space["arm_pos"].shape
        (8, 2)
    """

    domain = "manipulator"
    tasks: ClassVar[Tasks] = {
        f"{verb}_{item}": {"item": item, "insert": verb == "insert", "fully_observable": True}
        for verb in ("bring", "insert")
        for item in ("ball", "peg")
    }

    def model_xml(self) -> str:
        """Return the model with the objects of the task."""
        item = self.options["item"]
        receptacle = ({"ball": "cup", "peg": "slot"}[item],) if self.options["insert"] else ()
        return model_xml("manipulator", props=(item, f"target_{item}", *receptacle))

    def describe(self, simulation: Simulation) -> Description:
        """Reward an object at the target; a peg also in the hand."""
        s, item = simulation, self.options["item"]
        observation = {**self.arm(s), "touch": log1p(s.sensor(*_TOUCH))}
        joints = [f"{item}_{axis}" for axis in "xzy"]
        if self.options["fully_observable"]:
            observation |= {
                "hand_pos": self.pose(s, "hand"),
                "object_pos": self.pose(s, item),
                "object_vel": s.joint_qvel(*joints),
                "target_pos": self.pose(s, f"target_{item}"),
            }

        def close(first: str, second: str) -> Quantity:
            return tolerance(self.distance(s, first, second), (0.0, 0.01), 0.01 * 2)

        if item == "ball":
            reward = close("ball", "target_ball")
        else:
            grasping = (close("peg_grasp", "grasp") + close("peg_pinch", "pinch")) / 2.0
            bringing = (close("peg", "target_peg") + close("target_peg_tip", "peg_tip")) / 2.0
            reward = maximum(bringing, grasping / 3.0)
        return self.described(
            observation=observation,
            reward=reward,
            start=[Repeat(self.random_places(s, joints), until=s.contact_count() < 1.0)],
            shapes={"arm_pos": (len(_ARM), 2)},
        )

    def random_places(self, s: Simulation, joints: list[str]) -> list[object]:
        """Return statements that draw arm, target and object: in the hand, the target or free."""
        item, insert = self.options["item"], self.options["insert"]
        span = np.pi / 3 if insert else np.pi
        x, z, angle = scalar(-0.4, 0.4), scalar(0.1, 0.4), scalar(-span, span)
        bodies = [f"target_{item}"]
        if insert:
            bodies.insert(0, {"ball": "cup", "peg": "slot"}[item])
        kind = scalar(0.0, 1.0)
        in_hand, in_target, _ = np.cumsum([0.1, 0.1, 1.0 - 0.1 - 0.1]) / np.sum([0.1, 0.1, 0.8])
        grasp = s.data.of("site_xmat", "grasp")
        hand = s.data.of("site_xpos", "grasp")
        place = Variable(3)
        free = [scalar(-0.5, 0.5), scalar(0.0, 0.7), scalar(0.0, 2.0 * np.pi)]
        push = scalar(-5.0, 5.0)
        return [
            *self.random_arm(s),
            *(x, z, angle),
            *(Assign(s.model.of("body_pos", body)[::2], joined(x, z)) for body in bodies),
            *(
                Assign(
                    s.model.of("body_quat", body)[::2], joined(cos(angle / 2.0), sin(angle / 2.0))
                )
                for body in bodies
            ),
            kind,
            When(
                kind < in_hand,
                [
                    Forward(actuated=False),
                    Assign(place, joined(hand[::2], np.pi - arctan2(grasp[6], grasp[0]))),
                ],
            ),
            When((kind >= in_hand) & (kind < in_target), [Assign(place, joined(x, z, angle))]),
            When(
                kind >= in_target,
                [*free, Assign(place, joined(*free)), Assign(s.joint_qvel(f"{item}_x"), push)],
            ),
            Assign(s.joint_qpos(*joints), place),
            Forward(actuated=False),
        ]


class StackerEnv(ArmEnv):
    """An arm stacks boxes until one is at the target.

    Examples:
        >>> env = StackerEnv("stack_2")
        >>> env.observation_space["box_pos"].shape
        (2, 4)
    """

    domain = "stacker"
    tasks: ClassVar[Tasks] = {f"stack_{n}": {"boxes": n, "fully_observable": True} for n in (2, 4)}

    def model_xml(self) -> str:
        """Return the model with its boxes."""
        return model_xml("stacker", boxes=self.options["boxes"])

    def describe(self, simulation: Simulation) -> Description:
        """Reward a box at the target, and a hand that has left it."""
        s = simulation
        boxes = [f"box{k}" for k in range(self.options["boxes"])]
        observation = {**self.arm(s), "touch": log1p(s.data.sensordata)}
        shapes: dict[str, tuple[int, ...]] = {"arm_pos": (len(_ARM), 2)}
        if self.options["fully_observable"]:
            observation |= {
                "hand_pos": self.pose(s, "hand"),
                "box_pos": joined(*(self.pose(s, box) for box in boxes)),
                "box_vel": s.joint_qvel(*(f"{box}_{axis}" for box in boxes for axis in "xyz")),
                "target_pos": self.pose(s, "target", turned=False),
            }
            shapes["box_pos"] = (len(boxes), 4)
        size = s.model.of("geom_size", "target")[0]
        nearest = smallest(joined(*(self.distance(s, box, "target") for box in boxes)))
        near = tolerance(nearest, margin=2.0 * size)
        away = tolerance(self.distance(s, "grasp", "target"), (0.1, INFINITY), 0.01)
        return self.described(
            observation=observation,
            reward=near * away,
            start=[Repeat(self.random_places(s, boxes), until=s.contact_count() < 1.0)],
            shapes=shapes,
        )

    def random_places(self, s: Simulation, boxes: list[str]) -> list[object]:
        """Return statements that draw the arm, the target's height and place, and the boxes."""
        height = 2.0 * integers(len(boxes), 1) + 1.0
        target = s.model.of("body_pos", "target")
        return [
            *self.random_arm(s),
            Assign(target[2], s.model.of("geom_size", "target")[0] * height),
            Assign(target[0], scalar(-0.37, 0.37)),
            *(
                Assign(s.joint_qpos(f"{box}_{axis}"), scalar(*bounds))
                for box in boxes
                for axis, bounds in (
                    ("x", (0.1, 0.3)),
                    ("z", (0.0, 0.7)),
                    ("y", (0.0, 2.0 * np.pi)),
                )
            ),
            Forward(actuated=False),
        ]


ManipulatorVectorEnv = ControlVectorEnv.of(ManipulatorEnv)
StackerVectorEnv = ControlVectorEnv.of(StackerEnv)
