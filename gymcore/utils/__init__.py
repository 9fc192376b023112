"""Utilities for authors and users of environments."""

from gymcore.base.lazy_namespace import lazy_namespace
from gymcore.utils.colorize import colorize
from gymcore.utils.ezpickle import EzPickle
from gymcore.utils.record_constructor import RecordConstructorArgs

__all__ = ["EzPickle", "RecordConstructorArgs", "colorize"]

# Programs use these modules without importing them, because Gymnasium does.
__getattr__, __dir__ = lazy_namespace(__name__, {".passive_env_checker": (), ".seeding": ()})
