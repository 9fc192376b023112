"""Evaluation of a policy: returns and lengths of a fixed number of episodes in each lane."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.base.arguments import positive
from gymcore.core import Info
from gymcore.error import ArgumentTypeError
from gymcore.learn.policies import Act, policy_function
from gymcore.vector.lane_episodes import AutoresetMode
from gymcore.vector.rollouts import Rollout
from gymcore.vector.vector_env import VectorEnv


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The episodes of an evaluation, those of lane 0 first, each lane's in their order.

    Attributes:
        returns: Sums of rewards, float64 [episodes].
        lengths: Numbers of steps, int64 [episodes].
        successes: bool [episodes], whether the info of the last step had a true `is_success` or
            `success`; None if no episode reported either.

    Examples:
        >>> evaluation = Evaluation(np.array([3.0, 5.0]), np.array([3, 5]), None)
        >>> evaluation.mean, evaluation.std
        (4.0, 1.0)
    """

    returns: npt.NDArray[np.float64]
    lengths: npt.NDArray[np.int64]
    successes: npt.NDArray[np.bool_] | None

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(self.returns.mean())

    @property
    def std(self) -> float:
        """Standard deviation of the returns, with divisor `episodes`."""
        return float(self.returns.std())

    def summary(self) -> dict[str, Any]:
        """Return the statistics in a form that JSON can represent.

        Returns:
            `episodes`; `return` and `length`, each with `mean`, `std`, `median`, `min` and `max`;
            and `success_rate`, from 0 to 1, if the environment reports successes.
        """
        summary: dict[str, object] = {"episodes": len(self.returns)}
        for name, values in (("return", self.returns), ("length", self.lengths)):
            summary[name] = {
                statistic: float(getattr(np, statistic)(values))
                for statistic in ("mean", "std", "median", "min", "max")
            }
        if self.successes is not None:
            summary["success_rate"] = float(self.successes.mean())
        return summary


def evaluate(
    policy: object, envs: VectorEnv, episodes: int = 100, *, seed: int | None = None
) -> Evaluation:
    """Reset a vector environment and play episodes with a policy.

    How many episodes a lane plays is fixed beforehand: `episodes / num_envs`, and one more in the
    first lanes if there is a remainder. A mean over the episodes that end first would favor short
    ones.

    Args:
        policy: One of these:

            - a function that turns observations [num_envs, ...] into actions [num_envs, ...], or an
              object with such a method `act`, like `PPO`, which takes the most probable actions;
            - the path of a checkpoint of `gymcore train`;
            - a torch module, which is called in evaluation mode and without gradients, with
              tensors on its device; floats get the dtype of its parameters. For Discrete actions
              it may return scores [num_envs, n], of which the highest counts; Box actions are
              clipped;
            - a model of Stable-Baselines3, recurrent or not: its deterministic `predict`.
        envs: The vector environment, in any autoreset mode. It stays open.
        episodes: Number of episodes.
        seed: Seed of the reset; lane i is seeded with `seed + i`.

    Returns:
        The episodes. If the infos of an environment have statistics of the episode
        (`episode_statistics`, `RecordEpisodeStatistics`), returns and lengths are taken from
        these, which precede the clipping or scaling of rewards.

    Raises:
        ArgumentTypeError: If an argument has the wrong type.
        InvalidArgument: If there are no episodes, or a checkpoint does not fit the environment.
        InvalidAction: If the actions do not belong to the action space.
        OSError: If a checkpoint cannot be read.

    Examples:
        >>> import gymcore as gym
        >>> def upright(observations):
        ...     return (observations[:, 2] + observations[:, 3] > 0).astype(int)
        >>> with gym.make_vec("CartPole-v1", num_envs=10) as envs:
        ...     evaluation = evaluate(upright, envs, 20, seed=1)
        >>> evaluation.returns.shape, evaluation.mean
        ((20,), 500.0)
    """
    if not isinstance(envs, VectorEnv):
        raise ArgumentTypeError(
            f"envs: expected a vector environment, such as of make_vec, got {envs!r}"
        )
    return play(policy_function(policy, envs), envs, episodes, seed)


def play(
    act: Act,
    envs: VectorEnv,
    episodes: int,
    seed: int | None,
    progress: Callable[[int], object] | None = None,
) -> Evaluation:
    """Do the work of `evaluate`; `progress` receives numbers of episodes that have ended."""
    episodes, n = positive("episodes", episodes), int(envs.num_envs)
    quotas = episodes // n + (np.arange(n) < episodes % n)
    shape = (n, int(quotas[0]))
    returns, lengths = np.zeros(shape), np.zeros(shape, np.int64)
    successes, reported = np.zeros(shape, np.bool_), False
    num_played, lengths_so_far = np.zeros((2, n), np.int64)
    returns_so_far = np.zeros(n)
    rollout = Rollout(envs)
    next_step = rollout.mode is AutoresetMode.NEXT_STEP
    rollout.reset(seed)
    begins, resetting = np.ones(n, np.bool_), np.zeros(n, np.bool_)
    while (num_played < quotas).any():
        result = rollout.step(act(rollout.observations, begins), finals=False)
        rollout.observations, rewards, terminated, truncated, *_, infos = result
        returns_so_far += np.where(resetting, 0.0, rewards)
        lengths_so_far += ~resetting
        ended = np.logical_or(terminated, truncated)
        # With next-step autoreset, the step after an episode's end only resets the lane.
        begins, resetting = (resetting, ended) if next_step else (ended, resetting)
        if not ended.any():
            continue
        _use_statistics(infos, returns_so_far, lengths_so_far)
        lanes = np.flatnonzero(ended & (num_played < quotas))
        places = lanes, num_played[lanes]
        returns[places], lengths[places] = returns_so_far[lanes], lengths_so_far[lanes]
        last = infos.get("final_info", infos)
        for name in ("is_success", "success"):
            if isinstance(last, Mapping) and name in last:
                values, reported = np.asarray(last[name])[lanes].astype(np.bool_), True
                successes[places] |= values & _mask(last, name, n)[lanes]
        num_played[lanes] += 1
        returns_so_far[ended], lengths_so_far[ended] = 0.0, 0
        if progress is not None:
            progress(len(lanes))
    counted = np.arange(shape[1]) < quotas[:, None]
    return Evaluation(returns[counted], lengths[counted], successes[counted] if reported else None)


def _mask(infos: Mapping[str, object], name: str, num_envs: int) -> npt.NDArray[np.bool_]:
    """Return which lanes have this info."""
    return np.asarray(infos.get(f"_{name}", np.ones(num_envs, np.bool_)))


def _use_statistics(
    infos: Info,
    returns: npt.NDArray[np.float64],
    lengths: npt.NDArray[np.int64],
) -> None:
    """Replace the returns and lengths [num_envs] of lanes with statistics of their episode."""
    for source in (infos, infos.get("final_info")):
        if isinstance(source, Mapping) and isinstance(source.get("episode"), Mapping):
            lanes = _mask(source, "episode", len(returns))
            for totals, name in ((returns, "r"), (lengths, "l")):
                totals[lanes] = np.asarray(source["episode"][name])[lanes]
            return
