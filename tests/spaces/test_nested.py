"""Properties that hold for spaces of any nesting."""

import copy
import json
import pickle

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gymcore.spaces import flatdim, flatten, flatten_space, unflatten
from gymcore.spaces.utils import is_space_dtype_shape_equiv
from tests.spaces.parity import assert_same, random_states
from tests.spaces.strategies import flattenable_spaces, nested_spaces

SEEDS = st.integers(0, 2**32)
few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@few
@given(nested_spaces, SEEDS)
def test_samples_belong_to_the_space(space, seed):
    space.seed(seed)
    for _ in range(2):
        assert space.sample() in space


@few
@given(nested_spaces, SEEDS)
def test_an_integer_seed_decides_everything(space, seed):
    other = copy.deepcopy(space)
    seeds = space.seed(seed)
    other.sample()
    assert_same(other.seed(seed), seeds)
    assert random_states(other) == random_states(space)
    assert_same(other.sample(), space.sample())


@few
@given(nested_spaces, SEEDS)
def test_the_seeds_that_were_returned_start_the_same_samples(space, seed):
    other = copy.deepcopy(space)
    assert_same(other.seed(space.seed(seed)), other.seed(other.seed(space.seed(seed))))
    space.seed(other.seed(seed))
    other.seed(seed)
    assert_same(space.sample(), other.sample())


@few
@given(nested_spaces, SEEDS)
def test_json_round_trip(space, seed):
    space.seed(seed)
    samples = [space.sample() for _ in range(2)]
    assert_same(space.from_jsonable(json.loads(json.dumps(space.to_jsonable(samples)))), samples)


@few
@given(nested_spaces, SEEDS)
def test_pickles_are_equal_and_continue_alike(space, seed):
    space.seed(seed)
    other = pickle.loads(pickle.dumps(space))
    assert other == space
    assert is_space_dtype_shape_equiv(other, space)
    assert_same(other.sample(), space.sample())


@few
@given(flattenable_spaces, SEEDS)
def test_elements_flatten_to_the_flat_space_and_back(space, seed):
    space.seed(seed)
    flat_space = flatten_space(space)
    for _ in range(2):
        element = space.sample()
        flat = flatten(space, element)
        assert flat.shape == (flatdim(space),)
        assert flat.dtype == flat_space.dtype
        assert flat in flat_space
        # 64-bit integers next to floats become floats, which cannot represent all of them.
        assert_close(unflatten(space, flat), element)


@few
@given(nested_spaces, SEEDS)
def test_elements_of_all_spaces_flatten_and_return(space, seed):
    space.seed(seed)
    try:
        flat_space = flatten_space(space)
    except ValueError as problem:
        assert "OneOf" in repr(space)
        assert "dynamic size" in str(problem) or "cannot be flattened" in str(problem)
        return
    element = space.sample()
    flat = flatten(space, element)
    assert flat in flat_space
    assert_close(unflatten(space, flat), element)


def assert_close(ours, theirs):
    """Compare like `assert_same`, with the rounding of a common dtype allowed in arrays."""
    if isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            assert_close(ours[key], theirs[key])
    elif isinstance(theirs, tuple):
        assert type(ours) is type(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            assert_close(mine, other)
    else:
        assert_same(ours, theirs)
