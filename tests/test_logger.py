from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType

import gymnasium
import pytest

import gymcore
from tests.parity import compare


@pytest.fixture(autouse=True)
def restore_levels() -> Iterator[None]:
    yield
    gymcore.logger.min_level = gymnasium.logger.min_level = 30


@pytest.mark.parametrize("level", [0, 10, 30, 31, 40, 41, 50])
def test_levels(level: int) -> None:
    def scenario(gym: ModuleType) -> None:
        gym.logger.min_level = level
        gym.logger.warn("warned %s", 1)
        gym.logger.error("failed %d", 2)
        gym.logger.deprecation("old %s", "thing")
        gym.logger.warn("other", category=RuntimeWarning)

    caught = compare(scenario).warnings
    assert len(caught) == 4 * (level <= 30) + (30 < level <= 40)


@pytest.mark.parametrize(
    ("call", "color"),
    [
        (gymcore.logger.warn, "\x1b[33mWARN: "),
        (gymcore.logger.error, "\x1b[31mERROR: "),
        (gymcore.logger.deprecation, "\x1b[33mWARN: "),
    ],
)
def test_color_and_place(call: Callable[[str], None], color: str) -> None:
    with pytest.warns(Warning) as caught:
        call("here")
    assert str(caught[0].message) == f"{color}here\x1b[0m"
    assert caught[0].filename == __file__


def test_stacklevel_two_names_the_callers_caller() -> None:
    def library_function() -> None:
        gymcore.logger.warn("who", stacklevel=2)

    with pytest.warns(UserWarning) as caught:
        library_function()
    assert caught[0].lineno == library_function.__code__.co_firstlineno + 4


def test_a_percent_sign_in_a_message_without_arguments_is_kept() -> None:
    with pytest.warns(UserWarning, match="100% sure"):
        gymcore.logger.warn("100% sure")
    with pytest.warns(UserWarning, match="100% sure"):
        gymcore.logger.warn("100%% sure")


def test_wrong_arguments_are_an_error() -> None:
    with pytest.raises(TypeError):
        gymcore.logger.warn("%s and %s", 1)


def test_min_level_is_read_at_the_call() -> None:
    gymcore.logger.min_level = gymcore.logger.ERROR
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gymcore.logger.warn("quiet")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "shown"), [([], 1), (["-W", "ignore"], 0), (["-W", "always"], 2)]
)
def test_deprecations_are_shown_once_unless_the_user_says_otherwise(
    options: list[str], shown: int
) -> None:
    program = (
        "import gymcore, types\n"
        "library = types.ModuleType('gymcore.library')\n"
        "exec('from gymcore import logger\\n"
        'def old():\\n logger.deprecation("old way")\', library.__dict__)\n'
        "library.old(); library.old()"
    )
    result = subprocess.run(
        [sys.executable, *options, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stderr.count("WARN: old way") == shown
