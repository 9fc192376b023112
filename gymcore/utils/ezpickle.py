"""`gymcore.base.ezpickle` under the path that it has in Gymnasium."""

from gymcore.base.ezpickle import EzPickle

__all__ = ["EzPickle"]
