"""ANSI colors for terminal text."""

from __future__ import annotations

from typing import Final

from gymcore.error import InvalidArgument

color2num: Final[dict[str, int]] = {
    "gray": 30,
    "red": 31,
    "green": 32,
    "yellow": 33,
    "blue": 34,
    "magenta": 35,
    "cyan": 36,
    "white": 37,
    "crimson": 38,
}


class UnknownColor(InvalidArgument, KeyError):
    """The color is not one of `color2num`."""

    __str__ = Exception.__str__  # KeyError would show the message in quotes


def colorize(string: str, color: str, bold: bool = False, highlight: bool = False) -> str:
    r"""Return `string` wrapped in the terminal codes of a color.

    Args:
        string: The text.
        color: One of gray, red, green, yellow, blue, magenta, cyan, white, crimson.
        bold: Whether the text is bold.
        highlight: Whether to color the background instead of the letters.

    Returns:
        The text between the color's escape code and the reset code.

    Raises:
        UnknownColor: If `color` is another name (a `KeyError` and a `ValueError`).

    Examples:
        >>> colorize("low", "red", bold=True)
        '\x1b[31;1mlow\x1b[0m'
    """
    number = color2num.get(color)
    if number is None:
        raise UnknownColor(f"color: expected one of {', '.join(color2num)}, got {color!r}")
    if highlight:
        number += 10
    weight = ";1" if bold else ""
    return f"\x1b[{number}{weight}m{string}\x1b[0m"
