"""Sampling as tabular environments do it, and a check of their render mode."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gymcore.core import Info
from gymcore.error import UnsupportedMode


def check_render_mode(metadata: Info, render_mode: str | None) -> None:
    """Raise `UnsupportedMode` if an environment with this metadata lacks the render mode."""
    modes = metadata["render_modes"]
    if render_mode is not None and render_mode not in modes:
        raise UnsupportedMode(f"render_mode: expected None or one of {modes}, got {render_mode!r}")


def categorical_sample(prob_n: Sequence[float] | np.ndarray, np_random: np.random.Generator) -> int:
    """Return an index drawn with the probabilities `prob_n` [n], using one uniform number.

    Examples:
        >>> categorical_sample([0.0, 1.0], np.random.default_rng(1))
        1
    """
    return int(np.argmax(np.cumsum(np.asarray(prob_n)) > np_random.random()))
