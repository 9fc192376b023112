"""`gymcore.base.seeding` under the path that Gymnasium has for it."""

from gymcore.base.seeding import RNG, RandomNumberGenerator, np_random

__all__ = ["RNG", "RandomNumberGenerator", "np_random"]
