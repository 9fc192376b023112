"""Parts that several tasks share: costs, health, planar walkers, and the humanoid's body."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Description, Simulation, uniform_start
from gymcore.envs.mujoco.quantities import Quantity, as_quantity, clip, square, total
from gymcore.envs.mujoco.weights import Bonus, Range, Scale, Switch, Weight

Init: TypeAlias = Callable[..., None]

# Constructor arguments of the tasks: the kind of the weight, or None, and the documentation.
_ARGUMENTS: dict[str, tuple[type[Weight[object]] | None, str]] = {
    "xml_file": (None, "the model's file; see `expand_model_path`."),
    "frame_skip": (None, "simulation steps in one step of the environment."),
    "default_camera_config": (None, "attributes of the free camera."),
    "forward_reward_weight": (Weight, "weight of the velocity."),
    "ctrl_cost_weight": (Weight, "weight of the squared action."),
    "contact_cost_weight": (Weight, "weight of the squared contact forces."),
    "contact_cost_range": (Range, "bounds of the cost of contacts."),
    "contact_force_range": (Range, "bounds to which contact forces are clipped."),
    "use_contact_forces": (None, "whether contacts are observed and a cost."),
    "impact_cost_weight": (Weight, "weight of the squared contact forces."),
    "impact_cost_range": (Range, "bounds of the cost of contacts."),
    "uph_cost_weight": (Weight, "has no effect."),
    "healthy_reward": (Bonus, "reward of a step in which it is healthy."),
    "main_body": (None, "index or name of the body whose velocity is rewarded."),
    "terminate_when_unhealthy": (Switch, "whether the episode ends when it is unhealthy."),
    "healthy_state_range": (
        Range,
        "bounds of all other positions and velocities while it is healthy.",
    ),
    "healthy_z_range": (Range, "bounds of the torso's height while it is healthy."),
    "healthy_angle_range": (Range, "bounds of the torso's angle while it is healthy."),
    "reward_near_weight": (Weight, "weight of the distance between fingertip and object."),
    "reward_dist_weight": (Weight, "weight of the distance to the goal."),
    "reward_control_weight": (Weight, "weight of the squared action."),
    "reset_noise_scale": (Scale, "scale of the noise of the initial state."),
    "exclude_current_positions_from_observation": (None, "whether x (and y) are left out."),
    "include_cinert_in_observation": (None, "whether inertias are observed."),
    "include_cvel_in_observation": (None, "whether velocities of bodies are observed."),
    "include_qfrc_actuator_in_observation": (None, "whether forces of actuators are observed."),
    "include_cfrc_ext_in_observation": (None, "whether contact forces are observed."),
}


def constructor(constants: Mapping[str, object], defaults: Mapping[str, object]) -> Init:
    """Return an `__init__` whose arguments have these names, order and defaults.

    An argument that is not one of `CompiledMujocoEnv` becomes an attribute with an underscore.

    Args:
        constants: Arguments whose values are fixed.
        defaults: Other arguments, which `_ARGUMENTS` documents.
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind, default=defaults[name]) for name in defaults]
    parameters.insert(0, inspect.Parameter("self", kind))
    parameters.append(inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD))
    signature = inspect.Signature(parameters)

    def __init__(self: CompiledMujocoEnv, *args: object, **kwargs: object) -> None:
        bound = signature.bind(self, *args, **kwargs)
        arguments = {**constants, **defaults, **bound.arguments}
        arguments.update(arguments.pop("kwargs", {}))
        del arguments["self"]
        model_path, frame_skip = arguments.pop("xml_file"), arguments.pop("frame_skip")
        for name in defaults.keys() & arguments.keys():
            if name not in self.parameters and name != "default_camera_config":
                setattr(self, f"_{name}", arguments.pop(name))
        CompiledMujocoEnv.__init__(self, model_path, frame_skip, **arguments)

    lines = [f"    {name}: {_ARGUMENTS[name][1]}" for name in defaults]
    __init__.__doc__ = "\n".join(
        ["Make the environment.", "", "Args:", *lines, "    **kwargs: see `CompiledMujocoEnv`."]
    )
    __init__.__dict__["__signature__"] = signature
    return __init__


class Task(CompiledMujocoEnv):
    """An environment of Gymnasium's; the keywords of its class are the constructor's arguments.

    The keywords have the defaults of the arguments. Those that are weights in `_ARGUMENTS` become
    attributes.
    """

    def __init_subclass__(cls, **defaults: object) -> None:
        if defaults:
            cls._declare({}, defaults)
        super().__init_subclass__()

    @classmethod
    def _declare(cls, constants: Mapping[str, object], defaults: Mapping[str, object]) -> None:
        """Define the weights among the arguments, and the constructor."""
        attributes: dict[str, object] = {"__init__": constructor(constants, defaults)}
        for name in defaults:
            if (kind := _ARGUMENTS[name][0]) is not None:
                weight = attributes[name] = kind()
                weight.__set_name__(cls, name)
        for name, value in attributes.items():
            setattr(cls, name, value)


class Version4(Task):
    """An environment before v5, which is derived from that of v5 by keywords of its class.

    - `render_fps` is the frame rate in `metadata`.
    - `arguments` names the arguments of the constructor; by default all of v5 except the model, the
      frame skip and the camera. Other weights are fixed.
    - All other keywords are defaults and fixed values that differ from the defaults of v5.
    """

    def __init_subclass__(
        cls,
        render_fps: int | None = None,
        arguments: Sequence[str] | None = None,
        **values: object,
    ) -> None:
        if render_fps is not None:
            cls.metadata = {**cls.metadata, "render_fps": render_fps}
            v5 = list(inspect.signature(cls.__init__).parameters.values())[1:-1]
            values = {parameter.name: parameter.default for parameter in v5} | values
            names = list(values)[3:] if arguments is None else arguments
            constants = {name: values[name] for name in list(values)[:3] if name not in names}
            for name in values.keys() - set(names):
                if _ARGUMENTS[name][0] is not None:
                    setattr(cls, name, values[name])
            cls._declare(constants, {name: values[name] for name in names})
        super().__init_subclass__()

    @property
    def observation_structure(self) -> dict[str, int] | None:
        """Return None, because Gymnasium's environments before v5 do not have it."""
        return None


class Joints(Task):
    """Observes positions and velocities of joints; an argument leaves out the body's position."""

    # Number of coordinates of the body's position: x, or x and y.
    coordinates: ClassVar[int] = 1
    _exclude_current_positions_from_observation: bool = True

    @property
    def skipped(self) -> int:
        """Count of the first positions that are not observed."""
        return self.coordinates * self._exclude_current_positions_from_observation

    def joint_structure(self) -> dict[str, int]:
        """Return the count of positions and velocities in an observation."""
        skipped, model = self.skipped, self.model
        return {"skipped_qpos": skipped, "qpos": model.nq - skipped, "qvel": model.nv}

    @cached_property
    def observation_structure(self) -> dict[str, int] | None:
        """Count of numbers of each kind in an observation."""
        return self.joint_structure()


class ActionCost(Joints):
    """A cost of `ctrl_cost_weight` on the squared action."""

    compiled_methods = frozenset({"control_cost"})

    def effort(self, simulation: Simulation) -> Quantity:
        """Return the cost of the action."""
        return simulation.parameter("ctrl_cost_weight") * total(square(simulation.action()))

    def control_cost(self, action: npt.ArrayLike) -> np.floating:
        """Return the cost of an action [nu], float32 for a float32 action, otherwise float64."""
        cost: np.float64 = self.value_of(self.effort, action)[0]
        return np.float32(cost) if np.asarray(action).dtype == np.float32 else cost


class ControlCost(Task):
    """A cost of `ctrl_cost_weight` on the squared controls of the simulation."""

    compiled_methods = frozenset({"control_cost"})

    def effort(self, simulation: Simulation) -> Quantity:
        """Return the cost of the controls."""
        return simulation.parameter("ctrl_cost_weight") * total(square(simulation.data.ctrl))

    def control_cost(self, action: npt.ArrayLike) -> np.float64:
        """Return the cost of the current controls; `action` is ignored, as in Gymnasium."""
        cost: np.float64 = self.value_of(self.effort)[0]
        return cost


class Health(Task):
    """A bonus of `healthy_reward` while the simulation is healthy; unhealthy episodes end.

    A subclass has the arguments `healthy_reward` and `terminate_when_unhealthy`, and defines
    `health`.
    """

    compiled_methods = frozenset({"is_healthy", "healthy_reward"})

    def health(self, simulation: Simulation) -> Quantity:
        """Return whether the simulation is healthy."""
        raise NotImplementedError(f"{type(self).__name__} has no health(simulation)")

    def survival(self, simulation: Simulation, healthy: Quantity | None = None) -> Quantity:
        """Return the reward for health; `healthy` may be the result of `health(simulation)`."""
        healthy = self.health(simulation) if healthy is None else healthy
        return healthy * simulation.parameter("healthy_reward")

    def ending(self, simulation: Simulation, healthy: Quantity | None = None) -> Quantity:
        """Return whether bad health ends the episode; `healthy` is as for `survival`."""
        healthy = self.health(simulation) if healthy is None else healthy
        return ~healthy & simulation.parameter("terminate_when_unhealthy")

    @property
    def is_healthy(self) -> bool:
        """Whether the current simulation is healthy."""
        s = self.simulation()
        if "state_vector" in self.in_python:
            state = self.state_vector()
            s.positions, s.velocities = as_quantity(state[: s.nq]), as_quantity(state[s.nq :])
        return bool(self.value_of(self.health(s))[0])

    def with_health(self, quantity: Callable[[Simulation, Quantity], Quantity]) -> float:
        """Return the value of `survival` or `ending` for the current value of `is_healthy`."""
        healthy = as_quantity(bool(self.is_healthy))
        return float(self.value_of(lambda s: quantity(s, healthy))[0])


class HealthV4(Version4, Health):
    """Health before v5: where bad health ends an episode, its last step is rewarded too."""

    compiled_methods = frozenset({"terminated"})

    def survival(self, simulation: Simulation, healthy: Quantity | None = None) -> Quantity:
        """Return the reward for health, or for ending."""
        healthy = self.health(simulation) if healthy is None else healthy
        switch = simulation.parameter("terminate_when_unhealthy")
        return (healthy | switch) * simulation.parameter("healthy_reward")

    @property
    def terminated(self) -> bool:
        """Whether the current simulation would end an episode."""
        return bool(self.with_health(self.ending))


def within(low: Quantity, x: Quantity, high: Quantity) -> Quantity:
    """Return whether `x` is strictly between two bounds."""
    return (low < x) & (x < high)


class PlanarWalker(ActionCost, Health):
    """A planar body whose first joints are x, height and angle of its torso, rewarded for velocity.

    Erez, Tassa and Todorov (2011); see docs/environments/mujoco/hopper.md.
    """

    reward_arguments = ("x_velocity", "action")

    def describe(self, simulation: Simulation) -> Description:
        """Reward velocity and health, minus the cost of the action."""
        s = simulation
        x = s.qpos[0]
        velocity = s.rate(x)
        forward = s.parameter("forward_reward_weight") * velocity
        healthy = self.health(s)
        survival = self.survival(s, healthy)
        effort = self.effort(s)
        positions = {"x_position": x, "z_distance_from_origin": s.qpos[1] - s.init_qpos[1]}
        return Description(
            observation=[s.qpos[self.skipped :], clip(s.qvel, -10.0, 10.0)],
            reward=(forward + survival) - effort,
            terminated=self.ending(s, healthy),
            infos={
                **positions,
                "x_velocity": velocity,
                "reward_forward": forward,
                "reward_ctrl": -effort,
                "reward_survive": survival,
            },
            reset_infos=positions,
            **uniform_start(s),
        )

    def health(self, simulation: Simulation) -> Quantity:
        """Return whether the torso is high and upright."""
        s = simulation
        low, high = s.bounds("healthy_z_range")
        min_angle, max_angle = s.bounds("healthy_angle_range")
        return within(low, s.qpos[1], high) & within(min_angle, s.qpos[2], max_angle)


class PlanarWalkerV4(HealthV4, PlanarWalker):
    """Planar walkers before v5: another healthy reward and fewer infos."""

    def describe(self, simulation: Simulation) -> Description:
        """Describe version 5, with fewer infos."""
        described = super().describe(simulation)
        infos = {name: described.infos[name] for name in ("x_position", "x_velocity")}
        return replace(described, infos=infos, reset_infos={}, number_types={})


class HumanoidBody(Joints):
    """The humanoid's body; arguments select the parts of its observation."""

    coordinates = 2
    _include_cinert_in_observation: bool = True
    _include_cvel_in_observation: bool = True
    _include_qfrc_actuator_in_observation: bool = True
    _include_cfrc_ext_in_observation: bool = True

    def observed(self, simulation: Simulation) -> list[Quantity]:
        """Return the observed quantities, without those of the world and of the root joint."""
        s = simulation
        parts = [s.qpos[self.skipped :], s.qvel]
        if self._include_cinert_in_observation:
            parts.append(s.data.cinert[10:])
        if self._include_cvel_in_observation:
            parts.append(s.data.cvel[6:])
        if self._include_qfrc_actuator_in_observation:
            parts.append(s.data.qfrc_actuator[6:])
        if self._include_cfrc_ext_in_observation:
            parts.append(s.data.cfrc_ext[6:])
        return parts

    def observed_v4(self, simulation: Simulation) -> list[Quantity]:
        """Return the quantities observed before v5, also those of the world and root joint."""
        s, data = simulation, simulation.data
        parts = [data.cinert, data.cvel, data.qfrc_actuator, data.cfrc_ext]
        return [s.qpos[self.skipped :], s.qvel, *parts]

    def cost_of_contacts(self, simulation: Simulation, name: str) -> Quantity:
        """Return the cost of contacts: `{name}_weight` times forces squared, in `{name}_range`."""
        cost = simulation.parameter(f"{name}_weight") * total(square(simulation.data.cfrc_ext))
        return clip(cost, *simulation.bounds(f"{name}_range"))

    @cached_property
    def observation_structure(self) -> dict[str, int] | None:
        """Count of numbers of each kind in an observation."""
        data = self.data
        return {
            **self.joint_structure(),
            "cinert": data.cinert[1:].size * self._include_cinert_in_observation,
            "cvel": data.cvel[1:].size * self._include_cvel_in_observation,
            "qfrc_actuator": (self.model.nv - 6) * self._include_qfrc_actuator_in_observation,
            "cfrc_ext": data.cfrc_ext[1:].size * self._include_cfrc_ext_in_observation,
            "ten_length": 0,
            "ten_velocity": 0,
        }
