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
    Constant,
    Draw,
    Operand,
    Parameter,
    Quantity,
    before,
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
        observation: Quantities, which are joined to the observation, float64.
        reward: Reward of a step.
        qpos: Initial positions of an episode [nq].
        qvel: Initial velocities [nv].
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
    """

    observation: Sequence[Operand]
    reward: Operand
    qpos: Operand
    qvel: Operand
    terminated: Operand | None = None
    infos: Mapping[str, Operand] = field(default_factory=dict)
    reset_infos: Mapping[str, Operand] = field(default_factory=dict)
    draws: Sequence[Draw] = ()
    control: Operand | None = None
    action_size: int | None = None
    number_types: Mapping[str, type] = field(default_factory=dict)


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


class Arrays:
    """The float64 arrays of a `mujoco.MjData` or `mujoco.MjModel`, as quantities of rank 1.

    An attribute of MuJoCo's object is the quantity. Contacts and constraints (`contact`, `efc_*`)
    are left out, because MuJoCo moves them in memory in every step.
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
        if moves or not isinstance(array, np.ndarray) or array.dtype != np.float64:
            raise InvalidArgument(
                f"{self._owner}.{name}: expected the name of a float64 array with a fixed address, "
                f"got {'an array that moves' if moves else type(array).__name__}"
            )
        return Array(self._owner, name, array.size)

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
