"""Environments are closed when the interpreter exits, but not when they are collected."""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import gymcore
from gymcore.rendering import window as windows


class LoggingEnv(gymcore.Env[int, int]):
    """Environment that records in `log` when it is closed for the first time."""

    def __init__(self, log: list[str], name: str = "env") -> None:
        self.log = log
        self.name = name
        self.is_open = True

    def close(self) -> None:
        if self.is_open:
            self.log.append(self.name)
        self.is_open = False


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


@pytest.mark.slow
@pytest.mark.parametrize("cycle", [False, True], ids=["dropped", "cycle"])
def test_collected_environments_are_not_closed(log: list[str], cycle: bool) -> None:
    """Their `close` could stop what others use, as `pygame.quit` does."""
    env = LoggingEnv(log)
    if cycle:
        env.itself = env  # type: ignore[attr-defined]
    del env
    gc.collect()
    assert log == []


@pytest.mark.slow
@pytest.mark.parametrize("render_mode", ["human", "human wrapper"])
def test_windows_of_collected_environments_are_closed(
    render_mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    kwargs = {"render_mode": "human"}
    if render_mode != "human":
        kwargs["render_mode"] = "rgb_array"
    before = {window for window in windows._windows if window.is_open}
    env = gymcore.make("CartPole-v1", **kwargs)
    if render_mode != "human":
        env = gymcore.wrappers.HumanRendering(env)
    env.reset()
    assert {window for window in windows._windows if window.is_open} > before
    del env
    gc.collect()
    assert {window for window in windows._windows if window.is_open} == before


def test_nothing_more_after_close(log: list[str]) -> None:
    with LoggingEnv(log) as env:
        assert log == []
    assert log == ["env"]
    del env
    assert log == ["env"]


def test_a_constructor_without_arguments_takes_none() -> None:
    class Plain(gymcore.Env[int, int]): ...

    with pytest.raises(TypeError, match=r"Plain\(\) takes no arguments"):
        Plain(3)


def test_half_made_environment(capsys: pytest.CaptureFixture[str]) -> None:
    class HalfMade(gymcore.Env[int, int]):
        def __init__(self) -> None:
            raise RuntimeError("no window")

        def close(self) -> None:
            self.window.close()  # type: ignore[attr-defined]

    with pytest.raises(RuntimeError, match="no window"):
        HalfMade()
    assert capsys.readouterr().err == ""


def run(program: str, before: str = "") -> str:
    """Run a program in a new interpreter and return its output; stderr must be empty.

    Args:
        program: Code after the preamble.
        before: Code before the preamble.
    """
    result = subprocess.run(
        [sys.executable, "-c", before + PREAMBLE + textwrap.dedent(program)],
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
        if self.name:
            print(self.name, flush=True)
        self.name = None
class Wrapper(gymcore.Wrapper):
    name = "wrapper"
    def close(self):
        if self.name:
            print(self.name, flush=True)
        self.name = None
        super().close()
"""


def test_at_exit_wrappers_come_before_what_they_wrap() -> None:
    assert run("env = Wrapper(gymcore.Wrapper(Env())); inner = env.env.env") == "wrapper\nenv\n"


def test_at_exit_not_what_is_gone() -> None:
    assert run("env = Wrapper(Env()); env.close(); other = Env(); del other") == ("wrapper\nenv\n")


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is missing")
def test_a_forked_child_closes_its_own_environments() -> None:
    program = """
    inherited = Env()
    child = os.fork()
    if child == 0:
        del inherited
        env = Env()
        env.name = "at exit"
        sys.exit(0)
    os.waitpid(child, 0)
    """
    assert run(program) == "at exit\nenv\n"


PICKLING = """
import multiprocessing, sys
import gymcore

class Plain(gymcore.Env):
    observation_space = action_space = gymcore.spaces.Discrete(2)

class Closing(Plain):
    def close(self):
        self.closed = True

def show(*env_classes):
    for env_class in env_classes:
        env = env_class()
        env.close()
        print(env_class.__name__, flush=True)

if __name__ == "__main__":
    child = multiprocessing.get_context(sys.argv[1]).Process(target=show, args=(Plain, Closing))
    child.start()
    child.join()
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_classes_of_the_main_program_reach_processes(method: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PICKLING)
    result = subprocess.run(
        [sys.executable, str(program), method], capture_output=True, text=True, timeout=120
    )
    assert (result.stdout, result.stderr) == ("Plain\nClosing\n", "")


def test_a_class_with_its_own_close_can_be_pickled_by_value() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    program = """
    import cloudpickle
    print(len(cloudpickle.dumps(Env)) > 0)
    """
    assert cloudpickle
    assert run(program) == "True\n"


def test_closing_at_collection_reaches_no_one_else() -> None:
    """A window that a third party opened lives on when another of its environments is collected."""
    pytest.importorskip("pygame")
    program = """
    import pygame
    class Windowed(gymcore.Env):
        def __init__(self):
            pygame.display.init()
            self.screen = pygame.display.set_mode((8, 8))
        def close(self):
            pygame.quit()
    old = Windowed()
    old.loop = old
    new = Windowed()
    del old
    gc.collect()
    pygame.display.flip()
    """
    assert run(program, 'import os; os.environ["SDL_VIDEODRIVER"] = "dummy"\n') == ""
