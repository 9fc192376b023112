"""Helpers for environment authors and users."""

from gymcore.utils.colorize import colorize

__all__ = ["colorize"]
