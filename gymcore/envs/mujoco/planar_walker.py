"""What Hopper and Walker2d are: a torso on legs, in a plane, that is to get along upright."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gymcore.envs.mujoco.costs import ActionCost, EarlyHealth, Health, within
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import Quantity, clip
from gymcore.envs.mujoco.starts import uniform_start
from gymcore.envs.mujoco.weights import Bonus, Range, Scale, Switch, Weight


class PlanarWalker(ActionCost, Health):
    """A body whose first joints are x, height and angle of its torso, rewarded for its velocity.

    Erez, Tassa and Todorov (2011). See docs/environments/mujoco.md for the figures.
    """

    forward_reward_weight = Weight()
    ctrl_cost_weight = Weight()
    healthy_reward = Bonus()
    terminate_when_unhealthy = Switch()
    healthy_z_range = Range()
    healthy_angle_range = Range()
    reset_noise_scale = Scale()

    def __init__(
        self,
        xml_file: str,
        frame_skip: int,
        exclude_current_positions_from_observation: bool,
        **kwargs: Any,
    ) -> None:
        """Load the model and compile the description.

        Args:
            xml_file: the model's file, see `expand_model_path`.
            frame_skip: simulation steps of a step.
            exclude_current_positions_from_observation: whether x is left out.
            **kwargs: weights, and see `CompiledMujocoEnv`.
        """
        self._exclude_current_positions_from_observation = (
            exclude_current_positions_from_observation
        )
        super().__init__(xml_file, frame_skip, **kwargs)

    def _structure(self) -> dict[str, int]:
        """How many numbers of each kind an observation has."""
        skipped = 1 * self._exclude_current_positions_from_observation
        return {
            "skipped_qpos": skipped,
            "qpos": self.model.nq - skipped,
            "qvel": self.model.nv,
        }

    def describe(self, simulation: Simulation) -> Description:
        """Velocity and health less effort, on joints as seen in the plane."""
        s = simulation
        skipped = 1 * self._exclude_current_positions_from_observation
        x = s.qpos[0]
        velocity = s.rate(x)
        forward = s.parameter("forward_reward_weight") * velocity
        healthy = self.health(s)
        survival = self.survival(s, healthy)
        effort = self.effort(s)
        positions = {"x_position": x, "z_distance_from_origin": s.qpos[1] - s.init_qpos[1]}
        return Description(
            observation=[s.qpos[skipped:], clip(s.qvel, -10.0, 10.0)],
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
        """Whether the torso is high and upright."""
        s = simulation
        low, high = s.bounds("healthy_z_range")
        least, most = s.bounds("healthy_angle_range")
        return within(low, s.qpos[1], high) & within(least, s.qpos[2], most)


class EarlyPlanarWalker(EarlyHealth, PlanarWalker):
    """As before v5: other bonuses and fewer infos."""

    def describe(self, simulation: Simulation) -> Description:
        """As version 5 describes it, with fewer infos."""
        described = super().describe(simulation)
        infos = {name: described.infos[name] for name in ("x_position", "x_velocity")}
        return replace(described, infos=infos, reset_infos={})
