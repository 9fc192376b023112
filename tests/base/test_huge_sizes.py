"""Sizes beyond what arrays and queues can have raise typed errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gymcore as gym
from gymcore import error, spaces
from gymcore.envs.toy_text.frozen_lake import generate_random_map
from gymcore.vector.utils import batch_space
from gymcore.wrappers import FrameStackObservation

MAKERS: dict[str, Callable[[int], Any]] = {
    "box": lambda size: spaces.Box(0, 1, (size,)),
    "square box": lambda size: spaces.Box(0, 1, (size, size)),
    "batch of boxes": lambda size: batch_space(spaces.Box(0, 1, (2,)), size),
    "batch of numbers": lambda size: batch_space(spaces.Discrete(2), size),
    "stack": lambda size: FrameStackObservation(gym.make("CartPole-v1"), size),
    "lanes": lambda size: gym.make_vec("CartPole-v1", size),
    "map": generate_random_map,
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("size", [2**63, 2**64, 10**30], ids=["2**63", "2**64", "10**30"])
def test_sizes_beyond_64_bits(name: str, size: int) -> None:
    with pytest.raises(error.InvalidArgument):
        MAKERS[name](size)
