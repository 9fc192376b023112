"""`gymcore.base.record_constructor` under the path that it has in Gymnasium."""

from gymcore.base.record_constructor import RecordConstructorArgs

__all__ = ["RecordConstructorArgs"]
