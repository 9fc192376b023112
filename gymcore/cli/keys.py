"""`gymcore keys`: make the keys for authentication between a server and its clients."""

from __future__ import annotations

import argparse
from pathlib import Path

from gymcore.cli.errors import CliError, file_errors

HELP = "make keys for `gymcore serve` and its clients"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the argument of `gymcore keys`."""
    parser.add_argument(
        "directory", type=_folder, metavar="DIR", help="folder to write the keys to"
    )


def _folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError(f"expected a folder, got {text!r}")
    return Path(text)


def run(arguments: argparse.Namespace) -> int:
    """Write the keys, and print which machine needs which file; return 0."""
    from gymcore.error import Error
    from gymcore.remote.keys import fingerprint, make_keys

    with file_errors("DIR", arguments.directory):
        try:
            make_keys(arguments.directory)
        except Error as error:
            raise CliError(str(error)) from error
    print(f"wrote keys to {arguments.directory}; server key: {fingerprint(arguments.directory)}")
    print("the server needs server.key, server.crt and client.crt")
    print("a client needs client.key, client.crt and server.crt")
    return 0
