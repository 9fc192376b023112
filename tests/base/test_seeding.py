"""Seeds and generators."""

import gymnasium.utils.seeding
import numpy as np
import pytest

from gymcore import error
from gymcore.base import seeding


@pytest.mark.parametrize("seed", [0, 1, 7, 2**31, 2**64 - 1, 2**200])
def test_streams_equal_gymnasiums(seed):
    ours, used = seeding.np_random(seed)
    theirs, _ = gymnasium.utils.seeding.np_random(seed)
    assert used == seed
    assert type(used) is int
    assert ours.bit_generator.state == theirs.bit_generator.state
    assert ours.random(3).tolist() == theirs.random(3).tolist()


def test_literal_values():
    generator, _ = seeding.np_random(7)
    assert generator.integers(1000, size=3).tolist() == [944, 625, 684]


def test_fresh_entropy_can_be_used_again():
    first, seed = seeding.np_random()
    again, same = seeding.np_random(seed)
    assert same == seed
    assert first.bit_generator.state == again.bit_generator.state
    assert len({seeding.np_random(None)[1] for _ in range(5)}) == 5


class Index:
    def __index__(self):
        return 7


@pytest.mark.parametrize("seed", [np.int64(7), np.uint8(7), np.array(7), Index()])
def test_everything_with_an_index_is_an_integer(seed):
    generator, used = seeding.np_random(seed)
    assert used == 7
    assert type(used) is int
    assert generator.random() == seeding.np_random(7)[0].random()


@pytest.mark.parametrize(
    ("seed", "builtin", "problem"),
    [
        (-1, ValueError, "Seed must be greater or equal to zero, actual value: -1"),
        (np.int8(-3), ValueError, "actual value: -3"),
        (1.5, TypeError, "Seed must be a python integer, actual type: <class 'float'>"),
        ("a", TypeError, "actual type: <class 'str'>"),
        (np.array([1, 2]), TypeError, "actual type: <class 'numpy.ndarray'>"),
        ([1], TypeError, "actual type: <class 'list'>"),
    ],
)
def test_what_cannot_be_a_seed(seed, builtin, problem):
    with pytest.raises(error.Error, match=problem) as caught:
        seeding.np_random(seed)
    assert isinstance(caught.value, builtin)


def test_names_of_the_generator_class():
    assert seeding.RNG is seeding.RandomNumberGenerator is np.random.Generator


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_a_bit_generator_of_a_state(kind):
    generator = getattr(np.random, kind)(3)
    generator.random_raw(5)
    same = seeding.bit_generator_of(generator.state)
    assert type(same) is type(generator)
    assert same.random_raw(5).tolist() == generator.random_raw(5).tolist()


PCG, TWISTER = np.random.PCG64(1).state, np.random.MT19937(1).state


@pytest.mark.parametrize(
    ("state", "message"),
    [
        # An increment of zero would draw only zeros.
        (PCG | {"state": {"state": 0, "inc": 0}}, "a valid state of PCG64"),
        (PCG | {"state": {"state": -1, "inc": 1}}, "a valid state of PCG64"),
        # The position is outside of its words.
        (TWISTER | {"state": TWISTER["state"] | {"pos": 10**6}}, "a valid state of MT19937"),
        (np.random.Philox(1).state | {"buffer_pos": -5}, "a valid state of Philox"),
        (PCG | {"bit_generator": "seed"}, "of a NumPy bit generator, got 'seed'"),
        (PCG | {"bit_generator": []}, r"of a NumPy bit generator, got \[\]"),
        ({}, "not the state of a bit generator"),
        (None, "not the state of a bit generator"),
    ],
    ids=["zero", "negative", "position", "buffer", "name", "list", "empty", "none"],
)
def test_states_that_no_bit_generator_has(state, message):
    with pytest.raises(ValueError, match=message):
        seeding.bit_generator_of(state)
