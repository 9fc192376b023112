"""`gymcore keys`: make the keys with which a server and its clients authenticate each other."""

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
    """Write the keys, and say which machine needs which file; return 0."""
    from gymcore.error import Error
    from gymcore.remote.keys import client_keys, fingerprint, make_keys

    with file_errors("DIR", arguments.directory):
        try:
            make_keys(arguments.directory)
        except Error as error:
            raise CliError(str(error)) from error
    public = client_keys(arguments.directory)[2]
    print(f"keys in {arguments.directory}, the server's is {fingerprint(public)}")
    print("the server needs server.key_secret and client.key")
    print("a client needs client.key_secret and server.key")
    return 0
