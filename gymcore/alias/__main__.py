"""`python -m gymcore.alias script.py ...`: run a program with gymcore instead of Gymnasium."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from types import ModuleType

from gymcore.alias import ERAS, install


def main() -> None:
    """Run the program given on the command line as Python itself would."""
    parser = argparse.ArgumentParser(
        prog="python -m gymcore.alias",
        description="Run a program whose `import gymnasium` or `import gym` imports gymcore.",
    )
    parser.add_argument(
        "--as",
        dest="era",
        choices=ERAS,
        default=ERAS[0],
        help="the version that the program was written for (default: %(default)s)",
    )
    parser.add_argument(
        "--only", action="store_true", help="do not stand for the other package, gym or gymnasium"
    )
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("-m", dest="is_module", action="store_true", help="PROGRAM is a module")
    kinds.add_argument("-c", dest="is_code", action="store_true", help="PROGRAM is Python code")
    parser.add_argument(
        "program",
        metavar="PROGRAM",
        help="a script, a folder or zip file with __main__.py, - for the standard input, or with "
        "-m a module, or with -c code",
    )
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="its arguments")
    arguments = parser.parse_args()
    program = arguments.program
    is_path = not (arguments.is_module or arguments.is_code or program == "-")
    if is_path and not os.path.exists(program):
        parser.error(f"PROGRAM: there is no file {program}")
    sys.argv = ["-c" if arguments.is_code else program, *arguments.arguments]
    if not arguments.is_module and not getattr(sys.flags, "safe_path", False):
        # Replaces the current directory, which `-m` has put there.
        sys.path[0] = os.path.dirname(os.path.realpath(program)) if is_path else ""
    install(arguments.era, only=arguments.only)
    if arguments.is_module:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    elif is_path and (os.path.isfile(program) or os.path.isdir(program)):
        runpy.run_path(program, run_name="__main__")
    elif arguments.is_code:
        _run_text(program, "<string>")
    elif program == "-":
        _run_text(sys.stdin.buffer.read(), "<stdin>")
    else:  # a pipe, which can be read once; runpy opens a file twice
        with open(program, "rb") as file:
            _run_text(file.read(), program, __file__=program)


def _run_text(source: str | bytes, name: str, **attributes: object) -> None:
    """Run source code as the module `__main__`, with these attributes."""
    main_module = ModuleType("__main__")
    vars(main_module).update(attributes)
    sys.modules["__main__"] = main_module
    exec(compile(source, name, "exec"), vars(main_module))


if __name__ == "__main__":
    main()
