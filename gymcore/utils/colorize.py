"""`gymcore.base.colorize` under the path that Gymnasium has for it."""

from gymcore.base.colorize import color2num, colorize

__all__ = ["color2num", "colorize"]
