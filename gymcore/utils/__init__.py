"""Utilities for authors and users of environments."""

from gymcore.utils.colorize import colorize
from gymcore.utils.ezpickle import EzPickle
from gymcore.utils.record_constructor import RecordConstructorArgs

__all__ = ["EzPickle", "RecordConstructorArgs", "colorize"]
