"""`PixelObservationWrapper` of Gym 0.26: pictures in observations."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from gymcore import error
from gymcore.compat.forwarding import Forwarding
from gymcore.core import Env, ObservationWrapper
from gymcore.spaces import Box, Dict
from gymcore.utils import RecordConstructorArgs

__all__ = ["PixelObservationWrapper"]

STATE_KEY = "state"


class PixelObservationWrapper(Forwarding, ObservationWrapper[Any, Any, Any], RecordConstructorArgs):
    """Put what `render` returns into observations, which become dicts (Gym 0.26).

    `AddRenderObservation` is the wrapper of Gymnasium 1.x, whose observations may be bare pictures.
    The environment is reset once when it is wrapped, for the shape of its pictures.

    Example:
        >>> import gymcore as gym
        >>> env = gym.make("CartPole-v1", render_mode="rgb_array")
        >>> env = PixelObservationWrapper(env, pixels_only=False)
        >>> observation, info = env.reset(seed=1)
        >>> {key: value.shape for key, value in observation.items()}
        {'state': (4,), 'pixels': (400, 600, 3)}
    """

    def __init__(
        self,
        env: Env[Any, Any],
        pixels_only: bool = True,
        render_kwargs: dict[str, dict[str, Any]] | None = None,
        pixel_keys: Sequence[str] = ("pixels",),
    ) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a render mode that returns pictures.
            pixels_only: Leave out what the environment itself observes. Otherwise its entries are
                kept if it observes dicts; if it observes arrays they are under "state".
            render_kwargs: Arguments of `render`, for each of the pixel keys.
            pixel_keys: The names of the pictures.

        Raises:
            AttributeError: if the environment has no render mode.
            InvalidArgument: (a `ValueError`) if it observes neither arrays nor dicts, or already
                has one of the keys.
            ArgumentTypeError: (a `TypeError`) if `render` returns no arrays of numbers.
        """
        RecordConstructorArgs.__init__(
            self, pixels_only=pixels_only, render_kwargs=render_kwargs, pixel_keys=pixel_keys
        )
        ObservationWrapper.__init__(self, env)
        if env.render_mode is None:
            raise AttributeError(
                "env.render_mode must be specified to use PixelObservationWrapper: "
                "`gym.make(env_name, render_mode='rgb_array')`."
            )
        space = env.observation_space
        self._is_dict = isinstance(space, Dict)
        if not isinstance(space, (Box, Dict)):
            raise error.InvalidArgument(
                f"PixelObservationWrapper: expected a Box or Dict observation space, got {space}"
            )
        entries: dict[str, Any] = {}
        if not pixels_only:
            entries = dict(space.spaces) if isinstance(space, Dict) else {STATE_KEY: space}
            taken = sorted(set(pixel_keys) & set(entries))
            if taken:
                raise error.InvalidArgument(f"Duplicate or reserved pixel keys {taken}.")
        self._pixels_only = pixels_only
        self._pixel_keys = tuple(pixel_keys)
        given = render_kwargs or {}
        self._render_kwargs = {key: dict(given.get(key, {})) for key in self._pixel_keys}
        self._history: list[Any] = []

        entries = copy.deepcopy(entries)
        env.reset()
        for key in self._pixel_keys:
            entries[key] = _space_of(self._picture(key))
        self._history.clear()
        self.observation_space = Dict(entries, sort_keys=False)

    def observation(self, observation: Any) -> dict[str, Any]:
        """Return a new dict of the observation and the pictures."""
        entries: dict[str, Any] = {}
        if not self._pixels_only:
            entries = dict(observation) if self._is_dict else {STATE_KEY: observation}
        for key in self._pixel_keys:
            entries[key] = self._picture(key)
        return entries

    def render(self, *args: Any, **kwargs: Any) -> Any:
        """Render the environment.

        In a mode that collects frames, those that observations took are returned as well.

        Args:
            *args: For the environment's `render`.
            **kwargs: Likewise.
        """
        frames = self.env.render(*args, **kwargs)
        if isinstance(frames, list):
            frames = self._history + frames
            self._history = []
        return frames

    def _picture(self, key: str) -> Any:
        """Return the picture for a key."""
        picture = self.env.render(**self._render_kwargs[key])
        if isinstance(picture, list):
            self._history += picture
            picture = picture[-1]
        return picture


def _space_of(picture: Any) -> Box:
    """Return the space of pictures like this one."""
    if not isinstance(picture, np.ndarray):
        raise error.ArgumentTypeError(
            f"Render method returns a {type(picture)}, expected an array. Use a render_mode "
            "such as 'rgb_array'."
        )
    if np.issubdtype(picture.dtype, np.integer):
        low, high = 0.0, 255.0
    elif np.issubdtype(picture.dtype, np.floating):
        low, high = -np.inf, np.inf
    else:
        raise error.ArgumentTypeError(f"expected pictures of numbers, got dtype {picture.dtype}")
    return Box(low, high, picture.shape, picture.dtype)
