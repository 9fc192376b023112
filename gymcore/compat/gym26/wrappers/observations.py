"""Wrappers of Gym 0.26 that transform, flatten or filter observations."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

from gymcore import error
from gymcore.compat.forwarding import Forwarding
from gymcore.core import Env, Wrapper
from gymcore.spaces import Dict
from gymcore.utils import RecordConstructorArgs
from gymcore.wrappers import transform_observation

__all__ = ["FilterObservation", "FlattenObservation", "TransformObservation"]


class TransformObservation(Forwarding, transform_observation.TransformObservation):
    """Change observations by a function; the observation space stays as it is (Gym 0.26).

    Example:
        >>> import gymcore as gym
        >>> env = TransformObservation(gym.make("CartPole-v1"), lambda obs: 0 * obs)
        >>> abs(env.reset(seed=1)[0]).tolist()
        [0.0, 0.0, 0.0, 0.0]
    """

    def __init__(self, env: Env[Any, Any], f: Callable[[Any], Any]) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            f: From an observation to the one that is returned in its place.

        Raises:
            FailedTypeCheck: (also an `AssertionError`) if `f` cannot be called.
        """
        if not callable(f):
            raise error.FailedTypeCheck(f"f: expected a function, got {f!r}")
        RecordConstructorArgs.__init__(self, f=f)
        space = env.observation_space if isinstance(env, Env) else None
        transform_observation.TransformObservation.__init__(self, env, f, space)
        self.f = f


class FlattenObservation(Forwarding, transform_observation.FlattenObservation):
    """Flatten observations into one array.

    As `gymcore.wrappers.FlattenObservation`; attributes of inner layers are forwarded (Gym 0.26).
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        """Wrap `env`; see `gymcore.wrappers.FlattenObservation`.

        Args:
            env: An environment whose observation space can be flattened.
        """
        transform_observation.FlattenObservation.__init__(self, env)


class FilterObservation(Forwarding, transform_observation.FilterObservation):
    """Keep some entries of dict observations, in the order the environment has them (Gym 0.26).

    In Gymnasium 1.x, `FilterObservation` must be given keys, whose order it follows.

    Example:
        >>> from gymcore import Env, spaces
        >>> class Walk(Env):
        ...     observation_space = spaces.Dict(clock=spaces.Discrete(9), step=spaces.Discrete(2))
        ...     action_space = spaces.Discrete(2)
        ...
        ...     def reset(self, *, seed=None, options=None):
        ...         return {"clock": 0, "step": 1}, {}
        >>> FilterObservation(Walk(), ["clock"]).reset()
        ({'clock': 0}, {})
        >>> FilterObservation(Walk()).reset()
        ({'clock': 0, 'step': 1}, {})
    """

    def __init__(self, env: Env[Any, Any], filter_keys: Iterable[str] | None = None) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a `Dict` observation space.
            filter_keys: The keys to keep; None for all.

        Raises:
            FailedTypeCheck: (also an `AssertionError`) if the observation space is no `Dict`.
            InvalidArgument: (a `ValueError`) if it lacks one of the keys.
        """
        filter_keys = None if filter_keys is None else tuple(filter_keys)
        RecordConstructorArgs.__init__(self, filter_keys=filter_keys)
        Wrapper.__init__(self, env)
        space = env.observation_space
        if not isinstance(space, Dict):
            raise error.FailedTypeCheck(
                f"FilterObservation: expected a Dict observation space, got {space}"
            )
        keys = tuple(space.spaces) if filter_keys is None else filter_keys
        missing = [key for key in keys if key not in space.spaces]
        if missing:
            raise error.InvalidArgument(
                "All the filter_keys must be included in the original observation space.\n"
                f"Filter keys: {keys}\n"
                f"Observation keys: {tuple(space.spaces)}\n"
                f"Missing keys: {missing}"
            )
        kept = {key: copy.copy(sub) for key, sub in space.spaces.items() if key in keys}
        self.observation_space = Dict(kept, sort_keys=False)
        self._filter_keys = frozenset(keys)

    def observation(self, observation: dict[str, Any]) -> dict[str, Any]:
        """Return a new dict of the entries that are kept."""
        keys = self._filter_keys
        return {key: value for key, value in observation.items() if key in keys}
