"""Wrappers of Gym 0.26 that know where episodes begin and end."""

from __future__ import annotations

from typing import Any, SupportsFloat

from gymcore import error
from gymcore.compat.forwarding import Forwarding
from gymcore.core import Env, Wrapper
from gymcore.utils import RecordConstructorArgs
from gymcore.wrappers import common

__all__ = ["AutoResetWrapper", "OrderEnforcing", "TimeLimit"]


class AutoResetWrapper(Forwarding, Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Reset in the step that ends an episode (Gym 0.26).

    That step returns the first observation of the new episode, with the reward and flags of the
    old one. The info is the new episode's, with the last observation and info of the old one under
    `final_observation` and `final_info`, and under `terminal_observation` and `terminal_info`, as
    Gym 0.25 had them. `Autoreset` is the wrapper of Gymnasium 1.x, which resets one step later.

    Example:
        >>> import gymcore as gym
        >>> env = AutoResetWrapper(gym.make("Pendulum-v1", max_episode_steps=2))
        >>> observation, info = env.reset(seed=1)
        >>> first = env.step([0.0])
        >>> *_, truncated, info = env.step([0.0])
        >>> truncated, sorted(info)
        (True, ['final_info', 'final_observation', 'terminal_info', 'terminal_observation'])
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
        """
        RecordConstructorArgs.__init__(self)
        Wrapper.__init__(self, env)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment, and reset it if its episode ended.

        Raises:
            FailedCheck: (also an `AssertionError`) if the info of the reset has one of the names.
        """
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            first, new_info = self.env.reset()
            last = {
                "final_observation": observation,
                "final_info": info,
                "terminal_observation": observation,
                "terminal_info": info,
            }
            for key in last:
                if key in new_info:
                    raise error.FailedCheck(
                        f'info dict cannot contain key "{key}", which AutoResetWrapper uses'
                    )
            observation, info = first, {**new_info, **last}
        return observation, reward, terminated, truncated, info


class TimeLimit(Forwarding, common.TimeLimit[Any, Any]):
    """Truncate episodes after a number of steps (Gym 0.26).

    As `gymcore.wrappers.TimeLimit`, but the limit may be left out. In the done API (see
    `gymcore.compat`), `info["TimeLimit.truncated"]` says that an episode was cut off.

    Example:
        >>> import gymcore as gym
        >>> env = gym.make("Pendulum-v1")
        >>> TimeLimit(env).spec.max_episode_steps
        200
    """

    def __init__(self, env: Env[Any, Any], max_episode_steps: int | None = None) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            max_episode_steps: Steps after which an episode is truncated, at least 1; None for the
                limit that the environment was registered with.

        Raises:
            ArgumentTypeError: if no limit is given, and none was registered.
            InvalidArgument: if it is not positive.
        """
        if max_episode_steps is None:
            spec = env.spec if isinstance(env, Env) else None
            max_episode_steps = None if spec is None else spec.max_episode_steps
            if max_episode_steps is None:
                if not isinstance(env, Env):
                    raise error.ArgumentTypeError(
                        f"Expected env to be a `gymcore.Env` but got {type(env)}"
                    )
                raise error.ArgumentTypeError(
                    "max_episode_steps: expected an integer, got None, and the environment was "
                    "registered without one"
                )
        common.TimeLimit.__init__(self, env, max_episode_steps)


class OrderEnforcing(Forwarding, common.OrderEnforcing[Any, Any]):
    """Raise if `step` or `render` is called before `reset`; arguments of `render` are handed on.

    Gym 0.26: as `gymcore.wrappers.OrderEnforcing`, whose `render` takes no arguments.
    """

    def render(self, *args: Any, **kwargs: Any) -> Any:
        """Render the environment.

        Args:
            *args: For the environment's `render`.
            **kwargs: Likewise.

        Raises:
            ResetNeeded: if it was not reset, unless `disable_render_order_enforcing`.
        """
        if (args or kwargs) and (self._disable_render_order_enforcing or self._has_reset):
            return self.env.render(*args, **kwargs)
        return super().render()
