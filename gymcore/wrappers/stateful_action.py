"""Wrappers that repeat actions.

`gymcore.wrappers.vector.stateful_action` has the equivalents for vector environments.
"""

from __future__ import annotations

from typing import SupportsFloat

import numpy as np

from gymcore.base.arguments import MAX_COUNT, count
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import ActionWrapper, ActType, Env, Info, ObsType, Options, Wrapper
from gymcore.error import InvalidArgument, InvalidBound, InvalidProbability
from gymcore.wrappers.utils import integer
from gymcore_ext.python_envs.infos import copied

__all__ = ["RepeatAction", "StickyAction"]


def check_sticky(probability: float, duration: object) -> tuple[int, int]:
    """Check both arguments of `StickyAction`, and return the range of durations."""
    if not 0 <= probability < 1:
        raise InvalidProbability(
            f"`repeat_action_probability` should be in the interval [0,1). Received {probability}"
        )
    if isinstance(duration, (int, np.integer)):
        duration = (int(duration), int(duration))
    if not isinstance(duration, tuple):
        raise InvalidArgument(
            f"`repeat_action_duration` should be either an integer or a tuple. Received {duration}"
        )
    if len(duration) != 2 or not all(isinstance(end, (int, np.integer)) for end in duration):
        raise InvalidArgument(
            "`repeat_action_duration` should be a tuple or a list of two integers. Received "
            f"{duration}"
        )
    if min(duration) < 1:
        raise InvalidArgument(
            f"`repeat_action_duration` should be larger or equal than 1. Received {duration}"
        )
    if duration[0] > duration[1]:
        raise InvalidBound(f"`repeat_action_duration` is not a valid bound. Received {duration}")
    count("repeat_action_duration", duration[1], 1, MAX_COUNT)
    return duration


def check_repeats(num_repeats: object) -> int:
    """Check the number of repeats of `RepeatAction`, and return it as an int."""
    count = integer("num_repeats", num_repeats)
    if count < 1:
        raise InvalidArgument(
            f"The num_repeats value needs to be equal or greater than one, actual value: {count}"
        )
    return count


class StickyAction(ActionWrapper[ObsType, ActType, ActType], RecordConstructorArgs):
    """Repeat the last action at random, instead of taking the given one.

    See Machado et al., "Revisiting the Arcade Learning Environment" (2018), section 5.2, which uses
    a probability of 0.25 for Atari games. Random numbers come from the environment's `np_random`.

    Attributes:
        repeat_action_duration_range: Minimum and maximum number of steps that an action is
            repeated.
        last_action: The last action taken; None before the first.
        is_sticky_actions: Whether the next action will be a repetition of the last one.
        num_repeats: Total number of steps of the current repetition.
        repeats_taken: Number of these steps taken so far.

    Examples:
        >>> import gymcore
        >>> env = StickyAction(gymcore.make("CartPole-v1"), repeat_action_probability=0.9)
        >>> _ = env.reset(seed=123)
        >>> _ = [env.step(action) for action in (1, 0, 0)]
        >>> env.last_action
        1
    """

    _counts = ("num_repeats", "repeats_taken")
    _tuple_arguments = ("repeat_action_duration",)

    def __init__(
        self,
        env: Env[ObsType, ActType],
        repeat_action_probability: float,
        repeat_action_duration: int | tuple[int, int] = 1,
    ) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            repeat_action_probability: Probability of repeating the last action, in [0, 1).
            repeat_action_duration: Number of steps of a repetition, or its minimum and maximum.

        Raises:
            InvalidProbability: If the probability is outside [0, 1).
            InvalidArgument: If the duration is not one or two integers, or is less than 1.
            InvalidBound: If the minimum is greater than the maximum.
        """
        durations = check_sticky(repeat_action_probability, repeat_action_duration)
        ActionWrapper.__init__(self, env)
        self.repeat_action_probability = repeat_action_probability
        self.repeat_action_duration_range = durations
        self._clear_last_action()

    def _clear_last_action(self) -> None:
        self.last_action: ActType | None = None
        self.is_sticky_actions = False
        self.num_repeats: int | np.integer = 0
        self.repeats_taken = 0

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Reset the environment, and clear the last action."""
        self._clear_last_action()
        return super().reset(seed=seed, options=options)

    def action(self, action: ActType) -> ActType:
        """Return the given action, or the last one if it is repeated."""
        if (
            self.last_action is not None
            and not self.is_sticky_actions
            and self.np_random.uniform() < self.repeat_action_probability
        ):
            minimum, maximum = self.repeat_action_duration_range
            self.is_sticky_actions = True
            self.num_repeats = self.np_random.integers(minimum, maximum + 1)
            self.repeats_taken = 0
        if self.is_sticky_actions:
            assert self.last_action is not None
            action = self.last_action
            self.repeats_taken += 1
            if self.repeats_taken == self.num_repeats:
                self.is_sticky_actions = False
                self.num_repeats = 0
                self.repeats_taken = 0
        self.last_action = copied(action)  # the caller may reuse its array, and `env` change it
        return action


class RepeatAction(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Take each action several times, and add up the rewards.

    The other results are those of the last repetition. Repeating stops when the episode ends.

    Examples:
        >>> import gymcore
        >>> env = RepeatAction(gymcore.make("CartPole-v1"), num_repeats=3)
        >>> _ = env.reset(seed=123)
        >>> env.step(1)[1]
        3.0
    """

    def __init__(self, env: Env[ObsType, ActType], num_repeats: int) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            num_repeats: Number of times that an action is taken, at least 1.

        Raises:
            ArgumentTypeError: If `num_repeats` is not an integer.
            InvalidArgument: If `num_repeats` is less than 1.
        """
        count = check_repeats(num_repeats)
        Wrapper.__init__(self, env)
        self.num_repeats = count

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Take the action `num_repeats` times, or until the episode ends."""
        total_reward = 0.0
        for _ in range(self.num_repeats):
            # A copy, because the environment may change its action in place.
            observation, reward, terminated, truncated, info = self.env.step(copied(action))
            total_reward += float(reward)
            if terminated or truncated:
                break
        return observation, total_reward, terminated, truncated, info
