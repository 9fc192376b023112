"""The tiling of a batch's frames."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymcore import error
from gymcore.rendering.tiling import Tiling, columns_for, tile_frames


def test_literal_grid_with_black_padding():
    frames = np.arange(1, 6, dtype=np.uint8).reshape(5, 1, 1, 1).repeat(2, 2).repeat(3, 3)
    tiled = tile_frames(frames)
    assert tiled.dtype == np.uint8
    assert tiled.shape == (2, 6, 3)
    assert tiled[:, :, 1].tolist() == [[1, 1, 2, 2, 3, 3], [4, 4, 5, 5, 0, 0]]


def test_rows_of_a_frame_stay_together():
    frame = np.array([[[1, 2, 3]], [[4, 5, 6]]], dtype=np.uint8)
    tiled = tile_frames([frame, frame + 10])
    assert tiled.tolist() == [[[1, 2, 3], [11, 12, 13]], [[4, 5, 6], [14, 15, 16]]]


@pytest.mark.parametrize(
    ("count", "columns", "grid"),
    [
        (1, None, (1, 1)),
        (2, None, (1, 2)),
        (3, None, (2, 2)),
        (4, None, (2, 2)),
        (5, None, (2, 3)),
        (9, None, (3, 3)),
        (10, None, (3, 4)),
        (64, None, (8, 8)),
        (5, 1, (5, 1)),
        (5, 2, (3, 2)),
        (2, 5, (1, 5)),
        (4, np.int64(4), (1, 4)),
    ],
)
def test_grid(count, columns, grid):
    tiled = tile_frames(np.full((count, 2, 3, 3), 255, dtype=np.uint8), columns)
    assert tiled.shape == (grid[0] * 2, grid[1] * 3, 3)
    assert (tiled == 255).sum() == count * 2 * 3 * 3


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 12),
    st.integers(1, 4),
    st.integers(1, 4),
    st.one_of(st.none(), st.integers(1, 6)),
    st.integers(0, 2**32 - 1),
)
def test_every_frame_is_in_its_place(count, height, width, columns, seed):
    frames = np.random.default_rng(seed).integers(0, 256, (count, height, width, 3), np.uint8)
    tiled = tile_frames(frames, columns)
    per_row = tiled.shape[1] // width
    assert columns is None or per_row == columns
    for index in range(tiled.shape[0] // height * per_row):
        top, left = index // per_row * height, index % per_row * width
        tile = tiled[top : top + height, left : left + width]
        np.testing.assert_array_equal(tile, frames[index] if index < count else 0)


def test_result_is_a_copy():
    frames = np.ones((1, 2, 2, 3), dtype=np.uint8)
    tiled = tile_frames(frames)
    tiled[...] = 9
    assert frames.max() == 1
    assert tiled.flags.c_contiguous


def test_a_tuple_of_frames_equals_the_stacked_array():
    frames = np.random.default_rng(0).integers(0, 256, (3, 4, 5, 3), np.uint8)
    np.testing.assert_array_equal(tile_frames(tuple(frames)), tile_frames(frames))


@pytest.mark.parametrize(
    ("frames", "columns", "exception", "message"),
    [
        (np.zeros((2, 2, 3), np.uint8), None, ValueError, r"\(n, height, width, 3\).*\(2, 2"),
        (np.zeros((2, 2, 2, 4), np.uint8), None, ValueError, r"got \(2, 2, 2, 4\)"),
        (np.zeros((0, 2, 2, 3), np.uint8), None, ValueError, r"no empty axis, got \(0, 2"),
        ([], None, ValueError, "no empty axis"),
        (np.zeros((1, 2, 2, 3)), None, TypeError, "frames: expected dtype uint8, got float64"),
        ([None, None], None, TypeError, r"frames\[0\]: expected a uint8 array.*NoneType"),
        (
            [np.zeros((2, 2, 3), np.uint8), np.zeros((2, 3, 3), np.uint8)],
            None,
            ValueError,
            r"frames\[1\]: expected uint8 \(2, 2, 3\) as frames\[0\], got uint8 \(2, 3, 3\)",
        ),
        (np.zeros((1, 2, 2, 3), np.uint8), 0, ValueError, "columns: expected at least 1"),
        (np.zeros((1, 2, 2, 3), np.uint8), 1.5, TypeError, "columns: expected an integer"),
        (np.zeros((1, 2, 2, 3), np.uint8), True, TypeError, "columns: expected an integer"),
    ],
)
def test_bad_arguments(frames, columns, exception, message):
    with pytest.raises(exception, match=message) as caught:
        tile_frames(frames, columns)
    assert isinstance(caught.value, error.Error)


def test_columns_and_the_shared_array() -> None:
    numbers = (1, 2, 3, 4, 5, 7, 9, 64)
    assert [columns_for(n, 400, 600, 1.0) for n in numbers] == [1, 1, 1, 2, 2, 2, 3, 7]
    assert [columns_for(n, 400, 600, 16 / 9) for n in numbers] == [1, 2, 2, 2, 3, 3, 3, 8]
    assert [columns_for(n, 84, 84, 1.0) for n in numbers] == [1, 1, 2, 2, 3, 3, 3, 8]
    tiling = Tiling(2, 1, 1, 1)
    first = tiling([np.full((1, 1, 3), 1, np.uint8)] * 2)
    assert tiling([np.full((1, 1, 3), 2, np.uint8)] * 2) is first
