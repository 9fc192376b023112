"""Graphs."""

import json

import numpy as np
import pytest

from gymcore import error
from gymcore.spaces import Box, Discrete, Graph, GraphInstance
from tests.spaces.catalogue import GRAPHS, GRAPHS_OF_OTHERS, label
from tests.spaces.parity import assert_same, assert_same_outcome, assert_same_result


@pytest.mark.parametrize(
    "expression",
    [
        "Graph(Box(0, 1), None)",
        "Graph(Box(0, 1, (2,)), Discrete(3)).batch_node_space",
        "Graph(Box(0, 1, (2,)), Discrete(3)).batch_edge_space",
        "Graph(Text(3), Dict(a=Discrete(2)))",
        "Graph(Box(0, 1), Box(0, 1), (1, 2, 3)).sample()",
        "Graph(node_space=Discrete(3), edge_space=None, seed=3).sample()",
        "Graph(Box(0, 1), Box(0, 1), 'a')",
    ],
)
def test_constructor_does_what_gymnasiums_does(expression):
    assert_same_result(expression)


@pytest.mark.parametrize("arguments", ["3, None", "Box(0, 1), 3", "None, None", "None, Box(0, 1)"])
def test_nodes_and_edges_need_spaces(arguments):
    assert_same_result(f"Graph({arguments})", message=False)
    with pytest.raises(error.ArgumentTypeError, match="`batch_space` is not a gymcore Space"):
        eval(f"Graph({arguments})")


@pytest.mark.parametrize("edges", ["None", "Discrete(3)"])
@pytest.mark.parametrize(
    "seed",
    [
        "3",
        "2**40",
        "(1, 2)",
        "(1, 2, 3)",
        "[1, 2]",
        "[1, 2, 3]",
        "(1,)",
        "(1, 2, 3, 4)",
        "'a'",
        "-1",
        "1.5",
        "{}",
    ],
)
def test_seeds(edges, seed):
    assert_same_result(f"Graph(Box(0, 1), {edges}).seed({seed})")


def test_seeds_of_nested_spaces():
    space = "Graph(Dict(a=Discrete(2), b=Box(0, 1)), Tuple([Discrete(2)]))"
    assert_same_result(f"{space}.seed(3)")
    assert_same_result(f"{space}.seed((3, {{'a': 1, 'b': 2}}, (4,)))")


def test_fresh_entropy_and_refused_seeds():
    space = Graph(Discrete(5), Discrete(5))
    assert len({*space.seed(), *space.seed((None, None, None))}) == 6
    before = space.np_random
    with pytest.raises(error.Error, match="actual value: -1"):
        space.seed((5, 6, -1))
    assert space.np_random is before


def test_sampling_does_not_reseed_seeded_nodes():
    one, other = (Graph(Discrete(1000, seed=3), None) for _ in range(2))
    assert one.sample(num_nodes=5).nodes.tolist() == other.sample(num_nodes=5).nodes.tolist()


NUMBERS = [
    "num_nodes=1",
    "num_nodes=2",
    "num_nodes=3, num_edges=2",
    "num_nodes=3, num_edges=0",
    "num_nodes=1, num_edges=3",
    "num_nodes=np.int64(2), num_edges=30",
    "num_nodes=0",
    "num_nodes=-1",
    "num_nodes=0, num_edges=3",
    "num_nodes=3, num_edges=-1",
]


@pytest.mark.parametrize("numbers", NUMBERS)
def test_numbers_of_nodes_and_edges(numbers):
    space = "Graph(Discrete(3, seed=4), Box(0, 1, seed=5), seed={})"
    for seed in range(3):
        assert_same_result(f"{space.format(seed)}.sample({numbers})")
        assert_same_result(f"Graph(Discrete(3), Text(2), seed={seed}).sample({numbers})")


@pytest.mark.parametrize("numbers", ["num_nodes=3", "num_nodes=3, num_edges=2"])
def test_a_space_without_edges(numbers):
    assert_same_result(f"[Graph(Discrete(3), None, seed=i).sample({numbers}) for i in range(3)]")


@pytest.mark.parametrize("numbers", ["num_nodes=2.5", "num_nodes=None", "num_edges='a'"])
def test_numbers_that_are_not_integers(numbers):
    assert_same_result(f"Graph(Discrete(3), Discrete(2)).sample({numbers})", message=False)


@pytest.mark.parametrize("factory", GRAPHS, ids=label)
def test_successive_samples_equal_gymnasiums(factory):
    def run(spaces):
        space = factory(spaces)
        space.seed(3)
        samples = [space.sample(num_nodes=n) for n in (1, 2, 5, 3)]
        return samples, [sample in space for sample in samples]

    assert_same_outcome(run)


MASKS = [
    "(None, None)",
    "[None, None]",
    "((i8(0, 1, 0),) * 3, None)",
    "((i8(0, 1, 0),) * 3, (i8(1, 0),) * 2)",
    "(None, (i8(1, 0),) * 2)",
    "(None, (i8(1, 0),) * 3)",
    "(i8(1, 0, 1), None)",
    "(None, i8(1, 0))",
    "((None,) * 3, None)",
    "((i8(0, 1, 0),) * 2, None)",
    "(3, None)",
    "([i8(1, 0, 1)] * 3, None)",
]


@pytest.mark.parametrize("mask", MASKS)
def test_masked_samples(mask):
    space = "Graph(Discrete(3), Discrete(2), seed=i)"
    numbers = "num_nodes=3, num_edges=2"
    assert_same_result(f"[{space}.sample(mask={mask}, {numbers}) for i in range(4)]")
    weights = mask.replace("i8", "f8")
    assert_same_result(f"[{space}.sample(probability={weights}, {numbers}) for i in range(4)]")
    assert_same_result(f"Graph(Box(0, 1), None).sample(mask={mask}, probability=3)")


@pytest.mark.parametrize(
    "mask", ["(None, i8(0, 1))", "((i8(0, 1, 0),) * 10, i8(1, 0))", "[None, i8(0, 0)]"]
)
def test_the_mask_of_one_edge_is_that_of_all_where_their_number_is_drawn(mask):
    space = "Graph(Discrete(3), Discrete(2), seed=i)"
    assert_same_result(f"[{space}.sample(mask={mask}) for i in range(4)]")
    assert_same_result(f"[{space}.sample(mask=(None, i8(0, 1)), num_nodes=2) for i in range(4)]")
    weights = mask.replace("i8", "f8").replace("f8(0, 0)", "f8(0.5, 0.5)")
    assert_same_result(f"[{space}.sample(probability={weights}) for i in range(4)]")


def test_the_mask_of_edges_is_not_used_without_edges():
    assert_same_result("Graph(Discrete(3), None, seed=1).sample(mask=(None, i8(1, 0)))")
    assert_same_result("Graph(Discrete(3), Discrete(2), 1).sample((None, i8(1)), num_nodes=1)")


@pytest.mark.parametrize(
    ("mask", "kind", "problem"),
    [
        (3, TypeError, "`mask` of a Graph to be a tuple .*, actual type: <class 'int'>"),
        ((None,), ValueError, "actual length: 1"),
        ((None, None, None), ValueError, "actual length: 3"),
    ],
)
def test_masks_that_are_no_pairs(mask, kind, problem):
    with pytest.raises(kind, match=problem) as caught:
        Graph(Discrete(3), None).sample(mask=mask)
    assert isinstance(caught.value, AssertionError)


N = "np.zeros((3, 2), np.float32)"
E = "np.array([0, 1])"
L = "np.array([[0, 1], [1, 2]], np.int32)"
GRAPH_VALUES = [
    f"{N}, {E}, {L}",
    f"{N}, None, None",
    f"{N}, {E}, None",
    f"{N}, None, {L}",
    "None, None, None",
    f"{N}, {E}, {L}.astype(np.int64)",
    f"{N}, {E}, {L}.astype(np.uint8)",
    f"{N}, {E}, {L}.astype(float)",
    f"{N}, {E}, {L} + 1",
    f"{N}, {E}, {L} - 1",
    f"{N}, {E}, {L}[:1]",
    f"{N}, {E}[:1], {L}",
    f"{N}, {E} + 5, {L}",
    f"{N} + 2, {E}, {L}",
    f"{N}[:, :1], {E}, {L}",
    f"{N}.astype(float), {E}, {L}",
    f"{N}, {E}.astype(np.int8), {L}",
    f"{N}, {E}.astype(float), {L}",
    f"{N}, {E}, {L}.tolist()",
    f"{N}, {E}.tolist(), {L}",
    f"{N}.tolist(), {E}, {L}",
    f"tuple({N}), tuple({E}), {L}",
    f"{N}[:0], {E}[:0], {L}[:0]",
    f"{N}[:0], None, None",
    f"{N}, {E}[:0], {L}[:0]",
    f"{N}, (), {L}[:0]",
    f"{N}, [], []",
    f"{N}, {E}, np.zeros((2, 3), np.int32)",
    f"{N}, {E}, np.zeros(2, np.int32)",
]


@pytest.mark.parametrize("value", GRAPH_VALUES)
def test_contains_gives_gymnasiums_verdict(value):
    assert_same_result(f"GraphInstance({value}) in Graph(Box(0, 1, (2,)), Discrete(3))")
    assert_same_result(f"GraphInstance({value}) in Graph(Box(0, 1, (2,)), None)")


@pytest.mark.parametrize("value", [f"({N}, {E}, {L})", "None", "3", "()"])
def test_only_graph_instances_are_elements(value):
    assert_same_result(f"{value} in Graph(Box(0, 1, (2,)), Discrete(3))")


def test_what_is_no_batch_is_no_element():
    links = np.zeros((0, 2), np.int32)
    assert GraphInstance(3, None, None) not in Graph(Discrete(3), None)
    assert GraphInstance(np.array([1]), np.array(3), links) not in Graph(Discrete(3), Discrete(4))


@pytest.mark.parametrize(
    "expression",
    [
        "repr(Graph(Discrete(2), None))",
        "Graph(Box(0, 1), None) == Graph(Box(0, 1), None)",
        "Graph(Box(0, 1), None) == Graph(Box(0, 1), Discrete(2))",
        "Graph(Box(0, 1), None) == 3",
        "hash(Graph(Box(0, 1), None))",
        "Graph(Discrete(3), Discrete(2)).from_jsonable([{'nodes': [[0, 1]]}])",
        "Graph(Discrete(3), Discrete(2)).to_jsonable([GraphInstance(np.array([1]), None, None)])",
    ],
)
def test_other_methods(expression):
    assert_same_result(expression)


def test_json_that_says_that_there_are_no_edges():
    entry = {"nodes": [[0, 1]], "edges": None, "edge_links": None}
    (graph,) = Graph(Discrete(3), Discrete(2)).from_jsonable([entry])
    assert graph.nodes.tolist() == [0, 1]
    assert graph.edges is None
    assert graph.edge_links is None


@pytest.mark.parametrize("factory", GRAPHS_OF_OTHERS, ids=label)
def test_json_of_graphs_that_gymnasium_loses(factory):
    import gymcore.spaces

    space = factory(gymcore.spaces)
    space.seed(5)
    graphs = [space.sample(num_nodes=n) for n in (1, 2, 4)]
    assert_same(space.from_jsonable(json.loads(json.dumps(space.to_jsonable(graphs)))), graphs)


def test_an_instance_is_a_tuple_of_three():
    graph = GraphInstance(nodes=1, edges=2, edge_links=3)
    assert graph == (1, 2, 3)
    assert graph._fields == ("nodes", "edges", "edge_links")


def test_a_refused_number_draws_nothing():
    space = Graph(Box(0, 1), Discrete(2), seed=1)
    before = [sub.np_random.bit_generator.state for sub in (space, space.node_space)]
    for options in ({"num_nodes": 0}, {"num_edges": -1}, {"mask": (None,)}):
        with pytest.raises(AssertionError):
            space.sample(**options)
    assert [sub.np_random.bit_generator.state for sub in (space, space.node_space)] == before


def test_edges_link_existing_nodes():
    graph = Graph(Box(0, 1), Discrete(2), seed=1).sample(num_nodes=3, num_edges=500)
    assert set(graph.edge_links.ravel().tolist()) == {0, 1, 2}
    assert graph.edges.shape == (500,)
