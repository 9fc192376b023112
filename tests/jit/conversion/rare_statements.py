"""Statements that random actions never reach, in a class `Case` whose text has a place for them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from textwrap import indent

import numpy as np
import pytest

from gymcore import error, jit

ACTIONS = (1, 2, 9, 0, 3, 0, 5, 4, 0)  # 0 runs the statements


def is_right(
    name: str, text: str, statements: str, folder: Path, patch: pytest.MonkeyPatch
) -> bool:
    """Convert `Case`, and compare it with the original; return False if it is refused.

    Args:
        name: The name of its module.
        text: The text of the module, with `{statements}` in it.
        statements: What takes that place, in lines or separated by "; ".
        folder: Where the module is written.
        patch: Takes the module back.
    """
    lines = indent(statements.replace("; ", "\n"), " " * 12)
    (folder / f"{name}.py").write_text(text.format(statements=lines))
    patch.syspath_prepend(str(folder))
    original = importlib.import_module(name).Case()
    patch.setitem(sys.modules, name, sys.modules[name])
    try:
        env = jit.convert(type(original), seeds=1, steps=30)()
    except error.ConversionError as problem:
        assert problem.obstacles
        assert "not understood" not in str(problem)
        return False
    for each in (original, env):
        each.reset(seed=1)
    for action in ACTIONS:
        try:
            wanted = original.step(action)[0]
        except Exception as problem:
            with pytest.raises(type(problem)):
                env.step(action)
            break
        np.testing.assert_array_equal(wanted, env.step(action)[0])
    return True
