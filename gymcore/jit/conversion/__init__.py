"""Gymnasium classes converted to `gymcore.jit`."""

from gymcore.jit.conversion.converter import class_of_text, converted, converted_text
from gymcore.jit.conversion.rendering import rendered
from gymcore.jit.conversion.saved import convert

__all__ = ["class_of_text", "convert", "converted", "converted_text", "rendered"]
