"""Merging the info dicts of many environments into one dict of arrays, and splitting it again.

The merged dict holds, for each key, a column with one entry per environment and, under `_key`, a
boolean mask of the environments that had the key:

| first value of the key               | column                                             |
|--------------------------------------|----------------------------------------------------|
| Python int, float, bool              | zeros of that type, shape `(num_envs,)`            |
| NumPy number                         | zeros of its dtype, shape `(num_envs,)`            |
| array                                | zeros of its dtype, shape `(num_envs, *shape)`     |
| dict                                 | a merged dict of its own                           |
| anything else, and any `final_obs`   | object array of None, shape `(num_envs,)`          |

A later value that its column cannot hold exactly widens the column instead of being cut to fit: an
int column that meets 2.7 becomes float64, one that meets text, or an array of another shape,
becomes an object array.

The functions are compiled (`gymcore_ext/python_envs/infos.pyx`).
"""

from __future__ import annotations

from gymcore_ext.python_envs.infos import merge_info, split_info, split_rows

__all__ = ["merge_info", "split_info", "split_rows"]
