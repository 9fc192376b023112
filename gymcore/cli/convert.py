"""`gymcore convert`: a Gymnasium class as the text of a `gymcore.jit.Env` class."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gymcore.cli.errors import CliError, file_errors

HELP = "write a Gymnasium class as a gymcore.jit class, and compare the results of both"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gymcore convert`."""
    parser.add_argument("env", metavar="ENV", help="module:Class, or an id such as gymnasium:ID")
    parser.add_argument("--out", type=Path, metavar="FILE", help="file to write; default stdout")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    parser.add_argument(
        "--tolerance", type=float, default=0.0, help="largest relative difference; default 0"
    )
    parser.add_argument("--seeds", type=int, default=10, help="number of compared runs; default 10")
    parser.add_argument("--steps", type=int, default=500, help="steps of each run; default 500")


def run(arguments: argparse.Namespace) -> int:
    """Write the text; return 0, or 2 after a list of obstacles on stderr."""
    from gymcore import error
    from gymcore.base.new_file import NewFile
    from gymcore.jit.conversion import converted

    out = arguments.out
    if out is not None and out.exists() and not arguments.overwrite:
        raise CliError(f"--out: {out} exists; --overwrite replaces it")
    options = {"seeds": arguments.seeds, "steps": arguments.steps}
    try:
        _, text = converted(arguments.env, tolerance=arguments.tolerance, **options)
    except error.ConversionError as problem:
        if not problem.obstacles:
            raise CliError(str(problem)) from problem
        print(problem, file=sys.stderr)
        return 2
    except error.ArgumentTypeError as problem:
        raise CliError(str(problem)) from problem
    if out is None:
        print(text, end="")
        return 0
    with file_errors("--out", out), NewFile(out) as new:
        new.part.write_text(text, encoding="utf-8")
    count = arguments.seeds * arguments.steps
    print(f"{out}: equal to {arguments.env} in {count:,} steps of random actions")
    return 0
