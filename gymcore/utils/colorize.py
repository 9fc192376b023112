"""`gymcore.base.colorize` under the path that it has in Gymnasium."""

from gymcore.base.colorize import color2num, colorize

__all__ = ["color2num", "colorize"]
