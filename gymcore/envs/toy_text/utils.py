"""Drawing from a distribution as tabular environments do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def categorical_sample(
    prob_n: Sequence[float] | npt.NDArray[Any], np_random: np.random.Generator
) -> int:
    """An index, drawn with these probabilities by one uniform number.

    Args:
        prob_n: probabilities [n] that add up to 1.
        np_random: what to draw from.

    Example:
        >>> categorical_sample([0.0, 1.0], np.random.default_rng(1))
        1
    """
    return int(np.argmax(np.cumsum(np.asarray(prob_n)) > np_random.random()))
