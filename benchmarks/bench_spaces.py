"""The cost of spaces for a batch: making the batched space and comparing the lanes' spaces."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

LIBRARIES = ("gymcore", "gymnasium")
LANES = 512

# By name, a function of the module of spaces, and the number of lanes.
SPACES: dict[str, tuple[Any, int]] = {
    "Box(4)": (lambda s: s.Box(-1, 1, (4,)), 4096),
    "Box(4), half bounded": (
        lambda s: s.Box(np.float32([-1, -np.inf, 0, 0]), np.float32([1, 1, np.inf, 1])),
        4096,
    ),
    "image": (lambda s: s.Box(0, 255, (84, 84, 4), np.uint8), 512),
    "Discrete": (lambda s: s.Discrete(5), 4096),
    "MultiDiscrete": (lambda s: s.MultiDiscrete([3, 4, 5]), 4096),
    "MultiBinary": (lambda s: s.MultiBinary(5), 4096),
    "Tuple": (lambda s: s.Tuple([s.Box(-1, 1, (4,)), s.Discrete(3)]), 4096),
    "Dict of Boxes": (
        lambda s: s.Dict(
            position=s.Box(-1, 1, (3,)),
            velocity=s.Box(-np.inf, np.inf, (6,)),
            joints=s.Box(-np.pi, np.pi, (12,), np.float64),
            camera=s.Box(0, 255, (8, 8), np.uint8),
        ),
        4096,
    ),
    "nested": (
        lambda s: s.Dict(
            robot=s.Dict(arm=s.Box(-1, 1, (3,)), hand=s.Tuple([s.Box(0, 1), s.Discrete(4)])),
            buttons=s.MultiBinary(4),
        ),
        4096,
    ),
    "Text": (lambda s: s.Text(10), 256),
    "Graph": (lambda s: s.Graph(s.Box(0, 1, (2,)), s.Discrete(3)), 256),
    "OneOf": (lambda s: s.OneOf([s.Discrete(3), s.Box(0, 1, (2,))]), 256),
    "Sequence": (lambda s: s.Sequence(s.Box(0, 1, (2,))), 256),
}


def modules(library: str) -> tuple[Any, Any]:
    """Return a library's spaces and its functions for vector environments."""
    spaces, utils = (
        importlib.import_module(f"{library}.{name}") for name in ("spaces", "vector.utils")
    )
    return spaces, utils


def read(space: Any) -> None:
    """Read all arrays of a space, which may be created only then."""
    parts = getattr(space, "spaces", ())
    for part in parts.values() if isinstance(parts, dict) else parts:
        read(part)
    for name in ("low", "high", "bounded_below", "bounded_above", "nvec", "start"):
        getattr(space, name, None)


@pytest.mark.parametrize("arrays", ("unread", "read"))
@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("library", LIBRARIES)
def bench_batch_space(benchmark: Any, library: str, name: str, arrays: str) -> None:
    factory, num_envs = SPACES[name]
    benchmark.group = f"batch_space {name} n={num_envs}, arrays {arrays}"
    spaces, utils = modules(library)
    space = factory(spaces)

    def batch() -> Any:
        batched = utils.batch_space(space, num_envs)
        if arrays == "read":
            read(batched)
        return batched

    batched = benchmark(batch)
    assert isinstance(batched, spaces.Space)


@pytest.mark.parametrize("name", ("Box(4)", "image", "Discrete", "Dict of Boxes", "nested"))
@pytest.mark.parametrize("library", LIBRARIES)
def bench_batch_differing_spaces(benchmark: Any, library: str, name: str) -> None:
    benchmark.group = f"batch_differing_spaces {name} n={LANES}"
    spaces, utils = modules(library)
    lanes = [SPACES[name][0](spaces) for _ in range(LANES)]
    batched = benchmark(lambda: utils.batch_differing_spaces(lanes))
    assert isinstance(batched, spaces.Space)


@pytest.mark.parametrize("name", ("Box(4)", "image", "Discrete", "Dict of Boxes", "nested"))
@pytest.mark.parametrize("library", LIBRARIES)
def bench_equal_spaces(benchmark: Any, library: str, name: str) -> None:
    benchmark.group = f"equal spaces {name} n={LANES}"
    spaces, _ = modules(library)
    first, *others = (SPACES[name][0](spaces) for _ in range(LANES))
    odd = benchmark(lambda: [i for i, space in enumerate(others) if space != first])
    assert odd == []


@pytest.mark.parametrize("name", ("Dict of Boxes", "Graph"))
@pytest.mark.parametrize("library", LIBRARIES)
def bench_seed(benchmark: Any, library: str, name: str) -> None:
    """Time seeding a space with parts, whose generators are created by the first sample."""
    benchmark.group = f"seed {name}"
    space = SPACES[name][0](modules(library)[0])
    assert benchmark(lambda: space.seed(5))


@pytest.mark.parametrize("name", ("Box(4)", "Dict of Boxes"))
@pytest.mark.parametrize("library", LIBRARIES)
def bench_seed_and_sample(benchmark: Any, library: str, name: str) -> None:
    benchmark.group = f"seed and sample {name}"
    space = SPACES[name][0](modules(library)[0])

    def draw() -> Any:
        space.seed(5)
        return space.sample()

    assert benchmark(draw) is not None
