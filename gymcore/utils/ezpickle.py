"""`gymcore.base.ezpickle` under the path that Gymnasium has for it."""

from gymcore.base.ezpickle import EzPickle

__all__ = ["EzPickle"]
