"""Drawing from a distribution as tabular environments do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def categorical_sample(
    prob_n: Sequence[float] | npt.NDArray[Any], np_random: np.random.Generator
) -> int:
    """Return an index drawn with the probabilities `prob_n` [n], using one uniform number.

    Example:
        >>> categorical_sample([0.0, 1.0], np.random.default_rng(1))
        1
    """
    return int(np.argmax(np.cumsum(np.asarray(prob_n)) > np_random.random()))
