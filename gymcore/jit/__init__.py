"""Your own environments at compiled speed, with the physics of one lane written in plain Python.

`Env` is the base class, `array` declares arrays in its `State`, and `math` has functions whose
results, except those of `powf`, are the same bits on every machine. Numba (`pip install numba`)
compiles the source. Without it, or with `GYMCORE_JIT=0` in the environment or `debug=True`, the
source runs as ordinary Python.
"""

from gymcore.jit import math
from gymcore.jit.declarations import array
from gymcore.jit.env import Env

__all__ = ["Env", "array", "math"]
