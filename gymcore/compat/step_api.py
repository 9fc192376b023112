"""`StepAPICompatibility` of Gym 0.26: steps of four or of five values, whichever come in."""

from __future__ import annotations

from typing import Any

from gymcore.compat.forwarding import Forwarding, LegacyVectorWrapper, VectorTwin
from gymcore.core import Env, Wrapper
from gymcore.utils import RecordConstructorArgs
from gymcore.utils.step_api_compatibility import step_api_compatibility
from gymcore.vector import VectorEnv

__all__ = ["StepAPICompatibility"]


class _VectorStepAPICompatibility(LegacyVectorWrapper):
    """`StepAPICompatibility` of a batch."""

    def __init__(self, env: VectorEnv[Any, Any, Any], output_truncation_bool: bool = True) -> None:
        RecordConstructorArgs.__init__(self, output_truncation_bool=output_truncation_bool)
        LegacyVectorWrapper.__init__(self, env)
        self.is_vector_env = True
        self.output_truncation_bool = output_truncation_bool

    def step(self, actions: Any) -> Any:
        """Step the environments, and return four or five values."""
        return step_api_compatibility(self.env.step(actions), self.output_truncation_bool, True)


class StepAPICompatibility(
    VectorTwin, Forwarding, Wrapper[Any, Any, Any, Any], RecordConstructorArgs
):
    """Let `step` return five values, or four, of an environment that returns either (Gym 0.26).

    Five: observation, reward, terminated, truncated, info. Four: observation, reward, done, info,
    where `info["TimeLimit.truncated"]` tells the two ways of ending apart. Only `step` is changed;
    `gymcore.compat.to_done_api` changes `reset`, `render` and seeding as well. A vector environment
    may be given too.

    Attributes:
        output_truncation_bool: Whether there are five.

    Example:
        >>> import gymcore as gym
        >>> env = StepAPICompatibility(gym.make("CartPole-v1", max_episode_steps=1), False)
        >>> observation, info = env.reset(seed=1)
        >>> observation, reward, done, info = env.step(0)
        >>> done, info
        (True, {'TimeLimit.truncated': True})
    """

    vector_twin = _VectorStepAPICompatibility

    def __init__(self, env: Env[Any, Any], output_truncation_bool: bool = True) -> None:
        """Wrap `env`.

        Args:
            env: An environment, or a vector environment, whose steps have four or five values.
            output_truncation_bool: Return five values.
        """
        RecordConstructorArgs.__init__(self, output_truncation_bool=output_truncation_bool)
        Wrapper.__init__(self, env)
        self.is_vector_env = False
        self.output_truncation_bool = output_truncation_bool

    def step(self, action: Any) -> Any:
        """Step the environment, and return four or five values."""
        return step_api_compatibility(self.env.step(action), self.output_truncation_bool, False)
