"""Wrappers of Gym 0.26 around `render`."""

from __future__ import annotations

from typing import Any

from gymcore.compat.forwarding import Forwarding
from gymcore.wrappers import rendering

__all__ = ["HumanRendering", "RenderCollection"]


class HumanRendering(Forwarding, rendering.HumanRendering[Any, Any]):
    """Show the frames of an environment that only returns them.

    As `gymcore.wrappers.HumanRendering`; attributes of inner layers are forwarded (Gym 0.26).
    """


class RenderCollection(Forwarding, rendering.RenderCollection[Any, Any]):
    """Collect a frame at every reset and step, for `render` to return as a list.

    As `gymcore.wrappers.RenderCollection`; attributes of inner layers are forwarded (Gym 0.26).

    Example:
        >>> import gymcore as gym
        >>> env = RenderCollection(gym.make("CartPole-v1", render_mode="rgb_array"))
        >>> observation, info = env.reset(seed=1)
        >>> len(env.render()), len(env.render())
        (1, 0)
    """
