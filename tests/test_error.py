from __future__ import annotations

import inspect
import pickle

import gymnasium.error
import pytest

from gymcore import error

THEIRS = sorted(name for name, cls in vars(gymnasium.error).items() if inspect.isclass(cls))
OURS = sorted(
    name
    for name, cls in vars(error).items()
    if cls.__class__ is type and cls.__module__ == error.__name__
)


@pytest.mark.parametrize("name", THEIRS)
def test_every_gymnasium_name_is_there_and_is_caught_by_the_same_bases(name: str) -> None:
    bases = {cls.__name__ for cls in getattr(error, name).__mro__}
    for theirs in getattr(gymnasium.error, name).__mro__:
        assert theirs.__name__ in bases


@pytest.mark.parametrize("name", OURS)
def test_everything_derives_from_error(name: str) -> None:
    assert issubclass(getattr(error, name), error.Error)
    assert getattr(error, name).__doc__


@pytest.mark.parametrize(
    ("name", "builtins"),
    [
        ("InvalidArgument", (ValueError,)),
        ("ArgumentTypeError", (TypeError,)),
        ("ConcurrentUseError", (RuntimeError,)),
        ("InvalidAction", (AssertionError, ValueError, TypeError)),
        ("ResetNeeded", (AssertionError,)),
        ("FailedCheck", (AssertionError, ValueError)),
        ("FailedTypeCheck", (AssertionError, TypeError)),
        ("DependencyNotInstalled", (ImportError,)),
        ("DeprecatedWrapper", (ImportError,)),
        ("UnregisteredEnv", (LookupError,)),
        ("InvalidBound", (ValueError,)),
        ("InvalidProbability", (ValueError,)),
    ],
)
def test_builtin_bases(name: str, builtins: tuple[type, ...]) -> None:
    for builtin in builtins:
        assert issubclass(getattr(error, name), builtin)


@pytest.mark.parametrize("name", OURS)
def test_the_message_is_the_text_and_survives_pickling(name: str) -> None:
    cls = getattr(error, name)
    arguments = ("what happened", "step") if issubclass(cls, error._PendingCallError) else ("what",)
    problem = cls(*arguments)
    problem.add_note("a note")
    again = pickle.loads(pickle.dumps(problem))
    assert str(problem) == str(again) == arguments[0]
    assert type(again) is cls and vars(again) == vars(problem)


def test_pending_call_errors_keep_the_name_of_the_call() -> None:
    for cls in (error.AlreadyPendingCallError, error.NoAsyncCallError):
        assert pickle.loads(pickle.dumps(cls("busy", "reset"))).name == "reset"
