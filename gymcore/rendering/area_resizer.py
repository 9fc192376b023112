"""Rescaling of frames by areas, as `cv2.resize` with INTER_AREA does it, without OpenCV."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gymcore_ext.atari.frames import COLUMNS, Resizer


def area_weights(size: int, target: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Return which of `size` source pixels each of `target` pixels covers.

    The result is the index of each target's first source pixel, `[target]`, and the weights of the
    pixels from there on, `[target, taps]`. As in OpenCV, a thousandth of a pixel does not count. If
    `size` is a multiple of `target`, weights are 1, and the sum is divided at the end.
    """
    scale = 1.0 / (target / size)
    is_multiple = size % target == 0
    taps = size // target if is_multiple else math.ceil(scale) + 1
    firsts = np.zeros(target, np.int32)
    weights = np.zeros((target, taps), np.float32)
    for pixel in range(target):
        begin = pixel * scale
        end = begin + scale
        covered = min(scale, size - begin)
        last = min(math.floor(end), size - 1)
        first = min(math.ceil(begin), last)
        row = [1.0 / covered] * (last - first)
        if is_multiple:
            first, row = pixel * taps, [1.0] * taps
        else:
            if first - begin > 1e-3:
                row.insert(0, (first - begin) / covered)
                first -= 1
            if end - last > 1e-3:
                row.append(min(end - last, 1.0, covered) / covered)
        # Weights of 0 come first where there would be too few pixels after the last one.
        shift = max(0, first + taps - size)
        firsts[pixel] = first - shift
        weights[pixel, shift : shift + len(row)] = row
    return firsts, weights


def area_resizer(size: tuple[int, int], target: tuple[int, int]) -> Resizer:
    """Return a resizer of frames.

    Args:
        size: Rows and columns.
        target: Height and width, at most as large.

    Raises:
        ValueError: If the target is larger, or there are too many columns.
    """
    (rows, columns), (height, width) = size, target
    if not (0 < height <= rows and 0 < width <= columns <= COLUMNS):
        raise ValueError(
            f"target: expected a size of at most {size}, {COLUMNS} columns, got {target}"
        )
    first_row, row_weights = area_weights(rows, height)
    first_column, column_weights = area_weights(columns, width)
    scale, offset = 1.0, 0.0
    if rows % height == 0 and columns % width == 0:
        # Whole blocks are added up and divided; those of two by two round halves up.
        block = row_weights.shape[1], column_weights.shape[1]
        scale = 1.0 / (block[0] * block[1])
        offset = 0.125 if block == (2, 2) else 0.0
    elif rows % height == 0:
        row_weights /= row_weights.shape[1]
    elif columns % width == 0:
        column_weights /= column_weights.shape[1]
    return Resizer(size, first_row, row_weights, first_column, column_weights, scale, offset)
