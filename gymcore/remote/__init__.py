"""Environments on another machine, accessed over TCP: a server and its client."""

from gymcore.remote.client import Client
from gymcore.remote.keys import make_keys
from gymcore.remote.server import Server
from gymcore.remote.vector_env import HostedVectorEnv, RemoteVectorEnv

__all__ = ["Client", "HostedVectorEnv", "RemoteVectorEnv", "Server", "make_keys"]
