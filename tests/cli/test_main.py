from __future__ import annotations

import sys

import pytest

import gymcore
from gymcore import cli
from tests.for_each import for_each


def test_version(run):
    assert run("--version").out == f"{gymcore.__version__}\n"


def test_without_a_command_the_help_is_shown(run):
    ran = run()
    assert ran.code == 2
    for name in ("collect", "list", "bench", "info"):
        assert name in ran.out


@pytest.mark.parametrize("command", ["collect", "list", "bench", "info"])
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([command, "--help"])
    assert ended.value.code == 0
    assert "--debug" in capsys.readouterr().out


@for_each(
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
    assert "usage: gymcore" in capsys.readouterr().err


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
