"""Converted classes are kept in checked files, and converted again when anything has changed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gymcore import error
from gymcore.jit.code_files import read_file, write_file
from gymcore.jit.conversion import saved

SOURCE = """
import gymnasium
import numpy as np

PUSH = 0.25


class Walk(gymnasium.Env):
    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Box(-99.0, 99.0, (1,), np.float64)

    def __init__(self, length=5.0, names=None):
        self.length = length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.uniform(-1.0, 1.0)
        return np.array([self.x]), {}

    def step(self, action):
        self.x += PUSH if action else -PUSH
        return np.array([self.x]), -abs(self.x), abs(self.x) > self.length, False, {}
"""


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Return the names of the classes that are converted, not loaded; files go to a new folder."""
    names: list[str] = []
    original = saved.converted

    def converted(cls: Any, **kwargs: Any) -> Any:
        names.append(cls.__name__)
        return original(cls, **{**kwargs, "seeds": 1, "steps": 20})

    monkeypatch.setattr(saved, "converted", converted)
    monkeypatch.setattr(saved, "_classes", {})
    monkeypatch.setenv("GYMCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GYMCORE_JIT", "0")
    monkeypatch.syspath_prepend(str(tmp_path))
    return names


def module_of(folder: Path, text: str = SOURCE) -> ModuleType:
    """Write and import a module, as a new process would."""
    import importlib
    import linecache

    file = folder / "walk_to_convert.py"
    file.write_text(text)
    sys.modules.pop("walk_to_convert", None)
    linecache.cache.pop(str(file), None)
    importlib.invalidate_caches()
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        return importlib.import_module("walk_to_convert")
    finally:
        sys.dont_write_bytecode = before


def load(folder: Path, text: str = SOURCE, **kwargs: Any) -> Any:
    """Return the conversion that a new process would get."""
    saved._classes.clear()
    return saved.convert(module_of(folder, text).Walk, **kwargs)


def test_each_source_and_each_argument_is_converted_once(
    conversions: list[str], tmp_path: Path
) -> None:
    for _ in range(2):
        load(tmp_path)
    assert len(conversions) == 1
    cls = module_of(tmp_path).Walk
    assert saved.convert(cls) is saved.convert(cls)
    for count, kwargs in ((2, {"length": 7.0}), (2, {"length": 7.0}), (3, {"length": 8.0})):
        env = load(tmp_path, **kwargs)()
        assert env.length == kwargs["length"] and len(conversions) == count
    assert len(os.listdir(tmp_path / "cache")) == 3


@pytest.mark.parametrize("change", ["= 0.25", "-abs(self.x)"], ids=["constant", "method"])
def test_a_changed_source_is_converted_again(
    change: str, conversions: list[str], tmp_path: Path
) -> None:
    load(tmp_path)
    env = load(tmp_path, SOURCE.replace(change, f"{change} * 2"))()
    assert len(conversions) == 2
    observation = env.reset(seed=1)[0]
    moved, reward, *_ = env.step(1)
    assert (moved - observation) / 0.25 == pytest.approx([2.0 if "=" in change else 1.0])
    assert reward == -abs(moved[0]) * (1.0 if "=" in change else 2.0)


def test_damaged_files_and_texts_of_other_classes_are_converted_again(
    conversions: list[str], tmp_path: Path
) -> None:
    load(tmp_path)
    (path,) = (tmp_path / "cache").iterdir()
    text = read_file(path)
    assert text is not None
    path.write_bytes(path.read_bytes()[:-1])
    load(tmp_path)
    for wrong in (b"raise SystemError", text.replace(b"-abs(", b"abs("), b"class Other: ...", b"("):
        count = len(conversions)
        write_file(path, wrong)
        load(tmp_path)
        assert len(conversions) == count + 1 and read_file(path) == text


def test_arguments_without_a_digest_are_converted_each_time(
    conversions: list[str], tmp_path: Path
) -> None:
    for _ in range(2):
        load(tmp_path, names={"a": 1})
    assert len(conversions) == 2 and not (tmp_path / "cache").exists()


def test_obstacles_are_not_saved(conversions: list[str], tmp_path: Path) -> None:
    text = SOURCE.replace("self.x +=", "self.x += float(np.random.bytes(1)[0]); self.x +=")
    for _ in range(2):
        with pytest.raises(error.ConversionError):
            load(tmp_path, text)
    assert len(conversions) == 2 and not (tmp_path / "cache").exists()
