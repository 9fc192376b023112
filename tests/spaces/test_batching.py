import gymnasium
import numpy as np
import pytest
from gymnasium.vector import utils as gymnasium_utils
from hypothesis import given, settings
from hypothesis import strategies as st

import gymcore
from gymcore import error
from gymcore.spaces import Box, Dict, Discrete, MultiDiscrete, Space, Text, Tuple
from gymcore.vector.utils import (
    batch_differing_spaces,
    batch_space,
    concatenate,
    create_empty_array,
    iterate,
)
from tests.testing_env import OBSERVATION_KINDS, assert_same, make_space

SEED = 123


class Color(Space):
    """A space unknown to all functions."""

    def sample(self, mask=None, probability=None):
        return ("red", "green", "blue")[self.np_random.integers(3)]

    def contains(self, x):
        return x in ("red", "green", "blue")


def both_spaces(kind):
    spaces = []
    for gym in (gymcore, gymnasium):
        space = make_space(gym, kind)
        space.seed(SEED)
        spaces.append(space)
    return spaces


def test_modules_export_what_gymnasium_exports():
    from gymcore.vector.utils import misc, shared_memory, space_utils

    theirs = gymnasium_utils
    assert set(gymcore.vector.utils.__all__) >= set(theirs.__all__)
    assert set(space_utils.__all__) >= set(theirs.space_utils.__all__)
    assert set(shared_memory.__all__) >= set(theirs.shared_memory.__all__)
    assert set(misc.__all__) >= set(theirs.misc.__all__)


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("kind", OBSERVATION_KINDS)
def test_batch_space_as_in_gymnasium(kind, n):
    ours, theirs = both_spaces(kind)
    our_batch, their_batch = batch_space(ours, n), gymnasium_utils.batch_space(theirs, n)
    assert repr(our_batch) == repr(their_batch)
    assert our_batch.dtype == their_batch.dtype
    assert our_batch.shape == their_batch.shape
    for _ in range(3):
        assert_same(our_batch.sample(), their_batch.sample())
    assert_same(ours.sample(), theirs.sample())  # its generator was copied, not used


@pytest.mark.parametrize("kind", OBSERVATION_KINDS)
def test_batch_differing_spaces_as_in_gymnasium(kind):
    ours, theirs = both_spaces(kind)
    our_batch = batch_differing_spaces([ours, ours])
    their_batch = gymnasium_utils.batch_differing_spaces([theirs, theirs])
    assert repr(our_batch) == repr(their_batch)
    assert our_batch.dtype == their_batch.dtype
    for _ in range(3):
        assert_same(our_batch.sample(), their_batch.sample())
    assert_same(ours.sample(), theirs.sample())


@pytest.mark.parametrize("kind", OBSERVATION_KINDS)
def test_elements_of_a_batch_as_in_gymnasium(kind):
    ours, theirs = both_spaces(kind)
    our_batch, their_batch = batch_space(ours, 3), gymnasium_utils.batch_space(theirs, 3)
    assert_same(
        list(iterate(our_batch, our_batch.sample())),
        list(gymnasium_utils.iterate(their_batch, their_batch.sample())),
    )


@pytest.mark.parametrize("kind", OBSERVATION_KINDS)
def test_empty_arrays_as_in_gymnasium(kind):
    ours, theirs = both_spaces(kind)
    for fn in (np.zeros, np.ones):
        assert_same(
            create_empty_array(ours, 2, fn=fn),
            gymnasium_utils.create_empty_array(theirs, 2, fn=fn),
        )
    assert_same(create_empty_array(ours), gymnasium_utils.create_empty_array(theirs))


@pytest.mark.parametrize("kind", OBSERVATION_KINDS)
def test_concatenate_as_in_gymnasium(kind):
    ours, theirs = both_spaces(kind)
    items = [ours.sample() for _ in range(4)]
    assert_same(
        concatenate(ours, items, create_empty_array(ours, 4)),
        gymnasium_utils.concatenate(theirs, items, gymnasium_utils.create_empty_array(theirs, 4)),
    )


@pytest.mark.parametrize("kind", OBSERVATION_KINDS)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**31), n=st.integers(1, 6))
def test_iterate_undoes_concatenate(kind, seed, n):
    space = make_space(gymcore, kind)
    space.seed(seed)
    items = [space.sample() for _ in range(n)]
    batch = concatenate(space, items, create_empty_array(space, n))
    batched_space = batch_space(space, n)
    assert batch in batched_space
    back = list(iterate(batched_space, batch))
    assert len(back) == n
    for item, original in zip(back, items, strict=True):
        np.testing.assert_equal(item, original)


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.float64, np.int8, np.uint16, np.int64, np.bool_]
)
def test_dtypes_are_kept(dtype):
    space = Box(0, 1, (3,), dtype)
    assert batch_space(space, 2).dtype == dtype
    assert create_empty_array(space, 2).dtype == dtype
    assert Discrete(3, dtype=np.int32).dtype == np.int32
    assert batch_space(Discrete(3, dtype=np.int32), 2).dtype == np.int32
    assert batch_space(MultiDiscrete([3, 4], dtype=np.int16), 2).dtype == np.int16


def test_infinite_bounds_stay_infinite():
    space = Box(np.array([0, -np.inf], np.float32), np.array([np.inf, 3], np.float32))
    batch = batch_space(space, 2)
    np.testing.assert_array_equal(batch.bounded_below, [[True, False]] * 2)
    np.testing.assert_array_equal(batch.bounded_above, [[False, True]] * 2)


# Different spaces


def test_each_row_has_its_own_bounds():
    batch = batch_differing_spaces([Box(0, 1, (2,)), Box(-1, 3, (2,))])
    np.testing.assert_array_equal(batch.low, [[0, 0], [-1, -1]])
    np.testing.assert_array_equal(batch.high, [[1, 1], [3, 3]])
    assert batch.dtype == np.float32

    assert batch_differing_spaces([Discrete(3), Discrete(5, start=1)]) == MultiDiscrete(
        [3, 5], start=[0, 1]
    )
    batch = batch_differing_spaces([MultiDiscrete([2, 3]), MultiDiscrete([4, 3], start=[1, 1])])
    assert batch == Box(np.array([[0, 0], [1, 1]]), np.array([[1, 2], [4, 3]]), dtype=np.int64)
    assert batch_differing_spaces([Dict(a=Discrete(2)), Dict(a=Discrete(4))]) == Dict(
        a=MultiDiscrete([2, 4])
    )
    assert batch_differing_spaces([Text(2), Text(5)]) == Tuple([Text(2), Text(5)])


def test_copies_in_a_differing_batch_are_independent():
    text = Text(4, seed=5)
    batch = batch_differing_spaces([text, text])
    assert batch[0] is not text
    assert batch[0] is not batch[1]


DIFFERING = {
    "none": (lambda s: [], ValueError, "non-empty list of spaces"),
    "types": (lambda s: [s.Discrete(3), s.Box(0, 1)], TypeError, "all spaces to be of the same"),
    "no space": (lambda s: [s.Discrete(3), 3], TypeError, "all spaces to be of the same type"),
    "box shapes": (
        lambda s: [s.Box(0, 1, (2,)), s.Box(0, 1, (3,))],
        ValueError,
        "Expected all Box.low shape to be equal, actually",
    ),
    "box dtypes": (
        lambda s: [s.Box(0, 1, (2,)), s.Box(0, 1, (2,), np.float64)],
        ValueError,
        "Expected all dtypes to be equal, actually",
    ),
    "multi-discrete shapes": (
        lambda s: [s.MultiDiscrete([2, 3]), s.MultiDiscrete([2])],
        ValueError,
        "Expects all MultiDiscrete.nvec shape, actually",
    ),
    "multi-discrete dtypes": (
        lambda s: [s.MultiDiscrete([2]), s.MultiDiscrete([2], dtype=np.int32)],
        ValueError,
        "Expected all dtypes to be equal, actually",
    ),
    "multi-binary shapes": (
        lambda s: [s.MultiBinary(2), s.MultiBinary(3)],
        ValueError,
        "Expected all MultiBinary shapes to be equal, actually",
    ),
    "tuple lengths": (
        lambda s: [s.Tuple([s.Discrete(2)]), s.Tuple([s.Discrete(2)] * 2)],
        ValueError,
        "Expected all Tuple lengths to be equal",
    ),
    "tuple contents": (
        lambda s: [s.Tuple([s.Discrete(2)]), s.Tuple([s.Box(0, 1)])],
        TypeError,
        "all spaces to be of the same type",
    ),
    "dict keys": (
        lambda s: [s.Dict(a=s.Discrete(2)), s.Dict(b=s.Discrete(2))],
        ValueError,
        "Expected all Dict spaces to have the same keys, actually",
    ),
}


@pytest.mark.parametrize("case", DIFFERING)
def test_spaces_that_cannot_be_batched(case):
    build, exception, message = DIFFERING[case]
    with pytest.raises(exception):
        gymnasium_utils.batch_differing_spaces(build(gymnasium.spaces))
    with pytest.raises(exception, match=message) as caught:
        batch_differing_spaces(build(gymcore.spaces))
    assert isinstance(caught.value, error.Error)


# Taking batches apart


def test_iterate_goes_by_the_spaces_keys():
    space = batch_space(Dict(a=Discrete(2), b=Box(0, 1, (1,))), 2)
    items = {"b": np.array([[1.0], [2.0]]), "extra": 3, "a": np.array([0, 1])}
    assert_same(
        list(iterate(space, items)),
        [{"a": np.int64(0), "b": np.array([1.0])}, {"a": np.int64(1), "b": np.array([2.0])}],
    )


def test_iterate_gives_views():
    batch = np.zeros((2, 3), dtype=np.float32)
    row = next(iterate(Box(0, 1, (2, 3)), batch))
    row[:] = 1
    assert batch[0].tolist() == [1, 1, 1]


@pytest.mark.parametrize("items", [5, None, np.array(5)])
def test_iterate_over_a_single_element(items):
    with pytest.raises(TypeError, match="Unable to iterate over the following elements:"):
        iterate(MultiDiscrete([2, 2]), items)


def test_iterate_over_a_discrete():
    with pytest.raises(TypeError, match="Unable to iterate over a space of type `Discrete`"):
        iterate(Discrete(3), 1)


def test_iterate_needs_columns_of_the_same_length():
    space = Dict(a=MultiDiscrete([2, 2]), b=MultiDiscrete([2, 2]))
    with pytest.raises(ValueError):
        list(iterate(space, {"a": [0, 1], "b": [0]}))
    with pytest.raises(ValueError):
        list(iterate(Tuple(space.values()), ([0, 1], [0])))


def test_iterate_over_nothing():
    assert list(iterate(Dict(), {})) == []
    assert list(iterate(Tuple([]), ())) == []


# Putting batches together


def test_concatenate_writes_into_the_given_arrays():
    space = Dict(a=Discrete(9), b=Tuple([Box(0, 9, (2,))]))
    out = create_empty_array(space, 2)
    batch = concatenate(space, [{"a": 3, "b": (np.full(2, 4),)}] * 2, out)
    assert batch["a"] is out["a"]
    assert batch["b"][0] is out["b"][0]
    assert out["a"].tolist() == [3, 3]
    assert out["b"][0].tolist() == [[4, 4], [4, 4]]


def test_concatenate_takes_generators_and_lists():
    space = Box(0, 9, (2,))
    out = create_empty_array(space, 2)
    assert concatenate(space, (np.full(2, i) for i in (1, 2)), out) is out
    assert out.tolist() == [[1, 1], [2, 2]]
    assert concatenate(space, [[3, 4], [5, 6]], out).tolist() == [[3, 4], [5, 6]]
    pairs = Tuple([space, space])
    first, second = concatenate(
        pairs, ((np.full(2, i), np.full(2, 9)) for i in (1, 2)), create_empty_array(pairs, 2)
    )
    assert first.tolist() == [[1, 1], [2, 2]]
    assert second.tolist() == [[9, 9], [9, 9]]


def test_concatenate_into_a_strided_array():
    space = Box(0, 9, (2,))
    out = np.zeros((2, 4), dtype=np.float32)[:, :2]
    concatenate(space, [np.array([1, 2]), np.array([3, 4])], out)
    assert out.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("space", "items", "exception"),
    [
        (Box(0, 1, (2,)), [np.zeros(2), np.zeros(3)], ValueError),
        (Box(0, 1, (2,)), [np.zeros(1), np.zeros(3)], ValueError),
        (Box(0, 1, (2,)), [np.zeros((2, 1)), np.zeros((2, 1))], ValueError),
        (Box(0, 1, (2,)), [np.zeros(2)], ValueError),
        (Box(0, 1, (2,)), [np.zeros(2)] * 3, ValueError),
        (Box(0, 1, (2,)), [0, 0], ValueError),
        (Discrete(3), [np.zeros(1, int), np.zeros(1, int)], ValueError),
        (Discrete(3), [1.5, 2], TypeError),
        (Box(0, 255, (2,), np.uint8), [np.array([1, 300]), np.array([1, 2])], TypeError),
        (Box(0, 1, (2,)), [np.array(["a", "b"])] * 2, TypeError),
    ],
)
def test_concatenate_refuses_what_does_not_fit(space, items, exception):
    with pytest.raises(exception):
        concatenate(space, items, create_empty_array(space, 2))


def test_concatenate_does_not_squeeze_a_single_element():
    with pytest.raises(ValueError):
        concatenate(Discrete(3), [np.zeros(1, int)], create_empty_array(Discrete(3), 1))


def test_concatenate_without_an_array():
    assert concatenate(Box(0, 1, (2,)), [np.ones(2)], None).tolist() == [[1, 1]]


# Spaces of other packages


def test_a_custom_space_is_batched_as_a_tuple():
    space = Color(seed=SEED)
    batch = batch_space(space, 20)
    sample = batch.sample()
    assert len(sample) == 20
    assert len(set(sample)) > 1  # the copies have different seeds
    assert sample == batch_space(Color(seed=SEED), 20).sample()
    assert list(iterate(batch, sample)) == list(sample)
    assert create_empty_array(space, 2) is None
    assert concatenate(space, ["red", "blue"], None) == ("red", "blue")


def test_a_custom_space_beside_others():
    space = batch_space(Tuple([Color(seed=1), Discrete(3)]), 2)
    assert list(iterate(space, (("red", "blue"), [0, 2]))) == [("red", 0), ("blue", 2)]


def test_a_single_custom_space_cannot_be_taken_apart():
    with pytest.raises(error.CustomSpaceError, match="doesn't have an registered `iterate` funct"):
        iterate(Color(), "red")
    with pytest.raises(error.CustomSpaceError, match=r"Register .* for `iterate` to support it"):
        list(iterate(Dict(a=Color()), {"a": "red"}))


def test_custom_spaces_that_differ():
    with pytest.raises(TypeError, match=r"registered `batch_differing_space`.*'Box', 'Discrete'"):
        batch_differing_spaces([Color(), Color()])


@pytest.mark.parametrize("space", ["space", None, 3])
def test_what_is_no_space(space):
    calls = {
        "batch_space": lambda: batch_space(space, 2),
        "iterate": lambda: iterate(space, ()),
        "concatenate": lambda: concatenate(space, (), None),
        "create_empty_array": lambda: create_empty_array(space, 2),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match=f"provided to `{name}` is not a gymcore Space inst"):
            call()
    with pytest.raises(TypeError):
        batch_differing_spaces([space, space])


def test_every_function_can_be_taught_a_space():
    class Grade(Space):
        """A space of the letters A to F."""

    batch_space.register(Grade, lambda space, n=1: ("batch", n))
    batch_differing_spaces.register(Grade, lambda spaces: ("differing", len(spaces)))
    iterate.register(Grade, lambda space, items: iter(items.split()))
    concatenate.register(Grade, lambda space, items, out: " ".join(items))
    create_empty_array.register(Grade, lambda space, n=1, fn=np.zeros: "F " * n)
    assert batch_space(Grade(), 3) == ("batch", 3)
    assert batch_differing_spaces([Grade(), Grade()]) == ("differing", 2)
    assert list(iterate(Grade(), "A B")) == ["A", "B"]
    assert concatenate(Dict(g=Grade()), [{"g": "A"}, {"g": "B"}], {"g": ""}) == {"g": "A B"}
    assert create_empty_array(Tuple([Grade()]), 2) == ("F F ",)
