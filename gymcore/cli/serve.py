"""`gymcore serve`: let a program on another machine step environments on this one."""

from __future__ import annotations

import argparse
import signal
import time
from pathlib import Path
from typing import Any

from gymcore.cli.errors import CliError
from gymcore.cli.options import add_env_arguments, count, env_kwargs
from gymcore.cli.signals import stopping

HELP = "host environments for a client on another machine, over TCP"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gymcore serve`."""
    add_env_arguments(parser)
    parser.add_argument(
        "--num-envs", type=count, default=64, metavar="N", help="number of lanes [64]"
    )
    parser.add_argument(
        "--interface",
        choices=("vector", "environment"),
        default="vector",
        help="API of the clients: make_vec (vector), or Environment.create (environment), which "
        "sets the number of lanes itself, up to that of --num-envs [vector]",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="IP address to listen on; any other than 127.0.0.1 requires --keys [127.0.0.1]",
    )
    parser.add_argument(
        "--port", type=int, default=0, metavar="PORT", help="TCP port [any free port]"
    )
    parser.add_argument(
        "--keys", type=Path, metavar="DIR", help="folder of keys made by `gymcore keys DIR` [none]"
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM; return 0, or 143 for SIGTERM."""
    import gymcore
    from gymcore.environment import Environment
    from gymcore.environment.requests import HostedEnvironment
    from gymcore.error import Error
    from gymcore.remote import HostedVectorEnv, Server

    env: Any = None
    hosted: object
    try:
        if arguments.interface == "vector":
            env = gymcore.make_vec(
                arguments.id, num_envs=arguments.num_envs, **env_kwargs(arguments)
            )
            # Clients expect the id in the registry, without the module that registers it.
            hosted = HostedVectorEnv(env, env.spec.id)
            description = f"{arguments.id} with {arguments.num_envs} lanes"
        else:
            env = Environment.create(arguments.id, **env_kwargs(arguments))
            hosted = HostedEnvironment(env, arguments.num_envs)
            description = f"{arguments.id} as an Environment"
        server = Server(hosted, arguments.host, arguments.port, arguments.keys, log=_log)
    except Error as error:
        if env is not None:
            env.close()
        raise CliError(f"{arguments.id}: {error}") from error
    keys = f"key {server.fingerprint}" if server.fingerprint else "without keys"
    try:
        with server, stopping(server.stop) as signals:
            print(f"serving {description} at {server.address}, {keys}", flush=True)
            server.run()
    finally:
        env.close()
    if signals == [signal.SIGTERM]:
        return 128 + signal.SIGTERM
    _log("interrupted")
    return 0


def _log(line: str) -> None:
    """Print a line with a time stamp."""
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)
