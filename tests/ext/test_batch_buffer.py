"""BatchBuffer: batches written element by element, into memory of their own and into buffers."""

import gc
import mmap

import numpy as np
import pytest

import gymcore
from gymcore.spaces.layouts import layout_of, split_batch
from gymcore.vector.utils import batch_space, concatenate, create_empty_array, iterate
from gymcore_ext.arrays import are_lanes
from gymcore_ext.python_envs.batch_buffer import BatchBuffer
from tests.testing_env import OBSERVATION_KINDS, assert_same, make_space

FLOATS = ("array", np.float32, (2,))
NESTED = ("dict", ("a", "b"), (FLOATS, ("tuple", (("array", np.int64, ()), ("objects", tuple)))))
ARRAY_KINDS = [
    kind
    for kind in OBSERVATION_KINDS
    if kind not in ("text", "tuple", "sequence", "graph", "one_of")
]


def written(rows, values):
    rows.begin()
    for row, value in enumerate(values):
        rows.write(row, value)
    return rows.batch()


def over(layout, n):
    return BatchBuffer(layout, n, memory=bytearray(BatchBuffer.nbytes(layout, n)))


# Against concatenate and iterate


@pytest.mark.parametrize("kind", OBSERVATION_KINDS)
def test_batches_are_those_of_concatenate(kind):
    space = make_space(gymcore, kind)
    space.seed(1)
    layout = layout_of(space)
    own, fixed = BatchBuffer(layout, 3), over(layout, 3)
    for _ in range(5):
        values = [space.sample() for _ in range(3)]
        expected = concatenate(space, values, create_empty_array(space, 3))
        assert_same(written(own, values), expected)
        assert_same(written(fixed, values), expected)
        own.begin()
        own.copy_from(0, fixed, 0, 2)
        own.copy_from(2, fixed, 2)
        assert_same(own.batch(), expected)


@pytest.mark.parametrize("kind", ARRAY_KINDS)
def test_batches_are_taken_apart_as_iterate_does(kind):
    space = make_space(gymcore, kind)
    space.seed(1)
    batched = batch_space(space, 4)
    batch = batched.sample()
    assert_same(split_batch(layout_of(space), batch, 4), list(iterate(batched, batch)))
    rows = over(layout_of(space), 4)
    for row, value in enumerate(iterate(batched, batch)):
        rows.write(row, value)
    assert_same([rows.read(row) for row in range(4)], list(iterate(batched, batch)))


# Values in other forms


@pytest.mark.parametrize(
    ("layout", "value", "expected"),
    [
        (FLOATS, [1, 2], [1, 2]),
        (FLOATS, (1.5, 2), [1.5, 2]),
        (FLOATS, np.array([1, 2]), [1, 2]),
        (FLOATS, np.array([1.0, 2.0]), [1, 2]),
        (FLOATS, np.arange(4, dtype=np.float32)[::2], [0, 2]),
        (FLOATS, np.array([3, 4], ">f4"), [3, 4]),
        (("array", ">f4", (2,)), np.array([3, 4], np.float32), [3, 4]),
        (("array", np.int64, ()), 7, 7),
        (("array", np.int64, ()), True, 1),
        (("array", np.int64, ()), np.int8(7), 7),
        (("array", np.int64, ()), np.array(7), 7),
        (("array", np.float64, ()), 7, 7.0),
        (("array", np.float16, ()), np.float16(0.5), 0.5),
        (("array", np.bool_, (2, 1)), [[True], [False]], [[True], [False]]),
    ],
)
def test_values_are_converted(layout, value, expected):
    for rows in (BatchBuffer(layout, 2), over(layout, 2)):
        assert written(rows, [value, value]).tolist() == [expected, expected]


@pytest.mark.parametrize(
    ("layout", "value", "exception"),
    [
        (FLOATS, [1, 2, 3], ValueError),
        (FLOATS, np.zeros(3, np.float32), ValueError),
        (FLOATS, np.zeros((1, 2), np.float32), ValueError),
        (FLOATS, 1.0, ValueError),
        (FLOATS, [[1], [2, 3]], ValueError),
        (FLOATS, None, ValueError),
        (FLOATS, ["a", "b"], TypeError),
        (("array", np.int64, (2,)), [1.5, 2.5], TypeError),
        (("array", np.uint8, (2,)), [1, 2], TypeError),
        (("array", np.int64, ()), 1.0, TypeError),
        (("array", np.int64, ()), [1], ValueError),
        (("array", np.int64, ()), 2**80, TypeError),
        (NESTED, {"a": np.zeros(2)}, KeyError),
        (NESTED, {"a": np.zeros(2), "b": (1,)}, IndexError),
        (NESTED, 3, TypeError),
    ],
)
def test_values_that_do_not_fit(layout, value, exception):
    for rows in (BatchBuffer(layout, 2), over(layout, 2)):
        rows.begin()
        with pytest.raises(exception):
            rows.write(0, value)


def test_messages_name_the_part():
    rows = BatchBuffer(NESTED, 1)
    rows.begin()
    with pytest.raises(
        ValueError, match=r"observation\['a'\]: expected .* shape \(2,\).* got shape \(3,"
    ):
        rows.write(0, {"a": np.zeros(3), "b": (1, None)})
    with pytest.raises(TypeError, match=r"observation\['b'\]\[0\]: expected int64, got float64"):
        rows.write(0, {"a": np.zeros(2), "b": (1.5, None)})


def test_mappings_and_sequences_of_other_classes():
    class Fields(dict):
        def __missing__(self, key):
            return [1, 2]

    rows = BatchBuffer(NESTED, 1)
    batch = written(rows, [Fields(b=[3, "x"])])
    assert batch["a"].tolist() == [[1, 2]]
    assert batch["b"][0].tolist() == [3]
    assert batch["b"][1] == ("x",)


# Ownership


def test_batches_are_the_callers():
    rows = BatchBuffer(NESTED, 1)
    kept = [written(rows, [{"a": [k, k], "b": (k, k)}]) for k in range(10)]
    assert [batch["a"].tolist() for batch in kept] == [[[k, k]] for k in range(10)]
    assert [batch["b"][1] for batch in kept] == [(k,) for k in range(10)]
    view = written(rows, [{"a": [5, 5], "b": (0, 0)}])["a"][0]
    for _ in range(10):
        written(rows, [{"a": [6, 6], "b": (0, 0)}])
    assert view.tolist() == [5, 5]


def test_arrays_that_nobody_holds_are_used_again():
    rows = BatchBuffer(FLOATS, 1)
    places = {written(rows, [[k, k]]).ctypes.data for k in range(20)}
    assert len(places) <= 3


def test_reuse_hands_out_one_array():
    rows = BatchBuffer(NESTED, 1, reuse=True)
    first = written(rows, [{"a": [1, 1], "b": (1, 1)}])
    second = written(rows, [{"a": [2, 2], "b": (2, 2)}])
    assert first["a"] is second["a"]
    assert first["a"].tolist() == [[2, 2]]
    assert first is not second


def test_rows_must_be_begun_and_exist():
    rows = BatchBuffer(NESTED, 2)
    with pytest.raises(RuntimeError, match=r"begin\(\)"):
        rows.write(0, {"a": [1, 1], "b": (1, 1)})
    with pytest.raises(RuntimeError, match=r"begin\(\)"):
        rows.batch()
    with pytest.raises(RuntimeError, match=r"begin\(\)"):
        BatchBuffer(NESTED, 1).read(0)
    with pytest.raises(RuntimeError, match=r"begin\(\)"):
        rows.copy_from(0, over(NESTED, 2), 0, 2)
    rows.begin()
    with pytest.raises(TypeError):
        BatchBuffer.__new__(BatchBuffer)
    for row in (-1, 2):
        with pytest.raises(IndexError, match="not in"):
            rows.write(row, {"a": [1, 1], "b": (1, 1)})
        with pytest.raises(IndexError, match="not in"):
            rows.copy_from(row, rows, 0)
        with pytest.raises(IndexError, match="not in"):
            rows.copy_from(0, rows, row)
        with pytest.raises(IndexError, match="not in"):
            rows.read(row)
    for first, count in ((1, 2), (-1, 1), (0, 3), (0, -1)):
        with pytest.raises(IndexError, match="not in"):
            rows.copy_from(first, rows, first, count)
    for lanes in ([0, 2], [-1], [0, 1, 0]):
        with pytest.raises(IndexError, match="not in"):
            rows.gather(rows, lanes)


def test_rows_are_gathered_in_the_given_order():
    rows, source = BatchBuffer(FLOATS, 3), over(FLOATS, 4)
    for row in range(4):
        source.write(row, np.full(2, row, np.float32))
    rows.begin()
    rows.gather(source, [3, 0, 3])
    assert rows.batch()[:, 0].tolist() == [3, 0, 3]


@pytest.mark.parametrize(
    "other",
    [
        ("array", np.float64, (2,)),
        ("array", np.int32, (2,)),
        ("tuple", (FLOATS,)),
        ("objects", tuple),
    ],
)
def test_rows_of_another_layout_are_not_copied(other):
    rows, source = BatchBuffer(FLOATS, 1), over(other, 1)
    rows.begin()
    with pytest.raises(ValueError, match="expected rows of layout"):
        rows.copy_from(0, source, 0, 1)


# Over buffers


def test_rows_over_a_buffer_see_each_others_writes():
    layout = ("tuple", (("array", np.uint8, (3,)), ("array", np.float64, ())))
    memory = mmap.mmap(-1, 64 + BatchBuffer.nbytes(layout, 5))
    one, other = (BatchBuffer(layout, 5, memory=memory, offset=64) for _ in range(2))
    one.write(3, (np.array([1, 2, 3], np.uint8), 0.5))
    assert_same(other.read(3), (np.array([1, 2, 3], np.uint8), np.float64(0.5)))
    assert other.batch()[0][3].tolist() == [1, 2, 3]
    assert bytes(memory[:64]) == bytes(64)
    assert all(part.ctypes.data % 64 == 0 for part in one.batch())


def test_buffers_live_as_long_as_rows():
    rows = over(FLOATS, 2)
    batch = written(rows, [[1, 2], [3, 4]])
    del rows
    gc.collect()
    assert batch.tolist() == [[1, 2], [3, 4]]


def test_sizes_are_whole_cache_lines():
    assert BatchBuffer.nbytes(FLOATS, 8) == 64
    assert BatchBuffer.nbytes(FLOATS, 9) == 128
    assert BatchBuffer.nbytes(NESTED, 1) == 128
    assert BatchBuffer.nbytes(("objects", tuple), 4) == BatchBuffer.nbytes(FLOATS, 0) == 0


def test_buffers_that_do_not_do():
    with pytest.raises(ValueError, match="writable"):
        BatchBuffer(FLOATS, 2, memory=bytes(64))
    with pytest.raises(ValueError):
        BatchBuffer(FLOATS, 2, memory=bytearray(15))
    with pytest.raises(ValueError):
        BatchBuffer(FLOATS, 2, memory=bytearray(64), offset=60)


@pytest.mark.parametrize("layout", [None, (), ("list", ()), ["array"], ("dict", ("a",), ())])
def test_no_layouts(layout):
    with pytest.raises(ValueError, match="layout"):
        BatchBuffer(layout, 2)


# Taking batches apart


def test_rows_of_other_iterables():
    assert split_batch(FLOATS, [[1, 2], "ab"], 2) == [[1, 2], "ab"]
    assert split_batch(("array", np.int64, ()), (1, 2), 2) == [1, 2]
    assert split_batch(("tuple", ()), (), 2) == [(), ()]
    for batch in ([1], np.zeros(3)):
        with pytest.raises(ValueError, match="expected 2 elements"):
            split_batch(FLOATS, batch, 2)
    with pytest.raises(TypeError):
        split_batch(FLOATS, 3, 2)


@pytest.mark.parametrize("batch", [(), [], ([1, 2],), [[1, 2]], {}, 5])
def test_batches_with_parts_missing(batch):
    pair = ("tuple", (FLOATS, FLOATS))
    for layout in (pair, ("dict", (0, 1), (FLOATS, FLOATS))):
        with pytest.raises((LookupError, TypeError)):
            split_batch(layout, batch, 2)
    rows = BatchBuffer(pair, 1)
    rows.begin()
    with pytest.raises((LookupError, TypeError)):
        rows.write(0, batch)


@pytest.mark.parametrize(
    "array", [np.arange(6)[::2], np.arange(3, dtype=">i4"), np.array([1, None, "x"])]
)
def test_scalars_of_strided_and_swapped_arrays(array):
    found = split_batch(("array", np.int64, ()), array, 3)
    assert_same(found, list(array))


@pytest.mark.parametrize(
    ("indices", "expected"),
    [
        ([0], True),
        ([2, 0, 1], True),
        ([], False),
        ([0, 0], False),
        ([3], False),
        ([-1], False),
        ([2**62], False),
        ([0, 1, 2, 0], False),
    ],
)
def test_lanes(indices, expected):
    assert are_lanes(np.array(indices, np.int64), 3) is expected


def test_lanes_are_int64():
    for array in (np.zeros(2), np.zeros(2, np.int32), np.zeros((1, 1), int), np.arange(4)[::2]):
        with pytest.raises(TypeError, match="contiguous int64"):
            are_lanes(array, 9)
