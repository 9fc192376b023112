from __future__ import annotations

import itertools

import pytest
from gymnasium.utils.colorize import color2num
from gymnasium.utils.colorize import colorize as gymnasium_colorize

from gymcore.base.colorize import color2num as our_color2num
from gymcore.utils import colorize


@pytest.mark.parametrize("color", sorted(color2num))
def test_same_codes_as_gymnasium(color: str) -> None:
    for bold, highlight in itertools.product((False, True), repeat=2):
        assert colorize("text", color, bold, highlight) == gymnasium_colorize(
            "text", color, bold, highlight
        )


def test_same_colors() -> None:
    assert our_color2num == color2num


def test_unknown_color() -> None:
    for kind in (KeyError, ValueError):
        with pytest.raises(kind, match=r"expected one of gray, red, .*, got 'pink'"):
            colorize("text", "pink")
