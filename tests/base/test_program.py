"""Names of modules as the program imports them."""

from __future__ import annotations

import sys

import pytest

from gymcore.base import program


@pytest.fixture
def imported_as_gymnasium(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "package", "gymnasium")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("gymcore.spaces.box", "gymnasium.spaces.box"),
        ("gymcore_ext.pool", "gymcore_ext.pool"),
        ("numpy", "numpy"),
        ("my.gymcore.spaces", "my.gymcore.spaces"),
    ],
)
def test_only_modules_of_the_package_have_another_name(
    imported_as_gymnasium: None, module: str, name: str
) -> None:
    assert program.imported_name(module) == name


def test_classes_are_found_under_the_imported_name(
    imported_as_gymnasium: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cls = type("Space", (), {"__module__": "gymcore.no_such_module"})
    monkeypatch.setitem(sys.modules, "gymcore.no_such_module", program)
    monkeypatch.delitem(sys.modules, "gymnasium.no_such_module", raising=False)
    program.put_in_imported_module(cls)
    assert cls.__module__ == "gymnasium.no_such_module"
    assert sys.modules.pop("gymnasium.no_such_module") is program
