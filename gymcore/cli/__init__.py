"""The `gymcore` command line: `collect`, `train`, `evaluate` etc., one file per sub-command.

The module of a sub-command has a `HELP` line, `add_arguments(parser)` and `run(arguments) -> exit
code`. It imports its requirements in `run`, so `gymcore --help` and shell completion stay fast.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from gymcore.cli import bench, collect, convert, evaluate, info, keys, play, serve, train, video
from gymcore.cli import list as list_command
from gymcore.cli.errors import CliError, plain_warnings
from gymcore.cli.signals import exit_on_sigterm

__all__ = ["main"]

_COMMANDS = {
    "collect": collect,
    "train": train,
    "evaluate": evaluate,
    "video": video,
    "play": play,
    "list": list_command,
    "convert": convert,
    "bench": bench,
    "serve": serve,
    "keys": keys,
    "info": info,
}


class _Parser(argparse.ArgumentParser):
    """A parser that prints errors on one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message} ({self.prog} --help shows the usage)\n")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = _Parser(
        prog="gymcore", description="Compiled, batched environments for reinforcement learning."
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, module in _COMMANDS.items():
        command = commands.add_parser(name, help=module.HELP, description=module.HELP)
        command.add_argument(
            "--debug", action="store_true", help="show the traceback when something fails"
        )
        module.add_arguments(command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line on `argv`, or on `sys.argv`, and return the exit code.

    Returns:
        0 on success, 2 if the request cannot be fulfilled (such as an unknown id, a missing
        package or a bad policy; one line on stderr gives the reason), 1 for any other failure,
        130 after Ctrl-C. After SIGTERM, `SystemExit(143)` is raised and no temporary files remain.

    Modules in the current directory can be imported, as with `python -m gymcore`.

    Examples:
        >>> from gymcore.cli import main
        >>> main(["collect", "Nope-v1", "--num-steps", "64"])
        2
    """
    if sys.stderr is None:  # closed: a file opened later must not take its number
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    parser = build_parser()
    arguments = parser.parse_args(argv)
    if arguments.version:
        import gymcore

        print(gymcore.__version__)
        return 0
    if arguments.command is None:
        parser.print_help()
        return 2
    folder = os.getcwd()
    if folder not in sys.path and "" not in sys.path:
        sys.path.insert(0, folder)
    try:
        with exit_on_sigterm(), plain_warnings():
            return int(_COMMANDS[arguments.command].run(arguments))
    except KeyboardInterrupt:
        print("gymcore: interrupted, nothing was stored", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of the output (such as `head`) has exited.
        sys.stderr.close()
        return 1
    except Exception as error:
        if arguments.debug:
            raise
        expected = isinstance(error, CliError)
        hint = "" if expected else " (--debug shows the traceback)"
        print(f"gymcore: error: {_one_line(error)}{hint}", file=sys.stderr)
        return 2 if expected else 1


def _one_line(error: Exception) -> str:
    """Return the error's text on one line, preceded by its type unless it is a `CliError`."""
    # Errors of worker processes contain a traceback as text, which is shown only with --debug.
    text = " ".join(str(getattr(error, "message", error)).split())
    if isinstance(error, CliError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
