"""When environments that nobody closed are closed."""

from __future__ import annotations

import abc
import copy
import gc
import inspect
import os
import subprocess
import sys
import textwrap
import threading
from typing import Any

import pytest

import gymcore
from gymcore.utils import closing


class LoggingEnv(gymcore.Env[int, int]):
    def __init__(self, log: list[str], name: str = "env") -> None:
        self.log = log
        self.name = name

    def close(self) -> None:
        self.log.append(self.name)


class LoggingWrapper(gymcore.Wrapper[int, int, int, int]):
    def __init__(self, env: gymcore.Env[int, int], log: list[str], name: str = "wrapper") -> None:
        super().__init__(env)
        self.log = log
        self.name = name

    def close(self) -> None:
        self.log.append(self.name)
        super().close()


@pytest.fixture
def log() -> list[str]:
    return []


def test_collected_environment_is_closed(log: list[str]) -> None:
    env = LoggingEnv(log)
    del env
    assert log == ["env"]


def test_in_a_reference_cycle(log: list[str]) -> None:
    env = LoggingEnv(log)
    env.itself = env  # type: ignore[attr-defined]
    del env
    gc.collect()
    assert log == ["env"]


def test_not_again_after_close(log: list[str]) -> None:
    env = LoggingEnv(log)
    env.close()
    del env
    assert log == ["env"]


def test_the_user_may_close_twice(log: list[str]) -> None:
    env = LoggingEnv(log)
    env.close()
    env.close()
    assert log == ["env", "env"]


def test_not_again_after_the_context_manager(log: list[str]) -> None:
    with LoggingEnv(log):
        assert log == []
    assert log == ["env"]


def test_not_again_after_a_close_that_raised(log: list[str]) -> None:
    class Failing(LoggingEnv):
        def close(self) -> None:
            super().close()
            raise ValueError("cannot close")

    env = Failing(log)
    with pytest.raises(ValueError, match="cannot close"):
        env.close()
    del env
    assert log == ["env"]


def test_exceptions_go_nowhere(log: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    class Failing(LoggingEnv):
        def close(self) -> None:
            super().close()
            raise ValueError("cannot close")

    Failing(log)
    assert log == ["env"]
    assert capsys.readouterr().err == ""


def test_half_made_environment(capsys: pytest.CaptureFixture[str]) -> None:
    class HalfMade(gymcore.Env[int, int]):
        def __init__(self) -> None:
            raise RuntimeError("no window")

        def close(self) -> None:
            self.window.close()  # type: ignore[attr-defined]

    with pytest.raises(RuntimeError, match="no window"):
        HalfMade()
    assert capsys.readouterr().err == ""


def test_super_close_runs_through_the_hierarchy(log: list[str]) -> None:
    class Child(LoggingEnv):
        def close(self) -> None:
            self.log.append("child")
            super().close()

    Child(log)
    assert log == ["child", "env"]


def test_inherited_close(log: list[str]) -> None:
    class Child(LoggingEnv):
        pass

    Child(log)
    assert log == ["env"]


def test_close_from_a_mixin(log: list[str]) -> None:
    class Mixin:
        def close(self) -> None:
            log.append("mixin")

    class Env(Mixin, gymcore.Env[int, int]):
        pass

    env = Env()
    env.close()
    del env
    assert log == ["mixin"]
    Env()
    assert log == ["mixin", "mixin"]
    assert Mixin.close.__name__ == "close"
    assert not hasattr(Mixin.close, "__wrapped__")


def test_replaced_close_is_left_to_the_user(log: list[str]) -> None:
    env = LoggingEnv(log)
    env.close = lambda: log.append("replaced")  # type: ignore[method-assign]
    del env

    class Patched(LoggingEnv):
        pass

    Patched.close = lambda self: log.append("patched")  # type: ignore[method-assign]
    Patched(log)
    assert log == []


def test_wrappers_close_from_the_outside(log: list[str]) -> None:
    env = LoggingWrapper(gymcore.Wrapper(LoggingWrapper(LoggingEnv(log), log, "inner")), log)
    del env
    assert log == ["wrapper", "inner", "env"]


def test_environment_that_outlives_its_wrappers_stays_open(log: list[str]) -> None:
    env = LoggingWrapper(gymcore.Wrapper(LoggingEnv(log)), log).unwrapped
    gc.collect()
    assert log == []
    del env
    assert log == ["env"]


def test_plain_wrapper(log: list[str]) -> None:
    env = gymcore.Wrapper(gymcore.Wrapper(LoggingEnv(log)))
    env.close()
    del env
    assert log == ["env"]


def test_inner_environment_closed_by_hand_is_not_closed_again(log: list[str]) -> None:
    env = LoggingWrapper(LoggingEnv(log), log)
    env.unwrapped.close()
    del env
    assert log == ["env", "wrapper"]


def test_default_wrappers(log: list[str], registries: None) -> None:
    class Env(LoggingEnv):
        observation_space = action_space = gymcore.spaces.Discrete(2)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            return 0, {}

        def step(self, action: Any) -> Any:
            return 0, 0.0, False, False, {}

    gymcore.register("Logging-v0", entry_point=lambda: Env(log), max_episode_steps=3)
    for episodes in range(3):
        log.clear()
        env = gymcore.make("Logging-v0")
        for _ in range(episodes):
            env.reset()
            for _ in range(3):
                env.step(0)
        assert log == []
        del env
        gc.collect()
        assert log == ["env"]


def test_copies_are_closed_for_themselves(log: list[str]) -> None:
    env = LoggingEnv(log)
    again = copy.copy(env)
    again.name = "copy"
    del env
    assert log == ["env"]
    del again
    assert log == ["env", "copy"]


def test_closing_in_a_thread(log: list[str]) -> None:
    env = LoggingWrapper(LoggingEnv(log), log)
    thread = threading.Thread(target=env.close)
    thread.start()
    thread.join()
    del env
    assert log == ["wrapper", "env"]


def test_marked_close_looks_like_the_users() -> None:
    assert LoggingEnv.close.__qualname__ == "LoggingEnv.close"
    assert "self.log.append(self.name)" in inspect.getsource(LoggingEnv.close)


def test_an_abstract_close_stays_abstract() -> None:
    class Abstract(gymcore.Env[int, int], abc.ABC):
        @abc.abstractmethod
        def close(self) -> None: ...

    class Concrete(Abstract):
        def close(self) -> None: ...

    with pytest.raises(TypeError, match="abstract"):
        Abstract()  # type: ignore[abstract]
    Concrete().close()


def test_nothing_is_kept_alive_or_added_to_open_environments(log: list[str]) -> None:
    env = LoggingEnv(log)
    assert set(vars(env)) == {"log", "name"}
    assert gymcore.Env.close in closing._inert
    assert gymcore.Wrapper.close in closing._inert


def run(program: str) -> str:
    """Run a program in a new interpreter and return what it printed; stderr has to be empty."""
    result = subprocess.run(
        [sys.executable, "-c", PREAMBLE + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.stderr == ""
    assert result.returncode == 0
    return result.stdout


PREAMBLE = """
import gymcore, sys, os, gc
class Env(gymcore.Env):
    name = "env"
    def close(self):
        print(self.name, flush=True)
class Wrapper(gymcore.Wrapper):
    name = "wrapper"
    def close(self):
        print(self.name, flush=True)
        super().close()
"""


def test_at_exit_from_the_outside() -> None:
    assert run("env = Wrapper(gymcore.Wrapper(Env())); inner = env.env.env") == "wrapper\nenv\n"


def test_at_exit_not_again() -> None:
    assert run("env = Wrapper(Env()); env.close(); other = Env(); other.close()") == (
        "wrapper\nenv\nenv\n"
    )


def test_at_exit_inside_frozen_memory_and_cycles() -> None:
    assert run("env = Env(); env.loop = env; gc.disable(); gc.freeze()") == "env\n"


def test_at_exit_exceptions_go_nowhere_and_the_rest_is_closed() -> None:
    program = """
    class Failing(Env):
        def close(self):
            super().close()
            raise RuntimeError("no")
    a, b, c = Failing(), Env(), Failing()
    """
    assert run(program) == "env\n" * 3


def test_at_exit_after_an_exception() -> None:
    program = PREAMBLE + "env = Env()\nraise SystemExit(3)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (3, "env\n")


def test_at_exit_half_made() -> None:
    program = """
    class HalfMade(gymcore.Env):
        def close(self):
            self.window.close()
    env = HalfMade.__new__(HalfMade)
    """
    assert run(program) == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is missing")
def test_a_forked_child_leaves_its_parents_environments_open() -> None:
    program = """
    env = Env()
    child = os.fork()
    if child == 0:
        env.name = "child"
        sys.exit(0)
    os.waitpid(child, 0)
    print("waited", flush=True)
    """
    assert run(program) == "waited\nenv\n"
