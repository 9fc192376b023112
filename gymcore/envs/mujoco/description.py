"""Descriptions of environments: observations, rewards, the ends and the starts of episodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NotRequired, Protocol, TypedDict

import numpy as np
import numpy.typing as npt

from gymcore.envs.mujoco.quantities import (
    Action,
    Array,
    Computed,
    Constant,
    Draw,
    Float32Array,
    Op,
    Operand,
    Parameter,
    Quantity,
    before,
    joined,
    standard_normal,
    uniform,
)
from gymcore.error import ArgumentTypeError, InvalidArgument

if TYPE_CHECKING:
    import mujoco


@dataclass
class Description:
    """An environment over a MuJoCo model, run by compiled code; see `CompiledMujocoEnv.describe`.

    Attributes:
        observation: Quantities, which are joined to the observation, float64; or quantities by
            name, which are the arrays of a dict.
        reward: Reward of a step.
        qpos: Initial positions of an episode [nq]; None for what the statements of `start` leave.
        qvel: Initial velocities [nv], or None.
        terminated: Whether a step ends the episode; None for never.
        infos: Entries of the info dict of a step: numbers if their size is 1, otherwise arrays.
        reset_infos: Entries of the info dict of a reset; their names are among those of `infos`.
        draws: Random numbers that are drawn first, in this order. Others follow in the order in
            which `qpos` and `qvel` use them.
        control: Controls of the actuators [nu]; None for the action itself.
        action_size: Count of numbers in an action; None for the number of actuators.
        number_types: `int` or `float`, by the name of an info or by "reward": a single environment
            returns a Python number of this type there instead of a NumPy scalar. In batches, `int`
            infos are int64.
        shapes: Shapes of arrays of a dict of observations that are not [size].
        start: Statements (see `gymcore.envs.mujoco.statements`), which are executed after
            MuJoCo's data was reset and before `qpos` and `qvel` are set. If the last one is a
            `Forward`, it is executed at the end of the start instead of a plain `Forward()`.
        synchronized: Whether what follows from positions and velocities (frames of bodies, sensors)
            belongs to the end of a step, as in dm_control. Otherwise it belongs to the beginning of
            the last simulation step, as in Gymnasium.
        central_state: In a world of agents, quantities that are joined to its state for critics.
        random_state: Whether lanes draw as `numpy.random.RandomState(seed)`, from streams of their
            own, instead of as a `Generator`.
    """

    observation: Sequence[Operand] | Mapping[str, Operand]
    reward: Operand
    qpos: Operand | None = None
    qvel: Operand | None = None
    terminated: Operand | None = None
    infos: Mapping[str, Operand] = field(default_factory=dict)
    reset_infos: Mapping[str, Operand] = field(default_factory=dict)
    draws: Sequence[Draw] = ()
    control: Operand | None = None
    action_size: int | None = None
    number_types: Mapping[str, type] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    start: Sequence[object] = ()
    synchronized: bool = False
    random_state: bool = False
    central_state: Sequence[Operand] = ()


class UnknownName(InvalidArgument, KeyError):
    """A name that the model does not have; the message lists its names."""

    __str__ = Exception.__str__


class _Named(Protocol):
    id: int


def _number(kind: str, find: Callable[[str], _Named], name: str) -> int:
    """Return the index of a body or site, given its name."""
    try:
        number: int = find(name).id
    except KeyError as problem:
        raise UnknownName(f"{kind}: {problem.args[0]}") from None
    except TypeError:
        raise ArgumentTypeError(
            f"{kind}: expected a number or a name, got {name!r} ({type(name).__name__})"
        ) from None
    return number


# Kinds of objects whose arrays have names with these beginnings; others belong to bodies.
_KINDS = {
    **{kind: kind for kind in ("geom", "site", "light", "tendon", "actuator")},
    **dict.fromkeys(("jnt", "xanchor", "xaxis"), "joint"),
}


class Arrays:
    """The float64 arrays of a `mujoco.MjData` or `mujoco.MjModel`, as quantities of rank 1.

    An attribute of MuJoCo's object is the quantity. Contacts and constraints (`contact`, `efc_*`)
    are left out, because MuJoCo moves them in memory in every step. A start can also assign to
    float32 arrays of the model, such as `hfield_data`.
    """

    def __init__(self, owner: str, origin: mujoco.MjData | mujoco.MjModel) -> None:
        """Use the arrays of `origin`; `owner` is "data" or "model"."""
        self._owner = owner
        self._origin = origin

    def __getattr__(self, name: str) -> Array:
        """Return the array as a quantity.

        Raises:
            InvalidArgument: If there is no such array, it is not float64, or it moves in memory.
        """
        if name.startswith("__"):
            raise AttributeError(name)
        array = getattr(self._origin, name, None)
        moves = self._owner == "data" and name.startswith(("efc_", "contact", "iefc_"))
        if self._owner == "model" and isinstance(array, np.ndarray) and array.dtype == np.float32:
            return Float32Array(self._owner, name, array.size)
        if moves or not isinstance(array, np.ndarray) or array.dtype != np.float64:
            raise InvalidArgument(
                f"{self._owner}.{name}: expected the name of a float64 array with a fixed address, "
                f"got {'an array that moves' if moves else type(array).__name__}"
            )
        return Array(self._owner, name, array.size)

    def of(self, name: str, *objects: str) -> Quantity:
        """Return the joined rows of an array for bodies, geoms, sites, ..., given their names.

        Examples:
            >>> from gymcore.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv
            >>> HalfCheetahEnv().simulation().data.of("xmat", "torso", "bthigh").size
            18
        """
        kind = next((kind for start, kind in _KINDS.items() if name.startswith(start)), "body")
        finder = getattr(getattr(self._origin, "model", self._origin), kind)
        numbers = [_number(kind, finder, item) for item in objects]
        array = getattr(self._origin, name)
        if array.ndim == 1:
            return joined(*(getattr(self, name)[number] for number in numbers))
        return joined(*(self.rows(name, number) for number in numbers))

    def rows(self, name: str, index: int) -> Quantity:
        """Return one row of an array with two axes."""
        shape = getattr(self._origin, name).shape
        if not 0 <= index < shape[0]:
            raise InvalidArgument(f"index: expected one of {shape[0]} rows of {name}, got {index}")
        width = shape[1]
        array: Array = getattr(self, name)
        return array[index * width : (index + 1) * width]


class Simulation:
    """The quantities of a simulation, which a description combines.

    Attributes:
        data: The arrays of `mujoco.MjData`, such as `simulation.data.cfrc_ext`.
        model: The arrays of `mujoco.MjModel`, such as `simulation.model.body_mass`.
        positions: The first part of the environment's `state_vector()`, usually `qpos`.
        velocities: The rest of `state_vector()`, usually `qvel`.
        init_qpos: The model's initial positions, float64 [nq].
        init_qvel: The model's initial velocities, float64 [nv].
        dt: Simulated seconds in a step of the environment.
        nq: Number of positions; `nv`: of velocities; `nu`: of actuators.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        dt: float,
        init_qpos: npt.NDArray[np.float64],
        init_qvel: npt.NDArray[np.float64],
        fixed: Mapping[str, float] | None = None,
    ) -> None:
        """Store a model and its data; `fixed` has the parameters whose values cannot change."""
        self._fixed = fixed or {}
        self._data = data
        self._model = model
        self.data = Arrays("data", data)
        self.model = Arrays("model", model)
        self.dt = dt
        self.positions, self.velocities = self.qpos, self.qvel
        self.init_qpos = init_qpos
        self.init_qvel = init_qvel
        self.nq, self.nv, self.nu = model.nq, model.nv, model.nu

    @property
    def qpos(self) -> Quantity:
        """Positions [nq]."""
        return self.data.qpos

    @property
    def qvel(self) -> Quantity:
        """Velocities [nv]."""
        return self.data.qvel

    def action(self, size: int | None = None) -> Quantity:
        """Return the action of a step, of `size` numbers; by default one for each actuator."""
        return Action(self.nu if size is None else size)

    def parameter(self, name: str) -> Quantity:
        """Return a `Weight` of the environment's class, which may differ between lanes."""
        return Constant(self._fixed[name]) if name in self._fixed else Parameter(name)

    def bounds(self, name: str) -> tuple[Quantity, Quantity]:
        """Return both bounds of a `Range` of the environment's class."""
        return self.parameter(f"{name}_low"), self.parameter(f"{name}_high")

    def body_position(self, body: int | str) -> Quantity:
        """Return the position [3] of the frame of a body, given its index or name."""
        number = body if isinstance(body, int) else _number("body", self._data.body, body)
        return self.data.rows("xpos", number)

    def site_position(self, site: int | str) -> Quantity:
        """Return the position [3] of a site, given its index or name."""
        number = site if isinstance(site, int) else _number("site", self._data.site, site)
        return self.data.rows("site_xpos", number)

    def sensor(self, *names: str) -> Quantity:
        """Return the joined readings of sensors, given their names."""
        model, readings = self._model, self.data.sensordata
        numbers = [_number("sensor", model.sensor, name) for name in names]
        slices = [(model.sensor_adr[i], model.sensor_adr[i] + model.sensor_dim[i]) for i in numbers]
        return joined(*(readings[int(first) : int(end)] for first, end in slices))

    def joint_qpos(self, *names: str) -> Quantity:
        """Return the joined positions of joints, given their names: 7, 4 or 1 for each joint."""
        model = self._model
        sizes = {0: 7, 1: 4}
        numbers = [_number("joint", model.joint, name) for name in names]
        first = [(int(model.jnt_qposadr[i]), sizes.get(int(model.jnt_type[i]), 1)) for i in numbers]
        return joined(*(self.qpos[at : at + size] for at, size in first))

    def joint_qvel(self, *names: str) -> Quantity:
        """Return the joined velocities of joints, given their names: 6, 3 or 1 for each joint."""
        model = self._model
        sizes = {0: 6, 1: 3}
        numbers = [_number("joint", model.joint, name) for name in names]
        first = [(int(model.jnt_dofadr[i]), sizes.get(int(model.jnt_type[i]), 1)) for i in numbers]
        return joined(*(self.qvel[at : at + size] for at, size in first))

    def contact_count(self) -> Quantity:
        """Return the number of contacts."""
        return Computed(Op.CONTACTS, self.data.energy, size=1)

    def rate(self, quantity: Quantity) -> Quantity:
        """Return the change of a quantity in the step, per second."""
        return (quantity - before(quantity)) / self.dt


class Start(TypedDict):
    """The fields of a `Description` that say how an episode begins."""

    draws: NotRequired[Sequence[Draw]]
    qpos: Operand
    qvel: Operand


def uniform_start(simulation: Simulation) -> Start:
    """Return initial positions and velocities with uniform noise, scaled by `reset_noise_scale`."""
    s = simulation
    noise = s.parameter("reset_noise_scale")
    return {
        "qpos": s.init_qpos + uniform(-noise, noise, s.nq),
        "qvel": s.init_qvel + uniform(-noise, noise, s.nv),
    }


def normal_start(simulation: Simulation) -> Start:
    """Return initial positions with uniform noise and velocities with normal noise."""
    s = simulation
    noise = s.parameter("reset_noise_scale")
    return {**uniform_start(s), "qvel": s.init_qvel + noise * standard_normal(s.nv)}
