"""Cartpole: a cart balances poles."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gymcore.envs.dm_control.models import model_xml
from gymcore.envs.dm_control.suite import ControlEnv, ControlVectorEnv, Tasks, elements, scalar
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import joined, mean, product, smallest, standard_normal, uniform
from gymcore.envs.mujoco.statements import Assign
from gymcore.envs.mujoco.tolerance import tolerance


class CartpoleEnv(ControlEnv):
    """A cart on a rail balances one or several poles, or swings them up.

    Examples:
        >>> env = CartpoleEnv("swingup")
        >>> observation, info = env.reset(seed=1)
        >>> {name: array.shape for name, array in observation.items()}
        {'position': (3,), 'velocity': (2,)}
    """

    domain = "cartpole"
    tasks: ClassVar[Tasks] = {
        "balance": {"swing_up": False, "sparse": False, "num_poles": 1},
        "balance_sparse": {"swing_up": False, "sparse": True, "num_poles": 1},
        "swingup": {"swing_up": True, "sparse": False, "num_poles": 1},
        "swingup_sparse": {"swing_up": True, "sparse": True, "num_poles": 1},
        "two_poles": {"swing_up": True, "sparse": False, "num_poles": 2},
        "three_poles": {"swing_up": True, "sparse": False, "num_poles": 3},
    }

    def model_xml(self) -> str:
        """Return the model with its poles."""
        return model_xml("cartpole", poles=self.options["num_poles"])

    def describe(self, simulation: Simulation) -> Description:
        """Reward upright poles, a cart near the middle, small controls and velocities."""
        s = simulation
        cart, poles = s.qpos[0], [f"pole_{k}" for k in range(1, self.options["num_poles"] + 1)]
        frames = s.data.of("xmat", *poles)
        cosines = frames[8::9]
        upright = [elements(frames, 9 * k + 8, 9 * k + 2) for k in range(len(poles))]
        if self.options["sparse"]:
            reward = tolerance(cart, (-0.25, 0.25)) * product(tolerance(cosines, (0.995, 1.0)))
        else:
            centered = (1.0 + tolerance(cart, margin=2.0)) / 2.0
            velocities = tolerance(s.qvel[1:], margin=5.0, vector=True)
            control = tolerance(
                s.data.ctrl, margin=1.0, value_at_margin=0.0, sigmoid="quadratic", vector=True
            )
            reward = (
                mean((cosines + 1.0) / 2.0)
                * ((4.0 + control) / 5.0)
                * ((1.0 + smallest(velocities)) / 2.0)
                * centered
            )
        return self.described(
            observation={"position": joined(cart, *upright), "velocity": s.qvel},
            reward=reward,
            start=self.start(s),
        )

    def start(self, s: Simulation) -> list[object]:
        """Return the start: poles that hang or stand nearly still."""
        if self.options["swing_up"]:
            positions = [
                Assign(s.qpos[0], 0.01 * standard_normal(1)),
                Assign(s.qpos[1], np.pi + 0.01 * standard_normal(1)),
                Assign(s.qpos[2:], 0.1 * standard_normal(s.nv - 2)),
            ]
        else:
            positions = [
                Assign(s.qpos[0], scalar(-0.1, 0.1)),
                Assign(s.qpos[1:], uniform(-0.034, 0.034, s.nv - 1)),
            ]
        return [*positions, Assign(s.qvel, 0.01 * standard_normal(s.nv))]


CartpoleVectorEnv = ControlVectorEnv.of(CartpoleEnv)
