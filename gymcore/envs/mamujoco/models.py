"""Models with many segments, and two cheetahs that a tendon connects, made from other models."""

from __future__ import annotations

import copy
from xml.etree.ElementTree import Element, SubElement, parse, tostring

from gymcore.envs.mamujoco.graphs import segments, tendon_jacobian
from gymcore.envs.mujoco.description import Description, Simulation, normal_start
from gymcore.envs.mujoco.mujoco_env import expand_model_path
from gymcore.envs.mujoco.quantities import square, total
from gymcore.envs.mujoco.tasks import Task
from gymcore.error import InvalidArgument


def _parts(file: str) -> tuple[Element, Element, Element]:
    """Return a model, its first body, and its actuators, which are emptied."""
    root = parse(expand_model_path(file)).getroot()
    actuators, torso = root.find("actuator"), root.find("worldbody/body")
    assert actuators is not None and torso is not None
    for motor in list(actuators):
        actuators.remove(motor)
    return root, torso, actuators


def _add(parent: Element, tag: str, **attributes: object) -> Element:
    return SubElement(parent, tag, {name: str(value) for name, value in attributes.items()})


def many_segment_swimmer(agent_conf: str) -> str:
    """Return the XML of a swimmer with a joint for each segment."""
    agents, size = segments(agent_conf)
    if agents * size < 2:
        raise InvalidArgument(f"agent_conf: expected at least 2 segments, got {agent_conf}")
    root, body, actuators = _parts("swimmer.xml")
    for inner in body.findall("body"):
        body.remove(inner)
    for k in range(agents * size):
        body = _add(body, "body", pos="-1 0 0" if k else "0.5 0 0")
        backwards = k % 2 == 0 and 0 < k < agents * size - 1
        axis = f"0 0 {-1 if backwards else 1}"
        _add(body, "joint", name=f"rot{k}", axis=axis, limited="true", range="-100 100")
        _add(body, "geom", fromto="0 0 0 -1 0 0")
        _add(actuators, "motor", joint=f"rot{k}")
    return tostring(root, "unicode")


def many_segment_ant(agent_conf: str) -> str:
    """Return the XML of an ant whose body has segments with two legs each."""
    agents, size = segments(agent_conf)
    root, torso, actuators = _parts("ant.xml")
    for inner in (*torso.findall("body"), *torso.findall("geom")):
        torso.remove(inner)
    for k in range(agents * size):
        if k:
            torso = _add(torso, "body", name=f"torso_{k}", pos="-1 0 0")
            _add(torso, "geom", fromto="1 0 0 0 0 0", size=0.1, density=100)
        for leg, y in enumerate((1, -1), 1):
            _add_leg(torso, f"{leg}_{k}", y, first=k == 0)
            for joint in ("hip", "ankle"):
                _add(actuators, "motor", joint=f"{joint}{leg}_{k}")
    return tostring(root, "unicode")


def _add_leg(torso: Element, name: str, y: int, *, first: bool) -> None:
    x, axis, bounds = (0.2, -y, "30 70") if first else (-0.2, y, "-70 -30")
    shoulder = f"{0.2 if first else 0} {0.2 * y} 0"
    upper, lower = f"{x} {0.2 * y} 0", f"{2 * x} {0.4 * y} 0"
    body = _add(torso, "body")
    _add(body, "geom", fromto=f"0 0 0 {shoulder}")
    body = _add(body, "body", pos=shoulder)
    _add(body, "joint", name=f"hip{name}", range="-30 30")
    _add(body, "geom", fromto=f"0 0 0 {upper}")
    body = _add(body, "body", pos=upper)
    _add(body, "joint", name=f"ankle{name}", axis=f"{axis} 1 0", range=bounds)
    _add(body, "geom", fromto=f"0 0 0 {lower}")


def coupled_half_cheetah() -> str:
    """Return the XML of two cheetahs beside each other, with a tendon between their bodies."""
    motors = parse(expand_model_path("half_cheetah.xml")).findall("actuator/motor")
    root, cheetah, actuators = _parts("half_cheetah.xml")
    world = root.find("worldbody")
    assert world is not None
    world.remove(cheetah)
    tendon = SubElement(root, "tendon")
    attributes = {"limited": "true", "range": "1.5 3.5", "stiffness": "0.1", "width": "0.05"}
    path = SubElement(tendon, "spatial", attributes)
    for k, y in enumerate((-1, 1)):
        body = copy.deepcopy(cheetah)
        actuated = copy.deepcopy(motors)
        for element in (*body.iter(), *actuated):
            for name in {"name", "joint"}.intersection(element.keys()):
                element.set(name, f"{element.get(name)}{k}")
        body.set("pos", f"0 {y} 0.7")
        SubElement(body, "site", {"name": f"t{k}", "size": "0.1"})
        SubElement(path, "site", {"site": f"t{k}"})
        world.append(body)
        actuators.extend(actuated)
    return tostring(root, "unicode")


class CoupledHalfCheetahEnv(
    Task,
    xml_file=None,
    frame_skip=5,
    default_camera_config={"distance": 4.0},
    forward_reward_weight=1.0,
    ctrl_cost_weight=0.1,
    reset_noise_scale=0.1,
):
    """Two cheetahs that a tendon connects, rewarded for their mean velocity to the right."""

    def describe(self, simulation: Simulation) -> Description:
        """Reward the mean velocity, minus the mean cost of the actions."""
        s = simulation
        x = s.qpos[0], s.qpos[s.nq // 2]
        velocities = s.rate(x[0]), s.rate(x[1])
        half = s.nu // 2
        efforts = [
            s.parameter("ctrl_cost_weight") * total(square(action))
            for action in (s.action()[:half], s.action()[half:])
        ]
        forward = s.parameter("forward_reward_weight") * (velocities[0] + velocities[1]) / 2.0
        tendon = [tendon_jacobian(s), s.data.ten_length, s.data.ten_velocity]
        return Description(
            observation=[s.qpos[1:9], s.qpos[10:18], s.qvel, *tendon],
            reward=forward - (efforts[0] + efforts[1]) / 2.0,
            infos={
                **{"x_position1": x[0], "x_position2": x[1]},
                **{"x_velocity1": velocities[0], "x_velocity2": velocities[1]},
                "reward_run": forward,
                **{"reward_ctrl1": efforts[0], "reward_ctrl2": efforts[1]},
            },
            **normal_start(s),
        )
