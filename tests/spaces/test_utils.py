"""Flattening, and the comparison of shapes and dtypes."""

import numpy as np
import pytest

from gymcore import error
from gymcore.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    MultiDiscrete,
    OneOf,
    Sequence,
    Space,
    Text,
    Tuple,
    flatdim,
    flatten,
    flatten_space,
    unflatten,
)
from gymcore.spaces.utils import is_space_dtype_shape_equiv
from tests.spaces.catalogue import (
    ALL,
    GRAPHS_OF_OTHERS,
    STACKED_OTHERS,
    label,
)
from tests.spaces.parity import OURS, assert_same_outcome, assert_same_result

# Gymnasium cannot flatten elements without parts, or a MultiDiscrete as large as memory.
_EXCLUDED = [
    OURS.Tuple([]),
    OURS.Dict(),
    OURS.MultiDiscrete([]),
    OURS.MultiDiscrete([2**62, 2**63 - 1]),
    OURS.MultiDiscrete([2**62, 2**63 - 1], dtype=np.uint64),
    OURS.Discrete(2**62),
    OURS.Discrete(2**63, dtype=np.uint64),
    OURS.Sequence(OURS.Sequence(OURS.Discrete(3)), stack=True),
]
FLATTENABLE = [
    factory for factory in ALL + STACKED_OTHERS + GRAPHS_OF_OTHERS if factory(OURS) not in _EXCLUDED
]
every_space = pytest.mark.parametrize("factory", FLATTENABLE, ids=label)


@every_space
def test_flat_spaces_equal_gymnasiums(factory):
    assert_same_outcome(lambda spaces: spaces.flatdim(factory(spaces)))
    assert_same_outcome(lambda spaces: spaces.flatten_space(factory(spaces)))


@every_space
def test_flat_elements_equal_gymnasiums(factory):
    def run(spaces):
        space = factory(spaces)
        space.seed(8)
        elements = [space.sample() for _ in range(3)]
        flat = [spaces.flatten(space, element) for element in elements]
        return flat, [spaces.unflatten(space, element) for element in flat]

    assert_same_outcome(run)


def test_the_largest_discrete_spaces_have_a_size():
    assert flatdim(Discrete(2**62)) == 2**62
    assert flatdim(MultiDiscrete([2**62, 2**63 - 1])) == 2**62 + 2**63 - 1


def test_literal_values():
    space = Dict(a=Discrete(3, start=-1), b=Box(-2, 2, (2,)), c=Text(3, charset="xy"))
    element = {"a": 1, "b": np.array([0.5, -1], np.float32), "c": "yx"}
    assert flatten(space, element).tolist() == [0, 0, 1, 0.5, -1, 1, 0, 2]
    choice = OneOf([Discrete(2), Box(3, 9, (4,))])
    assert flatten(choice, (0, 1)).tolist() == [0, 0, 1, 0, 0]
    assert flatten(choice, (1, np.array([4, 5, 6, 7]))).tolist() == [1, 4, 5, 6, 7]
    assert flatten(MultiDiscrete([2, 3], start=[5, 0]), [6, 1]).tolist() == [0, 1, 0, 1, 0]


@pytest.mark.parametrize(
    "expression",
    [
        "flatten(Box(0, 1), [0.5])",
        "flatten(Box(0, 1), 0.5)",
        "flatten(Box(0, 1), 'a')",
        "flatten(Discrete(3), True)",
        "flatten(Discrete(3), np.array(1))",
        "flatten(MultiDiscrete([3, 2]), (1, 1))",
        "flatten(MultiBinary(3), [1, 1, 0])",
        "flatten(Text(3, charset='ab'), 'b')",
        "flatten(Tuple([Discrete(2)]), 3)",
        "flatten(Dict(a=Discrete(2)), {'a': 1, 'b': 3})",
        "flatten(Dict(a=Discrete(2)), {})",
        "flatten(OneOf([Discrete(2), Box(0, 1)]), (1, np.array([0.5])))",
        "flatten(Sequence(Discrete(2)), ())",
        "unflatten(Discrete(3), [0, 1.0, 0])",
        "unflatten(Discrete(3), np.array([0, 0.5, 0]))",
        "unflatten(Discrete(3), np.array([0, 1, 1]))",
        "unflatten(Discrete(3), np.array([0, 0, 0]))",
        "unflatten(MultiDiscrete([3, 2]), [0, 1, 0, 0, 1])",
        "unflatten(Box(0, 1, (2,)), [0, 1])",
        "unflatten(Box(0, 1, (2,)), np.array([0, 1, 2]))",
        "unflatten(Text(3, charset='ab'), np.array([0, 5, 1]))",
        "unflatten(Dict(a=Discrete(2), b=Box(0, 1)), np.array([0, 1.0, 0.5]))",
        "unflatten(OneOf([Discrete(2), Box(0, 1)]), np.array([1.0, 0.5, 0.5]))",
        "flatdim(Graph(Discrete(2), None))",
        "flatdim(Sequence(Discrete(2)))",
        "flatdim(Tuple([Discrete(2), Sequence(Discrete(2))]))",
        "flatten_space(OneOf([Discrete(2), Sequence(Discrete(2))]))",
        "flatten_space(OneOf([Discrete(2), Graph(Discrete(2), None)]))",
        "flatten(3, 3)",
        "unflatten(3, 3)",
        "flatten_space(3)",
    ],
)
def test_odd_arguments_do_what_they_do_in_gymnasium(expression):
    assert_same_result(expression)


@pytest.mark.parametrize("element", ["()", "(1, 1)"])
def test_tuples_of_another_length(element):
    assert_same_result(f"flatten(Tuple([Discrete(2)]), {element})", message=False)


@pytest.mark.filterwarnings("error")
def test_the_space_of_a_choice_of_floats_and_bytes_warns_of_nothing():
    space = flatten_space(OneOf([Box(-3, 5, (2,)), Box(0, 255, (3,), np.uint8)]))
    assert space.low.tolist() == [0, -3, -3, -3]
    assert space.high.tolist() == [1, 255, 255, 255]
    assert space.dtype == np.float32


@pytest.mark.parametrize(
    ("space", "value"),
    [
        (Discrete(3), 3),
        (Discrete(3), -1),
        (Discrete(3, start=5), 4),
        (MultiDiscrete([3, 2]), [3, 1]),
        (MultiDiscrete([3, 2]), [1]),
        (MultiDiscrete([3, 2]), [-1, 0]),
        (Text(3, charset="ab"), "c"),
        (Text(3, charset="ab"), "aaaa"),
        (Sequence(Discrete(2), stack=True), 3),
        (Tuple([]), ()),
    ],
)
def test_values_outside_the_space_are_refused_rather_than_wrapped(space, value):
    with pytest.raises(error.InvalidArgument):
        flatten(space, value)


@pytest.mark.parametrize(
    ("space", "flat", "problem"),
    [
        (Discrete(3), [0, 0, 0, 1], "not a valid one-hot encoded vector"),
        (MultiDiscrete([3, 2]), [0, 0, 0, 0, 1], "not a concatenation of one-hot"),
        (MultiDiscrete([3, 2]), [0, 1, 1, 0, 1], "not a concatenation of one-hot"),
        (MultiDiscrete([3, 2]), [0, 1, 0, 1], "not a concatenation of one-hot"),
        (MultiDiscrete([3, 2]), [1, 1, 0, 0, 0], "not a concatenation of one-hot"),
        (Tuple([Discrete(2), Box(0, 1)]), [0, 1, 0.5, 0.5], r"expected an array of shape \(3,\)"),
        (Dict(a=Discrete(2), b=Box(0, 1)), [0, 1], r"expected an array of shape \(3,\)"),
        (OneOf([Discrete(2), Box(0, 1)]), [2, 0, 1], "index of the subspace, is not below 2"),
    ],
)
def test_what_is_no_flattened_element(space, flat, problem):
    with pytest.raises(error.InvalidArgument, match=problem):
        unflatten(space, np.array(flat))


def test_strings_survive_beside_floats():
    space = Tuple([Text(3, charset="ab"), Box(0, 1)])
    element = ("ba", np.array([0.25], np.float32))
    flat = flatten(space, element)
    assert flat.dtype == np.float64
    assert unflatten(space, flat) == element


def test_empty_stacked_sequences():
    space = Sequence(Dict(a=Discrete(2), b=Box(0, 1)), stack=True)
    empty = {"a": np.zeros(0, np.int64), "b": np.zeros((0, 1), np.float32)}
    flat = flatten(space, empty)
    assert flat.shape == (0, 3)
    assert unflatten(space, flat)["b"].shape == (0, 1)


def test_flattened_arrays_are_copies():
    value = np.zeros((2, 2), np.float32)
    assert not np.shares_memory(flatten(Box(0, 1, (2, 2)), value), value)


class Custom(Space):
    """A space unknown to the functions."""

    is_np_flattenable = True

    def sample(self, mask=None, probability=None):
        return 3

    def contains(self, x):
        return x == 3


@pytest.mark.parametrize("space", [Custom(), Tuple([Custom()]), Dict(a=Custom())])
def test_unknown_spaces(space):
    for call in (flatdim, flatten_space):
        with pytest.raises(NotImplementedError, match=r"Unknown space: `<.*Custom"):
            call(space)
    with pytest.raises(NotImplementedError, match="Unknown space"):
        flatten(space, {"a": 3} if isinstance(space, Dict) else (3,))
    with pytest.raises(NotImplementedError, match="support Generic"):
        is_space_dtype_shape_equiv(space, space)


def test_unknown_spaces_can_be_registered():
    class Registered(Custom):
        pass

    flatdim.register(Registered, lambda space: 2)
    flatten_space.register(Registered, lambda space: Box(0, 9, (2,)))
    flatten.register(Registered, lambda space, x: np.array([x, 1], np.float32))
    unflatten.register(Registered, lambda space, x: int(x[0]))
    is_space_dtype_shape_equiv.register(Registered, lambda one, other: type(one) is type(other))

    space = Dict(a=Discrete(2), b=Tuple([Registered()]))
    assert flatdim(space) == 4
    assert flatten_space(space).shape == (4,)
    element = {"a": 1, "b": (3,)}
    assert flatten(space, element).tolist() == [0, 1, 3, 1]
    assert unflatten(space, flatten(space, element)) == element
    assert is_space_dtype_shape_equiv(space, space)
    choice = OneOf([Registered(), Discrete(3)])
    assert unflatten(choice, flatten(choice, (0, 3))) == (0, 3)


def test_forms_of_all_pairs_equal_gymnasiums():
    def run(spaces):
        made = [factory(spaces) for factory in ALL + STACKED_OTHERS + GRAPHS_OF_OTHERS]
        compare = spaces.utils.is_space_dtype_shape_equiv
        return [[compare(one, other) for other in made] for one in made]

    assert_same_outcome(run)


@pytest.mark.parametrize(
    "pair",
    [
        "Box(0, 1), Box(0, 2)",
        "Discrete(2), Discrete(3)",
        "Text(3), Text(3, min_length=0)",
        "Text(3), Text(3, charset='ab')",
        "Tuple([Discrete(2)]), Tuple([Discrete(3)])",
        "Tuple([Discrete(2)]), Tuple([Discrete(3), Discrete(2)])",
        "Dict(a=Discrete(2)), Dict(b=Discrete(2))",
        "Graph(Box(0, 1), Discrete(2)), Graph(Box(0, 2), Discrete(3))",
        "Graph(Box(0, 1), None), Graph(Box(0, 1), Discrete(3))",
        "Sequence(Box(0, 1)), Sequence(Box(0, 1), stack=True)",
        "OneOf([Discrete(2)]), OneOf([Discrete(3)])",
        "Box(0, 1), 3",
        "Text(3), 3",
        "Space(), Space()",
    ],
)
def test_forms(pair):
    assert_same_result(f"is_space_dtype_shape_equiv({pair})", message="Space()" not in pair)


def test_the_form_of_what_is_no_space():
    with pytest.raises(
        error.ArgumentTypeError, match="space_1: expected a Space, got <class 'int'>"
    ):
        is_space_dtype_shape_equiv(3, Box(0, 1))


def test_subclasses_have_a_form_of_their_own():
    class Small(Discrete):
        pass

    assert not is_space_dtype_shape_equiv(Discrete(2), Small(2))
    assert not is_space_dtype_shape_equiv(Small(2), Discrete(2))
    assert is_space_dtype_shape_equiv(Small(2), Small(3))


def test_graphs_of_graphs_flatten_inside():
    space = Graph(Graph(Discrete(2), None), None, seed=1)
    element = space.sample(num_nodes=2)
    flat = flatten(space, element)
    assert flat in flatten_space(space)
    back = unflatten(space, flat)
    assert [node.nodes.tolist() for node in back.nodes] == [
        node.nodes.tolist() for node in element.nodes
    ]
