"""The connection to Ray."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from gymcore.base.optional_packages import pip_install
from gymcore.core import Options
from gymcore.error import DependencyNotInstalled, RemoteError


def connected_ray(address: str | None = None) -> ModuleType:
    """Return the module `ray`, connected to a cluster.

    Args:
        address: As for `ray.init`: "auto", "local" or `host:port`. None looks for a cluster in
            `RAY_ADDRESS` and on this machine, and starts one here if there is none. The address
            has no effect if the program has already called `ray.init`.

    Raises:
        DependencyNotInstalled: If Ray is not installed.
        RemoteError: If there is no cluster at the address, or it rejects the token.
    """
    try:
        import ray
    except ImportError as missing:
        raise DependencyNotInstalled(
            f"Ray is not installed, run `{pip_install('ray')}`"
        ) from missing
    if not ray.is_initialized():
        try:
            ray.init(address, include_dashboard=False)
        except (OSError, RuntimeError, ValueError) as problem:
            raise RemoteError(
                f"address: cannot connect to Ray at {address!r}: {problem}"
            ) from problem
    module: ModuleType = ray
    return module


def actor_class(ray: ModuleType, cls: type, options: Options) -> Any:
    """Return the Ray actor class of `cls`: one CPU per actor, and actors spread over the nodes.

    `options` are options of `ray.remote`. Ray never restarts the actors, because a new process
    would lose its episodes without notice.
    """
    return ray.remote(num_cpus=1, scheduling_strategy="SPREAD")(cls).options(**(options or {}))
