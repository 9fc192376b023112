"""LunarLander: land a small craft between two flags, using three engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.envs.box2d.box2d_env import ContactDetector as ContactDetector
from gymcore.envs.box2d.library import problem
from gymcore.envs.box2d.lunar_lander_compiled import LunarLanderVectorEnv as LunarLanderVectorEnv
from gymcore.envs.box2d.lunar_lander_python import *  # noqa: F403

if TYPE_CHECKING or problem() is None:
    from gymcore.envs.box2d.lunar_lander_compiled import LunarLander as LunarLander
else:
    from gymcore.envs.box2d.lunar_lander_python import LunarLander as LunarLander


class LunarLanderContinuous:
    """Gymnasium's name for `make("LunarLanderContinuous-v3")`; it cannot be instantiated."""

    def __init__(self) -> None:
        """Raise an `Error` that says how to make the environment."""
        raise error.Error(
            "Error initializing LunarLanderContinuous Environment.\n"
            "Currently, we do not support initializing this mode of environment by calling the "
            "class directly.\n"
            "To use this environment, instead create it by specifying the continuous keyword in "
            'gym.make, i.e.\ngym.make("LunarLander-v3", continuous=True)'
        )


# --- a controller --------------------------------------------------------------------------------


def heuristic(env: Any, s: npt.NDArray[np.float32]) -> int | npt.NDArray[np.float64]:
    """Choose an action that lands the craft; the mean return is above 200.

    Args:
        env: The lander, with or without wrappers, or anything whose `unwrapped` has `continuous`.
        s: The observation [8].

    Returns:
        An action of the environment: an int, or an array [2].

    Examples:
        >>> import gymcore as gym
        >>> env = gym.make("LunarLander-v3")
        >>> observation, info = env.reset(seed=1)
        >>> heuristic(env, observation) in env.action_space
        True
    """
    x, y, x_speed, y_speed, angle, turn, leg_1, leg_2 = s
    # Lean toward the pad, the more the farther and the faster the craft is away from it.
    wanted_angle = np.minimum(np.maximum(x * 0.5 + x_speed * 1.0, -0.4), 0.4)
    wanted_height = 0.55 * np.abs(x)
    turning = (wanted_angle - angle) * 0.5 - turn * 1.0
    lifting = (wanted_height - y) * 0.5 - y_speed * 0.5
    if leg_1 or leg_2:
        turning = 0
        lifting = -y_speed * 0.5  # on the ground, only slow down
    if env.unwrapped.continuous:
        action: npt.NDArray[np.float64] = np.array([lifting * 20 - 1, -turning * 20])
        return action.clip(-1, +1)
    if lifting > np.abs(turning) and lifting > 0.05:
        return 2
    if turning < -0.05:
        return 3
    return 1 if turning > 0.05 else 0


def demo_heuristic_lander(env: Any, seed: int | None = None, render: bool = False) -> float:
    """Run one episode with `heuristic`, print its progress and return the sum of rewards."""
    total, steps, ended = 0.0, 0, False
    observation, _ = env.reset(seed=seed)
    while not ended:
        observation, reward, terminated, truncated, _ = env.step(heuristic(env, observation))
        ended = terminated or truncated
        total += reward
        if render and env.render() is False:
            break
        if ended or steps % 20 == 0:
            print("observations:", " ".join(f"{number:+0.2f}" for number in observation))
            print(f"step {steps} total_reward {total:+0.2f}")
        steps += 1
    if render:
        env.close()
    return total
