"""Checks of an environment's spaces and return values while it is used."""

from gymcore.checking import passive
from gymcore.checking.passive import *

__all__ = passive.__all__
