"""Wrappers of Gym 0.26 that concern episodes, and the values that a step returns."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base.arguments import count
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.compat.gym26.core import Wrapper
from gymcore.core import Env, Info
from gymcore.utils.step_api_compatibility import step_api_compatibility
from gymcore.vector import AutoresetMode
from gymcore.vector.utils.infos import split_info
from gymcore.vector.vector_env import VectorEnv, VectorStep
from gymcore.wrappers import common
from gymcore_ext.python_envs.infos import copied

__all__ = [
    "AutoResetWrapper",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "StepAPICompatibility",
    "TimeLimit",
    "VectorListInfo",
]


class AutoResetWrapper(Wrapper, RecordConstructorArgs):
    """Reset in the step that ends an episode (Gym 0.26).

    That step returns the first observation of the new episode, and the reward and flags of the old
    one. The info is that of the new episode. It also contains the final observation and info of the
    old one, as `final_observation` and `final_info` and under their names in Gym 0.25,
    `terminal_observation` and `terminal_info`; a reset that returns one of these keys raises
    `FailedCheck`. `gymcore.wrappers.Autoreset`, as in Gymnasium 1.x, resets one step later.

    Examples:
        >>> import gymcore as gym
        >>> env = AutoResetWrapper(gym.make("Pendulum-v1", max_episode_steps=2))
        >>> observation, info = env.reset(seed=1)
        >>> first = env.step([0.0])
        >>> *_, truncated, info = env.step([0.0])
        >>> truncated, sorted(info)
        (True, ['final_info', 'final_observation', 'terminal_info', 'terminal_observation'])
    """

    def step(self, action: object) -> VectorStep:
        """Step the environment, and reset it if its episode ended."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            # Copies: the environment may use the same objects again in reset.
            last = {"observation": copied(observation), "info": copied(info)}
            reward = copied(reward)
            first, new_info = self.env.reset()
            last = {f"{era}_{key}": last[key] for era in ("final", "terminal") for key in last}
            for key in last.keys() & new_info.keys():
                raise error.FailedCheck(
                    f'info dict cannot contain key "{key}", which AutoResetWrapper uses'
                )
            observation, info = first, {**new_info, **last}
        return observation, reward, terminated, truncated, info


class TimeLimit(common.TimeLimit, Wrapper):
    """Truncate episodes after a number of steps (Gym 0.26).

    Identical to `gymcore.wrappers.TimeLimit`, except that the limit is optional.

    Examples:
        >>> import gymcore as gym
        >>> env = gym.make("Pendulum-v1")
        >>> TimeLimit(env).spec.max_episode_steps
        200
    """

    def __init__(self, env: Env, max_episode_steps: int | None = None) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            max_episode_steps: As in `gymcore.wrappers.TimeLimit`. None means the limit with which
                the environment was registered; if there is none, the call raises
                `ArgumentTypeError`.
        """
        if max_episode_steps is None and isinstance(env, Env):
            max_episode_steps = None if env.spec is None else env.spec.max_episode_steps
            if max_episode_steps is None:
                raise error.ArgumentTypeError(
                    "max_episode_steps: expected an integer, got None, and the environment was "
                    "registered without a time limit"
                )
        common.TimeLimit.__init__(self, env, 1 if max_episode_steps is None else max_episode_steps)

    def reset(self, **kwargs: object) -> tuple[object, Info]:
        """Reset the environment and the step counter."""
        result: tuple[object, Info] = self.env.reset(**kwargs)
        self._elapsed_steps = 0
        return result


class PassiveEnvChecker(common.PassiveEnvChecker, Wrapper):
    """Check the environment while it runs, as `gymcore.wrappers.PassiveEnvChecker` does."""

    def reset(self, **kwargs: object) -> tuple[object, Info]:
        """Reset the environment; check the first reset."""
        return self.env.reset(**kwargs) if self.checked_reset else self._check_reset(**kwargs)


class OrderEnforcing(common.OrderEnforcing, Wrapper):
    """Raise if `step` or `render` is called before `reset` (Gym 0.26).

    Identical to `gymcore.wrappers.OrderEnforcing`, except that arguments of `render` are passed on.
    """

    def reset(self, **kwargs: object) -> tuple[object, Info]:
        """Reset the environment."""
        self._has_reset = True
        result: tuple[object, Info] = self.env.reset(**kwargs)
        return result

    def render(self, *args: object, **kwargs: object) -> Any:
        """Render the environment with any arguments that its `render` accepts."""
        if (args or kwargs) and (self._disable_render_order_enforcing or self._has_reset):
            return self.env.render(*args, **kwargs)
        return super().render()


class RecordEpisodeStatistics(Wrapper, RecordConstructorArgs):
    """Add the return, length and time of an episode to the info of its last step (Gym 0.26).

    `info["episode"]` is `{"r": return, "l": steps, "t": seconds since this wrapper was made}`: a
    float32 scalar, an int32 scalar and a float. The info is a new dict.

    For a vector environment, `infos["episode"]` is a dict of float64 arrays [num_envs], which are 0
    where no episode has ended, and `infos["_episode"]` is the mask of ended episodes.

    Attributes:
        t0: Time at which the wrapper was made, from `time.perf_counter`, in seconds.
        num_envs: 1, or the number of lanes.
        episode_count: Number of completed episodes.
        episode_returns: Returns of the current episodes so far, float32 [num_envs].
        episode_lengths: Numbers of steps of the current episodes so far, int32 [num_envs].
        return_queue: Returns of the last `deque_size` episodes.
        length_queue: Lengths of the last `deque_size` episodes.

    Examples:
        >>> import gymcore as gym
        >>> envs = RecordEpisodeStatistics(gym.vector.make("CartPole-v1", num_envs=2))
        >>> _ = envs.reset(seed=2)
        >>> while "episode" not in (infos := envs.step([1, 0])[4]):
        ...     pass
        >>> infos["episode"]["l"], infos["_episode"]
        (array([0., 9.]), array([False,  True]))
    """

    def __init__(self, env: Env | VectorEnv, deque_size: int | None = 100) -> None:
        """Wrap an environment or a vector environment.

        Args:
            env: The environment.
            deque_size: Maximum length of the queues; None for no limit.
        """
        if deque_size is not None:
            deque_size = count("deque_size", deque_size, 0)
        Wrapper.__init__(self, env)
        self.is_vector_env = getattr(env, "is_vector_env", False)
        self.num_envs = getattr(env, "num_envs", 1)
        self.t0 = time.perf_counter()
        self.episode_count = 0
        self.episode_returns = np.zeros(self.num_envs, np.float32)
        self.episode_lengths = np.zeros(self.num_envs, np.int32)
        self.return_queue: deque[np.float32] = deque(maxlen=deque_size)
        self.length_queue: deque[np.int32] = deque(maxlen=deque_size)
        # In next-step mode, the step after the end of an episode only resets the lane.
        mode = env.metadata.get("autoreset_mode") if self.is_vector_env else None
        self._resets_in_next_step = mode is AutoresetMode.NEXT_STEP
        self._resetting = np.zeros(self.num_envs, np.bool_)

    def reset(self, **kwargs: object) -> tuple[object, Info]:
        """Reset the environment and the statistics of its episodes."""
        result: tuple[object, Info] = self.env.reset(**kwargs)
        options: Any = kwargs.get("options") or {}
        begun = options.get("reset_mask", slice(None))
        self.episode_returns[begun] = 0
        self.episode_lengths[begun] = 0
        return result

    def step(self, action: object) -> Any:
        """Step the environment, and add the statistics of episodes that ended."""
        observation, reward, *flags, info = self.env.step(action)
        self.episode_returns += reward
        self.episode_lengths += 1
        self.episode_returns[self._resetting] = 0
        self.episode_lengths[self._resetting] = 0
        ended = np.atleast_1d(np.logical_or(flags[0], flags[-1]))
        if self._resets_in_next_step:
            self._resetting = ended
        if ended.any():
            returns, lengths = self.episode_returns, self.episode_lengths
            info = self._add_episodes(info, self._episode_infos(ended))
            self.return_queue.extend(returns[ended])
            self.length_queue.extend(lengths[ended])
            self.episode_count += int(ended.sum())
            returns[ended] = 0
            lengths[ended] = 0
        return observation, reward, *flags, info

    def _add_episodes(self, info: Info, added: Info) -> object:
        return {**info, **added}

    def _episode_infos(self, ended: npt.NDArray[np.bool_]) -> Info:
        """Return the entries to add to the info of this step."""
        duration = round(time.perf_counter() - self.t0, 6)
        returns, lengths = self.episode_returns, self.episode_lengths
        if not self.is_vector_env:
            return {"episode": {"r": returns[0], "l": lengths[0], "t": duration}}
        values = {
            "r": np.where(ended, returns, 0.0).astype(np.float64),
            "l": np.where(ended, lengths, 0).astype(np.float64),
            "t": np.where(ended, duration, 0.0),
        }
        return {"episode": values, "_episode": ended}


class StepAPICompatibility(Wrapper, RecordConstructorArgs):
    """Convert the result of `step` to five or four values (Gym 0.26).

    Five values are observation, reward, terminated, truncated, info. Four are observation, reward,
    done, info, where `info["TimeLimit.truncated"]` tells how the episode ended. Only `step`
    changes; `gymcore.compat.to_done_api` also converts `reset`, `render` and seeding. The
    environment may return either number of values, and may be a vector environment.

    Attributes:
        output_truncation_bool: Whether `step` returns five values.

    Examples:
        >>> import gymcore as gym
        >>> env = StepAPICompatibility(gym.make("CartPole-v1", max_episode_steps=1), False)
        >>> observation, info = env.reset(seed=1)
        >>> observation, reward, done, info = env.step(0)
        >>> done, info
        (True, {'TimeLimit.truncated': True})
    """

    def __init__(self, env: Env | VectorEnv, output_truncation_bool: bool = True) -> None:
        """Wrap an environment or a vector environment whose `step` returns four or five values."""
        Wrapper.__init__(self, env)
        self.is_vector_env = getattr(env, "is_vector_env", False)
        self.output_truncation_bool = output_truncation_bool

    def step(self, action: object) -> Any:
        """Step the environment, and return four or five values."""
        return step_api_compatibility(
            self.env.step(action), self.output_truncation_bool, self.is_vector_env
        )


class VectorListInfo(Wrapper, RecordConstructorArgs):
    """Return infos as a list with one dict per environment (Gym 0.26).

    Gymnasium 1.x has `DictInfoToList` instead.

    Examples:
        >>> import gymcore as gym
        >>> envs = VectorListInfo(gym.vector.make("CartPole-v1", 2, max_episode_steps=1))
        >>> envs.reset(seed=1)[1]
        [{}, {}]
        >>> infos = envs.step([0, 1])[4]
        >>> len(infos), infos[0]["final_observation"].shape, infos[0]["final_info"]
        (2, (4,), {})
    """

    def __init__(self, env: Env | VectorEnv) -> None:
        """Wrap a vector environment; any other raises `FailedTypeCheck` (an `AssertionError`)."""
        if not getattr(env, "is_vector_env", False):
            raise error.FailedTypeCheck(
                "This wrapper can only be used in vectorized environments: expected a "
                f"gymcore.vector.VectorEnv, got {type(env)}"
            )
        Wrapper.__init__(self, env)

    def step(self, action: object) -> VectorStep:
        """Step the environments, and return their infos as a list."""
        *arrays, infos = self.env.step(action)
        return *arrays, self._list(infos)

    def reset(self, **kwargs: object) -> tuple[object, Any]:
        """Reset the environments, and return their infos as a list."""
        observations, infos = self.env.reset(**kwargs)
        return observations, self._list(infos)

    def _list(self, infos: Info) -> list[Info]:
        return [split_info(infos, lane) if infos else {} for lane in range(self.num_envs)]
