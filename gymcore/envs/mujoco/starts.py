"""Where episodes of the environments begin: around the model's own initial state."""

from __future__ import annotations

from typing import Any

from gymcore.envs.mujoco.description import Simulation
from gymcore.envs.mujoco.quantities import standard_normal, uniform


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
