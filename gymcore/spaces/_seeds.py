"""Seeds for spaces that hold other spaces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gymcore.utils import seeding


def check_seeds(seeds: Iterable[Any]) -> None:
    """Raise if a plain seed is not one, before any subspace has been seeded.

    Tuples, lists and dicts are left to the subspaces that they are meant for.
    """
    for seed in seeds:
        if seed is not None and not isinstance(seed, (tuple, list, dict)):
            seeding.checked_seed(seed)


def is_plain(seed: Any) -> bool:
    """Tell whether a seed is one integer rather than a collection of seeds."""
    return hasattr(seed, "__index__") and not isinstance(seed, np.ndarray)
