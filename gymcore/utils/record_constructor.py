"""`gymcore.base.record_constructor` under the path that Gymnasium has for it."""

from gymcore.base.record_constructor import RecordConstructorArgs

__all__ = ["RecordConstructorArgs"]
