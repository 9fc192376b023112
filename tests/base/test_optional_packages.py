"""Errors for packages that are not installed."""

from __future__ import annotations

import importlib

import pytest

from gymcore.base.optional_packages import needs, pip_install
from gymcore.error import DependencyNotInstalled


@pytest.mark.parametrize(
    ("modules", "command"),
    [
        (("cv2", "msgpack"), "pip install opencv-python-headless msgpack"),
        (("pygame",), "pip install pygame-ce"),
        (("no_such_module",), "pip install no_such_module"),
    ],
)
def test_the_command_names_distributions(modules: tuple[str, ...], command: str) -> None:
    assert pip_install(*modules) == command


@pytest.mark.parametrize(("name", "shown"), [(None, "dm-env"), ("DeepMind's", "DeepMind's")])
def test_a_failed_import_is_a_missing_dependency(name: str | None, shown: str) -> None:
    with (
        pytest.raises(
            DependencyNotInstalled, match=rf"^{shown} is not installed, run `pip install dm-env`$"
        ) as caught,
        needs("dm_env", name),
    ):
        importlib.import_module("no_such_module")
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_other_errors_pass() -> None:
    with pytest.raises(KeyError), needs("dm_env"):
        raise KeyError("x")
