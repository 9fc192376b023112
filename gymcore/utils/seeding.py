"""`gymcore.base.seeding` under the path that it has in Gymnasium."""

from gymcore.base.seeding import RNG, RandomNumberGenerator, np_random

__all__ = ["RNG", "RandomNumberGenerator", "np_random"]
