from __future__ import annotations

import sys
import warnings

import pytest

import gymcore
from gymcore import cli


def test_version(run):
    assert run("--version").out == f"{gymcore.__version__}\n"


def test_without_a_command_the_help_is_shown(run):
    ran = run()
    assert ran.code == 2
    for name in ("collect", "evaluate", "list", "bench", "info"):
        assert name in ran.out


@pytest.mark.parametrize("command", ["collect", "evaluate", "list", "bench", "info"])
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([command, "--help"])
    assert ended.value.code == 0
    assert "--debug" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["collect"],
        ["collect", "CartPole-v1", "--num-envs", "0"],
        ["collect", "CartPole-v1", "--num-steps", "many"],
        ["collect", "CartPole-v1", "--seed", "-1"],
        ["collect", "CartPole-v1", "--vectorization", "magic"],
        ["collect", "CartPole-v1", "--autoreset-mode", "sometimes"],
        ["bench", "--seconds", "0"],
    ],
)
def test_words_that_cannot_be_parsed_end_with_code_2(words, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 2
    message = capsys.readouterr().err
    assert message.startswith("gymcore") and message.endswith("--help shows the usage)\n")
    assert message.count("\n") == 1


def test_words_come_from_the_command_line_by_default(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gymcore", "--version"])
    assert cli.main() == 0
    assert capsys.readouterr().out == f"{gymcore.__version__}\n"


def test_an_unforeseen_error_is_one_line_with_its_type(run, monkeypatch):
    def broken(arguments):
        raise ZeroDivisionError("division\n  by zero")

    monkeypatch.setattr(cli.info, "run", broken)
    ran = run("info")
    assert ran.code == 1
    assert ran.err == (
        "gymcore: error: ZeroDivisionError: division by zero (--debug shows the traceback)\n"
    )
    with pytest.raises(ZeroDivisionError):
        run("info", "--debug")


def test_warnings_are_a_line_without_file_and_color(run, monkeypatch):
    def warn(arguments):
        gymcore.logger.warn("the %s is low", "ceiling")
        return 0

    monkeypatch.setattr(cli.info, "run", warn)
    warnings.simplefilter("always")  # pytest restores it
    assert run("info").err == "gymcore: WARN: the ceiling is low\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert run("info").err == "gymcore: \x1b[33mWARN: the ceiling is low\x1b[0m\n"
    monkeypatch.setenv("NO_COLOR", "1")
    assert run("info").err == "gymcore: WARN: the ceiling is low\n"


def test_modules_of_the_current_directory_are_found(run, monkeypatch, tmp_path):
    (tmp_path / "registers_a_pole.py").write_text(
        "import gymcore\n"
        "gymcore.register('LocalPole-v0', 'gymcore.envs.classic_control:CartPoleEnv')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    try:
        assert run("list", "Pole-v1").code == 0
        words = ("collect", "registers_a_pole:LocalPole-v0", "--num-envs", 2, "--num-steps", 8)
        assert run(*words, "--no-progress").code == 0
    finally:
        gymcore.registry.pop("LocalPole-v0", None)
        sys.modules.pop("registers_a_pole", None)
