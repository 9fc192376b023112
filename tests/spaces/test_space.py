"""Common behavior of all spaces, over a long list of spaces."""

import copy
import json
import pickle

import numpy as np
import pytest

import gymcore.spaces
from gymcore import error
from gymcore.spaces import Box, Discrete, Space, Tuple
from gymcore.vector.utils import batch_space
from tests.spaces.catalogue import (
    ALL,
    COMPOSITE,
    FUNDAMENTAL,
    GRAPHS_OF_OTHERS,
    STACKED_OTHERS,
    label,
)
from tests.spaces.parity import (
    OURS,
    THEIRS,
    assert_same,
    assert_same_outcome,
    assert_same_result,
    random_states,
    subspaces,
)

every_space = pytest.mark.parametrize("factory", ALL, ids=label)


def without(*conditions):
    """Parametrize over the spaces for which no condition holds."""
    left = [f for f in ALL if not any(condition(f(OURS)) for condition in conditions)]
    return pytest.mark.parametrize("factory", left, ids=label)


def is_stacked(space):
    """Gymnasium raises when it checks an invalid batch of these; see test_sequence.py."""
    return isinstance(space, OURS.Sequence) and space.stack


def is_scalar_multi_discrete(space):
    """Gymnasium does not contain its own sample there; see test_multi_discrete.py."""
    return space == OURS.MultiDiscrete(3)


def is_empty(space):
    """JSON does not record how many elements without parts there are; see test_dict.py."""
    return space in (OURS.Dict(), OURS.Tuple([]))


def has_integer_keys(space):
    """JSON allows only strings as keys."""
    return isinstance(space, OURS.Dict) and 1 in space.spaces


def is_nested_twice(space):
    """If only the upper spaces are seeded, the lowest ones take entropy from the system."""
    return any(map(subspaces, subspaces(space)))


every_space_and_more = pytest.mark.parametrize(
    "factory", ALL + STACKED_OTHERS + GRAPHS_OF_OTHERS, ids=label
)


@every_space_and_more
def test_description_equals_gymnasiums(factory):
    assert_same_outcome(lambda spaces: [factory(spaces), str(factory(spaces))])
    assert_same_outcome(lambda spaces: factory(spaces).is_np_flattenable)


@every_space_and_more
def test_seeds_and_samples_equal_gymnasiums(factory):
    for seed in (0, 2**70):

        def run(spaces, seed=seed):
            space = factory(spaces)
            seeds = space.seed(seed)
            return [seeds, [space.sample() for _ in range(3)], random_states(space)]

        assert_same_outcome(run)


@without(is_nested_twice)
def test_a_given_generator_is_used_as_gymnasium_does(factory):
    def run(spaces):
        space = factory(spaces)
        generator = np.random.default_rng(3)
        space._np_random = generator
        for sub in subspaces(space):
            sub._np_random = generator
        space.sample()
        assert space.np_random is generator
        return [space.sample(), generator.bit_generator.state]

    assert_same_outcome(run)


@every_space_and_more
def test_samples_belong_to_the_space(factory):
    space = factory(OURS)
    space.seed(11)
    for _ in range(5):
        assert space.sample() in space


@without(is_stacked, is_scalar_multi_discrete)
def test_verdicts_on_other_values_equal_gymnasiums(factory):
    def run(spaces):
        space = factory(spaces)
        space.seed(1)
        values = [space.sample(), 1.5, "a", (), [], {}, np.zeros(3), 1, True]
        return [space.contains(value) for value in values]

    assert_same_outcome(run)


@without(is_empty)
def test_json_equals_gymnasiums(factory):
    def run(spaces):
        space = factory(spaces)
        space.seed(3)
        samples = [space.sample() for _ in range(3)]
        text = json.dumps(space.to_jsonable(samples))
        return space.to_jsonable(samples), space.from_jsonable(json.loads(text))

    assert_same_outcome(run)


@without(is_empty, is_scalar_multi_discrete, has_integer_keys)
def test_json_round_trip(factory):
    space = factory(OURS)
    space.seed(4)
    samples = [space.sample() for _ in range(3)]
    assert_same(space.from_jsonable(json.loads(json.dumps(space.to_jsonable(samples)))), samples)


@every_space_and_more
def test_copies_and_pickles_continue_alike(factory):
    space = factory(OURS)
    space.seed(5)
    space.sample()
    copies = [
        copy.deepcopy(space),
        pickle.loads(pickle.dumps(space)),
        pickle.loads(pickle.dumps(space, 2)),
    ]
    expected = [space.sample() for _ in range(2)]
    for other in copies:
        assert other == space
        assert type(other) is type(space)
        assert repr(other) == repr(space)
        assert_same([other.sample() for _ in range(2)], expected)


def test_equality_of_all_pairs_equals_gymnasiums():
    def run(spaces):
        made = [factory(spaces) for factory in ALL]
        return [[bool(one == other) for other in made] for one in made]

    assert_same(run(OURS), run(THEIRS))


@pytest.mark.parametrize("factory", [*FUNDAMENTAL[:1], *COMPOSITE], ids=label)
def test_numpy_integers_seed_like_python_integers(factory):
    for seed in (np.int64(9), np.array(9), np.array(9, np.uint8)):
        one, other = factory(OURS), factory(OURS)
        assert_same(one.seed(seed), other.seed(9))
        assert_same(one.sample(), other.sample())
    with pytest.raises(error.ArgumentTypeError):
        one.seed(np.array(9.0))


@every_space
@pytest.mark.parametrize("seed", [-1, 1.5, "a"])
def test_seeds_that_are_refused(seed, factory):
    def run(spaces, seed=seed):
        return factory(spaces).seed(seed)

    assert_same_outcome(run)


def test_seed_none_takes_fresh_entropy():
    seeds = {Discrete(3).seed(None) for _ in range(4)} | {Box(0, 1).seed() for _ in range(4)}
    assert len(seeds) == 8
    assert all(type(seed) is int for seed in seeds)


def test_a_seed_returned_starts_the_same_stream():
    space = Box(0, 1, (4,))
    seed = space.seed()
    first = space.sample()
    assert_same(Box(0, 1, (4,), seed=seed).sample(), first)


def test_the_generator_is_made_when_first_needed():
    space = Discrete(3)
    assert space._np_random is None
    generator = space.np_random
    assert isinstance(generator, np.random.Generator)
    assert space.np_random is generator


def test_reading_the_generator_of_a_tuple_leaves_its_subspaces_alone():
    space = Tuple([Discrete(9, seed=1)])
    before = space[0].np_random
    assert isinstance(space.np_random, np.random.Generator)
    assert space[0].np_random is before


@pytest.mark.parametrize(
    "expression",
    [
        "Space().shape",
        "Space().dtype",
        "Space(shape=[2, 3], dtype='float32').shape",
        "Space(shape=[2, 3], dtype='float32').dtype",
        "Space().to_jsonable((1, 2))",
        "Space().from_jsonable([1, 2])",
        "Space().seed(3)",
        "Space(seed=np.random.default_rng(4)).np_random.random()",
        "Space(seed='a')",
        "Space(seed=np.random.RandomState(3))",
        "Space(shape=3)",
        "Space(dtype='foo')",
    ],
)
def test_the_base_class(expression):
    assert_same_result(expression)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda space: space.sample(), "sample"),
        (lambda space: space.contains(1), "contains"),
        (lambda space: 1 in space, "contains"),
        (lambda space: space.is_np_flattenable, "is_np_flattenable"),
    ],
)
def test_what_a_subclass_must_write(call, name):
    class Odd(Space[int]):
        pass

    with pytest.raises(NotImplementedError, match=f"Odd does not define `{name}`"):
        call(Odd())


def test_in_uses_the_contains_of_a_subclass():
    class Even(Discrete):
        def contains(self, x):
            return super().contains(x) and int(x) % 2 == 0

    assert 2 in Even(5)
    assert 3 not in Even(5)


def test_shape_and_generator_cannot_be_set():
    with pytest.raises(AttributeError):
        Space().shape = (3,)
    with pytest.raises(AttributeError):
        Space().np_random = np.random.default_rng()


def test_states_of_old_pickles():
    space = Space()
    generator = np.random.default_rng(1)
    space.__setstate__([("shape", (3,)), ("np_random", generator), ("extra", 7)])
    assert space.shape == (3,)
    assert space.np_random is generator
    assert space.extra == 7


def test_errors_are_both_ours_and_builtin():
    with pytest.raises(TypeError) as caught:
        Tuple([3])
    assert isinstance(caught.value, error.Error)
    with pytest.raises(ValueError, match=r"n \(counts\) have to be positive") as caught:
        Discrete(0)
    assert isinstance(caught.value, error.Error)


def test_all_names_of_gymnasiums_module_are_there():
    missing = set(THEIRS.__all__) - set(gymcore.spaces.__all__)
    assert not missing
    for name in THEIRS.__all__:
        module = getattr(THEIRS, name).__module__.replace("gymnasium", "gymcore")
        assert hasattr(__import__(module, fromlist=["x"]), name)


def test_the_same_spaces_are_generic():
    def generic(spaces):
        classes = [getattr(spaces, name) for name in THEIRS.__all__]
        return [
            cls.__name__
            for cls in classes
            if isinstance(cls, type) and getattr(cls, "__parameters__", ())
        ]

    assert generic(OURS) == generic(THEIRS)
    assert isinstance(Box[np.float32](0, 1), Box)
    assert isinstance(Tuple[int]([]), Tuple)


def test_parameters_have_gymnasiums_names_and_order():
    import inspect

    for name in THEIRS.__all__:
        theirs = getattr(THEIRS, name)
        if not isinstance(theirs, type) or name == "GraphInstance":
            continue
        for method in ("__init__", "sample", "seed", "contains", "to_jsonable", "from_jsonable"):
            parameters = [
                [
                    (p.name, p.kind)
                    for p in inspect.signature(getattr(cls, method)).parameters.values()
                ]
                for cls in (getattr(OURS, name), theirs)
            ]
            assert parameters[0] == parameters[1], f"{name}.{method}"


# --- integers that doubles cannot hold ------------------------------------------------------------

FAR = 2**60
LARGE = {
    "box": (lambda s: s.Box(FAR, FAR + 3, (4,), np.int64), {0, 1, 2, 3}),
    "negative": (lambda s: s.Box(-FAR, 3 - FAR, (4,), np.int64), {0, 1, 2, 3}),
    "uint64": (lambda s: s.Box(FAR, FAR + 3, (4,), np.uint64), {0, 1, 2, 3}),
    "top": (lambda s: s.Box(2**64 - 4, 2**64 - 1, (4,), np.uint64), {4, 5, 6, 7}),
    "below": (lambda s: s.Box(FAR, np.inf, (4,), np.int64), {0, 1, 2, 3}),
    "above": (lambda s: s.Box(-np.inf, FAR, (4,), np.int64), {0, 5, 6, 7}),
    "multi": (lambda s: s.MultiDiscrete([FAR, 2**62]), set(range(8))),
    "start": (lambda s: s.MultiDiscrete([4, 4], start=[FAR, 2**62]), {0, 1, 2, 3}),
    "discrete": (lambda s: s.Discrete(4, start=FAR), {0, 1, 2, 3}),
    "many": (lambda s: s.Discrete(2**62), set(range(8))),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("form", ["single", "batch", "tuple", "dict"])
def test_large_integers_are_drawn_exactly(name, form):
    """Every residue appears, although doubles of this size are multiples of 128 and more."""
    make, residues = LARGE[name]
    space = make(OURS)
    if form == "batch":
        space = batch_space(space, 3)
    elif form != "single":
        space = OURS.Tuple([space]) if form == "tuple" else OURS.Dict(part=space)
    space.seed(1)
    samples = [space.sample() for _ in range(100)]
    assert all(sample in space for sample in samples)
    if form in ("tuple", "dict"):
        samples = [sample[0 if form == "tuple" else "part"] for sample in samples]
    drawn = {int(number) % 8 for sample in samples for number in np.ravel(sample)}
    assert residues <= drawn


# --- probabilities of a network -------------------------------------------------------------------


def softmax(count, rng, dtype):
    logits = rng.normal(size=count).astype(dtype)
    numbers = np.exp(logits - logits.max())
    return numbers / numbers.sum(dtype=dtype)


FORMS = {
    "discrete": (lambda p: (OURS.Discrete(6), p)),
    "multi_discrete": (lambda p: (OURS.MultiDiscrete([6, 6]), (p, p))),
    "multi_binary": (lambda p: (OURS.MultiBinary(6), p)),
    "text": (lambda p: (OURS.Text(9, charset="abcdef"), (5, p))),
    "tuple": (lambda p: (OURS.Tuple([OURS.Discrete(6)]), (p,))),
    "dict": (lambda p: (OURS.Dict(a=OURS.Discrete(6)), {"a": p})),
    "one_of": (lambda p: (OURS.OneOf([OURS.Discrete(6)]), (p,))),
    "sequence": (lambda p: (OURS.Sequence(OURS.Discrete(6)), (4, p))),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f4 as f8", "f8", "g"])
def test_every_softmax_is_a_probability(form, dtype):
    """Elements are those that the normalized float64 probabilities give."""
    rng = np.random.default_rng(1)
    for i in range(50):
        probability = softmax(6, rng, dtype[:2].strip())
        if dtype.endswith("f8"):
            probability = probability.astype(np.float64)
        exact = probability.astype(np.float64)
        exact /= 1 if form == "multi_binary" else exact.sum()
        outcomes = []
        for weights in (probability, exact):
            space, option = FORMS[form](weights)
            space.seed(i)
            outcomes.append(space.sample(probability=option))
        assert repr(outcomes[0]) == repr(outcomes[1])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_other_sums_are_refused(dtype):
    with pytest.raises(error.InvalidMask, match="should be equal to 1, actual sum"):
        OURS.Discrete(2).sample(probability=np.array([0.5, 0.45], dtype))


# --- all values of a narrow dtype -----------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "start"), [("u1", 0), ("i1", -128), ("u2", 0), ("i2", -(2**15))])
@pytest.mark.parametrize("kind", ["discrete", "multi_discrete"])
def test_all_values_of_a_dtype(kind, dtype, start):
    count = 2 ** (8 * np.dtype(dtype).itemsize)
    if kind == "discrete":
        space = OURS.Discrete(count, start=start, dtype=dtype, seed=1)
        first, last = (np.dtype(dtype).type(n) for n in (start, start + count - 1))
    else:
        space = OURS.MultiDiscrete([count, 2], start=[start, 0], dtype=dtype, seed=1)
        first, last = np.array([start, 0], dtype), np.array([start + count - 1, 1], dtype)
    assert first in space
    assert last in space
    samples = [space.sample() for _ in range(2000)]
    assert all(sample in space and sample.dtype == space.dtype for sample in samples)
    assert min(int(np.ravel(sample)[0]) for sample in samples) < start + count // 10
    assert max(int(np.ravel(sample)[0]) for sample in samples) >= start + count - count // 10
    batch = batch_space(space, 3)
    assert batch.dtype == space.dtype
    assert batch.sample() in batch
    for sample in (first, last, samples[0]):
        flat = OURS.flatten(space, sample)
        assert np.array_equal(OURS.unflatten(space, flat), sample)
    assert pickle.loads(pickle.dumps(space)) == copy.deepcopy(space) == space
    if kind == "discrete":
        weights = np.zeros(count)
        weights[-1] = 1
        assert space.sample(probability=weights) == last
        assert space.sample(mask=weights.astype(np.int8)) == last
