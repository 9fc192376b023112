"""Descriptions: what is observed and rewarded in a simulation, when it ends, how it starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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


@dataclass
class Description:
    """An environment on a MuJoCo model, for compiled code to run; see `CompiledMujocoEnv.describe`.

    Attributes:
        observation: quantities, one after another in the observation (float64).
        reward: of a step.
        qpos: initial positions of an episode [nq].
        qvel: initial velocities [nv].
        terminated: whether a step ends the episode; None for never.
        infos: entries of the info dict of a step: numbers if of size 1, else arrays.
        reset_infos: entries of the info dict of a reset; their names are among those of `infos`.
        draws: random numbers to draw first, in this order; those that only `qpos` and `qvel` use
            follow in the order of their use.
        control: controls of the actuators [nu]; None for the action itself.
        action_size: numbers in an action; None for the number of actuators.
        number_types: `int` or `float` by the name of an info, or "reward", that a single
            environment returns as such a number, not as a NumPy scalar. In batches `int` infos are
            int64.
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


def _number(kind: str, find: Callable[[str], Any], name: str) -> int:
    """Return the number of a body or site by its name."""
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
    """The float64 arrays of a `mujoco.MjData` or `mujoco.MjModel` as quantities, by name, flat.

    Contacts and constraints (`contact`, `efc_*`) are left out: they move in memory with every step.
    """

    def __init__(self, owner: str, origin: Any) -> None:
        """Take arrays of `origin`; `owner` is "data" or "model"."""
        self._owner = owner
        self._origin = origin

    def __getattr__(self, name: str) -> Array:
        """Return the array as a quantity.

        Raises:
            InvalidArgument: there is no such array, or it is not float64, or it moves in memory.
        """
        if name.startswith("__"):
            raise AttributeError(name)
        array = getattr(self._origin, name, None)
        moves = self._owner == "data" and name.startswith(("efc_", "contact", "iefc_"))
        if moves or not isinstance(array, np.ndarray) or array.dtype != np.float64:
            raise InvalidArgument(
                f"{self._owner}.{name}: expected the name of a float64 array that stays where "
                f"it is, got {'one that moves' if moves else type(array).__name__}"
            )
        return Array(self._owner, name, array.size)

    def rows(self, name: str, index: int) -> Quantity:
        """Return one row of an array with two axes."""
        shape = getattr(self._origin, name).shape
        if not 0 <= index < shape[0]:
            raise InvalidArgument(f"index: expected a row of {shape[0]} of {name}, got {index}")
        width = shape[1]
        return getattr(self, name)[index * width : (index + 1) * width]


class Simulation:
    """The quantities of a model's simulation, which descriptions are made of.

    Attributes:
        qpos: positions [nq]; `qvel`: velocities [nv].
        action: the action [action_size], for rewards and controls.
        data: arrays of `mujoco.MjData` by name, e.g. `simulation.data.cfrc_ext`.
        model: arrays of `mujoco.MjModel` by name, e.g. `simulation.model.body_mass`.
        init_qpos: the model's initial positions [nq] float64; `init_qvel`: velocities.
        dt: simulated seconds in a step.
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        dt: float,
        init_qpos: npt.NDArray[np.float64],
        init_qvel: npt.NDArray[np.float64],
        fixed: Mapping[str, float] | None = None,
    ) -> None:
        """Take a model and its data; `fixed` are parameters that cannot change."""
        self._fixed = fixed or {}
        self._data = data
        self._model = model
        self.data = Arrays("data", data)
        self.model = Arrays("model", model)
        self.dt = dt
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
        """Return the action of a step, of `size` numbers, by default one for each actuator."""
        return Action(self.nu if size is None else size)

    def parameter(self, name: str) -> Quantity:
        """Return a `Weight` of the environment's class, which may differ between lanes."""
        return Constant(self._fixed[name]) if name in self._fixed else Parameter(name)

    def bounds(self, name: str) -> tuple[Quantity, Quantity]:
        """Return both bounds of a `Range` of the environment's class."""
        return self.parameter(f"{name}_low"), self.parameter(f"{name}_high")

    def body_position(self, body: int | str) -> Quantity:
        """Return the position of a body's frame [3], by its number or name."""
        return self.data.rows("xpos", body if isinstance(body, int) else self._body(body))

    def site_position(self, site: int | str) -> Quantity:
        """Return the position of a site [3], by its number or name."""
        number = site if isinstance(site, int) else _number("site", self._data.site, site)
        return self.data.rows("site_xpos", number)

    def _body(self, name: str) -> int:
        return _number("body", self._data.body, name)

    def rate(self, quantity: Quantity) -> Quantity:
        """Return the rate at which a quantity changed in the step, per second."""
        return (quantity - before(quantity)) / self.dt


def uniform_start(simulation: Simulation) -> dict[str, Any]:
    """Positions and velocities off by uniform noise of `reset_noise_scale`.

    Returns:
        `qpos` and `qvel` of a `Description`.
    """
    s = simulation
    noise = s.parameter("reset_noise_scale")
    return {
        "qpos": s.init_qpos + uniform(-noise, noise, s.nq),
        "qvel": s.init_qvel + uniform(-noise, noise, s.nv),
    }


def normal_start(simulation: Simulation) -> dict[str, Any]:
    """Positions off by uniform noise of `reset_noise_scale`, velocities by normal noise of it.

    Returns:
        `qpos` and `qvel` of a `Description`.
    """
    s = simulation
    noise = s.parameter("reset_noise_scale")
    return {
        "qpos": s.init_qpos + uniform(-noise, noise, s.nq),
        "qvel": s.init_qvel + noise * standard_normal(s.nv),
    }
