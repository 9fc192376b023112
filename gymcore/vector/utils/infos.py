"""Merging the info dicts of many environments into one dict of arrays, and splitting it again.

For each key, the merged dict has a column with one entry per environment and, under `_key`, a
boolean mask of the environments that had the key:

| first value of the key               | column                                             |
|--------------------------------------|----------------------------------------------------|
| Python int, float, bool              | zeros of that type, shape `(num_envs,)`            |
| NumPy number                         | zeros of its dtype, shape `(num_envs,)`            |
| array                                | zeros of its dtype, shape `(num_envs, *shape)`     |
| dict                                 | a merged dict of its own                           |
| anything else, and any `final_obs`   | object array of None, shape `(num_envs,)`          |

A column that cannot hold a later value is widened: 2.7 turns an int column into float64, the common
type of NumPy; text, or an array of another shape, turns it into an object array. As in Gymnasium,
None is nan in a column of floats, and a number fills its row of a column of arrays.

The functions are compiled (`gymcore_ext/python_envs/infos.pyx`).
"""

from __future__ import annotations

from gymcore_ext.python_envs.infos import merge_info, split_info, split_rows

__all__ = ["merge_info", "split_info", "split_rows"]
