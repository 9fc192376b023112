"""Random streams of lanes draw the same numbers as NumPy's PCG64 seeded by a SeedSequence."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymcore import error
from gymcore.native.lane_generator import lane_generator
from gymcore_ext.engine.batch import Batch
from gymcore_ext.physics.cartpole import kernel

# One word, its carry, two words, four words (the pool of a SeedSequence), five and more.
ENTROPIES = [
    *range(40),
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**32 + 1,
    2**63,
    2**64 - 1,
    2**64,
    2**96 - 1,
    2**96,
    2**128 - 1,
    2**128,
    2**160 - 1,
    2**160,
    2**256 + 2**32,
    7 * 2**1000 + 3,
    0x1234567890ABCDEF1234567890ABCDEF1234567890ABCDEF,
]


def make_batch(num_envs: int = 1) -> Batch:
    return Batch(kernel, num_envs, errors=error)


def seeded(entropy: int) -> np.random.Generator:
    """Return a generator over the only lane of a batch."""
    batch = make_batch()
    batch.seed(entropy, 0, 1)
    return lane_generator(batch, 0)


def numpy_generator(entropy: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))


def numpy_words(generator: np.random.Generator) -> list[int]:
    """Return the state of NumPy's generator as a row of Batch.view_random()."""
    state = generator.bit_generator.state
    numbers, mask = state["state"], 2**64 - 1
    assert isinstance(numbers, dict)
    buffered = state["has_uint32"] | state["uinteger"] << 32
    pairs = [(numbers[name] >> 64, numbers[name] & mask) for name in ("state", "inc")]
    return [*pairs[0], *pairs[1], buffered]


@pytest.mark.parametrize("entropy", ENTROPIES)
def test_the_seeded_state_is_numpy_s(entropy: int) -> None:
    ours, numpy = seeded(entropy), numpy_generator(entropy)
    assert ours.bit_generator.state == numpy.bit_generator.state
    assert ours.random(20).tobytes() == numpy.random(20).tobytes()


@given(st.integers(0, 2**400))
def test_any_entropy(entropy: int) -> None:
    assert seeded(entropy).bit_generator.state == numpy_generator(entropy).bit_generator.state


@pytest.mark.parametrize(
    "first",
    [0, 1, 2**32 - 3, 2**64 - 3, 2**96 - 2, 2**128 - 2, 2**160 - 1, 3 * 2**64 - 2, 2**600 - 4],
)
def test_lanes_count_on_from_the_seed_with_every_carry(first: int) -> None:
    batch = make_batch(7)
    batch.seed(first, 0, 7)
    words = batch.view_random()
    for lane in range(7):
        assert words[lane].tolist() == numpy_words(numpy_generator(first + lane))


def test_a_range_of_lanes_leaves_the_others_alone() -> None:
    batch = make_batch(6)
    batch.seed(100, 0, 6)
    before = batch.view_random().copy()
    batch.seed(2**32 - 1, 2, 4)
    after = batch.view_random()
    np.testing.assert_array_equal(after[[0, 1, 4, 5]], before[[0, 1, 4, 5]])
    assert after[2].tolist() == numpy_words(numpy_generator(2**32 - 1))
    assert after[3].tolist() == numpy_words(numpy_generator(2**32))
    batch.seed(5, 3, 3)
    np.testing.assert_array_equal(batch.view_random(), after)


@pytest.mark.parametrize(("lo", "hi"), [(-1, 1), (0, 4), (2, 1), (4, 4)])
def test_lanes_outside_the_batch(lo: int, hi: int) -> None:
    batch = make_batch(3)
    batch.seed(1, 0, 3)
    before = batch.view_random().copy()
    with pytest.raises(IndexError, match=r"not in \[0, 3\)"):
        batch.seed(9, lo, hi)
    np.testing.assert_array_equal(batch.view_random(), before)


def test_many_lanes() -> None:
    batch = make_batch(100_000)
    batch.seed(2**32 - 50_000, 0, 100_000)
    words = batch.view_random()
    for lane in (0, 1, 49_999, 50_000, 50_001, 77_777, 99_999):
        expected = numpy_words(numpy_generator(2**32 - 50_000 + lane))
        assert words[lane].tolist() == expected
    # Streams are distinct: there are as many states and increments as lanes.
    assert len(np.unique(words[:, 0])) == len(np.unique(words[:, 2])) == 100_000


DRAWS = {
    "random": lambda g: g.random(1001),
    "random float32": lambda g: g.random(7, np.float32),
    "uniform": lambda g: g.uniform(-0.05, 0.05, (9, 3)),
    "uniform, one": lambda g: np.array(g.uniform(-3, 7)),
    "integers, small": lambda g: g.integers(0, 10, 33),
    "integers, one": lambda g: np.array([g.integers(2) for _ in range(5)]),
    "integers, uint8": lambda g: g.integers(0, 256, 11, np.uint8),
    "integers, bool": lambda g: g.integers(0, 2, 45, np.bool_),
    "integers, 32 bits": lambda g: g.integers(0, 2**32, 3, np.uint32),
    "integers, 64 bits": lambda g: g.integers(0, 2**63 + 5, 6, np.uint64),
    "integers, 64 bits masked": lambda g: g.integers(-(2**62), 2**62 + 3, 6),
    "normal": lambda g: g.normal(1.0, 2.0, 200),
    "standard normal float32": lambda g: g.standard_normal(50, np.float32),
    "exponential": lambda g: g.exponential(2.0, 50),
    "gamma": lambda g: g.gamma(0.7, 2.0, 20),
    "beta": lambda g: g.beta(2.0, 3.0, 20),
    "binomial": lambda g: g.binomial(40, 0.3, 20),
    "poisson": lambda g: g.poisson(30.0, 20),
    "geometric": lambda g: g.geometric(0.25, 20),
    "choice": lambda g: g.choice(30, 12, replace=False),
    "choice with probabilities": lambda g: g.choice(3, 9, p=[0.2, 0.5, 0.3]),
    "permutation": lambda g: g.permutation(50),
    "bytes": lambda g: np.frombuffer(g.bytes(13), np.uint8),
}


@pytest.mark.parametrize("name", DRAWS)
def test_every_distribution_through_a_view(name: str) -> None:
    ours, numpy = seeded(42), numpy_generator(42)
    for _ in range(3):
        assert DRAWS[name](ours).tobytes() == DRAWS[name](numpy).tobytes()
        assert ours.bit_generator.state == numpy.bit_generator.state


def test_draws_of_all_kinds_in_turn() -> None:
    ours, numpy = seeded(2**70), numpy_generator(2**70)
    order = np.random.default_rng(0).choice(list(DRAWS), 200)
    for name in order:
        assert DRAWS[name](ours).tobytes() == DRAWS[name](numpy).tobytes(), name
    assert ours.bit_generator.state == numpy.bit_generator.state


def test_half_a_draw_is_kept_for_the_next_32_bits() -> None:
    batch = make_batch()
    batch.seed(3, 0, 1)
    ours, numpy = lane_generator(batch, 0), numpy_generator(3)
    raw = int(numpy_generator(3).bit_generator.random_raw())
    assert int(ours.integers(0, 2**32, dtype=np.uint32)) == raw & 0xFFFFFFFF
    assert batch.view_random()[0, 4] == 1 | (raw >> 32 << 32)
    # A draw of 64 bits keeps the buffered half.
    numpy.integers(0, 2**32, dtype=np.uint32)
    assert ours.random() == numpy.random()
    assert int(ours.integers(0, 2**32, dtype=np.uint32)) == raw >> 32
    assert ours.bit_generator.state["has_uint32"] == 0


def test_a_view_moves_the_lane_and_the_lane_moves_the_view() -> None:
    batch = make_batch(3)
    batch.seed(11, 0, 3)
    first, again, other = (
        lane_generator(batch, 1),
        lane_generator(batch, 1),
        lane_generator(batch, 2),
    )
    expected = numpy_generator(12)
    assert first.random() == expected.random()
    assert again.random() == expected.random()
    assert batch.view_random()[1].tolist() == numpy_words(expected)
    assert other.random() == numpy_generator(13).random()
    batch.reset()
    expected.uniform(-0.05, 0.05, 4)
    assert first.random() == expected.random()
    batch.seed(99, 1, 2)
    assert again.random() == numpy_generator(99).random()


def test_seeding_drops_the_buffered_half() -> None:
    batch = make_batch()
    batch.seed(1, 0, 1)
    lane_generator(batch, 0).integers(0, 2**32, dtype=np.uint32)
    batch.seed(1, 0, 1)
    assert lane_generator(batch, 0).bit_generator.state == numpy_generator(1).bit_generator.state


def test_a_view_outlives_its_batch() -> None:
    batch = make_batch(2)
    batch.seed(5, 0, 2)
    view = lane_generator(batch, 1)
    batch.close()
    del batch
    numpy = numpy_generator(6)
    assert view.random(100).tobytes() == numpy.random(100).tobytes()


def test_state_of_a_view_can_be_moved_to_numpy_and_back() -> None:
    ours, numpy = seeded(8), np.random.Generator(np.random.PCG64(0))
    ours.integers(0, 2**32, dtype=np.uint32)
    numpy.bit_generator.state = ours.bit_generator.state
    assert ours.random(5).tobytes() == numpy.random(5).tobytes()
    assert ours.integers(0, 100, 5).tobytes() == numpy.integers(0, 100, 5).tobytes()
    numpy.integers(0, 2**32, 3, dtype=np.uint32)
    ours.bit_generator.state = numpy.bit_generator.state
    assert (
        ours.integers(0, 2**32, 4, np.uint32).tobytes()
        == numpy.integers(0, 2**32, 4, np.uint32).tobytes()
    )


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        {},
        {"bit_generator": "MT19937"},
        np.random.MT19937(1).state,
        np.random.PCG64DXSM(1).state,
        {"bit_generator": "PCG64"},
        {**np.random.PCG64(1).state, "state": {"state": -1, "inc": 1}},
        {**np.random.PCG64(1).state, "state": {"state": 2**128, "inc": 1}},
        {**np.random.PCG64(1).state, "state": {"state": 1, "inc": 2**128 + 1}},
        {**np.random.PCG64(1).state, "uinteger": 2**32},
        {**np.random.PCG64(1).state, "has_uint32": "no"},
    ],
)
def test_a_state_that_is_none_changes_nothing(wrong: object) -> None:
    view = seeded(8)
    before = view.bit_generator.state
    with pytest.raises((TypeError, ValueError), match="state"):
        view.bit_generator.state = wrong  # type: ignore[assignment]
    assert view.bit_generator.state == before


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_copies_and_pickles_go_on_alone(duplicate: object) -> None:
    assert callable(duplicate)
    view, numpy = seeded(21), numpy_generator(21)
    view.integers(0, 2**32, dtype=np.uint32)
    numpy.integers(0, 2**32, dtype=np.uint32)
    other = duplicate(view)
    assert type(other.bit_generator) is np.random.PCG64
    assert other.bit_generator.state == numpy.bit_generator.state
    drawn = numpy.random(6)
    assert other.random(6).tobytes() == drawn.tobytes()
    assert view.random(6).tobytes() == drawn.tobytes()


def test_a_copied_bit_generator_is_numpy_s() -> None:
    bits = seeded(21).bit_generator
    assert copy.deepcopy(bits).random_raw() == pickle.loads(pickle.dumps(bits)).random_raw()
    assert copy.deepcopy(bits).state == numpy_generator(21).bit_generator.state


@pytest.mark.parametrize(
    "call",
    [
        lambda bits: bits.advance(5).state,
        lambda bits: bits.jumped(2).state,
        lambda bits: bits.ctypes.next_double(bits.ctypes.state_address),
        lambda bits: np.random.RandomState(bits).bytes(7),
    ],
)
def test_a_stream_does_what_numpy_s_bit_generator_does(call: Callable[[Any], object]) -> None:
    ours, numpy = seeded(4).bit_generator, numpy_generator(4).bit_generator
    assert isinstance(ours, np.random.PCG64) and type(ours).__name__ == "PCG64"
    assert call(ours) == call(numpy) and ours.state == numpy.state


def test_random_raw() -> None:
    ours, numpy = seeded(4).bit_generator, numpy_generator(4).bit_generator
    assert ours.random_raw() == numpy.random_raw()
    np.testing.assert_array_equal(ours.random_raw(5), numpy.random_raw(5))
    np.testing.assert_array_equal(ours.random_raw((2, 3)), numpy.random_raw((2, 3)))
    assert ours.random_raw(3, output=False) is None
    numpy.random_raw(3)
    assert ours.state == numpy.state


@pytest.mark.parametrize("lane", [-1, 2, 10**9])
def test_no_view_of_a_lane_that_is_none(lane: int) -> None:
    with pytest.raises(IndexError, match=r"is not in \[0, 2\)"):
        lane_generator(make_batch(2), lane)
