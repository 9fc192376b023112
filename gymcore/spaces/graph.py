"""The space of graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import index
from typing import NamedTuple, SupportsIndex

import numpy as np

from gymcore import error, logger
from gymcore.spaces.batching import (
    Allocate,
    batch_differing_others,
    batch_differing_spaces,
    batch_from_jsonable,
    batch_space,
    batch_to_jsonable,
    create_empty_array,
    unstack,
)
from gymcore.spaces.masks import given_option, split_pair
from gymcore.spaces.space import Array, SeedLike, Space

__all__ = ["Graph", "GraphInstance"]


class GraphInstance(NamedTuple):
    """A graph.

    Attributes:
        nodes: Batch of elements of the node space, one per node.
        edges: Batch of elements of the edge space, one per edge; None if there are no edges.
        edge_links: Integer array `[num_edges, 2]`, the two nodes of each edge; None if there are no
            edges.

    Examples:
        >>> from gymcore.spaces import Discrete
        >>> triangle = np.array([[0, 1], [1, 2], [2, 0]])
        >>> graph = GraphInstance(nodes=np.array([0, 1, 1]), edges=None, edge_links=triangle)
        >>> graph.edge_links.shape
        (3, 2)
    """

    nodes: object
    edges: object
    edge_links: Array | None


class Graph(Space[GraphInstance]):
    """Graphs of any size, with an element of a space at each node and each edge.

    Attributes:
        batch_node_space: Space of a batch of one node.
        batch_edge_space: Space of a batch of one edge, or None.

    Examples:
        >>> from gymcore.spaces import Box, Discrete
        >>> space = Graph(node_space=Box(-1, 1, shape=(3,)), edge_space=Discrete(3), seed=123)
        >>> graph = space.sample(num_nodes=4, num_edges=8)
        >>> graph.nodes.shape, graph.edges.shape, graph.edge_links.shape
        ((4, 3), (8,), (8, 2))
    """

    def __init__(
        self,
        node_space: Space,
        edge_space: Space | None,
        seed: SeedLike = None,
    ) -> None:
        """Create the space.

        Args:
            node_space: Space of a node.
            edge_space: Space of an edge, or None for graphs without edges.
            seed: Seed as accepted by `seed`, or a generator for the number and the ends of edges.

        Raises:
            ArgumentTypeError: If `node_space` is not a space, or `edge_space` neither one nor None.
        """
        self.node_space = node_space
        self.edge_space = edge_space
        self.batch_node_space = batch_space(node_space, 1)
        self.batch_edge_space = None if edge_space is None else batch_space(edge_space, 1)
        super().__init__(None, None, seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Always False, because the size varies."""
        return False

    def seed(self, seed: object = None) -> tuple[object, ...]:
        """Restart the random streams, and return their seeds; see `Space.seed`.

        Args:
            seed: The integer seed of the graph, from which those of nodes and edges are drawn; a
                tuple or list of the two or three seeds; or None for fresh entropy.

        Examples:
            >>> from gymcore.spaces import Discrete
            >>> Graph(Discrete(2), Discrete(3)).seed(3)
            (3, 1742692731, 183930185)
        """
        spaces = (
            [self.node_space] if self.edge_space is None else [self.node_space, self.edge_space]
        )
        seed_names = (
            "two values for Graph and node space"
            if self.edge_space is None
            else "three values for Graph, node and edge space"
        )
        own_seed, *seeds = self._split_seed(
            seed,
            len(spaces),
            "Expects `None`, int or tuple of ints",
            f"Expects a tuple of {seed_names}, actual length: {{}}",
            with_own=True,
        )
        pairs = zip(spaces, seeds, strict=True)
        return (Space.seed(self, own_seed), *[space.seed(subseed) for space, subseed in pairs])

    def sample(
        self,
        mask: tuple[object, object] | None = None,
        probability: tuple[object, object] | None = None,
        num_nodes: SupportsIndex = 10,
        num_edges: SupportsIndex | None = None,
    ) -> GraphInstance:
        """Draw a random graph.

        Args:
            mask: `(nodes, edges)`, the masks of a batch of `num_nodes` nodes and a batch of
                `num_edges` edges; None for no mask. If `num_edges` is None, `edges` is the mask of
                one edge and applies to all.
            probability: `(nodes, edges)`, probabilities in the same form. At most one of the two
                may be given.
            num_nodes: Number of nodes, at least 1.
            num_edges: Number of edges, at least 0. None draws it from
                [0, num_nodes * (num_nodes - 1)).

        Returns:
            A graph with int32 `edge_links`; edges and links are None if there are no edges. Links
            are drawn independently: there may be self-loops and multiple edges.

        Raises:
            InvalidMask: If `mask` or `probability` has the wrong form or values.
            FailedCheck: If a number of nodes or edges is out of range.
            ArgumentTypeError: If a number is not an integer.
            InvalidArgument: If both `mask` and `probability` are given.
        """
        name, option = given_option(mask, probability)
        node_options, edge_options = {}, {}
        if option is not None:
            node_options[name], edge_options[name] = split_pair(
                option, name, "Graph", f"node {name}, edge"
            )
        nodes_count = _as_count("num_nodes", num_nodes)
        if nodes_count <= 0:
            raise error.FailedCheck(
                f"The number of nodes is expected to be greater than 0, actual value: {num_nodes}"
            )
        edges_count = self._count_edges(nodes_count, num_edges)

        # A batch draws from a copy of the generator. Drawing once from the generator itself makes
        # the next graph different.
        nodes = batch_space(self.node_space, nodes_count).sample(**node_options)
        self.node_space.np_random.random()
        if self.edge_space is None or edges_count == 0:
            return GraphInstance(nodes, None, None)
        if num_edges is None:
            edge_options = {
                name: None if value is None else (value,) * edges_count
                for name, value in edge_options.items()
            }
        edges = batch_space(self.edge_space, edges_count).sample(**edge_options)
        self.edge_space.np_random.random()
        links = self.np_random.integers(
            low=0, high=nodes_count, size=(edges_count, 2), dtype=np.int32
        )
        return GraphInstance(nodes, edges, links)

    def _count_edges(self, num_nodes: int, num_edges: SupportsIndex | None) -> int:
        """Return the number of edges to draw; raise if it is invalid."""
        if num_edges is None:
            return int(self.np_random.integers(num_nodes * (num_nodes - 1))) if num_nodes > 1 else 0
        count = _as_count("num_edges", num_edges)
        if count < 0:
            raise error.FailedCheck(
                f"Expects the number of edges to be greater than 0, actual value: {num_edges}"
            )
        if self.edge_space is None:
            logger.warn(
                f"The number of edges is set ({num_edges}) but the edge space is None.",
                stacklevel=3,
            )
        return count

    def contains(self, x: object) -> bool:
        """Return whether `x` is a graph with elements of the two spaces.

        Args:
            x: Anything; only a `GraphInstance` can be an element.

        Returns:
            True if all nodes and edges belong to their spaces, and `edge_links` is an integer array
            `[num_edges, 2]` of existing nodes, or both edges and links are None.
        """
        if not isinstance(x, GraphInstance):
            return False
        nodes = unstack(self.batch_node_space, x.nodes)
        if nodes is None or not all(node in self.node_space for node in nodes):
            return False
        if x.edges is None or x.edge_links is None:
            return x.edges is None and x.edge_links is None
        if self.edge_space is None or self.batch_edge_space is None:
            return False
        edges = unstack(self.batch_edge_space, x.edges)
        links = x.edge_links
        return (
            edges is not None
            and isinstance(links, np.ndarray)
            and links.dtype.kind in "iu"
            and links.shape == (len(edges), 2)
            and bool(((links >= 0) & (links < len(nodes))).all())
            and all(edge in self.edge_space for edge in edges)
        )

    def to_jsonable(self, sample_n: Iterable[GraphInstance]) -> list[dict[str, object]]:
        """Convert graphs to dicts of lists; see `Space.to_jsonable`."""
        result = []
        for sample in sample_n:
            entry = {
                "nodes": batch_to_jsonable(self.node_space, self.batch_node_space, sample.nodes)
            }
            if (
                self.edge_space is not None
                and self.batch_edge_space is not None
                and sample.edges is not None
                and sample.edge_links is not None
            ):
                entry["edges"] = batch_to_jsonable(
                    self.edge_space, self.batch_edge_space, sample.edges
                )
                entry["edge_links"] = sample.edge_links.tolist()
            result.append(entry)
        return result

    def from_jsonable(self, sample_n: Iterable[Mapping[str, object]]) -> list[GraphInstance]:
        """Convert the result of `to_jsonable` back to graphs; see `Space.from_jsonable`."""
        result = []
        for entry in sample_n:
            nodes = batch_from_jsonable(self.node_space, self.batch_node_space, entry["nodes"])
            edges = links = None
            if (
                self.edge_space is not None
                and self.batch_edge_space is not None
                and entry.get("edges") is not None
            ):
                edges = batch_from_jsonable(self.edge_space, self.batch_edge_space, entry["edges"])
                links = np.asarray(entry["edge_links"], dtype=np.int32).reshape(-1, 2)
            result.append(GraphInstance(nodes, edges, links))
        return result

    def __repr__(self) -> str:
        return f"Graph({self.node_space}, {self.edge_space})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Graph)
            and self.node_space == other.node_space
            and self.edge_space == other.edge_space
        )


def _as_count(name: str, value: SupportsIndex) -> int:
    """Return a number of nodes or edges as an int; raise if it is invalid."""
    try:
        return index(value)
    except TypeError:
        raise error.ArgumentTypeError(
            f"{name}: expected an integer, got {value!r} of type {type(value)}"
        ) from None


@create_empty_array.register(Graph)
def _create_empty_graphs(
    space: Graph, n: int = 1, fn: Allocate = np.zeros
) -> tuple[GraphInstance, ...]:
    def one_node() -> GraphInstance:
        nodes = create_empty_array(space.node_space, 1, fn)
        if space.edge_space is None:
            return GraphInstance(nodes=nodes, edges=None, edge_links=None)
        return GraphInstance(
            nodes=nodes,
            edges=create_empty_array(space.edge_space, 1, fn),
            edge_links=fn((1, 2), dtype=np.int64),
        )

    return tuple(one_node() for _ in range(n))


batch_differing_spaces.register(Graph, batch_differing_others)
