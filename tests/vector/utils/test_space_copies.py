"""`copy_space` gives what `copy.deepcopy` gives."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
from hypothesis import given, settings

import gymcore.spaces
from gymcore.spaces import Box, Dict, Discrete, Space, Text, Tuple
from gymcore.vector.utils import batch_differing_spaces, batch_space
from gymcore.vector.utils.space_copies import copy_space
from tests.spaces import catalogue
from tests.spaces.parity import random_states, subspaces
from tests.spaces.strategies import nested_spaces

# Gymnasium's Box cannot do these, but gymcore's can.
EVERYTHING = catalogue.ALL + catalogue.STACKED_OTHERS + catalogue.GRAPHS_OF_OTHERS


def objects_of(value, seen=None):
    """Return the ids of all that can be changed in a space, with the things themselves."""
    seen = {} if seen is None else seen
    if isinstance(value, (Space, np.ndarray, dict, list, np.random.Generator)):
        if id(value) in seen:
            return seen
        seen[id(value)] = value
    if isinstance(value, Space):
        value.np_random  # noqa: B018
        # The characters of a Text have no setter, and a recipe of random numbers is not changed.
        value = [part for name, part in vars(value).items() if name != "_char_index"]
    elif isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for part in value:
            objects_of(part, seen)
    return seen


@pytest.mark.parametrize("factory", EVERYTHING, ids=catalogue.label)
@pytest.mark.parametrize("seed", [None, 3])
def test_copies_of_everything(factory, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        space = factory(gymcore.spaces)
    if seed is not None:
        space.seed(seed)
        space.sample()
    twin = copy_space(space)
    expected = copy.deepcopy(space)
    assert type(twin) is type(space)
    assert twin == space
    assert repr(twin) == repr(space)
    if seed is not None:
        assert random_states(twin) == random_states(expected)
        np.testing.assert_equal(twin.sample(), expected.sample())
    assert not objects_of(twin).keys() & objects_of(space).keys()
    assert set(vars(twin)) >= set(vars(space)) - {"_np_random_recipe"}


@settings(max_examples=60, deadline=None)
@given(nested_spaces)
def test_copies_of_any_space(space):
    space.seed(5)
    twin = copy_space(space)
    assert twin == space
    np.testing.assert_equal(twin.sample(), copy.deepcopy(space).sample())


def test_what_occurs_twice_does_so_in_the_copy():
    part = Discrete(1000, seed=1)
    space = Tuple([part, Dict(a=part), part])
    twin = copy_space(space)
    assert twin[0] is twin[1]["a"] is twin[2]
    assert twin[0] is not part
    bounds = np.zeros(2, np.float32)
    boxes = Tuple([Box(0, 1, (2,)), Box(0, 1, (2,))])
    for box in boxes:
        box.low = bounds
    twin = copy_space(boxes)
    assert twin[0].low is twin[1].low


def test_a_generator_of_two_spaces_stays_one():
    generator = np.random.default_rng(3)
    space = Tuple([Discrete(1000, seed=generator), Discrete(1000, seed=generator)])
    twin, expected = copy_space(space), copy.deepcopy(space)
    assert twin[0].np_random is twin[1].np_random is not generator
    for _ in range(3):
        assert twin.sample() == expected.sample()


def test_attributes_of_users_are_copied():
    space = Discrete(3)
    space.labels = ["a", ["b"]]
    space.partner = Box(0, 1)
    twin = copy_space(space)
    twin.labels[1].append("c")
    assert space.labels == ["a", ["b"]]
    assert twin.partner == space.partner
    assert twin.partner is not space.partner


def test_a_custom_space_copies_itself():
    class Counted(Space):
        copies = 0

        def __deepcopy__(self, memo):
            type(self).copies += 1
            return Counted()

    class Short(Text):
        """A subclass may hold anything."""

    space = Tuple([Counted(), Short(2)])
    twin = copy_space(space)
    assert Counted.copies == 1
    assert type(twin[1]) is Short
    assert len(batch_space(Counted(seed=1), 3)) == 3
    assert Counted.copies == 4


def test_the_rows_of_a_batch_are_copies_of_their_own():
    space = Dict(a=Text(3, seed=1))
    space.seed(4)
    batch = batch_space(space, 3)["a"]
    different = batch_differing_spaces([space, space])["a"]
    for rows in (batch.spaces, different.spaces):
        assert len({id(row) for row in rows} | {id(space["a"])}) == len(rows) + 1
    assert len({row.sample() for row in batch}) > 1
    first, second = (subspace.sample() for subspace in subspaces(different))
    assert first == second == space["a"].sample()
