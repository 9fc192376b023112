"""Arrays whose elements lie in intervals."""

import warnings

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gymcore import error
from gymcore.spaces import Box
from gymcore.spaces.box import array_short_repr, is_float_integer
from tests.spaces.catalogue import BOXES, label
from tests.spaces.parity import assert_same_outcome, assert_same_result

INF = np.inf


@pytest.mark.parametrize(
    "expression",
    [
        "Box(0, 1)",
        "Box(np.int64(0), np.float32(3))",
        "Box(0, 1, (2,), np.float32, 3).sample()",
        "Box(low=0, high=1, shape=(2,), dtype=np.uint8, seed=np.random.default_rng(4)).sample()",
        "Box(0, 1, dtype=bool)",
        "Box(0, 1, dtype=float)",
        "Box(0.5, 1.5, dtype=np.int8)",
        "Box(-1.5, 1.5, dtype=np.int8)",
        "Box(0, 255.0, dtype=np.uint8)",
        "Box(-inf, inf, dtype=np.int32)",
        "Box(-inf, 5.5, dtype=np.int8)",
        "Box(np.array([-inf, 1]), np.array([inf, 3]), dtype=np.int8)",
        "Box(0, np.array(3.0))",
        "Box(0, np.zeros(0))",
        "Box(0, 1, shape=[3])",
        "Box(0, 1, shape=np.array([2, 3]))",
        "Box(0, 1, shape=(np.int32(3),))",
        "Box(0, 1, shape=(True,))",
        "Box(np.array([0.1]), np.array([0.2]))",
        "Box(np.array([1, 2]), np.array([2, 2**60]))",
        "Box(np.array([1.0, 2]), np.array([2, 20], np.longdouble), dtype=np.float64)",
        "Box(np.array([1.0, 2]), np.array([2, 20], np.float32), dtype=np.float16)",
        "Box(np.array([False]), np.array([True]), dtype=np.uint8)",
        "Box(0, 2**64 - 1, dtype=np.uint64)",
        "Box(-(2**63), 2**63 - 1, dtype=np.int64)",
        "Box(np.array([3.0, inf]), np.array([inf, inf]))",
        # invalid boxes
        "Box([0, 1], [2, 3])",
        "Box(0, [2, 3])",
        "Box('a', 1)",
        "Box(True, 1)",
        "Box(0, True)",
        "Box(0, np.bool_(True))",
        "Box(1j, 1)",
        "Box('a', 1, shape=(2,))",
        "Box(0, [1, 2], shape=(2,))",
        "Box([0, 1], np.ones(2, np.float32))",
        "Box(0, 1, dtype=None)",
        "Box(0, 1, dtype=complex)",
        "Box(0, 1, dtype=object)",
        "Box(0, 1, dtype='foo')",
        "Box(1, 0)",
        "Box(np.array([0, 1]), np.array([1, 0]))",
        "Box(inf, -inf)",
        "Box(np.nan, 1)",
        "Box(np.array([0, np.nan]), 1.0, dtype=np.float64)",
        "Box(0, np.nan)",
        "Box(0, 256, dtype=np.uint8)",
        "Box(-1, 255, dtype=np.uint8)",
        "Box(0, 255.5, dtype=np.uint8)",
        "Box(0, 2, dtype=bool)",
        "Box(0, inf, dtype=bool)",
        "Box(-inf, inf, dtype=np.uint8)",
        "Box(np.array([-inf, 0.0]), np.array([1, 2.0]), dtype=np.uint8)",
        "Box(np.array([-1, 3]), np.array([1, 300]), dtype=np.uint8)",
        "Box(np.array([0, 3]), np.array([1, 300]), dtype=np.uint8)",
        "Box(0, 1e40)",
        "Box(-1e40, 1)",
        "Box(0, 1e5, dtype=np.float16)",
        "Box(0, 2**63, dtype=np.int64)",
        "Box(0, 1e19, dtype=np.int64)",
        "Box(0, float(2**63), dtype=np.int64)",
        "Box(0, float(2**64), dtype=np.uint64)",
        "Box(0, np.array([2**63], dtype=np.uint64), dtype=np.int64)",
        "Box(0, 1, shape=3)",
        "Box(0, 1, shape=(3.0,))",
        "Box(0, 1, shape=('a',))",
        "Box(np.zeros(2), np.ones(3))",
        "Box(np.zeros(2, np.float32), 1, shape=(3,))",
        "Box(0, np.ones(2, np.float32), shape=(3,))",
        "Box(np.zeros((1, 2)), np.ones((2, 1)))",
        "Box(np.array(['a']), 1)",
        "Box(np.array([1j]), 1)",
        "Box(np.array([None]), 1)",
        "Box(0, np.array([None]), shape=(1,))",
        "Box(0, 1, seed='a')",
    ],
)
def test_constructor_does_what_gymnasiums_does(expression):
    assert_same_result(expression)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"low": INF, "high": 3, "dtype": np.int8}, "low is out of bounds"),
        ({"low": 0, "high": -INF, "dtype": np.int8}, "high is out of bounds"),
        ({"low": np.array([300]), "high": 255, "dtype": np.uint8}, "low is out of bounds"),
        ({"low": 0, "high": np.array([2.0**63]), "dtype": np.int64}, "high is out of bounds"),
        ({"low": np.array([1e39]), "high": INF, "dtype": np.float32}, "low is out of bounds"),
        ({"low": 0, "high": 1, "shape": (2, -1)}, r"actual shape=\(2, -1\)"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*precision lowered")
def test_bounds_that_numpy_would_silently_change_are_refused(arguments, problem):
    with pytest.raises(error.InvalidArgument, match=problem):
        Box(**arguments)


def test_python_integers_beyond_64_bits_can_bound_floats():
    space = Box(-(2**70), 2**70, dtype=np.float64)
    assert space.high.tolist() == [2.0**70]


def test_a_shape_given_by_an_iterator_is_read_once():
    assert Box(0, 1, shape=iter([2, 3])).shape == (2, 3)


def test_bounds_are_copies():
    low, high = np.zeros(2, np.float32), np.ones(2, np.float32)
    space = Box(low, high)
    low[:] = 7
    high[:] = 7
    assert space.low.tolist() == [0, 0]
    assert space.high.tolist() == [1, 1]


VALUES = [
    "np.array([0.0, 1.0])",
    "np.array([0.0, 1.0], np.float32)",
    "np.array([0.0, 1.0], np.float16)",
    "np.array([0, 1], np.int8)",
    "np.array([0, 1], np.int32)",
    "np.array([0, 1])",
    "np.array([0, 1], np.uint64)",
    "np.array([0, 1], bool)",
    "np.array([0, 1], '>f4')",
    "np.array([0, np.nan], np.float32)",
    "np.array([0, 2], np.float32)",
    "np.array([-1, 0], np.float32)",
    "np.array([inf, 0], np.float32)",
    "np.array([[0.0, 1]], np.float32)",
    "np.array(['a', 'b'])",
    "np.array([0, None])",
    "np.ma.array([0, 1], dtype=np.float32)",
    "[0, 1]",
    "(0, 1.0)",
    "[0, 'a']",
    "[[0, 1], [1]]",
    "1",
    "None",
    "'ab'",
    "{}",
]


@pytest.mark.parametrize("dtype", ["np.float32", "np.float64", "np.int8", "np.uint8", "bool"])
@pytest.mark.parametrize("value", VALUES)
def test_contains_gives_gymnasiums_verdict(value, dtype):
    assert_same_result(f"Box(0, 1, (2,), {dtype}).contains({value})")
    assert_same_result(f"{value} in Box(0, 1, (), {dtype})")


@pytest.mark.parametrize("value", VALUES[:14])
def test_contains_of_an_unbounded_box(value):
    assert_same_result(f"Box(-inf, inf, (2,)).contains({value})")


def test_numpy_scalars_in_a_box_without_axes():
    # Gymnasium gives the same results with a warning, even for elements of its own batches.
    space = Box(0, 1, ())
    assert [np.float64(x) in space for x in (-0.5, 0.5, np.nan, 1.5)] == [False, True, False, False]
    assert np.str_("a") not in space
    assert_same_result("np.float32(1) in Box(0, 1)")


def test_contains_warns_where_the_value_was_tested():
    with pytest.warns(UserWarning, match="Casting input x to numpy array") as caught:
        assert Box(0, 1, (2,)).contains([0, 1])
    assert caught[0].filename == __file__


def test_contains_follows_bounds_that_change_in_place():
    space = Box(0, 1, (2,))
    space.high[0] = 9
    assert np.array([8, 1], np.float32) in space
    assert np.array([1, 8], np.float32) not in space


@pytest.mark.parametrize(
    "expression",
    [
        "[Box(0, 1).is_bounded(m) for m in ('both', 'below', 'above')]",
        "[Box(0, inf).is_bounded(m) for m in ('both', 'below', 'above')]",
        "[Box(np.array([0, -inf]), 1.0, dtype='f8').is_bounded(m) for m in ('both', 'below')]",
        "Box(0, 1).is_bounded('x')",
        "Box(0, 1).is_bounded(3)",
        "Box(0, 1) == Box(0, 1.0000001)",
        "Box(0, 1) == Box(0, 1.001)",
        "Box(0, 1, (2,)) == Box(0, 1, (3,))",
        "Box(0, 1) == Box(0, 1, dtype=np.float64)",
        "Box(0, 1) == 3",
        "Box(0, inf) == Box(0, inf)",
        "Box(0, inf) == Box(0, 3e38)",
        "Box(-inf, inf, (2,), np.int8) == Box(-128, 127, (2,), np.int8)",
        "hash(Box(0, 1))",
        "Box(0, 1).sample(mask=3)",
        "Box(0, 1).sample(probability=3)",
        "Box(0, 1, (2,)).from_jsonable([[0, 1], (1, 0)])",
        "Box(0, 1).from_jsonable(3)",
        "Box(0, 1).from_jsonable([['a']])",
        "repr(Box(0, np.arange(120, dtype=np.float32).reshape(3, 40)))",
        "repr(Box(1e-5, 1e10, (2,), np.float64))",
        "repr(Box(np.array([1, 1], np.uint8), np.array([255, 254], np.uint8), dtype=np.uint8))",
    ],
)
def test_other_methods(expression):
    assert_same_result(expression)


def test_short_repr_of_arrays():
    assert array_short_repr(np.ones((3, 3))) == "1.0"
    assert array_short_repr(np.array([0.0, 1.0])) == "[0. 1.]"
    assert array_short_repr(np.zeros((0, 2))) == "[]"


def test_which_numbers_count_as_bounds():
    numbers = [1, 1.5, np.float16(1), np.uint8(1)]
    assert all(map(is_float_integer, numbers))
    assert not any(map(is_float_integer, [True, np.bool_(1), "a", np.array(1), 1j, None]))


@pytest.mark.parametrize("factory", BOXES, ids=label)
def test_long_runs_of_samples_equal_gymnasiums(factory):
    def run(spaces):
        space = factory(spaces)
        space.seed(2024)
        return [space.sample() for _ in range(20)]

    assert_same_outcome(run)


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (-(2**63), 2**63 - 1, np.int64),
        (0, 2**63 - 1, np.int64),
        (2**63 - 5, 2**63 - 1, np.int64),
        (-INF, 2**63 - 1, np.int64),
        (2**63 - 2, INF, np.int64),
        (0, 2**64 - 1, np.uint64),
        (2**63, 2**64 - 1, np.uint64),
        (2**64 - 3, 2**64 - 1, np.uint64),
        (-1.7e308, 1.7e308, np.float64),
        (0, 1, np.longdouble),
        (-INF, 0, np.longdouble),
    ],
)
def test_ranges_where_gymnasium_fails_or_always_gives_one_value(low, high, dtype):
    space = Box(low, high, (200,), dtype, seed=1)
    sample = space.sample()
    assert sample in space
    assert sample.dtype == dtype
    if 1000 < high - low < INF:
        assert len(np.unique(sample)) > 1


def test_the_full_range_of_64_bits_is_covered():
    sample = Box(-(2**63), 2**63 - 1, (4000,), np.int64, seed=0).sample()
    assert sample.min() < -0.99 * 2**63
    assert sample.max() > 0.99 * 2**63
    assert abs(np.mean(sample / 2.0**63)) < 0.05


def test_sampling_follows_bounds_that_change_in_place():
    space = Box(0, 1, (3,), seed=0)
    space.low[:] = 5
    space.high[:] = 6
    assert (space.sample() >= 5).all()
    space.bounded_above[0] = False
    samples = np.array([space.sample() for _ in range(200)])
    assert samples[:, 0].max() > 6
    assert samples[:, 1:].max() <= 6


def test_integers_without_axes_are_arrays_like_floats():
    # Gymnasium returns a NumPy scalar here, and then warns that its own sample is not an array.
    space, reference = Box(0, 9, (), np.int16, seed=3), gymnasium.spaces.Box(0, 9, (), np.int16, 3)
    for _ in range(5):
        sample = space.sample()
        assert isinstance(sample, np.ndarray)
        assert sample.dtype == np.int16
        assert sample == reference.sample()
        assert sample in space


def test_samples_belong_to_the_caller():
    space = Box(0.5, 0.5, (2,), seed=0)
    sample = space.sample()
    sample += 1
    assert space.sample().tolist() == [0.5, 0.5]
    assert space.low.tolist() == [0.5, 0.5]


@st.composite
def bounds(draw):
    """Draw a dtype and two arrays of bounds for it, some of them infinite."""
    dtype = np.dtype(draw(st.sampled_from(["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u4"])))
    # Integers without axes are tested separately.
    shape = draw(hnp.array_shapes(min_dims=int(dtype.kind != "f"), max_dims=3, max_side=4))
    if dtype.kind == "f":
        width = 8 * dtype.itemsize
        limit = {16: 6e4, 32: 1e38, 64: 1e300}[width]
        limit = float(dtype.type(limit))
        elements = st.floats(-limit, limit, width=width)
        infinite = st.booleans()
    else:
        limits = np.iinfo(dtype)
        # 64-bit bounds are integers that doubles, in which Gymnasium samples, hold exactly.
        elements = st.integers(int(max(limits.min, -(2**53))), int(min(limits.max, 2**53)))
        infinite = st.booleans() if dtype.kind == "i" else st.just(False)
    one = draw(hnp.arrays(dtype, shape, elements=elements))
    other = draw(hnp.arrays(dtype, shape, elements=elements))
    low, high = np.minimum(one, other), np.maximum(one, other)
    if dtype.kind == "f" or (dtype.kind == "i" and dtype.itemsize < 8):
        low = np.where(draw(hnp.arrays(bool, shape, elements=infinite)), -INF, low)
        high = np.where(draw(hnp.arrays(bool, shape, elements=infinite)), INF, high)
        if dtype.kind == "f":
            low, high = low.astype(dtype), high.astype(dtype)
    return dtype, low, high


@settings(max_examples=60, deadline=None)
@given(bounds(), st.integers(0, 2**32))
def test_any_box_is_gymnasiums(parts, seed):
    dtype, low, high = parts

    def run(spaces):
        space = spaces.Box(low, high, dtype=dtype, seed=seed)
        samples = [space.sample() for _ in range(3)]
        return space, repr(space), samples, [sample in space for sample in samples]

    assert_same_outcome(run)


def test_no_warning_from_ordinary_use():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        space = Box(-INF, np.array([1, INF], np.float32), seed=0)
        assert space.sample() in space
        assert Box(-1e308, 1e308, dtype=np.float64, seed=0).sample().shape == (1,)


def test_old_pickles_get_their_texts():
    space = Box.__new__(Box)
    space.__setstate__(
        {
            "shape": (2,),
            "dtype": np.dtype(np.float32),
            "np_random": None,
            "low": np.zeros(2, np.float32),
            "high": np.ones(2, np.float32),
            "bounded_below": np.ones(2, bool),
            "bounded_above": np.ones(2, bool),
        }
    )
    assert repr(space) == "Box(0.0, 1.0, (2,), float32)"
    assert space.sample() in space
