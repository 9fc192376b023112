"""Arrays of integers, each with its own range."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gymcore import error
from gymcore.spaces import Discrete, MultiDiscrete
from tests.spaces.parity import assert_same_outcome, assert_same_result, i8


@pytest.mark.parametrize(
    "expression",
    [
        "MultiDiscrete([3, 2])",
        "MultiDiscrete((3, 2))",
        "MultiDiscrete([3.0, 2])",
        "MultiDiscrete([True, True])",
        "MultiDiscrete(np.array([3, 2], np.int8), np.uint8, 4, np.array([1, 2]))",
        "MultiDiscrete([[3, 2], [1, 4]], start=[[1, 2], [3, 4]], dtype='int32')",
        "MultiDiscrete(3)",
        "MultiDiscrete([])",
        "MultiDiscrete(['a'])",
        "MultiDiscrete(None)",
        "MultiDiscrete([3, 2], start=[1])",
        "MultiDiscrete([3, 2], start=1)",
        "MultiDiscrete([3, 2], start=[[1, 2]])",
        "MultiDiscrete([3, 2], start=['a', 'b'])",
        "MultiDiscrete([3, 2], dtype=np.float32)",
        "MultiDiscrete([3, 2], dtype=bool)",
        "MultiDiscrete([3, 2], dtype=None)",
        "MultiDiscrete([3, 2], dtype='foo')",
        "MultiDiscrete([300, 2], dtype=np.int8)",
        "MultiDiscrete([3, 2], dtype=np.uint8, start=[-1, 0])",
        "MultiDiscrete([3, 2], seed='a')",
    ],
)
def test_constructor_does_what_gymnasiums_does(expression):
    assert_same_result(expression)


@pytest.mark.parametrize("expression", ["MultiDiscrete([0, 1])", "MultiDiscrete([[-1, 1]])"])
def test_counts_must_be_positive(expression):
    assert_same_result(expression, message=False)
    with pytest.raises(error.InvalidArgument, match=r"nvec .* positive, actual value: .*1\]"):
        eval(expression)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"nvec": [2.5, 1]}, r"nvec: \[2.5 1. \] cannot be represented as int64"),
        ({"nvec": [3, 2], "start": [0.5, 0]}, "start: .* cannot be represented"),
        ({"nvec": np.array([300, 2]), "dtype": np.int8}, "nvec: .* cannot be represented as int8"),
        ({"nvec": [100, 2], "start": [100, 0], "dtype": np.int8}, "do not all fit the dtype int8"),
    ],
)
def test_numbers_that_numpy_would_silently_change_are_refused(arguments, problem):
    with pytest.raises(error.InvalidArgument, match=problem):
        MultiDiscrete(**arguments)


def test_the_arrays_are_copies():
    nvec, start = np.array([3, 2]), np.array([0, 1])
    space = MultiDiscrete(nvec, start=start)
    nvec[:] = 9
    start[:] = 9
    assert space == MultiDiscrete([3, 2], start=[0, 1])


@pytest.mark.parametrize(
    "expression",
    [
        "repr(MultiDiscrete([3, 2], start=[0, 1]))",
        "repr(MultiDiscrete([3, 2], start=[0, 0], dtype=np.int8))",
        "repr(MultiDiscrete(np.arange(1, 2000)))",
        "MultiDiscrete([3, 2]) == MultiDiscrete([3, 2])",
        "MultiDiscrete([3, 2]) == MultiDiscrete([3, 2], dtype=np.int32)",
        "MultiDiscrete([3, 2]) == MultiDiscrete([3, 2], start=[0, 1])",
        "MultiDiscrete([3, 2]) == MultiDiscrete([[3, 2]])",
        "MultiDiscrete([3, 2]) == MultiDiscrete([3, 1])",
        "MultiDiscrete([3, 2]) == 3",
        "hash(MultiDiscrete([3, 2]))",
        "len(MultiDiscrete([3, 2]))",
        "len(MultiDiscrete([[3, 2], [1, 2]]))",
        "len(MultiDiscrete(3))",
        "MultiDiscrete([3, 2]).to_jsonable(np.array([[0, 1], [1, 1]]))",
        "MultiDiscrete([3, 2]).from_jsonable([[0, 1], (1, 0)])",
        "MultiDiscrete([3, 2], dtype=np.int8).from_jsonable([(0, 1.5)])",
        "MultiDiscrete([3, 2]).from_jsonable(['a'])",
        "list(MultiDiscrete([3, 2]))",
        "MultiDiscrete([3, 2])[2]",
        "MultiDiscrete([3, 2])[0.5]",
        "MultiDiscrete([3, 2])['a']",
    ],
)
def test_other_methods(expression):
    assert_same_result(expression)


@pytest.mark.parametrize("index", ["0", "-1", "0:1", "...", "None", "[0, 1]", "(0, 1)", "(..., 1)"])
def test_parts_of_a_space(index):
    nvec, start = "[[3, 2], [1, 4]]", "[[0, 1], [0, 2]]"
    assert_same_result(f"MultiDiscrete({nvec}, start={start}, dtype=np.int8)[{index}]")
    assert_same_result(f"MultiDiscrete({nvec}, seed=3)[{index}].sample()")


def test_a_part_has_its_own_generator_of_the_same_state():
    space = MultiDiscrete([3, 2], seed=np.random.Generator(np.random.MT19937(3)))
    part = space[0]
    assert isinstance(part, Discrete)
    assert part.np_random is not space.np_random
    assert part.np_random.random() == space.np_random.random()


VALUES = [
    "[0, 1]",
    "(2, 1)",
    "[3, 1]",
    "[-1, 0]",
    "[0]",
    "[]",
    "[0, 1, 1]",
    "[0.0, 1.0]",
    "['a', 'b']",
    "[None, 1]",
    "[2**70, 1]",
    "[[0, 1]]",
    "[True, False]",
    "(np.int8(1), np.int64(1))",
    "(np.int8(1), np.int8(1))",
    "np.array([0, 1])",
    "np.array([0, 1], np.int8)",
    "np.array([0, 1], np.uint8)",
    "np.array([0, 1], np.uint64)",
    "np.array([0.0, 1.0])",
    "np.array([True, False])",
    "np.array([0, 1], dtype=object)",
    "np.array([0, 1], dtype='m8')",
    "np.array([[0, 1]])",
    "None",
    "3",
    "'ab'",
    "np.array([1, 251], np.uint8)",
    "[255, 251]",
]


@pytest.mark.parametrize("value", VALUES)
def test_contains_gives_gymnasiums_verdict(value):
    assert_same_result(f"MultiDiscrete([3, 2]).contains({value})")
    assert_same_result(f"MultiDiscrete([3, 2], start=[-1, 1]).contains({value})")
    assert_same_result(f"MultiDiscrete([3, 2], dtype=np.int8).contains({value})")
    assert_same_result(f"MultiDiscrete([3, 6], start=[1, 250], dtype='u1').contains({value})")


def test_ragged_lists_are_no_elements():
    assert [[0], [1, 2]] not in MultiDiscrete([3, 2])


def test_samples_of_a_space_without_axes_belong_to_it():
    space = MultiDiscrete(3, seed=0)
    assert space.sample() in space
    assert np.int64(3) not in space


MASKS = [
    "(i8(1, 0, 1), i8(0, 1))",
    "(i8(0, 0, 0), i8(0, 1))",
    "(i8(1, 1, 1), i8(1, 1))",
    "[i8(1, 0, 1), i8(0, 1)]",
    "(i8(1, 0, 1),)",
    "()",
    "(i8(1, 0), i8(0, 1))",
    "(np.array([1, 0, 1]), i8(0, 1))",
    "([1, 0, 1], i8(0, 1))",
    "(None, i8(0, 1))",
    "(i8(1, 2, 0), i8(1, 1))",
    "((i8(1, 1, 0),), i8(1, 1))",
    "(np.array([[1, 0, 1]], np.int8), i8(1, 1))",
    "i8(1, 1)",
    "3",
    "'ab'",
]
PROBABILITIES = [
    "(f8(0.5, 0, 0.5), f8(0, 1))",
    "(f8(0.2, 0.3, 0.5), f8(0.5, 0.5))",
    "(f8(0, 0, 0), f8(0, 1))",
    "(f8(0.5, 0, 0.4), f8(0, 1))",
    "(f8(-0.5, 1, 0.5), f8(0, 1))",
    "(np.array([1, 0, 0], np.int64), f8(0, 1))",
    "(f8(0.5, 0.5), f8(0, 1))",
    "(f8(0.5, 0, 0.5), None)",
    "(f8(0.5, 0, 0.5),)",
    "[f8(0.5, 0, 0.5), f8(0, 1)]",
    "3",
]
NESTED_MASKS = [
    "((i8(1, 0, 1), i8(0, 1)), (i8(1), i8(0, 1, 1, 0)))",
    "((i8(1, 0, 1), i8(0, 1)), (i8(0), i8(0, 0, 0, 0)))",
    "(i8(1, 0, 1), i8(0, 1))",
    "((i8(1, 0, 1), i8(0, 1)),)",
    "((i8(1, 0, 1), i8(0, 1)), [i8(1), i8(0, 1, 1, 0)])",
    "((i8(1, 0, 1), i8(0, 1)), (None, i8(0, 1, 1, 0)))",
]


def masked(space, options):
    assert_same_result(f"[MultiDiscrete({space}, seed=i).sample({options}) for i in range(10)]")


@pytest.mark.parametrize("mask", MASKS)
def test_masked_samples(mask):
    masked("[3, 2]", f"mask={mask}")
    masked("[3, 2], start=[5, -5], dtype=np.int8", f"mask={mask}")


@pytest.mark.parametrize("probability", PROBABILITIES)
def test_weighted_samples(probability):
    masked("[3, 2]", f"probability={probability}")
    masked("[3, 2], start=[5, 0], dtype=np.uint64", f"probability={probability}")


@pytest.mark.parametrize("mask", NESTED_MASKS)
def test_nested_masks(mask):
    masked("[[3, 2], [1, 4]], start=[[1, 2], [3, 4]], dtype=np.int32", f"mask={mask}")


def test_nested_probabilities():
    weights = "((f8(0.5, 0, 0.5), f8(0, 1)), (f8(1), f8(0, 0.1, 0.9, 0)))"
    masked("[[3, 2], [1, 4]]", f"probability={weights}")
    masked("[3, 2]", "mask=3, probability=3")
    masked("[]", "mask=()")


def test_an_array_of_masks_is_a_tuple_of_its_rows():
    """Like infos["action_mask"] of a batch, or an array for a space of two axes."""
    rng = np.random.default_rng(1)
    for nvec in ([3] * 5, [[4, 4], [4, 4]]):
        mask = rng.integers(0, 2, (*np.shape(nvec), np.max(nvec)), np.int8)
        tuples = tuple(mask) if mask.ndim == 2 else tuple(map(tuple, mask))
        weights = rng.dirichlet(np.ones(np.max(nvec)), np.shape(nvec))
        parts = tuple(weights) if mask.ndim == 2 else tuple(map(tuple, weights))
        for name, array, nested in ("mask", mask, tuples), ("probability", weights, parts):
            one, other = MultiDiscrete(nvec, seed=2), MultiDiscrete(nvec, seed=2)
            for _ in range(20):
                drawn = one.sample(**{name: array})
                assert (drawn == other.sample(**{name: nested})).all()
    with pytest.raises(error.InvalidMask, match="mask length"):
        MultiDiscrete([3, 2]).sample(mask=np.ones((2, 3), np.int8))


def test_a_mask_is_checked_as_a_whole_before_anything_is_drawn():
    space = MultiDiscrete([3, 2], seed=1)
    before = space.np_random.bit_generator.state
    with pytest.raises(error.InvalidMask, match="actual values: \\[0 2\\]"):
        space.sample(mask=(i8(1, 1, 1), i8(0, 2)))
    assert space.np_random.bit_generator.state == before


def test_a_space_without_axes_takes_a_plain_mask():
    assert MultiDiscrete(3).sample(mask=i8(0, 0, 1)) == 2


@settings(max_examples=30, deadline=None)
@given(
    nvec=hnp.arrays(
        np.int64,
        hnp.array_shapes(min_dims=1, max_dims=3, max_side=3),
        elements=st.integers(1, 2**40),
    ),
    offset=st.integers(-(2**40), 2**40),
    seed=st.integers(0, 2**64),
)
def test_any_multi_discrete_is_gymnasiums(nvec, offset, seed):
    def run(spaces):
        space = spaces.MultiDiscrete(nvec, start=nvec // 2 + offset, seed=seed)
        samples = [space.sample() for _ in range(3)]
        inside = [space.contains(sample) for sample in [*samples, space.start - 1, space.nvec]]
        return space, samples, inside, space[0], space.np_random.bit_generator.state

    assert_same_outcome(run)


def test_old_pickles_start_at_zero():
    state = dict(MultiDiscrete([3, 2], start=[1, 1]).__dict__)
    del state["start"]
    space = MultiDiscrete.__new__(MultiDiscrete)
    space.__setstate__(state)
    assert space == MultiDiscrete([3, 2])
