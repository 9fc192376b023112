"""Terms of rewards that several environments share, and the attributes that users read them by."""

from __future__ import annotations

import numpy.typing as npt

from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Simulation
from gymcore.envs.mujoco.quantities import Quantity, square, total


class ActionCost(CompiledMujocoEnv):
    """A cost of `ctrl_cost_weight` on the squared action."""

    def effort(self, simulation: Simulation) -> Quantity:
        """The cost of the action."""
        return simulation.parameter("ctrl_cost_weight") * total(square(simulation.action()))

    def control_cost(self, action: npt.ArrayLike) -> float:
        """The cost of an action [nu]."""
        return float(self.value_of(self.effort, action)[0])


class ControlCost(CompiledMujocoEnv):
    """A cost of `ctrl_cost_weight` on the squared controls of the simulation."""

    def effort(self, simulation: Simulation) -> Quantity:
        """The cost of the controls."""
        return simulation.parameter("ctrl_cost_weight") * total(square(simulation.data.ctrl))

    def control_cost(self, action: npt.ArrayLike) -> float:
        """The cost of the controls that the simulation has; `action` plays no part."""
        return float(self.value_of(self.effort)[0])


class Health(CompiledMujocoEnv):
    """A bonus of `healthy_reward` while the simulation is healthy, and an end when it is not.

    A subclass declares the weights `healthy_reward` (a `Bonus`) and `terminate_when_unhealthy` (a
    `Switch`), and writes `health`.
    """

    def health(self, simulation: Simulation) -> Quantity:
        """Whether the simulation is healthy."""
        raise NotImplementedError(f"{type(self).__name__} has no health(simulation)")

    def survival(self, simulation: Simulation, healthy: Quantity | None = None) -> Quantity:
        """What is paid for being healthy; `healthy` is `health(simulation)`, if it is at hand."""
        healthy = self.health(simulation) if healthy is None else healthy
        return healthy * simulation.parameter("healthy_reward")

    def ending(self, simulation: Simulation, healthy: Quantity | None = None) -> Quantity:
        """Whether the episode ends for want of health; `healthy` as for `survival`."""
        healthy = self.health(simulation) if healthy is None else healthy
        return ~healthy & simulation.parameter("terminate_when_unhealthy")

    @property
    def is_healthy(self) -> bool:
        """Whether the simulation is healthy as it is."""
        return bool(self.value_of(self.health)[0])


class EarlyHealth(Health):
    """As before v5: the bonus is paid whenever unhealth ends the episode, healthy or not."""

    def survival(self, simulation: Simulation, healthy: Quantity | None = None) -> Quantity:
        """What is paid for being healthy, or about to end."""
        healthy = self.health(simulation) if healthy is None else healthy
        switch = simulation.parameter("terminate_when_unhealthy")
        return (healthy | switch) * simulation.parameter("healthy_reward")

    @property
    def terminated(self) -> bool:
        """Whether the simulation as it is would end an episode."""
        return bool(self.value_of(self.ending)[0])


def within(low: Quantity, x: Quantity, high: Quantity) -> Quantity:
    """Whether x is between two bounds, and equal to none."""
    return (low < x) & (x < high)


__all__ = ["ActionCost", "ControlCost", "EarlyHealth", "Health", "within"]
