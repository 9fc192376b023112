"""Your own environments at compiled speed, with the physics of one lane written in plain Python.

`Env` is the base class, `array` declares arrays in its `State`, and `math` has functions whose
results, except those of `powf`, are the same bits on every machine. Numba (`pip install numba`)
compiles the source. Without it, or with `GYMCORE_JIT=0` in the environment or `debug=True`, the
source runs as ordinary Python.
`convert` makes such a class from a Gymnasium class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymcore.base.lazy_namespace import lazy_namespace
from gymcore.jit import math
from gymcore.jit.declarations import array
from gymcore.jit.env import Env

if TYPE_CHECKING:
    from gymcore.jit.conversion import convert, rendered

__all__ = ["Env", "array", "convert", "math", "rendered"]

# Imported at first use.
__getattr__, __dir__ = lazy_namespace(__name__, {".conversion": ("convert", "rendered")})
