"""Packages whose names are imported on first use."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gymcore.base.lazy_namespace import add_names


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a package with a lazy name, from a module that counts its imports."""
    folder = tmp_path / "lazy_pets"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from gymcore.base.lazy_namespace import lazy_namespace\n"
        "__getattr__, __dir__ = lazy_namespace(__name__, {'.cats': ('Cat',), 'math': ('gcd',)})\n"
    )
    (folder / "cats.py").write_text("class Cat: ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("lazy_pets", "lazy_pets.cats"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return "lazy_pets"


def test_names_are_imported_at_first_use(package: str) -> None:
    module = __import__(package)
    assert "lazy_pets.cats" not in sys.modules
    assert {"Cat", "cats", "gcd"} <= set(dir(module))
    assert module.Cat is module.cats.Cat
    assert vars(module)["Cat"] is module.Cat
    assert module.gcd(12, 18) == 6


def test_other_names_are_attribute_errors(package: str) -> None:
    module = __import__(package)
    with pytest.raises(AttributeError, match="module 'lazy_pets' has no attribute 'Dog'"):
        _ = module.Dog


def test_names_are_added_before_and_after_the_import(package: str) -> None:
    add_names(package, {"math": ("lcm",)})
    module = __import__(package)
    add_names(package, {"math": ("comb",)})
    assert {"lcm", "comb", "gcd"} <= set(dir(module))
    assert (module.lcm(4, 6), module.comb(4, 2), module.gcd(4, 6)) == (12, 6, 2)
