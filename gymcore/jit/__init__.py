"""Your own environments at compiled speed: the physics of one lane, in plain Python.

`Env` is the base class; `array` declares arrays in its `State`, and `math` has functions that give
the same bits on every machine. Numba compiles (`pip install numba`); without it, with
`GYMCORE_JIT=0` in the environment or with `debug=True`, the same source runs as ordinary Python.
"""

from gymcore.jit import math
from gymcore.jit.declarations import array
from gymcore.jit.env import Env

__all__ = ["Env", "array", "math"]
