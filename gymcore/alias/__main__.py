"""`python -m gymcore.alias script.py ...`: run a program with gymcore instead of Gymnasium."""

from __future__ import annotations

import argparse
import os
import runpy
import sys

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
    parser.add_argument("-m", dest="is_module", action="store_true", help="PROGRAM is a module")
    parser.add_argument("program", metavar="PROGRAM", help="a script, or with -m a module")
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="its arguments")
    given = parser.parse_args()
    if not given.is_module and not os.path.exists(given.program):
        parser.error(f"PROGRAM: there is no file {given.program}")
    sys.argv = [given.program, *given.arguments]
    if not given.is_module and not getattr(sys.flags, "safe_path", False):
        # Replaces the current directory, which `-m` has put there.
        sys.path[0] = os.path.dirname(os.path.realpath(given.program))
    install(given.era)
    if given.is_module:
        runpy.run_module(given.program, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(given.program, run_name="__main__")


if __name__ == "__main__":
    main()
