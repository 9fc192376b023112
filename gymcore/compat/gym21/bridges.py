"""Functions that convert environments between the current interface and that of Gym 0.21."""

from __future__ import annotations

from typing import Any

from gymcore import error
from gymcore.compat.gym21.core import Env as OldEnv
from gymcore.compat.gym21.done_envs import DoneEnv, DoneVectorEnv
from gymcore.compat.old_envs import EnvCompatibility, VectorEnvCompatibility
from gymcore.core import Env

__all__ = ["from_done_api", "to_done_api"]


def is_vector_env(env: object) -> bool:
    """Return whether `env` is a vector environment, or a wrapper of Gym 0.26 around one."""
    return bool(getattr(env, "is_vector_env", False))


def to_done_api(env: object) -> Any:
    """Return an environment, or a vector environment, with the interface of Gym 0.21.

    `reset()` returns an observation, and `step(action)` returns observation, reward, done and info.
    `seed(seed)` sets the seed of the next reset, and `render(mode="human")` takes a mode. At the
    end of an episode, `info["TimeLimit.truncated"]` tells whether it was truncated. A vector
    environment returns a list of infos. It resets ended environments in the same step and stores
    their final observations in `info["terminal_observation"]`.

    Args:
        env: An `Env` or a `VectorEnv`. An environment that already has the old interface is
            returned unchanged.

    Raises:
        ArgumentTypeError: If `env` is neither of them.

    Examples:
        >>> import gymcore as gym
        >>> env = to_done_api(gym.make("CartPole-v1", max_episode_steps=1))
        >>> env.seed(7)
        [7]
        >>> observation = env.reset()
        >>> observation, reward, done, info = env.step(0)
        >>> done, info
        (True, {'TimeLimit.truncated': True})

        >>> envs = to_done_api(gym.make_vec("CartPole-v1", num_envs=2, max_episode_steps=1))
        >>> observations = envs.reset()
        >>> observations, rewards, dones, infos = envs.step([0, 1])
        >>> dones, [sorted(info) for info in infos][0]
        (array([ True,  True]), ['TimeLimit.truncated', 'terminal_observation'])
    """
    if isinstance(env, OldEnv):
        return env
    if isinstance(env, (EnvCompatibility, VectorEnvCompatibility)):
        return env.env
    if is_vector_env(env):
        return DoneVectorEnv(env)
    if isinstance(env, Env):
        return DoneEnv(env)
    raise error.ArgumentTypeError(
        f"env: expected a gymcore.Env or gymcore.vector.VectorEnv, got {type(env)}"
    )


def from_done_api(env: object, render_mode: str | None = None) -> Any:
    """Return an environment of Gym 0.21, or a vector environment, with the current interface.

    Args:
        env: The old environment. It is treated as a vector environment if `is_vector_env` is true
            or, without this attribute, if it has `single_observation_space` or an integer
            `num_envs`.
        render_mode: Mode used by `render`.

    Returns:
        An `Env`, or a `VectorEnv` with `SAME_STEP` autoreset. A result of `to_done_api` is
        unwrapped.

    Raises:
        ArgumentTypeError: If `env` has no method `reset` or `step`.

    Examples:
        >>> import gymcore as gym
        >>> env = gym.make("CartPole-v1")
        >>> from_done_api(to_done_api(env)) is env
        True
    """
    if isinstance(env, (DoneEnv, DoneVectorEnv)) and env.waiting_seed is None:
        return env.env
    for method in ("reset", "step"):
        if not callable(getattr(env, method, None)):
            raise error.ArgumentTypeError(
                f"env: expected an environment with `reset` and `step`, got {type(env)}"
            )
    is_batch = getattr(env, "is_vector_env", None)
    if is_batch is None:
        has_spaces = hasattr(env, "single_observation_space")
        is_batch = has_spaces or isinstance(getattr(env, "num_envs", None), int)
    return (VectorEnvCompatibility if is_batch else EnvCompatibility)(env, render_mode)
