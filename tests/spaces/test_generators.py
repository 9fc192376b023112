"""Lazily created generators draw the same numbers as ones created at once."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

from gymcore.base import seeding
from gymcore.spaces import Box, Dict, Discrete, Graph, OneOf, Sequence, Space, Text, Tuple


def state(space):
    return space.np_random.bit_generator.state


def is_made(space):
    return space.__dict__.get("_np_random") is not None


class Coin(Space):
    """A user-defined space."""

    def sample(self, mask=None, probability=None):
        return int(self.np_random.integers(2))

    def contains(self, x):
        return x in (0, 1)


CONTAINERS = [
    lambda: Tuple([Discrete(5), Box(0, 1)]),
    lambda: Dict(a=Discrete(5), b=Box(0, 1)),
    lambda: OneOf([Discrete(5), Box(0, 1)]),
    lambda: Sequence(Discrete(5)),
    lambda: Graph(Discrete(5), Box(0, 1)),
    lambda: Graph(Discrete(5), None),
]


@pytest.mark.parametrize("seed", [0, 7, 2**31, 2**64 + 3, np.int64(5), True])
@pytest.mark.parametrize("make", [lambda: Discrete(5), lambda: Box(0, 1), lambda: Text(3), Coin])
def test_a_seed_gives_the_generator_of_the_seed(make, seed):
    space = make()
    assert space.seed(seed) == int(seed)
    assert not is_made(space)
    assert state(space) == seeding.np_random(seed)[0].bit_generator.state
    assert space.np_random is space.np_random is space._np_random
    assert is_made(space)


def test_a_seed_given_to_the_constructor_is_the_same():
    assert state(Discrete(5, seed=3)) == state(Box(0, 1, seed=3)) == seeding_state(3)


def seeding_state(seed):
    return seeding.np_random(seed)[0].bit_generator.state


def test_fresh_entropy_is_told_and_different():
    one, two = Discrete(5), Discrete(5)
    seeds = one.seed(), two.seed()
    assert seeds[0] != seeds[1]
    assert max(seeds).bit_length() > 64
    assert state(one) == seeding_state(seeds[0])
    assert state(two) == seeding_state(seeds[1])


def test_seeding_again_restarts():
    space = Discrete(1000)
    space.seed(3)
    first = [int(space.sample()) for _ in range(5)]
    space.seed(4)
    space.seed(3)
    assert [int(space.sample()) for _ in range(5)] == first


@pytest.mark.parametrize("make", CONTAINERS)
def test_subspaces_are_seeded_as_by_the_generator(make):
    space = make()
    used = space.seed(11)
    seeds = list(used.values() if isinstance(used, dict) else used)
    rng = seeding.np_random(11)[0]
    if isinstance(space, (Tuple, Dict)):
        assert seeds == rng.integers(2**31 - 1, size=len(seeds)).tolist()
        assert state(space) == rng.bit_generator.state  # the seeds were drawn from it
    else:
        assert seeds == [11, *rng.integers(2**31 - 1, size=len(seeds) - 1).tolist()]
        assert state(space) == seeding_state(11)


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda space: pickle.loads(pickle.dumps(space))]
)
def test_copies_of_seeded_spaces_draw_the_same(make, copied):
    space, other = make(), make()
    space.seed(5)
    other.seed(5)
    twin = copied(space)
    samples = [[each.sample() for _ in range(4)] for each in (twin, other)]
    np.testing.assert_equal(*samples)


def test_a_shallow_copy_shares_the_generator():
    space = Discrete(1000, seed=3)
    twin = copy.copy(space)
    assert twin.np_random is space.np_random


def test_attributes_are_copied_as_they_are():
    space = Discrete(5, seed=3)
    generator = np.random.default_rng(1)
    space._np_random = generator
    assert space.np_random is generator
    assert pickle.loads(pickle.dumps(space)).np_random.bit_generator.state == state(space)
    space._np_random = None
    assert state(space) != seeding_state(3)


def test_threads_get_one_generator():
    for _ in range(50):
        space = Discrete(5, seed=3)
        start, found = threading.Barrier(4), []

        def look(space=space, start=start, found=found):
            start.wait(30)
            found.append(space.np_random)

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert len({id(generator) for generator in found}) == 1


# Copies of a generator


def given(space):
    """Return a space that received a copy of another space's generator."""
    target = Discrete(3)
    target._with_generator_of(space)
    return target


@pytest.mark.parametrize(
    "prepare",
    [
        lambda space: space.seed(3),
        lambda space: (space.seed(3), space.np_random),
        lambda space: (space.seed(3), space.sample()),
        lambda space: (space.seed(3), space.np_random.integers(5, dtype=np.int32)),
        lambda space: (space.seed(3), space.np_random.spawn(2)),
        lambda space: setattr(space, "_np_random", np.random.default_rng([1, 2])),
        lambda space: setattr(space, "_np_random", np.random.default_rng(None)),
        lambda space: setattr(
            space,
            "_np_random",
            np.random.default_rng(np.random.SeedSequence(5, spawn_key=(1, 2), pool_size=6)),
        ),
        *(
            lambda space, bits=bits: setattr(space, "_np_random", np.random.Generator(bits(5)))
            for bits in (
                np.random.MT19937,
                np.random.PCG64DXSM,
                np.random.Philox,
                np.random.SFC64,
            )
        ),
    ],
)
@pytest.mark.parametrize("make", [lambda: Box(0, 1, (5,)), Coin])
def test_a_copy_is_what_deepcopy_gives(make, prepare):
    space = make()
    prepare(space)
    target = given(space)
    expected = copy.deepcopy(space.np_random)
    for _ in range(2):
        assert target.np_random.random() == expected.random()
        assert target.np_random.integers(5, dtype=np.int32) == expected.integers(5, dtype=np.int32)
    ours, theirs = (
        [child.random() for child in generator.spawn(2)]
        for generator in (target.np_random, expected)
    )
    assert ours == theirs


def test_a_copy_and_its_original_do_not_disturb_each_other():
    for seed in (None, 3):
        for use in (lambda space: None, lambda space: space.np_random):
            space = Discrete(1000, seed=seed)
            use(space)
            target = given(space)
            before = [space.np_random.random() for _ in range(3)]
            assert [target.np_random.random() for _ in range(3)] == before


def test_a_generator_of_its_own_kind_is_asked_for():
    class Constant(Discrete):
        @property
        def np_random(self):
            return np.random.default_rng(99)

    assert given(Constant(3)).np_random.random() == np.random.default_rng(99).random()
