"""`gym.utils` of Gym 0.21."""

from gymcore.compat.gym21.utils import seeding
from gymcore.utils import EzPickle, colorize

__all__ = ["EzPickle", "colorize", "seeding"]
